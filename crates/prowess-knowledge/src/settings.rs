//! The settings of a knowledge base, in `base.json`.

use std::fs;
use std::path::Path;

use prowess_files::atomic::{self, WriteOptions};
use serde_json::{Value, json};

use crate::embed::{EmbedderIdentity, EmbedderSource};
use crate::error::BaseError;
use crate::language::Language;

pub(crate) const FILE: &str = "base.json";
const VERSION: u64 = 1;

/// The settings of a knowledge base, chosen when it is created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseSettings {
    /// The language, which selects the stemmer.
    pub language: Language,
    /// The embedder of its vectors.
    pub embedder: Option<EmbedderIdentity>,
}

/// Reads the settings and the current generation of the data.
pub(crate) fn read(folder: &Path) -> Result<(BaseSettings, u64), BaseError> {
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
    Ok((BaseSettings { language, embedder }, generation))
}

/// Reads an embedder's identity.
pub(crate) fn stamp(value: &Value) -> Option<EmbedderIdentity> {
    let text = |name: &str| value[name].as_str().map(str::to_owned);
    let source = match value["kind"].as_str()? {
        "table" => EmbedderSource::Table { digest: text("digest")? },
        "endpoint" => EmbedderSource::Endpoint { url: text("url")?, model: text("model")? },
        _ => return None,
    };
    let dimension = usize::try_from(value["dimension"].as_u64()?).ok()?;
    Some(EmbedderIdentity { source, dimension })
}

/// An embedder's identity as JSON.
pub(crate) fn identity(stamp: &EmbedderIdentity) -> Value {
    match &stamp.source {
        EmbedderSource::Table { digest } => {
            json!({ "kind": "table", "digest": digest, "dimension": stamp.dimension })
        }
        EmbedderSource::Endpoint { url, model } => {
            json!({ "kind": "endpoint", "url": url, "model": model, "dimension": stamp.dimension })
        }
    }
}

/// Writes the settings atomically.
pub(crate) fn write(
    folder: &Path,
    settings: &BaseSettings,
    generation: u64,
) -> Result<(), BaseError> {
    let embedder = settings.embedder.as_ref().map(identity);
    let value = json!({
        "version": VERSION,
        "language": settings.language.code(),
        "generation": generation,
        "embedder": embedder,
    });
    let path = folder.join(FILE);
    atomic::write(&path, format!("{value:#}\n").as_bytes(), WriteOptions::PRIVATE)
        .map_err(BaseError::io("write", &path))
}
