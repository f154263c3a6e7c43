//! The record of placements: `placements.json` next to the store.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use prowess_files::folder::{EntryKind, Folder};
use prowess_package::name::SkillName;
use serde_json::{Map, Value, json};

use crate::places::{Places, Scope};

use super::{PlacementError, PlacementForm, disk, reach};

/// The name of the record.
pub const FILE_NAME: &str = "placements.json";
/// The name of the record while it is written.
const NEW: &str = "placements.json.new";
const VERSION: u64 = 1;
/// Maximum size of the record.
const MOST_BYTES: u64 = 16 << 20;

/// The placements of a scope.
#[derive(Clone, Debug, Default)]
pub(super) struct Record {
    /// The base of relative paths: the project or the home.
    base: PathBuf,
    /// The placements by path. Hundreds of skills are placed at once, so lookups must be fast.
    placements: BTreeMap<PathBuf, RecordedPlacement>,
    /// Folders that were created for placements, to be removed with the last of them.
    pub(super) folders: Vec<PathBuf>,
}

/// A recorded placement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedPlacement {
    /// The skill.
    pub skill: SkillName,
    /// The path.
    pub path: PathBuf,
    /// The form.
    pub form: PlacementForm,
    /// The previous form, while the change may be incomplete.
    pub(super) was: Option<PlacementForm>,
    /// The ids of the agents that use it.
    pub owners: Vec<String>,
}

impl RecordedPlacement {
    /// All forms that may exist on disk.
    pub(super) fn forms(&self) -> impl Iterator<Item = &PlacementForm> {
        [Some(&self.form), self.was.as_ref()].into_iter().flatten()
    }
}

/// The recorded placements of a scope.
pub fn placed(places: &Places, scope: Scope) -> Result<Vec<RecordedPlacement>, PlacementError> {
    Record::read(places, scope).map(|record| record.placements.into_values().collect())
}

impl Record {
    /// Reads the record. A missing one is empty.
    pub(super) fn read(places: &Places, scope: Scope) -> Result<Self, PlacementError> {
        let base = match scope {
            Scope::Project => places.project.as_ref().ok_or(PlacementError::NoProject)?,
            Scope::User => &places.home,
        };
        let base = base.canonicalize().map_err(disk("open", base))?;
        let empty = Self { base, ..Self::default() };
        let path = places.state(scope).ok_or(PlacementError::NoProject)?.join(FILE_NAME);
        if !path.exists() {
            return Ok(empty);
        }
        let state = reach::state(scope, places)?;
        let Some(folder) = state.open_existing()? else { return Ok(empty) };
        if folder.kind(FILE_NAME.as_bytes()).map_err(disk("read", &path))? != Some(EntryKind::File)
        {
            let why = "it is not a file".to_owned();
            return Err(PlacementError::Record { path, why });
        }
        let mut text = String::new();
        let file = folder.file(FILE_NAME.as_bytes()).map_err(disk("read", &path))?;
        file.take(MOST_BYTES).read_to_string(&mut text).map_err(disk("read", &path))?;
        empty.parse(&text, places, scope).map_err(|why| PlacementError::Record { path, why })
    }

    fn parse(mut self, text: &str, places: &Places, scope: Scope) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        match value["version"].as_u64() {
            Some(VERSION) => {}
            Some(newer) => {
                return Err(format!(
                    "its format has version {newer}, but this program supports version {VERSION}"
                ));
            }
            None => return Err("`version` is missing".to_owned()),
        }
        let folders = reach::all_folders(scope, places);
        let folders: BTreeSet<PathBuf> = folders.into_iter().map(|folder| folder.real).collect();
        let rows = value["placements"].as_array().ok_or("`placements` is not a list")?;
        for (number, row) in rows.iter().enumerate() {
            let recorded = self.recorded(row, &folders);
            let recorded = recorded.map_err(|why| format!("`placements[{number}]`: {why}"))?;
            self.put(recorded);
        }
        let made = value["folders"].as_array().map(Vec::as_slice).unwrap_or_default();
        for folder in made.iter().filter_map(Value::as_str) {
            let path = self.base.join(folder);
            // Only parents of agents' folders: we never create others.
            let is_known = is_plain(&path) && folders.iter().any(|known| known.starts_with(&path));
            if !is_known || path == self.base {
                return Err(format!("`folders`: `{folder}` is not a parent of an agent's folder"));
            }
            self.folders.push(path);
        }
        Ok(self)
    }

    fn recorded(
        &self,
        row: &Value,
        folders: &BTreeSet<PathBuf>,
    ) -> Result<RecordedPlacement, String> {
        let text = |key: &str| row[key].as_str().ok_or_else(|| format!("`{key}` is missing"));
        let skill: SkillName = text("skill")?.parse().map_err(|error| format!("{error}"))?;
        let path = self.base.join(text("path")?);
        // Attack registry-B13: a placement is always an agent's folder and the name of the skill, whatever the record
        // says.
        let is_known = path.parent().is_some_and(|folder| folders.contains(folder))
            && path.file_name() == Some(skill.as_str().as_ref());
        if !is_plain(&path) || !is_known {
            return Err(format!("`{}` is not `{skill}` in an agent's folder", path.display()));
        }
        let owners = row["owners"].as_array().ok_or("`owners` is missing")?;
        let owners = owners.iter().filter_map(Value::as_str).map(str::to_owned).collect();
        let form = form(row).ok_or("`link` and `copy` are missing")?;
        Ok(RecordedPlacement { skill, path, form, was: form_of(row.get("was")), owners })
    }

    /// All placements, sorted by path.
    pub(super) fn all(&self) -> impl Iterator<Item = &RecordedPlacement> {
        self.placements.values()
    }

    /// The placement at a path.
    pub(super) fn at(&self, path: &Path) -> Option<&RecordedPlacement> {
        self.placements.get(path)
    }

    /// Records a placement.
    pub(super) fn put(&mut self, recorded: RecordedPlacement) {
        self.placements.insert(recorded.path.clone(), recorded);
    }

    /// Removes the placement at a path from the record.
    pub(super) fn forget(&mut self, path: &Path) {
        self.placements.remove(path);
    }

    /// Marks the change at a path as complete: the previous form is gone.
    pub(super) fn settle(&mut self, path: &Path) {
        if let Some(recorded) = self.placements.get_mut(path) {
            recorded.was = None;
        }
    }

    /// Writes the record atomically.
    pub(super) fn write(&self, state: &Folder) -> std::io::Result<()> {
        let shown = |path: &Path| {
            path.strip_prefix(&self.base).unwrap_or(path).to_string_lossy().into_owned()
        };
        let placements: Vec<Value> = self
            .all()
            .map(|recorded| {
                let mut row = Map::new();
                row.insert("skill".to_owned(), json!(recorded.skill.as_str()));
                row.insert("path".to_owned(), json!(shown(&recorded.path)));
                add_form(&mut row, &recorded.form);
                row.insert("owners".to_owned(), json!(recorded.owners));
                if let Some(was) = &recorded.was {
                    let mut before = Map::new();
                    add_form(&mut before, was);
                    row.insert("was".to_owned(), Value::Object(before));
                }
                Value::Object(row)
            })
            .collect();
        let folders: Vec<String> = self.folders.iter().map(|path| shown(path)).collect();
        let value = json!({ "version": VERSION, "placements": placements, "folders": folders });
        let text = format!("{value:#}\n");
        state.replace_file(FILE_NAME, NEW, 0o644, text.as_bytes())
    }
}

fn form(row: &Value) -> Option<PlacementForm> {
    match (row["link"].as_str(), row["copy"].as_str()) {
        (Some(target), None) => Some(PlacementForm::Link(PathBuf::from(target))),
        (None, Some(digest)) => {
            Some(PlacementForm::Copy(digest.strip_prefix("sha256:")?.parse().ok()?))
        }
        _ => None,
    }
}

fn form_of(row: Option<&Value>) -> Option<PlacementForm> {
    form(row?)
}

fn add_form(row: &mut Map<String, Value>, form: &PlacementForm) {
    match form {
        PlacementForm::Link(target) => {
            row.insert("link".to_owned(), json!(target.to_string_lossy()))
        }
        PlacementForm::Copy(digest) => {
            row.insert("copy".to_owned(), json!(format!("sha256:{digest}")))
        }
    };
}

/// Whether a path is absolute, without `.` and `..`.
fn is_plain(path: &Path) -> bool {
    path.is_absolute()
        && path.components().all(|part| matches!(part, Component::Normal(_) | Component::RootDir))
}
