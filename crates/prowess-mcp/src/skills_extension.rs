//! Skills over MCP (SEP-2640): lists of skills with the digests of their files, and their folders.

use std::sync::Arc;

use prowess_engine::LoadedSkill;
use prowess_engine::quiz::Quizzes;
use prowess_format::diagnostic::Findings;
use prowess_format::document::Document;
use rmcp::ErrorData;
use rmcp::model::JsonObject;
use serde_json::{Map, Value, json};

use crate::catalog::Catalog;
use crate::files::{self, Manifest, ServedEntry, ServedFile};
use crate::{paging, uri};

/// The name of the extension.
pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/skills";
/// How long an entry may be kept, in milliseconds.
pub(crate) const TTL_MS: u64 = 5_000;
/// How many skills a page has: each is read and hashed for it.
const PAGE: usize = 50;
/// The media type of a folder.
const FOLDER: &str = "inode/directory";

/// The settings of the extension among the capabilities.
pub(crate) fn capability() -> JsonObject {
    Map::from_iter([("directoryRead".to_owned(), Value::Bool(true))])
}

/// Whether a method belongs to the extension.
pub(crate) fn is_method(method: &str) -> bool {
    matches!(method, "skills/list" | "skills/get" | "resources/directory/read")
}

/// Answers a method of the extension. It reads the disk.
pub(crate) fn answer(
    catalog: &Catalog,
    quizzes: &Quizzes,
    method: &str,
    params: Option<&Value>,
) -> Result<Value, ErrorData> {
    match method {
        "skills/list" => list(catalog, quizzes, params),
        "skills/get" => get(catalog, quizzes, params),
        _ => directory(catalog, quizzes, params),
    }
}

fn list(catalog: &Catalog, quizzes: &Quizzes, params: Option<&Value>) -> Result<Value, ErrorData> {
    let (names, next) = paging::page(&catalog.documents, cursor(params)?, PAGE)?;
    let skills = names.iter().filter_map(|name| catalog.skills.get(name));
    // A skill that can't be read at this moment is not there.
    let entries: Vec<Value> = skills.filter_map(|skill| entry(skill, quizzes)).collect();
    let mut result = cached(json!({ "skills": entries }));
    if let Some(next) = next {
        result["nextCursor"] = next.into();
    }
    Ok(result)
}

fn get(catalog: &Catalog, quizzes: &Quizzes, params: Option<&Value>) -> Result<Value, ErrorData> {
    let wanted = text(params, "uri")?;
    let unknown = || {
        ErrorData::invalid_params("there is no skill at this URI", Some(json!({ "uri": wanted })))
    };
    let skill = skill_of_main_file(catalog, wanted).ok_or_else(unknown)?;
    let entry = entry(skill, quizzes).ok_or_else(unknown)?;
    Ok(cached(json!({ "skill": entry })))
}

/// The skill whose main file an address names.
fn skill_of_main_file<'c>(catalog: &'c Catalog, wanted: &str) -> Option<&'c Arc<LoadedSkill>> {
    let (name, path) = uri::parse(wanted)?;
    let skill = document(catalog, &name)?;
    let [file] = path.as_slice() else { return None };
    (files::main_name(skill) == Some(file)).then_some(skill)
}

/// A skill that is served as files.
pub(crate) fn document<'c>(catalog: &'c Catalog, name: &str) -> Option<&'c Arc<LoadedSkill>> {
    catalog.documents.binary_search_by(|known| known.as_str().cmp(name)).ok()?;
    catalog.skills.get(name)
}

/// The entry of a skill; `None` if its files can't be read. Behind a quiz it is one file, as it is served.
fn entry(skill: &LoadedSkill, quizzes: &Quizzes) -> Option<Value> {
    let directory = skill.directory.as_deref()?;
    let main = files::main_name(skill)?;
    let bytes = files::read(directory, &[main.to_owned()]).ok()??;
    let mut text = String::from_utf8(bytes).ok()?;
    let mut manifest = files::manifest(directory, quizzes).ok()?;
    if let Some(served) = files::withheld(skill, quizzes) {
        manifest = Manifest::Complete(vec![ServedFile {
            path: main.to_owned(),
            size: served.len() as u64,
            digest: files::digest(served.as_bytes()),
        }]);
        text = served;
    }
    let front_matter = Document::markdown(&text, &mut Findings::default()).root.to_json();
    let resources = match manifest {
        Manifest::TooLarge => Value::from("dynamic"),
        Manifest::Complete(files) => files
            .iter()
            .map(|file| {
                json!({
                    "uri": uri::of_folder(&skill.name, &file.path),
                    "digest": file.digest,
                    "size": file.size,
                })
            })
            .collect(),
    };
    Some(json!({
        "uri": uri::of_folder(&skill.name, main),
        "frontmatter": front_matter,
        "resources": resources,
    }))
}

fn directory(
    catalog: &Catalog,
    quizzes: &Quizzes,
    params: Option<&Value>,
) -> Result<Value, ErrorData> {
    let wanted = text(params, "uri")?;
    let unknown = || {
        ErrorData::invalid_params("there is no folder at this URI", Some(json!({ "uri": wanted })))
    };
    let (name, path) = uri::parse(wanted).ok_or_else(unknown)?;
    let skill = document(catalog, &name).ok_or_else(unknown)?;
    let directory = skill.directory.as_deref().ok_or_else(unknown)?;
    let mut entries =
        files::entries(directory, &path, quizzes).ok().flatten().ok_or_else(unknown)?;
    if let Some(served) = files::withheld(skill, quizzes) {
        // Only the main file, of the size that is served.
        let main = files::main_name(skill).filter(|_| path.is_empty()).ok_or_else(unknown)?;
        let (name, size) = (main.to_owned(), Some(served.len() as u64));
        entries = vec![ServedEntry { name, size }];
    }
    let (page, next) = paging::page(&entries, cursor(params)?, paging::PAGE)?;
    let below = path.join("/");
    let resources: Vec<Value> = page
        .iter()
        .map(|entry| {
            let uri = uri::of_folder(&name, &format!("{below}/{}", entry.name));
            match entry.size {
                None => json!({ "uri": uri, "name": entry.name, "mimeType": FOLDER }),
                Some(size) => json!({
                    "uri": uri,
                    "name": entry.name,
                    "mimeType": files::media_type(&entry.name),
                    "size": size,
                }),
            }
        })
        .collect();
    let mut result = cached(json!({ "resources": resources }));
    if let Some(next) = next {
        result["nextCursor"] = next.into();
    }
    Ok(result)
}

/// A result with how long it may be kept. The files are this user's, so no one else may keep them.
fn cached(mut result: Value) -> Value {
    result["resultType"] = "complete".into();
    result["ttlMs"] = TTL_MS.into();
    result["cacheScope"] = "private".into();
    result
}

fn text<'p>(params: Option<&'p Value>, name: &str) -> Result<&'p str, ErrorData> {
    let text = params.and_then(|params| params.get(name)).and_then(Value::as_str);
    text.ok_or_else(|| ErrorData::invalid_params(format!("`{name}` is missing"), None))
}

fn cursor(params: Option<&Value>) -> Result<Option<&str>, ErrorData> {
    match params.and_then(|params| params.get("cursor")) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(cursor)) => Ok(Some(cursor)),
        Some(_) => Err(ErrorData::invalid_params("`cursor` is a text", None)),
    }
}
