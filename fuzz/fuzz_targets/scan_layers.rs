//! Bytes in every encoding that the scanner decodes, also inside of each other: it never panics, and what is found is in the file.

#![no_main]

use std::fmt::Write as _;

use libfuzzer_sys::fuzz_target;
use prowess_scan::{FileMode, ScanFile, scan};

/// One layer around a text.
fn wrapped(how: u8, bytes: &[u8]) -> Vec<u8> {
    let mut text = String::new();
    match how % 8 {
        0 => {
            const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
            for chunk in bytes.chunks(3) {
                let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
                text.extend((0..=chunk.len()).map(|at| char::from(ALPHABET[(bits >> (18 - 6 * at) & 63) as usize])));
            }
        }
        1 => bytes.iter().for_each(|byte| write!(text, "{byte:02x}").expect("a string takes everything")),
        2 => bytes.iter().for_each(|byte| write!(text, "\\x{byte:02x}").expect("a string takes everything")),
        3 => bytes.iter().for_each(|byte| write!(text, "%{byte:02x}").expect("a string takes everything")),
        4 => bytes.iter().for_each(|byte| write!(text, "{byte},").expect("a string takes everything")),
        5 => {
            text.push_str("exec(base64.b85decode('");
            text.extend(bytes.iter().map(|byte| char::from(33 + byte % 85)));
            text.push_str("'))");
        }
        6 => text.extend(bytes.iter().filter_map(|byte| char::from_u32(0xe_0000 + u32::from(*byte & 0x7f)))),
        _ => return [&b"\x1f\x8b\x08\0\0\0\0\0\0\x03"[..], bytes].concat(),
    }
    text.into_bytes()
}

fuzz_target!(|bytes: &[u8]| {
    let Some((how, bytes)) = bytes.split_first_chunk::<3>() else { return };
    let mut text = bytes.to_vec();
    for layer in how.iter().take(usize::from(how[2] % 3) + 1) {
        text = wrapped(*layer, &text);
        if text.len() > 1 << 20 {
            return;
        }
    }
    for path in ["SKILL.md", "a.py", "a.gz"] {
        let report = scan(&[ScanFile { path, bytes: &text, mode: FileMode::Plain }]);
        for found in &report.findings {
            assert!(found.range.start <= found.range.end && found.range.end <= text.len(), "{found:?}");
        }
    }
});
