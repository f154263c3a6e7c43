//! The files of a skill's folder, and those that a copy leaves out.

use std::fs;
use std::path::Path;

use prowess_format::migrate::ReviewItem;
use prowess_format::text::shorten;

/// The most files of one skill.
const MOST_FILES: usize = 10_000;
/// The deepest nesting of folders in a skill.
const MOST_DEPTH: usize = 64;
/// Folders that tools write and that are no part of a skill.
const NOT_CONTENT: &[&str] = &[".git", "node_modules"];

/// The files of a folder, by relative path, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillListing {
    /// Regular files.
    pub files: Vec<String>,
    /// What is left out, except the main file's lock (R25).
    pub omitted: Vec<OmittedFile>,
}

/// A file or folder that is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OmittedFile {
    /// The relative path.
    pub path: String,
    /// Why: the end of "is left out: …".
    pub reason: &'static str,
}

impl SkillListing {
    /// An item to review per file that is left out.
    pub(super) fn review(&self) -> impl Iterator<Item = ReviewItem> + '_ {
        /// The most files that are named.
        const MOST: usize = 20;
        let named = self.omitted.iter().take(MOST).map(|omitted| ReviewItem {
            what: shorten(&omitted.path, 120),
            why: format!("it is left out: {}", omitted.reason),
        });
        let more = self.omitted.len().saturating_sub(MOST);
        let rest = (more > 0).then(|| ReviewItem {
            what: "files".to_owned(),
            why: format!("{more} more are left out"),
        });
        named.chain(rest)
    }
}

/// Lists the files of a skill. Links are left out, because they may point anywhere (NEG-15).
pub fn list_files(directory: &Path) -> SkillListing {
    let mut listing = SkillListing::default();
    let mut open = vec![(String::new(), 0)];
    while let Some((relative, depth)) = open.pop() {
        let mut omit = |path: &str, reason| {
            listing.omitted.push(OmittedFile { path: path.to_owned(), reason });
        };
        let Ok(entries) = fs::read_dir(directory.join(&relative)) else {
            omit(&relative, "the folder can't be read");
            continue;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let shown = name.to_string_lossy();
            let path = if relative.is_empty() {
                shown.clone().into_owned()
            } else {
                format!("{relative}/{shown}")
            };
            let Ok(kind) = entry.file_type() else {
                omit(&path, "it can't be read");
                continue;
            };
            if name.to_str().is_none() {
                omit(&path, "its name is not UTF-8");
            } else if kind.is_symlink() {
                omit(&path, "it is a symbolic link");
            } else if kind.is_dir() && NOT_CONTENT.contains(&&*shown) {
                omit(&path, "it is not part of a skill");
            } else if kind.is_dir() && depth == MOST_DEPTH {
                omit(&path, "it is nested too deeply");
            } else if kind.is_dir() {
                open.push((path, depth + 1));
            } else if !kind.is_file() {
                omit(&path, "it is neither a file nor a folder");
            } else if shown.ends_with(".md.lock") {
                // The lock of a SKILL.md is never content (R25), so nobody misses it.
            } else if listing.files.len() == MOST_FILES {
                omit(&path, "the skill has too many files");
            } else {
                listing.files.push(path);
            }
        }
    }
    listing.files.sort();
    listing.omitted.sort_by(|one, other| one.path.cmp(&other.path));
    listing
}
