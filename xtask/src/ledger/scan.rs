//! Where the tests name the ledger's IDs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::requirements::Status;
use super::rust_tests::test_functions;

/// Case files hold the input and the expectation of one data-driven test each.
const CASE_EXTENSIONS: &[&str] = &["toml", "yaml", "yml", "txt", "json", "md"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mention {
    pub(super) file: String,
    /// Counted from 1.
    pub(super) line: usize,
    /// The function, or nothing when the whole file is the test.
    pub(super) test: Option<String>,
}

impl fmt::Display for Mention {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.file, self.line)?;
        match &self.test {
            Some(test) => write!(formatter, " {test}"),
            None => Ok(()),
        }
    }
}

/// ID → everywhere it is named.
pub(super) type Mentions = BTreeMap<String, Vec<Mention>>;

#[derive(Debug, Default)]
pub(super) struct Scan {
    pub(super) in_tests: Mentions,
    /// Helpers, ordinary code and ignored tests: worth a hint, but not a proof.
    pub(super) elsewhere: Mentions,
}

impl Scan {
    pub(super) fn status(&self, id: &str) -> Status {
        if self.in_tests.contains_key(id) { Status::Covered } else { Status::Open }
    }

    pub(super) fn add_rust(&mut self, file: &str, source: &str, groups: &BTreeSet<String>) {
        let functions = test_functions(source);
        for (at, id) in ids(source, groups) {
            let function = functions.iter().find(|function| function.region.contains(&at));
            let running = function.is_some_and(|function| !function.ignored);
            let mentions = if running { &mut self.in_tests } else { &mut self.elsewhere };
            let mention = Mention {
                file: file.to_owned(),
                line: line(source, at),
                test: function.map(|function| function.name.to_owned()),
            };
            add(mentions, id, mention);
        }
    }

    pub(super) fn add_case(&mut self, file: &str, text: &str, groups: &BTreeSet<String>) {
        for (at, id) in ids(text, groups) {
            add(
                &mut self.in_tests,
                id,
                Mention { file: file.to_owned(), line: line(text, at), test: None },
            );
        }
    }
}

/// One mention per test is enough to find it again.
fn add(mentions: &mut Mentions, id: &str, mention: Mention) {
    let known = mentions.entry(id.to_owned()).or_default();
    if !known.iter().any(|other| other.file == mention.file && other.test == mention.test) {
        known.push(mention);
    }
}

pub(super) fn scan(root: &Path, groups: &BTreeSet<String>) -> Result<Scan> {
    let mut scan = Scan::default();
    for krate in folders(&root.join("crates"))? {
        for path in files(&krate)? {
            let name =
                path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
            let is_case = path.starts_with(krate.join("tests/it/cases"))
                && CASE_EXTENSIONS.contains(&extension);
            if extension != "rs" && !is_case {
                continue;
            }
            let bytes = fs::read(&path).with_context(|| format!("could not read `{name}`"))?;
            // Case files may hold broken text on purpose; the IDs in them are plain ASCII.
            let text = String::from_utf8_lossy(&bytes);
            if is_case {
                scan.add_case(&name, &text, groups);
            } else {
                scan.add_rust(&name, &text, groups);
            }
        }
    }
    Ok(scan)
}

/// Every whole ID in the text with its position: a group of the ledger, then parts of capitals, digits
/// and dots after hyphens, the last part a number. `GIB-3.4` alone is a section, not an ID. A folder of
/// a path is none either: a test that opens a fixture does not say that it covers the row named there.
pub(super) fn ids<'text>(text: &'text str, groups: &BTreeSet<String>) -> Vec<(usize, &'text str)> {
    let is_part = |byte: u8| {
        byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'.' || byte == b'-'
    };
    let bytes = text.as_bytes();
    let mut ids = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if !bytes[at].is_ascii_uppercase() {
            at += 1;
            continue;
        }
        let mut end = at;
        while end < bytes.len() && is_part(bytes[end]) {
            end += 1;
        }
        let apart = |byte: u8| !is_word_or_hyphen(byte) && byte != b'/';
        let starts_word = at == 0 || apart(bytes[at - 1]);
        let ends_word = bytes.get(end).is_none_or(|&byte| apart(byte));
        let id = text[at..end].trim_end_matches(['.', '-']);
        if starts_word && ends_word && is_id(id, groups) {
            ids.push((at, id));
        }
        at = end;
    }
    ids
}

fn is_word_or_hyphen(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

fn is_id(candidate: &str, groups: &BTreeSet<String>) -> bool {
    let Some((group, rest)) = candidate.split_once('-') else { return false };
    let number = rest.rsplit('-').next().unwrap_or(rest);
    groups.contains(group)
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && rest.split('-').all(|part| !part.is_empty())
}

fn line(text: &str, at: usize) -> usize {
    1 + text[..at].matches('\n').count()
}

fn folders(parent: &Path) -> Result<Vec<PathBuf>> {
    Ok(entries(parent)?.into_iter().filter(|path| path.is_dir()).collect())
}

/// All files below, in order of path, build output left out.
fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in entries(root)? {
        if !path.is_dir() {
            files.push(path);
        } else if path.file_name().is_some_and(|name| name != "target") {
            files.extend(self::files(&path)?);
        }
    }
    Ok(files)
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let context = || format!("could not list `{}`", folder.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).with_context(context)? {
        paths.push(entry.with_context(context)?.path());
    }
    paths.sort();
    Ok(paths)
}
