//! Paths that are protected because of their use on this machine: folders on PATH, paths in git settings, startup files
//! in other users' homes (attack sandbox-A10).
//!
//! One list applies to every grant: a grant for such a path or something in it is not opened for writing, and one for a
//! parent folder leaves it unchanged. So a narrower grant never allows more.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use prowess_policy::protected_places::{NEVER_WRITE, Protected};

use crate::git_files::is_dot_git;
use crate::git_settings::{self, NamedPath, Setting};
use crate::planted::{AbsentKind, is_repository, looks_bare, settings_of};
use crate::platform;
use crate::world::World;

/// Maximum number of repositories whose settings are read.
pub(super) const MAX_REPOSITORIES: usize = 1024;
/// Maximum number of project folders that are searched for repositories outside the granted folder, breadth first.
const MAX_BESIDE: usize = 4096;
/// System-wide git configuration files.
const OF_MACHINE: &[&str] =
    &["/etc/gitconfig", "/usr/local/etc/gitconfig", "/opt/homebrew/etc/gitconfig"];

/// A path and its use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Use {
    /// The path: absolute, without `.` and `..`.
    pub(super) place: PathBuf,
    /// The reason for protecting it, as a clause.
    pub(super) why: String,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A folder on PATH.
    SearchPath,
    /// A folder of git hooks.
    Hooks,
    /// A file that git reads or executes as soon as it exists.
    File,
    /// A file that git may execute: a word of a command.
    Word,
    /// Another user's startup file.
    StartFile,
    /// This program.
    Program,
}

impl Use {
    /// Whether a file at a path, or below it, would have this use.
    pub(super) fn closes(&self, path: &Path) -> bool {
        path.starts_with(&self.place) && self.is_meant()
    }

    /// Whether it is a plausible path: a folder is hardly a program, and a word without a file is hardly a path.
    pub(super) fn is_meant(&self) -> bool {
        match self.kind {
            Kind::SearchPath | Kind::Hooks | Kind::StartFile | Kind::Program => true,
            Kind::File => !self.place.is_dir(),
            Kind::Word => self.place.is_file(),
        }
    }

    /// The meaning of creating something there.
    pub(super) fn absent_kind(&self) -> AbsentKind {
        match self.kind {
            Kind::SearchPath => AbsentKind::OfSearchPath,
            Kind::Hooks | Kind::File | Kind::Word => AbsentKind::OfGit,
            Kind::StartFile | Kind::Program => AbsentKind::StartFile,
        }
    }

    /// Whether links on the way make it impossible to protect. For folders on PATH, the target of a link is protected
    /// too.
    pub(super) fn must_be_straight(&self) -> bool {
        matches!(self.kind, Kind::Hooks | Kind::File | Kind::Word)
    }
}

/// Lookups that several grants share.
#[derive(Debug)]
pub(super) struct Uses<'w> {
    world: &'w World,
    /// Repositories in the working directory.
    beside: OnceCell<BTreeSet<PathBuf>>,
    /// The names in the home, if it can be listed.
    in_home: OnceCell<Option<HashSet<OsString>>>,
    search_path: OnceCell<Vec<Use>>,
    settings: RefCell<Settings>,
    /// Paths with symbolic links resolved.
    real: RefCell<HashMap<PathBuf, Option<PathBuf>>>,
}

impl<'w> Uses<'w> {
    pub(super) fn new(world: &'w World) -> Self {
        Self {
            world,
            beside: OnceCell::new(),
            in_home: OnceCell::new(),
            search_path: OnceCell::new(),
            settings: RefCell::default(),
            real: RefCell::default(),
        }
    }

    pub(super) fn world(&self) -> &'w World {
        self.world
    }

    /// Whether a path may exist. Few of the many names that are protected in a home do, and one listing of the home
    /// tells which.
    pub(super) fn may_be_there(&self, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(&self.world.home) else { return true };
        let names = self.in_home.get_or_init(|| {
            let entries = fs::read_dir(&self.world.home).ok()?;
            Some(entries.flatten().map(|entry| entry.file_name()).collect())
        });
        match (names, below.iter().next()) {
            (Some(names), Some(first)) => names.contains(first),
            (None, _) | (_, None) => true,
        }
    }

    /// Every use that could matter for writable folders. `inside` are the repositories in them.
    pub(super) fn of(&self, writable: &[PathBuf], inside: &BTreeSet<PathBuf>) -> Vec<Use> {
        let mut found = self.of_git(writable, inside);
        found.extend(self.of_others(writable));
        let mut found = self.with_real(found);
        let on_path = self.search_path.get_or_init(|| self.with_real(self.of_search_path()));
        found.extend(on_path.iter().cloned());
        found
    }

    /// Adds the targets of links.
    fn with_real(&self, mut uses: Vec<Use>) -> Vec<Use> {
        let mut known = self.real.borrow_mut();
        let behind: Vec<Use> = uses
            .iter()
            .filter_map(|it| {
                let place = known.entry(it.place.clone()).or_insert_with(|| real(&it.place));
                place.clone().map(|place| Use { place, ..it.clone() })
            })
            .collect();
        uses.extend(behind);
        uses
    }

    fn of_search_path(&self) -> Vec<Use> {
        let used = |folder: &PathBuf| Use {
            place: folder.clone(),
            why: format!("{} is on your PATH", folder.display()),
            kind: Kind::SearchPath,
        };
        // Only the file: it may be in the user's working directory, and it loads nothing from there.
        let own = |program: &PathBuf| Use {
            place: program.clone(),
            why: format!("{} is prowess itself", program.display()),
            kind: Kind::Program,
        };
        let folders = self.world.program_folders.iter().map(used);
        folders.chain(self.world.program.iter().map(own)).collect()
    }

    /// The paths in settings of repositories, of the user and of the machine. Those of the user and the machine apply
    /// without any repository, and those of a repository to everything in it.
    fn of_git(&self, writable: &[PathBuf], inside: &BTreeSet<PathBuf>) -> Vec<Use> {
        let mut repositories: BTreeSet<PathBuf> =
            inside.iter().take(MAX_REPOSITORIES).cloned().collect();
        repositories.extend(writable.iter().flat_map(|folder| around(folder)));
        let top = &self.world.working_directory;
        let is_in = |folder: &PathBuf| folder != top && folder.starts_with(top);
        // Not in a home, which may be large and contain unrelated files.
        if *top != self.world.home
            && writable.iter().any(is_in)
            && !writable.iter().any(|folder| top.starts_with(folder))
        {
            repositories.extend(self.beside.get_or_init(|| repositories_in(top)).iter().cloned());
        }
        let common = self.common_settings();
        let mut read = self.settings.borrow_mut();
        let mut named = read.named(&common, top, &self.world.home);
        let file = |path: &PathBuf| NamedPath::file(path.clone(), "it contains git settings");
        named.extend(common.iter().map(file));
        for repository in &repositories {
            let own = settings_of(repository);
            let files: Vec<PathBuf> = own.iter().chain(&common).cloned().collect();
            for top in tops(repository, &own, &mut read) {
                named.extend(read.named(&files, &top, &self.world.home));
            }
        }
        let in_use = |named: NamedPath| Use {
            why: format!("{} determines what git runs: {}", named.path.display(), named.why),
            place: named.path,
            kind: match (named.is_folder, named.is_certain) {
                (true, _) => Kind::Hooks,
                (false, true) => Kind::File,
                (false, false) => Kind::Word,
            },
        };
        let mut uses: Vec<Use> = named.into_iter().map(in_use).collect();
        uses.sort_by(|one, other| one.place.cmp(&other.place));
        uses.dedup_by(|one, other| one.place == other.place && one.kind == other.kind);
        uses
    }

    /// Git configuration files that apply to every repository.
    pub(super) fn common_settings(&self) -> Vec<PathBuf> {
        let World { home, environment, .. } = self.world;
        let variable = |wanted: &str| {
            let found =
                environment.iter().find(|(name, value)| name == wanted && !value.is_empty());
            found.map(|(_, value)| PathBuf::from(value))
        };
        let of_user = [".gitconfig", ".config/git/config"].map(|name| home.join(name));
        let elsewhere = variable("XDG_CONFIG_HOME").map(|folder| folder.join("git/config"));
        let named = ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"].into_iter().filter_map(variable);
        of_user
            .into_iter()
            .chain(elsewhere)
            .chain(named)
            .filter_map(|file| git_settings::normal(&file))
            .chain(OF_MACHINE.iter().map(PathBuf::from))
            .collect()
    }

    /// Startup files in other users' homes, if they are related to the folders.
    fn of_others(&self, writable: &[PathBuf]) -> Vec<Use> {
        let mut uses = Vec::new();
        let homes: BTreeSet<PathBuf> =
            writable.iter().flat_map(|folder| self.world.other_homes(folder)).collect();
        for home in homes {
            for place in NEVER_WRITE {
                let Protected::BelowHome(name) = place.protected else { continue };
                let (path, why) = (home.join(name), place.why);
                if writable.iter().any(|folder| are_related(folder, &path)) {
                    let why = format!("{} is protected, because {why}", path.display());
                    uses.push(Use { place: path, why, kind: Kind::StartFile });
                }
            }
        }
        uses
    }
}

/// Whether one path is inside the other.
pub(super) fn are_related(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

/// Parsed configuration files, because repositories share some.
#[derive(Debug, Default)]
struct Settings(BTreeMap<PathBuf, Vec<Setting>>);

impl Settings {
    fn of(&mut self, file: &Path) -> &[Setting] {
        // An unreadable file is still protected itself; the paths in it are not known. Git follows links.
        self.0.entry(file.to_owned()).or_insert_with(|| {
            let is_link = fs::symlink_metadata(file).is_ok_and(|data| data.is_symlink());
            let real = if is_link { file.canonicalize().ok() } else { None };
            git_settings::of_file(real.as_deref().unwrap_or(file)).unwrap_or_default()
        })
    }

    fn named(&mut self, files: &[PathBuf], top: &Path, home: &Path) -> Vec<NamedPath> {
        git_settings::named(git_settings::Sources { files, top, home }, |file| {
            self.of(file).to_vec()
        })
    }
}

/// The folders in which hooks and programs of a repository are started.
fn tops(repository: &Path, own: &[PathBuf], read: &mut Settings) -> BTreeSet<PathBuf> {
    let is_inner = repository.file_name().is_some_and(|name| name == ".git");
    let top = if is_inner { repository.parent() } else { None }.unwrap_or(repository);
    let mut tops = BTreeSet::from([top.to_owned()]);
    for file in own {
        let worktrees = read.of(file).iter().filter_map(Setting::worktree);
        tops.extend(worktrees.filter_map(|it| git_settings::normal(&repository.join(it))));
    }
    tops
}

/// The repositories that contain a folder.
fn around(folder: &Path) -> impl Iterator<Item = PathBuf> {
    folder.ancestors().filter_map(|above| {
        let inner = above.join(".git");
        if fs::symlink_metadata(&inner).is_ok() {
            return Some(inner);
        }
        let is_there = |name: &str| fs::symlink_metadata(above.join(name)).is_ok();
        let is_bare = is_repository(above)
            && ((is_there("objects") && is_there("refs")) || is_there("commondir"));
        is_bare.then(|| above.to_owned())
    })
}

/// The repositories in a folder, within the search limit.
fn repositories_in(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut open = VecDeque::from([folder.to_owned()]);
    for _ in 0..MAX_BESIDE {
        let Some(folder) = open.pop_front() else { break };
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        let entries: Vec<fs::DirEntry> = entries.flatten().collect();
        let names: Vec<_> = entries.iter().map(fs::DirEntry::file_name).collect();
        if looks_bare(names.iter().map(OsString::as_os_str)) {
            found.insert(folder.clone());
        }
        for (entry, name) in entries.iter().zip(&names) {
            if is_dot_git(&platform::bytes(name)) {
                found.insert(entry.path());
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push_back(entry.path());
            }
        }
    }
    found.into_iter().take(MAX_REPOSITORIES).collect()
}

/// A path with symbolic links resolved, if it differs; also for a path that does not exist.
fn real(path: &Path) -> Option<PathBuf> {
    let there = path.ancestors().find(|above| fs::symlink_metadata(above).is_ok())?;
    let rest = path.strip_prefix(there).ok()?;
    let there = there.canonicalize().ok()?;
    // Joining an empty path would add a trailing slash.
    let real = if rest.as_os_str().is_empty() { there } else { there.join(rest) };
    (real != path).then_some(real)
}
