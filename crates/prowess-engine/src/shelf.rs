//! Other skills by their names: those that a skill depends on (SRT §4.6) and those that a workflow uses (AFL §7.3).

use std::path::{Path, PathBuf};

use prowess_format::diagnostic::Severity;
use prowess_format::skill::Skill;
use prowess_policy::Trust;

use crate::prepare::Subject;
use crate::skill_files::{main_file, read_skill};

/// Who finds skills.
pub trait Shelf: Send + Sync {
    /// The skill of a name. One with errors is not found: nobody can say what it would do.
    fn find(&self, name: &str) -> Result<Found, ShelfError>;
}

/// A skill that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// What it declares.
    pub skill: Skill,
    /// The name that counts (R3).
    pub name: String,
    /// Its folder, free of symbolic links.
    pub directory: PathBuf,
    /// Its main file.
    pub file: PathBuf,
}

impl Found {
    /// The skill as a run wants it.
    pub fn subject(&self, trust: Trust) -> Subject<'_> {
        Subject {
            skill: &self.skill,
            name: &self.name,
            directory: Some(&self.directory),
            file: &self.file,
            trust,
        }
    }
}

/// Why a skill was not found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShelfError {
    /// It is nowhere.
    #[error("there is no skill `{name}`{}", looked(.places))]
    NotThere {
        /// The name.
        name: String,
        /// Where it would be.
        places: Vec<PathBuf>,
    },
    /// It is there, and wrong.
    #[error("the skill `{name}` can't be used: {reason}")]
    Broken {
        /// The name.
        name: String,
        /// What is wrong.
        reason: String,
    },
}

fn looked(places: &[PathBuf]) -> String {
    match places {
        [] => String::new(),
        places => {
            let places: Vec<String> =
                places.iter().map(|place| format!("`{}`", place.display())).collect();
            format!(" in {}", places.join(", "))
        }
    }
}

/// Skills in folders: `FOLDER/NAME/SKILL.md`. The first folder that has one counts.
#[derive(Clone, Debug, Default)]
pub struct FolderShelf {
    /// The folders, the most important first.
    pub folders: Vec<PathBuf>,
}

impl Shelf for FolderShelf {
    fn find(&self, name: &str) -> Result<Found, ShelfError> {
        let broken = |reason: String| ShelfError::Broken { name: name.to_owned(), reason };
        // A name is one part of a path and no way out of it (NEG-1).
        let is_name = !name.is_empty()
            && !name.starts_with('.')
            && !name.contains(['/', '\\', '\0'])
            && name.len() <= 255;
        if !is_name {
            return Err(broken("that is no name of a skill".to_owned()));
        }
        for folder in &self.folders {
            let directory = folder.join(name);
            let Some(file) = main_file(&directory) else { continue };
            return read(&directory, &file, name).map_err(broken);
        }
        Err(ShelfError::NotThere { name: name.to_owned(), places: self.folders.clone() })
    }
}

fn read(directory: &Path, file: &Path, name: &str) -> Result<Found, String> {
    let told = |error: std::io::Error| format!("cannot read `{}`: {error}", file.display());
    let directory = directory.canonicalize().map_err(told)?;
    let file = file.canonicalize().map_err(told)?;
    let (skill, diagnostics) = read_skill(&file, &directory, None).map_err(told)?;
    if let Some(error) = diagnostics.iter().find(|found| found.severity == Severity::Error) {
        return Err(format!("{} (`{}`)", error.message, file.display()));
    }
    let name = skill.name_or(name).to_owned();
    Ok(Found { skill, name, directory, file })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_first_folder_counts_and_names_stay_inside() {
        let root = tempfile::tempdir().expect("a temporary folder");
        let put = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
            fs::write(path, text).expect("it can be written");
        };
        put("a/one/SKILL.md", "---\nname: one\ndescription: First\n---\n\nHello\n");
        put("b/one/SKILL.md", "---\nname: one\ndescription: Second\n---\n\nHello\n");
        put("b/two/SKILL.md", "---\nname: two\ndescription: Two\n---\n\nHello\n");
        put("b/broken/SKILL.md", "---\nname: [\n---\n");
        put("secret/SKILL.md", "---\nname: secret\ndescription: No\n---\n\nHello\n");
        let shelf = FolderShelf { folders: vec![root.path().join("a"), root.path().join("b")] };
        let description = |name| {
            let found = shelf.find(name).expect("it is there");
            found.skill.description_or("").to_owned()
        };
        assert_eq!(description("one"), "First");
        assert_eq!(description("two"), "Two");
        assert!(matches!(shelf.find("broken"), Err(ShelfError::Broken { .. })));
        let missing = shelf.find("three").expect_err("it is nowhere").to_string();
        assert!(missing.starts_with("there is no skill `three` in `"), "{missing}");
        // NEG-1
        for way_out in ["../secret", "..", ".", "", "a/../../secret", "/etc"] {
            assert!(matches!(shelf.find(way_out), Err(ShelfError::Broken { .. })), "{way_out}");
        }
    }
}
