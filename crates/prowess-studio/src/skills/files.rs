//! The files of skills: `DIR/skills/NAME/SKILL.md`, replaced as a whole and changed by one writer at a time.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use prowess_files::atomic::{self, WriteOptions};
use prowess_files::{lock_file, private};
use prowess_server::database::{Database, DatabaseError, values};

use super::SkillName;
use super::table::SkillTable;

/// The file of a skill.
const FILE: &str = "SKILL.md";
/// Held while a skill is changed. It is no content: it is not packed and not part of any digest (R25).
const LOCK: &str = "SKILL.md.lock";
/// Held while skills are created or deleted. The dot keeps it out of the list.
const FOLDER_LOCK: &str = ".skills.lock";
/// Maximum size of a file that is read. Above the limit of the API, because files are also put there by hand.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Maximum number of folders that a list looks at.
const MAX_SKILLS: usize = 10_000;

/// The row of the settings that says that a folder was imported.
pub(crate) const IMPORTED: &str = "skills-imported";

/// The folder of all skills, or their table where several servers share a database.
#[derive(Clone)]
pub(crate) struct SkillFiles {
    root: PathBuf,
    /// Where it is set, the table is the truth, and the folder has copies for tools.
    table: Option<SkillTable>,
}

/// A skill's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredSkill {
    pub(crate) name: SkillName,
    pub(crate) text: String,
    /// When it was last changed.
    pub(crate) modified: SystemTime,
    /// When its folder was made, where the file system knows.
    pub(crate) created: Option<SystemTime>,
}

/// Why a skill's file was not read or changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SkillFileError {
    #[error("there is no skill `{0}`")]
    Missing(SkillName),
    #[error("the skill `{0}` exists already")]
    Exists(SkillName),
    #[error("cannot use `{}`: {source}", .path.display())]
    Disk { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl SkillFiles {
    /// The skills in a folder, which is created when the first one is.
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root, table: None }
    }

    /// The skills of a database that was opened before.
    pub(crate) fn of_table(root: PathBuf, database: Database) -> Self {
        Self { root, table: Some(SkillTable { database }) }
    }

    /// Skills in a database, with copies in a folder. The first server of a database imports the skills of its folder.
    pub(crate) fn in_database(root: PathBuf, database: Database) -> Result<Self, SkillFileError> {
        let folder = Self::new(root);
        let table = SkillTable { database };
        let is_first = table.database.write_blocking(|transaction| {
            let sql = "INSERT INTO studio_settings (name, value) VALUES (?1, 'true') \
                       ON CONFLICT (name) DO NOTHING";
            transaction.execute(sql, &values![IMPORTED])
        })? > 0;
        if is_first {
            for stored in folder.all()? {
                table.insert(&stored.name, &stored.text, stored.modified)?;
            }
        }
        Ok(Self { table: Some(table), ..folder })
    }

    /// Brings the copy of a skill up to date.
    fn copy(&self, name: &SkillName, text: &str) -> Result<(), SkillFileError> {
        let path = self.folder(name).join(FILE);
        let disk = |source| SkillFileError::Disk { path: path.clone(), source };
        if atomic::read_text(&path, MAX_FILE_BYTES).ok().flatten().as_deref() == Some(text) {
            return Ok(());
        }
        private::private_folder(&self.folder(name)).map_err(disk)?;
        atomic::write(&path, text.as_bytes(), WriteOptions::PRIVATE).map_err(disk)
    }

    /// Writes all skills into another folder, as a backup has them.
    pub(crate) fn export(&self, target: &Path) -> Result<usize, SkillFileError> {
        let target = Self::new(target.to_owned());
        let skills = self.all()?;
        for stored in &skills {
            target.copy(&stored.name, &stored.text)?;
        }
        Ok(skills.len())
    }

    fn folder(&self, name: &SkillName) -> PathBuf {
        // One safe part of a path, by its type.
        self.root.join(name.as_str())
    }

    /// The folder of a skill with this text, for its tools.
    pub(crate) fn directory(
        &self,
        name: &SkillName,
        text: &str,
    ) -> Result<PathBuf, SkillFileError> {
        if self.table.is_some() {
            self.copy(name, text)?;
        }
        Ok(self.folder(name))
    }

    /// Reads a skill. Files are replaced as a whole, so that no lock is needed.
    pub(crate) fn read(&self, name: &SkillName) -> Result<StoredSkill, SkillFileError> {
        if let Some(table) = &self.table {
            return table.read(name);
        }
        let folder = self.folder(name);
        // A link could lead anywhere, and another spelling of the name is another skill's.
        if !is_real_folder(&folder) || !self.has_exact(name) {
            return Err(SkillFileError::Missing(name.clone()));
        }
        let path = folder.join(FILE);
        let disk = |source| SkillFileError::Disk { path: path.clone(), source };
        let metadata = match path.symlink_metadata() {
            Ok(metadata) if metadata.is_file() => metadata,
            Ok(_) => return Err(SkillFileError::Missing(name.clone())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(SkillFileError::Missing(name.clone()));
            }
            Err(error) => return Err(disk(error)),
        };
        let text = atomic::read_text(&path, MAX_FILE_BYTES)
            .map_err(disk)?
            .ok_or_else(|| SkillFileError::Missing(name.clone()))?;
        Ok(StoredSkill {
            name: name.clone(),
            text,
            modified: metadata.modified().map_err(disk)?,
            created: folder.metadata().ok().and_then(|folder| folder.created().ok()),
        })
    }

    /// On a file system that ignores case, a folder with another spelling is found too.
    fn has_exact(&self, name: &SkillName) -> bool {
        cfg!(target_os = "linux")
            || fs::read_dir(&self.root).is_ok_and(|entries| {
                entries.flatten().any(|entry| entry.file_name() == name.as_str())
            })
    }

    /// All readable skills. Others are omitted (specification §9.3).
    pub(crate) fn all(&self) -> Result<Vec<StoredSkill>, SkillFileError> {
        if let Some(table) = &self.table {
            return table.all();
        }
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(SkillFileError::Disk { path: self.root.clone(), source }),
        };
        let names = entries.flatten().take(MAX_SKILLS).filter_map(|entry| {
            entry.file_name().to_str().and_then(|name| name.parse::<SkillName>().ok())
        });
        Ok(names.filter_map(|name| self.read(&name).ok()).collect())
    }

    /// Creates a skill. It appears with its file in one step, so that a failure leaves nothing.
    pub(crate) fn create(&self, name: &SkillName, text: &str) -> Result<(), SkillFileError> {
        if let Some(table) = &self.table {
            table.create(name, text)?;
            return self.copy(name, text);
        }
        self.exclusively(|| {
            if self.is_taken(name)? {
                return Err(SkillFileError::Exists(name.clone()));
            }
            let disk = |source| SkillFileError::Disk { path: self.root.clone(), source };
            let half =
                tempfile::Builder::new().prefix(".new-").tempdir_in(&self.root).map_err(disk)?;
            atomic::write(&half.path().join(FILE), text.as_bytes(), WriteOptions::PRIVATE)
                .map_err(disk)?;
            fs::rename(half.path(), self.folder(name)).map_err(disk)?;
            // It has another name now.
            let _ = half.keep();
            atomic::sync_folder(&self.root).map_err(disk)
        })
    }

    /// Whether a name is taken, in any spelling (specification §4).
    pub(crate) fn is_taken(&self, name: &SkillName) -> Result<bool, SkillFileError> {
        if let Some(table) = &self.table {
            return table.is_taken(name);
        }
        match fs::read_dir(&self.root) {
            Ok(entries) => Ok(entries.flatten().any(|entry| {
                entry.file_name().to_str().is_some_and(|it| it.eq_ignore_ascii_case(name.as_str()))
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(source) => Err(SkillFileError::Disk { path: self.root.clone(), source }),
        }
    }

    /// Replaces the text of a skill with what `change` makes of it. Other writers wait.
    pub(crate) fn update<T, E: From<SkillFileError>>(
        &self,
        name: &SkillName,
        mut change: impl FnMut(&StoredSkill) -> Result<(String, T), E>,
    ) -> Result<T, E> {
        if let Some(table) = &self.table {
            let (text, result) = table.update(name, change)?;
            self.copy(name, &text)?;
            return Ok(result);
        }
        let folder = self.folder(name);
        // Before the lock, which would create a file in a folder that does not exist.
        self.read(name)?;
        let disk = |source| SkillFileError::Disk { path: folder.clone(), source };
        let lock = lock_file(&folder.join(LOCK)).map_err(disk)?;
        lock.lock().map_err(disk)?;
        let (text, result) = change(&self.read(name)?)?;
        atomic::write(&folder.join(FILE), text.as_bytes(), WriteOptions::PRIVATE).map_err(disk)?;
        Ok(result)
    }

    /// Deletes a skill with its folder and its lock file, unless `may` refuses it.
    pub(crate) fn delete<E: From<SkillFileError>>(
        &self,
        name: &SkillName,
        mut may: impl FnMut(&StoredSkill) -> Result<(), E>,
    ) -> Result<(), E> {
        if let Some(table) = &self.table {
            table.delete(name, may)?;
            // Only a copy, which nothing reads any more.
            let _ = fs::remove_dir_all(self.folder(name));
            return Ok(());
        }
        self.exclusively(|| {
            let folder = self.folder(name);
            let disk = |source| SkillFileError::Disk { path: folder.clone(), source };
            self.read(name)?;
            let lock = lock_file(&folder.join(LOCK)).map_err(disk)?;
            lock.lock().map_err(disk)?;
            may(&self.read(name)?)?;
            // Renamed first: a deletion that is interrupted leaves nothing that looks like a skill.
            let grave =
                tempfile::Builder::new().prefix(".gone-").tempdir_in(&self.root).map_err(disk)?;
            fs::rename(&folder, grave.path().join("skill")).map_err(disk)?;
            atomic::sync_folder(&self.root).map_err(disk)?;
            grave.close().map_err(disk)?;
            Ok(())
        })
    }

    fn exclusively<T, E: From<SkillFileError>>(
        &self,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let disk = |source| SkillFileError::Disk { path: self.root.clone(), source };
        private::private_folder(&self.root).map_err(disk)?;
        let lock = lock_file(&self.root.join(FOLDER_LOCK)).map_err(disk)?;
        lock.lock().map_err(disk)?;
        work()
    }

    /// Removes what a killed process has left.
    pub(crate) fn clean(&self) {
        let cleaned: Result<(), SkillFileError> = self.exclusively(|| {
            for entry in fs::read_dir(&self.root).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let is_left = name
                    .to_str()
                    .is_some_and(|name| name.starts_with(".new-") || name.starts_with(".gone-"));
                if is_left {
                    let _ = fs::remove_dir_all(entry.path());
                }
            }
            Ok(())
        });
        if let Err(error) = cleaned {
            tracing::warn!(%error, "unfinished skills were not removed");
        }
    }
}

fn is_real_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    type Done = Result<(), SkillFileError>;

    fn name(text: &str) -> SkillName {
        text.parse().expect("a valid name")
    }

    #[test]
    fn a_skill_is_created_changed_and_deleted_whole() {
        let root = prowess_testkit::temporary();
        let files = SkillFiles::new(root.path().join("skills"));
        let one = name("one");
        files.create(&one, "first").expect("it is created");
        // AFL-9.1-1
        let path = root.path().join("skills/one/SKILL.md");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "first");
        assert!(matches!(files.create(&one, "again"), Err(SkillFileError::Exists(_))));
        files
            .update(&one, |stored| Ok::<_, SkillFileError>((format!("{} second", stored.text), ())))
            .expect("it is changed");
        assert_eq!(files.read(&one).expect("it is there").text, "first second");
        assert_eq!(files.all().expect("a list").len(), 1);
        // AFL-9.5-1
        files.delete(&one, |_| Done::Ok(())).expect("it is deleted");
        assert!(!root.path().join("skills/one").exists());
        assert!(matches!(files.delete(&one, |_| Done::Ok(())), Err(SkillFileError::Missing(_))));
        let left: Vec<_> = fs::read_dir(root.path().join("skills")).expect("a folder").collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }

    #[test]
    fn names_are_unique_in_any_case() {
        // AFL-4-2
        let root = prowess_testkit::temporary();
        fs::create_dir_all(root.path().join("Layer")).expect("a folder");
        let files = SkillFiles::new(root.path().to_owned());
        assert!(matches!(files.create(&name("layer"), "x"), Err(SkillFileError::Exists(_))));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_not_followed() {
        let root = prowess_testkit::temporary();
        fs::create_dir_all(root.path().join("secret")).expect("a folder");
        fs::write(root.path().join("secret/SKILL.md"), "secret").expect("a file");
        let skills = root.path().join("skills");
        fs::create_dir_all(skills.join("file")).expect("a folder");
        std::os::unix::fs::symlink("../secret", skills.join("folder")).expect("a link");
        std::os::unix::fs::symlink("../../secret/SKILL.md", skills.join("file/SKILL.md"))
            .expect("a link");
        let files = SkillFiles::new(skills);
        for linked in ["folder", "file"] {
            assert!(matches!(files.read(&name(linked)), Err(SkillFileError::Missing(_))));
            assert!(files.delete(&name(linked), |_| Done::Ok(())).is_err());
        }
        assert!(files.all().expect("a list").is_empty());
        assert!(root.path().join("secret/SKILL.md").is_file());
    }

    #[test]
    fn concurrent_changes_leave_one_of_them_whole() {
        // AFL-10-2
        let root = prowess_testkit::temporary();
        let files = SkillFiles::new(root.path().to_owned());
        let one = name("one");
        files.create(&one, "").expect("it is created");
        std::thread::scope(|scope| {
            for number in 0..8_u8 {
                let (files, one) = (files.clone(), one.clone());
                scope.spawn(move || {
                    for _ in 0..20 {
                        let text = char::from(b'a' + number).to_string().repeat(20_000);
                        let change = |_: &StoredSkill| Ok::<_, SkillFileError>((text.clone(), ()));
                        files.update(&one, change).expect("it is changed");
                        let read = files.read(&one).expect("it is there").text;
                        assert_eq!(read.len(), 20_000);
                        assert_eq!(read, read[..1].repeat(20_000));
                    }
                });
            }
        });
    }
}
