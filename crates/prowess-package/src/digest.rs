//! Digests of a skill: our own, which is signed and locked, and those of other tools.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use icu_collator::options::CollatorOptions;
use icu_collator::{Collator, CollatorPreferences};
use sha2::{Digest as _, Sha256};

use crate::path::PackagePath;
use crate::tree::Tree;

/// The hash of every file of a skill, by path in byte order.
pub type FileHashes = BTreeMap<PackagePath, Sha256Digest>;

/// A SHA-256. Shown as 64 lower case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256Digest([u8; 32]);

/// An invalid SHA-256.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected 64 lower case hexadecimal digits")]
pub struct InvalidDigest;

impl Sha256Digest {
    /// The hash of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// `sha256-` and base64, as in lock files (GAIA §7.3).
    pub fn integrity(&self) -> String {
        format!("sha256-{}", STANDARD.encode(self.0))
    }
}

impl FromStr for Sha256Digest {
    type Err = InvalidDigest;

    fn from_str(text: &str) -> Result<Self, InvalidDigest> {
        if text.len() != 64 {
            return Err(InvalidDigest);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let digit = |character: u8| match character {
                b'0'..=b'9' => Ok(character - b'0'),
                b'a'..=b'f' => Ok(character - b'a' + 10),
                _ => Err(InvalidDigest),
            };
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

impl fmt::Display for Sha256Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for Sha256Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// An incremental hash.
#[derive(Default)]
pub(crate) struct FileHasher(Sha256);

impl FileHasher {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> Sha256Digest {
        Sha256Digest(self.0.finalize().into())
    }
}

/// The content digest: SHA-256 over `path NUL sha256 LF` for each file, sorted by the bytes of the path.
///
/// Stable: signatures and lock files contain it. No [`PackagePath`] contains NUL or LF, so no two
/// sets of files give the same text (attack registry-B17). Modes, times and empty folders are
/// ignored.
pub fn content_digest(hashes: &FileHashes) -> Sha256Digest {
    let mut whole = FileHasher::default();
    for (path, hash) in hashes {
        whole.update(path.as_str().as_bytes());
        whole.update(b"\0");
        whole.update(hash.to_string().as_bytes());
        whole.update(b"\n");
    }
    whole.finish()
}

/// GAIA's `content_digest`: `path NUL length NUL bytes` for each file, without caches and compiled files, as
/// `sha256:…` (GAIX-6).
pub fn gaia_content_digest(tree: &Tree) -> String {
    const LEFT_OUT_FOLDERS: [&str; 6] =
        ["__pycache__", ".git", ".mypy_cache", ".pytest_cache", ".ruff_cache", "node_modules"];
    const LEFT_OUT_ENDINGS: [&str; 4] = ["pyc", "pyo", "so", "zip"];
    let mut whole = FileHasher::default();
    for (path, file) in tree.files() {
        let name = path.file_name();
        // A name that only begins with a dot has no extension there.
        let ending = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty());
        let is_left_out = path.parts().any(|part| LEFT_OUT_FOLDERS.contains(&part))
            || ending.is_some_and(|(_, ending)| LEFT_OUT_ENDINGS.contains(&ending));
        if is_left_out {
            continue;
        }
        whole.update(path.as_str().as_bytes());
        whole.update(b"\0");
        whole.update(file.bytes.len().to_string().as_bytes());
        whole.update(b"\0");
        whole.update(&file.bytes);
    }
    format!("sha256:{}", whole.finish())
}

/// GAIA's `manifest_digest`: the text of `SKILL.md` with LF line endings, as `sha256:…` (GAIX-6).
pub fn gaia_manifest_digest(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    format!("sha256:{}", Sha256Digest::of(text.as_bytes()))
}

/// ClawHub's fingerprint: SHA-256 of `path:sha256` lines joined by LF, without hidden files (OC-13).
///
/// The lines are sorted like JavaScript's `localeCompare`, which uses ICU. ClawHub uses the
/// collation of the user's language; here it is the root collation, which English and most other
/// languages use. The caller has to remove the files that `.gitignore` or `.clawhubignore` exclude
/// from `hashes`.
pub fn clawhub_fingerprint(hashes: &FileHashes) -> Sha256Digest {
    let mut shown: Vec<(&PackagePath, &Sha256Digest)> = hashes
        .iter()
        .filter(|(path, _)| {
            path.parts().all(|part| !part.starts_with('.') && part != "node_modules")
        })
        .collect();
    sort_by_locale(&mut shown, |(path, _)| path.as_str());
    let lines: Vec<String> = shown.iter().map(|(path, hash)| format!("{path}:{hash}")).collect();
    Sha256Digest::of(lines.join("\n").as_bytes())
}

/// `computedHash` of the skills CLI: SHA-256 over path and bytes of each file without separators,
/// in the same order as [`clawhub_fingerprint`].
///
/// Without separators different skills can have the same hash. Only for comparing with that tool's
/// lock file; it proves nothing.
pub fn skills_cli_hash(tree: &Tree) -> Sha256Digest {
    let mut files: Vec<_> = tree
        .files()
        .filter(|(path, _)| {
            let mut folders = path.parts().rev().skip(1);
            folders.all(|part| part != ".git" && part != "node_modules")
        })
        .collect();
    sort_by_locale(&mut files, |(path, _)| path.as_str());
    let mut whole = FileHasher::default();
    for (path, file) in files {
        whole.update(path.as_str().as_bytes());
        whole.update(&file.bytes);
    }
    whole.finish()
}

/// Sorts by the root collation of `localeCompare`.
fn sort_by_locale<T>(items: &mut [T], text: impl Fn(&T) -> &str) {
    let collator = Collator::try_new(CollatorPreferences::default(), CollatorOptions::default())
        .expect("the data of the root order is compiled in");
    items.sort_by(|a, b| collator.compare(text(a), text(b)));
}

#[cfg(test)]
mod tests;
