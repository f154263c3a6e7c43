//! Finds and checks the skills below folders, on all cores.

mod folder;
mod ignored;
mod queue;
mod worker;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use prowess_engine::TrackedFiles;
use prowess_format::diagnostic::{FixSafety, Rule, Severity};

use crate::error::Error;
use crate::skill::check_report::{CheckOptions, Examined, FileReport};
use crate::skill::skill_ref;
use crate::terminal::progress::ProgressCounter;
use queue::Queue;
use worker::{Task, Worker};

/// The options of a walk.
pub(crate) struct WalkOptions {
    /// Files and folders.
    pub(crate) roots: Vec<Root>,
    /// Whether other spellings such as skill.md count as SKILL.md (OC-7).
    pub(crate) all_spellings: bool,
    /// The least safety of the fixes that are written; `None` writes none.
    pub(crate) fix: Option<FixSafety>,
    /// The number of threads; 0 is one per core.
    pub(crate) threads: usize,
}

/// A file or folder that the user named.
#[derive(Clone)]
pub(crate) struct Root {
    /// The path.
    pub(crate) path: PathBuf,
    /// Whether it is a folder; `None` if that is known only after reading it.
    pub(crate) is_folder: Option<bool>,
}

/// The result of a walk, sorted by path.
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
    /// The number of files with another spelling of SKILL.md, which were skipped.
    pub(crate) other_spellings: usize,
    seen: Vec<SeenName>,
}

/// The name and path of a checked skill, for finding duplicate names.
struct SeenName {
    name_key: u64,
    path: PathBuf,
    disabled: Vec<&'static Rule>,
}

/// The state that all workers share.
struct Job<'w> {
    options: &'w WalkOptions,
    check: &'w CheckOptions<'w>,
    progress: &'w ProgressCounter,
    queue: Queue<Task>,
    /// The folders among the roots, as shown.
    folders: HashSet<PathBuf>,
    /// The files that were checked, if two roots may overlap.
    visited: Option<Mutex<HashSet<String>>>,
    /// The tracked files of repositories, by their root, read when .gitignore excludes something.
    tracked: Mutex<HashMap<PathBuf, Option<Arc<TrackedFiles>>>>,
    total: Mutex<Walked>,
}

/// Checks every root and what is below it.
pub(crate) fn walk(
    options: &WalkOptions,
    check: &CheckOptions<'_>,
    progress: &ProgressCounter,
) -> Walked {
    let mut job = Job {
        options,
        check,
        progress,
        queue: Queue::new(options.roots.iter().rev().cloned().map(Task::Root).collect()),
        folders: options
            .roots
            .iter()
            .filter(|root| root.is_folder == Some(true))
            .map(|root| PathBuf::from(skill_ref::shown(&root.path)))
            .collect(),
        visited: None,
        tracked: Mutex::default(),
        total: Mutex::default(),
    };
    if options.roots.iter().any(|root| job.is_below_a_root(&root.path)) {
        job.visited = Some(Mutex::default());
    }
    run(&job);
    let mut walked = job.total.into_inner().expect("no worker panics while it hands in its share");
    find_rivals(&mut walked, check);
    walked.reports.sort_by(|a, b| a.path.cmp(&b.path));
    merge_copies(&mut walked);
    if walked.files > 1 && !check.clean_files {
        walked.reports.retain(|report| {
            !report.findings.is_empty() || !report.verdicts.is_empty() || report.copy_of.is_some()
        });
    }
    walked.failures.sort_by(|a, b| a.message.cmp(&b.message));
    walked
}

fn run(job: &Job<'_>) {
    let one_file = matches!(job.options.roots.as_slice(), [root] if root.is_folder == Some(false));
    let threads = match job.options.threads {
        // Starting threads for one file takes longer than checking it.
        _ if one_file => 1,
        0 => thread::available_parallelism().map_or(1, Into::into),
        threads => threads.min(MOST_THREADS),
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            job.queue.join();
            scope.spawn(|| Worker::new(job).run());
        }
        job.queue.join();
        Worker::new(job).run();
    });
}

/// More threads than this only wait for each other.
const MOST_THREADS: usize = 256;

impl Job<'_> {
    /// Whether git tracks a file, or a file in a folder.
    fn is_tracked(&self, path: &Path, is_folder: bool) -> bool {
        let Some(name) = path.file_name() else { return false };
        let Ok(parent) = prowess_files::atomic::folder_of(path).canonicalize() else {
            return false;
        };
        let Some(repository) = TrackedFiles::repository_of(&parent) else { return false };
        let tracked = {
            let mut known = self.tracked.lock().unwrap_or_else(PoisonError::into_inner);
            let read = || TrackedFiles::read(&repository).map(Arc::new);
            known.entry(repository.clone()).or_insert_with(read).clone()
        };
        let full = parent.join(name);
        tracked.is_some_and(|tracked| {
            full.strip_prefix(&repository).is_ok_and(|path| tracked.contains(path, is_folder))
        })
    }

    /// Whether a path is inside one of the other roots.
    fn is_below_a_root(&self, path: &Path) -> bool {
        if self.folders.is_empty() {
            return false;
        }
        let path = PathBuf::from(skill_ref::shown(path));
        let here = Path::new(".");
        path.ancestors().skip(1).any(|folder| self.folders.contains(folder))
            || (path != here && path.is_relative() && self.folders.contains(here))
    }
}

impl Walked {
    /// The result for a single text.
    pub(crate) fn of_one(examined: Examined) -> Self {
        Self {
            files: 1,
            errors: examined.errors,
            warnings: examined.warnings,
            reports: examined.report.into_iter().collect(),
            ..Self::default()
        }
    }

    fn take(&mut self, examined: Examined, path: PathBuf, disabled: &[&'static Rule]) {
        self.errors += examined.errors;
        self.warnings += examined.warnings;
        self.reports.extend(examined.report);
        if let Some(name_key) = examined.name_key {
            self.seen.push(SeenName { name_key, path, disabled: disabled.to_vec() });
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

/// Reports the findings of identical files once, at the first by path: projects mirror skills for several agents.
fn merge_copies(walked: &mut Walked) {
    let mut originals: HashMap<u64, usize> = HashMap::new();
    for at in 0..walked.reports.len() {
        let report = &walked.reports[at];
        if report.findings.is_empty() || report.bytes == 0 {
            continue;
        }
        let Some(&first) = originals.get(&report.content) else {
            originals.insert(report.content, at);
            continue;
        };
        let original = &walked.reports[first];
        let signature = |report: &FileReport| -> Vec<_> {
            let findings = report.findings.iter();
            findings.map(|found| (found.rule.name, found.start, found.message.clone())).collect()
        };
        if signature(original) != signature(report) {
            continue;
        }
        let of = |severity: Severity| {
            report.findings.iter().filter(|found| found.severity == severity).count()
        };
        walked.errors -= of(Severity::Error);
        walked.warnings -= of(Severity::Warning);
        let path = original.path.clone();
        let report = &mut walked.reports[at];
        report.copy_of = Some(path);
        report.findings.clear();
    }
}

/// Checks skills with duplicate names again (AFL §4, rule 6). The first by path keeps the name.
fn find_rivals(walked: &mut Walked, check: &CheckOptions<'_>) {
    let mut seen = std::mem::take(&mut walked.seen);
    seen.sort_unstable_by_key(|seen| seen.name_key);
    let mut rivals: Vec<(&SeenName, String)> = Vec::new();
    for group in seen.chunk_by(|a, b| a.name_key == b.name_key).filter(|group| group.len() > 1) {
        let mut group: Vec<&SeenName> = group.iter().collect();
        group.sort_by(|a, b| a.path.cmp(&b.path));
        let first = skill_ref::shown(&group[0].path);
        rivals.extend(group.into_iter().skip(1).map(|seen| (seen, first.clone())));
    }
    if rivals.is_empty() {
        return;
    }
    let at: HashMap<String, usize> =
        walked.reports.iter().enumerate().map(|(at, report)| (report.path.clone(), at)).collect();
    for (seen, first) in rivals {
        let Ok(bytes) = skill_ref::read(&seen.path) else { continue };
        let examined = worker::examine(&seen.path, &bytes, check, &seen.disabled, Some(&first));
        if !examined.is_rival {
            continue;
        }
        walked.errors += 1;
        let Some(report) = examined.report else { continue };
        match at.get(&report.path) {
            Some(&known) => walked.reports[known] = report,
            None => walked.reports.push(report),
        }
    }
}
