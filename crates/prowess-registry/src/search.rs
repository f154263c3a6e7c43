//! Full-text search: a cache on every node that follows the log of changes and can be deleted at any time.
//!
//! Only what everybody may see is in it, so that no query, count or suggestion can show something else (attacks registry-D7
//! and D19).

mod documents;
mod facets;
mod follow;
mod ranking;
mod schema;
mod words;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

use tantivy::directory::MmapDirectory;
use tantivy::{Index, IndexReader, IndexWriter, ReloadPolicy, TantivyDocument, Term};

pub use documents::SearchDocument;
pub use ranking::{SearchFilters, SearchHit, SearchRequest, SearchResults, SearchSort, Suggestion};

use self::schema::Fields;

/// The version of the schema. An index of another version is built anew.
const SCHEMA: &str = "prowess-registry-search-1";
/// Memory of the writer, the least that the engine accepts.
const WRITER_BYTES: usize = 16 << 20;

/// Why the index can't be used.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The engine failed.
    #[error("the search index failed: {0}")]
    Engine(#[from] tantivy::TantivyError),
    /// Its folder can't be used.
    #[error("cannot use the folder of the search index: {0}")]
    Folder(#[from] std::io::Error),
}

/// A search index.
pub struct SearchIndex {
    index: Index,
    reader: IndexReader,
    fields: Fields,
    writer: Mutex<Option<IndexWriter>>,
    sequence: AtomicI64,
    categories: Mutex<BTreeMap<String, u64>>,
}

impl SearchIndex {
    /// Opens the index in a folder. One that can't be read, or that an older program wrote, is deleted: it is a cache.
    pub fn open(folder: &Path) -> Result<Self, SearchError> {
        match Self::open_existing(folder) {
            Ok(found) => Ok(found),
            Err(error) => {
                if folder.exists() {
                    tracing::warn!(%error, "the search index is built anew");
                    std::fs::remove_dir_all(folder)?;
                }
                Self::open_existing(folder)
            }
        }
    }

    fn open_existing(folder: &Path) -> Result<Self, SearchError> {
        std::fs::create_dir_all(folder)?;
        let (schema, fields) = schema::schema();
        let directory = MmapDirectory::open(folder).map_err(tantivy::TantivyError::from)?;
        let index = Index::open_or_create(directory, schema)?;
        words::register(&index);
        let payload = index.load_metas()?.payload.unwrap_or_default();
        let sequence = match payload.split_once(' ') {
            Some((SCHEMA, number)) => number.parse().unwrap_or(0),
            None if payload.is_empty() => 0,
            _ => {
                let message = "another program wrote it".to_owned();
                return Err(tantivy::TantivyError::InvalidArgument(message).into());
            }
        };
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .num_warming_threads(1)
            .try_into()?;
        let found = Self {
            index,
            reader,
            fields,
            writer: Mutex::new(None),
            sequence: AtomicI64::new(sequence),
            categories: Mutex::default(),
        };
        found.count_categories()?;
        Ok(found)
    }

    /// The last change that is in the index.
    pub fn sequence(&self) -> i64 {
        self.sequence.load(Ordering::Acquire)
    }

    /// How many public skills each category has.
    pub fn category_counts(&self) -> BTreeMap<String, u64> {
        self.categories.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many skills are in the index.
    pub fn len(&self) -> u64 {
        self.reader.searcher().num_docs()
    }

    /// Whether the index is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Replaces skills and commits: `changed` are skills with their new documents, or without one if nobody may see them
    /// any more. After this they are found.
    pub fn apply(
        &self,
        changed: &[(i64, Option<SearchDocument>)],
        sequence: i64,
    ) -> Result<(), SearchError> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let open = match writer.take() {
            Some(open) => open,
            None => self.index.writer_with_num_threads(1, WRITER_BYTES)?,
        };
        let open = writer.insert(open);
        let done = self.write(open, changed, sequence);
        if done.is_err() {
            // What a failed commit leaves behind is not continued.
            *writer = None;
        }
        done?;
        self.reader.reload()?;
        self.sequence.store(sequence, Ordering::Release);
        self.count_categories()
    }

    /// Frees the memory of the writer, for times without changes.
    pub fn rest(&self) {
        *self.writer.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Empties the index, so that it is built anew from the first change.
    pub fn clear(&self) -> Result<(), SearchError> {
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut open: IndexWriter = match writer.take() {
            Some(open) => open,
            None => self.index.writer_with_num_threads(1, WRITER_BYTES)?,
        };
        open.delete_all_documents()?;
        commit(&mut open, 0)?;
        drop(open);
        self.reader.reload()?;
        self.sequence.store(0, Ordering::Release);
        self.count_categories()
    }

    fn write(
        &self,
        writer: &mut IndexWriter,
        changed: &[(i64, Option<SearchDocument>)],
        sequence: i64,
    ) -> Result<(), SearchError> {
        for (id, document) in changed {
            writer.delete_term(Term::from_field_i64(self.fields.id, *id));
            if let Some(document) = document {
                let document: TantivyDocument = documents::document(&self.fields, *id, document);
                writer.add_document(document)?;
            }
        }
        commit(writer, sequence)
    }

    fn count_categories(&self) -> Result<(), SearchError> {
        let counted = facets::count_all(&self.reader.searcher(), schema::CATEGORY)?;
        *self.categories.lock().unwrap_or_else(PoisonError::into_inner) = counted;
        Ok(())
    }
}

fn commit(writer: &mut IndexWriter, sequence: i64) -> Result<(), SearchError> {
    let mut prepared = writer.prepare_commit()?;
    prepared.set_payload(&format!("{SCHEMA} {sequence}"));
    prepared.commit()?;
    Ok(())
}
