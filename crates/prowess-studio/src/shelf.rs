//! Where knowledge bases are: folders on this machine, or the database that several servers share.

use std::ops::Range;
use std::path::Path;

use prowess_core::{BoxFuture, Passage, Query, RetrieveError, Retriever};
use prowess_knowledge::embed::EmbedderIdentity;
use prowess_knowledge::{
    AddOutcome, BaseError, BaseName, BaseSettings, BaseStatistics, DocumentRecord, KnowledgeBases,
    KnowledgeDocument, PostgresBases, ReclaimSpace,
};
use prowess_server::database::Database;

/// Knowledge bases by their ids. All functions but searches of runs block.
#[derive(Clone)]
pub(crate) enum Shelf {
    Disk(KnowledgeBases),
    Postgres(PostgresBases),
}

/// The rankings of a search.
pub(crate) struct Rankings {
    pub(crate) found: Vec<Passage>,
    pub(crate) by_words: Vec<Passage>,
    pub(crate) by_vectors: Vec<Passage>,
}

impl Shelf {
    /// The bases of a studio: in its database if that is Postgres, otherwise in a folder, which also has the tables of
    /// embedders.
    pub(crate) fn open(folder: &Path, database: &Database) -> Result<Self, BaseError> {
        let Some(connect) = database.postgres_connector() else {
            return Ok(Self::Disk(KnowledgeBases::open(folder)));
        };
        let connect = move || connect().map_err(|error| error.to_string());
        let bases = PostgresBases::open(connect, folder)?;
        if !bases.has_vectors() {
            tracing::info!("the database has no pgvector: knowledge bases have words only");
        }
        Ok(Self::Postgres(bases))
    }

    pub(crate) fn create(&self, name: &BaseName, settings: &BaseSettings) -> Result<(), BaseError> {
        match self {
            Self::Disk(bases) => bases.create(name, settings),
            Self::Postgres(bases) => bases.create(name, settings),
        }
    }

    /// Deletes a base, if it exists.
    pub(crate) fn delete(&self, name: &BaseName) -> Result<(), BaseError> {
        match self {
            Self::Disk(bases) => match bases.remove(name, || ()) {
                Ok(()) | Err(BaseError::Missing { .. }) => Ok(()),
                Err(error) => Err(error),
            },
            Self::Postgres(bases) => bases.delete(name).map(|_| ()),
        }
    }

    pub(crate) fn settings(&self, name: &BaseName) -> Result<BaseSettings, BaseError> {
        match self {
            Self::Disk(bases) => Ok(bases.base(name)?.settings().clone()),
            Self::Postgres(bases) => bases.settings(name.as_str()),
        }
    }

    pub(crate) fn figures(&self, name: &BaseName) -> Result<BaseStatistics, BaseError> {
        match self {
            Self::Disk(bases) => bases.base(name)?.figures(),
            Self::Postgres(bases) => bases.figures(name.as_str()),
        }
    }

    pub(crate) fn documents(&self, name: &BaseName) -> Result<Vec<DocumentRecord>, BaseError> {
        match self {
            Self::Disk(bases) => bases.base(name)?.documents(),
            Self::Postgres(bases) => bases.documents(name.as_str()),
        }
    }

    pub(crate) fn document(
        &self,
        name: &BaseName,
        id: &str,
    ) -> Result<Option<KnowledgeDocument>, BaseError> {
        match self {
            Self::Disk(bases) => bases.base(name)?.document_by_id(id),
            // A name that no document can have.
            Self::Postgres(_) if id.contains('\0') => Ok(None),
            Self::Postgres(bases) => bases.document_by_id(name.as_str(), id),
        }
    }

    pub(crate) fn chunks(&self, name: &BaseName, id: &str) -> Result<Vec<Passage>, BaseError> {
        match self {
            Self::Disk(bases) => bases.base(name)?.chunks_of(id),
            Self::Postgres(bases) => bases.chunks_of(name.as_str(), id),
        }
    }

    /// Adds a document. When this returns, it is stored and found by searches.
    pub(crate) fn add(
        &self,
        name: &BaseName,
        document: &KnowledgeDocument,
    ) -> Result<AddOutcome, BaseError> {
        match self {
            Self::Disk(bases) => {
                let mut writer = bases.writer(name, || ())?;
                let added = writer.add(document)?;
                writer.finish(ReclaimSpace::WhenWorthwhile)?;
                Ok(added)
            }
            Self::Postgres(bases) => bases.add(name, document),
        }
    }

    /// Removes a document; returns whether it existed.
    pub(crate) fn remove(&self, name: &BaseName, id: &str) -> Result<bool, BaseError> {
        match self {
            Self::Disk(bases) => {
                let mut writer = bases.writer(name, || ())?;
                let removed = writer.remove(id)?;
                writer.finish(ReclaimSpace::GiveBack)?;
                Ok(removed)
            }
            Self::Postgres(_) if id.contains('\0') => Ok(false),
            Self::Postgres(bases) => bases.remove(name, id),
        }
    }

    /// Reads all documents again with another embedder.
    pub(crate) fn reembed(
        &self,
        name: &BaseName,
        embedder: Option<EmbedderIdentity>,
    ) -> Result<(), BaseError> {
        let bases = match self {
            Self::Disk(bases) => bases,
            Self::Postgres(bases) => return bases.reembed(name, embedder.as_ref()),
        };
        let old = bases.base(name)?;
        let half: BaseName = format!("{name}-new").parse()?;
        self.delete(&half)?;
        let settings = BaseSettings { language: old.settings().language, embedder };
        bases.create(&half, &settings)?;
        let mut writer = bases.writer(&half, || ())?;
        for document in old.documents()? {
            if let Some(document) = old.document_by_id(&document.id)? {
                writer.add(&document)?;
            }
        }
        writer.finish(ReclaimSpace::WhenWorthwhile)?;
        bases.replace(name, &half)
    }

    /// Searches, and ranks by words and by vectors alone, to `depth`.
    pub(crate) fn rankings(
        &self,
        name: &BaseName,
        text: &str,
        top_k: usize,
        depth: usize,
    ) -> Result<Rankings, BaseError> {
        let query = |top_k| Query { text: text.to_owned(), top_k, filters: Vec::new() };
        let (most, deep) = (query(top_k), query(depth));
        match self {
            Self::Disk(bases) => {
                let base = bases.base(name)?;
                Ok(Rankings {
                    found: base.search(&most)?,
                    by_words: base.search_words(&deep)?,
                    by_vectors: base.search_vectors(&deep)?,
                })
            }
            Self::Postgres(bases) => Ok(Rankings {
                found: bases.search_now(name.as_str(), &most)?,
                by_words: bases.search_words(name.as_str(), &deep)?,
                by_vectors: bases.search_vectors(name.as_str(), &deep)?,
            }),
        }
    }

    /// The byte ranges of a query's words in texts.
    pub(crate) fn places(
        &self,
        name: &BaseName,
        question: &str,
        texts: &[&str],
    ) -> Result<Vec<Vec<Range<usize>>>, BaseError> {
        match self {
            Self::Disk(bases) => {
                let base = bases.base(name)?;
                Ok(texts.iter().map(|text| base.places(question, text)).collect())
            }
            Self::Postgres(bases) => {
                let settings = bases.settings(name.as_str())?;
                let places =
                    texts.iter().map(|text| PostgresBases::places(&settings, question, text));
                Ok(places.collect())
            }
        }
    }

    /// Copies a base with its documents to another place.
    pub(crate) fn copy_to(&self, other: &Self, name: &BaseName) -> Result<(), BaseError> {
        other.create(name, &self.settings(name)?)?;
        for document in self.documents(name)? {
            if let Some(document) = self.document(name, &document.id)? {
                other.add(name, &document)?;
            }
        }
        Ok(())
    }
}

impl Retriever for Shelf {
    fn search<'r>(
        &'r self,
        base: &'r str,
        query: &'r Query,
    ) -> BoxFuture<'r, Result<Vec<Passage>, RetrieveError>> {
        match self {
            Self::Disk(bases) => bases.search(base, query),
            Self::Postgres(bases) => bases.search(base, query),
        }
    }
}
