//! Dangerous state in the folder of a repository besides settings and hooks: an index with forged paths, a rebase that
//! starts programs, a resolved conflict in `.git/config`.
//!
//! Tools may run git, so git's own state is kept: an index, a rebase that waits for the user.

use std::fs;
use std::path::{Path, PathBuf};

use prowess_format::text::visible;

use super::index::{self, Unsafe};
use super::repository::{foreign_objects, settings_of};
use crate::git_files;
use crate::git_settings;
use crate::platform;

/// Maximum size of a list of commands or conflicts.
const MAX_LIST: u64 = 16 << 20;
/// Git's built-in merge strategies. Another name starts a program of that name, and one with a slash a file of the
/// repository.
const STRATEGIES: &[&str] = &["ort", "recursive", "resolve", "octopus", "ours", "subtree"];
/// Rebase commands that start no program; `exec` and `x` are excluded.
const COMMANDS: &[&str] = &[
    "pick",
    "p",
    "revert",
    "reword",
    "r",
    "edit",
    "e",
    "squash",
    "s",
    "fixup",
    "f",
    "merge",
    "m",
    "label",
    "l",
    "reset",
    "t",
    "update-ref",
    "u",
    "break",
    "b",
    "drop",
    "d",
    "noop",
];

/// A path in a repository's folder that must be removed, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) place: PathBuf,
    pub(super) reason: String,
}

/// The dangerous paths in the folder of a repository, among those for which `is_changed` is true.
pub(super) fn problems(
    folder: &Path,
    folders: &[PathBuf],
    is_changed: impl Fn(&Path) -> bool,
) -> Vec<Problem> {
    let mut found = Vec::new();
    let mut look = |name: &str, reason: &dyn Fn(&Path) -> Option<String>| {
        let place = folder.join(name);
        if fs::symlink_metadata(&place).is_ok()
            && is_changed(&place)
            && let Some(reason) = reason(&place)
        {
            found.push(Problem { place, reason });
        }
    };
    for name in indexes(folder) {
        look(&name, &|place| forged_index(place, folder));
    }
    for name in OPERATIONS {
        look(name, &|place| dangerous_operation(place));
    }
    look("MERGE_RR", &|place| forged_conflicts(place, folder));
    look("BISECT_NAMES", &|place| {
        let is_fine = list(place).is_some_and(|text| is_quoted(&text));
        (!is_fine).then(|| "it contains more than quoted paths".to_owned())
    });
    for name in ["remotes", "branches"] {
        look(name, &|place| {
            (!super::is_empty(place)).then(|| "it determines where git fetches from".to_owned())
        });
    }
    look("objects/info/alternates", &|_| foreign_objects(folder, folders));
    found
}

/// Paths that a run would put into a repository and that would make git run something, with the reasons. `staged` is a folder
/// with the changed entries; the paths are relative to `repository`, to which they would be applied.
pub(super) fn traps(staged: &Path, repository: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for name in indexes(staged) {
        if let Some(reason) = forged_index(&staged.join(&name), repository) {
            found.push((PathBuf::from(name), reason));
        }
    }
    let mut look = |name: &str, reason: &dyn Fn(&Path) -> Option<String>| {
        let place = staged.join(name);
        // A deletion is one of the overlay's marks.
        let is_there = fs::symlink_metadata(&place)
            .is_ok_and(|data| data.is_file() || data.is_dir() || data.is_symlink());
        if let Some(reason) = is_there.then(|| reason(&place)).flatten() {
            found.push((PathBuf::from(name), reason));
        }
    };
    for name in OPERATIONS {
        look(name, &|place| dangerous_operation(place));
    }
    look("MERGE_RR", &|place| forged_conflicts(place, repository));
    look("BISECT_NAMES", &|place| {
        let is_fine = list(place).is_some_and(|text| is_quoted(&text));
        (!is_fine).then(|| "it contains more than quoted paths".to_owned())
    });
    found
}

/// Folders of pending git operations.
pub(crate) const OPERATIONS: &[&str] = &["rebase-merge", "rebase-apply", "sequencer"];

/// The index, and shared indexes that it may be split from.
fn indexes(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten();
    // In an upper layer deletions are devices.
    let names = names.filter(|entry| entry.file_type().is_ok_and(|kind| !is_device(kind)));
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| name == "index" || name.starts_with("sharedindex.")).collect()
}

#[cfg(unix)]
fn is_device(kind: fs::FileType) -> bool {
    std::os::unix::fs::FileTypeExt::is_char_device(&kind)
}

#[cfg(not(unix))]
fn is_device(_: fs::FileType) -> bool {
    false
}

fn forged_index(file: &Path, folder: &Path) -> Option<String> {
    match index::check_file(file, hash_length(folder)) {
        Ok(()) => None,
        Err(Unsafe::Unreadable) => {
            Some("it can't be read as an index; `git reset` creates a new one".to_owned())
        }
        Err(Unsafe::Path(path)) => {
            let path = String::from_utf8_lossy(&path).into_owned();
            Some(format!(
                "git would write its entry `{}`; `git reset` creates a new index",
                visible(&path)
            ))
        }
    }
}

/// The length of object names in a repository, in bytes.
fn hash_length(folder: &Path) -> usize {
    let is_long = settings_of(folder).iter().any(|file| match git_settings::of_file(file) {
        Ok(settings) => settings.iter().any(git_settings::Setting::is_sha256),
        // Settings of the user that only git can read.
        Err(_) => list(file).is_some_and(|text| text.windows(6).any(|word| word == b"sha256")),
    });
    if is_long { 32 } else { 20 }
}

/// Why a pending operation would start a program when it continues.
pub(crate) fn dangerous_operation(folder: &Path) -> Option<String> {
    let unreadable = |name: &str| format!("its `{name}` can't be read");
    if !fs::symlink_metadata(folder).is_ok_and(|data| data.is_dir()) {
        return Some("it can't be read".to_owned());
    }
    let is_sequencer = folder.ends_with("sequencer");
    for name in ["git-rebase-todo", "git-rebase-todo.backup", "todo"] {
        match text_of(&folder.join(name)) {
            Text::Absent => {}
            Text::Unreadable => return Some(unreadable(name)),
            Text::Of(text) => {
                if let Some(command) = starting_command(&text) {
                    return Some(format!("its `{name}` has the command `{}`", visible(&command)));
                }
            }
        }
    }
    match text_of(&folder.join("strategy")) {
        Text::Absent => {}
        Text::Of(text) if is_strategy(&String::from_utf8_lossy(&text)) => {}
        Text::Of(_) | Text::Unreadable => return Some("its `strategy` is a program".to_owned()),
    }
    match text_of(&folder.join("apply-opt")) {
        Text::Absent => {}
        Text::Of(text)
            if String::from_utf8_lossy(&text).split_whitespace().all(is_apply_option) => {}
        Text::Of(_) | Text::Unreadable => {
            return Some("its `apply-opt` could make git write other files".to_owned());
        }
    }
    if is_sequencer {
        let Ok(options) = git_settings::of_file(&folder.join("opts")) else {
            return Some(unreadable("opts"));
        };
        let mut strategies = options.iter().filter_map(git_settings::Setting::strategy);
        if strategies.any(|name| !is_strategy(name)) {
            return Some("its `opts` name a program as strategy".to_owned());
        }
    }
    None
}

/// The first command of a list that is not known to be harmless.
fn starting_command(text: &[u8]) -> Option<String> {
    let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r' | 0);
    text.split(is_end).find_map(|line| {
        let line = String::from_utf8_lossy(line);
        let word = line.split([' ', '\t']).find(|word| !word.is_empty())?;
        let is_fine = word.starts_with('#') || COMMANDS.contains(&word);
        (!is_fine).then(|| word.chars().take(40).collect())
    })
}

fn is_strategy(text: &str) -> bool {
    let name = text.trim();
    name.is_empty() || STRATEGIES.contains(&name)
}

/// Whether a word is an option that `git am` passes on, quoted for a shell, and that names no file.
fn is_apply_option(word: &str) -> bool {
    let word = word.trim_matches('\'');
    let number = word.strip_prefix("-C").or_else(|| word.strip_prefix("-p"));
    let kind = word.strip_prefix("--whitespace=");
    word.is_empty()
        || number.is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
        || kind
            .is_some_and(|text| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'))
        || ["--ignore-whitespace", "--ignore-space-change", "--reject"].contains(&word)
}

/// Conflicts with a recorded resolution: git writes the result to the path, whatever it is.
fn forged_conflicts(file: &Path, folder: &Path) -> Option<String> {
    let Some(text) = list(file) else { return Some("it can't be read".to_owned()) };
    let is_inner =
        folder.file_name().is_some_and(|name| git_files::is_dot_git(&platform::bytes(name)));
    // A linked worktree refers to its files.
    let own = git_files::path_in(&folder.join("gitdir"), b"");
    let own = own.and_then(|link| folder.join(link).parent().map(Path::to_owned));
    let top = if is_inner { folder.parent().map(Path::to_owned) } else { own };
    let forged = text.split(|byte| *byte == 0).filter(|line| !line.is_empty()).find(|line| {
        let path = line.iter().position(|byte| *byte == b'\t').map(|at| &line[at + 1..]);
        !path.is_some_and(|path| {
            git_files::is_plain(path) && top.as_deref().is_some_and(|top| is_straight(top, path))
        })
    });
    forged.map(|line| {
        let line = String::from_utf8_lossy(line);
        let path = line.split_once('\t').map_or(&*line, |(_, path)| path);
        format!("git would write a resolved conflict to `{}`", visible(path))
    })
}

/// Whether no component of a path below a folder is a link.
fn is_straight(top: &Path, path: &[u8]) -> bool {
    let Some(path) = platform::path_of_bytes(path.to_vec()) else { return false };
    let path = top.join(path);
    let mut way = path.ancestors().take_while(|above| *above != top);
    !way.any(|above| fs::symlink_metadata(above).is_ok_and(|data| data.is_symlink()))
}

/// Whether a text consists of single-quoted words, as git writes them: earlier versions passed it to a shell.
fn is_quoted(text: &[u8]) -> bool {
    let mut rest = text;
    loop {
        rest = rest.trim_ascii();
        rest = match rest {
            [] => return true,
            [b'\\', b'\'' | b'!', rest @ ..] => rest,
            [b'\'', inner @ ..] => match inner.iter().position(|byte| *byte == b'\'') {
                Some(end) => &inner[end + 1..],
                None => return false,
            },
            _ => return false,
        };
    }
}

enum Text {
    Absent,
    Unreadable,
    Of(Vec<u8>),
}

fn text_of(file: &Path) -> Text {
    match (fs::symlink_metadata(file), list(file)) {
        (Err(error), _) if super::is_gone(&error) => Text::Absent,
        (Ok(_), Some(text)) => Text::Of(text),
        _ => Text::Unreadable,
    }
}

fn list(file: &Path) -> Option<Vec<u8>> {
    let data = fs::symlink_metadata(file).ok()?;
    (data.is_file() && data.len() <= MAX_LIST).then(|| fs::read(file).ok()).flatten()
}
