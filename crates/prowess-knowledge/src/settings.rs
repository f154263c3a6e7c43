//! What is decided when a base is made, in `base.json`.

use std::fs;
use std::path::Path;

use prowess_files::whole::{self, WriteOptions};
use serde_json::{Value, json};

use crate::embed::{Source, Stamp};
use crate::error::BaseError;
use crate::language::Language;

pub(crate) const FILE: &str = "base.json";
const VERSION: u64 = 1;

/// What is decided when a base is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Picks the stemmer.
    pub language: Language,
    /// Whose vectors the base has.
    pub embedder: Option<Stamp>,
}

/// The settings, and the folder that holds the data now.
pub(crate) fn read(folder: &Path) -> Result<(Settings, u64), BaseError> {
    let path = folder.join(FILE);
    let text = fs::read_to_string(&path).map_err(BaseError::io("read", &path))?;
    let damaged =
        |reason: &str| BaseError::Damaged { path: path.clone(), reason: reason.to_owned() };
    let value: Value = serde_json::from_str(&text)
        .map_err(|error| damaged(&format!("it is not JSON: {error}")))?;
    let version = value["version"].as_u64().ok_or_else(|| damaged("it has no `version`"))?;
    if version > VERSION {
        return Err(BaseError::Version { path, version, known: VERSION });
    }
    let language = value["language"].as_str().ok_or_else(|| damaged("it has no `language`"))?;
    let language = language.parse().map_err(|error| damaged(&format!("{error}")))?;
    let generation =
        value["generation"].as_u64().ok_or_else(|| damaged("it has no `generation`"))?;
    let embedder = match &value["embedder"] {
        Value::Null => None,
        embedder => Some(stamp(embedder).ok_or_else(|| damaged("its `embedder` is not valid"))?),
    };
    Ok((Settings { language, embedder }, generation))
}

fn stamp(value: &Value) -> Option<Stamp> {
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    let source = match value["kind"].as_str()? {
        "table" => Source::Table { digest: text("digest")? },
        "endpoint" => Source::Endpoint { url: text("url")?, model: text("model")? },
        _ => return None,
    };
    let dimension = usize::try_from(value["dimension"].as_u64()?).ok()?;
    Some(Stamp { source, dimension })
}

/// Writes the settings; a reader sees the old ones or the new ones, never half.
pub(crate) fn write(folder: &Path, settings: &Settings, generation: u64) -> Result<(), BaseError> {
    let embedder = settings.embedder.as_ref().map(|stamp| match &stamp.source {
        Source::Table { digest } => {
            json!({ "kind": "table", "digest": digest, "dimension": stamp.dimension })
        }
        Source::Endpoint { url, model } => {
            json!({ "kind": "endpoint", "url": url, "model": model, "dimension": stamp.dimension })
        }
    });
    let value = json!({
        "version": VERSION,
        "language": settings.language.code(),
        "generation": generation,
        "embedder": embedder,
    });
    let path = folder.join(FILE);
    whole::write(&path, format!("{value:#}\n").as_bytes(), WriteOptions::PRIVATE)
        .map_err(BaseError::io("write", &path))
}
