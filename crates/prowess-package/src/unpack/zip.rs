//! Strict `.zip` parser: the central directory must match the local headers, with no bytes in
//! between (attack registry-B7).

use std::io::{self, BufReader, Read, Seek, SeekFrom};

use flate2::Crc;
use flate2::bufread::DeflateDecoder;

use super::UnpackError;
use super::intake::{Intake, MOST_RATIO, archive_error, deception, is_too_dense};

const END: &[u8] = b"PK\x05\x06";
const CENTRAL: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";
const DESCRIPTOR: &[u8] = b"PK\x07\x08";
const LOCATOR_64: &[u8] = b"PK\x06\x07";

const END_LENGTH: usize = 22;
const CENTRAL_LENGTH: usize = 46;
const LOCAL_LENGTH: usize = 30;
/// Maximum size of the central directory in bytes, for the maximum number of entries with names and
/// the usual extra fields.
const MOST_DIRECTORY_BYTES: u32 = 2 << 20;

const ENCRYPTED: u16 = 1;
const HAS_DESCRIPTOR: u16 = 1 << 3;
const UTF8: u16 = 1 << 11;
/// Bits 1 and 2 are the compression level.
const KNOWN_FLAGS: u16 = 0b110 | HAS_DESCRIPTOR | UTF8;

const TYPE_BITS: u32 = 0o170_000;
const REGULAR: u32 = 0o100_000;
const DIRECTORY: u32 = 0o040_000;
const DOS_DIRECTORY: u32 = 0x10;

/// An entry of the central directory.
struct Entry {
    name: Vec<u8>,
    flags: u16,
    method: u16,
    crc: u32,
    packed: u32,
    length: u32,
    attributes: u32,
    offset: u32,
}

const fn malformed(problem: &'static str) -> UnpackError {
    UnpackError::Malformed(problem)
}

pub(super) fn read(
    mut archive: impl Read + Seek,
    intake: &mut Intake<'_>,
) -> Result<(), UnpackError> {
    let length = archive.seek(SeekFrom::End(0)).map_err(UnpackError::Read)?;
    if length > intake.options.limits.archive_bytes {
        return Err(UnpackError::ArchiveTooLarge { most: intake.options.limits.archive_bytes });
    }
    let (mut entries, directory_offset) = directory(&mut archive, length, intake)?;
    let unpacked = entries.iter().map(|entry| u64::from(entry.length)).sum();
    if is_too_dense(length, unpacked) {
        return Err(UnpackError::TooDense { most: MOST_RATIO });
    }
    // Each entry begins where the previous one ends, so that no bytes are hidden.
    entries.sort_by_key(|entry| entry.offset);
    let mut expected = 0;
    for (index, entry) in entries.iter().enumerate() {
        if entry.offset != expected {
            return Err(malformed(
                "there is something between its files, or two share their bytes",
            ));
        }
        let end = entries.get(index + 1).map_or(directory_offset, |next| next.offset);
        expected = one(&mut archive, entry, end, intake)?;
    }
    if expected != directory_offset {
        return Err(malformed("there is something between its files and its directory"));
    }
    Ok(())
}

/// The entries of the central directory, and its offset.
fn directory(
    archive: &mut (impl Read + Seek),
    length: u64,
    intake: &mut Intake<'_>,
) -> Result<(Vec<Entry>, u32), UnpackError> {
    const MOST_TAIL: u64 = END_LENGTH as u64 + 0xffff + 20;
    let tail_offset = length.saturating_sub(MOST_TAIL);
    let mut tail = Vec::new();
    archive.seek(SeekFrom::Start(tail_offset)).map_err(UnpackError::Read)?;
    archive.take(MOST_TAIL).read_to_end(&mut tail).map_err(UnpackError::Read)?;
    // All readers use the last one; a comment that contains another would be ambiguous.
    let at = tail
        .windows(END.len())
        .rposition(|window| window == END)
        .ok_or(malformed("its directory is missing"))?;
    let end = tail
        .get(at..)
        .filter(|end| end.len() >= END_LENGTH)
        .ok_or(malformed("its directory is cut off"))?;
    if end.len() != END_LENGTH + usize::from(two(end, 20)) {
        return Err(malformed("data follows its end"));
    }
    if at >= 20 && tail[at - 20..].starts_with(LOCATOR_64) {
        return Err(malformed("it is a zip64 archive, which is not needed for this size"));
    }
    let (count, size, offset) = (two(end, 10), four(end, 12), four(end, 16));
    let is_whole = two(end, 4) == 0 && two(end, 6) == 0 && two(end, 8) == count;
    if !is_whole {
        return Err(malformed("it is one part of several"));
    }
    if u64::from(offset) + u64::from(size) != tail_offset + at as u64 {
        return Err(malformed("its directory is not where it says"));
    }
    if size > MOST_DIRECTORY_BYTES {
        return Err(malformed("its directory is too large"));
    }
    let mut bytes = Vec::new();
    archive.seek(SeekFrom::Start(u64::from(offset))).map_err(UnpackError::Read)?;
    archive.take(u64::from(size)).read_to_end(&mut bytes).map_err(UnpackError::Read)?;
    let mut rest = bytes.as_slice();
    let mut entries = Vec::new();
    while !rest.is_empty() {
        intake.count_entry()?;
        let (entry, after) = central(rest)?;
        entries.push(entry);
        rest = after;
    }
    if entries.len() != usize::from(count) {
        return Err(malformed("its directory has a wrong number of entries"));
    }
    Ok((entries, offset))
}

fn central(bytes: &[u8]) -> Result<(Entry, &[u8]), UnpackError> {
    const CUT: UnpackError = malformed("its directory can't be read");
    if !bytes.starts_with(CENTRAL) || bytes.len() < CENTRAL_LENGTH {
        return Err(CUT);
    }
    let (name, rest) = split(&bytes[CENTRAL_LENGTH..], two(bytes, 28)).ok_or(CUT)?;
    let (extra, rest) = split(rest, two(bytes, 30)).ok_or(CUT)?;
    let (_comment, rest) = split(rest, two(bytes, 32)).ok_or(CUT)?;
    if two(bytes, 34) != 0 {
        return Err(malformed("it is one part of several"));
    }
    let entry = Entry {
        name: name.to_owned(),
        flags: two(bytes, 8),
        method: two(bytes, 10),
        crc: four(bytes, 16),
        packed: four(bytes, 20),
        length: four(bytes, 24),
        attributes: four(bytes, 38),
        offset: four(bytes, 42),
    };
    let refuse = |problem| {
        Err(UnpackError::Entry { path: String::from_utf8_lossy(name).into_owned(), problem })
    };
    if entry.flags & ENCRYPTED != 0 {
        return refuse("it is encrypted");
    }
    if entry.flags & !KNOWN_FLAGS != 0 {
        return refuse("it has flags that readers treat differently");
    }
    if !name.is_ascii() && entry.flags & UTF8 == 0 {
        return refuse("the encoding of its name is unknown");
    }
    if !matches!(entry.method, 0 | 8) {
        return refuse("it is neither stored nor deflated");
    }
    if entry.method == 0 && entry.packed != entry.length {
        return refuse("it is stored, but has two sizes");
    }
    if let Some(problem) = extra_problem(extra, name) {
        return refuse(problem);
    }
    let is_folder = name.ends_with(b"/");
    // Some readers use the mode whatever the declared system.
    match (entry.attributes >> 16) & TYPE_BITS {
        0 => {}
        REGULAR if !is_folder => {}
        DIRECTORY if is_folder => {}
        0o120_000 => return refuse("it is a symbolic link"),
        _ => return refuse("it is neither a file nor a folder"),
    }
    if !is_folder && entry.attributes & DOS_DIRECTORY != 0 {
        return refuse("it is a folder by its attributes and a file by its name");
    }
    if is_folder && entry.length != 0 {
        return refuse("it is a folder with content");
    }
    Ok((entry, rest))
}

/// Reads one entry, compares its local header and descriptor with the directory, and returns its
/// end.
fn one(
    archive: &mut (impl Read + Seek),
    entry: &Entry,
    end: u32,
    intake: &mut Intake<'_>,
) -> Result<u32, UnpackError> {
    let differs = || UnpackError::Entry {
        path: String::from_utf8_lossy(&entry.name).into_owned(),
        problem: "the archive contains two different descriptions of it",
    };
    archive.seek(SeekFrom::Start(u64::from(entry.offset))).map_err(UnpackError::Read)?;
    let mut header = [0; LOCAL_LENGTH];
    archive.read_exact(&mut header).map_err(archive_error)?;
    if !header.starts_with(LOCAL) {
        return Err(malformed("a file is not where the directory says"));
    }
    let mut names = vec![0; usize::from(two(&header, 26)) + usize::from(two(&header, 28))];
    archive.read_exact(&mut names).map_err(archive_error)?;
    let (name, extra) = names.split_at(usize::from(two(&header, 26)));
    let has_descriptor = entry.flags & HAS_DESCRIPTOR != 0;
    let expected = (entry.crc, entry.packed, entry.length);
    // A streaming writer does not know them yet.
    let fits = |at, value| four(&header, at) == value || (has_descriptor && four(&header, at) == 0);
    let told_fits = fits(14, entry.crc) && fits(18, entry.packed) && fits(22, entry.length);
    if name != entry.name
        || two(&header, 6) != entry.flags
        || two(&header, 8) != entry.method
        || !told_fits
        || extra_problem(extra, name).is_some()
    {
        return Err(differs());
    }
    let begin = u64::from(entry.offset) + (LOCAL_LENGTH + names.len()) as u64;
    let after = begin + u64::from(entry.packed);
    if after > u64::from(end) {
        return Err(malformed("two of its files share their bytes"));
    }
    if entry.name.ends_with(b"/") {
        intake.folder(&entry.name)?;
    } else {
        let executable = (entry.attributes >> 16) & 0o100 != 0;
        let packed = BufReader::new((&mut *archive).take(u64::from(entry.packed)));
        let mut content = Content {
            inflating: match entry.method {
                0 => Inflating::Stored(packed),
                _ => Inflating::Deflated(DeflateDecoder::new(packed)),
            },
            crc: Crc::new(),
            entry,
        };
        intake.file(&entry.name, executable, u64::from(entry.length), &mut content)?;
        // Also for an empty file, which was not read.
        content.expect_end().map_err(archive_error)?;
    }
    if !has_descriptor {
        return u32::try_from(after).map_err(|_| malformed("it is too large"));
    }
    archive.seek(SeekFrom::Start(after)).map_err(UnpackError::Read)?;
    let mut descriptor = Vec::new();
    archive
        .take((u64::from(end) - after).min(17))
        .read_to_end(&mut descriptor)
        .map_err(UnpackError::Read)?;
    let values = match descriptor.len() {
        16 => descriptor.strip_prefix(DESCRIPTOR),
        12 => Some(descriptor.as_slice()),
        _ => None,
    };
    let values = values.ok_or(malformed("there is something between its files"))?;
    if (four(values, 0), four(values, 4), four(values, 8)) != expected {
        return Err(differs());
    }
    Ok(end)
}

/// Reports extra fields that change an entry, or that are invalid.
fn extra_problem(mut extra: &[u8], name: &[u8]) -> Option<&'static str> {
    const ZIP64: u16 = 0x0001;
    const AES: u16 = 0x9901;
    const UNICODE_PATH: u16 = 0x7075;
    let mut seen = Vec::new();
    while !extra.is_empty() {
        if extra.len() < 4 {
            return Some("its extra fields can't be read");
        }
        let id = two(extra, 0);
        let Some((value, rest)) = split(&extra[4..], two(extra, 2)) else {
            return Some("its extra fields can't be read");
        };
        if seen.contains(&id) {
            return Some("it has an extra field twice");
        }
        seen.push(id);
        match id {
            ZIP64 => return Some("it has zip64 sizes, which are not needed for this size"),
            AES => return Some("it is encrypted"),
            // A version and a checksum precede the name.
            UNICODE_PATH if value.get(5..) != Some(name) => return Some("it has two names"),
            _ => {}
        }
        extra = rest;
    }
    None
}

enum Inflating<R: io::BufRead> {
    Stored(R),
    Deflated(DeflateDecoder<R>),
}

/// The content of a file; its checksum is verified at the end.
struct Content<'a, R: io::BufRead> {
    inflating: Inflating<R>,
    crc: Crc,
    entry: &'a Entry,
}

impl<R: io::BufRead> Content<'_, R> {
    fn expect_end(&mut self) -> io::Result<()> {
        let mut one = [0];
        let more = match &mut self.inflating {
            Inflating::Stored(reader) => reader.read(&mut one)?,
            Inflating::Deflated(decoder) => decoder.read(&mut one)?,
        };
        if more != 0 {
            return Err(deception("a file is longer than the archive says"));
        }
        if let Inflating::Deflated(decoder) = &self.inflating
            && decoder.total_in() != u64::from(self.entry.packed)
        {
            return Err(deception("something is hidden after the compressed data of a file"));
        }
        if self.crc.sum() != self.entry.crc {
            return Err(deception("the checksum of a file is wrong"));
        }
        Ok(())
    }
}

impl<R: io::BufRead> Read for Content<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = match &mut self.inflating {
            Inflating::Stored(reader) => reader.read(buffer)?,
            Inflating::Deflated(decoder) => decoder.read(buffer)?,
        };
        self.crc.update(&buffer[..count]);
        Ok(count)
    }
}

fn split(bytes: &[u8], at: u16) -> Option<(&[u8], &[u8])> {
    bytes.split_at_checked(usize::from(at))
}

fn two(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn four(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
