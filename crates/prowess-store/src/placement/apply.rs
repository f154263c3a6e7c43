//! Placing and taking away, whole or not at all.

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

/// The file that whoever changes placements holds a lock on.
const LOCK: &str = "placements.lock";
/// What a copy is called before it is whole, and after it has made room. Agents skip hidden folders, and so do we.
const STAGING: &str = ".prowess-staging-";
/// Behind that, where two names can't be exchanged in one step. No name of a skill ends like this.
const ASIDE: &str = ".old";

/// Whose placements are taken away.
#[derive(Clone, Copy, Debug)]
pub enum PlacementOwners<'o> {
    /// Everybody's.
    All,
    /// Those of some agents; a folder that others share stays as it is.
    Only(&'o [&'static Agent]),
}

/// What became of a placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovedPlacement {
    /// The skill.
    pub skill: SkillName,
    /// Where it was.
    pub path: PathBuf,
    /// What became of it.
    pub how: RemovalOutcome,
}

/// What became of a placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemovalOutcome {
    /// It is gone.
    Removed,
    /// Others still need it, by their ids.
    StillNeeded(Vec<String>),
    /// Somebody has changed it, so it stays and is theirs from now on.
    Changed,
    /// It was gone already.
    Missing,
}

/// Places a skill for the agents of a request. What is there already is left alone, so that doing it twice is doing it once.
///
/// Everything is looked at before anything is changed, and what was changed is taken back when a later step fails. What
/// is about to be made or placed is written down before it gets its name: after a crash the list may name something that
/// is not there, which harms nobody, and never the other way round.
pub fn apply(
    places: &Places,
    request: &PlacementRequest<'_>,
) -> Result<Vec<Placement>, PlacementError> {
    let mut outcomes = apply_all(places, std::slice::from_ref(request))?;
    outcomes.pop().unwrap_or(Ok(Vec::new()))
}

/// Places many skills as [`apply`] does it, each whole or not at all: one that fails keeps no other from its place. The
/// answers are in the order of the requests.
///
/// The list of what is placed is read and written a fixed number of times, however many skills there are: it holds all
/// of them, and once for each would be quadratic.
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

/// What became of a request.
type Outcome = Result<Vec<Placement>, PlacementError>;
/// Something of each request, with the number of the request.
type Numbered<T> = Vec<(usize, T)>;

/// Places what does not meet at a path; the others are given back, and wait until they can see what was placed now.
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

/// Does the tasks. One that fails is taken back at once; an error of the list is everybody's.
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
    // One descriptor for a folder, however many skills go there: a process has only so many.
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
    // From here on everything is in its place, and what is left to do is tidying up.
    each(tasks, before, record, |work, record| {
        if work.is_ours() {
            let _ = clear(work.folder(), &work.placement.skill);
        }
        record.settle(&work.placement.path);
        Ok(())
    });
    // The list that is there names the new form and the old one, which is as good.
    let _ = held.write(record);
    Ok(())
}

/// A step of all tasks that have not failed yet.
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

/// A request on its way.
struct Task {
    /// Which of the requests.
    number: usize,
    works: Vec<Work>,
    failure: Option<PlacementError>,
}

impl Task {
    /// What can't be taken back stays in the list, so that the next call or `undo` knows it.
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

/// Takes a skill out of the folders of agents. Only what is still as it was placed is removed.
pub fn undo(
    places: &Places,
    scope: Scope,
    skill: &SkillName,
    owners: PlacementOwners<'_>,
) -> Result<Vec<RemovedPlacement>, PlacementError> {
    undo_all(places, scope, &BTreeSet::from([skill]), owners)
}

/// Takes many skills out of the folders of agents. The list is read and written once, as in [`apply_all`].
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

/// One placement on its way.
struct Work {
    reached: AgentFolder,
    /// Open once the way there is made.
    folder: Option<Rc<Folder>>,
    source: Rc<Source>,
    placement: Placement,
    progress: Progress,
}

/// How far it has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    Nothing,
    /// Under another name, out of sight.
    Staged,
    /// In its place, where nothing was.
    Made,
    /// In its place, and what was there has the other name.
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

    /// Makes the link or the copy.
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

    /// Gives it its name.
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

/// Lets two names change places.
fn swap(folder: &Folder, staging: &str, name: &str) -> io::Result<()> {
    match folder.exchange(staging, folder, name)? {
        Swap::Done => return Ok(()),
        Swap::Unsupported => {}
    }
    // A moment without either, on file systems that can't do better.
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

/// Removes what is under names of ours, also from a call that was killed: whoever calls this has the lock.
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
    // Out of sight in one step, so that no agent ever sees half a skill.
    let staging = staging(&recorded.skill);
    let remove = || -> io::Result<()> {
        clear(folder, &recorded.skill)?;
        folder.rename(recorded.skill.as_str(), folder, &staging)?;
        clear(folder, &recorded.skill)
    };
    remove().map_err(failed("remove"))?;
    Ok(RemovalOutcome::Removed)
}

/// Removes what a call that was killed has left under hidden names. What can't be removed harms nobody.
fn sweep(ways: &[AgentFolder], skills: &[&SkillName]) {
    for folder in ways.iter().filter_map(|reached| reached.open_existing().ok().flatten()) {
        for skill in skills {
            let _ = clear(&folder, skill);
        }
    }
}

/// Opens a folder of the list by the way of the agent whose folder it is.
fn reach_recorded(ways: &[AgentFolder], folder: &Path) -> Result<Option<Folder>, PlacementError> {
    match ways.iter().find(|reached| reached.real == folder) {
        Some(reached) => reached.open_existing(),
        None => Ok(None),
    }
}

/// Folders that were made for placements, when nothing is in them any more.
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

/// Whether it is gone. What can't be removed stays, and nothing is lost by that.
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
