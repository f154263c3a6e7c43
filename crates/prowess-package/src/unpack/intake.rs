//! The common part of both formats: checks every entry, and whether they form a skill.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};

use prowess_format::ReadOptions;

use super::{UnpackError, UnpackOptions, UnpackSink, Unpacked};
use crate::content::{FileRole, MANIFEST, role_of, role_of_folder, stays_executable};
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
}

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
        for part in path.parts() {
            refuse(role_of_folder(part), &path)?;
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
        refuse(role, &path)?;
        self.guard.admit(&path)?;
        self.guard.count(&path, length)?;
        let mut metered = Metered {
            content,
            left: length,
            hasher: FileHasher::default(),
            kept: self.keeps_text(&path).then(Vec::new),
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
        }
        self.hashes.insert(path, hasher.finish());
        Ok(())
    }

    fn keeps_text(&self, path: &PackagePath) -> bool {
        let is_below = |path: &PackagePath| path.as_str() != MANIFEST;
        is_manifest_place(path) && !(is_below(path) && self.manifests.keys().any(is_below))
    }

    /// Determines the root and the name of the skill.
    pub(super) fn finish(mut self) -> Result<Unpacked, UnpackError> {
        let root = self.root()?;
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
    let version = checked.skill.version.as_ref().map(|version| version.as_str().to_owned());
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

fn is_manifest_place(path: &PackagePath) -> bool {
    path.file_name() == MANIFEST && path.parts().count() <= 2
}

fn refuse(role: FileRole, path: &PackagePath) -> Result<(), UnpackError> {
    let problem = match role {
        FileRole::Content | FileRole::Sidecar => return Ok(()),
        FileRole::Litter => "files of version control, caches and systems are not part of a skill",
        FileRole::Hidden => "hidden files are not part of a skill",
    };
    Err(UnpackError::Entry { path: path.as_str().to_owned(), problem })
}

/// Reads exactly the declared number of bytes and hashes them.
struct Metered<'a> {
    content: &'a mut dyn Read,
    left: u64,
    hasher: FileHasher,
    kept: Option<Vec<u8>>,
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
                    && kept.len() <= MOST_MANIFEST_BYTES
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
