//! Which store an operation works on. There is one rule: inside a project that has a lock file, operations use the project's
//! store, elsewhere the user's own; a user who asks for one of the two gets it.

use std::path::Path;

use prowess_store::places::Scope;
use prowess_store::store::LOCK_FILE;
use serde_json::{Value, json};

use super::{PROJECT_FOLDER, PackageManager};

/// The store that was chosen, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScopeChoice {
    /// The store.
    pub scope: Scope,
    /// Why it was chosen.
    pub reason: ScopeReason,
}

/// Why a store was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScopeReason {
    /// The user asked for it.
    Asked,
    /// The project has a lock file.
    ProjectLock,
    /// There is no project with a lock file here.
    NoProjectLock,
}

impl ScopeReason {
    /// The word on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::ProjectLock => "project_lock",
            Self::NoProjectLock => "no_project_lock",
        }
    }
}

impl PackageManager {
    /// Chooses the store. Whoever asks for the project's in a folder outside of any project makes that folder one.
    #[must_use]
    pub fn choose_scope(mut self, asked: Option<Scope>) -> (Self, ScopeChoice) {
        let has_lock = || self.lock_path(Scope::Project).is_file();
        let choice = match asked {
            Some(scope) => ScopeChoice { scope, reason: ScopeReason::Asked },
            None if has_lock() => {
                ScopeChoice { scope: Scope::Project, reason: ScopeReason::ProjectLock }
            }
            None => ScopeChoice { scope: Scope::User, reason: ScopeReason::NoProjectLock },
        };
        if choice.scope == Scope::Project && self.places.project.is_none() {
            self.places.project = Some(self.places.current.clone());
        }
        (self, choice)
    }

    /// The chosen store as JSON, for the report of an operation.
    pub fn scope_json(&self, choice: ScopeChoice) -> Value {
        json!({
            "scope": choice.scope.as_str(),
            "scope_reason": choice.reason.as_str(),
            "store": self.store_path(choice.scope).display().to_string(),
        })
    }
}

/// The nearest folder with a lock file of a project, from the current folder upwards. The home folder counts only if it is
/// the current one, and so does a folder of another user: a lock file in `/tmp` says nothing about the folders below it.
pub(crate) fn project_around<'p>(current: &'p Path, home: &Path) -> Option<&'p Path> {
    let has_lock = |folder: &Path| folder.join(PROJECT_FOLDER).join(LOCK_FILE).is_file();
    let owner = owner_of(current);
    current
        .ancestors()
        .enumerate()
        .take_while(|(steps, folder)| {
            *steps == 0 || (*folder != home && owner.is_some() && owner_of(folder) == owner)
        })
        .map(|(_, folder)| folder)
        .find(|folder| has_lock(folder))
}

#[cfg(unix)]
fn owner_of(folder: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata(folder).ok().map(|metadata| metadata.uid())
}

#[cfg(not(unix))]
fn owner_of(folder: &Path) -> Option<u32> {
    folder.is_dir().then_some(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_makes_the_folders_below_it_part_of_the_project() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let home = folder.path();
        let deep = home.join("notes/2025/may");
        std::fs::create_dir_all(&deep).expect("folders");
        let lock = |at: &Path| {
            std::fs::create_dir_all(at.join(PROJECT_FOLDER)).expect("a folder");
            std::fs::write(at.join(PROJECT_FOLDER).join(LOCK_FILE), "{}").expect("a file");
        };
        assert_eq!(project_around(&deep, home), None);
        lock(home);
        assert_eq!(project_around(&deep, home), None, "the home is no project for all below it");
        assert_eq!(project_around(home, home), Some(home), "unless somebody stands in it");
        lock(&home.join("notes"));
        assert_eq!(project_around(&deep, home), Some(home.join("notes").as_path()));
    }
}
