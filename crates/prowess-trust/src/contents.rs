//! The signed content of a skill (a name, a version, and the digest of every file), and the payload to sign.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};

use sha2::{Digest as _, Sha256};

/// A skill as signatures refer to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// The name in its front matter.
    pub name: String,
    /// The version in its front matter.
    pub version: String,
    /// Its namespace in a registry. Signatures don't cover it; name patterns in the trust store may require it.
    pub namespace: Option<String>,
    /// Every file, including signature files: the path relative to the skill's folder, with `/`, and its SHA-256.
    pub files: BTreeMap<String, [u8; 32]>,
}

/// The signature algorithm, which is part of the payload, so that a signature can't be passed off as one of another
/// kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// `SIGNATURE.json` (GAIX-5).
    Ed25519,
    /// A detached OpenPGP signature.
    OpenPgp,
    /// A detached minisign signature.
    Minisign,
    /// A Sigstore bundle over the payload.
    Sigstore,
}

/// The purpose of a signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// "These are my files": a publisher's signature, and a root's.
    Release,
    /// "I have reviewed these files": an auditor's sign-off (GAIA §4.4).
    Audit,
}

/// A difference between the files and the signed ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileDifference {
    /// The file exists and was not signed.
    Added(String),
    /// The file was signed and is missing.
    Missing(String),
    /// The file has changed since it was signed.
    Changed(String),
}

/// The version of the payload format.
pub(crate) const SIGNATURE_VERSION: u64 = 1;

impl Contents {
    /// Creates a skill without files.
    pub fn new(name: &str, version: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            namespace: None,
            files: BTreeMap::new(),
        }
    }

    /// Adds a file.
    #[must_use]
    pub fn with_file(mut self, path: &str, bytes: &[u8]) -> Self {
        self.files.insert(path.to_owned(), Sha256::digest(bytes).into());
        self
    }

    /// All files except `leave_out`.
    pub(crate) fn files_without(&self, leave_out: &BTreeSet<&str>) -> BTreeMap<String, [u8; 32]> {
        let kept = self.files.iter().filter(|(path, _)| !leave_out.contains(path.as_str()));
        kept.map(|(path, digest)| (path.clone(), *digest)).collect()
    }

    /// The differences from the signed files. Files in `may_be_unsigned` need not be signed, but if they were, they
    /// must be unchanged.
    pub(crate) fn differences(
        &self,
        signed: &BTreeMap<String, [u8; 32]>,
        may_be_unsigned: &BTreeSet<&str>,
    ) -> Vec<FileDifference> {
        let mut differences = Vec::new();
        for (path, digest) in &self.files {
            match signed.get(path) {
                None if may_be_unsigned.contains(path.as_str()) => {}
                None => differences.push(FileDifference::Added(path.clone())),
                Some(expected) if expected != digest => {
                    differences.push(FileDifference::Changed(path.clone()));
                }
                Some(_) => {}
            }
        }
        let missing = signed.keys().filter(|path| !self.files.contains_key(*path));
        differences.extend(missing.map(|path| FileDifference::Missing(path.clone())));
        differences.sort();
        differences
    }
}

/// Returns the bytes to sign (R49): canonical JSON with sorted keys, no whitespace, and everything outside ASCII as
/// `\uXXXX`.
///
/// For [`Algorithm::Ed25519`] and [`Purpose::Release`] this is byte for byte what GAIA's own implementation signs.
pub fn payload(
    algorithm: Algorithm,
    purpose: Purpose,
    name: &str,
    version: &str,
    files: &BTreeMap<String, [u8; 32]>,
) -> Vec<u8> {
    let mut out = format!("{{\"algorithm\":\"{}\",\"files\":{{", algorithm.as_str());
    // A `BTreeMap` of UTF-8 strings iterates in code point order, which is Python's sort order.
    for (index, (path, digest)) in files.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        push_string(&mut out, path);
        out.push(':');
        push_string(&mut out, &hex(digest));
    }
    out.push_str("},\"name\":");
    push_string(&mut out, name);
    match purpose {
        Purpose::Release => {}
        Purpose::Audit => out.push_str(",\"purpose\":\"audit\""),
    }
    let _ = write!(out, ",\"signature_version\":{SIGNATURE_VERSION},\"version\":");
    push_string(&mut out, version);
    out.push('}');
    out.into_bytes()
}

/// Appends a JSON string in ASCII, as Python's `json.dumps` writes it.
fn push_string(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(character),
            _ => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
    out.push('"');
}

/// Lowercase hexadecimal digits of bytes.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// Parses a SHA-256 of 64 lowercase hexadecimal digits; uppercase is rejected, so that each digest has one spelling.
pub(crate) fn digest_from_hex(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 || !digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
    {
        return None;
    }
    let mut digest = [0; 32];
    for (byte, pair) in digest.iter_mut().zip(text.as_bytes().chunks(2)) {
        let pair = std::str::from_utf8(pair).ok()?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(digest)
}

impl Algorithm {
    /// The name in the payload.
    pub fn as_str(self) -> &'static str {
        match self {
            Algorithm::Ed25519 => "ed25519",
            Algorithm::OpenPgp => "openpgp",
            Algorithm::Minisign => "minisign",
            Algorithm::Sigstore => "sigstore",
        }
    }
}

impl FileDifference {
    /// The path of the file.
    pub fn path(&self) -> &str {
        match self {
            FileDifference::Added(path)
            | FileDifference::Missing(path)
            | FileDifference::Changed(path) => path,
        }
    }
}

impl fmt::Display for FileDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FileDifference::Added(path) => write!(f, "`{path}` was not signed"),
            FileDifference::Missing(path) => write!(f, "`{path}` is missing"),
            FileDifference::Changed(path) => write!(f, "`{path}` has changed"),
        }
    }
}
