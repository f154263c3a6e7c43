//! The index of a repository: whether an entry in it would be written somewhere else than among the files of the repository.
//!
//! Git checks paths when it adds them to an index, and trusts those that it reads from one. `git restore .` writes an entry
//! `.git/hooks/pre-commit` of a crafted index, and `git commit` runs it. So each path is checked here, in the versions 2, 3
//! and 4 of the format, also where a table of offsets (`IEOT`) lets git begin to read in the middle.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

use crate::git_files;

/// The most bytes of an index: some two million files.
const MAX_BYTES: u64 = 256 << 20;
/// The longest path, as in the kernel.
const MAX_NAME: usize = 4096;
/// What comes before the object's name: times, device, inode, mode, owner, size.
const STATUS: usize = 40;
/// Where in it the mode is.
const MODE: usize = 24;
/// The mode of a folder that a sparse index holds as a whole.
const FOLDER: u32 = 0o040_000;
/// The flag for more flags.
const EXTENDED: u16 = 0x4000;
/// The part of the flags that is the length of the path.
const LENGTH: u16 = 0x0fff;

/// Why an index is not left to git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unsafe {
    /// It is not an index, or not one that is understood here.
    Unreadable,
    /// A path that leads into a repository or out of the working tree.
    Path(Vec<u8>),
}

/// Reads an index file. `hash` is how many bytes the name of an object has in its repository.
pub(super) fn check_file(file: &Path, hash: usize) -> Result<(), Unsafe> {
    let data = fs::metadata(file).map_err(|_| Unsafe::Unreadable)?;
    // A pipe would never end.
    if !data.is_file() || data.len() > MAX_BYTES {
        return Err(Unsafe::Unreadable);
    }
    let mut bytes = Vec::new();
    let file = File::open(file).map_err(|_| Unsafe::Unreadable)?;
    file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(|_| Unsafe::Unreadable)?;
    check(&bytes, hash)
}

/// The most paths that are listed.
const MAX_PATHS: u32 = 2_000_000;

/// The paths in an index file, as they are written there; `None` if it can't be read, or is split into several files.
pub(crate) fn paths(file: &Path) -> Option<Vec<Vec<u8>>> {
    let data = fs::metadata(file).ok()?;
    if !data.is_file() || data.len() > MAX_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    // SHA-1 and SHA-256: with the wrong length, the first entry already makes no sense.
    [20, 32].into_iter().find_map(|hash| paths_in(&bytes, hash))
}

/// What an index says about files: their modes, objects, flags and paths, without the times and inodes by which git sees
/// that they have not changed. `None` if it can't be read, or is split into several files.
#[cfg(target_os = "linux")]
pub(crate) fn meaning(file: &Path) -> Option<String> {
    use sha2::Digest as _;
    let data = fs::symlink_metadata(file).ok()?;
    if !data.is_file() || data.len() > MAX_BYTES {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(file).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    let hash = [20, 32].into_iter().find(|hash| paths_in(&bytes, *hash).is_some())?;
    let mut reader = Reader { bytes: &bytes, at: 4 };
    let format = Format { version: reader.number().ok()?, hash };
    let count = reader.number().ok()?;
    let mut digest = sha2::Sha256::new();
    let mut name = Vec::new();
    for number in 0..count {
        let start = reader.at;
        format.entry(&mut reader, &mut name, number == 0).ok()?;
        let entry = bytes.get(start..reader.at)?;
        digest.update(entry.get(MODE..MODE + 4)?);
        // The name of the object, the flags, and the length of the path in them.
        digest.update(entry.get(STATUS..STATUS + hash + 2)?);
        digest.update(u64::try_from(name.len()).ok()?.to_be_bytes());
        digest.update(&name);
    }
    Some(digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat())
}

fn paths_in(bytes: &[u8], hash: usize) -> Option<Vec<Vec<u8>>> {
    check(bytes, hash).ok()?;
    let mut reader = Reader { bytes, at: 4 };
    let version = reader.number().ok()?;
    let count = reader.number().ok().filter(|count| *count <= MAX_PATHS)?;
    let format = Format { version, hash };
    let mut name = Vec::new();
    let mut paths = Vec::new();
    for number in 0..count {
        format.entry(&mut reader, &mut name, number == 0).ok()?;
        // An entry without a path belongs to another file.
        if name.is_empty() {
            return None;
        }
        paths.push(name.clone());
    }
    Some(paths)
}

/// Checks the bytes of an index.
fn check(bytes: &[u8], hash: usize) -> Result<(), Unsafe> {
    let mut reader = Reader { bytes, at: 0 };
    if reader.take(4)? != b"DIRC" {
        return Err(Unsafe::Unreadable);
    }
    let version = reader.number()?;
    if !(2..=4).contains(&version) {
        return Err(Unsafe::Unreadable);
    }
    let count = reader.number()?;
    let format = Format { version, hash };
    let has_nameless = format.entries(&mut reader, count)?;
    let end_of_entries = reader.at;
    let end = bytes.len().checked_sub(hash).ok_or(Unsafe::Unreadable)?;
    // Git begins to read extensions where this one says.
    let told = end.checked_sub(12 + hash).and_then(|at| bytes.get(at..at + 12));
    if let Some([b'E', b'O', b'I', b'E', _, _, _, _, offset @ ..]) = told
        && be32(offset) != u32::try_from(end_of_entries).ok()
    {
        return Err(Unsafe::Unreadable);
    }
    let mut is_split = false;
    while reader.at + 8 <= end {
        let name = reader.take(4)?;
        let length = usize::try_from(reader.number()?).map_err(|_| Unsafe::Unreadable)?;
        let content = reader.take(length)?;
        match name {
            b"link" => is_split = true,
            b"IEOT" => format.blocks(bytes, content)?,
            _ => {}
        }
    }
    if reader.at > end {
        return Err(Unsafe::Unreadable);
    }
    // Only a split index has entries without a path: they take the place of one in the shared index.
    if has_nameless && !is_split {
        return Err(Unsafe::Path(Vec::new()));
    }
    Ok(())
}

/// How entries are written.
#[derive(Clone, Copy)]
struct Format {
    version: u32,
    hash: usize,
}

impl Format {
    /// Reads entries, and says whether one has no path.
    fn entries(self, reader: &mut Reader<'_>, count: u32) -> Result<bool, Unsafe> {
        let mut name = Vec::new();
        let mut has_nameless = false;
        for number in 0..count {
            let mode = self.entry(reader, &mut name, number == 0)?;
            if name.is_empty() {
                has_nameless = true;
                continue;
            }
            let path = if mode == FOLDER { name.strip_suffix(b"/") } else { None };
            if !git_files::is_plain(path.unwrap_or(&name)) {
                return Err(Unsafe::Path(name));
            }
        }
        Ok(has_nameless)
    }

    /// Reads one entry, leaves its path in `name`, which holds the one before, and gives its mode.
    fn entry(
        self,
        reader: &mut Reader<'_>,
        name: &mut Vec<u8>,
        is_first: bool,
    ) -> Result<u32, Unsafe> {
        let start = reader.at;
        let status = reader.take(STATUS)?;
        let mode = be32(&status[MODE..MODE + 4]).ok_or(Unsafe::Unreadable)?;
        reader.take(self.hash)?;
        let flags = reader.short()?;
        if flags & EXTENDED != 0 {
            reader.short()?;
        }
        // Version 4 keeps the beginning of the path before.
        let kept = match self.version {
            4 => {
                let dropped = reader.varint()?;
                // Git ignores the number at the beginning of a block.
                let before = if is_first { dropped } else { name.len() };
                before.checked_sub(dropped).ok_or(Unsafe::Unreadable)?
            }
            _ => 0,
        };
        name.truncate(kept);
        let rest = reader.text()?;
        if kept + rest.len() > MAX_NAME {
            return Err(Unsafe::Unreadable);
        }
        name.extend_from_slice(rest);
        let told = usize::from(flags & LENGTH);
        let is_long = flags & LENGTH == LENGTH && name.len() >= told;
        if told != name.len() && !is_long {
            return Err(Unsafe::Unreadable);
        }
        if self.version < 4 {
            // One to eight NULs, the first of which ended the path.
            let length = reader.at - 1 - start;
            reader.take((length + 8) / 8 * 8 - length - 1)?;
        }
        Ok(mode)
    }

    /// Reads entries once more from where a table says that blocks of them begin.
    fn blocks(self, bytes: &[u8], table: &[u8]) -> Result<(), Unsafe> {
        let mut table = Reader { bytes: table, at: 4 };
        while table.at < table.bytes.len() {
            let at = usize::try_from(table.number()?).map_err(|_| Unsafe::Unreadable)?;
            let count = table.number()?;
            self.entries(&mut Reader { bytes, at }, count)?;
        }
        Ok(())
    }
}

struct Reader<'r> {
    bytes: &'r [u8],
    at: usize,
}

impl<'r> Reader<'r> {
    fn take(&mut self, count: usize) -> Result<&'r [u8], Unsafe> {
        let end = self.at.checked_add(count).ok_or(Unsafe::Unreadable)?;
        let taken = self.bytes.get(self.at..end).ok_or(Unsafe::Unreadable)?;
        self.at = end;
        Ok(taken)
    }

    fn number(&mut self) -> Result<u32, Unsafe> {
        be32(self.take(4)?).ok_or(Unsafe::Unreadable)
    }

    fn short(&mut self) -> Result<u16, Unsafe> {
        let bytes = self.take(2)?.try_into().map_err(|_| Unsafe::Unreadable)?;
        Ok(u16::from_be_bytes(bytes))
    }

    /// Git's `decode_varint`.
    fn varint(&mut self) -> Result<usize, Unsafe> {
        let mut value = 0_usize;
        loop {
            let byte = self.take(1)?[0];
            value |= usize::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
            let next = value.checked_add(1).and_then(|value| value.checked_mul(0x80));
            value = next.filter(|value| *value <= MAX_NAME * 0x80).ok_or(Unsafe::Unreadable)?;
        }
    }

    /// What comes before a NUL, without it.
    fn text(&mut self) -> Result<&'r [u8], Unsafe> {
        let rest = self.bytes.get(self.at..).ok_or(Unsafe::Unreadable)?;
        let rest = &rest[..rest.len().min(MAX_NAME + 1)];
        let end = rest.iter().position(|byte| *byte == 0).ok_or(Unsafe::Unreadable)?;
        self.at += end + 1;
        Ok(&rest[..end])
    }
}

fn be32(bytes: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

#[cfg(test)]
mod tests;
