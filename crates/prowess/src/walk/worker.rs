//! One thread of a walk: takes folders, checks the skills in them, and adds the results to the total.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_core::Problem;
use prowess_files::atomic::folder_of;
use prowess_format::diagnostic::Rule;
use prowess_format::form_of;
use prowess_library::{CHECK_SETTINGS, CheckSettings};

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
        /// What holds for the files in it.
        rules: FolderRules,
    },
}

/// What holds for the files of a folder.
#[derive(Clone, Default)]
pub(super) struct FolderRules {
    /// The rules of .gitignore files.
    ignored: Option<Arc<Ignored>>,
    /// Whether .gitignore excludes the folder, so that only tracked files in it count.
    only_tracked: bool,
    /// The project's settings.
    settings: Option<Arc<CheckSettings>>,
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
                Task::Folder { parent, path, rules } => match parent.child(&path) {
                    Ok(folder) => self.folder(folder, &path, rules),
                    Err(error) => self.fail(&path, &error),
                },
            }
            self.job.queue.share(&mut self.tasks);
        }
    }

    fn root(&mut self, Root { path, is_folder }: Root) {
        if is_folder == Some(true) {
            match Folder::open(&path) {
                Ok(folder) => {
                    let settings = self.settings(CheckSettings::around(&path));
                    let ignored = Ignored::around(&path);
                    let rules = FolderRules { ignored, only_tracked: false, settings };
                    self.folder(folder, &path, rules);
                }
                Err(error) => self.fail(&path, &error),
            }
            return;
        }
        let settings = self.settings(CheckSettings::around(folder_of(&path)));
        self.check_file(path, None, settings.as_deref());
    }

    /// The settings that were read; a mistake in them is a failure of the check.
    fn settings(
        &mut self,
        read: Result<Option<CheckSettings>, Problem>,
    ) -> Option<Arc<CheckSettings>> {
        match read {
            Ok(settings) => settings.map(Arc::new),
            Err(problem) => {
                let error = Error::from(problem);
                let known = self.share.failures.iter().any(|known| known.message == error.message);
                if !known {
                    self.share.failures.push(error);
                }
                None
            }
        }
    }

    fn folder(&mut self, folder: Folder, path: &Path, mut rules: FolderRules) {
        let mut has_rules = false;
        let mut has_settings = false;
        let mut near: Vec<(PathBuf, Kind)> = Vec::new();
        let mut other_spellings = 0;
        let all_spellings = self.job.options.all_spellings;
        let (files, folders) = (&mut self.files, &mut self.folders);
        let listed = folder.list(path, &mut self.scratch, |name, kind| match kind {
            Kind::Folder if name != ".git" && name != "node_modules" => {
                folders.push(path.join(name));
            }
            Kind::Folder => {}
            Kind::File if name == ignored::FILE => has_rules = true,
            Kind::File if name == CHECK_SETTINGS => has_settings = true,
            Kind::File | Kind::Other => match interest(name) {
                Interest::Wanted => files.push((path.join(name), kind)),
                Interest::OtherSpelling if all_spellings => files.push((path.join(name), kind)),
                Interest::OtherCase => near.push((path.join(name), kind)),
                Interest::OtherSpelling => other_spellings += 1,
                Interest::None => {}
            },
        });
        self.share.other_spellings += other_spellings;
        if let Err(error) = listed {
            self.fail(path, &error);
        }
        // A folder that has no SKILL.md has a skill if the name differs in case only: no client finds it, and no author knows.
        let is_main = |(path, _): &(PathBuf, Kind)| path.ends_with(skill_ref::SPELLINGS[0]);
        if all_spellings || !self.files.iter().any(is_main) {
            self.files.append(&mut near);
        }
        if has_rules {
            rules.ignored = Some(Ignored::inside(rules.ignored, path));
        }
        if has_settings {
            rules.settings = self.settings(CheckSettings::read(path).map(Some));
        }
        let job = self.job;
        if let Some(ignored) = &rules.ignored {
            let counts = |path: &Path, is_folder: bool| {
                let is_ignored = rules.only_tracked || ignored.covers(path, is_folder);
                !is_ignored || job.is_tracked(path, is_folder)
            };
            self.files.retain(|(path, _)| counts(path, false));
            self.folders.retain(|path| counts(path, true));
        }
        let mut files = std::mem::take(&mut self.files);
        for (path, kind) in files.drain(..) {
            // Only links and the like cost another system call, and they are rare. Reading a pipe could block forever.
            // A link without a target is a finding.
            let is_file = match kind {
                Kind::File => true,
                _ => fs::metadata(&path).map_or_else(|_| path.is_symlink(), |data| data.is_file()),
            };
            if is_file {
                self.check_file(path, Some(&folder), rules.settings.as_deref());
            }
        }
        self.files = files;
        if self.folders.is_empty() {
            return;
        }
        let parent = Arc::new(folder);
        self.tasks.extend(self.folders.drain(..).map(|path| {
            let mut rules = rules.clone();
            rules.only_tracked |=
                rules.ignored.as_ref().is_some_and(|ignored| ignored.covers(&path, true));
            Task::Folder { parent: Arc::clone(&parent), path, rules }
        }));
    }

    /// Checks one file; `folder` is its folder, if that is open.
    fn check_file(
        &mut self,
        path: PathBuf,
        folder: Option<&Folder>,
        settings: Option<&CheckSettings>,
    ) {
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
            Err(_) if path.is_symlink() && fs::metadata(&path).is_err() => {
                self.share.files += 1;
                let disabled = settings.map(|all| all.disabled_for(&path)).unwrap_or_default();
                let examined = check_report::examine_dangling(&path, &disabled, self.job.check);
                self.share.take(examined, path, &disabled);
                return;
            }
            Err(error) => {
                self.share.failures.push(Error::io("read", &path, &error));
                return;
            }
        };
        self.share.files += 1;
        self.job.progress.step();
        let disabled = settings.map(|all| all.disabled_for(&path)).unwrap_or_default();
        // It may turn out to be the only file, which is reported even if it has no findings.
        let first = self.share.files == 1;
        let check =
            &CheckOptions { clean_files: first || self.job.check.clean_files, ..*self.job.check };
        let mut examined = examine(&path, bytes, check, &disabled, None);
        if let Some(least) = self.job.options.fix
            && examined.errors + examined.warnings > 0
        {
            match fixes::fix(&source(&path, bytes, &disabled), check.dialect, least) {
                Ok(None) => {}
                Ok(Some(fixed)) => {
                    self.share.fixed.0 += fixed.problems;
                    self.share.fixed.1 += 1;
                    let text = fixed.text.as_bytes();
                    examined = examine(&path, text, check, &disabled, None);
                }
                Err(error) => self.share.failures.push(error),
            }
        }
        self.share.take(examined, path, &disabled);
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
    /// SKILL.md in another case.
    OtherCase,
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
    } else if name.eq_ignore_ascii_case(skill_ref::SPELLINGS[0]) {
        Interest::OtherCase
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
    disabled: &[&'static Rule],
    rival: Option<&str>,
) -> Examined {
    check_report::examine(&source(path, bytes, disabled), check, rival)
}

fn source<'s>(path: &'s Path, bytes: &'s [u8], disabled: &'s [&'static Rule]) -> Source<'s> {
    let file_name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let main = skill_ref::is_main_spelling(file_name);
    Source {
        path,
        form: form_of(file_name),
        bytes,
        directory: main.then(|| folder_of(path)),
        directory_name: None,
        disabled,
    }
}
