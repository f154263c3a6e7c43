//! Puts Prowess as an MCP server into the settings of agents, and removes it again.
//!
//! A change is planned first ([`plan_install`], [`plan_uninstall`]), shown ([`SettingsChange::difference`]) and applied
//! later. Applying compares the file with the plan, follows no links and replaces it atomically. What was written is
//! recorded in the user's data folder, so that removing it restores the former bytes.

pub mod entry;
mod record;
mod table;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use prowess_core::{Problem, ProblemKind, system_reason};
use prowess_files::atomic::read_open;
use prowess_files::folder::{EntryKind, Folder};
use prowess_files::with_lock;
use prowess_format::diagnostic::{Edit, apply_edits};
use serde_json::Value;
use similar::TextDiff;

use crate::agents::Agent;
use crate::places::{Location, Places, Scope};
use entry::{EmptyContainer, EntryError, ServerEntry};
use record::{Record, WrittenEntry};

pub use table::{McpSettings, SERVER_NAME, Shape, all, of};

/// Maximum size of a settings file in bytes. Claude Code's contains histories and grows.
const MAX_BYTES: u64 = 32 << 20;
/// Prefix of the name of a file while it is written.
const TEMPORARY: &str = ".prowess-new-";
/// The mode of new files of the user: others write keys into them.
const PRIVATE_MODE: u32 = 0o600;
/// The mode of new files of a project.
const PROJECT_MODE: u32 = 0o644;
/// The mode bits that a replaced file keeps.
const MODE_BITS: u32 = 0o777;

/// A planned change of one settings file.
#[derive(Clone, Debug)]
pub struct SettingsChange {
    /// The agent.
    pub agent: &'static Agent,
    /// The action.
    pub action: SettingsAction,
    /// The file.
    pub path: PathBuf,
    file: SettingsFile,
    scope: Scope,
    /// The text when it was planned; `None` if there was no file.
    before: Option<String>,
    /// The text to write; `None` if the file is removed.
    after: Option<String>,
    /// The entry to record; `None` removes it from the record.
    written: Option<WrittenEntry>,
    /// Folders to remove if they are empty.
    remove_folders: Vec<PathBuf>,
}

/// The action on a settings file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingsAction {
    /// An entry is added.
    Add,
    /// An existing entry is corrected.
    Update,
    /// The entry is removed.
    Remove,
    /// Nothing: the file is as it should be.
    Nothing,
}

impl SettingsAction {
    /// The name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            SettingsAction::Add => "add",
            SettingsAction::Update => "update",
            SettingsAction::Remove => "remove",
            SettingsAction::Nothing => "nothing",
        }
    }
}

/// Plans the entry of an agent. `command` is the program that the agent starts.
pub fn plan_install(
    agent: &'static Agent,
    scope: Scope,
    places: &Places,
    command: &str,
) -> Result<SettingsChange, Problem> {
    let (settings, file) = settings_file(agent, scope, places)?;
    let entry = settings.entry(command);
    let before = file.read()?;
    let current = before.as_deref().unwrap_or_default();
    let edits =
        entry::add(current, settings.format, &entry).map_err(|error| file.problem(&error))?;
    if edits.is_empty() {
        return Ok(file.change(agent, scope, SettingsAction::Nothing, before));
    }
    let record = record::read(&record_path(places)).map_err(|error| file.failed("read", &error))?;
    let known = record.get(&file.path);
    // An entry of ours is replaced as if it had never been written, so that its removal leads back to the beginning.
    let former = known.and_then(|known| Some((known, known.former(current)?)));
    let (known, base, edits) = match former {
        Some((known, base)) => {
            let edits = entry::add(&base, settings.format, &entry);
            (Some(known), base, edits.map_err(|error| file.problem(&error))?)
        }
        None => (None, current.to_owned(), edits),
    };
    let after = apply_edits(&base, &edits);
    let written = WrittenEntry {
        digest: record::digest(&after),
        undo: entry::inverse(&base, &edits),
        created_file: known.map_or(before.is_none(), |known| known.created_file),
        created_container: is_new_container(&base, settings, &entry),
        created_folders: match known {
            Some(known) => known.created_folders.clone(),
            None => file.missing_folders(),
        },
    };
    let action = if has_entry(current, settings, &entry) {
        SettingsAction::Update
    } else {
        SettingsAction::Add
    };
    let mut change = file.change(agent, scope, action, before);
    change.after = Some(after);
    change.written = Some(written);
    Ok(change)
}

/// Plans the removal of the entry of an agent.
pub fn plan_uninstall(
    agent: &'static Agent,
    scope: Scope,
    places: &Places,
) -> Result<SettingsChange, Problem> {
    let (settings, file) = settings_file(agent, scope, places)?;
    let Some(before) = file.read()? else {
        return Ok(file.change(agent, scope, SettingsAction::Nothing, None));
    };
    let entry = settings.entry("");
    let record = record::read(&record_path(places)).map_err(|error| file.failed("read", &error))?;
    let known = record.get(&file.path);
    let empty = match known {
        Some(known) if known.created_container => EmptyContainer::Remove,
        _ => EmptyContainer::Keep,
    };
    let former = known.and_then(|known| known.former(&before));
    let edits = entry::remove(&before, settings.format, &entry, empty);
    let edits: Vec<Edit> = match (edits, &former) {
        (Ok(edits), _) => edits,
        // The digest says that the text is the one that was written here, so the way back is known.
        (Err(EntryError::Unusual | EntryError::Occupied { .. }), Some(_)) => Vec::new(),
        (Err(error), _) => return Err(file.problem(&error)),
    };
    if edits.is_empty() && former.is_none() {
        return Ok(file.change(agent, scope, SettingsAction::Nothing, Some(before)));
    }
    let is_created = known.is_some_and(|known| known.created_file);
    let after = match former {
        Some(_) if is_created => None,
        Some(former) => Some(former),
        None => Some(apply_edits(&before, &edits)),
    };
    let mut change = file.change(agent, scope, SettingsAction::Remove, Some(before));
    if after.is_none() {
        change.remove_folders =
            known.map(|known| known.created_folders.clone()).unwrap_or_default();
    }
    change.after = after;
    Ok(change)
}

impl SettingsChange {
    /// The change as a unified difference; empty if there is none.
    pub fn difference(&self, shown_path: &str) -> String {
        if self.action == SettingsAction::Nothing {
            return String::new();
        }
        let before = self.before.as_deref().unwrap_or_default();
        let after = self.after.as_deref().unwrap_or_default();
        let names = (
            if self.before.is_some() { shown_path } else { "/dev/null" },
            if self.after.is_some() { shown_path } else { "/dev/null" },
        );
        let difference = TextDiff::from_lines(before, after);
        // One line of context: settings contain keys, which need not be on the screen.
        difference.unified_diff().context_radius(1).header(names.0, names.1).to_string()
    }

    /// Applies the change, unless the file is no longer what it was when the change was planned.
    pub fn apply(&self, places: &Places) -> Result<(), Problem> {
        if self.action == SettingsAction::Nothing {
            return Ok(());
        }
        let path = record_path(places);
        let applied: Result<Result<(), Problem>, io::Error> =
            with_lock(&path, || Ok(self.apply_locked(&path)));
        applied.map_err(|error| self.file.failed("lock", &error))?
    }

    fn apply_locked(&self, record_path: &Path) -> Result<(), Problem> {
        if self.file.read()? != self.before {
            return Err(self.file.changed());
        }
        let mut record =
            record::read(record_path).map_err(|error| self.file.failed("read", &error))?;
        // Recorded first: an entry that was recorded and not written has another digest, and does no harm.
        if let Some(written) = &self.written {
            record.insert(self.path.clone(), written.clone());
            self.store(record_path, &record)?;
        }
        match &self.after {
            Some(after) => self.file.write(after, self.before.as_deref(), self.scope)?,
            None => self.file.remove(self.before.as_deref())?,
        }
        self.file.remove_folders(&self.remove_folders);
        if self.written.is_none() && record.remove(&self.path).is_some() {
            self.store(record_path, &record)?;
        }
        Ok(())
    }

    fn store(&self, path: &Path, record: &Record) -> Result<(), Problem> {
        record::store(path, record)
            .map_err(|error| self.file.failed("record the change of", &error))
    }
}

fn record_path(places: &Places) -> PathBuf {
    places.data.join(record::FILE_NAME)
}

/// The row of the table and the file of an agent.
fn settings_file(
    agent: &'static Agent,
    scope: Scope,
    places: &Places,
) -> Result<(&'static McpSettings, SettingsFile), Problem> {
    if scope == Scope::Project && places.project.is_none() {
        let message = "the current folder is not in a project";
        return Err(Problem::new("no-project", ProblemKind::NotFound, message)
            .advice("change to a project, or choose the user's settings"));
    }
    let settings = of(agent, scope).ok_or_else(|| no_settings(agent, scope))?;
    let location = settings.locate(places).ok_or_else(|| no_settings(agent, scope))?;
    Ok((settings, SettingsFile::new(location, places)?))
}

fn no_settings(agent: &Agent, scope: Scope) -> Problem {
    let other = match scope {
        Scope::Project => Scope::User,
        Scope::User => Scope::Project,
    };
    if of(agent, other).is_some() {
        let message = format!(
            "{} reads MCP servers from the settings of the {} only",
            agent.title,
            other.as_str()
        );
        return Problem::new("no-mcp-settings", ProblemKind::InvalidInput, message)
            .advice(format!("choose the settings of the {}", other.as_str()));
    }
    let mut known: Vec<&str> = all().iter().map(|settings| settings.agent).collect();
    known.dedup();
    let message = format!("the format of the MCP settings of {} is not known", agent.title);
    Problem::new("no-mcp-settings", ProblemKind::InvalidInput, message)
        .advice(format!("supported agents: {}", known.join(", ")))
}

fn has_entry(text: &str, settings: &McpSettings, entry: &ServerEntry) -> bool {
    let removal = entry::remove(text, settings.format, entry, EmptyContainer::Keep);
    !matches!(removal, Ok(edits) if edits.is_empty())
}

/// Whether adding the entry creates the map of servers too.
fn is_new_container(text: &str, settings: &McpSettings, entry: &ServerEntry) -> bool {
    let value = entry::container(text, settings.format, &entry.container);
    value.is_none_or(|value| value == Value::Null)
}

/// A settings file, reached without links from a folder that it must stay in.
#[derive(Clone, Debug)]
struct SettingsFile {
    path: PathBuf,
    shown: String,
    anchor: PathBuf,
    folders: Vec<String>,
    name: String,
}

impl SettingsFile {
    fn new(location: Location, places: &Places) -> Result<Self, Problem> {
        let shown = places.shown(&location.path);
        let below = location.path.strip_prefix(&location.anchor).unwrap_or(Path::new(""));
        let parts = below.iter().map(|part| part.to_str().map(str::to_owned));
        let parts: Option<Vec<String>> = parts.collect();
        let Some([folders @ .., name]) = parts.as_deref() else {
            let message = format!("`{shown}` is not a file path");
            return Err(Problem::new("settings-unreadable", ProblemKind::Failed, message));
        };
        let (folders, name) = (folders.to_vec(), name.clone());
        Ok(Self { path: location.path, shown, anchor: location.anchor, folders, name })
    }

    fn change(
        self,
        agent: &'static Agent,
        scope: Scope,
        action: SettingsAction,
        before: Option<String>,
    ) -> SettingsChange {
        SettingsChange {
            agent,
            action,
            path: self.path.clone(),
            after: before.clone(),
            before,
            file: self,
            scope,
            written: None,
            remove_folders: Vec::new(),
        }
    }

    /// The text of the file; `None` if there is none.
    fn read(&self) -> Result<Option<String>, Problem> {
        let Some(folder) = self.folder()? else { return Ok(None) };
        let Some(file) = self.open(&folder)? else { return Ok(None) };
        let bytes = read_open(file, MAX_BYTES).map_err(|error| self.failed("read", &error))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| self.problem(&EntryError::Syntax("it is not UTF-8".to_owned())))?;
        Ok(Some(text))
    }

    fn open(&self, folder: &Folder) -> Result<Option<File>, Problem> {
        let kind =
            folder.kind(self.name.as_bytes()).map_err(|error| self.failed("read", &error))?;
        match kind {
            None => Ok(None),
            Some(EntryKind::File) => {
                let file = folder.file(self.name.as_bytes());
                file.map(Some).map_err(|error| self.failed("open", &error))
            }
            Some(EntryKind::Link) => Err(self.link(&self.path)),
            Some(EntryKind::Folder | EntryKind::Other) => {
                let message = format!("`{}` is not a file", self.shown);
                Err(Problem::new("settings-unreadable", ProblemKind::Failed, message))
            }
        }
    }

    /// The folder of the file; `None` if it does not exist.
    fn folder(&self) -> Result<Option<Folder>, Problem> {
        let Some(mut folder) = self.open_anchor()? else { return Ok(None) };
        let mut path = self.anchor.clone();
        for part in &self.folders {
            path.push(part);
            let kind = folder.kind(part.as_bytes()).map_err(|error| self.failed("open", &error))?;
            match kind {
                None => return Ok(None),
                Some(EntryKind::Link) => return Err(self.link(&path)),
                Some(EntryKind::Folder | EntryKind::File | EntryKind::Other) => {}
            }
            folder = folder.folder(part).map_err(|error| self.failed("open", &error))?;
        }
        Ok(Some(folder))
    }

    /// Home and project may be links themselves: the user chose them.
    fn open_anchor(&self) -> Result<Option<Folder>, Problem> {
        match self.anchor.canonicalize().and_then(|anchor| Folder::open(&anchor)) {
            Ok(folder) => Ok(Some(folder)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed("open", &error)),
        }
    }

    /// The folders that writing would create, the outermost first.
    fn missing_folders(&self) -> Vec<PathBuf> {
        let mut path = self.anchor.clone();
        let paths = self.folders.iter().map(|part| {
            path.push(part);
            path.clone()
        });
        paths.filter(|path| path.symlink_metadata().is_err()).collect()
    }

    /// Replaces the file, if it still has the text `before`.
    fn write(&self, text: &str, before: Option<&str>, scope: Scope) -> Result<(), Problem> {
        let failed = |error: io::Error| self.failed("write", &error);
        if before.is_none() {
            std::fs::create_dir_all(&self.anchor).map_err(failed)?;
        }
        let mut folder = self.open_anchor()?.ok_or_else(|| self.changed())?;
        for part in &self.folders {
            folder = folder.folder_or_make(part).map_err(failed)?;
        }
        let mode = match self.unchanged(&folder, before)? {
            Some(file) => mode_of(&file).map_err(failed)?,
            None if scope == Scope::Project => PROJECT_MODE,
            None => PRIVATE_MODE,
        };
        let temporary = format!("{TEMPORARY}{}", self.name);
        folder.replace_file(&self.name, &temporary, mode, text.as_bytes()).map_err(failed)
    }

    /// Removes the file, if it still has the text `before`.
    fn remove(&self, before: Option<&str>) -> Result<(), Problem> {
        let Some(folder) = self.folder()? else { return Err(self.changed()) };
        self.unchanged(&folder, before)?;
        folder.remove_file(&self.name).map_err(|error| self.failed("remove", &error))
    }

    /// The open file, if it has the text `before`.
    fn unchanged(&self, folder: &Folder, before: Option<&str>) -> Result<Option<File>, Problem> {
        let file = self.open(folder)?;
        let Some(file) = file else {
            return if before.is_none() { Ok(None) } else { Err(self.changed()) };
        };
        let copy = file.try_clone().map_err(|error| self.failed("read", &error))?;
        let bytes = read_open(copy, MAX_BYTES).map_err(|error| self.failed("read", &error))?;
        if before.is_some_and(|before| before.as_bytes() == bytes) {
            Ok(Some(file))
        } else {
            Err(self.changed())
        }
    }

    /// Removes folders that were created for the file, if they are empty. Others stay, which is not an error.
    fn remove_folders(&self, folders: &[PathBuf]) {
        for folder in folders.iter().rev().filter(|folder| folder.starts_with(&self.anchor)) {
            if std::fs::remove_dir(folder).is_err() {
                return;
            }
        }
    }

    fn problem(&self, error: &EntryError) -> Problem {
        let message = format!("can't edit `{}`: {error}", self.shown);
        match error {
            EntryError::Syntax(_) | EntryError::NotAMap(_) => {
                Problem::new("settings-invalid", ProblemKind::Corrupt, message)
                    .advice("correct the file first; nothing was changed")
            }
            EntryError::Occupied { name } => {
                Problem::new("settings-occupied", ProblemKind::Conflict, message)
                    .advice(format!("rename or remove the entry `{name}` in the file"))
            }
            EntryError::Unusual => Problem::new("settings-unusual", ProblemKind::Conflict, message)
                .advice(format!("edit the entry `{SERVER_NAME}` by hand; nothing was changed")),
        }
    }

    fn link(&self, path: &Path) -> Problem {
        let message = if path == self.path {
            format!(
                "`{}` is a symbolic link, and settings are not written through links",
                self.shown
            )
        } else {
            format!("`{}` is reached through the symbolic link `{}`", self.shown, path.display())
        };
        Problem::new("settings-link", ProblemKind::Refused, message)
            .advice("edit the file that the link points to by hand")
    }

    fn changed(&self) -> Problem {
        let message = format!("`{}` has changed in the meantime and was left alone", self.shown);
        Problem::new("settings-changed", ProblemKind::Conflict, message).advice("try again")
    }

    fn failed(&self, verb: &str, error: &io::Error) -> Problem {
        let message = format!("can't {verb} `{}`: {}", self.shown, system_reason(error));
        Problem::new("settings-unreadable", ProblemKind::Failed, message)
    }
}

/// The permission bits of a file.
fn mode_of(file: &File) -> io::Result<u32> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(file.metadata()?.permissions().mode() & MODE_BITS)
}
