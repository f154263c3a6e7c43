//! Helpers for the tests of several crates: fixtures, the corpus, temporary folders, a scripted model provider, and a
//! test registry.

#![expect(clippy::missing_panics_doc, reason = "a test that can't go on panics")]

#[cfg(feature = "archives")]
pub mod archives;
#[cfg(all(target_os = "linux", feature = "postgres"))]
pub mod postgres;
mod provider;
#[cfg(feature = "registry")]
mod registry;
#[cfg(feature = "s3")]
pub mod s3;
mod scene;
pub mod schemathesis;
#[cfg(target_os = "linux")]
mod terminal;
#[cfg(feature = "tls")]
pub mod tls;

use std::path::{Path, PathBuf};

pub use provider::{Answer, Ending, Recorded, Reply, Script, ScriptedProvider};
#[cfg(feature = "registry")]
pub use registry::{Published, TestRegistry, sha256};
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

/// The corpus of real SKILL.md files next to the repository, if it is present.
pub fn corpus() -> Option<PathBuf> {
    let corpus = repository().join("../shared/corpus/files");
    corpus.is_dir().then_some(corpus)
}

/// The files below a folder whose names `wanted` accepts, sorted.
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

/// Finds codes of our internal catalogues in user-facing text: ledger rows (`GIB-3.1-2`, `TP-1`), abbreviated
/// specifications (`SKL layer 2`, `GAIA §3.1`), rulings (`R39`) and attacks (`C11`).
pub fn internal_codes(text: &str) -> Vec<String> {
    const GROUPS: &[&str] = &["GIB", "GAIX", "AFL", "SRT", "SKL", "OC", "TP", "NEG"];
    let words: Vec<&str> = text
        .split(|character: char| {
            !(character.is_alphanumeric() || matches!(character, '-' | '.' | '§' | '_' | '/'))
        })
        .filter(|word| !word.is_empty())
        .collect();
    let is_number = |text: &str| text.starts_with(|first: char| first.is_ascii_digit());
    let is_code = |(at, word): (usize, &&str)| {
        let word = word.trim_end_matches('.');
        let before = at.checked_sub(1).map_or("", |at| words[at]);
        let (group, rest) = word.split_once('-').unwrap_or((word, ""));
        word.contains('§')
            || GROUPS.contains(&word)
            || (GROUPS.contains(&group) || group == "GAIA")
                && rest.contains(|c: char| c.is_ascii_digit())
            || word.strip_prefix('R').is_some_and(|number| number.len() <= 2 && is_number(number))
            || is_number(word) && ["seed", "Seed", "layer", "Layer"].contains(&before)
            || ["attack", "Attack"].contains(&before) && word.contains(|c: char| c.is_ascii_digit())
    };
    words
        .iter()
        .enumerate()
        .filter(|pair| is_code(*pair))
        .map(|(_, word)| (*word).to_owned())
        .collect()
}

/// A temporary folder, in memory if possible: tests of a store write thousands of files.
pub fn temporary() -> tempfile::TempDir {
    let memory = std::path::Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    folder.expect("a temporary folder can be made")
}

/// Lists everything below a folder, one line each, with modes and the content of files.
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

#[cfg(test)]
mod tests {
    use super::internal_codes;

    #[test]
    fn internal_codes_are_recognised() {
        for text in [
            "SKL layer 2",
            "(GIB §5.2)",
            "row TP-1.",
            "see R39",
            "attack C11",
            "GAIA-9.1-1",
            "seed 001",
            "L3-4 of SKL",
        ] {
            assert!(!internal_codes(text).is_empty(), "{text}");
        }
        for text in [
            "GAIA SKILL.md Format Specification, section 2.2",
            "HTTP-2 and R",
            "UTF-8",
            "100 layers",
            "GAIA requires",
        ] {
            assert_eq!(internal_codes(text), Vec::<String>::new(), "{text}");
        }
    }
}
