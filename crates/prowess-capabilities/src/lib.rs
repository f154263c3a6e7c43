//! Reads what a skill of instructions can make an agent do from its files, without running anything.
//!
//! An agent follows the text of a skill with its own rights. This crate lists what that comes to: tools that are
//! pre-approved, hooks, commands in the text, scripts, the programs, hosts and variables that they name, and what has to be
//! installed. Pure like the format crate: files in memory in, values out. No input makes it panic, and everything is bounded.
//!
//! ```
//! use prowess_capabilities::{SkillFile, of_files};
//!
//! let manifest = b"---\nname: x\ndescription: d\nallowed-tools: Bash(git *)\n---\n\n!`git status`\n";
//! let files = [SkillFile { path: "SKILL.md", bytes: manifest, is_executable: false }];
//! let found: Vec<String> = of_files(files).iter().map(ToString::to_string).collect();
//! assert_eq!(found, ["tool Bash(git *)", "command git status", "program git"]);
//! ```

mod commands;
mod front_matter;
mod instructions;
mod javascript;
mod recipes;
mod scripts;
#[cfg(test)]
mod tests;
mod utilities;
mod variables;

use std::collections::{BTreeSet, HashSet};
use std::fmt::{self, Write as _};

use prowess_format::text::visible_line;
use sha2::{Digest as _, Sha256};

/// The name of the file that agents load.
const MANIFEST: &str = "SKILL.md";
/// The most capabilities that are listed by themselves. Those after them are one line with a digest.
pub const MAX_CAPABILITIES: usize = 4_000;
/// The longest text of a capability in characters. A longer one is cut and gets a digest of the whole.
pub const MAX_TEXT_CHARACTERS: usize = 240;
/// The largest file that is read. A larger script is listed, and what it names is not.
pub const MAX_FILE_BYTES: usize = 1 << 20;
/// How many bytes of a skill are read in all.
pub const MAX_TOTAL_BYTES: usize = 16 << 20;

/// The longest text that the parser of shells gets, and how much of a skill it gets in all. A text that is made for it can
/// take a second for each hundred kilobytes. What is longer is listed as a whole, so that a change of it is seen.
const MAX_SHELL_BYTES: usize = 128 << 10;
const MAX_TOTAL_SHELL_BYTES: usize = 1 << 20;

/// A file of a skill.
#[derive(Clone, Copy, Debug)]
pub struct SkillFile<'f> {
    /// Its path below the skill's folder, with `/` between the parts.
    pub path: &'f str,
    /// Its content.
    pub bytes: &'f [u8],
    /// Whether it is marked as executable.
    pub is_executable: bool,
}

/// Something that a skill can make an agent do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capability {
    /// What kind of thing.
    pub kind: CapabilityKind,
    /// What exactly, in a canonical form of bounded length without control or invisible characters. Two capabilities are
    /// the same if their kinds and texts are.
    pub text: String,
    /// More about it, for people.
    pub note: Option<String>,
    /// The first file that has it.
    pub file: String,
    /// The line of that file, from one.
    pub line: usize,
}

/// The kinds of capabilities, in the order in which they are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CapabilityKind {
    /// A tool of the agent that may be used without a question (`allowed-tools`).
    Tool,
    /// A command or request at an event of the agent, the package manager or the protocol.
    Hook,
    /// A command whose output an agent inserts into the text before it reads it.
    Command,
    /// A command that installs something, or that runs what it downloads.
    Recipe,
    /// A file that can be run.
    Script,
    /// A program that is started or required.
    Program,
    /// A host in a URL that commands or scripts use.
    Host,
    /// An environment variable that is read or required.
    Variable,
    /// All capabilities after the first [`MAX_CAPABILITIES`], or files after the first [`MAX_TOTAL_BYTES`].
    Rest,
}

impl CapabilityKind {
    /// Every kind in order.
    pub const ALL: [Self; 9] = [
        Self::Tool,
        Self::Hook,
        Self::Command,
        Self::Recipe,
        Self::Script,
        Self::Program,
        Self::Host,
        Self::Variable,
        Self::Rest,
    ];

    /// The word for it in lock files and in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Hook => "hook",
            Self::Command => "command",
            Self::Recipe => "recipe",
            Self::Script => "script",
            Self::Program => "program",
            Self::Host => "host",
            Self::Variable => "variable",
            Self::Rest => "rest",
        }
    }
}

impl fmt::Display for Capability {
    /// The canonical line, as it is compared and recorded.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.kind.as_str(), self.text)
    }
}

/// The capabilities of a skill, by kind and in the order of its files, each once.
pub fn of_files<'f>(files: impl IntoIterator<Item = SkillFile<'f>>) -> Vec<Capability> {
    let mut files: Vec<SkillFile<'f>> = files.into_iter().collect();
    files.sort_by_key(|file| (file.path != MANIFEST, file.path));
    let paths: BTreeSet<&str> = files.iter().map(|file| file.path).collect();
    let mut found = Collector { paths, ..Collector::default() };
    let mut left = MAX_TOTAL_BYTES;
    for file in &files {
        if left < file.bytes.len() {
            found.skip(file);
            continue;
        }
        left -= file.bytes.len();
        read_file(file, &mut found);
    }
    found.finish()
}

fn read_file<'f>(file: &SkillFile<'f>, found: &mut Collector<'f>) {
    let text = text_of(file.bytes);
    match (file.path, &text) {
        (MANIFEST, Some(text)) => {
            front_matter::read(file.path, text, found);
            instructions::read(file.path, text, instructions::Text::Manifest, found);
        }
        (path, Some(text)) if is_markdown(path) => {
            instructions::read(path, text, instructions::Text::Reference, found);
        }
        (path, Some(text)) if front_matter::is_settings(path) => {
            front_matter::read_settings(path, text, found);
        }
        _ => scripts::read(file, text.as_deref(), found),
    }
}

fn is_markdown(path: &str) -> bool {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    ["md", "mdx", "markdown"].iter().any(|known| extension.eq_ignore_ascii_case(known))
}

/// The text of a file that is small enough to be read; bytes that are not UTF-8 are replaced.
fn text_of(bytes: &[u8]) -> Option<String> {
    let is_text = bytes.len() <= MAX_FILE_BYTES && !bytes.contains(&0);
    is_text.then(|| String::from_utf8_lossy(bytes).into_owned())
}

/// A text of a file, with its lines.
pub(crate) struct FileText<'t> {
    text: &'t str,
    file: &'t str,
    /// The line of the file at which the text begins.
    first_line: usize,
    breaks: Vec<usize>,
}

impl<'t> FileText<'t> {
    /// A whole file.
    fn whole(text: &'t str, file: &'t str) -> Self {
        Self::part(text, file, 1)
    }

    /// A part of a file that begins at a line.
    fn part(text: &'t str, file: &'t str, first_line: usize) -> Self {
        let breaks = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        Self { text, file, first_line, breaks: breaks.map(|(at, _)| at).collect() }
    }

    /// The line of an offset.
    fn line(&self, offset: usize) -> usize {
        self.first_line + self.breaks.partition_point(|at| *at < offset)
    }
}

/// Everything that was found so far.
#[derive(Default)]
pub(crate) struct Collector<'f> {
    /// The files of the skill.
    paths: BTreeSet<&'f str>,
    found: Vec<Capability>,
    known: HashSet<(CapabilityKind, String)>,
    /// How many bytes the parser of shells has got.
    shell_bytes: usize,
    /// A digest of what is not listed, and how much that is.
    rest: Sha256,
    rest_count: usize,
}

impl Collector<'_> {
    /// Adds a capability unless it is known.
    fn add(&mut self, kind: CapabilityKind, text: &str, file: &str, line: usize) {
        self.add_with_note(kind, text, None, file, line);
    }

    fn add_with_note(
        &mut self,
        kind: CapabilityKind,
        text: &str,
        note: Option<String>,
        file: &str,
        line: usize,
    ) {
        let text = canonical(text);
        if text.is_empty() || self.known.contains(&(kind, text.clone())) {
            return;
        }
        if self.found.len() >= MAX_CAPABILITIES {
            self.count_rest(&[kind.as_str().as_bytes(), b" ", text.as_bytes(), b"\n"]);
            return;
        }
        self.known.insert((kind, text.clone()));
        self.found.push(Capability { kind, text, note, file: file.to_owned(), line });
    }

    /// Counts a file that is not read because the skill is too large.
    fn skip(&mut self, file: &SkillFile<'_>) {
        let digest = Sha256::digest(file.bytes);
        self.count_rest(&[b"file ", file.path.as_bytes(), b" ", digest.as_slice(), b"\n"]);
    }

    /// Whether the parser of shells may get a text. If not, the text counts as a whole.
    fn may_parse_shell(&mut self, text: &str) -> bool {
        let total = self.shell_bytes + text.len();
        let is_allowed = text.len() <= MAX_SHELL_BYTES && total <= MAX_TOTAL_SHELL_BYTES;
        if is_allowed {
            self.shell_bytes = total;
        } else {
            let digest = Sha256::digest(text.as_bytes());
            self.count_rest(&[b"shell ", digest.as_slice(), b"\n"]);
        }
        is_allowed
    }

    fn count_rest(&mut self, parts: &[&[u8]]) {
        for part in parts {
            self.rest.update(part);
        }
        self.rest_count += 1;
    }

    fn has_file(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    fn finish(mut self) -> Vec<Capability> {
        if self.rest_count > 0 {
            let digest = hex(&self.rest.finalize());
            let text = format!("{} more, not listed (sha256:{digest})", self.rest_count);
            self.found.push(Capability {
                kind: CapabilityKind::Rest,
                text,
                note: None,
                file: MANIFEST.to_owned(),
                line: 1,
            });
        }
        self.found.sort_by_key(|capability| capability.kind);
        self.found
    }
}

/// A text as it is compared: trimmed, on one line, without invisible characters, of bounded length. What is lost by that
/// is in a digest behind it, so that two texts never have the same form.
fn canonical(text: &str) -> String {
    let text = text.trim();
    let shown = visible_line(text);
    let count = shown.chars().count();
    if shown == text && count <= MAX_TEXT_CHARACTERS {
        return shown.into_owned();
    }
    let cut: String = shown.chars().take(MAX_TEXT_CHARACTERS).collect();
    let mark = if count > MAX_TEXT_CHARACTERS { "…" } else { "" };
    let digest = hex(&Sha256::digest(text.as_bytes())[..16]);
    format!("{cut}{mark} (sha256:{digest})")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
