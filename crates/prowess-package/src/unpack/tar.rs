//! `.tar.gz`, strictly: POSIX and GNU headers, PAX records that only describe, and nothing after the end (attack registry-B6).

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{self, BufReader, Read};
use std::rc::Rc;

use flate2::bufread::GzDecoder;

use super::UnpackError;
use super::intake::{ArchiveProblem, Intake, MOST_RATIO, archive_error, deception, is_too_dense};
use crate::tar_format::{BLOCK, Fields, TypeFlag, read as read_header};

/// Maximum size of the PAX records of an entry, in bytes. A path has a few hundred bytes, times and
/// owners less.
const MOST_PAX_BYTES: u64 = 8 << 10;
/// Maximum padding after the end, in bytes: writers fill up to whole records of some kilobytes.
const MOST_PADDING: u64 = 1 << 20;

pub(super) fn read(archive: impl Read, intake: &mut Intake<'_>) -> Result<(), UnpackError> {
    let packed = Rc::new(Cell::new(0));
    let counted = Counted {
        inner: archive,
        count: Rc::clone(&packed),
        most: intake.options.limits.archive_bytes,
    };
    let decoder = GzDecoder::new(BufReader::new(counted));
    let mut stream = Stream { decoder, packed, unpacked: 0 };
    while let Some((fields, pax)) = next_entry(&mut stream, intake)? {
        let path = pax.path.as_deref().unwrap_or(&fields.path);
        if pax.size.is_some_and(|size| size != fields.size) {
            return Err(UnpackError::Entry {
                path: String::from_utf8_lossy(path).into_owned(),
                problem: "its extended header has another size than its header",
            });
        }
        match fields.kind {
            TypeFlag::Folder if fields.size != 0 => {
                return Err(UnpackError::Malformed("a folder has content"));
            }
            TypeFlag::Folder => intake.folder(path)?,
            TypeFlag::File => {
                let executable = fields.mode & 0o100 != 0;
                intake.file(path, executable, fields.size, &mut stream)?;
                skip_padding(&mut stream, fields.size)?;
            }
            TypeFlag::Extended | TypeFlag::Global => unreachable!("next_entry has read those"),
        }
    }
    expect_end(stream)
}

/// The fields of extended headers for the next entry.
#[derive(Default)]
struct Pax {
    path: Option<Vec<u8>>,
    size: Option<u64>,
}

/// The next file or folder with its extended header, or `None` at the end.
fn next_entry(
    stream: &mut impl Read,
    intake: &mut Intake<'_>,
) -> Result<Option<(Fields, Pax)>, UnpackError> {
    let mut pax = None;
    loop {
        let mut block = [0; BLOCK];
        stream.read_exact(&mut block).map_err(archive_error)?;
        if block == [0; BLOCK] {
            stream.read_exact(&mut block).map_err(archive_error)?;
            if block != [0; BLOCK] {
                return Err(UnpackError::Malformed("entries follow a block of zeroes"));
            }
            if pax.is_some() {
                return Err(UnpackError::Malformed("an extended header describes nothing"));
            }
            return Ok(None);
        }
        intake.count_entry()?;
        let fields = read_header(&block).map_err(|problem| refused(&block, problem))?;
        match fields.kind {
            TypeFlag::File | TypeFlag::Folder => {
                return Ok(Some((fields, pax.unwrap_or_default())));
            }
            TypeFlag::Extended if pax.is_some() => {
                return Err(UnpackError::Malformed("two extended headers describe one entry"));
            }
            TypeFlag::Extended => pax = Some(for_next_entry(&records(stream, fields.size)?)?),
            // Readers disagree on whether a global header may come between an entry and its
            // extended header.
            TypeFlag::Global if pax.is_some() => {
                return Err(UnpackError::Malformed(
                    "a global header comes between an entry and its extended header",
                ));
            }
            TypeFlag::Global => {
                // `git archive` writes the commit. Anything else would affect all following
                // entries.
                if records(stream, fields.size)?.keys().any(|key| key != b"comment") {
                    return Err(UnpackError::Malformed("a global header changes what follows"));
                }
            }
        }
    }
}

/// The records of an extended header: `length key=value` and a line feed, each key once.
fn records(stream: &mut impl Read, size: u64) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, UnpackError> {
    const BROKEN: UnpackError = UnpackError::Malformed("an extended header can't be read");
    if size > MOST_PAX_BYTES {
        return Err(UnpackError::Malformed("an extended header is too large"));
    }
    let mut bytes = vec![0; usize::try_from(size).map_err(|_| BROKEN)?];
    stream.read_exact(&mut bytes).map_err(archive_error)?;
    skip_padding(stream, size)?;
    let mut records = BTreeMap::new();
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let blank = rest.iter().position(|byte| *byte == b' ').ok_or(BROKEN)?;
        let length = decimal(&rest[..blank])
            .and_then(|length| usize::try_from(length).ok())
            .ok_or(BROKEN)?;
        if length <= blank || length > rest.len() {
            return Err(BROKEN);
        }
        let (record, after) = rest.split_at(length);
        let record = record[blank + 1..].strip_suffix(b"\n").ok_or(BROKEN)?;
        let equals = record.iter().position(|byte| *byte == b'=').ok_or(BROKEN)?;
        let (key, value) = (&record[..equals], &record[equals + 1..]);
        if records.insert(key.to_owned(), value.to_owned()).is_some() {
            return Err(UnpackError::Malformed("an extended header has a duplicate key"));
        }
        rest = after;
    }
    Ok(records)
}

/// Applies or rejects records that change an entry; ignores those that only describe it.
fn for_next_entry(records: &BTreeMap<Vec<u8>, Vec<u8>>) -> Result<Pax, UnpackError> {
    let mut pax = Pax::default();
    for (key, value) in records {
        match key.as_slice() {
            b"path" => pax.path = Some(value.clone()),
            b"size" => {
                let size = decimal(value);
                pax.size = Some(size.ok_or(UnpackError::Malformed(
                    "a size in an extended header is not a number",
                ))?);
            }
            b"atime" | b"ctime" | b"mtime" | b"uid" | b"gid" | b"uname" | b"gname" | b"comment" => {
            }
            b"SCHILY.dev" | b"SCHILY.ino" | b"SCHILY.nlink" | b"SCHILY.fflags" => {}
            key if key.starts_with(b"LIBARCHIVE.") || key.starts_with(b"SCHILY.acl") => {}
            key if key.starts_with(b"SCHILY.xattr.") => {}
            key if key.starts_with(b"GNU.sparse.") || key == b"SCHILY.realsize" => {
                return Err(UnpackError::Malformed("it has a sparse file"));
            }
            b"linkpath" => return Err(UnpackError::Malformed("it has a link")),
            b"hdrcharset" if value == b"ISO-IR 10646 2000 UTF-8" => {}
            _ => return Err(UnpackError::Malformed("an extended header has an unknown key")),
        }
    }
    Ok(pax)
}

fn decimal(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 19 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Skips to the next block. The padding is zeroes in every honest archive.
fn skip_padding(stream: &mut impl Read, size: u64) -> Result<(), UnpackError> {
    let mut padding = [0; BLOCK];
    let length = size.next_multiple_of(BLOCK as u64) - size;
    let length = usize::try_from(length).unwrap_or(BLOCK);
    stream.read_exact(&mut padding[..length]).map_err(archive_error)?;
    if padding != [0; BLOCK] {
        return Err(UnpackError::Malformed("something is hidden after the end of a file"));
    }
    Ok(())
}

/// Expects zeroes, the end of the compressed stream, and the end of the file.
fn expect_end<R: Read>(mut stream: Stream<R>) -> Result<(), UnpackError> {
    let mut buffer = [0; BLOCK];
    let mut padding = 0;
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => {
                padding += count as u64;
                if buffer[..count].iter().any(|byte| *byte != 0) || padding > MOST_PADDING {
                    return Err(UnpackError::Malformed("data follows the end of the archive"));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(archive_error(error)),
        }
    }
    // Some readers continue with a second compressed stream and others do not.
    let mut rest = stream.decoder.into_inner();
    match rest.read(&mut buffer) {
        Ok(0) => Ok(()),
        Ok(_) => Err(UnpackError::Malformed("data follows the compressed stream")),
        Err(error) => Err(archive_error(error)),
    }
}

/// An error for an entry with a rejected header, with the name in that header.
fn refused(block: &[u8; BLOCK], problem: &'static str) -> UnpackError {
    let name = block[..100].split(|byte| *byte == 0).next().unwrap_or_default();
    UnpackError::Entry { path: String::from_utf8_lossy(name).into_owned(), problem }
}

/// The compressed stream, counted and bounded.
struct Counted<R> {
    inner: R,
    count: Rc<Cell<u64>>,
    most: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.count.set(self.count.get() + count as u64);
        if self.count.get() > self.most {
            return Err(io::Error::other(ArchiveProblem::TooLarge(self.most)));
        }
        Ok(count)
    }
}

/// The unpacked stream, which fails if the compression ratio is too high (attack registry-B3).
struct Stream<R: Read> {
    decoder: GzDecoder<BufReader<Counted<R>>>,
    packed: Rc<Cell<u64>>,
    unpacked: u64,
}

impl<R: Read> Read for Stream<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.decoder.read(buffer)?;
        self.unpacked += count as u64;
        if is_too_dense(self.packed.get(), self.unpacked) {
            return Err(io::Error::other(ArchiveProblem::TooDense(MOST_RATIO)));
        }
        if count == 0 && !buffer.is_empty() && self.decoder.header().is_none() {
            return Err(deception("its compressed data can't be read"));
        }
        Ok(count)
    }
}
