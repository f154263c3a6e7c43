//! The difference between two versions of a skill: changed files, and a unified diff of the texts.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use prowess_package::digest::FileHashes;
use prowess_package::tree::{Tree, TreeFile};
use similar::TextDiff;

/// The time limit for comparing two texts. After it, the remaining lines are shown as removed and added.
const MOST_TIME: Duration = Duration::from_millis(500);
/// The maximum size of the diff in bytes.
const MOST_BYTES: usize = 4 << 20;

/// The files that differ between two versions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileChanges {
    /// Files that only the new version has.
    pub added: Vec<String>,
    /// Files that only the old version has.
    pub removed: Vec<String>,
    /// Files in both versions with different content.
    pub changed: Vec<String>,
}

impl FileChanges {
    /// Compares the files of two versions.
    pub fn between(before: &FileHashes, after: &FileHashes) -> Self {
        let mut changes = Self::default();
        for (path, hash) in after {
            match before.get(path) {
                None => changes.added.push(path.as_str().to_owned()),
                Some(known) if known != hash => changes.changed.push(path.as_str().to_owned()),
                Some(_) => {}
            }
        }
        let is_gone = |path: &&prowess_package::path::PackagePath| !after.contains_key(*path);
        changes.removed =
            before.keys().filter(is_gone).map(|path| path.as_str().to_owned()).collect();
        changes
    }

    /// The files whose content is new.
    pub(crate) fn changed_or_added(&self) -> impl Iterator<Item = String> {
        self.changed.iter().chain(&self.added).cloned()
    }

    /// Whether only documents or signatures of them differ, and at least one does.
    pub(crate) fn are_documents(&self) -> bool {
        let is_document = |path: &String| {
            let name = path.to_ascii_lowercase();
            [
                ".md",
                ".markdown",
                ".txt",
                ".rst",
                ".sig",
                ".lock",
                ".minisig",
                ".asc",
                "signature.json",
            ]
            .iter()
            .any(|ending| name.ends_with(ending))
        };
        !self.is_empty()
            && self.added.iter().chain(&self.removed).chain(&self.changed).all(is_document)
    }

    /// Whether no file differs.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

/// The unified diff of all changed texts; binary files are only named. Without an old version, every line is an
/// addition.
pub fn text_difference(before: Option<&Tree>, after: &Tree) -> String {
    let paths = |tree: &Tree| -> BTreeSet<String> {
        tree.files().map(|(path, _)| path.as_str().to_owned()).collect()
    };
    let mut all = before.map(paths).unwrap_or_default();
    all.extend(paths(after));
    let mut page = String::new();
    for path in all {
        let old = before.and_then(|tree| tree.get(&path));
        let new = after.get(&path);
        if old.map(|file| &file.bytes) == new.map(|file| &file.bytes) {
            continue;
        }
        if page.len() > MOST_BYTES {
            page.push_str("more files differ; they are not shown\n");
            break;
        }
        page.push_str(&file_difference(&path, old, new));
    }
    page
}

fn file_difference(path: &str, old: Option<&TreeFile>, new: Option<&TreeFile>) -> String {
    let old_name = old.map_or("/dev/null".to_owned(), |_| format!("a/{path}"));
    let new_name = new.map_or("/dev/null".to_owned(), |_| format!("b/{path}"));
    let (Some(old), Some(new)) = (text(old), text(new)) else {
        return format!("binary files {old_name} and {new_name} differ\n");
    };
    let difference = TextDiff::configure().timeout(MOST_TIME).diff_lines(old, new);
    let unified = difference.unified_diff().header(&old_name, &new_name).to_string();
    let mut page = String::new();
    match unified.char_indices().nth(MOST_BYTES) {
        None => page.push_str(&unified),
        Some((end, _)) => {
            let _ = writeln!(page, "{}\nthe rest of {path} is not shown", &unified[..end]);
        }
    }
    page
}

/// The text of a file; empty if there is no file, `None` if it is binary.
fn text(file: Option<&TreeFile>) -> Option<&str> {
    match file {
        None => Some(""),
        Some(file) if file.bytes.contains(&0) => None,
        Some(file) => std::str::from_utf8(&file.bytes).ok(),
    }
}

#[cfg(test)]
mod tests {
    use prowess_package::limits::PackageLimits;

    use super::*;

    fn tree(files: &[(&str, &[u8])]) -> Tree {
        let file = |(path, bytes): &(&str, &[u8])| {
            let file = TreeFile { bytes: bytes.to_vec(), executable: false };
            (path.parse().expect("a path"), file)
        };
        Tree::from_files(files.iter().map(file), &PackageLimits::PACKAGE).expect("a tree")
    }

    #[test]
    fn files_and_texts_that_differ() {
        let before = tree(&[("SKILL.md", b"one\ntwo\n"), ("old.txt", b"x\n"), ("same", b"s")]);
        let after = tree(&[("SKILL.md", b"one\nthree\n"), ("new.bin", b"\0"), ("same", b"s")]);
        let changes = FileChanges::between(&before.hashes(), &after.hashes());
        assert_eq!(
            changes,
            FileChanges {
                added: vec!["new.bin".to_owned()],
                removed: vec!["old.txt".to_owned()],
                changed: vec!["SKILL.md".to_owned()],
            }
        );
        assert_eq!(
            text_difference(Some(&before), &after),
            "--- a/SKILL.md\n+++ b/SKILL.md\n@@ -1,2 +1,2 @@\n one\n-two\n+three\nbinary files /dev/null and b/new.bin differ\n--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        );
        assert_eq!(text_difference(Some(&after), &after), "");
        assert!(FileChanges::between(&after.hashes(), &after.hashes()).is_empty());
    }
}
