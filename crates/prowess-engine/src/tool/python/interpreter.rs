//! Finds Python interpreters, queries each once, and caches the results.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use prowess_files::atomic::{self, MAX_SMALL_FILE_BYTES, WriteOptions};
use prowess_files::with_lock;
use serde_json::{Map, Value, json};

use super::interpreter_query;
use super::versions::{self, Version};
use crate::closure;
use crate::platform;
use crate::world::{StateFolders, World};

/// An interpreter on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interpreter {
    /// Its resolved executable.
    pub(crate) image: PathBuf,
    /// Its version.
    pub(crate) version: Version,
    /// Folders that it needs in addition to its executable.
    pub(crate) support: Vec<PathBuf>,
}

/// Why no interpreter was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum InterpreterError {
    /// There is no Python.
    #[error("there is no `python3` on PATH")]
    NotFound,
    /// No version is in the range.
    #[error("it needs Python {wanted}, but there is only {}", .found.join(", "))]
    NoneFits {
        /// The range that the skill requires.
        wanted: String,
        /// The versions found, with their paths.
        found: Vec<String>,
    },
}

/// The names of interpreters, the most usual first.
const NAMES: &[&str] = &[
    "python3",
    "python",
    "python3.14",
    "python3.13",
    "python3.12",
    "python3.11",
    "python3.10",
    "python3.9",
    "python3.8",
];
/// Minimum version: the worker script needs it.
const MIN_VERSION: Version = [3, 8, 0];
/// The version of the cache file.
const VERSION: u64 = 2;

/// The query script. In a virtual environment it describes the base interpreter.
const QUESTION: &str = r#"
import json, sys, sysconfig
print(json.dumps({
    "image": getattr(sys, "_base_executable", None) or sys.executable,
    "version": list(sys.version_info[:3]),
    "prefix": sys.base_prefix,
    "folders": [
        sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"), sysconfig.get_config_var("DESTSHARED"),
    ],
}))
"#;

/// The first interpreter on PATH whose version is in a range. Shims of version managers come last: the version that
/// they start depends on other settings.
pub(crate) fn find(world: &World, range: Option<&str>) -> Result<Interpreter, InterpreterError> {
    let mut known = InterpreterCache::load(&world.state);
    let mut seen: Vec<Interpreter> = Vec::new();
    let candidates =
        NAMES.iter().flat_map(|name| world.search_path.iter().map(move |folder| (name, folder)));
    let (shims, plain): (Vec<_>, Vec<_>) = candidates
        .map(|(name, folder)| (folder.join(name), closure::is_of_shims(folder)))
        .filter(|(path, _)| path.is_file())
        .partition(|(_, is_shim)| *is_shim);
    let mut fitting = None;
    for (path, _) in plain.into_iter().chain(shims) {
        let Some(interpreter) = known.ask(&path, world) else { continue };
        if seen.contains(&interpreter) {
            continue;
        }
        let fits = interpreter.version >= MIN_VERSION
            && range.is_none_or(|range| versions::holds(range, interpreter.version));
        seen.push(interpreter);
        if fits {
            fitting = seen.pop();
            break;
        }
    }
    known.save();
    if let Some(interpreter) = fitting {
        return Ok(interpreter);
    }
    if seen.is_empty() {
        return Err(InterpreterError::NotFound);
    }
    let found = seen
        .iter()
        .map(|it| format!("{} (`{}`)", versions::text(it.version), it.image.display()))
        .collect();
    let wanted = range.map_or_else(|| format!(">={}", versions::text(MIN_VERSION)), str::to_owned);
    Err(InterpreterError::NoneFits { wanted, found })
}

/// Cached query results, by the identity of the executable.
struct InterpreterCache {
    path: PathBuf,
    answers: Map<String, Value>,
    changed: bool,
}

impl InterpreterCache {
    fn load(state: &StateFolders) -> Self {
        let path = state.cache.join("interpreters.json");
        let text =
            atomic::read_text(&path, MAX_SMALL_FILE_BYTES).ok().flatten().unwrap_or_default();
        let mut file: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
        let answers = match file["interpreters"].take() {
            Value::Object(answers) if file["version"] == VERSION => answers,
            _ => Map::new(),
        };
        Self { path, answers, changed: false }
    }

    fn ask(&mut self, candidate: &Path, world: &World) -> Option<Interpreter> {
        let real = candidate.canonicalize().ok()?;
        // The target of a script may change while the script stays the same.
        let key = platform::identity(&real)
            .filter(|_| !is_script(&real))
            .map(|identity| format!("{identity}:{}", candidate.display()));
        if let Some(answer) = key.as_ref().and_then(|key| self.answers.get(key))
            && let Some(interpreter) = read(answer)
        {
            return Some(interpreter);
        }
        let said =
            interpreter_query::ask(&asked(candidate, &world.state)?, QUESTION, world).ok()?;
        let answer: Value = serde_json::from_slice(&said).ok()?;
        let interpreter = read(&answer)?;
        if let Some(key) = key {
            self.answers.insert(key, answer);
            self.changed = true;
        }
        Some(interpreter)
    }

    /// Saves new entries. Failures are ignored, because everything can be queried again.
    fn save(&self) {
        if self.changed {
            let file = json!({ "version": VERSION, "interpreters": self.answers });
            let text = format!("{file:#}\n");
            let _ = with_lock(&self.path, || {
                atomic::write(&self.path, text.as_bytes(), WriteOptions::PRIVATE)
            });
        }
    }
}

/// The interpreter to query for a candidate: for a virtual environment, its base interpreter. A file in an environment
/// may have come with a package, so it is never started; nor is anything in our own folders.
fn asked(candidate: &Path, state: &StateFolders) -> Option<PathBuf> {
    let real = candidate.canonicalize().ok()?;
    let is_ours = |path: &Path| {
        state.folders().iter().any(|folder| {
            path.starts_with(folder) || folder.canonicalize().is_ok_and(|it| path.starts_with(it))
        })
    };
    if is_ours(&real) {
        return None;
    }
    let environment = candidate.parent().and_then(Path::parent)?;
    let Some(settings) =
        atomic::read_text(&environment.join("pyvenv.cfg"), MAX_SMALL_FILE_BYTES).ok().flatten()
    else {
        return Some(candidate.to_owned());
    };
    let environment = environment.canonicalize().ok()?;
    if !real.starts_with(&environment) {
        return Some(real);
    }
    let mut lines = settings.lines().filter_map(|line| line.split_once('='));
    let (_, home) = lines.find(|(key, _)| key.trim() == "home")?;
    let base = Path::new(home.trim()).join(candidate.file_name()?).canonicalize().ok()?;
    (!base.starts_with(&environment) && !is_ours(&base)).then_some(base)
}

/// Whether a file is a script, which starts another program.
pub(super) fn is_script(path: &Path) -> bool {
    let mut start = [0; 2];
    File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && &start == b"#!"
}

fn read(answer: &Value) -> Option<Interpreter> {
    let image = Path::new(answer["image"].as_str()?).canonicalize().ok()?;
    let numbers: Vec<u64> =
        answer["version"].as_array()?.iter().filter_map(Value::as_u64).collect();
    let prefix = Path::new(answer["prefix"].as_str()?);
    let mut support: Vec<PathBuf> = answer["folders"]
        .as_array()?
        .iter()
        .filter_map(Value::as_str)
        .filter_map(|folder| Path::new(folder).canonicalize().ok())
        .collect();
    if !prefix.starts_with("/usr") {
        // Interpreters of version managers bring their own libraries, including libpython.
        support.extend(prefix.join("lib").canonicalize());
    }
    support.sort();
    support.dedup_by(|later, earlier| later.starts_with(&*earlier));
    Some(Interpreter { image, version: numbers.try_into().ok()?, support })
}
