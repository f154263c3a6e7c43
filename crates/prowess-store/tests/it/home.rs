//! A temporary home and project, and how tests fill them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use prowess_store::discovery::{DiscoverOptions, Listing, ScanCache, discover};
use prowess_store::places::Places;
use tempfile::TempDir;

/// A home with a project in it.
pub(crate) struct Home {
    folder: TempDir,
    pub(crate) places: Places,
}

/// Long enough after every file was written for it to be remembered.
pub(crate) fn later() -> SystemTime {
    SystemTime::now() + Duration::from_mins(1)
}

impl Home {
    pub(crate) fn new() -> Self {
        Self::within(TempDir::with_prefix("home").expect("a temporary folder can be made"))
    }

    /// A home in memory where there is such a thing: for tests that put things on the disk a thousand times.
    pub(crate) fn in_memory() -> Self {
        TempDir::with_prefix_in("home", "/dev/shm").map_or_else(|_| Self::new(), Self::within)
    }

    fn within(folder: TempDir) -> Self {
        // Temporary folders may lie behind a link.
        let top = folder.path().canonicalize().expect("the folder is there");
        let places = Self::places_in(&top);
        fs::create_dir_all(&places.current).expect("a folder can be made");
        Self { folder, places }
    }

    /// The places of a home in a folder.
    pub(crate) fn places_in(top: &Path) -> Places {
        let home = top.join("home");
        let project = home.join("project");
        Places {
            current: project.clone(),
            project: Some(project),
            data: home.join(".local/share/prowess"),
            cache: home.join(".cache/prowess"),
            bundled: Some(top.join("bundled")),
            machine: top.join("machine"),
            home,
            variables: BTreeMap::new(),
        }
    }

    /// The folder above the home, which is nobody's.
    pub(crate) fn outside(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("the folder is there")
    }

    /// A path: `~/x` in the home, `/x` outside it, anything else in the project.
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        if let Some(outside) = path.strip_prefix('/') {
            return self.outside().join(outside);
        }
        self.places.locate(path).expect("there is a project").path
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("it has a folder")).expect("a folder can be made");
        fs::write(&path, text).expect("a file can be written");
        path
    }

    /// A skill in a folder, with a description that says where it is.
    pub(crate) fn skill(&self, folder: &str) -> PathBuf {
        let name = folder.rsplit('/').next().expect("a path has a last part");
        let text = format!(
            "---\nname: {name}\nversion: 1.0.0\ndescription: The copy in {folder}\n---\n\nBody\n"
        );
        self.write(&format!("{folder}/SKILL.md"), &text);
        self.path(folder)
    }

    /// Makes a link, with the target as it is given.
    pub(crate) fn link(&self, path: &str, target: impl AsRef<Path>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("it has a folder")).expect("a folder can be made");
        std::os::unix::fs::symlink(target, path).expect("a link can be made");
    }

    pub(crate) fn discover(&self, memory: ScanCache<'_>) -> Listing {
        discover(&DiscoverOptions { places: &self.places, now: later(), memory })
    }

    /// A path as a snapshot shows it.
    pub(crate) fn shown(&self, path: &Path) -> String {
        let outside = self.outside();
        match path.strip_prefix(&outside) {
            Ok(rest) if !path.starts_with(&self.places.home) => format!("/{}", rest.display()),
            _ => self.places.shown(path),
        }
    }

    /// A text in which every path is shown like that.
    pub(crate) fn without_paths(&self, text: &str) -> String {
        let project = self.places.project.as_ref().expect("there is a project");
        let text = text.replace(&format!("{}/", project.display()), "");
        let text = text.replace(&format!("{}/", self.places.home.display()), "~/");
        text.replace(&format!("{}/", self.outside().display()), "/")
    }
}
