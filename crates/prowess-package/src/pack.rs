//! Packs a skill reproducibly: the same files always give the same bytes (attack registry-B16).

use std::io::Write as _;

use flate2::{Compression, GzBuilder};

use crate::path::PackagePath;
use crate::tar_format::{BLOCK, Header, TypeFlag};
use crate::tree::Tree;

/// The compression level. Changing it would change the bytes of packages.
const LEVEL: u32 = 6;
/// "Unknown" operating system in the gzip header, for reproducibility.
const NO_SYSTEM: u8 = 255;

/// Packs a tree to a `.tar.gz` whose root is the skill's own folder, as `.well-known` discovery
/// 0.2.0 requires.
///
/// Entries are sorted, without times, owners or folders, and with mode 0644 or 0755. The bytes are
/// the same for the same encoder; signatures use the content digest, which does not depend on
/// encoder or format.
#[expect(clippy::missing_panics_doc, reason = "writing to memory does not fail")]
pub fn pack(tree: &Tree) -> Vec<u8> {
    let encoder = GzBuilder::new().mtime(0).operating_system(NO_SYSTEM);
    let mut encoder = encoder.write(Vec::new(), Compression::new(LEVEL));
    let mut write =
        |bytes: &[u8]| encoder.write_all(bytes).expect("writing to memory does not fail");
    for (path, file) in tree.files() {
        let length = file.bytes.len() as u64;
        let mode = if file.executable { 0o755 } else { 0o644 };
        let header = match fitting(path) {
            Some((prefix, name)) => Header::new(prefix, name, TypeFlag::File, mode, length),
            None => {
                let record = pax_record("path", path.as_str());
                write(
                    Header::new(
                        "",
                        "PaxHeaders/path",
                        TypeFlag::Extended,
                        0o644,
                        record.len() as u64,
                    )
                    .bytes(),
                );
                write(record.as_bytes());
                write(padding(record.len()));
                // A reader without support for extended headers gets a name that can't be mistaken
                // for another file.
                let name = format!("LongNames/{}", file.digest());
                Header::new("", &name, TypeFlag::File, mode, length)
            }
        };
        write(header.bytes());
        write(&file.bytes);
        write(padding(file.bytes.len()));
    }
    write(&[0; 2 * BLOCK]);
    encoder.finish().expect("writing to memory does not fail")
}

/// Splits a path into the two header fields, or returns `None` if it does not fit or is not ASCII:
/// the encoding of the fields is undefined.
fn fitting(path: &PackagePath) -> Option<(&str, &str)> {
    const NAME: usize = 100;
    const PREFIX: usize = 155;
    let path = path.as_str();
    if !path.is_ascii() {
        return None;
    }
    if path.len() <= NAME {
        return Some(("", path));
    }
    path.match_indices('/')
        .map(|(at, _)| (&path[..at], &path[at + 1..]))
        .find(|(prefix, name)| prefix.len() <= PREFIX && name.len() <= NAME)
}

/// `length key=value\n`, where the length counts its own digits.
fn pax_record(key: &str, value: &str) -> String {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while length != rest + length.to_string().len() {
        length = rest + length.to_string().len();
    }
    format!("{length} {key}={value}\n")
}

fn padding(length: usize) -> &'static [u8] {
    const ZEROES: [u8; BLOCK] = [0; BLOCK];
    &ZEROES[..length.next_multiple_of(BLOCK) - length]
}
