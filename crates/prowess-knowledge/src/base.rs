//! A knowledge base open for reading: documents, statistics and searches.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use prowess_core::{Passage, Query};
use prowess_files::atomic::sync_folder;
use serde_json::{Value, json};
use tantivy::collector::DocSetCollector;
use tantivy::columnar::Column;
use tantivy::query::TermQuery;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocAddress, Index, IndexReader, ReloadPolicy, Searcher, SegmentReader, Term};

use crate::analyze;
use crate::directory::IndexFolder;
use crate::document::{DocumentFormat, KnowledgeDocument, page_at};
use crate::embed::{self, Embedder};
use crate::error::BaseError;
use crate::journal::{ERASED, JournalReader};
use crate::mark::CommitMarker;
use crate::name::BaseName;
use crate::schema::{self, Fields, schema};
use crate::search;
use crate::settings::{self, BaseSettings};
use crate::split;
use crate::vectors::Rows;

pub(crate) const INDEX: &str = "index";
pub(crate) const TEXTS: &str = "texts";
/// Maximum size of a record's header, one line of JSON; with ten thousand pages it has a hundred thousand bytes.
const MOST_HEAD_BYTES: u64 = 1 << 24;

/// A knowledge base open for reading. A search sees the commit that was current when it started.
pub struct KnowledgeBase {
    name: BaseName,
    root: PathBuf,
    /// The folder of the current generation.
    pub(crate) data: PathBuf,
    settings: BaseSettings,
    pub(crate) fields: Fields,
    pub(crate) index: Index,
    reader: IndexReader,
    texts: JournalReader,
    pub(crate) questions: analyze::Questions,
    embedder: OnceLock<Arc<dyn Embedder>>,
    seen: Mutex<Option<Arc<CommitView>>>,
    /// The size of its files when it was opened.
    opened_bytes: u64,
}

/// A view of one commit.
pub(crate) struct CommitView {
    mark: CommitMarker,
    pub(crate) searcher: Searcher,
    /// One per segment.
    columns: Vec<Columns>,
    pub(crate) rows: Option<Rows>,
}

/// A document of a knowledge base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentRecord {
    /// The name.
    pub id: String,
    /// The digest of its file and fields.
    pub digest: String,
    /// The format of its file.
    pub format: DocumentFormat,
    /// The title.
    pub title: String,
    /// The size of its text, in bytes.
    pub bytes: u64,
    /// The byte offsets of its pages.
    pub pages: Vec<usize>,
    /// The fields that searches can filter by.
    pub fields: BTreeMap<String, String>,
}

/// The size of a knowledge base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BaseStatistics {
    /// Number of documents.
    pub documents: u64,
    /// Number of chunks.
    pub chunks: u64,
    /// Size of all texts, in bytes.
    pub text_bytes: u64,
    /// Size of all files, in bytes.
    pub disk_bytes: u64,
}

/// The result of verifying every chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyReport {
    /// Number of verified chunks.
    pub chunks: u64,
    /// The problems, one line each; at most a hundred.
    pub problems: Vec<String>,
}

pub(crate) fn data_folder(base: &Path, generation: u64) -> PathBuf {
    base.join(format!("data-{generation}"))
}

/// Creates the files of an empty knowledge base.
pub(crate) fn create_data(data: &Path, settings: &BaseSettings) -> Result<(), BaseError> {
    let index = data.join(INDEX);
    fs::create_dir_all(&index).map_err(BaseError::io("create", &index))?;
    Index::create_in_dir(&index, schema().0).map_err(BaseError::index(data))?;
    let mut texts = crate::journal::Journal::open(&data.join(TEXTS), 0)?;
    texts.sync()?;
    if let Some(stamp) = &settings.embedder {
        let mut vectors = crate::journal::Journal::open(&data.join(crate::vectors::FILE), 0)?;
        vectors.append(&crate::vectors::head(stamp))?;
        vectors.sync()?;
    }
    sync_folder(data).map_err(BaseError::io("write", data))
}

pub(crate) fn open_index(data: &Path, settings: &BaseSettings) -> Result<Index, BaseError> {
    let path = data.join(INDEX);
    let failed = BaseError::index(data);
    let folder = IndexFolder::open(&path).map_err(&failed)?;
    let index = Index::open(folder).map_err(&failed)?;
    index.tokenizers().register(analyze::NAME, analyze::analyzer(settings.language));
    Ok(index)
}

impl KnowledgeBase {
    pub(crate) fn open(
        root: &Path,
        name: &BaseName,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Result<Self, BaseError> {
        let folder = root.join(name.as_str());
        if !folder.is_dir() {
            return Err(BaseError::Missing { name: name.to_string() });
        }
        let (settings, generation) = settings::read(&folder)?;
        // The given embedder is only used for knowledge bases that were created with it.
        let embedder =
            embedder.filter(|embedder| settings.embedder.as_ref() == Some(embedder.stamp()));
        Self::with(root, name.clone(), data_folder(&folder, generation), settings, embedder)
    }

    /// Opens this knowledge base with its data in another folder.
    pub(crate) fn at(&self, data: &Path) -> Result<Self, BaseError> {
        let embedder = self.embedder.get().cloned();
        Self::with(&self.root, self.name.clone(), data.to_owned(), self.settings.clone(), embedder)
    }

    fn with(
        root: &Path,
        name: BaseName,
        data: PathBuf,
        settings: BaseSettings,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> Result<Self, BaseError> {
        let index = open_index(&data, &settings)?;
        let reader = index
            .reader_builder()
            .reload_policy(ReloadPolicy::Manual)
            .try_into()
            .map_err(BaseError::index(&data))?;
        Ok(Self {
            name,
            root: root.to_owned(),
            fields: schema().1,
            texts: JournalReader::open(&data.join(TEXTS))?,
            questions: analyze::Questions::new(settings.language),
            opened_bytes: disk_bytes(&data),
            data,
            settings,
            index,
            reader,
            embedder: embedder.map_or_else(OnceLock::new, OnceLock::from),
            seen: Mutex::new(None),
        })
    }

    /// The size of its files when it was opened.
    pub(crate) fn opened_bytes(&self) -> u64 {
        self.opened_bytes
    }

    /// The name.
    pub fn name(&self) -> &BaseName {
        &self.name
    }

    /// The settings it was created with.
    pub fn settings(&self) -> &BaseSettings {
        &self.settings
    }

    /// Finds the passages that match a query best.
    pub fn search(&self, query: &Query) -> Result<Vec<Passage>, BaseError> {
        search::search(self, query, search::SearchMode::All)
    }

    /// Searches by words only, even if there are vectors.
    pub fn search_words(&self, query: &Query) -> Result<Vec<Passage>, BaseError> {
        search::search(self, query, search::SearchMode::Words)
    }

    /// Searches by vectors only; without vectors nothing is found.
    pub fn search_vectors(&self, query: &Query) -> Result<Vec<Passage>, BaseError> {
        search::search(self, query, search::SearchMode::Vectors)
    }

    /// The byte ranges of query words in a text.
    pub fn places(&self, question: &str, text: &str) -> Vec<std::ops::Range<usize>> {
        self.questions.places(&self.questions.words(question), text)
    }

    /// Lists the documents by name.
    pub fn documents(&self) -> Result<Vec<DocumentRecord>, BaseError> {
        let mut documents: Vec<DocumentRecord> = self.look(|seen| {
            self.records(seen)?.into_iter().map(|at| Ok(self.record(at)?.0)).collect()
        })?;
        documents.sort_by(|left, right| left.id.cmp(&right.id));
        Ok(documents)
    }

    /// A document with its text, as it was added.
    pub fn document_by_id(&self, id: &str) -> Result<Option<KnowledgeDocument>, BaseError> {
        self.look(|seen| match self.find(seen, id)? {
            Some(at) => self.document(at).map(Some),
            None => Ok(None),
        })
    }

    /// The chunks of a document in their order, with a score of zero.
    pub fn chunks_of(&self, id: &str) -> Result<Vec<Passage>, BaseError> {
        self.look(|seen| {
            let mut entries = self.entries_of(seen, id)?;
            entries.sort_by_key(|entry| entry.chunk);
            entries
                .iter()
                .map(|entry| {
                    Ok(Passage {
                        doc_id: id.to_owned(),
                        chunk_index: entry.chunk,
                        score: 0.0,
                        text: self.text(seen, entry)?,
                        range: entry.start..entry.end,
                        pages: self.pages(entry)?,
                    })
                })
                .collect()
        })
    }

    /// Computes its size.
    pub fn figures(&self) -> Result<BaseStatistics, BaseError> {
        self.look(|seen| {
            let records = self.records(seen)?;
            let mut text_bytes = 0;
            for &at in &records {
                text_bytes += self.record(at)?.0.bytes;
            }
            Ok(BaseStatistics {
                documents: records.len() as u64,
                chunks: seen.searcher.num_docs(),
                text_bytes,
                disk_bytes: disk_bytes(&self.data),
            })
        })
    }

    /// The number of journal bytes that belong to documents.
    pub(crate) fn journal_bytes(&self) -> Result<u64, BaseError> {
        let seen = self.seen()?;
        let mut bytes = 0;
        for at in self.records(&seen)? {
            let (record, text_at) = self.record(at)?;
            bytes += record_end(&record, text_at) - at;
        }
        Ok(bytes)
    }

    /// The pages of a chunk, from 1.
    pub(crate) fn pages(
        &self,
        entry: &ChunkEntry,
    ) -> Result<Option<RangeInclusive<u32>>, BaseError> {
        let Some(first) = entry.page.and_then(|page| u32::try_from(page).ok()) else {
            return Ok(None);
        };
        // The index has the first page; the others are in the document's record.
        let record = self.record(entry.record)?.0;
        let last = usize::try_from(entry.end.saturating_sub(1)).unwrap_or(usize::MAX);
        let last = page_at(&record.pages, last).unwrap_or(first);
        Ok(Some(first..=last.max(first)))
    }

    /// Verifies every chunk: that its text exists and is the indexed one, and that it has a vector.
    pub fn verify(&self) -> Result<VerifyReport, BaseError> {
        loop {
            let seen = self.seen()?;
            let verdict = self.verify_seen(&seen)?;
            // Documents that a later commit removed may already be erased, which is correct.
            if verdict.problems.is_empty() || self.is_latest(&seen)? {
                return Ok(verdict);
            }
        }
    }

    fn verify_seen(&self, seen: &CommitView) -> Result<VerifyReport, BaseError> {
        const MOST_PROBLEMS: usize = 100;
        let mut verdict = VerifyReport { chunks: 0, problems: Vec::new() };
        let all = seen
            .searcher
            .search(&tantivy::query::AllQuery, &DocSetCollector)
            .map_err(BaseError::index(&self.data))?;
        for address in all {
            if verdict.problems.len() == MOST_PROBLEMS {
                break;
            }
            verdict.chunks += 1;
            let entry = seen.entry(address);
            let mut problems = Vec::new();
            match self.text(seen, &entry) {
                Err(error) => problems.push(error.to_string()),
                Ok(text) if key(&split::address(&text)) != entry.key => {
                    problems.push("its text differs from the indexed one".to_owned());
                }
                Ok(_) => {}
            }
            let vector = entry.vector.zip(seen.rows.as_ref());
            if self.settings.embedder.is_some()
                && vector.and_then(|(row, rows)| rows.row(row)).is_none()
            {
                problems.push("it has no vector".to_owned());
            }
            if !problems.is_empty() {
                let document = match self.record(entry.record) {
                    Ok((record, _)) => format!("`{}`", record.id),
                    Err(_) => format!("the document at byte {}", entry.record),
                };
                let told = |problem| format!("chunk {} of {document}: {problem}", entry.chunk);
                verdict.problems.extend(problems.into_iter().map(told));
            }
        }
        verdict.problems.sort();
        Ok(verdict)
    }

    /// The offset of a document's record.
    pub(crate) fn find(&self, seen: &CommitView, id: &str) -> Result<Option<u64>, BaseError> {
        let term = Term::from_field_text(self.fields.doc, id);
        let found = seen
            .searcher
            .search(&TermQuery::new(term, IndexRecordOption::Basic), &DocSetCollector)
            .map_err(BaseError::index(&self.data))?;
        let Some(address) = found.into_iter().next() else { return Ok(None) };
        Ok(seen.columns(address).record.first(address.doc_id))
    }

    /// The offsets of all records.
    pub(crate) fn records(&self, seen: &CommitView) -> Result<Vec<u64>, BaseError> {
        let term = Term::from_field_u64(self.fields.chunk, 0);
        let found = seen
            .searcher
            .search(&TermQuery::new(term, IndexRecordOption::Basic), &DocSetCollector)
            .map_err(BaseError::index(&self.data))?;
        let mut records = Vec::with_capacity(found.len());
        for address in found {
            records.extend(seen.columns(address).record.first(address.doc_id));
        }
        records.sort_unstable();
        Ok(records)
    }

    /// The vector rows of a document's chunks by text, if its title is unchanged: the title is part of the vector.
    pub(crate) fn rows_of(
        &self,
        seen: &CommitView,
        id: &str,
        title: &str,
    ) -> Result<HashMap<String, u64>, BaseError> {
        match self.find(seen, id)? {
            Some(at) if self.record(at)?.0.title == title => {}
            _ => return Ok(HashMap::new()),
        }
        let mut rows = HashMap::new();
        for entry in self.entries_of(seen, id)? {
            if let Some(row) = entry.vector {
                rows.insert(self.text(seen, &entry)?, row);
            }
        }
        Ok(rows)
    }

    /// The chunks of a document.
    pub(crate) fn entries_of(
        &self,
        seen: &CommitView,
        id: &str,
    ) -> Result<Vec<ChunkEntry>, BaseError> {
        let term = Term::from_field_text(self.fields.doc, id);
        let found = seen
            .searcher
            .search(&TermQuery::new(term, IndexRecordOption::Basic), &DocSetCollector)
            .map_err(BaseError::index(&self.data))?;
        Ok(found.into_iter().map(|address| seen.entry(address)).collect())
    }

    /// A view of the latest commit.
    pub(crate) fn seen(&self) -> Result<Arc<CommitView>, BaseError> {
        let last = self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(seen) = last
            && self.is_latest(&seen)?
        {
            return Ok(seen);
        }
        // Before the reload: if another commit comes in between, the next call finds it.
        let path = self.data.join(INDEX).join("meta.json");
        let mark = CommitMarker::of(path.clone()).map_err(BaseError::io("read", &path))?;
        self.reader.reload().map_err(BaseError::index(&self.data))?;
        // After the reload, so that all rows of the commit are mapped: rows are written before the commit.
        let stamp = self.settings.embedder.as_ref();
        let rows = stamp.map(|stamp| Rows::open(&self.data, stamp)).transpose()?;
        let searcher = self.reader.searcher();
        let columns: tantivy::Result<_> =
            searcher.segment_readers().iter().map(Columns::open).collect();
        let columns = columns.map_err(BaseError::index(&self.data))?;
        let seen = Arc::new(CommitView { mark, searcher, columns, rows });
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&seen));
        Ok(seen)
    }

    /// Whether this is the latest commit.
    fn is_latest(&self, seen: &CommitView) -> Result<bool, BaseError> {
        seen.mark.is_latest().map_err(BaseError::io("read", &self.data.join(INDEX)))
    }

    /// Reads the latest commit, and retries if it was overtaken: a writer erases texts in place once no commit refers to
    /// them, so a reader of an earlier commit may find them erased.
    pub(crate) fn look<T>(
        &self,
        look: impl Fn(&CommitView) -> Result<T, BaseError>,
    ) -> Result<T, BaseError> {
        loop {
            let seen = self.seen()?;
            match look(&seen) {
                Err(BaseError::Damaged { .. }) if !self.is_latest(&seen)? => {}
                looked => return looked,
            }
        }
    }

    /// The embedder for queries.
    pub(crate) fn embedder(&self) -> Result<Option<&Arc<dyn Embedder>>, BaseError> {
        let Some(stamp) = &self.settings.embedder else { return Ok(None) };
        if let Some(embedder) = self.embedder.get() {
            return Ok(Some(embedder));
        }
        let embedder = embed::open(&self.root, stamp)?;
        check_stamp(self.name.as_str(), stamp, embedder.stamp())?;
        Ok(Some(self.embedder.get_or_init(|| embedder)))
    }

    /// Reads a document's record, and the offset of its text.
    pub(crate) fn record(&self, at: u64) -> Result<(DocumentRecord, u64), BaseError> {
        let head = self.texts.read_line(at, MOST_HEAD_BYTES)?;
        let text_at = at + head.len() as u64 + 1;
        let record = parse_head(&head).ok_or_else(|| BaseError::Damaged {
            path: self.data.join(TEXTS),
            reason: format!("there is no record at byte {at}"),
        })?;
        Ok((record, text_at))
    }

    /// Reads a document as it was added.
    pub(crate) fn document(&self, at: u64) -> Result<KnowledgeDocument, BaseError> {
        let (record, text_at) = self.record(at)?;
        let bytes = self.texts.read(text_at..text_at + record.bytes)?;
        let text = self.utf8(bytes)?;
        let DocumentRecord { id, digest, format, title, pages, fields, .. } = record;
        Ok(KnowledgeDocument { id, digest, format, title, text, pages, fields })
    }

    /// Reads the text of a chunk.
    pub(crate) fn text(&self, seen: &CommitView, entry: &ChunkEntry) -> Result<String, BaseError> {
        let at = self.place(entry)?;
        self.unerased(seen, self.texts.read(at)?)
    }

    /// Reads the name of a chunk's document and the text of the chunk. They are usually close together, so that one read is
    /// enough. The column of names has the name too, but looking it up takes a tenth of the time of a
    /// search.
    pub(crate) fn name_and_text(
        &self,
        seen: &CommitView,
        entry: &ChunkEntry,
    ) -> Result<(String, String), BaseError> {
        const NEAR: u64 = 1 << 13;
        const USUAL_NAME: u64 = 512;
        let place = self.place(entry)?;
        let (head, text) = if place.end - entry.record > NEAR {
            let head = entry.record..entry.at.min(entry.record.saturating_add(USUAL_NAME));
            (self.texts.read(head)?, self.texts.read(place)?)
        } else {
            let mut head = self.texts.read(entry.record..place.end)?;
            let length = usize::try_from(place.end - place.start).expect("it is below NEAR");
            let text = head.split_off(head.len() - length);
            (head, text)
        };
        let text = self.unerased(seen, text)?;
        let name = match name_in(&head) {
            Some(name) => name,
            None => self.record(entry.record)?.0.id,
        };
        Ok((name, text))
    }

    /// The range of a chunk in the journal.
    fn place(&self, entry: &ChunkEntry) -> Result<Range<u64>, BaseError> {
        let place = || {
            let (start, end) =
                (entry.at.checked_add(entry.start)?, entry.at.checked_add(entry.end)?);
            (entry.record <= start && start <= end).then_some(start..end)
        };
        place().ok_or_else(|| BaseError::Damaged {
            path: self.data.join(INDEX),
            reason: format!(
                "chunk {} of the record at byte {} is out of range",
                entry.chunk, entry.record
            ),
        })
    }

    /// Returns a text unless a later commit has erased it.
    fn unerased(&self, seen: &CommitView, bytes: Vec<u8>) -> Result<String, BaseError> {
        // A document may contain this byte itself; then it is part of the latest commit too.
        if bytes.contains(&ERASED) && !self.is_latest(seen)? {
            return Err(BaseError::Damaged {
                path: self.data.join(TEXTS),
                reason: "a passage was erased".to_owned(),
            });
        }
        self.utf8(bytes)
    }

    fn utf8(&self, bytes: Vec<u8>) -> Result<String, BaseError> {
        String::from_utf8(bytes).map_err(|_| BaseError::Damaged {
            path: self.data.join(TEXTS),
            reason: "a passage is not UTF-8".to_owned(),
        })
    }
}

/// The columns of a segment. Opening them takes longer than reading, so they are opened once per commit.
pub(crate) struct Columns {
    chunk: Column<u64>,
    record: Column<u64>,
    at: Column<u64>,
    start: Column<u64>,
    end: Column<u64>,
    page: Column<u64>,
    pub(crate) key: Column<u64>,
    vector: Column<u64>,
}

impl Columns {
    fn open(segment: &SegmentReader) -> tantivy::Result<Self> {
        let columns = segment.fast_fields();
        Ok(Self {
            chunk: columns.u64(schema::CHUNK)?,
            record: columns.u64(schema::RECORD)?,
            at: columns.u64(schema::AT)?,
            start: columns.u64(schema::START)?,
            end: columns.u64(schema::END)?,
            page: columns.u64(schema::PAGE)?,
            key: columns.u64(schema::KEY)?,
            vector: columns.u64(schema::VECTOR)?,
        })
    }
}

impl CommitView {
    pub(crate) fn columns(&self, address: DocAddress) -> &Columns {
        &self.columns[address.segment_ord as usize]
    }

    /// The index entry of a chunk.
    pub(crate) fn entry(&self, address: DocAddress) -> ChunkEntry {
        let columns = self.columns(address);
        let number = |column: &Column<u64>| column.first(address.doc_id).unwrap_or_default();
        ChunkEntry {
            chunk: number(&columns.chunk),
            record: number(&columns.record),
            at: number(&columns.at),
            start: number(&columns.start),
            end: number(&columns.end),
            page: columns.page.first(address.doc_id),
            key: number(&columns.key),
            vector: columns.vector.first(address.doc_id),
        }
    }
}

/// The index entry of a chunk.
pub(crate) struct ChunkEntry {
    pub(crate) chunk: u64,
    pub(crate) record: u64,
    pub(crate) at: u64,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) page: Option<u64>,
    pub(crate) key: u64,
    pub(crate) vector: Option<u64>,
}

/// The part of a chunk's address that is indexed.
pub(crate) fn key(address: &[u8; 32]) -> u64 {
    u64::from_le_bytes(*address.first_chunk().expect("an address has 32 bytes"))
}

/// Checks that an embedder is the one of the knowledge base: vectors of two embedders are never mixed.
pub(crate) fn check_stamp(
    name: &str,
    stamped: &embed::EmbedderIdentity,
    offered: &embed::EmbedderIdentity,
) -> Result<(), BaseError> {
    if stamped == offered {
        return Ok(());
    }
    Err(BaseError::OtherEmbedder {
        name: name.to_owned(),
        stamped: stamped.to_string(),
        offered: offered.to_string(),
    })
}

/// The end of a record: a line break follows the text.
pub(crate) fn record_end(record: &DocumentRecord, text_at: u64) -> u64 {
    text_at + record.bytes + 1
}

/// The header of a document's record: one line. The name comes first, so that [`name_in`] finds it.
pub(crate) fn head_of(document: &KnowledgeDocument) -> String {
    let head = json!({
        "id": document.id,
        "digest": document.digest,
        "format": document.format.as_str(),
        "title": document.title,
        "bytes": document.text.len(),
        "pages": document.pages,
        "fields": document.fields,
    });
    format!("{head}\n")
}

/// Parses the name in a record's header without reading the rest.
fn name_in(head: &[u8]) -> Option<String> {
    let rest = head.strip_prefix(b"{\"id\":")?;
    serde_json::Deserializer::from_slice(rest).into_iter().next()?.ok()
}

fn parse_head(line: &[u8]) -> Option<DocumentRecord> {
    let value: Value = serde_json::from_slice(line).ok()?;
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    let pages = value["pages"].as_array()?.iter();
    let fields = value["fields"].as_object()?.iter();
    let format = text("format")?;
    Some(DocumentRecord {
        id: text("id")?,
        digest: text("digest")?,
        format: DocumentFormat::ALL.iter().find(|known| known.as_str() == format).copied()?,
        title: text("title")?,
        bytes: value["bytes"].as_u64()?,
        pages: pages
            .map(|page| page.as_u64().and_then(|page| usize::try_from(page).ok()))
            .collect::<Option<_>>()?,
        fields: fields
            .map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
            .collect::<Option<_>>()?,
    })
}

fn disk_bytes(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => disk_bytes(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests;
