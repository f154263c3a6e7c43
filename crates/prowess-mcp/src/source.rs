//! Where the served skills come from.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_core::Problem;
use prowess_engine::LoadedSkill;
use prowess_library::{Library, SkillSelection};

/// A skill that is not served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Where it is.
    pub place: PathBuf,
    /// Why.
    pub problem: Problem,
}

/// The skills of a source at one moment.
#[derive(Debug, Default)]
pub struct SourceSkills {
    /// The skills that can be served, in order of precedence.
    pub skills: Vec<Arc<LoadedSkill>>,
    /// The skills that can't be served.
    pub left_out: Vec<LeftOut>,
    /// The folders in which skills may appear, change or disappear.
    pub watched: Vec<PathBuf>,
}

/// Finds the skills to serve. It is asked again whenever something changes.
pub trait SkillSource: Send + Sync {
    /// The skills at this moment. It reads the disk.
    fn skills(&self) -> Result<SourceSkills, Problem>;
}

/// The skills that the user has named, or all visible ones.
#[derive(Debug)]
struct LibrarySkills {
    library: Arc<Library>,
    references: Vec<PathBuf>,
}

impl dyn SkillSource {
    /// The skills that references name: paths, folders of skills and installed skills. Without any, every skill that is
    /// visible from the current folder.
    pub fn of_library(library: Arc<Library>, references: Vec<PathBuf>) -> Arc<Self> {
        Arc::new(LibrarySkills { library, references })
    }
}

impl SkillSource for LibrarySkills {
    fn skills(&self) -> Result<SourceSkills, Problem> {
        let (selection, mut watched): (SkillSelection, Vec<PathBuf>) = if self.references.is_empty()
        {
            let roots = self.library.packages().inventory().listing.roots;
            let roots = roots.into_iter().map(|root| root.path).collect();
            (self.library.visible_skills(None), roots)
        } else {
            let named = self.references.iter().filter(|path| path.is_dir()).cloned().collect();
            (self.library.select_skills(&self.references, None)?, named)
        };
        let SkillSelection { skills, left_out, .. } = selection;
        watched.extend(skills.iter().filter_map(|skill| folder_of(skill)));
        let left_out =
            left_out.into_iter().map(|it| LeftOut { place: it.path, problem: it.problem });
        Ok(SourceSkills { skills, left_out: left_out.collect(), watched: outermost(watched) })
    }
}

/// The folder whose changes concern a skill.
fn folder_of(skill: &LoadedSkill) -> Option<PathBuf> {
    let folder = skill.directory.as_deref().or_else(|| skill.file.parent());
    folder.map(Path::to_owned)
}

/// Folders without those that are inside of others.
fn outermost(mut folders: Vec<PathBuf>) -> Vec<PathBuf> {
    for folder in &mut folders {
        if let Ok(real) = folder.canonicalize() {
            *folder = real;
        }
    }
    folders.sort();
    let mut kept: Vec<PathBuf> = Vec::new();
    for folder in folders {
        if !kept.last().is_some_and(|around| folder.starts_with(around)) {
            kept.push(folder);
        }
    }
    kept
}
