//! Which files of a folder are content of the skill, and which are not allowed in a package.

use crate::path::{PackagePath, fold};

/// The manifest, in the only spelling allowed in a package.
pub const MANIFEST: &str = "SKILL.md";
/// The lock file next to a manifest, which is never content: neither packed nor digested (R25).
pub const SIDECAR: &str = "SKILL.md.lock";

/// Hidden files that are useful to the user of a skill. All others are rejected, because a review
/// does not show them (attack registry-B10): programs read `.npmrc`, `.env` and hooks
/// automatically.
const ALLOWED_HIDDEN: [&str; 12] = [
    ".clawhubignore",
    ".editorconfig",
    ".env.example",
    ".env.sample",
    ".env.template",
    ".gitattributes",
    ".gitignore",
    ".gitkeep",
    ".keep",
    ".nvmrc",
    ".python-version",
    ".skillignore",
];

/// Folders that tools leave behind.
const LITTER_FOLDERS: [&str; 12] = [
    ".clawhub",
    ".clawdhub",
    ".git",
    ".hg",
    ".idea",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".svn",
    "__macosx",
    "__pycache__",
    "node_modules",
];

/// Files that systems leave behind.
const LITTER_FILES: [&str; 4] = [".ds_store", "desktop.ini", "thumbs.db", ".git"];

/// The role of a path in a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileRole {
    /// Part of the skill.
    Content,
    /// Always omitted (R25).
    Sidecar,
    /// Files of version control, editors, systems and caches. Omitted when packing, rejected when
    /// unpacking.
    Litter,
    /// Other hidden files. Rejected (attack registry-B10).
    Hidden,
}

/// The role of a file, by its path.
pub fn role_of(path: &PackagePath) -> FileRole {
    if path.as_str() == SIDECAR {
        return FileRole::Sidecar;
    }
    let mut folders: Vec<&str> = path.parts().collect();
    let file = folders.pop().unwrap_or_default();
    let folder_roles = folders.into_iter().map(role_of_folder);
    folder_roles
        .chain([role_of_file(file)])
        .find(|role| *role != FileRole::Content)
        .unwrap_or(FileRole::Content)
}

/// The role of a folder, by its name: litter folders are not entered.
pub fn role_of_folder(name: &str) -> FileRole {
    if LITTER_FOLDERS.contains(&fold(name).as_str()) {
        FileRole::Litter
    } else if name.starts_with('.') {
        FileRole::Hidden
    } else {
        FileRole::Content
    }
}

fn role_of_file(name: &str) -> FileRole {
    let folded = fold(name);
    let ending = folded.rsplit_once('.').map_or("", |(_, ending)| ending);
    let is_litter = LITTER_FILES.contains(&folded.as_str())
        // AppleDouble, Emacs, vim and backups.
        || name.starts_with("._")
        || name.starts_with(".#")
        || (name.starts_with('#') && name.ends_with('#') && name.len() > 1)
        || name.ends_with('~')
        || (name.starts_with('.') && matches!(ending, "swp" | "swo"))
        // Python runs these instead of the source next to them, and a review does not read them.
        || matches!(ending, "pyc" | "pyo");
    if is_litter {
        FileRole::Litter
    } else if name.starts_with('.') && !ALLOWED_HIDDEN.contains(&name) {
        FileRole::Hidden
    } else {
        FileRole::Content
    }
}

/// Whether a file keeps its executable bit: only files with a `#!` line, or in `scripts/` (attack
/// registry-B11).
pub(crate) fn stays_executable(path: &PackagePath, first_bytes: &[u8]) -> bool {
    first_bytes.starts_with(b"#!") || path.as_str().starts_with("scripts/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_follow_from_names() {
        for (path, expected) in [
            ("SKILL.md", FileRole::Content),
            ("docs/SKILL.md.lock", FileRole::Content),
            ("SKILL.md.lock", FileRole::Sidecar),
            (".gitignore", FileRole::Content),
            ("assets/.gitkeep", FileRole::Content),
            (".git", FileRole::Litter),
            (".git/hooks/post-checkout", FileRole::Litter),
            ("sub/.GIT/config", FileRole::Litter),
            ("a/__pycache__/tools.cpython-312.pyc", FileRole::Litter),
            ("node_modules/x/index.js", FileRole::Litter),
            (".DS_Store", FileRole::Litter),
            ("._SKILL.md", FileRole::Litter),
            ("SKILL.md~", FileRole::Litter),
            (".SKILL.md.swp", FileRole::Litter),
            (".env", FileRole::Hidden),
            (".npmrc", FileRole::Hidden),
            (".hidden/x.md", FileRole::Hidden),
        ] {
            assert_eq!(role_of(&path.parse().unwrap()), expected, "{path}");
        }
    }
}
