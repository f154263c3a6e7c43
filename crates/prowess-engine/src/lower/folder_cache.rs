//! A cache of what folders contain, so that a large project is not listed again before every run.
//!
//! Listing a folder costs about five times as much as asking for its change time. An entry counts only while device, inode
//! and times of the folder are the same: adding, removing or renaming an entry sets the change time, and no program
//! can set it back. A folder that changed just now is never cached, because it could change again within one tick.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use prowess_files::atomic::{self, WriteOptions};

use crate::digest;
use crate::platform::{self, Identity};

/// The first bytes of a cache file, with the version of its format.
const MAGIC: &[u8] = b"prowess folders 1\0";
/// Limit on the size of a cache file: a larger one is not read.
const MAX_CACHE_BYTES: u64 = 32 << 20;
/// A project with fewer folders is listed faster than its cache is read.
const MIN_FOLDERS: usize = 128;
/// How many projects have a cache file; above it the oldest are removed.
const MAX_PROJECTS: usize = 64;
/// The cache is written again when more than one folder in this number had to be listed.
const REWRITE_FRACTION: usize = 16;

/// What a folder contains, as far as it matters here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FolderListing {
    pub(super) folders: Vec<OsString>,
    /// Names of files that the caller looks for.
    pub(super) files: Vec<OsString>,
}

/// The folders that runs in one working directory were given.
#[derive(Debug)]
pub(super) struct FolderCache {
    path: PathBuf,
    known: HashMap<PathBuf, (Identity, FolderListing)>,
    /// What the walk saw, for the next one.
    seen: Vec<(PathBuf, Identity, FolderListing)>,
    listed: usize,
}

impl FolderCache {
    /// Loads the cache of a working directory; it is empty if there is none or it is damaged.
    pub(super) fn load(cache: &Path, working_directory: &Path) -> Self {
        let name = digest::of_bytes(&platform::bytes(working_directory.as_os_str()));
        let path = cache.join("folders").join(name);
        let bytes = atomic::read(&path, MAX_CACHE_BYTES).ok().flatten().unwrap_or_default();
        let known = parse(&bytes).unwrap_or_default();
        Self { path, known, seen: Vec::new(), listed: 0 }
    }

    /// What a folder contains, from the cache if it has not changed.
    pub(super) fn listing(&mut self, folder: &Path, is_wanted: fn(&str) -> bool) -> FolderListing {
        let data = |path| fs::symlink_metadata(path).ok().filter(fs::Metadata::is_dir);
        let Some(before) = data(folder) else { return FolderListing::default() };
        if let Some((path, (identity, listing))) = self.known.remove_entry(folder)
            && platform::same_identity(&before, &identity)
        {
            self.seen.push((path, identity, listing.clone()));
            return listing;
        }
        self.listed += 1;
        let settled = platform::identity_of(&before);
        let Some(listing) = list(folder, is_wanted) else { return FolderListing::default() };
        if let Some(identity) = settled
            // It may have changed while it was listed.
            && data(folder).is_some_and(|after| platform::same_identity(&after, &identity))
        {
            self.seen.push((folder.to_owned(), identity, listing.clone()));
        }
        listing
    }

    /// Saves what was seen, if that is worth it. Failures are ignored, because everything can be listed again.
    pub(super) fn save(self) {
        let is_worth_it = self.seen.len() >= MIN_FOLDERS
            && self.listed * REWRITE_FRACTION > self.seen.len() + self.listed;
        if !is_worth_it {
            return;
        }
        if let Some(folder) = self.path.parent() {
            let is_private = prowess_files::private::private_folder(folder);
            if is_private.is_err() {
                return;
            }
            remove_oldest(folder);
        }
        let _ = atomic::write(&self.path, &encode(&self.seen), WriteOptions::PRIVATE);
    }
}

fn list(folder: &Path, is_wanted: fn(&str) -> bool) -> Option<FolderListing> {
    let mut listing = FolderListing::default();
    for entry in fs::read_dir(folder).ok()? {
        let entry = entry.ok()?;
        let Ok(kind) = entry.file_type() else { continue };
        let name = entry.file_name();
        if kind.is_dir() {
            listing.folders.push(name);
        } else if name.to_str().is_some_and(is_wanted) {
            listing.files.push(name);
        }
    }
    Some(listing)
}

/// Makes room for one more cache file.
fn remove_oldest(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
        .collect();
    files.sort();
    let surplus = (files.len() + 1).saturating_sub(MAX_PROJECTS);
    for (_, path) in files.iter().take(surplus) {
        let _ = fs::remove_file(path);
    }
}

/// Each folder is its path, its identity, the names of its folders with a slash and those of files, and an empty name. A name
/// can't contain a NUL, which ends each.
fn encode(seen: &[(PathBuf, Identity, FolderListing)]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    for (path, identity, listing) in seen {
        bytes.extend_from_slice(&platform::bytes(path.as_os_str()));
        bytes.push(0);
        for number in identity.to_numbers() {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for name in &listing.folders {
            bytes.extend_from_slice(&platform::bytes(name));
            bytes.extend_from_slice(b"/\0");
        }
        for name in &listing.files {
            bytes.extend_from_slice(&platform::bytes(name));
            bytes.push(0);
        }
        bytes.push(0);
    }
    bytes
}

/// Parses a cache file; `None` if it is damaged anywhere.
fn parse(bytes: &[u8]) -> Option<HashMap<PathBuf, (Identity, FolderListing)>> {
    let mut rest = bytes.strip_prefix(MAGIC)?;
    let mut known = HashMap::new();
    let path_of = |bytes: &[u8]| platform::path_of_bytes(bytes.to_vec());
    while !rest.is_empty() {
        let path = until_nul(&mut rest)?;
        let mut numbers = [0; Identity::NUMBERS];
        for number in &mut numbers {
            let (first, others) = rest.split_first_chunk()?;
            *number = u64::from_le_bytes(*first);
            rest = others;
        }
        let mut listing = FolderListing::default();
        loop {
            match until_nul(&mut rest)? {
                b"" => break,
                [folder @ .., b'/'] => listing.folders.push(path_of(folder)?.into()),
                file => listing.files.push(path_of(file)?.into()),
            }
        }
        known.insert(path_of(path)?, (Identity::from_numbers(numbers), listing));
    }
    Some(known)
}

fn until_nul<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let end = rest.iter().position(|byte| *byte == 0)?;
    let (text, others) = rest.split_at(end);
    *rest = &others[1..];
    Some(text)
}

#[cfg(test)]
mod tests;
