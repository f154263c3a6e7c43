//! The record of entries that we wrote into settings files, so that they are removed without a trace.
//!
//! It keeps the way back and a digest, never the content of a file: settings contain keys.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use prowess_files::atomic::{MAX_SMALL_FILE_BYTES, WriteOptions, read_text, write};
use prowess_format::diagnostic::{Edit, apply_edits};
use prowess_format::span::Span;
use prowess_package::digest::Sha256Digest;
use serde_json::{Value, json};

/// The name of the record in the user's data folder.
pub(super) const FILE_NAME: &str = "mcp-settings.json";
const VERSION: u64 = 1;

/// The record of the entry written into one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WrittenEntry {
    /// The digest of the text after writing.
    pub(super) digest: String,
    /// The edits that lead back to the former text.
    pub(super) undo: Vec<Edit>,
    /// Whether the file did not exist before.
    pub(super) created_file: bool,
    /// Whether the map of servers did not exist before.
    pub(super) created_container: bool,
    /// The folders that were created for the file, the outermost first.
    pub(super) created_folders: Vec<PathBuf>,
}

impl WrittenEntry {
    /// The text before the entry was written, if nothing else has changed since.
    pub(super) fn former(&self, text: &str) -> Option<String> {
        (digest(text) == self.digest).then(|| apply_edits(text, &self.undo))
    }
}

/// The written entries by file.
pub(super) type Record = BTreeMap<PathBuf, WrittenEntry>;

/// The digest of a text.
pub(super) fn digest(text: &str) -> String {
    Sha256Digest::of(text.as_bytes()).to_string()
}

/// Reads the record. A missing or damaged one is empty: entries are then removed by their structure.
pub(super) fn read(path: &Path) -> io::Result<Record> {
    let Some(text) = read_text(path, MAX_SMALL_FILE_BYTES)? else { return Ok(Record::new()) };
    let value: Value = serde_json::from_str(&text).unwrap_or_default();
    if value["version"] != VERSION {
        return Ok(Record::new());
    }
    let files = value["files"].as_object().into_iter().flatten();
    Ok(files.filter_map(|(path, value)| Some((PathBuf::from(path), entry(value)?))).collect())
}

/// Writes the record.
pub(super) fn store(path: &Path, record: &Record) -> io::Result<()> {
    let files =
        record.iter().map(|(path, entry)| (path.to_string_lossy().into_owned(), json_of(entry)));
    let files: serde_json::Map<String, Value> = files.collect();
    let text = format!("{:#}\n", json!({ "version": VERSION, "files": files }));
    write(path, text.as_bytes(), WriteOptions::PRIVATE)
}

fn entry(value: &Value) -> Option<WrittenEntry> {
    let number = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok());
    let undo = value["undo"].as_array()?.iter().map(|edit| {
        let (start, end) = (number(&edit["start"])?, number(&edit["end"])?);
        (start <= end)
            .then(|| Some(Edit::replace(Span::new(start, end), edit["text"].as_str()?)))?
    });
    let folders = value["created_folders"].as_array()?.iter();
    Some(WrittenEntry {
        digest: value["digest"].as_str()?.to_owned(),
        undo: undo.collect::<Option<_>>()?,
        created_file: value["created_file"].as_bool()?,
        created_container: value["created_container"].as_bool()?,
        created_folders: folders.filter_map(Value::as_str).map(PathBuf::from).collect(),
    })
}

fn json_of(entry: &WrittenEntry) -> Value {
    let undo = entry
        .undo
        .iter()
        .map(|edit| json!({ "start": edit.span.start, "end": edit.span.end, "text": edit.text }));
    let folders = entry.created_folders.iter().map(|folder| folder.to_string_lossy());
    json!({
        "digest": entry.digest,
        "undo": undo.collect::<Vec<_>>(),
        "created_file": entry.created_file,
        "created_container": entry.created_container,
        "created_folders": folders.collect::<Vec<_>>(),
    })
}
