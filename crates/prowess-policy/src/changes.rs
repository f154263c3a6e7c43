//! Which changes of a run are applied without a question: those of ordinary files, and not of what other programs start
//! or obey.
//!
//! The lists give better words. They don't decide whether the user is safe: what is hidden and on no list is asked about.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use crate::protected_places::{NEVER_WRITE, Protected};
use crate::spec::is_named;

/// A change that a run has made, and that is not applied yet.
#[derive(Clone, Copy, Debug)]
pub struct ProposedChange<'c> {
    /// The granted folder, absolute.
    pub folder: &'c Path,
    /// The path below it.
    pub path: &'c Path,
    /// What would be there; `None` for a deletion.
    pub after: Option<ProposedEntry<'c>>,
    /// Whether a file that was there could be executed.
    pub was_executable: bool,
}

/// What a change would leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProposedEntry<'c> {
    /// A file with these permissions.
    File {
        /// The permissions.
        mode: u32,
    },
    /// A folder.
    Folder,
    /// A symbolic link to this target.
    Link(&'c Path),
}

/// What decides besides the change itself.
#[derive(Clone, Copy, Debug)]
pub struct ChangeContext<'c> {
    /// The user's home.
    pub home: &'c Path,
    /// The folders of PATH.
    pub search_path: &'c [PathBuf],
    /// The folders that the run may write.
    pub writable: &'c [PathBuf],
    /// Files and folders that settings of git refer to, such as hooks.
    pub named_by_git: &'c [PathBuf],
    /// Whether the tool may start git, so that it may change what git keeps in `.git`.
    pub may_start_git: bool,
    /// Whether git takes a name for `.git`.
    pub is_dot_git: fn(&[u8]) -> bool,
}

/// What happens with a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeVerdict {
    /// It is applied.
    Apply,
    /// It is applied and mentioned, for this reason.
    Mention(&'static str),
    /// A person decides, because of this.
    Ask(&'static str),
    /// It is never applied, because of this.
    Refuse(&'static str),
}

impl ChangeVerdict {
    /// The reason, as a clause: "because …".
    pub fn reason(self) -> Option<&'static str> {
        match self {
            ChangeVerdict::Apply => None,
            ChangeVerdict::Mention(reason)
            | ChangeVerdict::Ask(reason)
            | ChangeVerdict::Refuse(reason) => Some(reason),
        }
    }
}

/// Files that other programs start or obey, in addition to the protected places: by name, with the reason.
pub const OBEYED: &[(&str, &str)] = &[
    ("pyvenv.cfg", ENVIRONMENT),
    ("*.pth", ENVIRONMENT),
    ("sitecustomize.py", ENVIRONMENT),
    ("usercustomize.py", ENVIRONMENT),
    ("site-packages", ENVIRONMENT),
    (".npmrc", PACKAGES),
    (".yarnrc", PACKAGES),
    (".yarnrc.yml", PACKAGES),
    (".pnpmfile.cjs", PACKAGES),
    (".pnpmfile.mjs", PACKAGES),
    ("pip.conf", PACKAGES),
    (".pypirc", PACKAGES),
    ("bunfig.toml", PACKAGES),
    ("nuget.config", PACKAGES),
    ("NuGet.Config", PACKAGES),
    ("rust-toolchain", TOOLCHAIN),
    ("rust-toolchain.toml", TOOLCHAIN),
    ("mise.toml", TOOLCHAIN),
    (".mise.toml", TOOLCHAIN),
    ("mise.local.toml", TOOLCHAIN),
    (".tool-versions", TOOLCHAIN),
    (".python-version", TOOLCHAIN),
    (".node-version", TOOLCHAIN),
    (".nvmrc", TOOLCHAIN),
    (".ruby-version", TOOLCHAIN),
    (".sdkmanrc", TOOLCHAIN),
    (".gitmodules", "git fetches what it names"),
    (".gitattributes", "git runs filters that it names"),
    ("lefthook.yml", "git runs commands that it names"),
    ("lefthook.yaml", "git runs commands that it names"),
    ("devbox.json", TOOLCHAIN),
    ("flake.nix", TOOLCHAIN),
];

/// Hidden names that nothing starts or obeys: caches, marks, lists of files.
pub const HARMLESS_HIDDEN: &[&str] = &[
    ".gitignore",
    ".gitkeep",
    ".keep",
    ".ignore",
    ".dockerignore",
    ".npmignore",
    ".prettierignore",
    ".eslintignore",
    ".editorconfig",
    ".cache",
    ".parcel-cache",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".eslintcache",
    ".stylelintcache",
    ".tsbuildinfo",
    ".sass-cache",
    ".nyc_output",
    ".coverage",
    ".coverage.*",
    ".turbo",
    ".DS_Store",
    ".fingerprint",
    ".rustc_info.json",
    ".cargo-lock",
    ".nojekyll",
    ".buildinfo",
    ".doctrees",
];

/// What git itself keeps in a repository and never runs: names below `.git`. How it reads them is checked elsewhere.
pub const KEPT_BY_GIT: &[&str] = &[
    "HEAD",
    "ORIG_HEAD",
    "FETCH_HEAD",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "MERGE_RR",
    "AUTO_MERGE",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "SQUASH_MSG",
    "COMMIT_EDITMSG",
    "TAG_EDITMSG",
    "index",
    "index.lock",
    "sharedindex.*",
    "objects",
    "refs",
    "logs",
    "packed-refs",
    "shallow",
    "rr-cache",
    "rebase-merge",
    "rebase-apply",
    "sequencer",
    "gc.log",
    "gc.pid",
    "description",
];

const ENVIRONMENT: &str = "Python runs code from it when it starts";
const PACKAGES: &str = "package managers run or download what it names";
const TOOLCHAIN: &str = "it decides which programs are started";
const GIT: &str = "git runs programs that it names";
const GIT_LINK: &str = "git writes through links in its folder";
const GIT_FOLDER: &str = "git obeys what is in it";
const NAMED_BY_GIT: &str = "settings of git refer to it";
const ON_PATH: &str = "it is on your PATH";
const LEADS_OUT: &str = "it is a link that leads out of the folders that the tool may write";
const HIDDEN: &str = "it is hidden, and programs may obey it";
const EXECUTABLE: &str = "it can be executed";

/// Decides about one change.
pub fn examine(change: &ProposedChange<'_>, context: &ChangeContext<'_>) -> ChangeVerdict {
    let full = change.folder.join(change.path);
    if let Some(verdict) = in_repository(change, context) {
        return verdict;
    }
    if let Some(ProposedEntry::Link(target)) = change.after
        && leads_out(&full, target, context.writable)
    {
        return ChangeVerdict::Ask(LEADS_OUT);
    }
    if context.named_by_git.iter().any(|place| full.starts_with(place)) {
        return ChangeVerdict::Ask(NAMED_BY_GIT);
    }
    let is_on_path = context.search_path.iter().any(|folder| full.starts_with(folder));
    if is_on_path {
        return ChangeVerdict::Ask(ON_PATH);
    }
    if change.after.is_none() {
        // What is gone starts nothing.
        return ChangeVerdict::Apply;
    }
    if let Some(reason) = obeyed(change, &full, context.home) {
        return ChangeVerdict::Ask(reason);
    }
    let is_harmless = |name: &OsStr| {
        let name = name.to_string_lossy();
        !name.starts_with('.') || HARMLESS_HIDDEN.iter().any(|known| is_named(&name, known))
    };
    if !change.path.iter().all(is_harmless) {
        return ChangeVerdict::Ask(HIDDEN);
    }
    match change.after {
        Some(ProposedEntry::File { mode }) if mode & 0o111 != 0 && !change.was_executable => {
            ChangeVerdict::Mention(EXECUTABLE)
        }
        _ => ChangeVerdict::Apply,
    }
}

/// About what is in the folder of a repository, or is one.
fn in_repository(
    change: &ProposedChange<'_>,
    context: &ChangeContext<'_>,
) -> Option<ChangeVerdict> {
    let is_dot_git = |name: &OsStr| (context.is_dot_git)(name.as_encoded_bytes());
    // Of a linked worktree, folders in the repository are granted themselves.
    let is_granted_inside = change.folder.iter().any(is_dot_git);
    let full = change.folder.join(change.path);
    let mut names = full.iter();
    let found = names.find(|name| is_dot_git(name))?;
    if is_granted_inside && names.clone().next().is_some_and(|name| name == "worktrees") {
        names.nth(1);
    }
    if matches!(change.after, Some(ProposedEntry::Link(_))) {
        return Some(ChangeVerdict::Refuse(GIT_LINK));
    }
    // Another spelling is never git's own.
    if !context.may_start_git || found != ".git" {
        return Some(ChangeVerdict::Ask(GIT_FOLDER));
    }
    let Some(inner) = names.next() else {
        // A folder is examined by what is in it; a file leads to a repository elsewhere.
        return Some(match change.after {
            Some(ProposedEntry::Folder) => ChangeVerdict::Apply,
            _ => ChangeVerdict::Ask(GIT_FOLDER),
        });
    };
    let inner = inner.to_string_lossy();
    let is_kept = KEPT_BY_GIT.iter().any(|known| is_named(&inner, known))
        // Samples and lists of ignored files.
        || (inner == "info" && names.clone().next().is_none_or(|name| name == "exclude"))
        || (inner == "hooks" && names.clone().next().is_none_or(|name| name.to_string_lossy().ends_with(".sample")))
        || (inner == "branches" && names.clone().next().is_none());
    let is_lender = inner == "objects"
        && names.clone().next().is_some_and(|name| name == "info")
        && change.path.file_name().is_some_and(|name| name == "alternates");
    Some(if is_kept && !is_lender { ChangeVerdict::Apply } else { ChangeVerdict::Ask(GIT) })
}

/// Why other programs start or obey a file.
fn obeyed(change: &ProposedChange<'_>, full: &Path, home: &Path) -> Option<&'static str> {
    let names: Vec<String> = full.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let above = change.folder.iter().count();
    let in_home: Option<Vec<String>> = full
        .strip_prefix(home)
        .ok()
        .map(|path| path.iter().map(|name| name.to_string_lossy().into_owned()).collect());
    let matches = |names: &[String], row: &[&str]| {
        names.len() >= row.len()
            && names.iter().zip(row).all(|(name, wanted)| is_named(name, wanted))
    };
    for place in NEVER_WRITE {
        let row: Vec<&str> = place.protected.as_str().trim_start_matches('/').split('/').collect();
        let is_there = match place.protected {
            // The row may begin above the granted folder, but ends in it.
            Protected::AnyDepth(_) => (0..names.len())
                .any(|start| start + row.len() > above && matches(&names[start..], &row)),
            Protected::BelowHome(_) => in_home.as_ref().is_some_and(|names| matches(names, &row)),
            Protected::Machine(_) => full.starts_with(place.protected.as_str()),
        };
        if is_there {
            return Some(place.why);
        }
    }
    let below = names.get(above..).unwrap_or_default();
    OBEYED
        .iter()
        .find(|(wanted, _)| below.iter().any(|name| is_named(name, wanted)))
        .map(|(_, why)| *why)
}

/// Whether a link leads out of the folders that a run may write, going by its text alone. A target that goes up after it
/// went down depends on other links, so it counts as leading out.
fn leads_out(link: &Path, target: &Path, writable: &[PathBuf]) -> bool {
    let mut place = match link.parent() {
        Some(folder) if target.is_relative() => folder.to_owned(),
        _ => PathBuf::from("/"),
    };
    let mut is_down = false;
    for part in target.components() {
        match part {
            Component::RootDir | Component::CurDir => {}
            Component::Normal(name) => {
                is_down = true;
                place.push(name);
            }
            Component::ParentDir if !is_down && place.pop() => {}
            Component::ParentDir | Component::Prefix(_) => return true,
        }
    }
    !writable.iter().any(|folder| place.starts_with(folder))
}
