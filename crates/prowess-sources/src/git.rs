//! Skills of repositories, fetched by the user's own git.
//!
//! One commit is fetched into a temporary bare repository, and files are read out of it with `ls-tree` and `cat-file`.
//! There is no checkout: no filter runs, no link is made, no submodule is followed, no name of a file is ever a path here.

mod command;
mod failure;
mod place;
mod scratch;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prowess_format::text::visible;
use prowess_package::limits::PackageLimits;
use prowess_package::path::{PackagePath, PackagePathError, PathProblem};
use prowess_package::tree::{FilterDecision, ListingFilter, Tree, TreeFile};
use prowess_store::reference::GitReference;
use prowess_store::source::{
    FetchedFiles, FoundFolder, MOST_MANIFEST_BYTES, Offer, Offers, Pinned, SourceError,
    SourceErrorKind, declared_name, distinct, skill_folders, withheld,
};

use self::command::{GitError, Workshop};
use self::place::Place;
use self::scratch::{Scratch, Scratches};
use crate::archives::Archives;
use crate::web::{not_found, offline, unreachable, unusable};
use crate::{Progress, Prompts};

/// How much a repository may be.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// How long one command of git may take.
    pub time: Duration,
    /// What may be fetched.
    pub fetched_bytes: u64,
    /// How long the list of files may be.
    pub listing_bytes: u64,
}

impl Bounds {
    /// The largest collections of skills have some hundred megabytes in all, and a list of files of ten.
    pub const USUAL: Self =
        Self { time: Duration::from_mins(5), fetched_bytes: 1 << 30, listing_bytes: 64 << 20 };
}

/// Where the wanted commit is kept in the temporary repository.
const TARGET: &str = "refs/prowess/target";
/// Nothing but the commit itself.
const SHALLOW: &[&str] = &["--depth=1"];
/// All that branches and tags lead to.
const EVERYTHING: [&str; 2] = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
/// An ignore file longer than this is none.
const MOST_IGNORE_BYTES: u64 = 64 << 10;

/// Fetches from repositories, each commit once.
pub(crate) struct Git {
    pub(crate) variables: Vec<(String, String)>,
    pub(crate) prompts: Prompts,
    pub(crate) offline: bool,
    pub(crate) bounds: Bounds,
    pub(crate) limits: PackageLimits,
    pub(crate) progress: Progress,
    archives: Archives,
    /// What was fetched already: many skills of one repository are one fetch.
    kept: Mutex<Vec<Arc<Commit>>>,
    /// Where it was fetched to.
    pub(crate) scratches: Scratches,
}

/// A commit in a temporary repository, which goes away with it.
struct Commit {
    folder: Scratch,
    place: Place,
    id: String,
}

/// A line of `ls-tree`.
struct Entry {
    kind: EntryKind,
    id: String,
    size: u64,
    path: String,
    /// Whether the path is what git has, and not what is left of it as text.
    is_text: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EntryKind {
    File,
    Executable,
    Link,
    Submodule,
}

impl Git {
    pub(crate) fn new(
        variables: Vec<(String, String)>,
        prompts: Prompts,
        offline: bool,
        bounds: Bounds,
        limits: PackageLimits,
        progress: Progress,
        archives: Archives,
    ) -> Self {
        let (kept, scratches) = (Mutex::default(), Scratches::default());
        Self { variables, prompts, offline, bounds, limits, progress, archives, kept, scratches }
    }

    pub(crate) fn offers(&self, reference: &GitReference) -> Result<Offers, SourceError> {
        let place = Place::parse(&reference.url)?;
        let commit = self.commit(place, reference.revision.as_deref(), None)?;
        let entries = self.entries(&commit, reference.folder.as_ref())?;
        let files: BTreeMap<&str, &Entry> = entries
            .iter()
            .filter(|entry| entry.kind.is_file() && entry.is_text)
            .map(|entry| (entry.path.as_str(), entry))
            .collect();
        let folders = skill_folders(files.keys().copied());
        let mut objects = self.workshop(&commit).objects()?;
        let mut found = Vec::new();
        let mut notes = Vec::new();
        for folder in folders {
            let whole = joined(reference.folder.as_ref(), folder);
            let manifest = joined_text(folder, "SKILL.md");
            let id = &files.get(manifest.as_str()).expect("the folder was found by it").id;
            let bytes =
                objects.blob(id, MOST_MANIFEST_BYTES).map_err(|error| broken(&commit, &error))?;
            let Some(bytes) = bytes else {
                notes.push(format!(
                    "`{}` is too long for a `SKILL.md` and left out",
                    visible(&manifest)
                ));
                continue;
            };
            let called = if whole.is_empty() { commit.place.last_part() } else { &whole };
            found.push(FoundFolder { name: declared_name(&bytes, called), folder: whole });
        }
        let (found, more) = distinct(found);
        notes.extend(more);
        let mut skills = Vec::new();
        for skill in found {
            let folder = match skill.folder.as_str() {
                "" => None,
                folder => match folder.parse::<PackagePath>() {
                    Ok(folder) => Some(folder),
                    Err(error) => {
                        notes.push(format!("a skill is left out: {error}"));
                        continue;
                    }
                },
            };
            let pinned = Pinned::Git {
                url: commit.place.clean.clone(),
                commit: commit.id.clone(),
                revision: reference.revision.clone(),
                folder,
            };
            skills.push(Offer { name: skill.name, pinned, owner: None, published: None });
        }
        if skills.is_empty() {
            let within = reference.folder.as_ref().map(|folder| format!(" in `{folder}`"));
            return Err(not_found(format!(
                "`{}` has no `SKILL.md`{}",
                commit.place.clean,
                within.unwrap_or_default()
            ))
            .advice("look at the folder, and at the branch"));
        }
        Ok(Offers { skills, notes })
    }

    /// The files of a skill at exactly the commit that was recorded.
    pub(crate) fn fetch(
        &self,
        url: &str,
        id: &str,
        revision: Option<&str>,
        folder: Option<&PackagePath>,
    ) -> Result<FetchedFiles, SourceError> {
        if !is_commit(id) {
            return Err(unusable(format!("`{}` is no commit", visible(id))));
        }
        let place = Place::parse(url)?;
        let known_as =
            format!("git {} {id} {}", place.clean, folder.map_or("", PackagePath::as_str));
        if self.offline
            && let Some(tree) = self.archives.tree(&known_as, &self.limits)
        {
            return Ok(FetchedFiles { tree, notes: Vec::new() });
        }
        let commit = self.commit(place, revision, Some(id))?;
        let entries = self.entries(&commit, folder)?;
        let mut objects = self.workshop(&commit).objects()?;
        let place = match folder {
            Some(folder) => format!("{}#{}:{folder}", commit.place.clean, &commit.id[..12]),
            None => format!("{}#{}", commit.place.clean, &commit.id[..12]),
        };
        let patterns = match entries.iter().find(|entry| entry.path == ListingFilter::FILE) {
            Some(entry) if entry.kind.is_file() => objects
                .blob(&entry.id, MOST_IGNORE_BYTES)
                .map_err(|error| broken(&commit, &error))?
                .unwrap_or_default(),
            _ => Vec::new(),
        };
        let refused = |why: &dyn std::fmt::Display| unusable(format!("`{place}`: {why}"));
        let mut filter = ListingFilter::new(&String::from_utf8_lossy(&patterns))
            .map_err(|error| refused(&error))?;
        let is_signature =
            |entry: &&Entry| entry.kind.is_file() && ListingFilter::is_signature(&entry.path);
        for entry in entries.iter().filter(is_signature) {
            let signature = objects
                .blob(&entry.id, ListingFilter::MOST_SIGNATURE_BYTES)
                .map_err(|error| broken(&commit, &error))?;
            filter.add_signature(&entry.path, &signature.unwrap_or_default());
        }
        let mut withheld_paths = Vec::new();
        let mut files = Vec::new();
        let (mut count, mut bytes) = (0, 0);
        for entry in entries {
            // A name that other systems read otherwise is refused, even where the file would be left out: it was made
            // by somebody who wanted something.
            if !entry.is_text {
                let path = entry.path;
                return Err(refused(&PackagePathError { path, problem: PathProblem::NotUtf8 }));
            }
            let path: PackagePath = entry.path.parse().map_err(|error| refused(&error))?;
            let decision = filter.decide(&path);
            match (entry.kind, decision) {
                (_, FilterDecision::LeftOut) => continue,
                (EntryKind::Link | EntryKind::Submodule, _) | (_, FilterDecision::Withheld) => {
                    withheld_paths.push(entry.path);
                    continue;
                }
                (EntryKind::File | EntryKind::Executable, FilterDecision::Kept) => {}
            }
            count += 1;
            bytes += entry.size;
            if count > self.limits.entries
                || bytes > self.limits.bytes
                || entry.size > self.limits.file_bytes
            {
                // `Tree` says the same; this is before anything is read.
                return Err(refused(&format!(
                    "it has more than {} files, {} MiB, or {} MiB in one file",
                    self.limits.entries,
                    self.limits.bytes >> 20,
                    self.limits.file_bytes >> 20
                )));
            }
            let content = objects
                .blob(&entry.id, self.limits.file_bytes)
                .map_err(|error| broken(&commit, &error))?
                .ok_or_else(|| refused(&"a file is longer than its list says"))?;
            let executable = entry.kind == EntryKind::Executable;
            files.push((path, TreeFile { bytes: content, executable }));
        }
        let mut notes = withheld(&place, &withheld_paths);
        if let Some((path, _)) = files.iter().find(|(_, file)| is_pointer(&file.bytes)) {
            notes.push(format!(
                "`{path}` is only a pointer to a file in git LFS, which is not fetched"
            ));
        }
        let tree = Tree::from_files(files, &self.limits).map_err(|error| refused(&error))?;
        self.archives.keep_tree(&known_as, &tree);
        Ok(FetchedFiles { tree, notes })
    }

    /// A commit, fetched unless it is here already.
    fn commit(
        &self,
        place: Place,
        revision: Option<&str>,
        id: Option<&str>,
    ) -> Result<Arc<Commit>, SourceError> {
        if let Some(id) = id {
            let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            let known =
                kept.iter().find(|known| known.id == id && known.place.clean == place.clean);
            if let Some(known) = known {
                return Ok(Arc::clone(known));
            }
        }
        if self.offline {
            return Err(offline(&place.clean));
        }
        let folder = self
            .scratches
            .make()
            .map_err(|error| unreachable(format!("cannot make a temporary folder: {error}")))?;
        let workshop = Workshop {
            folder: folder.path(),
            place: &place,
            variables: &self.variables,
            prompts: self.prompts,
            bounds: &self.bounds,
            progress: &self.progress,
        };
        let id = fetch_commit(&workshop, revision, id)?;
        let commit = Arc::new(Commit { folder, place, id });
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&commit));
        Ok(commit)
    }

    fn workshop<'a>(&'a self, commit: &'a Commit) -> Workshop<'a> {
        Workshop {
            folder: commit.folder.path(),
            place: &commit.place,
            variables: &self.variables,
            prompts: self.prompts,
            bounds: &self.bounds,
            progress: &self.progress,
        }
    }

    /// Every file below a folder of a commit, with paths relative to it.
    fn entries(
        &self,
        commit: &Commit,
        folder: Option<&PackagePath>,
    ) -> Result<Vec<Entry>, SourceError> {
        // A `PackagePath` holds no colon, and what is behind the first is a path to git and no option.
        let tree = format!("{}:{}", commit.id, folder.map_or("", PackagePath::as_str));
        let listing =
            self.workshop(commit).run(&["ls-tree", "-r", "-z", "-l", "--full-tree", &tree]);
        let listing = match listing {
            Ok(listing) => listing,
            Err(GitError::Other(error)) => return Err(error),
            Err(GitError::Refused(_)) => {
                let folder = folder.map_or("", PackagePath::as_str);
                return Err(not_found(format!(
                    "`{}` has no folder `{folder}` at {}",
                    commit.place.clean,
                    &commit.id[..12]
                ))
                .advice("look at the folder, and at the branch"));
            }
        };
        let lines = listing.split(|byte| *byte == 0).filter(|line| !line.is_empty());
        lines
            .map(|line| {
                read_entry(line).ok_or_else(|| {
                    unusable(format!(
                        "git's list of files of `{}` can't be read",
                        commit.place.clean
                    ))
                })
            })
            .collect()
    }
}

impl EntryKind {
    fn is_file(self) -> bool {
        matches!(self, Self::File | Self::Executable)
    }
}

/// Makes the repository and fetches one commit into it; returns its full name.
fn fetch_commit(
    workshop: &Workshop<'_>,
    revision: Option<&str>,
    id: Option<&str>,
) -> Result<String, SourceError> {
    let place = workshop.place;
    let told = |error: GitError| match error {
        GitError::Refused(said) => failure::of(place, &said),
        GitError::Other(error) => error,
    };
    workshop.run(&["init", "--quiet", "--bare", "--template="]).map_err(told)?;
    let fetch = |what: &[&str], depth: &[&str]| {
        let mut words = vec![
            "fetch",
            "--quiet",
            "--progress",
            "--no-tags",
            "--no-recurse-submodules",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
        ];
        words.extend(depth);
        words.extend(["--", &place.address]);
        words.extend(what);
        workshop.run(&words)
    };
    // A full name means that commit and nothing else, even where somebody has named a branch like it.
    let exact = id.or_else(|| revision.filter(|revision| is_commit(revision)));
    if let Some(exact) = exact {
        let target = format!("+{exact}:{TARGET}");
        if let Err(first) = fetch(&[&target], SHALLOW) {
            let GitError::Refused(said) = first else { return Err(told(first)) };
            // Some servers give no commit by its name. Then it may be in what the branches lead to.
            fetch(&EVERYTHING, &[]).map_err(told)?;
            return resolved(workshop, exact).map_err(|_| {
                let mut error = failure::of(place, &said);
                error.kind = SourceErrorKind::NotFound;
                error.what = format!("`{}` does not have the commit {exact} any more", place.clean);
                error.advice("it may have been removed by a forced push; install it again")
            });
        }
        return resolved(workshop, TARGET);
    }
    let Some(revision) = revision else {
        fetch(&[&format!("+HEAD:{TARGET}")], SHALLOW).map_err(told)?;
        return resolved(workshop, TARGET);
    };
    // Asked for by their full names, so that nothing in front of a name can mean anything else. A tag comes first, as it
    // does for git.
    let (tag, branch) = (format!("refs/tags/{revision}"), format!("refs/heads/{revision}"));
    let listed = workshop.run(&["ls-remote", "--", &place.address, &tag, &branch]).map_err(told)?;
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let has = |name: &str| listed.lines().any(|line| line.split('\t').nth(1) == Some(name));
    if let Some(name) = [&tag, &branch].into_iter().find(|name| has(name)) {
        fetch(&[&format!("+{name}:{TARGET}")], SHALLOW).map_err(told)?;
        return resolved(workshop, TARGET);
    }
    let missing = || {
        not_found(format!("`{}` has no branch, tag or commit `{}`", place.clean, visible(revision)))
            .advice(format!("`git ls-remote {}` lists them", place.clean))
    };
    // The beginning of a commit's name can only be looked up where all commits are.
    let is_beginning =
        (7..40).contains(&revision.len()) && revision.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_beginning {
        return Err(missing());
    }
    fetch(&EVERYTHING, &[]).map_err(told)?;
    resolved(workshop, revision).map_err(|_| missing())
}

/// The full name of the commit that something means in the temporary repository.
fn resolved(workshop: &Workshop<'_>, what: &str) -> Result<String, SourceError> {
    let wanted = format!("{what}^{{commit}}");
    let found = workshop
        .run(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted])
        .map_err(|error| match error {
            GitError::Refused(said) => failure::of(workshop.place, &said),
            GitError::Other(error) => error,
        })?;
    let id = String::from_utf8_lossy(&found).trim().to_owned();
    if is_commit(&id) {
        return Ok(id);
    }
    Err(unusable(format!("`{}` has no commit there", workshop.place.clean)))
}

fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64)
        && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// `MODE SP TYPE SP ID SP+ SIZE TAB PATH`.
fn read_entry(line: &[u8]) -> Option<Entry> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let head = std::str::from_utf8(&line[..tab]).ok()?;
    let mut words = head.split_ascii_whitespace();
    let (mode, _, id, size) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let kind = match mode {
        "120000" => EntryKind::Link,
        "160000" => EntryKind::Submodule,
        "100755" => EntryKind::Executable,
        _ => EntryKind::File,
    };
    let path = String::from_utf8_lossy(&line[tab + 1..]).into_owned();
    let is_text = path.as_bytes() == &line[tab + 1..];
    Some(Entry { kind, id: id.to_owned(), size: size.parse().unwrap_or(0), path, is_text })
}

fn joined(folder: Option<&PackagePath>, below: &str) -> String {
    match folder {
        None => below.to_owned(),
        Some(folder) if below.is_empty() => folder.as_str().to_owned(),
        Some(folder) => format!("{folder}/{below}"),
    }
}

fn joined_text(folder: &str, file: &str) -> String {
    if folder.is_empty() { file.to_owned() } else { format!("{folder}/{file}") }
}

fn is_pointer(bytes: &[u8]) -> bool {
    bytes.len() < 1024 && bytes.starts_with(b"version https://git-lfs.github.com/spec/")
}

fn broken(commit: &Commit, error: &std::io::Error) -> SourceError {
    unreachable(format!("cannot read `{}` out of git: {error}", commit.place.clean))
}
