//! Whether a repository that a run has created can start programs.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use prowess_format::text::visible;

use super::{PlantedScan, is_inside, links, state};
use crate::git_files::{is_dot_git, path_in, small_file};
use crate::git_settings::{self, NamedPath, Setting, Sources};
use crate::platform;

/// Maximum depth of alternate object stores, as in git.
const MAX_LENDERS: usize = 5;

/// Whether git would treat a folder with these names as a repository. One that shares the rest with another has neither
/// objects nor references of its own.
pub(crate) fn looks_bare<'n>(names: impl Iterator<Item = &'n OsStr>) -> bool {
    let mut found = [false; 4];
    for name in names {
        for (place, wanted) in found.iter_mut().zip(["HEAD", "objects", "refs", "commondir"]) {
            // On case-insensitive file systems these are the same.
            *place |= name.eq_ignore_ascii_case(wanted);
        }
    }
    let [head, objects, references, elsewhere] = found;
    head && ((objects && references) || elsewhere)
}

/// Whether a folder is a git folder: the `.git` of a repository, or one that looks like it.
pub(crate) fn is_repository(folder: &Path) -> bool {
    fs::symlink_metadata(folder.join("HEAD")).is_ok_and(|data| !data.is_dir())
}

/// The configuration files of a repository, by its folder or its `.git` file.
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

/// Why git would execute something because of a new repository; `None` if it is harmless. A repository is a folder, or
/// a file that refers to the folder.
pub(super) fn danger(repository: &Path, planted_scan: &PlantedScan) -> Option<String> {
    let data = fs::symlink_metadata(repository).ok()?;
    if data.is_symlink() {
        return Some("it is a link".to_owned());
    }
    if data.is_dir() {
        // Also without `HEAD`: `git init` makes it a repository, with the settings and hooks in it.
        return in_folder(repository, planted_scan)
            .or_else(|| named_inside(repository, planted_scan));
    }
    let Some(target) = target_of(repository) else {
        return Some("it can't be read".to_owned());
    };
    if !is_inside(&target, &planted_scan.folders) {
        let target = target.display().to_string();
        return Some(format!("it points to `{}`", visible(&target)));
    }
    // A dangling reference is not a repository.
    let target = target.canonicalize().ok()?;
    if !is_repository(&target) {
        return None;
    }
    let is_known = planted_scan.repositories.contains(&target);
    let reason = if is_known { None } else { in_folder(&target, planted_scan) };
    reason.or_else(|| named_inside(repository, planted_scan))
}

/// A path next to a new repository that settings would make git execute: paths in settings of the user, or of another
/// repository that a `.git` file refers to, are relative to the new one.
fn named_inside(repository: &Path, planted_scan: &PlantedScan) -> Option<String> {
    let own = settings_of(repository);
    let read = |file: &Path| {
        let real = file.canonicalize();
        git_settings::of_file(real.as_deref().unwrap_or(file)).unwrap_or_default()
    };
    let is_inner = repository.file_name().is_some_and(|name| is_dot_git(&platform::bytes(name)));
    let top = if is_inner { repository.parent() } else { None }.unwrap_or(repository);
    let mut tops = vec![top.to_owned()];
    for file in &own {
        let settings = read(file);
        let worktrees = settings.iter().filter_map(Setting::worktree);
        tops.extend(worktrees.filter_map(|it| git_settings::normal(&repository.join(it))));
    }
    let files: Vec<PathBuf> = own.iter().chain(&planted_scan.settings).cloned().collect();
    tops.iter().find_map(|top| {
        let sources = Sources { files: &files, top, home: &planted_scan.home };
        let named = git_settings::named(sources, read);
        named.into_iter().find(|named| would_run(named, top, planted_scan)).map(|named| named.why)
    })
}

fn would_run(named: &NamedPath, top: &Path, planted_scan: &PlantedScan) -> bool {
    let is_fixed = || named.path.ancestors().any(|above| planted_scan.fixed.contains(above));
    let Ok(below) = named.path.strip_prefix(top) else { return false };
    // Most words of a command are not files, so only words that are paths count.
    let is_path = named.is_certain || below.components().count() > 1;
    let is_there = if named.is_folder {
        hook(&named.path).is_some()
    } else {
        is_path && fs::symlink_metadata(&named.path).is_ok_and(|data| !data.is_dir())
    };
    is_there && !is_fixed()
}

fn in_folder(folder: &Path, planted_scan: &PlantedScan) -> Option<String> {
    let is_there = |name: &str| fs::symlink_metadata(folder.join(name)).is_ok();
    if let Some(reason) = dangerous_setting(&folder.join("config"), &planted_scan.folders) {
        return Some(reason);
    }
    if is_there("config.worktree") {
        return Some("it has a `config.worktree`".to_owned());
    }
    if is_there("commondir") && !shares_with_its_own(folder, planted_scan) {
        return Some("its `commondir` points elsewhere".to_owned());
    }
    if let Some(reason) = hook(&folder.join("hooks")) {
        return Some(reason);
    }
    match links::of_repository(folder) {
        Ok(links) => {
            let name = links.first().and_then(|link| link.strip_prefix(folder).ok());
            if let Some(name) = name {
                return Some(format!("its `{}` is a link", visible(&name.to_string_lossy())));
            }
        }
        Err(error) => return Some(format!("it can't be scanned: {error}")),
    }
    let problems = state::problems(folder, &planted_scan.folders, |_| true);
    problems.first().map(|problem| {
        let name = problem.place.strip_prefix(folder).unwrap_or(&problem.place);
        format!("its `{}`: {}", visible(&name.to_string_lossy()), problem.reason)
    })
}

/// A setting in a file that could start a program.
pub(super) fn dangerous_setting(file: &Path, folders: &[PathBuf]) -> Option<String> {
    let Ok(settings) = git_settings::of_file(file) else {
        return Some("its settings can't be read".to_owned());
    };
    let repository = file.parent().unwrap_or(Path::new("/"));
    let dangerous = settings.iter().find(|setting| is_dangerous(setting, repository, folders));
    dangerous.map(|setting| format!("it sets `{}`", visible(&setting.key())))
}

fn is_dangerous(setting: &Setting, repository: &Path, folders: &[PathBuf]) -> bool {
    match setting.worktree() {
        // Git would change files there.
        Some(worktree) => !is_inside(&repository.join(worktree), folders),
        None => !setting.is_harmless(),
    }
}

/// A setting that a changed file has and the current one has not, or the other way round, and that could start a program.
#[cfg(target_os = "linux")]
pub(super) fn dangerous_change(
    changed: &Path,
    current: &Path,
    folders: &[PathBuf],
) -> Option<String> {
    let (Ok(new), Ok(old)) = (git_settings::of_file(changed), git_settings::of_file(current))
    else {
        return Some("its settings can't be read".to_owned());
    };
    let repository = current.parent().unwrap_or(Path::new("/"));
    let missing = |setting: &&Setting, from: &[Setting]| {
        !from.contains(setting) && is_dangerous(setting, repository, folders)
    };
    let added = new.iter().find(|setting| missing(setting, &old));
    let added = added.map(|setting| format!("it sets `{}`", visible(&setting.key())));
    added.or_else(|| {
        let removed = old.iter().find(|setting| missing(setting, &new))?;
        Some(format!("it no longer sets `{}`", visible(&removed.key())))
    })
}

/// Whether a new linked worktree is what git makes: its folder in the repository, which refers to a new `.git` file of
/// `folders`, and that one back to it. Both are in the upper layer of a run.
#[cfg(target_os = "linux")]
pub(super) fn plain_worktree(
    staged: &Path,
    current: &Path,
    folders: &[PathBuf],
) -> Option<PathBuf> {
    let text = |file: &Path| {
        let data = fs::symlink_metadata(file).ok()?;
        let text = small_file(file).filter(|_| data.is_file())?;
        String::from_utf8(text).ok()?.strip_suffix('\n').map(str::to_owned)
    };
    if fs::symlink_metadata(current).is_ok() || text(&staged.join("commondir"))? != "../.." {
        return None;
    }
    let link = PathBuf::from(text(&staged.join("gitdir"))?);
    let is_absolute = link.is_absolute() && git_settings::normal(&link).as_ref() == Some(&link);
    let is_own = folders.iter().any(|folder| link.starts_with(folder));
    (is_absolute && is_own && link.ends_with(".git")).then_some(link)
}

/// Whether a new `.git` file of a worktree refers to a folder.
#[cfg(target_os = "linux")]
pub(super) fn refers_to(staged: &Path, folder: &Path) -> bool {
    let is_file = fs::symlink_metadata(staged).is_ok_and(|data| data.is_file());
    let wanted = [b"gitdir: ", platform::bytes(folder.as_os_str()).as_ref(), b"\n"].concat();
    is_file && small_file(staged).is_some_and(|text| text == wanted)
}

/// A hook in a folder of hooks that is not a sample.
pub(super) fn hook(folder: &Path) -> Option<String> {
    let data = fs::symlink_metadata(folder).ok()?;
    let Some(entries) = data.is_dir().then(|| fs::read_dir(folder).ok()).flatten() else {
        return Some("its hooks can't be read".to_owned());
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut hooks = names.filter(|name| !platform::bytes(name).ends_with(b".sample"));
    hooks.next().map(|name| format!("it has the hook `{}`", visible(&name.to_string_lossy())))
}

/// Whether objects come from elsewhere: they could be those of another repository of the user. Alternates may refer to
/// further ones.
pub(super) fn foreign_objects(folder: &Path, folders: &[PathBuf]) -> Option<String> {
    are_foreign(&folder.join("objects"), folders, MAX_LENDERS)
        .then(|| "it uses objects from elsewhere".to_owned())
}

fn are_foreign(objects: &Path, folders: &[PathBuf], left: usize) -> bool {
    let alternates = objects.join("info/alternates");
    if fs::symlink_metadata(&alternates).is_err() {
        return false;
    }
    let Some(text) = small_file(&alternates) else { return true };
    let is_own = |line: &[u8]| {
        // Git removes quotes.
        let path = std::str::from_utf8(line).ok().filter(|line| !line.starts_with('"'));
        path.is_some_and(|path| {
            let lender = objects.join(path);
            is_inside(&lender, folders) && left > 0 && !are_foreign(&lender, folders, left - 1)
        })
    };
    text.split(|byte| *byte == b'\n').any(|line| !line.is_empty() && !is_own(line))
}

/// Whether it is the part of a linked worktree in `.git/worktrees` that shares the rest with its own repository.
fn shares_with_its_own(folder: &Path, planted_scan: &PlantedScan) -> bool {
    let (Some(worktrees), Some(around)) = (folder.parent(), folder.ancestors().nth(2)) else {
        return false;
    };
    let shared = path_in(&folder.join("commondir"), b"");
    let shared = shared.and_then(|path| folder.join(path).canonicalize().ok());
    worktrees.file_name().is_some_and(|name| name == "worktrees")
        && shared.is_some_and(|shared| shared == around)
        && (planted_scan.repositories.contains(around)
            || (fs::symlink_metadata(around.join("commondir")).is_err()
                && in_folder(around, planted_scan).is_none()))
}

/// The path in a `.git` file.
fn target_of(file: &Path) -> Option<PathBuf> {
    Some(file.parent()?.join(path_in(file, b"gitdir: ")?))
}
