//! Git's encoding of binary files in patches: zlib, then letters.

use std::io::{self, Write};

/// The digits of git's base 85.
const DIGITS: &[u8; 85] =
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
/// Maximum number of bytes of a line.
const LINE: usize = 52;

/// Writes both versions, so that the patch can be reversed.
pub(super) fn write(out: &mut dyn Write, new: &[u8], old: &[u8]) -> io::Result<()> {
    out.write_all(b"GIT binary patch\n")?;
    literal(out, new)?;
    literal(out, old)
}

fn literal(out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    writeln!(out, "literal {}", bytes.len())?;
    for piece in stored(bytes).chunks(LINE) {
        let length = u8::try_from(piece.len()).unwrap_or_default();
        let letter = if length <= 26 { b'A' + length - 1 } else { b'a' + length - 27 };
        let mut text = vec![letter];
        for word in piece.chunks(4) {
            let mut padded = [0; 4];
            padded[..word.len()].copy_from_slice(word);
            text.extend(digits(u32::from_be_bytes(padded)));
        }
        text.push(b'\n');
        out.write_all(&text)?;
    }
    out.write_all(b"\n")
}

fn digits(mut value: u32) -> [u8; 5] {
    let mut text = [0; 5];
    for digit in text.iter_mut().rev() {
        *digit = DIGITS[(value % 85) as usize];
        value /= 85;
    }
    text
}

/// A zlib stream that stores the bytes as they are.
fn stored(bytes: &[u8]) -> Vec<u8> {
    const BLOCK: usize = 0xffff;
    let mut stream = Vec::with_capacity(bytes.len() + bytes.len() / BLOCK * 5 + 16);
    stream.extend([0x78, 0x01]);
    let mut blocks = bytes.chunks(BLOCK).peekable();
    if blocks.peek().is_none() {
        stream.extend([1, 0, 0, 0xff, 0xff]);
    }
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        stream.push(u8::from(blocks.peek().is_none()));
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend(block);
    }
    stream.extend(adler(bytes).to_be_bytes());
    stream
}

fn adler(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65521;
    let (mut low, mut high) = (1_u32, 0_u32);
    // So many bytes that the sums can't overflow.
    for piece in bytes.chunks(5552) {
        for byte in piece {
            low += u32::from(*byte);
            high += low;
        }
        low %= MODULUS;
        high %= MODULUS;
    }
    high << 16 | low
}
