//! What the tests of several crates share: where fixtures and the corpus are, temporary homes, a provider of models,
//! and a registry of skills.

#![expect(clippy::missing_panics_doc, reason = "a test that can't go on panics")]

#[cfg(feature = "archives")]
pub mod archives;
mod provider;
#[cfg(feature = "registry")]
mod registry;
mod scene;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(feature = "tls")]
pub mod tls;

use std::path::{Path, PathBuf};

pub use provider::{Answer, Ending, Recorded, Reply, Script, ScriptedProvider};
#[cfg(feature = "registry")]
pub use registry::{Published, TestRegistry};
#[cfg(target_os = "linux")]
pub use scene::Interrupted;
pub use scene::Scene;

/// The root of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the crate lies two folders below the root")
}

/// The fixtures folder.
pub fn fixtures() -> PathBuf {
    repository().join("fixtures")
}

/// The corpus of real SKILL.md files beside the repository, where it is present.
pub fn corpus() -> Option<PathBuf> {
    let corpus = repository().join("../shared/corpus/files");
    corpus.is_dir().then_some(corpus)
}

/// Every file below a folder whose name `wanted` accepts, sorted.
pub fn files_below(folder: &Path, wanted: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder can be listed") {
            let path = entry.expect("the entry can be read").path();
            if path.is_dir() {
                open.push(path);
            } else if path.file_name().and_then(|name| name.to_str()).is_some_and(wanted) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The bytes of a file.
pub fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The text of a fixture, by its path below `fixtures/`.
pub fn fixture(path: &str) -> String {
    String::from_utf8(bytes(&fixtures().join(path))).expect("the fixture is UTF-8")
}

/// A folder in memory where the system has one: a test of a store puts thousands of files on the disk.
pub fn temporary() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    folder.expect("a temporary folder can be made")
}

/// Everything below a folder, one line each, with modes and the content of files.
#[cfg(unix)]
pub fn listing(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder can be listed") {
            let path = entry.expect("the entry can be read").path();
            let metadata = path.symlink_metadata().expect("it is there");
            let mode = std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o7777;
            if metadata.is_dir() {
                found.push(format!("{} {mode:o}", path.display()));
                open.push(path);
            } else {
                let bytes = std::fs::read(&path).expect("it can be read");
                found.push(format!(
                    "{} {mode:o} {}",
                    path.display(),
                    String::from_utf8_lossy(&bytes)
                ));
            }
        }
    }
    found.sort();
    found
}
