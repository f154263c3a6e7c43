//! Where the tests name the ledger's IDs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::entry_points::{EntryPoint, Way};
use super::product::Product;
use super::requirements::Status;
use super::rust_tests::{functions, names_in, test_functions};

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
    /// Tests that reach the product.
    pub(super) in_tests: Mentions,
    /// Tests that do not, each with the reason.
    pub(super) unreached: BTreeMap<String, Vec<(Mention, String)>>,
    /// Helpers, ordinary code and ignored tests: worth a hint, but not a proof.
    pub(super) elsewhere: Mentions,
    /// Crate → function of its tests → names in its body. Functions of one name count together.
    helpers: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
    /// Mentions in running tests of Rust files, before they are judged.
    running: Vec<Running>,
}

/// A test that names a row, with the names in its body.
#[derive(Debug)]
struct Running {
    id: String,
    mention: Mention,
    names: BTreeSet<String>,
}

impl Scan {
    pub(super) fn status(&self, id: &str) -> Status {
        if self.in_tests.contains_key(id) { Status::Covered } else { Status::Open }
    }

    pub(super) fn add_rust(&mut self, file: &str, source: &str, groups: &BTreeSet<String>) {
        let tests = test_functions(source);
        for (at, id) in ids(source, groups) {
            let test = tests.iter().find(|test| test.region.contains(&at));
            let mention = Mention {
                file: file.to_owned(),
                line: line(source, at),
                test: test.map(|test| test.name.to_owned()),
            };
            match test.filter(|test| !test.ignored) {
                Some(test) => self.running.push(Running {
                    id: id.to_owned(),
                    mention,
                    names: owned(names_in(source, &test.region)),
                }),
                None => add(&mut self.elsewhere, id, mention),
            }
        }
        let Some(krate) = crate_of(file).filter(|_| is_integration_test(file)) else { return };
        let helpers = self.helpers.entry(krate.to_owned()).or_default();
        for (name, names) in functions(source) {
            helpers.entry(name.to_owned()).or_default().extend(owned(names));
        }
    }

    /// Decides which tests count. A test counts when it starts the binary or calls an entry point of its crate, itself or through
    /// helpers, and calls nothing that only tests use.
    pub(super) fn judge(&mut self, product: &Product, entries: &[EntryPoint]) {
        let for_tests: BTreeSet<&str> =
            product.for_tests_only().map(|item| item.name.as_str()).collect();
        let seams: BTreeSet<&str> = entries
            .iter()
            .filter(|entry| entry.way == Way::Test)
            .map(|entry| entry.name.as_str())
            .collect();
        for Running { id, mention, names } in std::mem::take(&mut self.running) {
            let unused = names
                .iter()
                .find(|name| for_tests.contains(name.as_str()) && !seams.contains(name.as_str()));
            let reason = if !is_integration_test(&mention.file) {
                Some("it is a unit test, and those reach parts of a crate".to_owned())
            } else if let Some(unused) = unused {
                Some(format!("it calls `{unused}`, which only tests use"))
            } else {
                let krate = crate_of(&mention.file).unwrap_or_default();
                let reached = self.reached(krate, &names);
                let is_entry = |entry: &EntryPoint| {
                    entry.krate == krate && entry.way != Way::Test && reached.contains(&entry.name)
                };
                let missing = !entries.iter().any(is_entry);
                missing.then(|| format!("it reaches no entry point of {krate}"))
            };
            match reason {
                None => add(&mut self.in_tests, &id, mention),
                Some(reason) => self.unreached.entry(id).or_default().push((mention, reason)),
            }
        }
    }

    /// All names of a test and of the helpers that it calls.
    fn reached(&self, krate: &str, names: &BTreeSet<String>) -> BTreeSet<String> {
        let helpers = self.helpers.get(krate);
        let mut reached = names.clone();
        let mut open: Vec<String> = names.iter().cloned().collect();
        while let Some(name) = open.pop() {
            for inner in helpers.and_then(|helpers| helpers.get(&name)).into_iter().flatten() {
                if reached.insert(inner.clone()) {
                    open.push(inner.clone());
                }
            }
        }
        reached
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

fn owned(names: BTreeSet<&str>) -> BTreeSet<String> {
    names.into_iter().map(str::to_owned).collect()
}

/// `a` for `crates/a/tests/it/main.rs`.
fn crate_of(file: &str) -> Option<&str> {
    file.strip_prefix("crates/")?.split('/').next()
}

fn is_integration_test(file: &str) -> bool {
    file.split('/').nth(2) == Some("tests")
}

/// Code of the product: what a crate has in `src`, without the files of its unit tests. The testkit is for tests as a whole.
fn is_product(file: &str) -> bool {
    let mut parts = file.split('/').skip(1);
    parts.next() != Some("prowess-testkit")
        && parts.next() == Some("src")
        && parts.all(|part| part != "tests" && part != "tests.rs")
}

/// Examples are pages that are compiled: what they use is used.
fn is_example(file: &str) -> bool {
    file.split('/').nth(2) == Some("examples")
}

pub(super) fn scan(root: &Path, groups: &BTreeSet<String>) -> Result<(Scan, Product)> {
    let mut scan = Scan::default();
    let mut product = Product::default();
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
            if !is_case && (is_product(&name) || is_example(&name)) {
                product.add(crate_of(&name).unwrap_or_default(), &name, &text);
            }
        }
    }
    Ok((scan, product))
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
