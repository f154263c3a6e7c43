//! Knowledge bases of users: each belongs to one, and runs find those of their owner by id or name.

use std::path::Path;
use std::sync::Arc;

use prowess_core::{BoxFuture, Passage, Query, RetrieveError, RetrieveErrorKind, Retriever};
use prowess_knowledge::embed::EmbedderIdentity;
use prowess_knowledge::{
    AddOutcome, BaseError, BaseName, BaseSettings, DocumentFormat, Language, extract,
};
use prowess_server::database::{Database, DatabaseError, Row, values};

use crate::objects::ObjectFiles;
use crate::problem::ApiProblem;
use crate::shelf::Shelf;
use crate::{digest, timestamp};

/// An embedder that the server offers.
#[derive(Clone, Debug)]
pub struct OfferedEmbedder {
    /// Its id in the API.
    pub id: String,
    /// What it is.
    pub identity: EmbedderIdentity,
}

/// The knowledge bases of all users.
#[derive(Clone)]
pub(crate) struct Knowledge {
    bases: Shelf,
    /// The files as they were uploaded, by base and digest.
    files: Arc<dyn ObjectFiles>,
    database: Database,
    embedders: Arc<[OfferedEmbedder]>,
}

/// A knowledge base's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BaseRecord {
    pub(crate) id: String,
    pub(crate) owner: String,
    pub(crate) name: String,
    pub(crate) created_at: i64,
}

/// A document's record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UploadRecord {
    pub(crate) doc_id: String,
    pub(crate) digest: String,
    pub(crate) bytes: i64,
    pub(crate) uploaded_at: i64,
}

/// What happened with an uploaded file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Uploaded {
    Added { chunks: usize, title: String },
    Replaced { chunks: usize, title: String },
    Unchanged { chunks: usize },
    Duplicate { of: String },
    Refused { error: String },
}

/// A step of reading a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UploadStage {
    Extracting,
    Indexing,
}

impl Knowledge {
    /// Opens the bases of a studio. This blocks.
    pub(crate) fn open(
        data: &Path,
        database: Database,
        files: Arc<dyn ObjectFiles>,
        embedders: Vec<OfferedEmbedder>,
    ) -> Result<Self, BaseError> {
        let bases = Shelf::open(&data.join("knowledge"), &database)?;
        Ok(Self { bases, files, database, embedders: embedders.into() })
    }

    /// The embedders that the server offers.
    pub(crate) fn embedders(&self) -> &[OfferedEmbedder] {
        &self.embedders
    }

    /// The embedder with an id.
    pub(crate) fn embedder(
        &self,
        id: Option<&str>,
    ) -> Result<Option<EmbedderIdentity>, ApiProblem> {
        let Some(id) = id else { return Ok(None) };
        let offered = self.embedders.iter().find(|offered| offered.id == id);
        offered
            .map(|offered| Some(offered.identity.clone()))
            .ok_or_else(|| ApiProblem::invalid("embedder", "The server offers no such embedder"))
    }

    /// The knowledge bases of an owner.
    pub(crate) fn of_owner(&self, owner: &str) -> OwnerBases {
        OwnerBases { knowledge: self.clone(), owner: owner.to_owned() }
    }

    /// The bases that an owner sees; all without one.
    pub(crate) async fn list(&self, owner: Option<&str>) -> Result<Vec<BaseRecord>, DatabaseError> {
        let owner = owner.map(str::to_owned);
        self.database
            .read(move |connection| {
                let sql = "SELECT id, owner, name, created_at FROM studio_bases \
                           WHERE ?1 = '' OR owner = ?1 ORDER BY name, id";
                let rows = connection.query(sql, &values![owner.clone().unwrap_or_default()])?;
                rows.iter().map(base_record).collect()
            })
            .await
    }

    /// Finds a base by its id or name.
    pub(crate) async fn find(
        &self,
        owner: Option<&str>,
        wanted: &str,
    ) -> Result<Option<BaseRecord>, DatabaseError> {
        let (owner, wanted) = (owner.unwrap_or_default().to_owned(), wanted.to_owned());
        if wanted.contains('\0') {
            return Ok(None);
        }
        self.database
            .read(move |connection| {
                let sql = "SELECT id, owner, name, created_at FROM studio_bases \
                           WHERE (?1 = '' OR owner = ?1) AND (id = ?2 OR name = ?2) \
                           ORDER BY CASE WHEN id = ?2 THEN 0 ELSE 1 END, created_at LIMIT 1";
                let row =
                    connection.query_optional(sql, &values![owner.clone(), wanted.clone()])?;
                row.as_ref().map(base_record).transpose()
            })
            .await
    }

    /// Creates a base. The record comes last, so that a failure leaves nothing that is listed.
    pub(crate) async fn create(
        &self,
        record: BaseRecord,
        language: Language,
        embedder: Option<EmbedderIdentity>,
    ) -> Result<(), ApiProblem> {
        let (bases, id) = (self.bases.clone(), base_name(&record.id)?);
        let created = id.clone();
        blocking(move || bases.create(&created, &BaseSettings { language, embedder })).await?;
        let inserted = {
            let record = record.clone();
            self.database
                .write(move |transaction| {
                    let sql = "INSERT INTO studio_bases (id, owner, name, created_at) \
                               VALUES (?1, ?2, ?3, ?4)";
                    transaction.execute(
                        sql,
                        &values![
                            record.id.clone(),
                            record.owner.clone(),
                            record.name.clone(),
                            record.created_at
                        ],
                    )?;
                    Ok::<_, DatabaseError>(())
                })
                .await
        };
        let Err(error) = inserted else { return Ok(()) };
        let bases = self.bases.clone();
        blocking(move || bases.delete(&id)).await?;
        if error.is_unique_violation() {
            let message = format!("Knowledge base '{}' already exists", record.name);
            return Err(ApiProblem::conflict("knowledge-base-exists", "name", message));
        }
        Err(error.into())
    }

    /// Deletes a base with its files.
    pub(crate) async fn delete(&self, record: &BaseRecord) -> Result<(), ApiProblem> {
        let id = record.id.clone();
        self.database
            .write(move |transaction| {
                for sql in [
                    "DELETE FROM studio_bases WHERE id = ?1",
                    "DELETE FROM studio_documents WHERE base_id = ?1",
                ] {
                    transaction.execute(sql, &values![id.clone()])?;
                }
                Ok::<_, DatabaseError>(())
            })
            .await?;
        let (bases, name) = (self.bases.clone(), base_name(&record.id)?);
        let (files, prefix) = (Arc::clone(&self.files), format!("{}/", record.id));
        blocking(move || {
            bases.delete(&name)?;
            // Nothing refers to them any more.
            for key in files.keys(&prefix).unwrap_or_default() {
                let _ = files.delete(&key);
            }
            Ok(())
        })
        .await
    }

    /// The place of all bases, and the name of this one there.
    pub(crate) fn base(&self, record: &BaseRecord) -> Result<(&Shelf, BaseName), ApiProblem> {
        Ok((&self.bases, base_name(&record.id)?))
    }

    /// The records of uploads.
    pub(crate) async fn uploads(
        &self,
        record: &BaseRecord,
    ) -> Result<Vec<UploadRecord>, DatabaseError> {
        let id = record.id.clone();
        self.database
            .read(move |connection| {
                let sql = "SELECT doc_id, digest, bytes, uploaded_at FROM studio_documents \
                           WHERE base_id = ?1 ORDER BY doc_id";
                let rows = connection.query(sql, &values![id.clone()])?;
                rows.iter()
                    .map(|row| {
                        Ok(UploadRecord {
                            doc_id: row.get("doc_id")?,
                            digest: row.get("digest")?,
                            bytes: row.get("bytes")?,
                            uploaded_at: row.get("uploaded_at")?,
                        })
                    })
                    .collect()
            })
            .await
    }

    /// The file of a document as it was uploaded.
    pub(crate) async fn file(
        &self,
        record: &BaseRecord,
        digest: &str,
    ) -> Result<Option<Vec<u8>>, ApiProblem> {
        let (files, key) = (Arc::clone(&self.files), key(record, digest));
        match tokio::task::spawn_blocking(move || files.get(&key)).await {
            Ok(read) => read.map_err(|error| ApiProblem::internal("reading a file", &error)),
            Err(error) => Err(ApiProblem::internal("reading a file", &error)),
        }
    }

    /// Adds a file to a base. When this returns, the document is on the disk and found by searches.
    pub(crate) async fn add(
        &self,
        record: &BaseRecord,
        doc_id: &str,
        bytes: bytes::Bytes,
        tell: impl Fn(UploadStage) + Send + 'static,
    ) -> Result<Uploaded, ApiProblem> {
        let sha256 = digest(&bytes);
        let others = self.uploads(record).await?;
        if let Some(other) = others.iter().find(|it| it.digest == sha256 && it.doc_id != doc_id) {
            return Ok(Uploaded::Duplicate { of: other.doc_id.clone() });
        }
        let (knowledge, record, doc_id) = (self.clone(), record.clone(), doc_id.to_owned());
        let now = timestamp::millis(std::time::SystemTime::now());
        tokio::task::spawn_blocking(move || {
            knowledge.add_blocking(&record, &doc_id, &bytes, &sha256, now, &tell)
        })
        .await
        .unwrap_or_else(|error| Err(ApiProblem::internal("reading a file", &error)))
    }

    fn add_blocking(
        &self,
        record: &BaseRecord,
        doc_id: &str,
        bytes: &[u8],
        sha256: &str,
        now: i64,
        tell: &dyn Fn(UploadStage),
    ) -> Result<Uploaded, ApiProblem> {
        let refused = |error: String| Ok(Uploaded::Refused { error });
        let Some(format) = DocumentFormat::of_name(doc_id) else {
            return refused("this kind of file is not supported".to_owned());
        };
        let name = base_name(&record.id)?;
        let fields = std::collections::BTreeMap::new();
        let known = prowess_knowledge::digest(bytes, &fields);
        let before = self.bases.document(&name, doc_id)?;
        if before.is_some_and(|document| document.digest == known) {
            return Ok(Uploaded::Unchanged { chunks: self.bases.chunks(&name, doc_id)?.len() });
        }
        tell(UploadStage::Extracting);
        let document = match extract::document(doc_id, format, bytes, fields) {
            Ok(document) => document,
            Err(error) => return refused(error.to_string()),
        };
        tell(UploadStage::Indexing);
        // The file is there before the document is found: reading all files again must not lose one.
        let stored = self.files.put(&key(record, sha256), bytes);
        stored.map_err(|error| ApiProblem::internal("keeping a file", &error))?;
        let added = match self.bases.add(&name, &document) {
            Ok(added) => added,
            Err(BaseError::TooMuch(reason)) => return refused(reason),
            Err(error) => return Err(error.into()),
        };
        let chunks = self.bases.chunks(&name, doc_id)?.len();
        self.record_upload(record, doc_id, sha256, bytes.len(), chunks, now)?;
        let title = document.title;
        Ok(match added {
            AddOutcome::New => Uploaded::Added { chunks, title },
            AddOutcome::Updated => Uploaded::Replaced { chunks, title },
            AddOutcome::Same => Uploaded::Unchanged { chunks },
        })
    }

    fn record_upload(
        &self,
        record: &BaseRecord,
        doc_id: &str,
        sha256: &str,
        bytes: usize,
        chunks: usize,
        now: i64,
    ) -> Result<(), DatabaseError> {
        let (id, doc_id, sha256) = (record.id.clone(), doc_id.to_owned(), sha256.to_owned());
        self.database.write_blocking(move |transaction| {
            transaction.execute(
                "INSERT INTO studio_documents (base_id, doc_id, digest, bytes, chunks, uploaded_at) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (base_id, doc_id) DO UPDATE SET \
                 digest = excluded.digest, bytes = excluded.bytes, chunks = excluded.chunks, \
                 uploaded_at = excluded.uploaded_at",
                &values![id.clone(), doc_id.clone(), sha256.clone(), bytes, chunks, now],
            )?;
            Ok(())
        })
    }

    /// Removes a document; returns whether it existed.
    pub(crate) async fn remove(
        &self,
        record: &BaseRecord,
        doc_id: &str,
    ) -> Result<bool, ApiProblem> {
        let (bases, name, doc) = (self.bases.clone(), base_name(&record.id)?, doc_id.to_owned());
        let removed = blocking(move || bases.remove(&name, &doc)).await?;
        let uploads = self.uploads(record).await?;
        let (id, doc) = (record.id.clone(), doc_id.to_owned());
        self.database
            .write(move |transaction| {
                let sql = "DELETE FROM studio_documents WHERE base_id = ?1 AND doc_id = ?2";
                transaction.execute(sql, &values![id.clone(), doc.clone()])?;
                Ok::<_, DatabaseError>(())
            })
            .await?;
        let upload = uploads.iter().find(|upload| upload.doc_id == doc_id);
        if let Some(upload) = upload {
            let (files, key) = (Arc::clone(&self.files), key(record, &upload.digest));
            // Another name of the same content is not kept twice, so nothing else needs it.
            let _ = tokio::task::spawn_blocking(move || files.delete(&key)).await;
        }
        Ok(removed)
    }

    /// Reads all documents again with another embedder.
    pub(crate) async fn reembed(
        &self,
        record: &BaseRecord,
        embedder: Option<EmbedderIdentity>,
    ) -> Result<(), ApiProblem> {
        let (bases, name) = (self.bases.clone(), base_name(&record.id)?);
        blocking(move || bases.reembed(&name, embedder)).await
    }
}

/// Runs something on a knowledge base, which uses the disk.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, BaseError> + Send + 'static,
) -> Result<T, ApiProblem> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result.map_err(ApiProblem::from),
        Err(error) => Err(ApiProblem::internal("using a knowledge base", &error)),
    }
}

/// The key of an uploaded file.
fn key(record: &BaseRecord, digest: &str) -> String {
    format!("{}/{digest}", record.id)
}

fn base_name(id: &str) -> Result<BaseName, ApiProblem> {
    id.parse().map_err(|error| ApiProblem::internal("using a knowledge base", &error))
}

fn base_record(row: &Row) -> Result<BaseRecord, DatabaseError> {
    Ok(BaseRecord {
        id: row.get("id")?,
        owner: row.get("owner")?,
        name: row.get("name")?,
        created_at: row.get("created_at")?,
    })
}

impl From<BaseError> for ApiProblem {
    fn from(error: BaseError) -> Self {
        match error {
            BaseError::Missing { name } => {
                ApiProblem::not_found("knowledge-base-not-found", "id", "Knowledge base", &name)
            }
            BaseError::OtherEmbedder { .. } => ApiProblem::conflict(
                "embedder-changed",
                "embedder",
                "The vectors of this knowledge base are from another embedder: embed it again",
            ),
            BaseError::TooMuch(reason) => ApiProblem::invalid("query", reason),
            BaseError::Embed(error) => ApiProblem::new(
                http::StatusCode::SERVICE_UNAVAILABLE,
                "embedder-unavailable",
                "embedder",
                error.to_string(),
            ),
            error => ApiProblem::internal("using a knowledge base", &error),
        }
    }
}

/// The knowledge bases of one owner, for runs.
#[derive(Clone)]
pub(crate) struct OwnerBases {
    knowledge: Knowledge,
    owner: String,
}

impl Retriever for OwnerBases {
    fn search<'r>(
        &'r self,
        base: &'r str,
        query: &'r Query,
    ) -> BoxFuture<'r, Result<Vec<Passage>, RetrieveError>> {
        Box::pin(async move {
            // Somebody else's base does not exist for this run.
            let missing = || {
                let shown = prowess_format::text::shorten(base, 100);
                let message = format!("there is no knowledge base `{shown}`");
                RetrieveError::new(RetrieveErrorKind::NotFound, message)
            };
            let found = self.knowledge.find(Some(&self.owner), base).await.map_err(|error| {
                RetrieveError::new(RetrieveErrorKind::Unavailable, error.to_string())
            })?;
            let found = found.ok_or_else(missing)?;
            self.knowledge.bases.search(&found.id, query).await
        })
    }
}
