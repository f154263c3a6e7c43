//! The base of paths in a project's lock file. A lock file under version control must mean the same folder in every
//! clone, so paths inside the repository are written relative to the project.

use std::path::{Component, Path, PathBuf};

use crate::lock::{LockError, LockFile};
use crate::source::Pinned;

/// The base folders of paths in a project's lock file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectRoot {
    /// The project, to which paths are relative.
    project: PathBuf,
    /// The repository around it, which paths must not leave.
    top: PathBuf,
}

impl ProjectRoot {
    /// Finds the base folders of a project. Its repository is the nearest folder around it with a `.git`; without one
    /// it is the project itself.
    pub fn of_project(project: &Path) -> Self {
        // Sources are recorded with symbolic links resolved, so the project must be too.
        let project = project.canonicalize().unwrap_or_else(|_| project.to_owned());
        let repository = project.ancestors().find(|folder| folder.join(".git").exists());
        let top = repository.unwrap_or(&project).to_owned();
        Self { project, top }
    }

    /// The relative form of a path; `None` if it is outside the repository.
    fn written(&self, path: &str) -> Option<String> {
        let path = Path::new(path);
        path.strip_prefix(&self.top).ok()?;
        let shared: PathBuf = self
            .project
            .components()
            .zip(path.components())
            .take_while(|(one, other)| one == other)
            .map(|(one, _)| one)
            .collect();
        let up = self.project.strip_prefix(&shared).ok()?.components().count();
        let down = path.strip_prefix(&shared).ok()?;
        let mut parts = vec!["..".to_owned(); up];
        for part in down.components() {
            parts.push(part.as_os_str().to_str()?.to_owned());
        }
        if parts.is_empty() {
            return Some(".".to_owned());
        }
        if up == 0 {
            // `./` marks it as a path.
            parts.insert(0, ".".to_owned());
        }
        Some(parts.join("/"))
    }

    /// The absolute form of a written path; `None` if it leads out of the repository. It is computed lexically: the
    /// folder may not exist yet.
    fn meant(&self, written: &str) -> Option<String> {
        let mut path = self.project.clone();
        for part in Path::new(written).components() {
            match part {
                Component::Normal(name) => path.push(name),
                Component::CurDir => {}
                Component::ParentDir if path != self.top && path.pop() => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
            }
        }
        Some(path.to_str()?.to_owned())
    }

    /// Whether a source is a path outside the repository, which is invalid on another machine.
    pub(crate) fn lies_outside(&self, source: &Pinned) -> bool {
        match source {
            Pinned::Folder { path } => self.written(path).is_none(),
            Pinned::File { location, .. } => {
                !source.is_remote() && self.written(location).is_none()
            }
            Pinned::Git { .. } => !source.is_remote(),
            Pinned::WellKnown { .. } | Pinned::Registry { .. } | Pinned::Mcp { .. } => false,
        }
    }

    /// A lock file as read, with absolute paths.
    pub(crate) fn resolve(&self, mut lock: LockFile) -> Result<LockFile, LockError> {
        for (name, entry) in &mut lock.skills {
            let Some((key, path)) = entry.source.as_mut().and_then(local_path) else { continue };
            if Path::new(path.as_str()).is_absolute() {
                continue;
            }
            *path = self.meant(path).ok_or_else(|| LockError::Field {
                place: format!("skills.{name}.source.{key}"),
                problem: format!("is `{path}`, which is outside the repository"),
            })?;
        }
        Ok(lock)
    }

    /// A lock file as written. Paths outside the repository stay absolute.
    pub(crate) fn written_lock(&self, lock: &LockFile) -> LockFile {
        let mut lock = lock.clone();
        for entry in lock.skills.values_mut() {
            if let Some((_, path)) = entry.source.as_mut().and_then(local_path)
                && let Some(written) = self.written(path)
            {
                *path = written;
            }
        }
        lock
    }
}

/// The local path of a source, and its name in a lock file.
fn local_path(source: &mut Pinned) -> Option<(&'static str, &mut String)> {
    let is_remote = source.is_remote();
    match source {
        Pinned::Folder { path } => Some(("path", path)),
        Pinned::File { location, .. } if !is_remote => Some(("location", location)),
        Pinned::File { .. }
        | Pinned::Git { .. }
        | Pinned::WellKnown { .. }
        | Pinned::Registry { .. }
        | Pinned::Mcp { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, written: Option<&str>) {
        let ground = ProjectRoot { project: "/r/agents/desk".into(), top: "/r".into() };
        assert_eq!(ground.written(path).as_deref(), written);
        if let Some(written) = written {
            assert_eq!(ground.meant(written).as_deref(), Some(path));
        }
    }

    #[test]
    fn what_lies_in_the_repository_is_written_as_the_way_to_it() {
        check("/r/agents/desk/skills/greet", Some("./skills/greet"));
        check("/r/agents/desk", Some("."));
        check("/r/agents/desks", Some("../desks"));
        check("/r/skills/greet", Some("../../skills/greet"));
        check("/r", Some("../.."));
        check("/rest/greet", None);
        check("/home/ada/greet", None);
    }

    #[test]
    fn no_path_leads_out_of_the_repository() {
        // NEG-1, attack registry-B13: a lock file can't use `..` to name places outside.
        let ground = ProjectRoot { project: "/r/desk".into(), top: "/r".into() };
        for written in ["../../etc", "../..", "./../../r", "x/../../../r/y", "/etc"] {
            assert_eq!(ground.meant(written), None, "{written}");
        }
        assert_eq!(ground.meant("x/../../y").as_deref(), Some("/r/y"));
    }
}
