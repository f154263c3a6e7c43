//! One thread of a walk: takes folders, checks the skills in them, and adds the results to the total.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_files::atomic::folder_of;
use prowess_format::form_of;

use super::folder::{Folder, Kind, Scratch};
use super::ignored::{self, Ignored};
use super::{Job, Root, Walked};
use crate::error::Error;
use crate::skill::check_report::{self, CheckOptions, Examined, Source};
use crate::skill::fixes;
use crate::skill::skill_ref::{self, Buffer};

/// A part of a walk.
pub(super) enum Task {
    /// A root that the user named.
    Root(Root),
    /// A folder below it.
    Folder {
        /// The folder that contains it.
        parent: Arc<Folder>,
        /// The path.
        path: PathBuf,
        /// The rules of .gitignore files.
        ignored: Option<Arc<Ignored>>,
    },
}

pub(super) struct Worker<'w> {
    job: &'w Job<'w>,
    tasks: Vec<Task>,
    scratch: Scratch,
    buffer: Buffer,
    files: Vec<(PathBuf, Kind)>,
    folders: Vec<PathBuf>,
    share: Walked,
}

impl<'w> Worker<'w> {
    pub(super) fn new(job: &'w Job<'w>) -> Self {
        Self {
            job,
            tasks: Vec::new(),
            scratch: Scratch::new(),
            buffer: Buffer::new(),
            files: Vec::new(),
            folders: Vec::new(),
            share: Walked::default(),
        }
    }

    /// Works until no tasks are left.
    pub(super) fn run(mut self) {
        while let Some(task) = self.tasks.pop().or_else(|| self.job.queue.take()) {
            match task {
                Task::Root(root) => self.root(root),
                Task::Folder { parent, path, ignored } => match parent.child(&path) {
                    Ok(folder) => self.folder(folder, &path, ignored),
                    Err(error) => self.fail(&path, &error),
                },
            }
            self.job.queue.share(&mut self.tasks);
        }
    }

    fn root(&mut self, Root { path, is_folder }: Root) {
        if is_folder == Some(true) {
            match Folder::open(&path) {
                Ok(folder) => self.folder(folder, &path, Ignored::around(&path)),
                Err(error) => self.fail(&path, &error),
            }
            return;
        }
        self.check_file(path, None);
    }

    fn folder(&mut self, folder: Folder, path: &Path, ignored: Option<Arc<Ignored>>) {
        let mut has_rules = false;
        let mut other_spellings = 0;
        let all_spellings = self.job.options.all_spellings;
        let (files, folders) = (&mut self.files, &mut self.folders);
        let listed = folder.list(path, &mut self.scratch, |name, kind| match kind {
            Kind::Folder if name != ".git" && name != "node_modules" => {
                folders.push(path.join(name));
            }
            Kind::Folder => {}
            Kind::File if name == ignored::FILE => has_rules = true,
            Kind::File | Kind::Other => match interest(name) {
                Interest::Wanted => files.push((path.join(name), kind)),
                Interest::OtherSpelling if all_spellings => files.push((path.join(name), kind)),
                Interest::OtherSpelling => other_spellings += 1,
                Interest::None => {}
            },
        });
        self.share.other_spellings += other_spellings;
        if let Err(error) = listed {
            self.fail(path, &error);
        }
        let ignored = if has_rules { Some(Ignored::inside(ignored, path)) } else { ignored };
        if let Some(rules) = &ignored {
            self.files.retain(|(path, _)| !rules.covers(path, false));
            self.folders.retain(|path| !rules.covers(path, true));
        }
        let mut files = std::mem::take(&mut self.files);
        for (path, kind) in files.drain(..) {
            // Only links and the like cost another system call, and they are rare. Reading a pipe could block forever.
            if kind == Kind::File || fs::metadata(&path).is_ok_and(|data| data.is_file()) {
                self.check_file(path, Some(&folder));
            }
        }
        self.files = files;
        if self.folders.is_empty() {
            return;
        }
        let parent = Arc::new(folder);
        self.tasks.extend(self.folders.drain(..).map(|path| Task::Folder {
            parent: Arc::clone(&parent),
            path,
            ignored: ignored.clone(),
        }));
    }

    /// Checks one file; `folder` is its folder, if that is open.
    fn check_file(&mut self, path: PathBuf, folder: Option<&Folder>) {
        if let Some(visited) = &self.job.visited
            && let Ok(mut visited) = visited.lock()
            && !visited.insert(skill_ref::shown(&path))
        {
            return;
        }
        let read = match folder {
            Some(folder) => folder.read(&path, &mut self.buffer),
            None => self.buffer.read(&path),
        };
        let bytes = match read {
            Ok(bytes) => bytes,
            Err(error) if folder.is_none() && error.kind() == io::ErrorKind::IsADirectory => {
                self.root(Root { path, is_folder: Some(true) });
                return;
            }
            Err(error) => {
                self.share.failures.push(Error::io("read", &path, &error));
                return;
            }
        };
        self.share.files += 1;
        self.job.progress.step();
        // It may turn out to be the only file, which is reported even if it has no findings.
        let first = self.share.files == 1;
        let check =
            &CheckOptions { clean_files: first || self.job.check.clean_files, ..*self.job.check };
        let mut examined = examine(&path, bytes, check, None);
        if self.job.options.fix && examined.errors + examined.warnings > 0 {
            match fixes::fix(&source(&path, bytes), check.dialect) {
                Ok(None) => {}
                Ok(Some(fixed)) => {
                    self.share.fixed.0 += fixed.problems;
                    self.share.fixed.1 += 1;
                    let text = fixed.text.as_bytes();
                    examined = examine(&path, text, check, None);
                }
                Err(error) => self.share.failures.push(error),
            }
        }
        self.share.take(examined, path);
    }

    /// Records a folder that could not be read; one that was deleted meanwhile is ignored.
    fn fail(&mut self, path: &Path, error: &io::Error) {
        if error.kind() != io::ErrorKind::NotFound {
            self.share.failures.push(Error::io("list", path, error));
        }
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        if let Ok(mut total) = self.job.total.lock() {
            total.join(std::mem::take(&mut self.share));
        }
    }
}

/// Whether a walk checks a file, by its name.
enum Interest {
    Wanted,
    OtherSpelling,
    None,
}

fn interest(name: &OsStr) -> Interest {
    let Some(name) = name.to_str() else { return Interest::None };
    let wanted = name == skill_ref::SPELLINGS[0]
        || name == skill_ref::TOOL_PACK
        || skill_ref::MANIFESTS.contains(&name)
        || name.ends_with(skill_ref::TOOL_PACK_ENDING);
    if wanted {
        Interest::Wanted
    } else if skill_ref::SPELLINGS.contains(&name) {
        Interest::OtherSpelling
    } else {
        Interest::None
    }
}

/// Checks the bytes of the file at `path`.
pub(super) fn examine(
    path: &Path,
    bytes: &[u8],
    check: &CheckOptions<'_>,
    rival: Option<&str>,
) -> Examined {
    check_report::examine(&source(path, bytes), check, rival)
}

fn source<'s>(path: &'s Path, bytes: &'s [u8]) -> Source<'s> {
    let file_name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let main = skill_ref::is_main_name(file_name);
    Source {
        path,
        form: form_of(file_name),
        bytes,
        directory: main.then(|| folder_of(path)),
        directory_name: None,
    }
}
