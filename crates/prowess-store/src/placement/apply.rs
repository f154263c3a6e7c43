//! Placing and taking away, whole or not at all.

use std::io;
use std::path::{Path, PathBuf};

use prowess_files::folder::{Folder, Swap, flock};
use prowess_package::name::SkillName;

use crate::agents::Agent;
use crate::places::{Places, Scope};

use super::record::{Record, Recorded};
use super::{
    Change, Form, Placement, PlacementError, Reached, Source, There, Wish, digest, disk, found_in,
    is_copied, plan_with, reach,
};

/// The file that whoever changes placements holds a lock on.
const LOCK: &str = "placements.lock";
/// What a copy is called before it is whole, and after it has made room. Agents skip hidden folders, and so do we.
const STAGING: &str = ".prowess-staging-";
/// Behind that, where two names can't be exchanged in one step. No name of a skill ends like this.
const ASIDE: &str = ".old";

/// Whose placements are taken away.
#[derive(Clone, Copy, Debug)]
pub enum Owners<'o> {
    /// Everybody's.
    All,
    /// Those of some agents; a folder that others share stays as it is.
    Only(&'o [&'static Agent]),
}

/// What became of a placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undone {
    /// Where it was.
    pub path: PathBuf,
    /// What became of it.
    pub how: UndoneHow,
}

/// What became of a placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UndoneHow {
    /// It is gone.
    Removed,
    /// Others still need it, by their ids.
    StillNeeded(Vec<String>),
    /// Somebody has changed it, so it stays and is theirs from now on.
    Changed,
    /// It was gone already.
    Missing,
}

/// Places a skill for the agents of a wish. What is there already is left alone, so that doing it twice is doing it once.
///
/// Everything is looked at before anything is changed, and what was changed is taken back when a later step fails. What
/// is about to be made or placed is written down before it gets its name: after a crash the list may name something that
/// is not there, which harms nobody, and never the other way round.
pub fn apply(places: &Places, wish: &Wish<'_>) -> Result<Vec<Placement>, PlacementError> {
    let held = Held::take(places, wish.scope)?;
    let before = Record::read(places, wish.scope)?;
    sweep(places, wish.scope, wish.skill);
    let planned = plan_with(places, wish, &before)?;
    let source = Source::look(wish.directory)?;
    let mut record = before.clone();
    let mut works = Vec::new();
    let result = place_all(planned, &source, &mut record, &mut works, &held);
    if result.is_err() {
        let taken_back: Vec<io::Result<()>> = works.iter_mut().rev().map(Work::take_back).collect();
        // What can't be taken back stays in the list, so that the next call or `undo` knows it.
        if taken_back.iter().all(Result::is_ok) {
            record.placements.clone_from(&before.placements);
            remove_made_folders(places, wish.scope, &mut record);
            let _ = held.write(&record);
        }
    }
    result?;
    Ok(works.into_iter().map(|work| work.placement).collect())
}

fn place_all(
    planned: Vec<(Reached, Placement)>,
    source: &Source,
    record: &mut Record,
    works: &mut Vec<Work>,
    held: &Held,
) -> Result<(), PlacementError> {
    let before_folders = record.folders.len();
    for (reached, _) in &planned {
        record.folders.extend(reached.missing()?);
    }
    if record.folders.len() > before_folders {
        held.write(record)?;
    }
    for (reached, placement) in planned {
        let folder = reached.open()?;
        works.push(Work { folder, placement, progress: Progress::Nothing });
    }
    for work in works.iter_mut() {
        work.stage(source)?;
    }
    for Work { placement, .. } in works.iter().filter(|work| work.is_ours()) {
        record.put(Recorded {
            skill: placement.skill.clone(),
            path: placement.path.clone(),
            form: placement.form.clone(),
            was: placement.replaces.clone(),
            owners: placement.owners.clone(),
        });
    }
    held.write(record)?;
    for work in works.iter_mut() {
        work.switch().map_err(disk("place", &work.placement.path))?;
    }
    // From here on everything is in its place, and what is left to do is tidying up.
    for work in works.iter().filter(|work| work.is_ours()) {
        let _ = clear(&work.folder, &work.placement.skill);
    }
    for recorded in &mut record.placements {
        if works.iter().any(|work| work.placement.path == recorded.path) {
            recorded.was = None;
        }
    }
    // The list that is there names the new form and the old one, which is as good.
    let _ = held.write(record);
    Ok(())
}

/// Takes a skill out of the folders of agents. Only what is still as it was placed is removed.
pub fn undo(
    places: &Places,
    scope: Scope,
    skill: &SkillName,
    owners: Owners<'_>,
) -> Result<Vec<Undone>, PlacementError> {
    let held = Held::take(places, scope)?;
    let mut record = Record::read(places, scope)?;
    sweep(places, scope, skill);
    let known: Vec<Recorded> =
        record.placements.iter().filter(|known| known.skill == *skill).cloned().collect();
    let mut undone = Vec::new();
    for mut recorded in known {
        let leaving = |id: &String| match owners {
            Owners::All => true,
            Owners::Only(agents) => agents.iter().any(|agent| agent.id == id),
        };
        if !recorded.owners.iter().any(leaving) {
            continue;
        }
        recorded.owners.retain(|id| !leaving(id));
        let path = recorded.path.clone();
        if !recorded.owners.is_empty() {
            let how = UndoneHow::StillNeeded(recorded.owners.clone());
            record.put(recorded);
            undone.push(Undone { path, how });
            continue;
        }
        let how = take_away(places, scope, &recorded)?;
        record.forget(&path);
        undone.push(Undone { path, how });
    }
    let had_folders = !record.folders.is_empty();
    remove_made_folders(places, scope, &mut record);
    if had_folders || !undone.is_empty() {
        held.write(&record)?;
    }
    Ok(undone)
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
    folder: Folder,
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
        self.placement.change != Change::Theirs
    }

    fn staging(&self) -> String {
        staging(&self.placement.skill)
    }

    /// Makes the link or the copy.
    fn stage(&mut self, source: &Source) -> Result<(), PlacementError> {
        match self.placement.change {
            Change::Keep | Change::Theirs => return Ok(()),
            Change::Make | Change::Replace => {}
        }
        let failed = || disk("write into", self.placement.path.parent().unwrap_or(Path::new("/")));
        let staging = self.staging();
        clear(&self.folder, &self.placement.skill).map_err(failed())?;
        if let Form::Link(target) = &self.placement.form {
            match self.folder.make_link(target, &staging) {
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
        let folder = self.folder.make_folder(&staging).map_err(failed())?;
        self.progress = Progress::Staged;
        let from = Folder::open(&source.folder).map_err(disk("open", &source.folder))?;
        from.copy_into(&folder, &is_copied).map_err(disk("copy", &source.folder))?;
        folder.sync_tree(&staging).map_err(disk("copy", &source.folder))?;
        let copied = digest(&folder)
            .map_err(|error| PlacementError::Copy { path: source.folder.clone(), source: error })?;
        if matches!(self.placement.form, Form::Copy(planned) if planned != copied) {
            let error = io::Error::other("it changed while it was copied, try again");
            return Err(disk("copy", &source.folder)(error));
        }
        self.placement.form = Form::Copy(copied);
        Ok(())
    }

    /// Gives it its name.
    fn switch(&mut self) -> io::Result<()> {
        let (folder, name, staging) = (&self.folder, self.placement.skill.as_str(), self.staging());
        match self.placement.change {
            Change::Keep | Change::Theirs => return Ok(()),
            Change::Make => {
                folder.rename_new(&staging, name)?;
                self.progress = Progress::Made;
            }
            Change::Replace => {
                swap(folder, &staging, name)?;
                self.progress = Progress::Exchanged;
            }
        }
        folder.sync(name)
    }

    fn take_back(&mut self) -> io::Result<()> {
        let (folder, name, staging) = (&self.folder, self.placement.skill.as_str(), self.staging());
        match self.progress {
            Progress::Nothing => return Ok(()),
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
    places: &Places,
    scope: Scope,
    recorded: &Recorded,
) -> Result<UndoneHow, PlacementError> {
    let folder = recorded.path.parent().unwrap_or(Path::new("/"));
    let Some(opened) = reach_recorded(places, scope, folder)? else {
        return Ok(UndoneHow::Missing);
    };
    let failed = |doing| disk(doing, &recorded.path);
    match found_in(&opened, &recorded.skill, Some(recorded)).map_err(failed("look at"))? {
        There::Nothing => return Ok(UndoneHow::Missing),
        There::Theirs(_) => return Ok(UndoneHow::Changed),
        There::Ours(_) => {}
    }
    // Out of sight in one step, so that no agent ever sees half a skill.
    let staging = staging(&recorded.skill);
    let remove = || -> io::Result<()> {
        clear(&opened, &recorded.skill)?;
        opened.rename(recorded.skill.as_str(), &opened, &staging)?;
        clear(&opened, &recorded.skill)?;
        opened.sync(recorded.skill.as_str())
    };
    remove().map_err(failed("remove"))?;
    Ok(UndoneHow::Removed)
}

/// Removes what a call that was killed has left under hidden names. What can't be removed harms nobody.
fn sweep(places: &Places, scope: Scope, skill: &SkillName) {
    for reached in reach::all_folders(scope, places) {
        if let Ok(Some(folder)) = reached.open_existing() {
            let _ = clear(&folder, skill);
        }
    }
}

/// Opens a folder of the list by the way of the agent whose folder it is.
fn reach_recorded(
    places: &Places,
    scope: Scope,
    folder: &Path,
) -> Result<Option<Folder>, PlacementError> {
    let mut folders = reach::all_folders(scope, places).into_iter();
    match folders.find(|reached| reached.real == folder) {
        Some(reached) => reached.open_existing(),
        None => Ok(None),
    }
}

/// Folders that were made for placements, when nothing is in them any more.
fn remove_made_folders(places: &Places, scope: Scope, record: &mut Record) {
    let mut made = std::mem::take(&mut record.folders);
    made.sort();
    made.dedup();
    // The deepest first.
    for path in made.into_iter().rev() {
        let is_needed = record.placements.iter().any(|known| known.path.starts_with(&path));
        if is_needed || !remove_folder(places, scope, &path) {
            record.folders.push(path);
        }
    }
}

/// Whether it is gone. What can't be removed stays, and nothing is lost by that.
fn remove_folder(places: &Places, scope: Scope, path: &Path) -> bool {
    let mut folders = reach::all_folders(scope, places).into_iter();
    let reached = folders.find(|reached| reached.real.starts_with(path));
    let Some(reached) = reached else { return true };
    let (Some(above), Some(name)) =
        (path.parent(), path.file_name().and_then(|name| name.to_str()))
    else {
        return true;
    };
    let above = Reached { anchor: reached.anchor, real: above.to_owned() };
    match above.open_existing() {
        Ok(Some(folder)) => folder.remove_empty(name).unwrap_or(false),
        Ok(None) => true,
        Err(_) => false,
    }
}
