//! Knowledge bases in Postgres, for several servers that share them, and for users who already have such a database.
//!
//! Chunks, words and fusion are the same as on disk; only the storage differs. Words are ranked by
//! BM25 in SQL, because the ranking of Postgres has no inverse document frequency. Every search is exact. Vectors need
//! the extension pgvector; without it, knowledge bases have words only.

mod rows;
mod sql;

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use postgres::{Client, Config, NoTls, Transaction};
use prowess_core::{BoxFuture, Passage, Query, RetrieveError, Retriever};
use serde_json::Value;

use crate::analyze;
use crate::base::{BaseStatistics, DocumentRecord};
use crate::blocking;
use crate::document::KnowledgeDocument;
use crate::embed::{self, Embedder, EmbedderIdentity};
use crate::error::BaseError;
use crate::fusion::fuse;
use crate::name::BaseName;
use crate::schema::field_term;
use crate::search::{FUSED, MOST_PASSAGES, SearchMode};
use crate::settings::{self, BaseSettings};
use crate::split::{Chunk, split};
use crate::writer::{AddOutcome, titled};

/// Number of connections that are kept open while nobody uses them.
const MOST_IDLE: usize = 8;
/// Number of texts that are embedded at once.
const BATCH: usize = 64;

type Connect = dyn Fn() -> Result<Client, String> + Send + Sync;

/// Knowledge bases in a database. Clones share connections.
#[derive(Clone)]
pub struct PostgresBases {
    shared: Arc<Shared>,
}

struct Shared {
    connect: Box<Connect>,
    /// The only embedder, if one was given; otherwise each base opens its own.
    embedder: Option<Arc<dyn Embedder>>,
    /// The folder with tables of embeddings.
    root: PathBuf,
    opened: Mutex<HashMap<String, Arc<dyn Embedder>>>,
    idle: Mutex<Vec<Client>>,
    has_vectors: bool,
}

impl Drop for Shared {
    fn drop(&mut self) {
        let idle = std::mem::take(self.idle.get_mut().unwrap_or_else(PoisonError::into_inner));
        if !idle.is_empty() {
            // Closing a connection blocks, which a thread of an async runtime must not.
            let _ = std::thread::Builder::new().spawn(move || drop(idle));
        }
    }
}

/// The vectors of a document's chunks, if its base has an embedder.
type Vectors = Option<Vec<Vec<f32>>>;

impl PostgresBases {
    /// Connects to a database and creates missing tables. `address` is a `libpq` connection string, such as
    /// `host=/run/postgresql dbname=prowess`. The connection is not encrypted: use a socket or a tunnel.
    pub fn connect(address: &str, embedder: Arc<dyn Embedder>) -> Result<Self, BaseError> {
        let config: Config = address.parse().map_err(|error| database(&error))?;
        let connect = move || config.connect(NoTls).map_err(|error| words_of(&error));
        Self::with(Box::new(connect), Some(embedder), PathBuf::new())
    }

    /// Uses the connections that `connect` makes, and creates missing tables. Each base has the embedder that it was created
    /// with; `root` is the folder that stores tables of embeddings.
    pub fn open(
        connect: impl Fn() -> Result<Client, String> + Send + Sync + 'static,
        root: &Path,
    ) -> Result<Self, BaseError> {
        Self::with(Box::new(connect), None, root.to_owned())
    }

    fn with(
        connect: Box<Connect>,
        embedder: Option<Arc<dyn Embedder>>,
        root: PathBuf,
    ) -> Result<Self, BaseError> {
        let mut client = connect().map_err(|reason| BaseError::Database { reason })?;
        client.batch_execute(sql::TABLES).map_err(|error| database(&error))?;
        let has_vectors =
            client.query_opt(sql::HAS_PGVECTOR, &[]).map_err(|error| database(&error))?.is_some();
        if has_vectors {
            client.batch_execute(sql::VECTORS).map_err(|error| database(&error))?;
        }
        let shared = Shared {
            connect,
            embedder,
            root,
            opened: Mutex::default(),
            idle: Mutex::new(vec![client]),
            has_vectors,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Whether the database has pgvector.
    pub fn has_vectors(&self) -> bool {
        self.shared.has_vectors
    }

    /// Creates an empty knowledge base.
    pub fn create(&self, name: &BaseName, settings: &BaseSettings) -> Result<(), BaseError> {
        let (id, dimension, identity) = self.stored(settings.embedder.as_ref())?;
        self.run(|client| {
            let made = client
                .execute(
                    "insert into prowess_bases (name, language, embedder, dimension, identity) \
                     values ($1, $2, $3, $4, $5) on conflict do nothing",
                    &[&name.as_str(), &settings.language.code(), &id, &dimension, &identity],
                )
                .map_err(|error| database(&error))?;
            if made == 0 {
                return Err(BaseError::Exists { name: name.to_string() });
            }
            Ok(())
        })
    }

    /// Deletes a knowledge base; returns whether it existed.
    pub fn delete(&self, name: &BaseName) -> Result<bool, BaseError> {
        self.run(|client| {
            let deleted =
                client.execute("delete from prowess_bases where name = $1", &[&name.as_str()]);
            Ok(deleted.map_err(|error| database(&error))? > 0)
        })
    }

    /// The settings of a knowledge base.
    pub fn settings(&self, name: &str) -> Result<BaseSettings, BaseError> {
        self.transact(|transaction| settings_of(transaction, name, Use::Read))
    }

    /// Lists the documents of a knowledge base by name.
    pub fn documents(&self, name: &str) -> Result<Vec<DocumentRecord>, BaseError> {
        self.transact(|transaction| {
            settings_of(transaction, name, Use::Read)?;
            let rows = transaction
                .query(
                    "select doc, digest, record, octet_length(text)::bigint from prowess_documents \
                     where base = $1 order by doc collate \"C\"",
                    &[&name],
                )
                .map_err(|error| database(&error))?;
            Ok(rows.iter().map(rows::document_record).collect())
        })
    }

    /// A document with its text, as it was added.
    pub fn document_by_id(
        &self,
        name: &str,
        id: &str,
    ) -> Result<Option<KnowledgeDocument>, BaseError> {
        self.transact(|transaction| {
            settings_of(transaction, name, Use::Read)?;
            let row = transaction
                .query_opt(
                    "select doc, digest, record, octet_length(text)::bigint, text \
                     from prowess_documents where base = $1 and doc = $2",
                    &[&name, &id],
                )
                .map_err(|error| database(&error))?;
            Ok(row.as_ref().map(|row| {
                let record = rows::document_record(row);
                KnowledgeDocument {
                    id: record.id,
                    digest: record.digest,
                    format: record.format,
                    title: record.title,
                    text: row.get(4),
                    pages: record.pages,
                    fields: record.fields,
                }
            }))
        })
    }

    /// The chunks of a document in their order, with a score of zero.
    pub fn chunks_of(&self, name: &str, id: &str) -> Result<Vec<Passage>, BaseError> {
        self.transact(|transaction| {
            let rows = transaction
                .query(
                    "select id, doc, chunk, first, past, page, text, address, last_page \
                     from prowess_chunks where base = $1 and doc = $2 order by chunk",
                    &[&name, &id],
                )
                .map_err(|error| database(&error))?;
            Ok(rows.iter().map(|row| rows::passage(row, 0.0)).collect())
        })
    }

    /// The size of a knowledge base.
    pub fn figures(&self, name: &str) -> Result<BaseStatistics, BaseError> {
        self.transact(|transaction| {
            settings_of(transaction, name, Use::Read)?;
            let row =
                transaction.query_one(sql::FIGURES, &[&name]).map_err(|error| database(&error))?;
            let number = |column: usize| rows::unsigned(row.get(column));
            Ok(BaseStatistics {
                documents: number(0),
                chunks: number(2),
                text_bytes: number(1),
                disk_bytes: number(1) + number(3),
            })
        })
    }

    /// Adds a document, or replaces the one with the same name if it differs.
    pub fn add(
        &self,
        name: &BaseName,
        document: &KnowledgeDocument,
    ) -> Result<AddOutcome, BaseError> {
        // The database has no NUL characters. A space is as long, so that all ranges stay.
        let text = document.text.replace('\0', " ");
        let chunks = split(&text);
        if chunks.is_empty() {
            return Err(BaseError::TooMuch(format!("`{}` contains no text", document.id)));
        }
        let texts: Vec<&str> = chunks.iter().map(|chunk| &text[chunk.range.clone()]).collect();
        let title = document.title.replace('\0', " ");
        let found: Vec<_> = texts.iter().map(|text| titled(&title, text)).collect();
        let found: Vec<&str> = found.iter().map(AsRef::as_ref).collect();
        let settings = self.settings(name.as_str())?;
        // Before the transaction: an embedder may be a slow server.
        let vectors = self.vectors(name.as_str(), settings.embedder.as_ref(), &found)?;
        let new = NewDocument {
            document,
            text: &text,
            record: rows::record_json(document, &title),
            chunks: &chunks,
            texts: &texts,
            found: &found,
            vectors,
        };
        self.transact(|transaction| {
            let now = settings_of(transaction, name.as_str(), Use::Write)?;
            if now != settings {
                return Err(BaseError::OtherEmbedder {
                    name: name.to_string(),
                    stamped: shown(now.embedder.as_ref()),
                    offered: shown(settings.embedder.as_ref()),
                });
            }
            let before = transaction
                .query_opt(
                    "select digest from prowess_documents where base = $1 and doc = $2",
                    &[&name.as_str(), &document.id],
                )
                .map_err(|error| database(&error))?;
            let before: Option<String> = before.map(|row| row.get(0));
            if before.as_ref() == Some(&document.digest) {
                return Ok(AddOutcome::Same);
            }
            new.write(transaction, name.as_str(), &settings).map_err(|error| database(&error))?;
            Ok(if before.is_some() { AddOutcome::Updated } else { AddOutcome::New })
        })
    }

    /// Removes a document; returns whether it existed.
    pub fn remove(&self, name: &BaseName, id: &str) -> Result<bool, BaseError> {
        self.transact(|transaction| {
            settings_of(transaction, name.as_str(), Use::Write)?;
            let removed = transaction.execute(
                "delete from prowess_documents where base = $1 and doc = $2",
                &[&name.as_str(), &id],
            );
            Ok(removed.map_err(|error| database(&error))? > 0)
        })
    }

    /// Replaces the vectors of a knowledge base by those of another embedder.
    pub fn reembed(
        &self,
        name: &BaseName,
        embedder: Option<&EmbedderIdentity>,
    ) -> Result<(), BaseError> {
        let (id, dimension, identity) = self.stored(embedder)?;
        // All at once or not at all; writers wait for the lock on the base's row. Pieces are embedded in between, because their
        // number is not bounded by memory.
        self.transact(|transaction| {
            settings_of(transaction, name.as_str(), Use::Write)?;
            let update = |transaction: &mut Transaction<'_>| {
                transaction.execute(
                    "update prowess_bases set embedder = $2, dimension = $3, identity = $4 \
                     where name = $1",
                    &[&name.as_str(), &id, &dimension, &identity],
                )
            };
            update(transaction).map_err(|error| database(&error))?;
            if embedder.is_none() {
                if self.shared.has_vectors {
                    let sql = "update prowess_chunks set embedding = null where base = $1";
                    transaction
                        .execute(sql, &[&name.as_str()])
                        .map_err(|error| database(&error))?;
                }
                return Ok(());
            }
            let mut after = 0_i64;
            loop {
                let rows = transaction
                    .query(sql::TITLED_CHUNKS, &[&name.as_str(), &after, &rows::signed(BATCH)])
                    .map_err(|error| database(&error))?;
                let Some(last) = rows.last() else { return Ok(()) };
                after = last.get(0);
                let found: Vec<String> = rows
                    .iter()
                    .map(|row| {
                        let record: Option<String> = row.get(2);
                        titled(&rows::title(record.as_deref()), row.get(1)).into_owned()
                    })
                    .collect();
                let found: Vec<&str> = found.iter().map(String::as_str).collect();
                let vectors = self.vectors(name.as_str(), embedder, &found)?.unwrap_or_default();
                for (row, vector) in rows.iter().zip(vectors) {
                    let id: i64 = row.get(0);
                    transaction
                        .execute(
                            "update prowess_chunks set embedding = $2::text::vector where id = $1",
                            &[&id, &rows::literal(&vector)],
                        )
                        .map_err(|error| database(&error))?;
                }
            }
        })
    }

    /// Finds the passages of a knowledge base that match a query best.
    pub fn search_now(&self, base: &str, query: &Query) -> Result<Vec<Passage>, BaseError> {
        self.search_by(base, query, SearchMode::All)
    }

    /// Searches by words only, even if there are vectors.
    pub fn search_words(&self, base: &str, query: &Query) -> Result<Vec<Passage>, BaseError> {
        self.search_by(base, query, SearchMode::Words)
    }

    /// Searches by vectors only; without vectors nothing is found.
    pub fn search_vectors(&self, base: &str, query: &Query) -> Result<Vec<Passage>, BaseError> {
        self.search_by(base, query, SearchMode::Vectors)
    }

    /// The byte ranges of query words in a text.
    pub fn places(settings: &BaseSettings, question: &str, text: &str) -> Vec<Range<usize>> {
        let questions = analyze::Questions::new(settings.language);
        questions.places(&questions.words(question), text)
    }

    fn search_by(
        &self,
        base: &str,
        query: &Query,
        mode: SearchMode,
    ) -> Result<Vec<Passage>, BaseError> {
        let most = query.top_k.min(MOST_PASSAGES);
        if most == 0 {
            return Ok(Vec::new());
        }
        let text = query.text.replace('\0', " ");
        let settings = self.settings(base)?;
        let vectors = match mode {
            SearchMode::Words => None,
            SearchMode::All | SearchMode::Vectors => {
                self.vectors(base, settings.embedder.as_ref(), &[&text])?
            }
        };
        let vector = vectors.and_then(|vectors| vectors.into_iter().next());
        let is_hybrid = vector.is_some() && mode == SearchMode::All;
        let depth = rows::signed(if is_hybrid { FUSED.max(most * 2) } else { most * 2 });
        let filters = filters(query);
        self.transact(|transaction| {
            let mut ranking = |sql: &str,
                               asked: &(dyn postgres::types::ToSql + Sync)|
             -> Result<Vec<(i64, f64)>, postgres::Error> {
                let rows = transaction.query(sql, &[&base, asked, &filters, &depth])?;
                Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
            };
            let mut by_words: Vec<(i64, f64)> = Vec::new();
            let mut by_vectors: Vec<(i64, f64)> = Vec::new();
            if mode != SearchMode::Vectors {
                let words = analyze::Questions::new(settings.language).words(&text);
                by_words = ranking(sql::BY_WORDS, &words).map_err(|error| database(&error))?;
            }
            // A zero vector has no cosine similarity to anything.
            if let Some(vector) =
                vector.as_ref().filter(|it| it.iter().any(|number| *number != 0.0))
            {
                let vector = rows::literal(vector);
                by_vectors = ranking(sql::BY_VECTORS, &vector).map_err(|error| database(&error))?;
            }
            let ids = |ranking: &[(i64, f64)]| -> Vec<i64> {
                ranking.iter().map(|(id, _)| *id).collect()
            };
            let ranked = match (is_hybrid, mode) {
                (true, _) => fuse(&[&ids(&by_words), &ids(&by_vectors)]),
                (false, SearchMode::Vectors) => by_vectors,
                (false, SearchMode::All | SearchMode::Words) => by_words,
            };
            let rows = transaction
                .query(sql::CHUNKS, &[&ids(&ranked)])
                .map_err(|error| database(&error))?;
            Ok(rows::best(&ranked, &rows, most))
        })
    }

    /// The columns of an embedder: its id, dimension and identity.
    fn stored(
        &self,
        embedder: Option<&EmbedderIdentity>,
    ) -> Result<(String, i32, Option<String>), BaseError> {
        let Some(stamp) = embedder else { return Ok((String::new(), 0, None)) };
        if !self.shared.has_vectors {
            let reason = "vectors need the extension pgvector, which this database does not have";
            return Err(BaseError::TooMuch(reason.to_owned()));
        }
        let dimension = i32::try_from(stamp.dimension).unwrap_or(i32::MAX);
        Ok((stamp.source.id(), dimension, Some(settings::identity(stamp).to_string())))
    }

    /// The embedder with an identity.
    fn embedder(
        &self,
        name: &str,
        stamp: &EmbedderIdentity,
    ) -> Result<Arc<dyn Embedder>, BaseError> {
        if let Some(given) = &self.shared.embedder {
            if given.stamp() == stamp {
                return Ok(Arc::clone(given));
            }
            return Err(BaseError::OtherEmbedder {
                name: name.to_owned(),
                stamped: format!("{} with {} dimensions", stamp.source.id(), stamp.dimension),
                offered: given.stamp().to_string(),
            });
        }
        let id = format!("{} {}", stamp.dimension, stamp.source.id());
        let opened = || self.shared.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(embedder) = opened().get(&id) {
            return Ok(Arc::clone(embedder));
        }
        let embedder = embed::open(&self.shared.root, stamp)?;
        opened().insert(id, Arc::clone(&embedder));
        Ok(embedder)
    }

    fn vectors(
        &self,
        name: &str,
        stamp: Option<&EmbedderIdentity>,
        texts: &[&str],
    ) -> Result<Vectors, BaseError> {
        let Some(stamp) = stamp else { return Ok(None) };
        let embedder = self.embedder(name, stamp)?;
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            let found = embedder.embed(batch)?;
            if found.len() != batch.len() || found.iter().any(|it| it.len() != stamp.dimension) {
                let got = found.first().map_or(0, Vec::len);
                return Err(BaseError::OtherEmbedder {
                    name: name.to_owned(),
                    stamped: stamp.to_string(),
                    offered: format!(
                        "one that returned {} vectors of {got} dimensions",
                        found.len()
                    ),
                });
            }
            vectors.extend(found);
        }
        Ok(Some(vectors))
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Client>> {
        self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a function with a connection. One whose server has gone is replaced once.
    fn run<T>(
        &self,
        mut work: impl FnMut(&mut Client) -> Result<T, BaseError>,
    ) -> Result<T, BaseError> {
        let kept = self.idle().pop().filter(|client| !client.is_closed());
        let was_kept = kept.is_some();
        let connect = || (self.shared.connect)().map_err(|reason| BaseError::Database { reason });
        let mut client = kept.map_or_else(connect, Ok)?;
        let mut result = work(&mut client);
        if result.is_err() && was_kept && client.is_closed() {
            client = connect()?;
            result = work(&mut client);
        }
        let mut idle = self.idle();
        if !client.is_closed() && idle.len() < MOST_IDLE {
            idle.push(client);
        }
        result
    }

    fn transact<T>(
        &self,
        mut work: impl FnMut(&mut Transaction<'_>) -> Result<T, BaseError>,
    ) -> Result<T, BaseError> {
        self.run(|client| {
            let mut transaction = client.transaction().map_err(|error| database(&error))?;
            let result = work(&mut transaction)?;
            transaction.commit().map_err(|error| database(&error))?;
            Ok(result)
        })
    }
}

impl Retriever for PostgresBases {
    fn search<'r>(
        &'r self,
        base: &'r str,
        query: &'r Query,
    ) -> BoxFuture<'r, Result<Vec<Passage>, RetrieveError>> {
        let (bases, name, query) = (self.clone(), base.to_owned(), query.clone());
        blocking::search(base, move || bases.search_now(&name, &query))
    }
}

/// A document that is about to be written.
struct NewDocument<'d> {
    document: &'d KnowledgeDocument,
    text: &'d str,
    record: String,
    chunks: &'d [Chunk],
    texts: &'d [&'d str],
    /// What each chunk is found by: its text with the title.
    found: &'d [&'d str],
    vectors: Vectors,
}

impl NewDocument<'_> {
    fn write(
        &self,
        transaction: &mut Transaction<'_>,
        base: &str,
        settings: &BaseSettings,
    ) -> Result<(), postgres::Error> {
        let document = self.document;
        let mut fields =
            vec![field_term("doc", &document.id), field_term("format", document.format.as_str())];
        fields.extend(document.fields.iter().map(|(name, value)| field_term(name, value)));
        transaction.execute(
            "delete from prowess_documents where base = $1 and doc = $2",
            &[&base, &document.id],
        )?;
        transaction.execute(
            "insert into prowess_documents (base, doc, digest, record, text) \
             values ($1, $2, $3, $4, $5)",
            &[&base, &document.id, &document.digest, &self.record, &self.text],
        )?;
        for (index, chunk) in self.chunks.iter().enumerate() {
            let mut counts: HashMap<String, i64> = HashMap::new();
            let words = analyze::words(settings.language, self.found[index]);
            let length = rows::signed(words.len());
            for word in words {
                *counts.entry(word).or_default() += 1;
            }
            let page = |at| document.page_at(at).map(i64::from);
            let row = transaction.query_one(
                "insert into prowess_chunks (base, doc, chunk, first, past, page, last_page, address, \
                 words, fields, text) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) returning id",
                &[
                    &base,
                    &document.id,
                    &rows::signed(index),
                    &rows::signed(chunk.range.start),
                    &rows::signed(chunk.range.end),
                    &page(chunk.range.start),
                    &page(chunk.range.end.saturating_sub(1)),
                    &chunk.address.as_slice(),
                    &length,
                    &fields,
                    &self.texts[index],
                ],
            )?;
            let id: i64 = row.get(0);
            if let Some(vectors) = &self.vectors {
                transaction.execute(
                    "update prowess_chunks set embedding = $2::text::vector where id = $1",
                    &[&id, &rows::literal(&vectors[index])],
                )?;
            }
            let (words, times): (Vec<String>, Vec<i64>) = counts.into_iter().unzip();
            transaction.execute(
                "insert into prowess_words select $1, word, $2, times \
                 from unnest($3::text[], $4::bigint[]) as counted (word, times)",
                &[&base, &id, &words, &times],
            )?;
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    Write,
}

fn settings_of(
    transaction: &mut Transaction<'_>,
    name: &str,
    usage: Use,
) -> Result<BaseSettings, BaseError> {
    // One writer at a time, as on disk; readers don't wait.
    let lock = if usage == Use::Write { " for update" } else { "" };
    let question = format!("select language, identity from prowess_bases where name = $1{lock}");
    let row = transaction.query_opt(&question, &[&name]).map_err(|error| database(&error))?;
    let row = row.ok_or_else(|| BaseError::Missing { name: name.to_owned() })?;
    let (language, identity): (String, Option<String>) = (row.get(0), row.get(1));
    let language = language
        .parse()
        .map_err(|error| BaseError::Database { reason: format!("base `{name}`: {error}") })?;
    let embedder = match identity {
        None => None,
        Some(text) => {
            let stamp = serde_json::from_str::<Value>(&text).ok();
            let stamp = stamp.as_ref().and_then(settings::stamp);
            Some(stamp.ok_or_else(|| BaseError::Database {
                reason: format!("the embedder of `{name}` is not valid"),
            })?)
        }
    };
    Ok(BaseSettings { language, embedder })
}

fn filters(query: &Query) -> Vec<String> {
    let filters = query.filters.iter().map(|(name, value)| match value {
        Value::String(text) => field_term(name, text),
        other => field_term(name, &other.to_string()),
    });
    filters.map(|filter| filter.replace('\0', " ")).collect()
}

fn shown(embedder: Option<&EmbedderIdentity>) -> String {
    embedder.map_or_else(|| "none".to_owned(), ToString::to_string)
}

fn words_of(error: &postgres::Error) -> String {
    error.as_db_error().map_or_else(|| error.to_string(), ToString::to_string)
}

/// Converts an error of the database, with its causes.
fn database(error: &postgres::Error) -> BaseError {
    BaseError::Database { reason: words_of(error) }
}
