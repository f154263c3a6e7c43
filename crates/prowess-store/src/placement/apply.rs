//! Creates and removes placements atomically.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use prowess_files::folder::{Folder, Swap, flock};
use prowess_package::name::SkillName;

use crate::agents::Agent;
use crate::places::{Places, Scope};

use super::record::{Record, RecordedPlacement};
use super::{
    AgentFolder, Placement, PlacementChange, PlacementError, PlacementForm, PlacementRequest,
    Source, There, digest, disk, found_in, is_copied, plan_with, reach,
};

/// The lock file for changes of placements.
const LOCK: &str = "placements.lock";
/// The prefix of a copy while it is incomplete, and of a replaced one. Agents skip hidden folders, and so do we.
const STAGING: &str = ".prowess-staging-";
/// The suffix of a replaced copy if names can't be exchanged atomically. No skill name ends like this.
const ASIDE: &str = ".old";

/// Whose placements are removed.
#[derive(Clone, Copy, Debug)]
pub enum PlacementOwners<'o> {
    /// Those of all agents.
    All,
    /// Those of some agents; a folder shared with others is kept.
    Only(&'o [&'static Agent]),
}

/// The result of removing a placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedPlacement {
    /// The skill.
    pub skill: SkillName,
    /// The path.
    pub path: PathBuf,
    /// The outcome.
    pub how: RemovalOutcome,
}

/// The outcome of removing a placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemovalOutcome {
    /// It was removed.
    Removed,
    /// Other agents still use it; their ids.
    StillNeeded(Vec<String>),
    /// It was changed, so it is kept and no longer managed.
    Changed,
    /// It did not exist any more.
    Missing,
}

/// Places a skill for the agents of a request. Existing placements are kept, so the operation is idempotent.
///
/// Everything is checked before anything is changed, and changes are rolled back if a later step fails. A placement is
/// recorded before it gets its name: after a crash the record may list something that does not exist, which is
/// harmless, but never the reverse.
pub fn apply(
    places: &Places,
    request: &PlacementRequest<'_>,
) -> Result<Vec<Placement>, PlacementError> {
    let mut outcomes = apply_all(places, std::slice::from_ref(request))?;
    outcomes.pop().unwrap_or(Ok(Vec::new()))
}

/// Places many skills like [`apply`], each atomically: a failure does not affect the others. The results are in the
/// order of the requests.
///
/// The record of placements is read and written a constant number of times: it contains all skills, so that doing it
/// per skill would be quadratic.
pub fn apply_all(
    places: &Places,
    requests: &[PlacementRequest<'_>],
) -> Result<Vec<Result<Vec<Placement>, PlacementError>>, PlacementError> {
    let mut outcomes: BTreeMap<usize, Outcome> = BTreeMap::new();
    for scope in [Scope::Project, Scope::User] {
        let mut waiting: Vec<(usize, &PlacementRequest<'_>)> =
            requests.iter().enumerate().filter(|(_, request)| request.scope == scope).collect();
        while !waiting.is_empty() {
            let (done, deferred) = apply_batch(places, scope, waiting)?;
            outcomes.extend(done);
            waiting = deferred;
        }
    }
    Ok(outcomes.into_values().collect())
}

/// The result of a request.
type Outcome = Result<Vec<Placement>, PlacementError>;
/// Values with the indexes of their requests.
type Numbered<T> = Vec<(usize, T)>;

/// Places the requests that don't share a path; the others are returned, and have to wait for the result.
fn apply_batch<'w>(
    places: &Places,
    scope: Scope,
    requests: Numbered<&'w PlacementRequest<'w>>,
) -> Result<(Numbered<Outcome>, Numbered<&'w PlacementRequest<'w>>), PlacementError> {
    let held = Held::take(places, scope)?;
    let before = Record::read(places, scope)?;
    let ways = reach::all_folders(scope, places);
    let skills: Vec<&SkillName> = requests.iter().map(|(_, request)| request.skill).collect();
    sweep(&ways, &skills);
    let mut record = before.clone();
    let mut taken: BTreeSet<PathBuf> = BTreeSet::new();
    let mut tasks: Vec<Task> = Vec::new();
    let mut deferred = Vec::new();
    for (number, request) in requests {
        let planned = plan_with(places, request, &before)
            .and_then(|planned| Ok((planned, Source::look(request.directory)?)));
        match planned {
            Err(error) => tasks.push(Task { number, works: Vec::new(), failure: Some(error) }),
            Ok((planned, _)) if planned.iter().any(|(_, it)| taken.contains(&it.path)) => {
                deferred.push((number, request));
            }
            Ok((planned, source)) => {
                taken.extend(planned.iter().map(|(_, placement)| placement.path.clone()));
                let source = Rc::new(source);
                let works = planned.into_iter().map(|(reached, placement)| Work {
                    reached,
                    folder: None,
                    source: Rc::clone(&source),
                    placement,
                    progress: Progress::Nothing,
                });
                tasks.push(Task { number, works: works.collect(), failure: None });
            }
        }
    }
    let result = place_all(&mut tasks, &before, &mut record, &held);
    let failed = result.is_err() || tasks.iter().any(|task| task.failure.is_some());
    if result.is_err() {
        for task in &mut tasks {
            task.take_back(&before, &mut record);
        }
    }
    if failed {
        remove_made_folders(&ways, &mut record);
        let _ = held.write(&record);
    }
    result?;
    let done = tasks.into_iter().map(|task| {
        let placements = task.works.into_iter().map(|work| work.placement).collect();
        (task.number, task.failure.map_or(Ok(placements), Err))
    });
    Ok((done.collect(), deferred))
}

/// Runs the tasks. A failed one is rolled back at once; an error of the record fails all.
fn place_all(
    tasks: &mut [Task],
    before: &Record,
    record: &mut Record,
    held: &Held,
) -> Result<(), PlacementError> {
    let had_folders = record.folders.len();
    let mut looked_at: BTreeSet<PathBuf> = BTreeSet::new();
    each(tasks, before, record, |work, record| {
        if looked_at.insert(work.reached.real.clone()) {
            let missing = work.reached.missing()?;
            record.folders.extend(missing);
        }
        Ok(())
    });
    if record.folders.len() > had_folders {
        held.write(record)?;
    }
    // One descriptor per folder, however many skills it gets: a process has a limited number.
    let mut opened: BTreeMap<PathBuf, Rc<Folder>> = BTreeMap::new();
    each(tasks, before, record, |work, _| {
        let folder = match opened.get(&work.reached.real) {
            Some(folder) => Rc::clone(folder),
            None => Rc::new(work.reached.open()?),
        };
        opened.insert(work.reached.real.clone(), Rc::clone(&folder));
        work.folder = Some(folder);
        Ok(())
    });
    each(tasks, before, record, |work, _| work.stage());
    each(tasks, before, record, |work, record| {
        let placement = &work.placement;
        if work.is_ours() {
            record.put(RecordedPlacement {
                skill: placement.skill.clone(),
                path: placement.path.clone(),
                form: placement.form.clone(),
                was: placement.replaces.clone(),
                owners: placement.owners.clone(),
            });
        }
        Ok(())
    });
    held.write(record)?;
    each(tasks, before, record, |work, _| {
        work.switch().map_err(disk("place", &work.placement.path))
    });
    let mut synced: BTreeSet<PathBuf> = BTreeSet::new();
    each(tasks, before, record, |work, _| {
        if work.progress == Progress::Nothing || synced.contains(&work.reached.real) {
            return Ok(());
        }
        let name = work.placement.skill.as_str();
        work.folder().sync(name).map_err(disk("place", &work.placement.path))?;
        synced.insert(work.reached.real.clone());
        Ok(())
    });
    // Everything is in its place; the rest is cleanup.
    each(tasks, before, record, |work, record| {
        if work.is_ours() {
            let _ = clear(work.folder(), &work.placement.skill);
        }
        record.settle(&work.placement.path);
        Ok(())
    });
    // The record lists both the new and the old form, which is safe.
    let _ = held.write(record);
    Ok(())
}

/// Runs a step of all tasks that have not failed.
fn each(
    tasks: &mut [Task],
    before: &Record,
    record: &mut Record,
    mut step: impl FnMut(&mut Work, &mut Record) -> Result<(), PlacementError>,
) {
    for task in tasks.iter_mut().filter(|task| task.failure.is_none()) {
        let result = task.works.iter_mut().try_for_each(|work| step(work, record));
        if let Err(error) = result {
            task.failure = Some(error);
            task.take_back(before, record);
        }
    }
}

/// A request in progress.
struct Task {
    /// The index of the request.
    number: usize,
    works: Vec<Work>,
    failure: Option<PlacementError>,
}

impl Task {
    /// Rolls back. What can't be rolled back stays in the record for the next call or `undo`.
    fn take_back(&mut self, before: &Record, record: &mut Record) {
        let taken_back: Vec<io::Result<()>> =
            self.works.iter_mut().rev().map(Work::take_back).collect();
        if taken_back.iter().any(Result::is_err) {
            return;
        }
        for work in &self.works {
            match before.at(&work.placement.path) {
                Some(known) => record.put(known.clone()),
                None => record.forget(&work.placement.path),
            }
        }
    }
}

/// Removes a skill from the folders of agents, if the placement is unchanged.
pub fn undo(
    places: &Places,
    scope: Scope,
    skill: &SkillName,
    owners: PlacementOwners<'_>,
) -> Result<Vec<RemovedPlacement>, PlacementError> {
    undo_all(places, scope, &BTreeSet::from([skill]), owners)
}

/// Removes many skills from the folders of agents. The record is read and written once, as in [`apply_all`].
pub fn undo_all(
    places: &Places,
    scope: Scope,
    skills: &BTreeSet<&SkillName>,
    owners: PlacementOwners<'_>,
) -> Result<Vec<RemovedPlacement>, PlacementError> {
    let held = Held::take(places, scope)?;
    let mut record = Record::read(places, scope)?;
    let ways = reach::all_folders(scope, places);
    sweep(&ways, &skills.iter().copied().collect::<Vec<&SkillName>>());
    let known: Vec<RecordedPlacement> =
        record.all().filter(|known| skills.contains(&known.skill)).cloned().collect();
    let mut undone = Vec::new();
    let mut opened = BTreeMap::new();
    let mut failure = None;
    for mut recorded in known {
        let leaving = |id: &String| match owners {
            PlacementOwners::All => true,
            PlacementOwners::Only(agents) => agents.iter().any(|agent| agent.id == id),
        };
        if !recorded.owners.iter().any(leaving) {
            continue;
        }
        recorded.owners.retain(|id| !leaving(id));
        let (skill, path) = (recorded.skill.clone(), recorded.path.clone());
        if !recorded.owners.is_empty() {
            let how = RemovalOutcome::StillNeeded(recorded.owners.clone());
            record.put(recorded);
            undone.push(RemovedPlacement { skill, path, how });
            continue;
        }
        match take_away(&ways, &recorded, &mut opened) {
            Ok(how) => {
                record.forget(&path);
                undone.push(RemovedPlacement { skill, path, how });
            }
            Err(error) => {
                failure = Some(error);
                break;
            }
        }
    }
    for (path, folder) in opened {
        if let Err(error) = folder.sync("") {
            failure.get_or_insert(disk("remove from", &path)(error));
        }
    }
    let had_folders = !record.folders.is_empty();
    remove_made_folders(&ways, &mut record);
    if had_folders || !undone.is_empty() {
        held.write(&record)?;
    }
    failure.map_or(Ok(undone), Err)
}

/// The lock on the placements of a scope.
struct Held {
    state: Folder,
    path: PathBuf,
    _lock: std::os::fd::OwnedFd,
}

impl Held {
    fn take(places: &Places, scope: Scope) -> Result<Self, PlacementError> {
        let reached = reach::state(scope, places)?;
        let state = reached.open()?;
        let path = reached.real;
        let lock = state.lock_file(LOCK).map_err(disk("lock", &path))?;
        flock(&lock).map_err(disk("lock", &path))?;
        Ok(Self { state, path, _lock: lock })
    }

    fn write(&self, record: &Record) -> Result<(), PlacementError> {
        let path = self.path.join(super::RECORD_FILE_NAME);
        record.write(&self.state).map_err(disk("write", &path))
    }
}

/// A placement in progress.
struct Work {
    reached: AgentFolder,
    /// The open folder, once it exists.
    folder: Option<Rc<Folder>>,
    source: Rc<Source>,
    placement: Placement,
    progress: Progress,
}

/// The state of a placement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Nothing,
    /// Created under a hidden name.
    Staged,
    /// In its place, which was free.
    Made,
    /// In its place; the previous content has the hidden name.
    Exchanged,
}

impl Work {
    fn is_ours(&self) -> bool {
        self.placement.change != PlacementChange::Theirs
    }

    fn folder(&self) -> &Folder {
        self.folder.as_deref().expect("folders are opened before anything is staged")
    }

    fn staging(&self) -> String {
        staging(&self.placement.skill)
    }

    /// Creates the link or the copy.
    fn stage(&mut self) -> Result<(), PlacementError> {
        match self.placement.change {
            PlacementChange::Keep | PlacementChange::Theirs => return Ok(()),
            PlacementChange::Make | PlacementChange::Replace => {}
        }
        let failed = || disk("write into", self.placement.path.parent().unwrap_or(Path::new("/")));
        let staging = self.staging();
        let source = &self.source;
        clear(self.folder(), &self.placement.skill).map_err(failed())?;
        if let PlacementForm::Link(target) = &self.placement.form {
            match self.folder().make_link(target, &staging) {
                Ok(()) => {
                    self.progress = Progress::Staged;
                    return Ok(());
                }
                Err(error) if has_no_links(&error) => {
                    self.placement.why = Some("the file system has no links".to_owned());
                }
                Err(error) => return Err(failed()(error)),
            }
        }
        let folder = self.folder().make_folder(&staging).map_err(failed())?;
        self.progress = Progress::Staged;
        let from = Folder::open(&source.folder).map_err(disk("open", &source.folder))?;
        from.copy_into(&folder, &is_copied).map_err(disk("copy", &source.folder))?;
        folder.sync_tree(&staging).map_err(disk("copy", &source.folder))?;
        let copied = digest(&folder)
            .map_err(|error| PlacementError::Copy { path: source.folder.clone(), source: error })?;
        if matches!(self.placement.form, PlacementForm::Copy(planned) if planned != copied) {
            let error = io::Error::other("it changed while it was copied, try again");
            return Err(disk("copy", &source.folder)(error));
        }
        self.placement.form = PlacementForm::Copy(copied);
        Ok(())
    }

    /// Moves it to its place.
    fn switch(&mut self) -> io::Result<()> {
        let (folder, name, staging) =
            (self.folder(), self.placement.skill.as_str(), self.staging());
        match self.placement.change {
            PlacementChange::Keep | PlacementChange::Theirs => {}
            PlacementChange::Make => {
                folder.rename_new(&staging, name)?;
                self.progress = Progress::Made;
            }
            PlacementChange::Replace => {
                swap(folder, &staging, name)?;
                self.progress = Progress::Exchanged;
            }
        }
        Ok(())
    }

    fn take_back(&mut self) -> io::Result<()> {
        if self.progress == Progress::Nothing {
            return Ok(());
        }
        let (folder, name, staging) =
            (self.folder(), self.placement.skill.as_str(), self.staging());
        match self.progress {
            Progress::Nothing => {}
            Progress::Staged => {}
            Progress::Made => folder.rename(name, folder, &staging)?,
            Progress::Exchanged => swap(folder, &staging, name)?,
        }
        clear(folder, &self.placement.skill)
    }
}

/// Exchanges two names.
fn swap(folder: &Folder, staging: &str, name: &str) -> io::Result<()> {
    match folder.exchange(staging, folder, name)? {
        Swap::Done => return Ok(()),
        Swap::Unsupported => {}
    }
    // Both are missing for a moment, on file systems without an atomic exchange.
    let aside = format!("{staging}{ASIDE}");
    folder.rename(name, folder, &aside)?;
    if let Err(error) = folder.rename(staging, folder, name) {
        folder.rename(&aside, folder, name)?;
        return Err(error);
    }
    if let Err(error) = folder.rename(&aside, folder, staging) {
        folder.rename(name, folder, staging)?;
        folder.rename(&aside, folder, name)?;
        return Err(error);
    }
    Ok(())
}

/// Removes staged files, also those of a killed process: the caller has the lock.
fn clear(folder: &Folder, skill: &SkillName) -> io::Result<()> {
    let staging = staging(skill);
    folder.remove_tree(staging.as_bytes())?;
    folder.remove_tree(format!("{staging}{ASIDE}").as_bytes())
}

fn staging(skill: &SkillName) -> String {
    format!("{STAGING}{skill}")
}

/// FAT and some network file systems.
fn has_no_links(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::Unsupported)
        && error.raw_os_error() != Some(rustix::io::Errno::ACCESS.raw_os_error())
}

fn take_away(
    ways: &[AgentFolder],
    recorded: &RecordedPlacement,
    opened: &mut BTreeMap<PathBuf, Folder>,
) -> Result<RemovalOutcome, PlacementError> {
    let path = recorded.path.parent().unwrap_or(Path::new("/"));
    let folder = match opened.entry(path.to_owned()) {
        Entry::Occupied(known) => known.into_mut(),
        Entry::Vacant(vacant) => match reach_recorded(ways, path)? {
            Some(folder) => vacant.insert(folder),
            None => return Ok(RemovalOutcome::Missing),
        },
    };
    let failed = |doing| disk(doing, &recorded.path);
    match found_in(folder, &recorded.skill, Some(recorded)).map_err(failed("look at"))? {
        There::Nothing => return Ok(RemovalOutcome::Missing),
        There::Theirs(_) => return Ok(RemovalOutcome::Changed),
        There::Ours(_) => {}
    }
    // Hidden in one step, so that no agent ever sees a partial skill.
    let staging = staging(&recorded.skill);
    let remove = || -> io::Result<()> {
        clear(folder, &recorded.skill)?;
        folder.rename(recorded.skill.as_str(), folder, &staging)?;
        clear(folder, &recorded.skill)
    };
    remove().map_err(failed("remove"))?;
    Ok(RemovalOutcome::Removed)
}

/// Removes staged files that a killed process has left. Failures are ignored.
fn sweep(ways: &[AgentFolder], skills: &[&SkillName]) {
    for folder in ways.iter().filter_map(|reached| reached.open_existing().ok().flatten()) {
        for skill in skills {
            let _ = clear(&folder, skill);
        }
    }
}

/// Opens a recorded folder through the agent that it belongs to.
fn reach_recorded(ways: &[AgentFolder], folder: &Path) -> Result<Option<Folder>, PlacementError> {
    match ways.iter().find(|reached| reached.real == folder) {
        Some(reached) => reached.open_existing(),
        None => Ok(None),
    }
}

/// Removes folders that were created for placements, if they are empty.
fn remove_made_folders(ways: &[AgentFolder], record: &mut Record) {
    let mut made = std::mem::take(&mut record.folders);
    made.sort();
    made.dedup();
    // The deepest first.
    for path in made.into_iter().rev() {
        let is_needed = record.all().any(|known| known.path.starts_with(&path));
        if is_needed || !remove_folder(ways, &path) {
            record.folders.push(path);
        }
    }
}

/// Removes a folder; returns whether it is gone. Failures are ignored.
fn remove_folder(ways: &[AgentFolder], path: &Path) -> bool {
    let reached = ways.iter().find(|reached| reached.real.starts_with(path));
    let Some(reached) = reached else { return true };
    let (Some(above), Some(name)) =
        (path.parent(), path.file_name().and_then(|name| name.to_str()))
    else {
        return true;
    };
    let above = AgentFolder { anchor: reached.anchor.clone(), real: above.to_owned() };
    match above.open_existing() {
        Ok(Some(folder)) => folder.remove_empty(name).unwrap_or(false),
        Ok(None) => true,
        Err(_) => false,
    }
}
