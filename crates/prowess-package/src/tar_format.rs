//! The header block of a tar archive, written and read by the same table of fields.

use std::ops::Range;

/// The block size of tar archives.
pub(crate) const BLOCK: usize = 512;

const NAME: Range<usize> = 0..100;
const MODE: Range<usize> = 100..108;
const UID: Range<usize> = 108..116;
const GID: Range<usize> = 116..124;
const SIZE: Range<usize> = 124..136;
const MTIME: Range<usize> = 136..148;
const CHECKSUM: Range<usize> = 148..156;
const TYPE: usize = 156;
const LINK: Range<usize> = 157..257;
const MAGIC: Range<usize> = 257..265;
const DEVICES: [Range<usize>; 2] = [329..337, 337..345];
const PREFIX: Range<usize> = 345..500;
const REST: Range<usize> = 345..512;

const USTAR: &[u8] = b"ustar\x0000";
const GNU: &[u8] = b"ustar  \0";

/// The type of an entry that is allowed in a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TypeFlag {
    File,
    Folder,
    /// PAX records for the next entry.
    Extended,
    /// PAX records for all following entries.
    Global,
}

/// One block that describes an entry.
pub(crate) struct Header {
    block: [u8; BLOCK],
}

/// The fields of a header.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) path: Vec<u8>,
    pub(crate) kind: TypeFlag,
    pub(crate) mode: u32,
    pub(crate) size: u64,
}

impl Header {
    /// Creates a header without time, owner or device.
    pub(crate) fn new(prefix: &str, name: &str, kind: TypeFlag, mode: u32, size: u64) -> Self {
        let mut block = [0; BLOCK];
        block[NAME][..name.len()].copy_from_slice(name.as_bytes());
        block[PREFIX][..prefix.len()].copy_from_slice(prefix.as_bytes());
        octal(&mut block[MODE], u64::from(mode));
        octal(&mut block[UID], 0);
        octal(&mut block[GID], 0);
        octal(&mut block[SIZE], size);
        octal(&mut block[MTIME], 0);
        block[TYPE] = match kind {
            TypeFlag::File => b'0',
            TypeFlag::Folder => b'5',
            TypeFlag::Extended => b'x',
            TypeFlag::Global => b'g',
        };
        block[MAGIC].copy_from_slice(USTAR);
        let sum = checksum(&block);
        octal(&mut block[CHECKSUM.start..CHECKSUM.end - 1], sum);
        block[CHECKSUM.end - 1] = b' ';
        Self { block }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.block
    }
}

/// Parses a header strictly, so that no other reader can interpret it differently (attack
/// registry-B6).
pub(crate) fn read(block: &[u8; BLOCK]) -> Result<Fields, &'static str> {
    if number(&block[CHECKSUM]) != Some(checksum(block)) {
        return Err("the checksum of a header is wrong");
    }
    let is_gnu = match &block[MAGIC] {
        USTAR => false,
        GNU => true,
        _ => return Err("a header is of neither the POSIX nor the GNU format"),
    };
    let kind = match block[TYPE] {
        b'0' | 0 => TypeFlag::File,
        b'5' => TypeFlag::Folder,
        b'x' => TypeFlag::Extended,
        b'g' => TypeFlag::Global,
        b'1' => return Err("it is a hard link"),
        b'2' => return Err("it is a symbolic link"),
        b'3' | b'4' => return Err("it is a device"),
        b'6' => return Err("it is a pipe"),
        b'7' => return Err("it is a contiguous file, which readers treat differently"),
        b'L' | b'K' => {
            return Err("it has a GNU long name, pack with `--format=posix`");
        }
        b'S' => return Err("it is a sparse file"),
        _ => return Err("it is neither a file nor a folder"),
    };
    // Some readers interpret the prefix of GNU headers as a folder, others as times and sparse
    // maps.
    if is_gnu && block[REST].iter().any(|byte| *byte != 0) {
        return Err("a header of the GNU format has fields beyond its name");
    }
    if kind != TypeFlag::Extended
        && kind != TypeFlag::Global
        && block[LINK].iter().any(|byte| *byte != 0)
    {
        return Err("it names the target of a link");
    }
    // These are not used, but a reader that can't parse one stops here.
    if ![UID, GID, MTIME].into_iter().all(|field| is_number(&block[field])) {
        return Err("a number in a header can't be read");
    }
    if !DEVICES
        .into_iter()
        .all(|field| is_empty(&block[field.clone()]) || number(&block[field]) == Some(0))
    {
        return Err("it names a device");
    }
    let (Some(mode), Some(size)) = (number(&block[MODE]), number(&block[SIZE])) else {
        return Err("a number in a header is not octal");
    };
    let (Some(name), Some(prefix)) =
        (terminated(&block[NAME]), terminated(if is_gnu { &[] } else { &block[PREFIX] }))
    else {
        return Err("a name in a header continues after its terminator");
    };
    let path = if prefix.is_empty() { name.to_owned() } else { [prefix, b"/", name].concat() };
    let mode = u32::try_from(mode).map_err(|_| "a mode is too large")?;
    Ok(Fields { path, kind, mode, size })
}

fn octal(field: &mut [u8], value: u64) {
    let digits = field.len() - 1;
    field[..digits].copy_from_slice(format!("{value:0digits$o}").as_bytes());
}

/// Whether a field is empty, which some writers use for zero.
fn is_empty(field: &[u8]) -> bool {
    field.iter().all(|byte| matches!(byte, 0 | b' '))
}

/// Whether a field is a number in a usual encoding. Very large user ids are in base 256.
fn is_number(field: &[u8]) -> bool {
    const BASE_256: u8 = 0x80;
    is_empty(field) || number(field).is_some() || field[0] == BASE_256
}

/// Parses octal digits, optionally with spaces before and spaces or NULs after. Base 256 is only
/// for sizes beyond the limits.
fn number(field: &[u8]) -> Option<u64> {
    let start = field.iter().position(|byte| *byte != b' ')?;
    let field = &field[start..];
    let end = field.iter().position(|byte| !matches!(byte, b'0'..=b'7')).unwrap_or(field.len());
    let (digits, rest) = field.split_at(end);
    if digits.is_empty() || rest.iter().any(|byte| !matches!(byte, 0 | b' ')) {
        return None;
    }
    digits.iter().try_fold(0u64, |value, digit| {
        value.checked_mul(8).map(|value| value + u64::from(digit - b'0'))
    })
}

/// The text before the first NUL, if only NULs follow.
fn terminated(field: &[u8]) -> Option<&[u8]> {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    let (text, rest) = field.split_at(end);
    rest.iter().all(|byte| *byte == 0).then_some(text)
}

/// The sum of all bytes, with spaces in place of the checksum.
fn checksum(block: &[u8; BLOCK]) -> u64 {
    let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
    let own: u64 = block[CHECKSUM].iter().map(|byte| u64::from(*byte)).sum();
    sum - own + 8 * u64::from(b' ')
}
