//! The files of a skill: read from a folder without following links, checked and bounded.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use prowess_files::folder::{EntryKind, Folder, FolderEntry};
use prowess_format::ReadOptions;

use crate::content::{FileRole, MANIFEST, SIDECAR, role_of, role_of_folder, stays_executable};
use crate::covered::{CoveredFiles, MOST_SIGNATURE_BYTES};
use crate::digest::{FileHasher, FileHashes, Sha256Digest};
use crate::limits::{PackageLimits, size};
use crate::path::{PackagePath, PackagePathError, fold};

/// Patterns of files that are not packed, in the syntax of `.gitignore`.
const IGNORE_FILE: &str = ".skillignore";
/// Maximum size of an ignore file, in bytes.
const MOST_IGNORE_BYTES: u64 = 64 << 10;
/// Maximum number of names in an error.
const MOST_NAMED: usize = 10;

/// The files of a skill in memory, by path in byte order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree {
    files: BTreeMap<PackagePath, TreeFile>,
}

/// A file of a skill.
#[derive(Clone, PartialEq, Eq)]
pub struct TreeFile {
    /// Its content.
    pub bytes: Vec<u8>,
    /// Whether it is executable, the only part of its mode that is kept (attack registry-B11).
    pub executable: bool,
}

impl TreeFile {
    /// The hash of its content.
    pub fn digest(&self) -> Sha256Digest {
        Sha256Digest::of(&self.bytes)
    }
}

impl fmt::Debug for TreeFile {
    /// Omits the bytes, of which there may be millions.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let executable = if self.executable { ", executable" } else { "" };
        write!(formatter, "{} bytes{executable}", self.bytes.len())
    }
}

/// What was read from a folder.
#[derive(Debug)]
pub struct ReadTree {
    /// The content.
    pub tree: Tree,
    /// The paths that were omitted: litter, archives of the skill itself, and matches of
    /// `.skillignore`.
    pub left_out: Vec<String>,
    /// Hidden files, links and special files that were omitted from a foreign folder. In an
    /// author's folder they are an error.
    pub withheld: Vec<String>,
}

/// Why a folder can't be packed.
#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    /// The operating system reported an error.
    #[error("cannot read `{path}`: {source}")]
    Read {
        /// The file or folder.
        path: String,
        /// The error.
        source: io::Error,
    },
    /// A path that is not portable.
    #[error("{0}; rename it")]
    Path(#[from] PackagePathError),
    /// A link (NEG-15).
    #[error(
        "`{path}` is a symbolic link; replace it with the file itself, or add it to `{IGNORE_FILE}`"
    )]
    Link {
        /// Its path.
        path: String,
    },
    /// A pipe, a device or a socket.
    #[error("`{path}` is neither a file nor a folder; remove it, or add it to `{IGNORE_FILE}`")]
    Special {
        /// Its path.
        path: String,
    },
    /// Hidden files, which are not allowed in a package (attack registry-B10).
    #[error(
        "hidden files can't be packed: {}; remove them, or add them to `{IGNORE_FILE}`",
        named(.paths)
    )]
    Hidden {
        /// Their paths.
        paths: Vec<String>,
    },
    /// Two paths that collide on other systems (attack registry-B8).
    #[error("{}", same(.one, .other))]
    Twins {
        /// One of them. A folder ends with `/`.
        one: String,
        /// The other.
        other: String,
    },
    /// No `SKILL.md`.
    #[error("there is no `{MANIFEST}`{}", spelled(.found.as_deref()))]
    NoManifest {
        /// A file that was probably meant.
        found: Option<String>,
    },
    /// Too many files.
    #[error("there are more than {most} files and folders")]
    TooMany {
        /// The limit.
        most: usize,
    },
    /// One file is too large.
    #[error("`{path}` has more than {}", size(*.most))]
    FileTooLarge {
        /// The file.
        path: String,
        /// The limit in bytes.
        most: u64,
    },
    /// All together are too large.
    #[error("the files have more than {} together", size(*.most))]
    TooLarge {
        /// The limit in bytes.
        most: u64,
    },
    /// An invalid pattern.
    #[error("`{IGNORE_FILE}` is not valid: {problem}")]
    Pattern {
        /// The problem.
        problem: String,
    },
}

impl Tree {
    /// Creates a tree from files in memory, checked like one on disk.
    pub fn from_files(
        files: impl IntoIterator<Item = (PackagePath, TreeFile)>,
        limits: &PackageLimits,
    ) -> Result<Self, TreeError> {
        let mut guard = TreeChecker::new(limits);
        let mut tree = Self::default();
        let mut hidden = Vec::new();
        let files: Vec<(PackagePath, TreeFile)> = files.into_iter().collect();
        let mut covered = CoveredFiles::default();
        for (path, file) in &files {
            covered.add(path.as_str(), &file.bytes);
        }
        for (path, mut file) in files {
            match role_of(&path) {
                FileRole::Content => {}
                _ if covered.contains(path.as_str()) => {}
                FileRole::Sidecar | FileRole::Litter => continue,
                FileRole::Hidden => {
                    hidden.push(path.as_str().to_owned());
                    continue;
                }
            }
            guard.admit(&path)?;
            guard.count(&path, file.bytes.len() as u64)?;
            file.executable &= stays_executable(&path, &file.bytes);
            tree.files.insert(path, file);
        }
        refuse_hidden(hidden)?;
        tree.require_manifest()?;
        Ok(tree)
    }

    /// Reads an author's folder for packing: litter is omitted, hidden files (attack registry-B10)
    /// and links (NEG-15) are errors.
    pub fn read(folder: &Path, limits: &PackageLimits) -> Result<ReadTree, TreeError> {
        Self::read_as(folder, limits, |ignored| Reading::Author { ignored })
    }

    /// Reads the skill in a foreign folder. What an author would have to remove is omitted instead:
    /// the user can't change the folder, and without those files the skill is what the author would
    /// have packed.
    pub fn read_foreign(folder: &Path, limits: &PackageLimits) -> Result<ReadTree, TreeError> {
        Self::read_as(folder, limits, |ignored| Reading::Foreign { ignored })
    }

    fn read_as(
        folder: &Path,
        limits: &PackageLimits,
        reading: impl for<'a> FnOnce(&'a Gitignore) -> Reading<'a>,
    ) -> Result<ReadTree, TreeError> {
        let opened = open(folder)?;
        let ignored = ignore_patterns(&opened)?;
        let reading = reading(&ignored);
        let mut walk = Walk {
            reading,
            covered: covered_in(&opened)?,
            guard: TreeChecker::new(limits),
            left_out: Vec::new(),
            hidden: Vec::new(),
        };
        let mut tree = Self::default();
        walk.folder(&opened, "", 0, None, &mut |path, file, executable, most| {
            let mut bytes = Vec::new();
            file.take(most + 1).read_to_end(&mut bytes)?;
            let length = bytes.len() as u64;
            let executable = executable && stays_executable(&path, &bytes);
            tree.files.insert(path, TreeFile { bytes, executable });
            Ok(length)
        })?;
        let withheld = match reading {
            Reading::Foreign { .. } => walk.hidden,
            Reading::Author { .. } | Reading::Installed => {
                refuse_hidden(walk.hidden)?;
                Vec::new()
            }
        };
        tree.require_manifest()?;
        for path in tree.own_archives(&walk.covered) {
            tree.files.remove(&path);
            walk.left_out.push(path.as_str().to_owned());
        }
        Ok(ReadTree { tree, left_out: walk.left_out, withheld })
    }

    /// The files.
    pub fn files(&self) -> impl Iterator<Item = (&PackagePath, &TreeFile)> {
        self.files.iter()
    }

    /// One file.
    pub fn get(&self, path: &str) -> Option<&TreeFile> {
        self.files.get(&path.parse().ok()?)
    }

    /// The content of `SKILL.md`, which need not be UTF-8.
    pub fn manifest(&self) -> &[u8] {
        self.get(MANIFEST).map_or(&[], |file| &file.bytes)
    }

    /// The hash of every file.
    pub fn hashes(&self) -> FileHashes {
        self.files.iter().map(|(path, file)| (path.clone(), file.digest())).collect()
    }

    /// Inserts a file without checks, for unpacking, which has already checked it.
    pub(crate) fn insert(&mut self, path: PackagePath, file: TreeFile) {
        self.files.insert(path, file);
    }

    /// Moves the files below `folder` to the root.
    pub(crate) fn below(self, folder: &str) -> Self {
        let files = self.files.into_iter();
        Self { files: files.filter_map(|(path, file)| Some((path.below(folder)?, file))).collect() }
    }

    /// Archives of this very skill, `NAME-VERSION.tar.gz`, which packing has left in its folder.
    fn own_archives(&self, covered: &CoveredFiles) -> Vec<PackagePath> {
        const ENDING: &str = ".tar.gz";
        let archives = self.files.keys().filter(|path| path.file_name().ends_with(ENDING));
        let archives: Vec<&PackagePath> = archives.collect();
        if archives.is_empty() {
            return Vec::new();
        }
        let mut text = Cow::default();
        let checked = prowess_format::check_bytes(self.manifest(), &mut text, ReadOptions::DETECT);
        let Some(name) = checked.skill.name_text() else { return Vec::new() };
        let is_own = |path: &&PackagePath| {
            let version = path
                .file_name()
                .strip_prefix(name)
                .and_then(|rest| rest.strip_prefix('-')?.strip_suffix(ENDING));
            version.is_some_and(is_version) && !covered.contains(path.as_str())
        };
        archives.into_iter().filter(is_own).cloned().collect()
    }

    fn require_manifest(&self) -> Result<(), TreeError> {
        if self.get(MANIFEST).is_some() {
            return Ok(());
        }
        let found = self.files.keys().find(|path| path.folded() == fold(MANIFEST));
        Err(TreeError::NoManifest { found: found.map(|path| path.as_str().to_owned()) })
    }
}

/// Hashes every file of an installed skill, including litter and hidden files, which are never
/// installed; only the lock file is never content (R25).
pub fn hash_installed(folder: &Path, limits: &PackageLimits) -> Result<FileHashes, TreeError> {
    hash_folder(&open(folder)?, limits)
}

/// Hashes every file of an installed skill in an open folder.
pub fn hash_folder(folder: &Folder, limits: &PackageLimits) -> Result<FileHashes, TreeError> {
    let mut walk = Walk {
        reading: Reading::Installed,
        covered: CoveredFiles::default(),
        guard: TreeChecker::new(limits),
        left_out: Vec::new(),
        hidden: Vec::new(),
    };
    let mut hashes = FileHashes::new();
    let mut buffer = vec![0; 64 << 10];
    walk.folder(folder, "", 0, None, &mut |path, file, _, most| {
        let mut content = FileHasher::default();
        let mut length = 0;
        let mut file = file.take(most + 1);
        loop {
            match file.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => {
                    content.update(&buffer[..count]);
                    length += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        hashes.insert(path, content.finish());
        Ok(length)
    })?;
    Ok(hashes)
}

/// The kind of folder that is read.
#[derive(Clone, Copy)]
enum Reading<'a> {
    /// A folder of the author.
    Author { ignored: &'a Gitignore },
    /// A folder of someone else.
    Foreign { ignored: &'a Gitignore },
    /// A folder of installed skills, which only we write.
    Installed,
}

struct Walk<'a> {
    reading: Reading<'a>,
    /// Files that are content because a signature lists them.
    covered: CoveredFiles,
    guard: TreeChecker<'a>,
    left_out: Vec<String>,
    hidden: Vec<String>,
}

/// Receives a file's path, its content, whether it is executable, and its maximum length; returns
/// its length.
type Visit<'v> = dyn FnMut(PackagePath, std::fs::File, bool, u64) -> io::Result<u64> + 'v;

/// Why something is not content.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Exclusion {
    /// Litter, or excluded by the author.
    LeftOut,
    /// Hidden, or not a file.
    Hidden,
}

impl Walk<'_> {
    /// Reads a folder. `around` says why the folder is not content, if it is only entered for files that a signature
    /// covers.
    fn folder(
        &mut self,
        folder: &Folder,
        prefix: &str,
        depth: usize,
        around: Option<Exclusion>,
        visit: &mut Visit<'_>,
    ) -> Result<(), TreeError> {
        let read = |path: &str, source| TreeError::Read { path: shown(path).to_owned(), source };
        for entry in folder.entries().map_err(|source| read(prefix, source))? {
            let lossy = String::from_utf8_lossy(&entry.name);
            let path =
                if prefix.is_empty() { lossy.into_owned() } else { format!("{prefix}/{lossy}") };
            let exclusion = around.or_else(|| self.exclusion(&path, &entry));
            let is_covered = match entry.kind {
                EntryKind::File => self.covered.contains(&path),
                EntryKind::Folder => self.covered.has_below(&path),
                // A link is never followed, whoever has signed it.
                EntryKind::Link | EntryKind::Other => false,
            };
            match exclusion {
                Some(Exclusion::LeftOut) if !is_covered => {
                    self.left_out.push(path);
                    continue;
                }
                Some(Exclusion::Hidden) if !is_covered => {
                    self.hidden.push(path);
                    continue;
                }
                Some(_) | None => {}
            }
            match entry.kind {
                EntryKind::Link => return Err(TreeError::Link { path }),
                EntryKind::Other => return Err(TreeError::Special { path }),
                EntryKind::Folder => {
                    // Stops the walk at the maximum depth of a path.
                    if depth == crate::path::MOST_PATH_PARTS {
                        path.parse::<PackagePath>()?;
                    }
                    let inner =
                        folder.folder_bytes(&entry.name).map_err(|source| read(&path, source))?;
                    self.folder(&inner, &path, depth + 1, exclusion, visit)?;
                    continue;
                }
                EntryKind::File => {}
            }
            if path == SIDECAR {
                continue;
            }
            let whole =
                [prefix.as_bytes(), if prefix.is_empty() { b"" } else { b"/" }, &entry.name]
                    .concat();
            let checked = PackagePath::from_bytes(&whole)?;
            if !matches!(self.reading, Reading::Installed)
                && role_of(&checked) == FileRole::Hidden
                && !is_covered
            {
                self.hidden.push(path);
                continue;
            }
            self.guard.admit(&checked)?;
            let file = folder.file(&entry.name).map_err(|source| read(&path, source))?;
            let metadata = file.metadata().map_err(|source| read(&path, source))?;
            // The entry may have been replaced in the meantime.
            if !metadata.is_file() {
                return Err(TreeError::Special { path });
            }
            let executable = metadata.permissions().mode() & 0o100 != 0;
            let most = self.guard.room();
            let length = visit(checked.clone(), file, executable, most)
                .map_err(|source| read(&path, source))?;
            self.guard.count(&checked, length)?;
        }
        Ok(())
    }

    /// Why an entry is skipped without reading it, unless a signature covers it.
    fn exclusion(&self, path: &str, entry: &FolderEntry) -> Option<Exclusion> {
        if self.is_left_out(path, entry.kind) {
            return Some(Exclusion::LeftOut);
        }
        self.withholds(entry).then_some(Exclusion::Hidden)
    }

    /// Whether an entry of a foreign folder is hidden, or not a file.
    fn withholds(&self, entry: &FolderEntry) -> bool {
        match (self.reading, entry.kind) {
            (Reading::Foreign { .. }, EntryKind::Link | EntryKind::Other) => true,
            (Reading::Foreign { .. }, EntryKind::Folder) => {
                role_of_folder(&String::from_utf8_lossy(&entry.name)) == FileRole::Hidden
            }
            _ => false,
        }
    }

    fn is_left_out(&self, path: &str, kind: EntryKind) -> bool {
        let (Reading::Author { ignored } | Reading::Foreign { ignored }) = self.reading else {
            return false;
        };
        let is_folder = kind == EntryKind::Folder;
        if ignored.matched(path, is_folder).is_ignore() {
            return true;
        }
        let name = path.rsplit('/').next().unwrap_or(path);
        if is_folder {
            return role_of_folder(name) == FileRole::Litter;
        }
        name.parse().is_ok_and(|name| role_of(&name) == FileRole::Litter)
    }
}

/// Filters a file listing, for sources that are not a folder. It decides like
/// [`Tree::read_foreign`], so that a skill has the same files from every source.
#[derive(Debug)]
pub struct ListingFilter {
    ignored: Gitignore,
    covered: CoveredFiles,
}

/// The role of a file in a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterDecision {
    /// It is content.
    Kept,
    /// Litter, or excluded by the author.
    LeftOut,
    /// A hidden file, which is reported to the user.
    Withheld,
}

impl ListingFilter {
    /// The path of the ignore file, at the root of a skill.
    pub const FILE: &str = IGNORE_FILE;

    /// Creates a filter from the text of the skill's `.skillignore`, which may be empty.
    pub fn new(patterns: &str) -> Result<Self, TreeError> {
        Ok(Self { ignored: patterns_of(patterns)?, covered: CoveredFiles::default() })
    }

    /// Whether a file at the root of a skill is a signature that lists files. Its content is
    /// needed before anything is decided.
    pub fn is_signature(path: &str) -> bool {
        CoveredFiles::is_listing(path)
    }

    /// The maximum size of a signature that is needed, in bytes. A longer one lists nothing.
    pub const MOST_SIGNATURE_BYTES: u64 = MOST_SIGNATURE_BYTES;

    /// Adds a signature: the files it lists are content, even hidden ones.
    pub fn add_signature(&mut self, path: &str, bytes: &[u8]) {
        self.covered.add(path, bytes);
    }

    /// The role of a file.
    pub fn decide(&self, path: &PackagePath) -> FilterDecision {
        if self.covered.contains(path.as_str()) {
            return FilterDecision::Kept;
        }
        if self.ignored.matched_path_or_any_parents(path.as_str(), false).is_ignore() {
            return FilterDecision::LeftOut;
        }
        match role_of(path) {
            FileRole::Content => FilterDecision::Kept,
            FileRole::Sidecar | FileRole::Litter => FilterDecision::LeftOut,
            FileRole::Hidden => FilterDecision::Withheld,
        }
    }
}

/// Checks the limits and detects colliding names.
pub(crate) struct TreeChecker<'a> {
    limits: &'a PackageLimits,
    bytes: u64,
    files: usize,
    /// Maps the folded path to the first spelling. Folders end with `/`.
    spellings: BTreeMap<String, String>,
}

impl<'a> TreeChecker<'a> {
    pub(crate) fn new(limits: &'a PackageLimits) -> Self {
        Self { limits, bytes: 0, files: 0, spellings: BTreeMap::new() }
    }

    /// Admits a path, unless it or a parent folder collides with another one (attack registry-B8).
    pub(crate) fn admit(&mut self, path: &PackagePath) -> Result<(), TreeError> {
        self.files += 1;
        if self.files > self.limits.entries {
            return Err(TreeError::TooMany { most: self.limits.entries });
        }
        self.take(path.as_str(), Taken::File)?;
        self.admit_folders(path)
    }

    /// Admits the parent folders of a file.
    fn admit_folders(&mut self, path: &PackagePath) -> Result<(), TreeError> {
        for (at, _) in path.as_str().match_indices('/') {
            self.take(&path.as_str()[..at], Taken::Folder)?;
        }
        Ok(())
    }

    /// Admits a folder and its parents.
    pub(crate) fn admit_folder(&mut self, path: &PackagePath) -> Result<(), TreeError> {
        self.take(path.as_str(), Taken::Folder)?;
        self.admit_folders(path)
    }

    fn take(&mut self, spelling: &str, taken: Taken) -> Result<(), TreeError> {
        let marked = match taken {
            Taken::File => spelling.to_owned(),
            Taken::Folder => format!("{spelling}/"),
        };
        match self.spellings.get(&fold(spelling)) {
            // A folder occurs once for every file in it, a file only once.
            Some(first) if *first == marked && taken == Taken::Folder => Ok(()),
            Some(first) => Err(TreeError::Twins { one: first.clone(), other: marked }),
            None => {
                self.spellings.insert(fold(spelling), marked);
                Ok(())
            }
        }
    }

    /// The maximum size of the next file, in bytes.
    pub(crate) fn room(&self) -> u64 {
        self.limits.file_bytes.min(self.limits.bytes - self.bytes)
    }

    /// Counts the bytes of a file.
    pub(crate) fn count(&mut self, path: &PackagePath, length: u64) -> Result<(), TreeError> {
        if length > self.limits.file_bytes {
            let path = path.as_str().to_owned();
            return Err(TreeError::FileTooLarge { path, most: self.limits.file_bytes });
        }
        self.bytes += length;
        if self.bytes > self.limits.bytes {
            return Err(TreeError::TooLarge { most: self.limits.bytes });
        }
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Taken {
    File,
    Folder,
}

fn open(folder: &Path) -> Result<Folder, TreeError> {
    Folder::open(folder)
        .map_err(|source| TreeError::Read { path: folder.display().to_string(), source })
}

/// What the signatures in a skill's folder list.
fn covered_in(folder: &Folder) -> Result<CoveredFiles, TreeError> {
    let mut covered = CoveredFiles::default();
    for name in CoveredFiles::listing_names() {
        // A link or a folder of that name is not a signature; the walk reports it.
        let Ok(file) = folder.file(name.as_bytes()) else { continue };
        if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
            continue;
        }
        let mut bytes = Vec::new();
        file.take(MOST_SIGNATURE_BYTES + 1)
            .read_to_end(&mut bytes)
            .map_err(|source| TreeError::Read { path: (*name).to_owned(), source })?;
        covered.add(name, &bytes);
    }
    Ok(covered)
}

fn ignore_patterns(folder: &Folder) -> Result<Gitignore, TreeError> {
    let read = |source| TreeError::Read { path: IGNORE_FILE.to_owned(), source };
    let mut text = String::new();
    match folder.file(IGNORE_FILE.as_bytes()) {
        Ok(file) => {
            file.take(MOST_IGNORE_BYTES).read_to_string(&mut text).map_err(read)?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(read(error)),
    }
    patterns_of(&text)
}

fn patterns_of(text: &str) -> Result<Gitignore, TreeError> {
    let mut builder = GitignoreBuilder::new("");
    for line in text.lines() {
        builder
            .add_line(None, line)
            .map_err(|error| TreeError::Pattern { problem: error.to_string() })?;
    }
    builder.build().map_err(|error| TreeError::Pattern { problem: error.to_string() })
}

fn refuse_hidden(paths: Vec<String>) -> Result<(), TreeError> {
    if paths.is_empty() { Ok(()) } else { Err(TreeError::Hidden { paths }) }
}

fn shown(path: &str) -> &str {
    if path.is_empty() { "." } else { path }
}

/// Whether a text has the form `1.2.3`, perhaps with more after it.
fn is_version(text: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let core = text.split(['-', '+']).next().unwrap_or(text);
    core.split('.').count() == 3 && core.split('.').all(is_number)
}

/// The first paths of a list, made visible.
pub fn named(paths: &[String]) -> String {
    let first: Vec<String> = paths
        .iter()
        .take(MOST_NAMED)
        .map(|path| format!("`{}`", prowess_format::text::visible(path)))
        .collect();
    match paths.len().checked_sub(MOST_NAMED) {
        None | Some(0) => first.join(", "),
        Some(more) => format!("{} and {more} more", first.join(", ")),
    }
}

fn spelled(found: Option<&str>) -> String {
    match found {
        None => String::new(),
        Some(found) => {
            match found.strip_suffix(MANIFEST).and_then(|folder| folder.strip_suffix('/')) {
                Some(folder) => {
                    format!(" at the root, but in `{folder}`; that folder may be the skill")
                }
                None => format!(", but `{found}`; rename it"),
            }
        }
    }
}

fn same(one: &str, other: &str) -> String {
    let [one, other] = [one, other].map(prowess_format::text::visible);
    if one == other {
        format!("`{one}` exists twice")
    } else if one.trim_end_matches('/') == other.trim_end_matches('/') {
        format!("`{}` is a file and a folder", one.trim_end_matches('/'))
    } else {
        format!(
            "`{one}` and `{other}` collide on file systems that ignore case or Unicode composition; rename one"
        )
    }
}
