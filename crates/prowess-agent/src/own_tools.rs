//! The agent's own tools (GAIA §9.3): functions of a `tools.py` beside the manifest.
//!
//! A manifest lies in a project, and a tool sees the whole folder of its skill. So the tools get a folder of their own, in the
//! user's data, named after its content: a SKILL.md made of the manifest, `tools.py`, and the modules in `lib/`. From then on
//! they are a skill like any other, which nobody vouches for: policy, approvals and the sandbox know nothing else.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use prowess_core::{Problem, ProblemKind, system_reason};
use prowess_engine::LoadedSkill;
use prowess_files::atomic::{self, WriteOptions};
use prowess_files::private::private_folder;
use prowess_format::diagnostic::Findings;
use prowess_format::document::Document;
use prowess_format::emit::{WrittenSkill, YamlWriter};
use prowess_format::text::slug;
use prowess_library::{Library, SkillFile};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::assemble::AgentSource;

/// The file with the functions.
const FUNCTIONS: &str = "tools.py";
/// The folder with further modules.
const MODULES: &str = "lib";
/// The most bytes of one file.
const MAX_FILE: u64 = 1 << 20;
/// The most files.
const MAX_FILES: usize = 200;
/// How deep folders may be.
const MAX_DEPTH: usize = 8;
/// How many folders of agents are kept.
const MAX_KEPT: usize = 32;
/// The keys of a manifest that its tools need, as a skill declares them.
const SHARED_KEYS: [&str; 3] = ["permissions", "requirements", "license"];

/// Loads the agent's own tools; `None` if it has none.
pub(crate) fn load(
    library: &Library,
    name: &str,
    source: &AgentSource<'_>,
) -> Result<Option<Arc<LoadedSkill>>, Problem> {
    if source.manifest.tools.is_empty() {
        return Ok(None);
    }
    let mut files = vec![("SKILL.md".to_owned(), skill_text(name, source).into_bytes())];
    let functions = source.folder.join(FUNCTIONS);
    let code =
        atomic::read(&functions, MAX_FILE).map_err(|error| failed("read", &functions, &error))?;
    let Some(code) = code else {
        let message = format!(
            "`{name}` declares tools of its own, but there is no `{FUNCTIONS}` beside its manifest"
        );
        return Err(Problem::new("no-own-tools", ProblemKind::NotFound, message).advice(format!(
            "write their functions into `{}`, or remove `tools:`",
            functions.display()
        )));
    };
    files.push((FUNCTIONS.to_owned(), code));
    modules(&source.folder.join(MODULES), MODULES, 0, &mut files)?;
    let folder = library.world().state.data.join("agents");
    let folder = keep(&folder, name, &files)?;
    library.load(&SkillFile::at(&folder)?, None).map(Some).map_err(|problem| {
        let message = format!("the tools of `{name}` can't be used: {}", problem.message);
        Problem { kind: ProblemKind::Refused, message, remedies: Vec::new(), ..problem }
            .advice(format!("correct `tools:` of the manifest, or `{}`", functions.display()))
    })
}

/// The manifest as a skill of GAIA.
fn skill_text(name: &str, source: &AgentSource<'_>) -> String {
    let root = Document::yaml(source.text, &mut Findings::default()).root.to_json();
    let about = source.manifest.description.as_ref().map_or("", |text| text.as_str());
    let about =
        if about.is_empty() { format!("Tools of the agent {name}") } else { about.to_owned() };
    let mut yaml = YamlWriter::new();
    yaml.text("name", Some(&skill_name(name)));
    let version = source.manifest.version.as_ref().map_or("0.0.0", |version| version.as_str());
    yaml.text("version", Some(version));
    yaml.text("description", Some(&about));
    yaml.text("author", Some("the agent's manifest"));
    for key in SHARED_KEYS {
        let usual = match key {
            "permissions" => json!([]),
            "license" => json!("UNLICENSED"),
            _ => Value::Null,
        };
        yaml.value(key, root.get(key).unwrap_or(&usual));
    }
    yaml.value("tools", &root["tools"]);
    yaml.text("security_tier", Some("experimental"));
    WrittenSkill::markdown(&yaml, &format!("# {name}\n\nThe agent's own tools.\n")).text
}

fn skill_name(name: &str) -> String {
    let name: String = slug(name).chars().take(64).collect();
    if name.is_empty() { "agent".to_owned() } else { name }
}

/// Reads the Python files of a folder. Links are left out: they may lead anywhere.
fn modules(
    folder: &Path,
    prefix: &str,
    depth: usize,
    files: &mut Vec<(String, Vec<u8>)>,
) -> Result<(), Problem> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed("list", folder, &error)),
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let kind = path.symlink_metadata().map_err(|error| failed("read", &path, &error))?;
        let inside = format!("{prefix}/{name}");
        if kind.is_dir() && name != "__pycache__" && !name.starts_with('.') && depth < MAX_DEPTH {
            modules(&path, &inside, depth + 1, files)?;
        } else if kind.is_file() && path.extension().is_some_and(|it| it == "py") {
            if files.len() >= MAX_FILES {
                let message = format!("`{}` has more than {MAX_FILES} modules", folder.display());
                return Err(Problem::new("too-many-files", ProblemKind::InvalidInput, message));
            }
            let bytes =
                atomic::read(&path, MAX_FILE).map_err(|error| failed("read", &path, &error))?;
            files.extend(bytes.map(|bytes| (inside, bytes)));
        }
    }
    Ok(())
}

/// Writes the files into a folder that is named after them, unless they are there.
fn keep(agents: &Path, name: &str, files: &[(String, Vec<u8>)]) -> Result<PathBuf, Problem> {
    let mut hash = Sha256::new();
    for (path, bytes) in files {
        for part in [path.as_bytes(), bytes] {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
    }
    let mut digest = String::new();
    for byte in hash.finalize().iter().take(8) {
        let _ = write!(digest, "{byte:02x}");
    }
    // The folder of a skill has the skill's name.
    let outer = agents.join(digest);
    let folder = outer.join(skill_name(name));
    let is_there = |(path, bytes): &(String, Vec<u8>)| {
        fs::read(folder.join(path)).is_ok_and(|known| known == *bytes)
    };
    if files.iter().all(is_there) {
        return Ok(folder);
    }
    forget_old(agents);
    for (path, bytes) in files {
        let path = folder.join(path);
        let parent = atomic::folder_of(&path);
        private_folder(parent).map_err(|error| failed("create", parent, &error))?;
        atomic::write(&path, bytes, WriteOptions::CACHE)
            .map_err(|error| failed("write", &path, &error))?;
    }
    Ok(folder)
}

/// Deletes the folders that were made first. Failures don't stop an agent.
fn forget_old(agents: &Path) {
    let Ok(entries) = fs::read_dir(agents) else { return };
    let mut known: Vec<(SystemTime, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    known.sort();
    let too_many = known.len().saturating_sub(MAX_KEPT - 1);
    for (_, path) in known.drain(..too_many) {
        let _ = fs::remove_dir_all(path);
    }
}

fn failed(doing: &str, path: &Path, source: &io::Error) -> Problem {
    let message = format!("cannot {doing} `{}`: {}", path.display(), system_reason(source));
    Problem::new("own-tools-error", ProblemKind::Failed, message)
}
