//! A knowledge base open for writing: by one process at a time, with changes visible once committed.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_files::lock_file;
use tantivy::indexer::NoMergePolicy;
use tantivy::{IndexWriter, TantivyDocument, Term};

use crate::base::{
    DocumentRecord, INDEX, KnowledgeBase, TEXTS, check_stamp, create_data, data_folder, head_of,
    key, record_end,
};
use crate::committed::{Committed, Content};
use crate::document::{FIELDS_OF_ALL, FORMAT, KnowledgeDocument};
use crate::embed::Embedder;
use crate::error::BaseError;
use crate::journal::Journal;
use crate::name::BaseName;
use crate::schema::{Fields, field_term};
use crate::settings::{self, BaseSettings};
use crate::split::{Chunk, split};
use crate::vectors;

/// Memory for indexing per thread, in bytes.
const MEMORY: usize = 48 << 20;
const MOST_THREADS: usize = 4;
/// Number of texts per request to an embedder.
const BATCH: usize = 64;
/// Maximum size of a name in bytes; the index accepts terms up to 64 KiB.
const MOST_ID_BYTES: usize = 4096;
/// Maximum size of a title in bytes. The title is part of every chunk, so a long one would dominate.
const MOST_TITLE_BYTES: usize = 512;
const MOST_FIELDS: usize = 64;
const MOST_FIELD_BYTES: usize = 4096;
/// The minimum memory that tantivy requires; nothing is added while erasing.
const LEAST_MEMORY: usize = 16 << 20;
/// Files are rewritten if more bytes than this are unused, and more than half of them.
const WASTE: u64 = 1 << 20;

/// The result of adding a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddOutcome {
    /// The document was added.
    New,
    /// The document replaced an earlier one of the same name.
    Updated,
    /// The document was already present.
    Same,
}

/// A pending change to a document.
#[derive(Default)]
struct Change {
    /// The document in the last commit.
    before: Option<Stored>,
    /// The document after the next commit; `None` if it was removed.
    after: Option<(Stored, String)>,
    /// Versions that were added and replaced since the last commit.
    between: Vec<Stored>,
}

/// The location of a document in the journals.
struct Stored {
    text: Range<u64>,
    rows: Vec<u64>,
}

/// The only writer of a knowledge base. Dropping it discards uncommitted changes.
pub struct BaseWriter {
    base: KnowledgeBase,
    folder: PathBuf,
    generation: u64,
    embedder: Option<Arc<dyn Embedder>>,
    engine: IndexWriter,
    texts: Journal,
    vectors: Option<Journal>,
    /// The content of the journals as of the last commit, and the ranges to erase.
    content: Content,
    /// Whether `content` does not list all ranges to erase.
    is_unlisted: bool,
    /// Changes since the last commit, by document name.
    uncommitted: HashMap<String, Change>,
    /// The lock, which the system releases when the process ends, however it ends.
    _lock: File,
}

impl BaseWriter {
    pub(crate) fn open(
        root: &Path,
        name: &BaseName,
        embedder: Option<Arc<dyn Embedder>>,
        on_wait: impl FnOnce(),
    ) -> Result<Self, BaseError> {
        let folder = root.join(name.as_str());
        if !folder.is_dir() {
            return Err(BaseError::Missing { name: name.to_string() });
        }
        let lock = lock(&folder, on_wait)?;
        // The previous holder of the lock may have deleted the knowledge base.
        if !folder.is_dir() {
            return Err(BaseError::Missing { name: name.to_string() });
        }
        let (_, generation) = settings::read(&folder)?;
        remove_other_generations(&folder, generation);
        let base = KnowledgeBase::open(root, name, embedder.clone())?;
        let embedder = match (&base.settings().embedder, embedder) {
            (None, _) => None,
            (Some(_), Some(embedder)) => Some(embedder),
            (Some(_), None) => base.embedder()?.cloned(),
        };
        Self::of(base, folder, generation, embedder, lock)
    }

    fn of(
        base: KnowledgeBase,
        folder: PathBuf,
        generation: u64,
        embedder: Option<Arc<dyn Embedder>>,
        lock: File,
    ) -> Result<Self, BaseError> {
        // First, because tantivy has its own lock: a knowledge base that was deleted and created again while this process
        // waited has another lock file, and nothing may be truncated before it is certain that no other process writes.
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        let engine: IndexWriter = base
            .index
            .writer_with_num_threads(threads, threads * MEMORY)
            .map_err(BaseError::index(&base.data))?;
        // Tantivy numbers its files of deleted entries. A killed process may have left the file with the
        // next number, and tantivy never overwrites one. Files that no commit refers to are removed first.
        engine.garbage_collect_files().wait().map_err(BaseError::index(&base.data))?;
        // The first operation of a writer of tantivy has the number of the last commit. If it is a deletion, a merge of
        // committed segments takes it for committed and saves the index without the document, before the document that
        // replaces it is committed. So that number goes to an operation that does nothing.
        engine.run(Vec::new()).map_err(BaseError::index(&base.data))?;
        let metas = base.index.load_metas().map_err(BaseError::index(&base.data))?;
        let committed = Committed::parse(metas.payload.as_deref());
        // Journals are truncated to these lengths; an index with entries but without lengths is not ours.
        if committed.texts == 0 && !metas.segments.is_empty() {
            return Err(BaseError::Damaged {
                path: base.data.join(INDEX),
                reason: "its last commit has no length of the texts".to_owned(),
            });
        }
        let texts = Journal::open(&base.data.join(TEXTS), committed.texts)?;
        let name = base.name().as_str();
        let vectors = match (&base.settings().embedder, &embedder) {
            (Some(stamp), Some(embedder)) => {
                check_stamp(name, stamp, embedder.stamp())?;
                let end = committed.vectors.max(vectors::HEAD as u64);
                Some(Journal::open(&base.data.join(vectors::FILE), end)?)
            }
            (None, _) | (_, None) => None,
        };
        let (content, is_unlisted) = match committed.content {
            Some(content) => (content, false),
            None => {
                let content = Content { used: base.journal_bytes()?, ..Content::default() };
                let is_unlisted = content.used < committed.texts;
                (content, is_unlisted)
            }
        };
        Ok(Self {
            base,
            folder,
            generation,
            embedder,
            engine,
            texts,
            vectors,
            content,
            is_unlisted,
            uncommitted: HashMap::new(),
            _lock: lock,
        })
    }

    /// The knowledge base as of the last commit.
    pub fn base(&self) -> &KnowledgeBase {
        &self.base
    }

    /// The digest of a document, including uncommitted ones.
    pub fn digest(&self, id: &str) -> Result<Option<String>, BaseError> {
        if let Some(change) = self.uncommitted.get(id) {
            return Ok(change.after.as_ref().map(|(_, digest)| digest.clone()));
        }
        Ok(self.committed(id)?.map(|record| record.digest))
    }

    /// A document as of the last commit.
    pub fn committed(&self, id: &str) -> Result<Option<DocumentRecord>, BaseError> {
        let seen = self.base.seen()?;
        let Some(at) = self.base.find(&seen, id)? else { return Ok(None) };
        Ok(Some(self.base.record(at)?.0))
    }

    /// Adds a document, or replaces the one with the same name if it differs.
    pub fn add(&mut self, document: &KnowledgeDocument) -> Result<AddOutcome, BaseError> {
        let known = match &self.vectors {
            Some(_) => {
                let seen = self.base.seen()?;
                self.base.rows_of(&seen, &document.id, &document.title)?
            }
            None => HashMap::new(),
        };
        self.add_with(document, known.into_iter().map(|(text, row)| (text, Row::Known(row))))
    }

    /// Adds a document with known vector rows for some of its texts.
    fn add_with(
        &mut self,
        document: &KnowledgeDocument,
        known: impl Iterator<Item = (String, Row)>,
    ) -> Result<AddOutcome, BaseError> {
        check_bounds(document)?;
        let before = self.digest(&document.id)?;
        if before.as_ref() == Some(&document.digest) {
            return Ok(AddOutcome::Same);
        }
        let chunks = split(&document.text);
        if chunks.is_empty() {
            return Err(BaseError::TooMuch(format!("`{}` contains no text", document.id)));
        }
        let texts: Vec<&str> =
            chunks.iter().map(|chunk| &document.text[chunk.range.clone()]).collect();
        // The steps that can fail for external reasons come first, so that a failure leaves the writer unchanged.
        let rows = self.vectors_of(document, &texts, &known.collect())?;
        if before.is_none() {
            // Cached for when it is replaced.
            self.uncommitted.entry(document.id.clone()).or_default();
        }
        match self.put(document, &chunks, rows) {
            Ok(()) => Ok(if before.is_some() { AddOutcome::Updated } else { AddOutcome::New }),
            Err(error) => {
                // The disk may be full. The part of the document that was written is unused.
                self.is_unlisted = true;
                Err(error)
            }
        }
    }

    /// Writes a document, which replaces the one with the same name.
    fn put(
        &mut self,
        document: &KnowledgeDocument,
        chunks: &[Chunk],
        rows: Vec<Row>,
    ) -> Result<(), BaseError> {
        let record = self.texts.append(head_of(document).as_bytes())?;
        let at = self.texts.append(document.text.as_bytes())?;
        self.texts.append(b"\n")?;
        let rows = self.append_rows(rows)?;
        let fields: Fields = self.base.fields;
        // Without a failure in between: ranges that count as removed are erased.
        self.change(&document.id)?;
        self.engine.delete_term(Term::from_field_text(fields.doc, &document.id));
        let format = field_term(FORMAT, document.format.as_str());
        for (index, chunk) in chunks.iter().enumerate() {
            let mut entry = TantivyDocument::new();
            entry.add_text(fields.doc, &document.id);
            entry.add_u64(fields.chunk, index as u64);
            entry.add_u64(fields.record, record);
            entry.add_u64(fields.at, at);
            entry.add_u64(fields.start, chunk.range.start as u64);
            entry.add_u64(fields.end, chunk.range.end as u64);
            entry.add_u64(fields.key, key(&chunk.address));
            if let Some(page) = document.page_at(chunk.range.start) {
                entry.add_u64(fields.page, u64::from(page));
            }
            if let Some(row) = rows.get(index) {
                entry.add_u64(fields.vector, *row);
            }
            let text = &document.text[chunk.range.clone()];
            entry.add_text(fields.text, titled(&document.title, text));
            entry.add_text(fields.field, &format);
            for (name, value) in &document.fields {
                entry.add_text(fields.field, field_term(name, value));
            }
            self.engine.add_document(entry).map_err(BaseError::index(&self.base.data))?;
        }
        let stored = Stored { text: record..self.texts.end(), rows };
        self.change(&document.id)?.after = Some((stored, document.digest.clone()));
        Ok(())
    }

    /// Removes a document; returns whether it existed.
    pub fn remove(&mut self, id: &str) -> Result<bool, BaseError> {
        if self.digest(id)?.is_none() {
            return Ok(false);
        }
        self.change(id)?;
        self.engine.delete_term(Term::from_field_text(self.base.fields.doc, id));
        Ok(true)
    }

    /// The pending change to a document, initially its removal.
    fn change(&mut self, id: &str) -> Result<&mut Change, BaseError> {
        if !self.uncommitted.contains_key(id) {
            let change = Change { before: self.stored(id)?, ..Change::default() };
            self.uncommitted.insert(id.to_owned(), change);
        }
        let change = self.uncommitted.get_mut(id).expect("it was put there");
        change.between.extend(change.after.take().map(|(stored, _)| stored));
        Ok(change)
    }

    /// The location of a document as of the last commit.
    fn stored(&self, id: &str) -> Result<Option<Stored>, BaseError> {
        let seen = self.base.seen()?;
        let Some(at) = self.base.find(&seen, id)? else { return Ok(None) };
        let (record, text_at) = self.base.record(at)?;
        let rows = match &self.vectors {
            Some(_) => self.base.entries_of(&seen, id)?.iter().filter_map(|it| it.vector).collect(),
            None => Vec::new(),
        };
        Ok(Some(Stored { text: at..record_end(&record, text_at), rows }))
    }

    /// Commits all changes. After it returns, they survive a crash of the process.
    pub fn commit(&mut self) -> Result<(), BaseError> {
        // Texts and vectors first: a commit of the index must not refer to bytes that are not on disk.
        self.texts.sync()?;
        if let Some(vectors) = &mut self.vectors {
            vectors.sync()?;
        }
        let content = self.content_after();
        let committed = Committed {
            texts: self.texts.end(),
            vectors: self.vectors.as_ref().map_or(0, Journal::end),
            content: (!self.is_unlisted).then(|| content.clone()),
        };
        commit(&mut self.engine, &self.base.data, &committed)?;
        self.content = content;
        self.uncommitted.clear();
        Ok(())
    }

    /// The content of the journals after the next commit.
    fn content_after(&self) -> Content {
        let mut content = self.content.clone();
        let mut gone_texts = Vec::new();
        let mut gone_vectors = Vec::new();
        let row_bytes = self.embedder.as_ref().map(|it| vectors::row_bytes(it.stamp().dimension));
        for change in self.uncommitted.values() {
            let length = |stored: &Stored| stored.text.end - stored.text.start;
            content.used -= change.before.as_ref().map_or(0, length).min(content.used);
            let after = change.after.as_ref().map(|(stored, _)| stored);
            content.used += after.map_or(0, length);
            // Rows of unchanged texts are kept.
            let kept: HashSet<u64> =
                after.iter().flat_map(|stored| stored.rows.iter().copied()).collect();
            for stored in change.before.iter().chain(&change.between) {
                gone_texts.push(stored.text.clone());
                let rows = stored.rows.iter().filter(|row| !kept.contains(row));
                gone_vectors.extend(rows.filter_map(|&row| vectors::place(row, row_bytes?)));
            }
        }
        content.gone_texts.extend(gone_texts);
        content.gone_vectors.extend(gone_vectors);
        content
    }

    /// Finishes writing: waits for running merges, and reclaims the space of removed documents if that
    /// is worthwhile.
    pub fn finish(mut self, room: ReclaimSpace) -> Result<(), BaseError> {
        if !self.uncommitted.is_empty() {
            self.commit()?;
        }
        let used = self.content.used;
        let waste = self.texts.end().saturating_sub(used);
        let is_worthwhile = waste > WASTE && waste > used;
        // A killed process may have left texts of removed documents, which its commit lists.
        let has_gone = !self.content.gone_texts.is_empty() || !self.content.gone_vectors.is_empty();
        match room {
            ReclaimSpace::GiveBack | ReclaimSpace::WhenWorthwhile if is_worthwhile => {
                self.rewrite()
            }
            ReclaimSpace::GiveBack if self.is_unlisted => self.rewrite(),
            ReclaimSpace::GiveBack if has_gone => self.forget(),
            ReclaimSpace::GiveBack | ReclaimSpace::WhenWorthwhile => {
                self.engine.wait_merging_threads().map_err(BaseError::index(&self.base.data))
            }
        }
    }

    /// Erases removed documents from the files: segments of the
    /// index with deleted entries are rewritten without them, and texts and vectors are overwritten. If the process is
    /// killed meanwhile, the list remains in the last commit, and the next writer starts again.
    fn forget(self) -> Result<(), BaseError> {
        let Self { base, engine, mut texts, mut vectors, content, _lock: lock, .. } = self;
        let failed = BaseError::index(&base.data);
        // A segment can't take part in two merges at a time.
        engine.wait_merging_threads().map_err(&failed)?;
        let mut engine: IndexWriter =
            base.index.writer_with_num_threads(1, LEAST_MEMORY).map_err(&failed)?;
        engine.set_merge_policy(Box::new(NoMergePolicy));
        for segment in base.index.searchable_segment_metas().map_err(&failed)? {
            if segment.has_deletes() {
                engine.merge(&[segment.id()]).wait().map_err(&failed)?;
            }
        }
        // Tantivy keeps files that are open in this process, which includes our reader.
        base.seen()?;
        engine.garbage_collect_files().wait().map_err(&failed)?;
        // Readers of an earlier commit that find erased text retry (`KnowledgeBase::look`).
        texts.erase(content.gone_texts.as_slice())?;
        texts.sync()?;
        if let Some(vectors) = &mut vectors {
            vectors.erase(content.gone_vectors.as_slice())?;
            vectors.sync()?;
        }
        let committed = Committed {
            texts: texts.end(),
            vectors: vectors.as_ref().map_or(0, Journal::end),
            content: Some(Content { used: content.used, ..Content::default() }),
        };
        commit(&mut engine, &base.data, &committed)?;
        engine.wait_merging_threads().map_err(&failed)?;
        drop(lock);
        Ok(())
    }

    /// Copies all documents into a new generation, and deletes the old one. Readers use the old one until they
    /// check for a new commit.
    fn rewrite(self) -> Result<(), BaseError> {
        let Self { base, folder, generation, embedder, engine, _lock: lock, .. } = self;
        engine.wait_merging_threads().map_err(BaseError::index(&base.data))?;
        let settings: BaseSettings = base.settings().clone();
        let next = generation + 1;
        let data = data_folder(&folder, next);
        create_data(&data, &settings)?;
        // The new generation is separate until the settings refer to it.
        let copy = base.at(&data)?;
        let mut writer = Self::of(copy, folder.clone(), next, embedder, lock)?;
        let seen = base.seen()?;
        for at in base.records(&seen)? {
            let document = base.document(at)?;
            // Vectors are copied: the server of an embedder may be unavailable, and requests cost money.
            let known = base.rows_of(&seen, &document.id, &document.title)?.into_iter();
            let known = known.filter_map(|(text, row)| {
                let row = seen.rows.as_ref()?.row(row)?;
                Some((text, Row::New(row.to_vec())))
            });
            writer.add_with(&document, known)?;
        }
        writer.commit()?;
        let Self { engine, _lock: lock, .. } = writer;
        engine.wait_merging_threads().map_err(BaseError::index(&data))?;
        settings::write(&folder, &settings, next)?;
        remove_other_generations(&folder, next);
        drop(lock);
        Ok(())
    }

    /// The vector rows of chunks. Known ones are reused.
    fn vectors_of(
        &self,
        document: &KnowledgeDocument,
        texts: &[&str],
        known: &HashMap<String, Row>,
    ) -> Result<Vec<Row>, BaseError> {
        let (Some(embedder), Some(_)) = (&self.embedder, &self.vectors) else {
            return Ok(Vec::new());
        };
        let mut rows: Vec<Row> = Vec::with_capacity(texts.len());
        let mut missing = Vec::new();
        for (index, text) in texts.iter().enumerate() {
            rows.push(match known.get(*text) {
                Some(row) => row.clone(),
                None => {
                    missing.push(index);
                    Row::New(Vec::new())
                }
            });
        }
        for batch in missing.chunks(BATCH) {
            let titled: Vec<Cow<'_, str>> =
                batch.iter().map(|&index| titled(&document.title, texts[index])).collect();
            let titled: Vec<&str> = titled.iter().map(AsRef::as_ref).collect();
            let found = embedder.embed(&titled)?;
            let dimension = embedder.stamp().dimension;
            if found.len() != batch.len() || found.iter().any(|vector| vector.len() != dimension) {
                let got = found.first().map_or(0, Vec::len);
                return Err(BaseError::OtherEmbedder {
                    name: self.base.name().to_string(),
                    stamped: embedder.stamp().to_string(),
                    offered: format!(
                        "one that returned {} vectors of {got} dimensions",
                        found.len()
                    ),
                });
            }
            for (&index, vector) in batch.iter().zip(&found) {
                rows[index] = Row::New(vectors::row(vector));
            }
        }
        Ok(rows)
    }

    fn append_rows(&mut self, rows: Vec<Row>) -> Result<Vec<u64>, BaseError> {
        let Some(vectors) = &mut self.vectors else { return Ok(Vec::new()) };
        let mut places = Vec::with_capacity(rows.len());
        for row in rows {
            places.push(match row {
                Row::Known(row) => row,
                Row::New(bytes) => {
                    let length = bytes.len() as u64;
                    (vectors.append(&bytes)? - vectors::HEAD as u64) / length
                }
            });
        }
        Ok(places)
    }
}

/// Commits the index with this payload.
fn commit(engine: &mut IndexWriter, data: &Path, committed: &Committed) -> Result<(), BaseError> {
    let failed = BaseError::index(data);
    let mut prepared = engine.prepare_commit().map_err(&failed)?;
    prepared.set_payload(&committed.to_string());
    prepared.commit().map(drop).map_err(&failed)
}

/// The text that is indexed for a passage: the title and the passage. Most passages don't repeat the title.
pub(crate) fn titled<'t>(title: &str, text: &'t str) -> Cow<'t, str> {
    if title.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(format!("{title}\n{text}")) }
}

/// When the space of removed documents is reclaimed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReclaimSpace {
    /// Immediately: nothing of a removed or replaced document remains in the files.
    GiveBack,
    /// When more space is unused than used.
    WhenWorthwhile,
}

#[derive(Clone)]
enum Row {
    Known(u64),
    New(Vec<u8>),
}

/// Locks the folder of a knowledge base; waits if another process holds the lock.
pub(crate) fn lock(folder: &Path, on_wait: impl FnOnce()) -> Result<File, BaseError> {
    let path = folder.join("lock");
    let failed = |source| BaseError::io("lock", &path)(source);
    let file = lock_file(&path).map_err(failed)?;
    if file.try_lock().is_err() {
        on_wait();
        file.lock().map_err(failed)?;
    }
    Ok(file)
}

/// Removes generations that an interrupted rewrite has left.
fn remove_other_generations(folder: &Path, current: u64) {
    let keep = data_folder(folder, current);
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let is_data = entry.file_name().to_string_lossy().starts_with("data-");
        if is_data && path != keep && path.join(INDEX).is_dir() {
            // The next writer retries what can't be removed now.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn check_bounds(document: &KnowledgeDocument) -> Result<(), BaseError> {
    let id = &document.id;
    let is_odd = id.is_empty() || id.len() > MOST_ID_BYTES;
    if is_odd {
        return Err(BaseError::TooMuch(format!(
            "the name of a document must have 1 to {MOST_ID_BYTES} bytes, but this one has {}",
            id.len()
        )));
    }
    if document.title.len() > MOST_TITLE_BYTES {
        return Err(BaseError::TooMuch(format!(
            "the title of `{id}` has more than {MOST_TITLE_BYTES} bytes"
        )));
    }
    if let Some(name) = FIELDS_OF_ALL.iter().find(|name| document.fields.contains_key(**name)) {
        return Err(BaseError::TooMuch(format!("`{id}` has a field `{name}`, which is reserved")));
    }
    let is_large = |(name, value): (&String, &String)| name.len() + value.len() > MOST_FIELD_BYTES;
    if document.fields.len() > MOST_FIELDS || document.fields.iter().any(is_large) {
        return Err(BaseError::TooMuch(format!(
            "`{id}` has more than {MOST_FIELDS} fields, or one with more than {MOST_FIELD_BYTES} bytes"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
