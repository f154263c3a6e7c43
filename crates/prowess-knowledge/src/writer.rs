//! A base that is written: one process at a time, and nothing counts before it is committed.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_files::lock_file;
use serde_json::{Value, json};
use tantivy::{IndexWriter, TantivyDocument, Term};

use crate::base::{
    Base, DocumentRecord, INDEX, TEXTS, check_stamp, create_data, data_folder, head_of, key,
};
use crate::document::{Document, FIELDS_OF_ALL};
use crate::embed::Embedder;
use crate::error::BaseError;
use crate::journal::Journal;
use crate::name::BaseName;
use crate::schema::{Fields, field_term};
use crate::settings::{self, Settings};
use crate::split::split;
use crate::vectors;

/// What the index collects before it writes a segment, per thread.
const MEMORY: usize = 48 << 20;
const MOST_THREADS: usize = 4;
/// Texts that go to an embedder together.
const BATCH: usize = 64;
/// The most characters of a name; the index takes no term above 64 KiB.
const MOST_ID_BYTES: usize = 4096;
/// A title counts in every chunk, so that a long one would drown them.
const MOST_TITLE_BYTES: usize = 512;
const MOST_FIELDS: usize = 64;
const MOST_FIELD_BYTES: usize = 4096;
/// Rewriting pays when more than this is no longer used, and more than half of it.
const WASTE: u64 = 1 << 20;

/// What became of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// It is new.
    New,
    /// It has replaced an earlier one of its name.
    Updated,
    /// It was there already.
    Same,
}

/// The only writer of a base. Dropping it forgets what was not committed.
pub struct Writer {
    base: Base,
    folder: PathBuf,
    generation: u64,
    embedder: Option<Arc<dyn Embedder>>,
    engine: IndexWriter,
    texts: Journal,
    vectors: Option<Journal>,
    /// What was added or removed since the last commit: the digest, or `None` when it was removed.
    uncommitted: HashMap<String, Option<String>>,
    /// Held as long as this lives; the system lets go of it when the process ends, however it ends.
    _lock: File,
}

impl Writer {
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
        // Whoever had the lock may have taken the base away.
        if !folder.is_dir() {
            return Err(BaseError::Missing { name: name.to_string() });
        }
        let (_, generation) = settings::read(&folder)?;
        remove_other_generations(&folder, generation);
        let base = Base::open(root, name, embedder.clone())?;
        let embedder = match (&base.settings().embedder, embedder) {
            (None, _) => None,
            (Some(_), Some(embedder)) => Some(embedder),
            (Some(_), None) => base.embedder()?.cloned(),
        };
        Self::of(base, folder, generation, embedder, lock)
    }

    fn of(
        base: Base,
        folder: PathBuf,
        generation: u64,
        embedder: Option<Arc<dyn Embedder>>,
        lock: File,
    ) -> Result<Self, BaseError> {
        // First, because the engine has a lock of its own: a base that was taken away and made anew while this process
        // waited has another lock file, and nothing may be cut off before it is sure that nobody else writes.
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS);
        let engine: IndexWriter = base
            .index
            .writer_with_num_threads(threads, threads * MEMORY)
            .map_err(BaseError::index(&base.data))?;
        // The engine names lists of deleted entries by a counter. A process that was killed may have left one of the
        // name that comes next, and the engine overwrites nothing. What no commit speaks of is removed first.
        engine.garbage_collect_files().wait().map_err(BaseError::index(&base.data))?;
        let metas = base.index.load_metas().map_err(BaseError::index(&base.data))?;
        let committed = Committed::parse(metas.payload.as_deref());
        // Journals are cut to these lengths; an index that has entries and no lengths is not ours.
        if committed.texts == 0 && !metas.segments.is_empty() {
            return Err(BaseError::Damaged {
                path: base.data.join(INDEX),
                reason: "its last commit does not say how much text belongs to it".to_owned(),
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
        let uncommitted = HashMap::new();
        Ok(Self {
            base,
            folder,
            generation,
            embedder,
            engine,
            texts,
            vectors,
            uncommitted,
            _lock: lock,
        })
    }

    /// The base as it is committed.
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// The digest of a document that is there or about to be.
    pub fn digest(&self, id: &str) -> Result<Option<String>, BaseError> {
        if let Some(digest) = self.uncommitted.get(id) {
            return Ok(digest.clone());
        }
        Ok(self.committed(id)?.map(|record| record.digest))
    }

    /// A document as the last commit has it.
    pub fn committed(&self, id: &str) -> Result<Option<DocumentRecord>, BaseError> {
        let seen = self.base.seen()?;
        let Some(at) = self.base.find(&seen, id)? else { return Ok(None) };
        Ok(Some(self.base.record(at)?.0))
    }

    /// Adds a document, or replaces the one of its name when it differs.
    pub fn add(&mut self, document: &Document) -> Result<Added, BaseError> {
        let known = match &self.vectors {
            Some(_) => self.base.rows_of(&document.id, &document.title)?,
            None => HashMap::new(),
        };
        self.add_with(document, known.into_iter().map(|(text, row)| (text, Row::Known(row))))
    }

    /// The same with the rows of texts for which no embedder has to be asked.
    fn add_with(
        &mut self,
        document: &Document,
        known: impl Iterator<Item = (String, Row)>,
    ) -> Result<Added, BaseError> {
        check_bounds(document)?;
        let before = self.digest(&document.id)?;
        if before.as_ref() == Some(&document.digest) {
            return Ok(Added::Same);
        }
        let chunks = split(&document.text);
        if chunks.is_empty() {
            return Err(BaseError::TooMuch(format!("`{}` holds no text", document.id)));
        }
        let texts: Vec<&str> =
            chunks.iter().map(|chunk| &document.text[chunk.range.clone()]).collect();
        // First what can fail for reasons outside, so that a failure leaves the writer as it was.
        let rows = self.vectors_of(document, &texts, &known.collect())?;
        let head = head_of(document);
        let record = self.texts.append(head.as_bytes())?;
        let at = self.texts.append(document.text.as_bytes())?;
        self.texts.append(b"\n")?;
        let rows = self.append_rows(rows)?;

        let fields: Fields = self.base.fields;
        let failed = BaseError::index(&self.base.data);
        self.engine.delete_term(Term::from_field_text(fields.doc, &document.id));
        for (index, (chunk, text)) in chunks.iter().zip(&texts).enumerate() {
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
            entry.add_text(fields.text, titled(&document.title, text));
            let of_all = [document.id.as_str(), document.format.as_str()];
            for (name, value) in FIELDS_OF_ALL.iter().zip(of_all) {
                entry.add_text(fields.field, field_term(name, value));
            }
            for (name, value) in &document.fields {
                entry.add_text(fields.field, field_term(name, value));
            }
            self.engine.add_document(entry).map_err(&failed)?;
        }
        self.uncommitted.insert(document.id.clone(), Some(document.digest.clone()));
        Ok(if before.is_some() { Added::Updated } else { Added::New })
    }

    /// Takes a document away; says whether it was there.
    pub fn remove(&mut self, id: &str) -> Result<bool, BaseError> {
        if self.digest(id)?.is_none() {
            return Ok(false);
        }
        self.engine.delete_term(Term::from_field_text(self.base.fields.doc, id));
        self.uncommitted.insert(id.to_owned(), None);
        Ok(true)
    }

    /// Makes everything since the last commit count. When it returns, it survives whatever happens to this process.
    pub fn commit(&mut self) -> Result<(), BaseError> {
        // Texts and vectors first: a commit of the index must not speak of bytes that are not on the disk.
        self.texts.sync()?;
        if let Some(vectors) = &mut self.vectors {
            vectors.sync()?;
        }
        let committed = Committed {
            texts: self.texts.end(),
            vectors: self.vectors.as_ref().map_or(0, Journal::end),
        };
        let failed = BaseError::index(&self.base.data);
        let mut prepared = self.engine.prepare_commit().map_err(&failed)?;
        prepared.set_payload(&committed.to_string());
        prepared.commit().map_err(&failed)?;
        self.uncommitted.clear();
        Ok(())
    }

    /// Ends writing: waits for merges that are under way, and gives back the room of documents that are gone when that
    /// is worth it.
    pub fn finish(mut self, room: Room) -> Result<(), BaseError> {
        if !self.uncommitted.is_empty() {
            self.commit()?;
        }
        let used = self.base.journal_bytes()?;
        let waste = self.texts.end().saturating_sub(used);
        let is_worthwhile = waste > WASTE && waste > used;
        // Every text that no document has any more is in the journal too, whichever process has left it there.
        if (room == Room::GiveBack && waste > 0) || is_worthwhile {
            return self.rewrite();
        }
        self.engine.wait_merging_threads().map_err(BaseError::index(&self.base.data))
    }

    /// Copies what is there into a new generation, and forgets the old one. Readers go on with the old one until they
    /// look again.
    fn rewrite(self) -> Result<(), BaseError> {
        let Self { base, folder, generation, embedder, engine, _lock: lock, .. } = self;
        engine.wait_merging_threads().map_err(BaseError::index(&base.data))?;
        let settings: Settings = base.settings().clone();
        let next = generation + 1;
        let data = data_folder(&folder, next);
        create_data(&data, &settings)?;
        // The new generation is a base of its own until its name is written down.
        let copy = base.at(&data)?;
        let mut writer = Self::of(copy, folder.clone(), next, embedder, lock)?;
        let seen = base.seen()?;
        for at in base.records(&seen)? {
            let document = base.document(at)?;
            // The vectors come along: an embedder that is a server may be away, and asking it costs.
            let known = base.rows_of(&document.id, &document.title)?.into_iter();
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

    /// Rows for chunks. Those that are known are taken over.
    fn vectors_of(
        &self,
        document: &Document,
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
            let titled: Vec<String> =
                batch.iter().map(|&index| titled(&document.title, texts[index])).collect();
            let titled: Vec<&str> = titled.iter().map(String::as_str).collect();
            let found = embedder.embed(&titled)?;
            let dimension = embedder.stamp().dimension;
            if found.len() != batch.len() || found.iter().any(|vector| vector.len() != dimension) {
                let got = found.first().map_or(0, Vec::len);
                return Err(BaseError::OtherEmbedder {
                    name: self.base.name().to_string(),
                    stamped: embedder.stamp().to_string(),
                    offered: format!("one that gave {} vectors of {got} dimensions", found.len()),
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

/// What a passage is found by. A title says what all parts of a document are about, and most parts don't repeat it.
pub(crate) fn titled(title: &str, text: &str) -> String {
    if title.is_empty() { text.to_owned() } else { format!("{title}\n{text}") }
}

/// Whether the room of documents that are gone is given back at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Now: nothing of a removed or replaced document stays in the files of the base.
    GiveBack,
    /// When it is more than what is used.
    WhenWorthwhile,
}

#[derive(Clone)]
enum Row {
    Known(u64),
    New(Vec<u8>),
}

/// How much of the journals counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Committed {
    texts: u64,
    vectors: u64,
}

impl Committed {
    fn parse(payload: Option<&str>) -> Self {
        let value: Value =
            payload.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let number = |name: &str| value[name].as_u64().unwrap_or_default();
        Self { texts: number("texts"), vectors: number("vectors") }
    }
}

impl std::fmt::Display for Committed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", json!({ "texts": self.texts, "vectors": self.vectors }))
    }
}

/// The lock of a base's folder; whoever comes second waits.
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

/// A rewrite that did not come to its end has left a generation that nobody names.
fn remove_other_generations(folder: &Path, current: u64) {
    let keep = data_folder(folder, current);
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let is_data = entry.file_name().to_string_lossy().starts_with("data-");
        if is_data && path != keep && path.join(INDEX).is_dir() {
            // What can't be removed now is tried again by the next writer.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn check_bounds(document: &Document) -> Result<(), BaseError> {
    let id = &document.id;
    let is_odd = id.is_empty() || id.len() > MOST_ID_BYTES;
    if is_odd {
        return Err(BaseError::TooMuch(format!(
            "the name of a document has 1 to {MOST_ID_BYTES} bytes, and this one has {}",
            id.len()
        )));
    }
    if document.title.len() > MOST_TITLE_BYTES {
        return Err(BaseError::TooMuch(format!(
            "the title of `{id}` has more than {MOST_TITLE_BYTES} bytes"
        )));
    }
    if let Some(name) = FIELDS_OF_ALL.iter().find(|name| document.fields.contains_key(**name)) {
        return Err(BaseError::TooMuch(format!(
            "`{id}` has a field `{name}`, which every document has already"
        )));
    }
    let is_large = |(name, value): (&String, &String)| name.len() + value.len() > MOST_FIELD_BYTES;
    if document.fields.len() > MOST_FIELDS || document.fields.iter().any(is_large) {
        return Err(BaseError::TooMuch(format!(
            "`{id}` has more than {MOST_FIELDS} fields, or one with more than {MOST_FIELD_BYTES} bytes"
        )));
    }
    Ok(())
}
