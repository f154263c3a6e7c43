//! What a run has left in folders that it could write and that somebody else would execute later: repositories whose
//! settings or hooks name programs, and files that editors, agents and shells run on their own (attack sandbox-A10).
//!
//! What is there when a run starts is protected by the sandbox. This is about what comes into being, at any depth: a
//! repository stays if nothing in it is known to be able to start a program, so that tools may clone; another one is given a
//! name that git does not look at. Of everything else the user is told.

pub(crate) mod index;
mod links;
mod record;
mod repository;
mod state;

use std::collections::{BTreeSet, VecDeque};
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use prowess_format::text::{visible, visible_line};
use prowess_policy::protected_places::{NEVER_WRITE, Protected};
use prowess_policy::spec::is_named;

use crate::git_files::is_dot_git;
use crate::git_settings;
use crate::platform;

pub(crate) use record::{Record, scan_killed_runs};
pub(crate) use repository::{is_repository, looks_bare, settings_of};
pub(crate) use state::{OPERATIONS, dangerous_operation};

/// How many folders are looked into after a run, nearest first. Before a run there are fewer, so that a run which makes
/// many does not hide anything that was in sight.
const MAX_FOLDERS: usize = 131_072;
/// How many messages there are of one kind.
const MAX_MESSAGES: usize = 20;
/// Clocks of file systems are coarse, and behind the clock of the machine.
const COARSE: Duration = Duration::from_secs(2);

/// What to look at when a run has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlantedScan {
    /// Folders that the run may write.
    pub(crate) folders: Vec<PathBuf>,
    /// What it can't write in them.
    pub(crate) fixed: BTreeSet<PathBuf>,
    /// Folders of git that were there, and files `.git`: what matters in them is fixed or absent.
    pub(crate) repositories: BTreeSet<PathBuf>,
    /// Places that were not there.
    pub(crate) absent: BTreeSet<Absent>,
    /// Whether everything could be looked at before the start.
    pub(crate) is_complete: bool,
    /// The user's home.
    pub(crate) home: PathBuf,
    /// Files with settings of git that count in every repository.
    pub(crate) settings: Vec<PathBuf>,
    /// When the run started.
    pub(crate) started: SystemTime,
}

/// A place that was not there when a run started.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Absent {
    pub(crate) place: PathBuf,
    pub(crate) kind: AbsentKind,
}

/// What would be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AbsentKind {
    /// Settings of git, which stay if they are harmless.
    Settings,
    /// Hooks, of which samples stay.
    Hooks,
    /// Something else that git follows or runs.
    OfGit,
    /// A folder in which programs are looked for.
    OfSearchPath,
    /// Something that somebody's shell or desktop starts with.
    StartFile,
}

/// What was found.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// What the user should know.
    pub(crate) warnings: Vec<String>,
    /// What could not be put right, so that the run must not look like one that went well.
    pub(crate) failures: Vec<String>,
}

impl PlantedScan {
    /// Nothing to look at.
    pub(crate) fn nothing() -> Self {
        Self {
            folders: Vec::new(),
            fixed: BTreeSet::new(),
            repositories: BTreeSet::new(),
            absent: BTreeSet::new(),
            is_complete: true,
            home: PathBuf::from("/"),
            settings: Vec::new(),
            started: SystemTime::UNIX_EPOCH,
        }
    }

    /// Whether the run could not have left anything.
    pub(crate) fn is_idle(&self) -> bool {
        self.folders.is_empty() && self.absent.is_empty()
    }

    /// Scans the folders, and moves aside what git would run.
    pub(crate) fn scan(&self) -> Findings {
        self.scan_until(None)
    }

    /// Scans after the fact: files that were created after `until` are not of the run.
    fn scan_until(&self, until: Option<SystemTime>) -> Findings {
        self.scan_within(until, MAX_FOLDERS)
    }

    /// Scans at most so many folders.
    fn scan_within(&self, until: Option<SystemTime>, most_folders: usize) -> Findings {
        let mut search = Search {
            planted_scan: self,
            until,
            reported: Vec::new(),
            links: Vec::new(),
            findings: Findings::default(),
        };
        for absent in &self.absent {
            search.appeared(absent);
        }
        search.report_rests();
        for repository in &self.repositories {
            search.known_repository(repository);
        }
        search.walk(most_folders);
        search.finish()
    }
}

/// Entries of a repository's folder that a run would change, and that git would be misled by: their paths in it, and why.
/// `staged` holds the changed entries, `repository` is the folder that they would be applied to.
#[cfg(target_os = "linux")]
pub(crate) fn staged_traps(staged: &Path, repository: &Path) -> Vec<(PathBuf, String)> {
    // The tool may have put a link or a file there.
    if fs::symlink_metadata(staged).is_ok_and(|data| data.is_dir()) {
        state::traps(staged, repository)
    } else {
        Vec::new()
    }
}

/// A setting in a file of a new repository that could start a program. Working trees may be in these folders.
#[cfg(target_os = "linux")]
pub(crate) fn staged_setting(file: &Path, folders: &[PathBuf]) -> Option<String> {
    repository::dangerous_setting(file, folders)
}

/// The same for a changed file of settings, by what has changed.
#[cfg(target_os = "linux")]
pub(crate) fn staged_settings(
    changed: &Path,
    current: &Path,
    folders: &[PathBuf],
) -> Option<String> {
    repository::dangerous_change(changed, current, folders)
}

/// The `.git` file of a new linked worktree whose folder in a repository is as git makes it.
#[cfg(target_os = "linux")]
pub(crate) fn staged_worktree(
    staged: &Path,
    current: &Path,
    folders: &[PathBuf],
) -> Option<PathBuf> {
    repository::plain_worktree(staged, current, folders)
}

/// What an index of git says about files, as a digest.
#[cfg(target_os = "linux")]
pub(crate) fn index_meaning(file: &Path) -> Option<String> {
    index::meaning(file)
}

/// Whether a new `.git` file refers to a folder.
#[cfg(target_os = "linux")]
pub(crate) fn staged_link(staged: &Path, folder: &Path) -> bool {
    repository::refers_to(staged, folder)
}

struct Search<'l> {
    planted_scan: &'l PlantedScan,
    until: Option<SystemTime>,
    /// New files and folders that other programs run.
    reported: Vec<PathBuf>,
    /// New links that lead out of the granted folders.
    links: Vec<PathBuf>,
    findings: Findings,
}

/// Names in a folder, with what they are.
type Entries = Vec<(std::ffi::OsString, fs::FileType)>;

impl Search<'_> {
    /// Looks at a place that was not there.
    fn appeared(&mut self, absent: &Absent) {
        let Absent { place, kind } = absent;
        let data = match self.metadata(place) {
            Ok(Some(data)) if self.is_of_the_run(&data) => data,
            Ok(_) => return,
            Err(error) => return self.unseen(place, &error),
        };
        let reason = match kind {
            AbsentKind::OfSearchPath => {
                let shown = shown(place);
                self.findings.warnings.push(format!(
                    "`{shown}` is new and on your PATH: programs in it can be started by name, so review it"
                ));
                return;
            }
            AbsentKind::StartFile => return self.reported.push(place.clone()),
            AbsentKind::Settings => {
                match repository::dangerous_setting(place, &self.planted_scan.folders) {
                    Some(reason) => reason,
                    None => return,
                }
            }
            AbsentKind::Hooks => match repository::hook(place) {
                Some(reason) => reason,
                None => return,
            },
            AbsentKind::OfGit if data.is_dir() && is_empty(place) => return,
            AbsentKind::OfGit => String::new(),
        };
        self.put_aside(place, place, &reason);
    }

    /// Looks into the granted folders, nearest first.
    fn walk(&mut self, most_folders: usize) {
        let mut open: VecDeque<PathBuf> = self.planted_scan.folders.iter().cloned().collect();
        let mut seen = BTreeSet::new();
        let mut looked_at = 0;
        while let Some(folder) = open.pop_front() {
            // Granted folders may lie in each other.
            if self.planted_scan.fixed.contains(&folder) || !seen.insert(folder.clone()) {
                continue;
            }
            looked_at += 1;
            if looked_at > most_folders {
                self.findings.failures.push(format!(
                    "the granted folders contain more than {most_folders} folders: the rest was not examined, and this run may have left something there that git or an editor runs. Grant a smaller folder, or review it before you use git there"
                ));
                break;
            }
            match self.entries(&folder) {
                Ok(entries) => self.folder(&folder, &entries, &mut open),
                Err(error) if is_gone(&error) => {}
                Err(error) => self.unseen(&folder, &error),
            }
        }
    }

    /// Notes what a granted folder has to its own name: `config.toml` in one that is called `.cargo`.
    fn report_rests(&mut self) {
        let planted_scan = self.planted_scan;
        for folder in &planted_scan.folders {
            for rest in rests_of_rows(folder) {
                let place = folder.join(rest);
                if !self.planted_scan.fixed.contains(&place) && self.is_new(&place) {
                    self.reported.push(place);
                }
            }
        }
    }

    fn folder(&mut self, folder: &Path, entries: &Entries, open: &mut VecDeque<PathBuf>) {
        if repository::looks_bare(entries.iter().map(|(name, _)| name.as_os_str())) {
            self.repository(folder, &folder.join("HEAD"));
        }
        for (name, kind) in entries {
            let place = folder.join(name);
            self.report_rows(folder, name);
            if is_dot_git(&platform::bytes(name)) {
                self.repository(&place, &place);
                // Of a repository's own folder only these hold others.
                open.extend(["modules", "worktrees"].map(|name| place.join(name)));
            } else if kind.is_dir() {
                open.push_back(place);
            } else if kind.is_symlink()
                && self.is_new_link(&place)
                && leads_out(&place, &self.planted_scan.folders)
            {
                self.links.push(place);
            }
        }
    }

    /// Whether a link was made during the run.
    fn is_new_link(&self, link: &Path) -> bool {
        let data = fs::symlink_metadata(link);
        data.is_ok_and(|data| {
            data.is_symlink() && self.changed_since(&data) && !self.changed_later(&data)
        })
    }

    /// Examines what a run could change in a repository that was there before: not its settings and hooks, but everything
    /// else. What is dangerous in it is renamed; links are removed, because git writes through them.
    fn known_repository(&mut self, repository: &Path) {
        let data = match self.metadata(repository) {
            Ok(Some(data)) => data,
            Ok(None) => return,
            Err(error) => return self.unseen(repository, &error),
        };
        if data.is_symlink() {
            return self.put_aside(repository, repository, "it is a link");
        }
        // A file `.git` can't be written.
        if !data.is_dir() {
            return;
        }
        let found =
            links::find(repository, &self.planted_scan.fixed, &|folder| self.entries(folder));
        match found {
            Ok(links) => {
                for link in
                    links.iter().filter(|link| self.is_new_link(link)).cloned().collect::<Vec<_>>()
                {
                    self.remove_link(&link);
                }
            }
            Err(error) => self.unseen(repository, &error),
        }
        let is_changed = |place: &Path| self.is_changed(place);
        for problem in state::problems(repository, &self.planted_scan.folders, is_changed) {
            let state::Problem { place, reason } = problem;
            let what = shown(&place);
            match rename_aside(&place) {
                Ok(name) => self.findings.warnings.push(format!(
                    "`{what}` was changed during this run, and git must not use it ({reason}): it was renamed to `{name}`"
                )),
                Err(error) => self.findings.failures.push(format!(
                    "`{what}` was changed during this run, and git must not use it ({reason}), and it could not be renamed ({error}): remove it before you use git there"
                )),
            }
        }
    }

    /// Whether something in a repository was changed during the run, or put in its place.
    fn is_changed(&self, place: &Path) -> bool {
        if self.planted_scan.fixed.contains(place) {
            return false;
        }
        // The user's own git keeps what a killed run has put into an index, and never puts such a thing there.
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        let is_index = name == "index" || name.starts_with("sharedindex.");
        [Some(place), place.parent()].into_iter().flatten().any(|place| {
            let data = fs::symlink_metadata(place);
            data.is_ok_and(|data| {
                self.changed_since(&data) && (is_index || !self.changed_later(&data))
            })
        })
    }

    fn remove_link(&mut self, link: &Path) {
        let target = fs::read_link(link).unwrap_or_default();
        let (what, target) = (shown(link), shown(&target));
        let removed = fs::remove_file(link).or_else(|error| {
            let folder = link.parent().ok_or(error)?;
            platform::open_to_owner(folder, &fs::symlink_metadata(folder)?)?;
            fs::remove_file(link)
        });
        match removed {
            Ok(()) => self.findings.warnings.push(format!(
                "`{what}` was a new link to `{target}`, and git would have written through it: it was removed"
            )),
            Err(error) => self.findings.failures.push(format!(
                "`{what}` is a new link to `{target}`, git would write through it, and it could not be removed ({error}): remove it before you use git there"
            )),
        }
    }

    /// Looks at a repository, and moves aside what makes it one if it is new and can start something.
    fn repository(&mut self, repository: &Path, marker: &Path) {
        if self.planted_scan.repositories.contains(repository) {
            return;
        }
        if let Err(error) = self.make_open(repository) {
            return self.unseen(repository, &error);
        }
        if !self.is_new(repository) {
            if !self.planted_scan.is_complete {
                self.report_change(repository);
                self.known_repository(repository);
            }
        } else if let Some(reason) = repository::danger(repository, self.planted_scan) {
            self.put_aside(marker, repository, &reason);
        }
    }

    /// Notes files and folders of this name that programs run on their own.
    fn report_rows(&mut self, folder: &Path, name: &std::ffi::OsStr) {
        let Some(text) = name.to_str() else { return };
        for place in NEVER_WRITE {
            let Protected::AnyDepth(row) = place.protected else { continue };
            let (first, rest) = row.split_once('/').unwrap_or((row, ""));
            if first == ".git" || !is_named(text, first) {
                continue;
            }
            let place =
                if rest.is_empty() { folder.join(name) } else { folder.join(name).join(rest) };
            if !self.planted_scan.fixed.contains(&place) && self.is_new(&place) {
                self.reported.push(place);
            }
        }
    }

    /// Whether something came into being during the run. Where everything was seen before, whatever was not is new;
    /// elsewhere the filesystem has to tell.
    fn is_new(&self, place: &Path) -> bool {
        let Ok(data) = fs::symlink_metadata(place) else { return false };
        let is_young = || match data.created() {
            Ok(created) => created + COARSE >= self.planted_scan.started,
            Err(_) => self.changed_since(&data),
        };
        (self.planted_scan.is_complete || is_young()) && self.is_of_the_run(&data)
    }

    /// A repository that was too deep to be seen before, and so was not protected: the user may have settings and hooks
    /// there that are not harmless, so it is left alone and reported.
    fn report_change(&mut self, repository: &Path) {
        let names = ["config", "hooks", "commondir", "config.worktree"];
        let is_changed = names.iter().any(|name| {
            let data = fs::symlink_metadata(repository.join(name));
            data.is_ok_and(|data| self.changed_since(&data) && !self.changed_later(&data))
        });
        if is_changed && let Some(reason) = repository::danger(repository, self.planted_scan) {
            self.findings.warnings.push(format!(
                "`{}` was changed during this run and determines what git runs ({reason}): review it",
                shown(repository)
            ));
        }
    }

    /// Change times can't be set by a program.
    fn changed_since(&self, data: &Metadata) -> bool {
        platform::changed(data).is_none_or(|changed| changed + COARSE >= self.planted_scan.started)
    }

    fn changed_later(&self, data: &Metadata) -> bool {
        self.until.is_some_and(|until| platform::changed(data).is_some_and(|it| it > until))
    }

    fn is_of_the_run(&self, data: &Metadata) -> bool {
        match (self.until, data.created()) {
            (Some(until), Ok(created)) => created <= until,
            (Some(_), Err(_)) | (None, _) => true,
        }
    }

    /// What is at a place, also behind folders that the run has closed.
    fn metadata(&self, place: &Path) -> io::Result<Option<Metadata>> {
        let look = || match fs::symlink_metadata(place) {
            Ok(data) => Ok(Some(data)),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(error),
        };
        match look() {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let mut above: Vec<&Path> = place.ancestors().skip(1).collect();
                above.reverse();
                for folder in above {
                    self.make_open(folder)?;
                }
                look()
            }
            seen => seen,
        }
    }

    fn entries(&self, folder: &Path) -> io::Result<Entries> {
        self.make_open(folder)?;
        fs::read_dir(folder)?
            .map(|entry| entry.and_then(|it| Ok((it.file_name(), it.file_type()?))))
            .collect()
    }

    /// Opens a folder to its owner if the run has closed it: a tool may do that to what it made, and to `.git`.
    fn make_open(&self, folder: &Path) -> io::Result<()> {
        let data = fs::symlink_metadata(folder)?;
        if data.is_dir() && !platform::is_open_to_owner(&data) && self.changed_since(&data) {
            platform::open_to_owner(folder, &data)?;
        }
        Ok(())
    }

    /// Gives something a name that nobody looks for. `about` is what the user thinks of it as.
    fn put_aside(&mut self, place: &Path, about: &Path, reason: &str) {
        let what = shown(about);
        let because = if reason.is_empty() { String::new() } else { format!(" ({reason})") };
        match rename_aside(place) {
            Ok(name) if place == about => self.findings.warnings.push(format!(
                "`{what}` is new and would determine what git runs{because}: it was renamed to `{name}`"
            )),
            Ok(name) => self.findings.warnings.push(format!(
                "`{what}` is a new folder that git would treat as a repository, and would determine what git runs{because}: its `HEAD` was renamed to `{name}`"
            )),
            Err(error) => self.findings.failures.push(format!(
                "`{what}` is new and determines what git runs{because}, and could not be renamed ({error}): remove it before you use git there"
            )),
        }
    }

    fn unseen(&mut self, place: &Path, error: &io::Error) {
        self.findings.failures.push(format!(
            "`{}` can't be examined ({error}), and this run may have put something there that runs later: review it before you use git or an editor there",
            shown(place)
        ));
    }

    fn finish(mut self) -> Findings {
        self.links.sort();
        self.links.dedup();
        for link in self.links.iter().take(MAX_MESSAGES) {
            self.findings.warnings.push(format!(
                "`{}` is a new link that points outside the granted folders",
                shown(link)
            ));
        }
        if self.links.len() > MAX_MESSAGES {
            let rest = self.links.len() - MAX_MESSAGES;
            self.findings.warnings.push(format!("{rest} more such links are new"));
        }
        // Granted folders may lie in each other.
        self.reported.sort();
        self.reported.dedup();
        let count = self.reported.len();
        for place in self.reported.iter().take(MAX_MESSAGES) {
            self.findings.warnings.push(format!(
                "`{}` is new, and other programs may run commands from it: review it",
                shown(place)
            ));
        }
        if count > MAX_MESSAGES {
            self.findings
                .warnings
                .push(format!("{} more such files and folders are new", count - MAX_MESSAGES));
        }
        self.findings
    }
}

/// Gives something another name beside its own, and tells it.
fn rename_aside(place: &Path) -> io::Result<String> {
    /// A run may have taken some names.
    const MAX_NAMES: usize = 1000;
    let folder = place.parent().ok_or(io::ErrorKind::InvalidInput)?;
    let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
    for number in 1..=MAX_NAMES {
        let aside = match number {
            1 => format!("{name}.planted"),
            number => format!("{name}.planted-{number}"),
        };
        let target = folder.join(&aside);
        if fs::symlink_metadata(&target).is_ok() {
            continue;
        }
        let renamed = match fs::rename(place, &target) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let data = fs::symlink_metadata(folder)?;
                platform::open_to_owner(folder, &data)?;
                fs::rename(place, &target)
            }
            renamed => renamed,
        };
        return renamed.map(|()| visible(&aside).into_owned());
    }
    Err(io::Error::other("all names are taken"))
}

/// What is left of protected rows of names for a folder that is in the middle of one: `config.toml` for one called `.cargo`.
/// Repositories are looked at as such.
pub(crate) fn rests_of_rows(folder: &Path) -> impl Iterator<Item = &'static str> {
    NEVER_WRITE.iter().filter_map(move |place| match place.protected {
        Protected::AnyDepth(row) if !row.starts_with(".git/") => rest_of_row(row, folder),
        Protected::AnyDepth(_) | Protected::BelowHome(_) | Protected::Machine(_) => None,
    })
}

/// What is left of a row for a folder that is in the middle of it: `hooks` of `.git/hooks` for one called `.git`.
pub(crate) fn rest_of_row<'r>(row: &'r str, folder: &Path) -> Option<&'r str> {
    row.match_indices('/')
        .find(|(at, _)| folder.ends_with(&row[..*at]))
        .map(|(at, _)| &row[at + 1..])
}

fn shown(place: &Path) -> String {
    visible_line(&place.display().to_string()).into_owned()
}

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// Whether a link leads somewhere else than into one of some folders.
fn leads_out(link: &Path, folders: &[PathBuf]) -> bool {
    match (fs::read_link(link), link.parent()) {
        (Ok(target), Some(folder)) => !is_inside(&folder.join(target), folders),
        _ => false,
    }
}

/// Whether a path lies in one of some folders: where it really leads, or by its words where nothing is there.
fn is_inside(path: &Path, folders: &[PathBuf]) -> bool {
    let is_in = |path: &Path| folders.iter().any(|folder| path.starts_with(folder));
    match path.canonicalize() {
        Ok(real) => is_in(&real),
        Err(error) => is_gone(&error) && git_settings::normal(path).is_some_and(|it| is_in(&it)),
    }
}

#[cfg(test)]
mod tests;
