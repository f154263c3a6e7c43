//! Reads small files of git and names in its index by git's own rules: with other rules, a different file would be
//! protected than the one that git uses.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::platform;

/// Maximum size of a file that contains paths.
const MAX_BYTES: u64 = 8192;

/// Reads a small regular file. Git never creates links, pipes or devices there, and a truncated read of a longer file
/// would be meaningless.
pub(crate) fn small_file(file: &Path) -> Option<Vec<u8>> {
    let data = fs::symlink_metadata(file).ok()?;
    if !data.is_file() || data.len() > MAX_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(MAX_BYTES + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= MAX_BYTES).then_some(bytes)
}

/// The path in a small file, after a prefix: `gitdir: ` in a file `.git`, nothing in `commondir` and `gitdir`. As in
/// git's `read_gitfile`, trailing line feeds and carriage returns are removed.
pub(crate) fn path_in(file: &Path, prefix: &[u8]) -> Option<PathBuf> {
    let bytes = small_file(file)?;
    let path = without_line_ends(bytes.strip_prefix(prefix)?);
    // Git would stop at a NUL.
    let is_path = !path.is_empty() && !path.contains(&b'\n') && !path.contains(&0);
    is_path.then(|| platform::path_of_bytes(path.to_vec())).flatten()
}

fn without_line_ends(mut text: &[u8]) -> &[u8] {
    while let [rest @ .., b'\n' | b'\r'] = text {
        text = rest;
    }
    text
}

/// Whether git, or some file system, treats a name as `.git`: case variants, `git~1` and trailing dots, spaces and
/// streams as in NTFS, invisible characters as in HFS+.
pub(crate) fn is_dot_git(name: &[u8]) -> bool {
    is_dot_git_of_ntfs(name) || is_dot_git_of_hfs(name)
}

fn is_dot_git_of_ntfs(name: &[u8]) -> bool {
    let starts = |prefix: &[u8]| {
        name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    let rest = if starts(b".git") {
        &name[4..]
    } else if starts(b"git~1") {
        &name[5..]
    } else {
        return false;
    };
    let end = rest.iter().position(|byte| *byte == b':').unwrap_or(rest.len());
    rest[..end].iter().all(|byte| matches!(byte, b' ' | b'.'))
}

fn is_dot_git_of_hfs(name: &[u8]) -> bool {
    let Ok(name) = std::str::from_utf8(name) else { return false };
    let is_ignored = |character: &char| {
        matches!(
            character,
            '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
        )
    };
    let seen = name.chars().filter(|character| !is_ignored(character));
    seen.map(|character| character.to_ascii_lowercase()).eq(".git".chars())
}

/// Whether a path from an index stays inside the working tree. These are the rules of git's `verify_path`, which git
/// applies when it adds to an index and not when it reads one.
pub(crate) fn is_plain(path: &[u8]) -> bool {
    let is_plain_name = |name: &[u8]| {
        !name.is_empty()
            && name != b"."
            && name != b".."
            && !name.split(|byte| *byte == b'\\').any(is_dot_git)
    };
    !path.contains(&0) && path.split(|byte| *byte == b'/').all(is_plain_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_the_repository_is_known() {
        for name in [
            ".git",
            ".GIT",
            ".Git",
            "git~1",
            "GIT~1",
            ".git ",
            ".git. .",
            ".git::$INDEX_ALLOCATION",
            ".g\u{200c}it",
            "\u{feff}.git",
            ".GI\u{202e}T",
        ] {
            assert!(is_dot_git(name.as_bytes()), "{name:?}");
        }
        for name in [".gitignore", "git", ".git2", "git~2", ".github", "x.git", ".git-x", ""] {
            assert!(!is_dot_git(name.as_bytes()), "{name:?}");
        }
    }

    #[test]
    fn only_paths_that_stay_inside_are_plain() {
        for path in ["a", "a/b.c", ".gitignore", "a/.github/x", "..a/b..", "a\\b"] {
            assert!(is_plain(path.as_bytes()), "{path:?}");
        }
        for path in [
            "",
            "/a",
            "a/",
            "a//b",
            "./a",
            "a/../b",
            "..",
            ".git/hooks/x",
            "a/.GIT/config",
            "a/.git",
            "git~1/x",
            "a/.git\\hooks",
            "a\0b",
        ] {
            assert!(!is_plain(path.as_bytes()), "{path:?}");
        }
    }

    #[test]
    fn paths_in_files_end_where_git_ends_them() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join(".git");
        let read = |text: &[u8]| {
            fs::write(&file, text).expect("it can be written");
            path_in(&file, b"gitdir: ")
        };
        for text in
            ["gitdir: x", "gitdir: x\n", "gitdir: x\r\n", "gitdir: x\r", "gitdir: x\n\r\r\n"]
        {
            assert_eq!(read(text.as_bytes()), Some(PathBuf::from("x")), "{text:?}");
        }
        let long = [b"gitdir: x".as_slice(), &[b'\n'; 9000]].concat();
        for text in [b"gitdir: \r\n".as_slice(), b"gitdir:x", b"gitdir: x\0y", b"x", &long] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }
}
