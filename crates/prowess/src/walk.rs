//! Finds skills below folders and checks them where they are found, on all cores.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use ignore::{DirEntry, WalkBuilder, WalkState};
use prowess_format::form_of;

use crate::checking::{self, CheckOptions, Examined, FileReport, Source};
use crate::error::Error;
use crate::fixing;
use crate::loading::{self, Buffer};
use crate::progress::Progress;

/// What to walk, and how.
pub(crate) struct WalkOptions {
    /// Files and folders.
    pub(crate) roots: Vec<PathBuf>,
    /// Whether skill.md and its like count as SKILL.md (OC-7).
    pub(crate) all_spellings: bool,
    /// Whether safe fixes are written.
    pub(crate) fix: bool,
    /// How many threads; 0 is one per core.
    pub(crate) threads: usize,
}

/// What a walk gives, in the order of paths.
#[derive(Default)]
pub(crate) struct Walked {
    /// Reports.
    pub(crate) reports: Vec<FileReport>,
    /// How many files were checked.
    pub(crate) files: usize,
    /// How many findings are errors.
    pub(crate) errors: usize,
    /// How many findings are warnings.
    pub(crate) warnings: usize,
    /// How many problems were fixed, in how many files.
    pub(crate) fixed: (usize, usize),
    /// Files and folders that could not be read or written.
    pub(crate) failures: Vec<Error>,
    /// Files that have another spelling of SKILL.md and were passed by.
    pub(crate) other_spellings: usize,
    seen: Vec<Seen>,
}

/// A checked skill's name and place, to find two of one name.
struct Seen {
    name_key: u64,
    path: PathBuf,
    directory_counts: bool,
}

/// Checks every root and what is below it.
pub(crate) fn walk(options: &WalkOptions, check: &CheckOptions<'_>, progress: &Progress) -> Walked {
    let job = Job {
        options,
        check,
        progress,
        visited: overlap(&options.roots).then(Mutex::default),
        total: Mutex::default(),
    };
    match options.roots.as_slice() {
        // One file needs no threads.
        [file] if !file.is_dir() => Worker::new(&job).check_file(file.clone(), false),
        roots => walk_parallel(roots, &job),
    }
    let mut walked = job.total.into_inner().expect("no worker panics while it hands in its share");
    find_rivals(&mut walked, check);
    if walked.files > 1 && !check.clean_files {
        walked.reports.retain(|report| !report.findings.is_empty() || !report.verdicts.is_empty());
    }
    walked.reports.sort_by(|a, b| a.path.cmp(&b.path));
    walked.failures.sort_by(|a, b| a.message.cmp(&b.message));
    walked
}

/// What all workers share.
struct Job<'w> {
    options: &'w WalkOptions,
    check: &'w CheckOptions<'w>,
    progress: &'w Progress,
    /// The files that were checked, where two roots may lead to the same one.
    visited: Option<Mutex<HashSet<String>>>,
    total: Mutex<Walked>,
}

/// Whether a root lies inside another. The roots are sorted, so that the outer one comes first.
fn overlap(roots: &[PathBuf]) -> bool {
    roots.iter().enumerate().any(|(at, root)| is_below(root, &roots[..at]))
}

fn is_below(path: &Path, folders: &[PathBuf]) -> bool {
    let plain = |path: &Path| PathBuf::from(loading::shown(path));
    let path = plain(path);
    folders
        .iter()
        .map(|folder| plain(folder))
        .any(|folder| path.starts_with(&folder) || (folder == Path::new(".") && path.is_relative()))
}

fn walk_parallel(roots: &[PathBuf], job: &Job<'_>) {
    let Some((first, rest)) = roots.split_first() else { return };
    let mut builder = WalkBuilder::new(first);
    rest.iter().for_each(|root| _ = builder.add(root));
    builder
        // Agents keep skills in `.claude`, `.agents` and the like.
        .hidden(false)
        // A .gitignore means what it says, also in a folder that is not a repository yet.
        .require_git(false)
        .threads(job.options.threads)
        .filter_entry(|entry| {
            let name = entry.file_name();
            entry.depth() == 0 || (name != ".git" && name != "node_modules")
        });
    builder.build_parallel().run(|| {
        let mut worker = Worker::new(job);
        Box::new(move |entry| {
            match entry {
                Ok(entry) => worker.visit(entry),
                Err(error) => worker.share.failures.push(walk_error(&error)),
            }
            WalkState::Continue
        })
    });
}

fn walk_error(error: &ignore::Error) -> Error {
    match error {
        ignore::Error::WithPath { path, err } => match err.as_ref() {
            ignore::Error::Io(source) => Error::io("read", path, source),
            other => Error::failed(format!("cannot read `{}`: {other}", loading::shown(path))),
        },
        ignore::Error::WithDepth { err, .. } => walk_error(err),
        other => Error::failed(format!("cannot read a folder: {other}")),
    }
}

/// One thread's part: it hands its share in when it ends.
struct Worker<'w> {
    job: &'w Job<'w>,
    buffer: Buffer,
    share: Walked,
}

impl<'w> Worker<'w> {
    fn new(job: &'w Job<'w>) -> Self {
        Self { job, buffer: Buffer::new(), share: Walked::default() }
    }

    fn visit(&mut self, entry: DirEntry) {
        if entry.depth() == 0 {
            if entry.file_type().is_some_and(|kind| !kind.is_dir()) {
                // A file counts as a part of its directory when that is named as well.
                let roots = &self.job.options.roots;
                let directory_counts = self.job.visited.is_some()
                    && roots.iter().any(|root| {
                        root != entry.path() && is_below(entry.path(), std::slice::from_ref(root))
                    });
                self.check_file(entry.into_path(), directory_counts);
            }
            return;
        }
        let Some(kind) = entry.file_type().filter(|kind| !kind.is_dir()) else { return };
        let Some(name) = entry.file_name().to_str() else { return };
        if !is_wanted(name) {
            if loading::SPELLINGS.contains(&name) {
                if !self.job.options.all_spellings {
                    self.share.other_spellings += 1;
                    return;
                }
            } else {
                return;
            }
        }
        // Links are rare, so only they cost another look; a pipe that nobody writes to would block forever.
        let is_file = kind.is_file()
            || (kind.is_symlink() && fs::metadata(entry.path()).is_ok_and(|to| to.is_file()));
        if is_file {
            self.check_file(entry.into_path(), true);
        }
    }

    /// Checks one file; `directory_counts` says whether its name must match its directory (R4).
    fn check_file(&mut self, path: PathBuf, directory_counts: bool) {
        if let Some(visited) = &self.job.visited
            && let Ok(mut visited) = visited.lock()
            && !visited.insert(loading::shown(&path))
        {
            return;
        }
        let bytes = match self.buffer.read(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.share.failures.push(Error::io("read", &path, &error));
                return;
            }
        };
        self.share.files += 1;
        self.job.progress.step();
        // It may turn out to be the only file, which is reported even when it is clean.
        let first = self.share.files == 1;
        let check =
            &CheckOptions { clean_files: first || self.job.check.clean_files, ..*self.job.check };
        let mut examined = examine(&path, bytes, directory_counts, check, None);
        if self.job.options.fix && examined.errors + examined.warnings > 0 {
            let name = directory_counts.then(|| directory_name(&path)).flatten();
            let source = source(&path, bytes, name.as_deref());
            match fixing::fix(&source, check.dialect) {
                Ok(None) => {}
                Ok(Some(fixed)) => {
                    self.share.fixed.0 += fixed.problems;
                    self.share.fixed.1 += 1;
                    let text = fixed.text.as_bytes();
                    examined = examine(&path, text, directory_counts, check, None);
                }
                Err(error) => self.share.failures.push(error),
            }
        }
        self.share.take(examined, path, directory_counts);
    }
}

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        if let Ok(mut total) = self.job.total.lock() {
            total.join(std::mem::take(&mut self.share));
        }
    }
}

impl Walked {
    /// The result for a text that no walk found.
    pub(crate) fn of_one(examined: Examined) -> Self {
        Self {
            files: 1,
            errors: examined.errors,
            warnings: examined.warnings,
            reports: examined.report.into_iter().collect(),
            ..Self::default()
        }
    }

    fn take(&mut self, examined: Examined, path: PathBuf, directory_counts: bool) {
        self.errors += examined.errors;
        self.warnings += examined.warnings;
        self.reports.extend(examined.report);
        if let Some(name_key) = examined.name_key {
            self.seen.push(Seen { name_key, path, directory_counts });
        }
    }

    fn join(&mut self, share: Walked) {
        self.files += share.files;
        self.errors += share.errors;
        self.warnings += share.warnings;
        self.fixed.0 += share.fixed.0;
        self.fixed.1 += share.fixed.1;
        self.other_spellings += share.other_spellings;
        self.reports.extend(share.reports);
        self.failures.extend(share.failures);
        self.seen.extend(share.seen);
    }
}

/// Whether a walk checks a file of this name whatever the options.
fn is_wanted(name: &str) -> bool {
    name == loading::SPELLINGS[0]
        || name == loading::TOOL_PACK
        || loading::MANIFESTS.contains(&name)
        || name.ends_with(loading::TOOL_PACK_ENDING)
}

fn examine(
    path: &Path,
    bytes: &[u8],
    directory_counts: bool,
    check: &CheckOptions<'_>,
    rival: Option<&str>,
) -> Examined {
    let name = if directory_counts { directory_name(path) } else { None };
    checking::examine(&source(path, bytes, name.as_deref()), check, rival)
}

fn directory_name(path: &Path) -> Option<std::borrow::Cow<'_, str>> {
    loading::directory_name(loading::parent(path))
}

fn source<'s>(path: &'s Path, bytes: &'s [u8], directory_name: Option<&'s str>) -> Source<'s> {
    let file_name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let main = loading::is_main_name(file_name);
    Source {
        path,
        form: form_of(file_name),
        bytes,
        directory: main.then(|| loading::parent(path)),
        directory_name: directory_name.filter(|_| main),
    }
}

/// Checks again the skills whose names are taken (AFL §4, rule 6). The first by path keeps the name.
fn find_rivals(walked: &mut Walked, check: &CheckOptions<'_>) {
    let mut seen = std::mem::take(&mut walked.seen);
    seen.sort_unstable_by_key(|seen| seen.name_key);
    let mut rivals: Vec<(Seen, String)> = Vec::new();
    let mut rest = seen.into_iter().peekable();
    while let Some(one) = rest.next() {
        let mut group = vec![one];
        while rest.peek().is_some_and(|next| next.name_key == group[0].name_key) {
            group.extend(rest.next());
        }
        if group.len() > 1 {
            group.sort_by(|a, b| a.path.cmp(&b.path));
            group.dedup_by(|a, b| a.path == b.path);
            let first = loading::shown(&group[0].path);
            rivals.extend(group.into_iter().skip(1).map(|seen| (seen, first.clone())));
        }
    }
    if rivals.is_empty() {
        return;
    }
    let mut at: HashMap<String, usize> =
        walked.reports.iter().enumerate().map(|(at, report)| (report.path.clone(), at)).collect();
    for (seen, first) in rivals {
        let Ok(bytes) = loading::read(&seen.path) else { continue };
        let examined = examine(&seen.path, &bytes, seen.directory_counts, check, Some(&first));
        walked.errors += 1;
        let Some(report) = examined.report else { continue };
        match at.get(&report.path) {
            Some(&known) => walked.reports[known] = report,
            None => {
                at.insert(report.path.clone(), walked.reports.len());
                walked.reports.push(report);
            }
        }
    }
}
