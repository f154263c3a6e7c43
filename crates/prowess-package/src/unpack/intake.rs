//! The common part of both formats: checks every entry, and whether they form a skill.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};

use prowess_format::ReadOptions;

use super::{UnpackError, UnpackOptions, UnpackSink, Unpacked};
use crate::content::{FileRole, MANIFEST, role_of, role_of_folder, stays_executable};
use crate::covered::{CoveredFiles, MOST_SIGNATURE_BYTES, may_cover};
use crate::digest::{FileHasher, FileHashes};
use crate::name::SkillName;
use crate::path::{PackagePath, fold};
use crate::tree::{TreeChecker, TreeError};

/// Maximum size of a manifest in bytes; the longest of 2,291 published ones has 128 kB.
const MOST_MANIFEST_BYTES: usize = 1 << 20;

/// Maximum compression ratio. Text stays below 20, and bombs reach 1,000.
pub(super) const MOST_RATIO: u64 = 100;
/// The ratio is only checked above this size, in bytes.
const RATIO_FROM: u64 = 8 << 20;

/// Whether the compression ratio is too high (attack registry-B3).
pub(super) fn is_too_dense(packed: u64, unpacked: u64) -> bool {
    unpacked > RATIO_FROM && unpacked / MOST_RATIO > packed
}

pub(super) struct Intake<'a> {
    sink: &'a mut dyn UnpackSink,
    pub(super) options: &'a UnpackOptions<'a>,
    guard: TreeChecker<'a>,
    entries: usize,
    hashes: FileHashes,
    /// Manifests at the root and one folder below it. Only the text of the first of each is kept:
    /// an archive may contain many.
    manifests: BTreeMap<PackagePath, Vec<u8>>,
    /// Signatures at the same places, which say which hidden files are content.
    signatures: BTreeMap<PackagePath, Vec<u8>>,
    /// Hidden files and folders. They are rejected at the end, unless a signature covers them.
    hidden: Vec<HiddenEntry>,
}

/// A file or folder that is only content if a signature covers it.
struct HiddenEntry {
    path: PackagePath,
    role: FileRole,
    is_folder: bool,
}

/// Maximum number of signatures whose lists are read: one of each name, at the root and below it.
const MOST_SIGNATURES: usize = 8;

impl<'a> Intake<'a> {
    pub(super) fn new(sink: &'a mut dyn UnpackSink, options: &'a UnpackOptions<'a>) -> Self {
        let guard = TreeChecker::new(&options.limits);
        Self {
            sink,
            options,
            guard,
            entries: 0,
            hashes: FileHashes::new(),
            manifests: BTreeMap::new(),
            signatures: BTreeMap::new(),
            hidden: Vec::new(),
        }
    }

    /// Counts an entry of any kind, including one that only describes another (attack registry-B4).
    pub(super) fn count_entry(&mut self) -> Result<(), UnpackError> {
        self.entries += 1;
        if self.entries > self.options.limits.entries {
            return Err(TreeError::TooMany { most: self.options.limits.entries }.into());
        }
        Ok(())
    }

    /// Checks a folder. It is not created: folders are created with their files.
    pub(super) fn folder(&mut self, raw: &[u8]) -> Result<(), UnpackError> {
        let raw = raw.strip_suffix(b"/").unwrap_or(raw);
        // `tar -c .` begins with the folder itself.
        if raw == b"." {
            return Ok(());
        }
        let path = PackagePath::from_bytes(raw.strip_prefix(b"./").unwrap_or(raw))?;
        let is_content = |role: &FileRole| *role == FileRole::Content;
        if let Some(role) = path.parts().map(role_of_folder).find(|role| !is_content(role)) {
            self.set_aside(&path, role, true)?;
        }
        Ok(self.guard.admit_folder(&path)?)
    }

    /// Reads a file of a declared length. More or fewer bytes are an error.
    pub(super) fn file(
        &mut self,
        raw: &[u8],
        executable: bool,
        length: u64,
        content: &mut dyn Read,
    ) -> Result<(), UnpackError> {
        let path = PackagePath::from_bytes(raw.strip_prefix(b"./").unwrap_or(raw))?;
        let role = role_of(&path);
        if !matches!(role, FileRole::Content | FileRole::Sidecar) {
            self.set_aside(&path, role, false)?;
        }
        self.guard.admit(&path)?;
        self.guard.count(&path, length)?;
        let mut metered = Metered {
            content,
            left: length,
            hasher: FileHasher::default(),
            kept: self.keeps_text(&path).then(Vec::new),
            most_kept: most_kept(&path),
            failure: None,
        };
        if role == FileRole::Sidecar {
            // R25: read, because it may be damaged, and discarded.
            return io::copy(&mut metered, &mut io::sink())
                .map(drop)
                .map_err(|error| metered.fault(error, &path));
        }
        let mut first = [0; 2];
        let mut filled = 0;
        while filled < first.len() {
            match metered.read(&mut first[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) => return Err(metered.fault(error, &path)),
            }
        }
        let first = &first[..filled];
        let executable = executable && stays_executable(&path, first);
        if let Err(error) = self.sink.file(&path, executable, &mut first.chain(&mut metered)) {
            return Err(metered.fault(error, &path));
        }
        // The sink stopped early, so the hash is incomplete.
        if metered.left > 0 {
            return Err(UnpackError::Malformed("a file is shorter than the archive says"));
        }
        let Metered { hasher, kept, .. } = metered;
        if is_manifest_place(&path) {
            self.manifests.insert(path.clone(), kept.unwrap_or_default());
        } else if let Some(signature) = kept {
            self.signatures.insert(path.clone(), signature);
        }
        self.hashes.insert(path, hasher.finish());
        Ok(())
    }

    /// Sets a hidden entry aside until the signatures are known. What no signature can cover is rejected here.
    fn set_aside(
        &mut self,
        path: &PackagePath,
        role: FileRole,
        is_folder: bool,
    ) -> Result<(), UnpackError> {
        if !may_cover(path) {
            return Err(refused(role, path));
        }
        self.hidden.push(HiddenEntry { path: path.clone(), role, is_folder });
        Ok(())
    }

    /// Rejects hidden entries that no signature in the skill's folder covers.
    fn require_covered(&self, root: Option<&str>) -> Result<(), UnpackError> {
        if self.hidden.is_empty() {
            return Ok(());
        }
        let inside = |path: &PackagePath| match root {
            None => Some(path.clone()),
            Some(folder) => path.below(folder),
        };
        let mut covered = CoveredFiles::default();
        for (path, bytes) in &self.signatures {
            if let Some(path) = inside(path) {
                covered.add(path.as_str(), bytes);
            }
        }
        for entry in &self.hidden {
            let is_covered = inside(&entry.path).is_some_and(|path| {
                if entry.is_folder {
                    covered.has_below(path.as_str())
                } else {
                    covered.contains(path.as_str())
                }
            });
            if !is_covered {
                return Err(refused(entry.role, &entry.path));
            }
        }
        Ok(())
    }

    fn keeps_text(&self, path: &PackagePath) -> bool {
        if CoveredFiles::is_listing(path.file_name()) && path.parts().count() <= 2 {
            return self.signatures.len() < MOST_SIGNATURES;
        }
        let is_below = |path: &PackagePath| path.as_str() != MANIFEST;
        is_manifest_place(path) && !(is_below(path) && self.manifests.keys().any(is_below))
    }

    /// Determines the root and the name of the skill.
    pub(super) fn finish(mut self) -> Result<Unpacked, UnpackError> {
        let root = self.root()?;
        self.require_covered(root.as_deref())?;
        let manifest_path = match &root {
            None => MANIFEST.to_owned(),
            Some(folder) => format!("{folder}/{MANIFEST}"),
        };
        let manifest_path: PackagePath = manifest_path.parse()?;
        let manifest = self.manifests.remove(&manifest_path).unwrap_or_default();
        if manifest.len() > MOST_MANIFEST_BYTES {
            return Err(TreeError::FileTooLarge {
                path: manifest_path.as_str().to_owned(),
                most: MOST_MANIFEST_BYTES as u64,
            }
            .into());
        }
        let (name, version) = identity(&manifest, self.options.name)?;
        let Some(folder) = root else {
            return Ok(Unpacked { name, version, hashes: self.hashes });
        };
        // Attack registry-B12: a folder of another name is the root of another skill.
        let with_version = version.as_ref().map(|version| format!("{name}-{version}"));
        if folder != name.as_str() && Some(&folder) != with_version.as_ref() {
            return Err(UnpackError::OtherFolder { folder, name });
        }
        self.sink
            .strip(&folder)
            .map_err(|source| UnpackError::Write { path: folder.clone(), source })?;
        let hashes = self.hashes.into_iter();
        let hashes = hashes.filter_map(|(path, hash)| Some((path.below(&folder)?, hash))).collect();
        Ok(Unpacked { name, version, hashes })
    }

    /// The single top-level folder, or `None` if the files are at the root (attack registry-B12,
    /// GAIX-23).
    fn root(&self) -> Result<Option<String>, UnpackError> {
        if self.manifests.keys().any(|path| path.as_str() == MANIFEST) {
            return Ok(None);
        }
        let skills: Vec<String> = self
            .manifests
            .keys()
            .filter_map(|path| path.as_str().strip_suffix(MANIFEST)?.strip_suffix('/'))
            .map(str::to_owned)
            .collect();
        let tops: BTreeSet<&str> =
            self.hashes.keys().filter_map(|path| path.parts().next()).collect();
        match skills.as_slice() {
            [] => {
                let meant =
                    self.hashes.keys().find(|path| fold(path.file_name()) == fold(MANIFEST));
                let found = meant.map(|path| path.as_str().to_owned());
                Err(TreeError::NoManifest { found }.into())
            }
            [one] if tops.len() == 1 => Ok(Some(one.clone())),
            [one] => {
                let other = tops.iter().find(|top| *top != one).copied().unwrap_or_default();
                Err(UnpackError::Entry {
                    path: other.to_owned(),
                    problem: "it is outside the folder of the skill",
                })
            }
            _ => Err(UnpackError::SeveralSkills { folders: skills }),
        }
    }
}

/// Determines name and version, and checks that it is the expected skill.
fn identity(
    manifest: &[u8],
    expected: Option<&SkillName>,
) -> Result<(SkillName, Option<String>), UnpackError> {
    let mut text = Cow::default();
    let checked = prowess_format::check_bytes(manifest, &mut text, ReadOptions::DETECT);
    if !checked.is_skill() {
        return Err(UnpackError::Unreadable);
    }
    let version = checked.skill.published_version().map(str::to_owned);
    let declared = checked.skill.name_text().map(str::parse::<SkillName>);
    let name = match (expected, declared) {
        (Some(expected), Some(Ok(found))) if found != *expected => {
            return Err(UnpackError::OtherSkill { expected: expected.clone(), found });
        }
        // Registries assign a canonical name to skills that declare none (R2).
        (Some(expected), _) => expected.clone(),
        (None, Some(declared)) => declared?,
        (None, None) => return Err(UnpackError::Nameless),
    };
    Ok((name, version))
}

/// The most bytes of a file that are kept.
fn most_kept(path: &PackagePath) -> usize {
    if is_manifest_place(path) {
        return MOST_MANIFEST_BYTES;
    }
    usize::try_from(MOST_SIGNATURE_BYTES).unwrap_or(usize::MAX)
}

fn is_manifest_place(path: &PackagePath) -> bool {
    path.file_name() == MANIFEST && path.parts().count() <= 2
}

fn refused(role: FileRole, path: &PackagePath) -> UnpackError {
    let problem = match role {
        FileRole::Litter => "files of version control, caches and systems are not part of a skill",
        FileRole::Hidden | FileRole::Content | FileRole::Sidecar => {
            "hidden files are not part of a skill"
        }
    };
    UnpackError::Entry { path: path.as_str().to_owned(), problem }
}

/// Reads exactly the declared number of bytes and hashes them.
struct Metered<'a> {
    content: &'a mut dyn Read,
    left: u64,
    hasher: FileHasher,
    kept: Option<Vec<u8>>,
    most_kept: usize,
    /// Converts an error, distinguishing errors of the archive from those of the disk.
    failure: Option<io::Error>,
}

impl Metered<'_> {
    fn fault(&mut self, error: io::Error, path: &PackagePath) -> UnpackError {
        match self.failure.take() {
            Some(failure) => archive_error(failure),
            None => UnpackError::Write { path: path.as_str().to_owned(), source: error },
        }
    }
}

impl Read for Metered<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        if most == 0 {
            return Ok(0);
        }
        let count = loop {
            match self.content.read(&mut buffer[..most]) {
                Ok(0) => break Err(deception("a file is shorter than the archive says")),
                Ok(count) => break Ok(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => break Err(error),
            }
        };
        match count {
            Ok(count) => {
                self.left -= count as u64;
                self.hasher.update(&buffer[..count]);
                if let Some(kept) = &mut self.kept
                    && kept.len() <= self.most_kept
                {
                    kept.extend_from_slice(&buffer[..count]);
                }
                Ok(count)
            }
            Err(error) => {
                self.failure = Some(error);
                Err(io::Error::other("the archive can't be read"))
            }
        }
    }
}

/// A problem of the archive, wrapped in an I/O error.
#[derive(Debug, thiserror::Error)]
pub(super) enum ArchiveProblem {
    #[error("{0}")]
    Malformed(&'static str),
    #[error("too dense")]
    TooDense(u64),
    #[error("too large")]
    TooLarge(u64),
}

pub(super) fn deception(problem: &'static str) -> io::Error {
    io::Error::other(ArchiveProblem::Malformed(problem))
}

/// Unwraps a problem of the archive from an I/O error.
pub(super) fn archive_error(error: io::Error) -> UnpackError {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<ArchiveProblem>()) {
        Some(ArchiveProblem::Malformed(problem)) => UnpackError::Malformed(problem),
        Some(ArchiveProblem::TooDense(most)) => UnpackError::TooDense { most: *most },
        Some(ArchiveProblem::TooLarge(most)) => UnpackError::ArchiveTooLarge { most: *most },
        None => match error.kind() {
            io::ErrorKind::UnexpectedEof => UnpackError::Malformed("it ends too early"),
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                UnpackError::Malformed("its compressed data can't be read")
            }
            _ => UnpackError::Read(error),
        },
    }
}
