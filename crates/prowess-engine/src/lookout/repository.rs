//! Whether a repository that a run has made can start programs.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use prowess_format::text::visible;

use super::{Lookout, is_inside};
use crate::git_settings;
use crate::platform;

/// The most bytes of a file that holds paths.
const MOST_PATHS: u64 = 8192;

/// Whether git would take a folder with these names in it for a repository. One that shares the rest with another has
/// neither objects nor references of its own.
pub(crate) fn looks_bare<'n>(names: impl Iterator<Item = &'n OsStr>) -> bool {
    let mut found = [false; 4];
    for name in names {
        for (place, wanted) in found.iter_mut().zip(["HEAD", "objects", "refs", "commondir"]) {
            *place |= name == wanted;
        }
    }
    let [head, objects, references, elsewhere] = found;
    head && ((objects && references) || elsewhere)
}

/// Whether a folder is one of git's: the `.git` of a repository, or one that looks like it.
pub(crate) fn is_repository(folder: &Path) -> bool {
    fs::symlink_metadata(folder.join("HEAD")).is_ok_and(|data| !data.is_dir())
}

/// The files with the settings of a repository, by its folder or its file `.git`.
pub(crate) fn settings_of(repository: &Path) -> Vec<PathBuf> {
    let folder = match fs::symlink_metadata(repository) {
        Ok(data) if data.is_file() => match target_of(repository) {
            Some(folder) => folder,
            None => return Vec::new(),
        },
        _ => repository.to_owned(),
    };
    let mut files = vec![folder.join("config"), folder.join("config.worktree")];
    if let Some(shared) = path_in(&folder.join("commondir"), b"") {
        files.push(folder.join(shared).join("config"));
    }
    files
}

/// Why git would run something because of a new repository; `None` when nothing in it could. A repository is a folder, or
/// a file that says where the folder is.
pub(super) fn danger(repository: &Path, lookout: &Lookout) -> Option<String> {
    let data = fs::symlink_metadata(repository).ok()?;
    if data.is_symlink() {
        return Some("it is a link".to_owned());
    }
    if data.is_dir() {
        return is_repository(repository).then(|| in_folder(repository, lookout)).flatten();
    }
    let Some(target) = target_of(repository) else {
        return Some("it can't be read".to_owned());
    };
    if !is_inside(&target, &lookout.folders) {
        let target = target.display().to_string();
        return Some(format!("it leads to `{}`", visible(&target)));
    }
    // One that leads nowhere is none.
    let target = target.canonicalize().ok()?;
    if lookout.repositories.contains(&target) || !is_repository(&target) {
        return None;
    }
    in_folder(&target, lookout)
}

fn in_folder(folder: &Path, lookout: &Lookout) -> Option<String> {
    let is_there = |name: &str| fs::symlink_metadata(folder.join(name)).is_ok();
    if let Some(reason) = dangerous_setting(&folder.join("config"), &lookout.folders) {
        return Some(reason);
    }
    if is_there("config.worktree") {
        return Some("it has a `config.worktree`".to_owned());
    }
    if is_there("commondir") && !shares_with_its_own(folder, lookout) {
        return Some("its `commondir` leads elsewhere".to_owned());
    }
    hook(&folder.join("hooks")).or_else(|| foreign_objects(folder, &lookout.folders))
}

/// A setting in a file that could start a program.
pub(super) fn dangerous_setting(file: &Path, folders: &[PathBuf]) -> Option<String> {
    let Ok(settings) = git_settings::of_file(file) else {
        return Some("its settings can't be read".to_owned());
    };
    let repository = file.parent().unwrap_or(Path::new("/"));
    let dangerous = settings.iter().find(|setting| match setting.worktree() {
        // Git would change files there.
        Some(worktree) => !is_inside(&repository.join(worktree), folders),
        None => !setting.is_harmless(),
    });
    dangerous.map(|setting| format!("it sets `{}`", visible(&setting.key())))
}

/// A hook in a folder of hooks that is more than a sample.
pub(super) fn hook(folder: &Path) -> Option<String> {
    let data = fs::symlink_metadata(folder).ok()?;
    let Some(entries) = data.is_dir().then(|| fs::read_dir(folder).ok()).flatten() else {
        return Some("its hooks can't be read".to_owned());
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut hooks = names.filter(|name| !platform::bytes(name).ends_with(b".sample"));
    hooks.next().map(|name| format!("it has the hook `{}`", visible(&name.to_string_lossy())))
}

/// Objects that are taken from somewhere else: they could be those of another repository of the user's.
fn foreign_objects(folder: &Path, folders: &[PathBuf]) -> Option<String> {
    let objects = folder.join("objects");
    let alternates = objects.join("info/alternates");
    fs::symlink_metadata(&alternates).ok()?;
    let foreign = || Some("it takes objects from elsewhere".to_owned());
    let Some(text) = small_text(&alternates) else { return foreign() };
    let is_own = |line: &[u8]| {
        // Git takes quotes off.
        line.is_empty()
            || !line.starts_with(b"\"")
                && std::str::from_utf8(line)
                    .is_ok_and(|line| is_inside(&objects.join(line), folders))
    };
    if text.split(|byte| *byte == b'\n').all(is_own) { None } else { foreign() }
}

/// Whether it is the part of a linked worktree in `.git/worktrees` that shares the rest with the repository around it.
fn shares_with_its_own(folder: &Path, lookout: &Lookout) -> bool {
    let (Some(worktrees), Some(around)) = (folder.parent(), folder.ancestors().nth(2)) else {
        return false;
    };
    let shared = path_in(&folder.join("commondir"), b"");
    let shared = shared.and_then(|path| folder.join(path).canonicalize().ok());
    worktrees.file_name().is_some_and(|name| name == "worktrees")
        && shared.is_some_and(|shared| shared == around)
        && (lookout.repositories.contains(around)
            || (fs::symlink_metadata(around.join("commondir")).is_err()
                && in_folder(around, lookout).is_none()))
}

/// Where a file `.git` leads.
fn target_of(file: &Path) -> Option<PathBuf> {
    Some(file.parent()?.join(path_in(file, b"gitdir: ")?))
}

/// The path that a small file of git's holds behind some words.
fn path_in(file: &Path, words: &[u8]) -> Option<PathBuf> {
    let bytes = small_text(file)?;
    let path = bytes.strip_prefix(words)?;
    let path = path.strip_suffix(b"\n").unwrap_or(path);
    (!path.is_empty() && !path.contains(&b'\n'))
        .then(|| std::str::from_utf8(path).ok().map(PathBuf::from))
        .flatten()
}

/// A link, a pipe or a device is nothing that git makes.
fn small_text(file: &Path) -> Option<Vec<u8>> {
    if !fs::symlink_metadata(file).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(MOST_PATHS).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
