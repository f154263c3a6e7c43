//! Staged runs on Linux: an overlay for every writable folder.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::SystemTime;

use prowess_changes::{
    ApplyError, Change, ChangeSet, Conflict, Durability, EntryKind, Limits, RunFolder, RunStatus,
};
use prowess_core::{
    ChangeDecision, ChangedFile, ChangesState, Envelope, REFUSED, RunChanges, RunOutcome,
};
use prowess_format::text::visible;
use prowess_policy::changes::{
    ChangeContext, ChangeVerdict, ProposedChange, ProposedEntry, examine,
};
use prowess_sandbox::{FileAccess, FileGrant, Spec, StagedFolder};
use serde_json::{Value, json};

use super::{Begun, SettledRun, StagingError, Verdict};
use crate::changes::{self, accepted::AcceptedChanges};
use crate::git_files;
use crate::planted::{self, PlantedScan};
use crate::prepare::PreparedCall;
use crate::world::{
    ApplyWhen, FailedRunChanges, StagedWrites, StateFolders, WithoutStaging, World, Writes,
};

/// Maximum number of changes that are named in messages of one run.
const MAX_NAMED: usize = 20;

/// A run whose writes are staged. Dropping it removes what the run has written.
#[derive(Debug)]
pub(crate) struct StagedRun {
    /// `None` when it was settled.
    folder: Option<RunFolder>,
    rules: StagedWrites,
    limits: Limits,
    title: String,
    skill: String,
    digest: String,
    state: StateFolders,
    home: PathBuf,
    search_path: Vec<PathBuf>,
    may_start_git: bool,
    /// What could not be finished of runs whose processes were killed.
    unfinished: Vec<String>,
}

impl StagedRun {
    /// Makes a place for what the run writes, as far as it can be held back.
    pub(crate) fn begin(
        spec: &mut Spec,
        prepared: &PreparedCall,
        world: &World,
    ) -> Result<Begun, StagingError> {
        let Writes::Staged(rules) = world.writes else { return Ok(Begun::live(spec)) };
        let grants = separate_grants(&spec.files);
        if grants.is_empty() {
            return Ok(Begun::live(spec));
        }
        let home = world.state.changes();
        let mut folder = match random_id()
            .map_err(|error| error.to_string())
            .and_then(|id| RunFolder::create(&home, &id).map_err(|error| error.to_string()))
        {
            Ok(folder) => folder.begun_at(prepared.begun),
            Err(reason) if rules.without == WithoutStaging::Live => {
                let warnings = vec![format!("changes can't be undone: {reason}")];
                return Ok(Begun { warnings, ..Begun::live(spec) });
            }
            Err(reason) => return Err(StagingError::Place(reason)),
        };
        let mut warnings = Vec::new();
        for grant in &grants {
            match (stage(&mut folder, grant, spec), rules.without) {
                (Ok(()), _) => {}
                (Err(StagingError::Grant { path, reason }), WithoutStaging::Live) => {
                    let path = shown(&path);
                    warnings.push(format!("changes to `{path}` can't be undone: {reason}"));
                }
                (Err(error), _) => {
                    let _ = folder.remove();
                    return Err(error);
                }
            }
        }
        let is_live = !warnings.is_empty();
        if folder.layers().is_empty() {
            let _ = folder.remove();
            return Ok(Begun { run: None, is_live, warnings });
        }
        let unfinished = prowess_changes::recover(&home)
            .into_iter()
            .map(|(id, error)| {
                format!("the changes of the run `{id}` are only partly applied, and can't be finished: {error}")
            })
            .collect();
        changes::expire_now_and_then(&world.state, SystemTime::now());
        let is_git = |image: &PathBuf| image.file_name().is_some_and(|name| name == "git");
        let may_start_git = prepared.images.programs.iter().any(is_git);
        if may_start_git {
            let overlays = folder.layers().iter().filter(|layer| {
                grants.iter().any(|grant| grant.pattern.is_none() && grant.path == layer.target)
            });
            let overlays: Vec<PathBuf> = overlays.map(|layer| layer.target.clone()).collect();
            release_settings(spec, &overlays);
        }
        let run = Self {
            folder: Some(folder),
            rules,
            limits: Limits {
                entries: spec.limits.written_entries,
                bytes: spec.limits.written_bytes,
                ..Limits::default()
            },
            title: prepared.name(),
            skill: prepared.request.skill().to_owned(),
            digest: prepared.request.digest().as_str().to_owned(),
            state: world.state.clone(),
            home: world.home.clone(),
            search_path: world.program_folders.clone(),
            may_start_git,
            unfinished,
        };
        Ok(Begun { run: Some(run), is_live, warnings })
    }

    /// What others change from now on is a conflict.
    pub(crate) fn mark_start(&mut self) -> Result<(), StagingError> {
        match &mut self.folder {
            Some(folder) => {
                folder.mark_start().map_err(|error| StagingError::Place(error.to_string()))
            }
            None => Ok(()),
        }
    }

    /// Examines the changes, and applies or keeps them. All processes of the run have ended.
    pub(crate) fn settle(mut self, ended: &Envelope, planted_scan: &PlantedScan) -> SettledRun {
        let mut settled = SettledRun {
            changes: RunChanges {
                run: String::new(),
                changes: Vec::new(),
                state: ChangesState::None,
                exit_code: ended.exit_code,
            },
            warnings: std::mem::take(&mut self.unfinished),
            verdict: None,
        };
        let Some(folder) = self.folder.take() else { return settled };
        folder.id().clone_into(&mut settled.changes.run);
        let set = match folder.read(self.limits) {
            Ok(set) => set,
            Err(error) => {
                settled.verdict = Some(Verdict::failed(format!(
                    "the changes of this run were not applied: {error}"
                )));
                self.keep(&folder, &mut settled);
                return settled;
            }
        };
        let dropped = set.dropped.iter().take(MAX_NAMED).map(|dropped| {
            let path = path_of(&folder, dropped.layer, &dropped.path);
            format!("`{}` was not kept: it is {}", shown(&path), dropped.what)
        });
        settled.warnings.extend(dropped);
        settled.changes.changes = self.examined(&folder, &set, planted_scan);
        if set.is_empty() {
            let _ = folder.remove();
            return settled;
        }
        let is_failed = ended.outcome != RunOutcome::Success;
        if is_failed && self.rules.failed == FailedRunChanges::Hold && set.changes.is_empty() {
            // Only times: nothing that anybody could decide about.
            let _ = folder.remove();
            return settled;
        }
        let is_held = match (self.rules.apply, self.rules.failed, ended.outcome) {
            (ApplyWhen::Accepted, _, _) => true,
            (ApplyWhen::Ordinary, _, RunOutcome::Success)
            | (ApplyWhen::Ordinary, FailedRunChanges::Apply, _) => false,
            (ApplyWhen::Ordinary, FailedRunChanges::Hold, _) => true,
        };
        let open = settled.changes.changes.iter().find(|it| it.decision != ChangeDecision::Apply);
        if let Some(open) = open.filter(|_| !is_held) {
            let message = undecided(open, settled.changes.changes.len());
            settled.verdict = Some(match open.decision {
                ChangeDecision::Conflict => Verdict::failed(message),
                ChangeDecision::Apply | ChangeDecision::Ask | ChangeDecision::Refuse => {
                    Verdict { outcome: RunOutcome::Refused, exit_code: REFUSED, message }
                }
            });
        } else if is_held && self.rules.apply == ApplyWhen::Ordinary {
            settled.warnings.push(not_applied(settled.changes.changes.len()));
        }
        if is_held || settled.verdict.is_some() {
            self.keep(&folder, &mut settled);
            return settled;
        }
        match folder.apply(&set, durability(&set)) {
            Ok(_) => {
                settled.changes.state = ChangesState::Applied;
                self.note(&folder, &settled.changes);
                settled.warnings.extend(mentioned(&settled.changes));
            }
            Err(error) => {
                let conflicts = match &error {
                    ApplyError::Conflicts(conflicts) => conflicts.as_slice(),
                    _ => &[],
                };
                for conflict in conflicts {
                    mark_conflict(&mut settled.changes, &folder, conflict);
                }
                let first = conflicts.first().map(|conflict| {
                    let path = path_of(&folder, conflict.layer, &conflict.path);
                    format!(": `{}`, because {}", shown(&path), conflict.reason.as_str())
                });
                settled.verdict = Some(Verdict::failed(format!(
                    "the changes of this run were not applied: {error}{}",
                    first.unwrap_or_default()
                )));
                self.keep(&folder, &mut settled);
            }
        }
        settled
    }

    /// Keeps the changes until somebody decides.
    fn keep(&self, folder: &RunFolder, settled: &mut SettledRun) {
        settled.changes.state = ChangesState::Pending;
        self.note(folder, &settled.changes);
        if let Err(error) = folder.keep_pending() {
            settled.warnings.push(format!("the changes of this run can't be kept: {error}"));
        }
    }

    fn note(&self, folder: &RunFolder, changes: &RunChanges) {
        let note = KeptNote {
            title: self.title.clone(),
            skill: self.skill.clone(),
            digest: self.digest.clone(),
            exit_code: changes.exit_code,
            changes: changes.changes.clone(),
            indexes: indexes(folder, &changes.changes),
        };
        // Without it the changes can still be read; only the reasons are lost, and then everything is asked about.
        let _ = folder.set_note(note.to_json().to_string().as_bytes());
    }

    /// Every change with the decision about it.
    fn examined(
        &self,
        folder: &RunFolder,
        set: &ChangeSet,
        planted_scan: &PlantedScan,
    ) -> Vec<ChangedFile> {
        let writable: Vec<PathBuf> =
            folder.layers().iter().map(|layer| layer.target.clone()).collect();
        let named_by_git: Vec<PathBuf> = planted_scan
            .absent
            .iter()
            .map(|absent| absent.place.clone())
            .chain(planted_scan.fixed.iter().cloned())
            .collect();
        let bare_repositories = folders_with(folder, set, &|has| {
            has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
        });
        let environments = folders_with(folder, set, &|has| has("pyvenv.cfg"));
        let context = ChangeContext {
            home: &self.home,
            search_path: &self.search_path,
            writable: &writable,
            named_by_git: &named_by_git,
            bare_repositories: &bare_repositories,
            environments: &environments,
            may_start_git: self.may_start_git,
            is_dot_git: git_files::is_dot_git,
        };
        let mut changed: Vec<ChangedFile> = set
            .changes
            .iter()
            .map(|change| {
                let top = folder.layers().get(change.layer).map_or(Path::new("/"), |it| &it.target);
                let conflict = set
                    .conflicts
                    .iter()
                    .find(|it| it.layer == change.layer && change.path.starts_with(&it.path));
                changed_file(top, change, conflict, &context)
            })
            .collect();
        examine_repositories(folder, set, &context, &mut changed);
        if changed.iter().any(|file| file.decision == ChangeDecision::Ask) {
            let accepted = AcceptedChanges::load(&self.state);
            for file in changed.iter_mut().filter(|file| file.decision == ChangeDecision::Ask) {
                if accepted.covers(&self.skill, &self.digest, &file.path) {
                    file.decision = ChangeDecision::Apply;
                }
            }
        }
        changed
    }
}

impl Drop for StagedRun {
    fn drop(&mut self) {
        if let Some(folder) = self.folder.take() {
            let _ = folder.remove();
        }
    }
}

/// The access of the nearest grant for a whole file or folder: at a path, or above it.
fn covering(grants: &[FileGrant], path: &Path) -> Option<FileAccess> {
    path.ancestors().find_map(|above| {
        let here = grants.iter().filter(|grant| grant.pattern.is_none() && grant.path == above);
        here.map(|grant| grant.access).max()
    })
}

/// The grants for writing that are in no other one.
fn separate_grants(grants: &[FileGrant]) -> Vec<FileGrant> {
    let mut found: Vec<FileGrant> = grants
        .iter()
        .filter(|grant| {
            let around = match &grant.pattern {
                Some(_) => Some(grant.path.as_path()),
                None => grant.path.parent(),
            };
            let cover = around.and_then(|around| covering(grants, around));
            grant.access == FileAccess::Write && cover != Some(FileAccess::Write)
        })
        .cloned()
        .collect();
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found.dedup_by(|one, other| one.path == other.path && one.pattern == other.pattern);
    found
}

/// Lets tools whose business is git write the settings of repositories in these folders, because what they become is
/// examined before it is applied.
fn release_settings(spec: &mut Spec, folders: &[PathBuf]) {
    spec.files.retain(|grant| {
        let is_settings = grant.path.ends_with(".git/config");
        let is_staged = folders.iter().any(|folder| grant.path.starts_with(folder));
        let is_protection = grant.access == FileAccess::Read && grant.pattern.is_none();
        !(is_settings && is_staged && is_protection)
    });
}

/// Makes a layer for a grant.
fn stage(folder: &mut RunFolder, grant: &FileGrant, spec: &mut Spec) -> Result<(), StagingError> {
    let refuse = |reason: String| StagingError::Grant { path: grant.path.clone(), reason };
    let is_created = match std::fs::symlink_metadata(&grant.path) {
        Ok(data) if data.is_dir() => false,
        Ok(data) if data.is_file() => return stage_file(folder, grant, data.len(), spec),
        Ok(_) => return Err(refuse("it is neither a file nor a folder".to_owned())),
        // Granted, and nothing there to be changed.
        Err(_) if !grant.create => return Ok(()),
        Err(_) => {
            // What stands in the way is said by the sandbox.
            if DirBuilder::new().mode(0o700).create(&grant.path).is_err() {
                return Ok(());
            }
            true
        }
    };
    // Several patterns of one folder share its layer.
    if spec.staged.iter().any(|staged| staged.path == grant.path) {
        return Ok(());
    }
    let layer = match &grant.pattern {
        None => folder.add_layer(&grant.path, is_created),
        Some(_) => folder.add_copies_layer(&grant.path, is_created),
    };
    let layer = match layer {
        Ok(layer) => layer,
        Err(error) => {
            if is_created {
                let _ = std::fs::remove_dir(&grant.path);
            }
            return Err(refuse(error.to_string()));
        }
    };
    spec.staged.push(StagedFolder {
        path: grant.path.clone(),
        upper: layer.upper(),
        work: layer.work(),
    });
    Ok(())
}

/// Makes a layer for a single file: the tool gets a copy of it, as with a pattern that only this file matches.
fn stage_file(
    folder: &mut RunFolder,
    grant: &FileGrant,
    bytes: u64,
    spec: &mut Spec,
) -> Result<(), StagingError> {
    let refuse = |reason: &str| {
        let reason = reason.to_owned();
        StagingError::Grant { path: grant.path.clone(), reason }
    };
    let (above, name) = single_file(&grant.path, bytes).map_err(refuse)?;
    if !spec.staged.iter().any(|staged| staged.path == above) {
        let layer =
            folder.add_copies_layer(above, false).map_err(|error| refuse(&error.to_string()))?;
        let (upper, work) = (layer.upper(), layer.work());
        spec.staged.push(StagedFolder { path: above.to_owned(), upper, work });
    }
    // A grant for reading the same file would protect it.
    spec.files.retain(|other| other.path != grant.path || other.pattern.is_some());
    spec.files.push(FileGrant {
        path: above.to_owned(),
        access: FileAccess::Write,
        pattern: Some(name.to_owned()),
        create: false,
    });
    Ok(())
}

/// The folder and the name of a file that is copied before a run, or why it can't be.
fn single_file(path: &Path, bytes: u64) -> Result<(&Path, &str), &'static str> {
    /// Maximum size of a file that is copied before a run.
    const MAX_COPIED_BYTES: u64 = 256 << 20;
    /// Maximum number of other files in its folder, which are shown one by one beside a copy.
    const MAX_NEIGHBOURS: usize = 2048;
    let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
        return Err("it has no folder");
    };
    let is_literal = |name: &&str| !name.contains(['*', '?', '{', '}', '[', ']', '\\', ',', '!']);
    let Some(name) = name.to_str().filter(is_literal) else {
        return Err("its name contains characters that have a meaning in patterns");
    };
    if bytes > MAX_COPIED_BYTES {
        return Err("it is too large to be copied before each run");
    }
    let is_crowded = std::fs::read_dir(above)
        .is_ok_and(|entries| entries.take(MAX_NEIGHBOURS + 1).count() > MAX_NEIGHBOURS);
    if is_crowded {
        return Err("its folder has too many other files");
    }
    Ok((above, name))
}

/// Why changes through grants could not be undone, as far as it can be known before a run.
pub(crate) fn obstacles(grants: &[FileGrant], world: &World) -> Vec<(PathBuf, String)> {
    // The machine does not change while this process lives.
    static OVERLAYS: OnceLock<Result<(), String>> = OnceLock::new();
    let home = world.state.changes();
    let grants = separate_grants(grants).into_iter().filter(|grant| grant.pattern.is_none());
    let (whole, single): (Vec<FileGrant>, Vec<FileGrant>) =
        grants.partition(|grant| grant.path.is_dir());
    let single = single.into_iter().filter_map(|grant| {
        let data =
            std::fs::symlink_metadata(&grant.path).ok().filter(std::fs::Metadata::is_file)?;
        let reason = single_file(&grant.path, data.len()).err()?;
        Some((grant.path.clone(), reason.to_owned()))
    });
    let mut found: Vec<(PathBuf, String)> = single.collect();
    if whole.is_empty() {
        return found;
    }
    let overlays = OVERLAYS.get_or_init(prowess_sandbox::try_overlay);
    found.extend(whole.into_iter().filter_map(|FileGrant { path, .. }| {
        let reason = match overlays {
            Ok(()) => prowess_changes::check_folder(&home, &path).err()?.to_string(),
            Err(reason) => reason.clone(),
        };
        Some((path, reason))
    }));
    found
}

/// Examines what a run would leave in repositories, as git would read it after applying: an index with forged paths or an
/// operation that starts programs when it goes on is refused, and harmless settings of a new repository are applied.
fn examine_repositories(
    folder: &RunFolder,
    set: &ChangeSet,
    context: &ChangeContext<'_>,
    changed: &mut [ChangedFile],
) {
    let is_dot_git = |name: &OsStr| git_files::is_dot_git(name.as_encoded_bytes());
    let mut seen: BTreeSet<(usize, PathBuf)> = BTreeSet::new();
    for change in &set.changes {
        let Some(layer) = folder.layers().get(change.layer) else { continue };
        // Of a linked worktree, a folder in the repository is granted itself.
        let repository: PathBuf = if layer.target.iter().any(is_dot_git) {
            PathBuf::new()
        } else if let Some(at) = change.path.iter().position(is_dot_git) {
            change.path.iter().take(at + 1).collect()
        } else {
            let full = layer.target.join(&change.path);
            let bare = context.bare_repositories.iter().find(|bare| full.starts_with(bare));
            match bare.and_then(|bare| bare.strip_prefix(&layer.target).ok()) {
                Some(bare) => bare.to_owned(),
                None => continue,
            }
        };
        if seen.insert((change.layer, repository.clone())) {
            let places = StagedRepository {
                staged: layer.upper().join(&repository),
                current: layer.target.join(&repository),
                upper: &layer.upper(),
                top: &layer.target,
            };
            places.examine(context, changed);
        }
    }
}

/// A repository in the upper layer of a run, and in the user's folder.
struct StagedRepository<'r> {
    staged: PathBuf,
    current: PathBuf,
    upper: &'r Path,
    top: &'r Path,
}

impl StagedRepository<'_> {
    fn examine(&self, context: &ChangeContext<'_>, changed: &mut [ChangedFile]) {
        self.refuse_traps(Path::new(""), changed);
        if !context.may_start_git {
            return;
        }
        let (staged, current) = (self.staged.join("config"), self.current.join("config"));
        let asked = changed
            .iter_mut()
            .find(|file| file.path == current && file.decision == ChangeDecision::Ask);
        if let Some(file) = asked {
            let reason = match file.kind.as_str() {
                "added" => planted::staged_setting(&staged, context.writable),
                "changed" => planted::staged_settings(&staged, &current, context.writable),
                _ => return,
            };
            match reason {
                None => (file.decision, file.reason) = (ChangeDecision::Apply, None),
                reason => file.reason = reason,
            }
        }
        let worktrees = std::fs::read_dir(self.staged.join("worktrees"));
        for name in worktrees.into_iter().flatten().flatten().map(|entry| entry.file_name()) {
            self.accept_worktree(&Path::new("worktrees").join(name), context, changed);
        }
    }

    /// Refuses what would mislead git, in the repository itself or in the folder of a worktree.
    fn refuse_traps(&self, inner: &Path, changed: &mut [ChangedFile]) {
        let (staged, current) = (self.staged.join(inner), self.current.join(inner));
        for (place, reason) in planted::staged_traps(&staged, &current) {
            let place = current.join(place);
            for file in changed.iter_mut().filter(|file| file.path.starts_with(&place)) {
                (file.decision, file.reason) = (ChangeDecision::Refuse, Some(reason.clone()));
            }
        }
    }

    /// Accepts the files by which a new worktree and its repository refer to each other.
    fn accept_worktree(
        &self,
        inner: &Path,
        context: &ChangeContext<'_>,
        changed: &mut [ChangedFile],
    ) {
        let (staged, current) = (self.staged.join(inner), self.current.join(inner));
        if !std::fs::symlink_metadata(&staged).is_ok_and(|data| data.is_dir()) {
            return;
        }
        self.refuse_traps(inner, changed);
        let Some(link) = planted::staged_worktree(&staged, &current, context.writable) else {
            return;
        };
        let Ok(below) = link.strip_prefix(self.top) else { return };
        if !planted::staged_link(&self.upper.join(below), &current) {
            return;
        }
        let own = [link.clone(), current.join("commondir"), current.join("gitdir")];
        let asked = |file: &&mut ChangedFile| {
            file.kind == "added" && file.decision == ChangeDecision::Ask && own.contains(&file.path)
        };
        for file in changed.iter_mut().filter(asked) {
            (file.decision, file.reason) = (ChangeDecision::Apply, None);
        }
    }
}

/// Whether a folder has an entry of a name.
type HasEntry<'h> = dyn Fn(&str) -> bool + 'h;

/// The folders around changes that would have certain entries, in the upper layer or in the user's folder.
fn folders_with(
    folder: &RunFolder,
    set: &ChangeSet,
    wanted: &dyn Fn(&HasEntry<'_>) -> bool,
) -> Vec<PathBuf> {
    use std::os::unix::fs::FileTypeExt as _;
    let mut seen: BTreeSet<(usize, &Path)> = BTreeSet::new();
    let mut found = Vec::new();
    for change in &set.changes {
        let Some(layer) = folder.layers().get(change.layer) else { continue };
        let upper = layer.upper();
        for above in change.path.ancestors() {
            if !seen.insert((change.layer, above)) {
                break;
            }
            let has = |name: &str| match std::fs::symlink_metadata(upper.join(above).join(name)) {
                // A character device is a deletion.
                Ok(data) => !data.file_type().is_char_device(),
                Err(_) => std::fs::symlink_metadata(layer.target.join(above).join(name)).is_ok(),
            };
            if wanted(&has) {
                found.push(joined(&layer.target, above));
            }
        }
    }
    found
}

/// What the indexes among changes mean, as the run has left them.
fn indexes(folder: &RunFolder, changed: &[ChangedFile]) -> BTreeMap<PathBuf, String> {
    let is_index = |file: &&ChangedFile| file.path.file_name().is_some_and(|name| name == "index");
    let meaning = |file: &ChangedFile| {
        let staged = folder.layers().iter().find_map(|layer| {
            let below = file.path.strip_prefix(&layer.target).ok()?;
            Some(layer.upper().join(below))
        });
        // An applied one has been exchanged with the one before.
        let places = [Some(file.path.clone()), staged];
        let [applied, staged] =
            places.map(|place| place.as_deref().and_then(planted::index_meaning));
        let meaning = if folder.status() == RunStatus::Applied { applied } else { staged };
        Some((file.path.clone(), meaning?))
    };
    changed.iter().filter(is_index).filter_map(meaning).collect()
}

/// An id that nobody guesses.
fn random_id() -> Result<String, std::io::Error> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat())
}

/// One change needs no flush: a power failure loses it as it would lose any file that was just written.
fn durability(set: &ChangeSet) -> Durability {
    if set.changes.len() > 1 { Durability::OnDisk } else { Durability::Deferred }
}

fn path_of(folder: &RunFolder, layer: usize, path: &Path) -> PathBuf {
    let top = folder.layers().get(layer).map_or(Path::new("/"), |layer| &layer.target);
    if path.as_os_str().is_empty() { top.to_owned() } else { top.join(path) }
}

fn shown(path: &Path) -> String {
    let text = path.display().to_string();
    visible(&text).into_owned()
}

fn changed_file(
    top: &Path,
    change: &Change,
    conflict: Option<&Conflict>,
    context: &ChangeContext<'_>,
) -> ChangedFile {
    let after = change.after.as_ref().map(|after| match (after.entry, &after.target) {
        (EntryKind::Folder, _) => ProposedEntry::Folder,
        (_, Some(target)) => ProposedEntry::Link(target),
        _ => ProposedEntry::File { mode: after.mode },
    });
    let proposed = ProposedChange {
        folder: top,
        path: &change.path,
        after,
        was_executable: change.before.as_ref().is_some_and(|before| before.mode & 0o111 != 0),
    };
    let verdict = examine(&proposed, context);
    let (decision, reason) = match (conflict, verdict) {
        (Some(conflict), _) => (ChangeDecision::Conflict, Some(conflict.reason.as_str())),
        (None, ChangeVerdict::Apply | ChangeVerdict::Mention(_)) => {
            (ChangeDecision::Apply, verdict.reason())
        }
        (None, ChangeVerdict::Ask(_)) => (ChangeDecision::Ask, verdict.reason()),
        (None, ChangeVerdict::Refuse(_)) => (ChangeDecision::Refuse, verdict.reason()),
    };
    ChangedFile {
        path: joined(top, &change.path),
        kind: change.kind.as_str().to_owned(),
        bytes: change.after.as_ref().map_or(0, |after| after.bytes),
        decision,
        reason: reason.map(str::to_owned),
    }
}

fn joined(top: &Path, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { top.to_owned() } else { top.join(path) }
}

fn mark_conflict(changes: &mut RunChanges, folder: &RunFolder, conflict: &Conflict) {
    let path = path_of(folder, conflict.layer, &conflict.path);
    for file in changes.changes.iter_mut().filter(|file| file.path == path) {
        file.decision = ChangeDecision::Conflict;
        file.reason = Some(conflict.reason.as_str().to_owned());
    }
}

/// Said of the changes of a run that failed.
fn not_applied(all: usize) -> String {
    match all {
        1 => "its change was not applied".to_owned(),
        all => format!("its {all} changes were not applied"),
    }
}

/// Why nothing was applied, in a sentence.
fn undecided(file: &ChangedFile, all: usize) -> String {
    let reason = file.reason.as_deref().unwrap_or_default();
    let path = shown(&file.path);
    let count = match all {
        1 => "its change is".to_owned(),
        all => format!("its {all} changes are"),
    };
    match file.decision {
        ChangeDecision::Conflict => {
            format!("{count} not applied: `{path}` is in conflict, because {reason}")
        }
        ChangeDecision::Refuse => {
            format!("{count} not applied: `{path}` is never applied, because {reason}")
        }
        ChangeDecision::Ask | ChangeDecision::Apply => {
            format!("{count} not applied yet: `{path}` needs your decision, because {reason}")
        }
    }
}

/// What was applied and is worth a word.
fn mentioned(changes: &RunChanges) -> Option<String> {
    let files: Vec<&ChangedFile> =
        changes.changes.iter().filter(|file| file.reason.is_some()).collect();
    let first = files.first()?;
    let more = match files.len() {
        1 => String::new(),
        count => format!(", and {} more", count - 1),
    };
    let reason = first.reason.as_deref().unwrap_or_default();
    Some(format!("the run left `{}`{more}: {reason}", shown(&first.path)))
}

/// What is noted about a run beside its changes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct KeptNote {
    /// The skill and the tool.
    pub(crate) title: String,
    /// The skill, and the digest of its files.
    pub(crate) skill: String,
    pub(crate) digest: String,
    /// The exit code of the tool.
    pub(crate) exit_code: i32,
    /// The changes with their decisions.
    pub(crate) changes: Vec<ChangedFile>,
    /// What the indexes of git among them mean.
    pub(crate) indexes: BTreeMap<PathBuf, String>,
}

/// The version of notes.
const NOTE_VERSION: u64 = 1;

impl KeptNote {
    pub(crate) fn to_json(&self) -> Value {
        use std::os::unix::ffi::OsStrExt as _;
        let change = |file: &ChangedFile| {
            // Names need not be text.
            let path: Vec<u8> = file.path.as_os_str().as_bytes().to_vec();
            let path =
                String::from_utf8(path).map_or_else(|error| json!(error.into_bytes()), Value::from);
            json!({
                "path": path,
                "kind": file.kind,
                "bytes": file.bytes,
                "decision": file.decision.as_str(),
                "reason": file.reason,
            })
        };
        let changes: Vec<Value> = self.changes.iter().map(change).collect();
        let indexes = self.indexes.iter().filter_map(|(path, meaning)| {
            Some((path.to_str()?.to_owned(), Value::from(meaning.clone())))
        });
        json!({
            "indexes": indexes.collect::<serde_json::Map<_, _>>(),
            "version": NOTE_VERSION,
            "title": self.title,
            "skill": self.skill,
            "digest": self.digest,
            "exit_code": self.exit_code,
            "changes": changes,
        })
    }

    /// `None` if it is damaged or of another version.
    pub(crate) fn of_json(value: &Value) -> Option<Self> {
        use std::os::unix::ffi::OsStringExt as _;
        if value.get("version")?.as_u64()? != NOTE_VERSION {
            return None;
        }
        let path = |value: &Value| match value {
            Value::String(text) => Some(PathBuf::from(text)),
            Value::Array(bytes) => {
                let bytes: Option<Vec<u8>> = bytes
                    .iter()
                    .map(|byte| byte.as_u64().and_then(|byte| u8::try_from(byte).ok()))
                    .collect();
                Some(PathBuf::from(std::ffi::OsString::from_vec(bytes?)))
            }
            _ => None,
        };
        let change = |value: &Value| {
            Some(ChangedFile {
                path: path(value.get("path")?)?,
                kind: value.get("kind")?.as_str()?.to_owned(),
                bytes: value.get("bytes")?.as_u64()?,
                decision: ChangeDecision::of_name(value.get("decision")?.as_str()?)?,
                reason: value.get("reason")?.as_str().map(str::to_owned),
            })
        };
        let changes =
            value.get("changes")?.as_array()?.iter().map(change).collect::<Option<_>>()?;
        let text = |name: &str| value.get(name)?.as_str().map(str::to_owned);
        let exit_code = value.get("exit_code")?.as_i64()?;
        let indexes = value.get("indexes").and_then(Value::as_object).into_iter().flatten();
        let indexes = indexes
            .filter_map(|(path, meaning)| Some((PathBuf::from(path), meaning.as_str()?.to_owned())))
            .collect();
        Some(Self {
            indexes,
            title: text("title")?,
            skill: text("skill")?,
            digest: text("digest")?,
            exit_code: i32::try_from(exit_code).ok()?,
            changes,
        })
    }
}
