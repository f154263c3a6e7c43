//! The rules of .gitignore files in a walk.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// The rules for a folder: its own, and those of the folders above it.
pub(super) struct Ignored {
    rules: Gitignore,
    /// For rules above the root of the walk: the root's absolute path, and the root as the user named it.
    above: Option<(PathBuf, PathBuf)>,
    outer: Option<Arc<Ignored>>,
}

pub(super) const FILE: &str = ".gitignore";

impl Ignored {
    /// The rules above a root: those of its repository.
    pub(super) fn around(root: &Path) -> Option<Arc<Self>> {
        let full = root.canonicalize().ok()?;
        let repository = full.ancestors().skip(1).find(|folder| folder.join(".git").exists())?;
        // A root that is a repository itself is independent of the one around it.
        if full.join(".git").exists() {
            return None;
        }
        let mut folders: Vec<&Path> =
            full.ancestors().skip(1).take_while(|folder| folder.starts_with(repository)).collect();
        folders.reverse();
        folders.into_iter().fold(None, |outer, folder| {
            let file = folder.join(FILE);
            if !file.is_file() {
                return outer;
            }
            let above = Some((full.clone(), root.to_owned()));
            Some(Arc::new(Self { rules: rules(folder, &file), above, outer }))
        })
    }

    /// The rules of a folder with a .gitignore, on top of those of the folders above it.
    pub(super) fn inside(outer: Option<Arc<Self>>, folder: &Path) -> Arc<Self> {
        Arc::new(Self { rules: rules(folder, &folder.join(FILE)), above: None, outer })
    }

    /// Whether a path is ignored. The nearest rule decides.
    pub(super) fn covers(&self, path: &Path, is_folder: bool) -> bool {
        let full = self.above.as_ref().map(|(full, root)| {
            let below = path.strip_prefix(root).unwrap_or(path);
            full.join(below)
        });
        match self.rules.matched(full.as_deref().unwrap_or(path), is_folder) {
            Match::Ignore(_) => true,
            Match::Whitelist(_) => false,
            Match::None => self.outer.as_ref().is_some_and(|outer| outer.covers(path, is_folder)),
        }
    }
}

fn rules(folder: &Path, file: &Path) -> Gitignore {
    let mut builder = GitignoreBuilder::new(folder);
    // Invalid lines are ignored, as git does.
    let _ = builder.add(file);
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}
