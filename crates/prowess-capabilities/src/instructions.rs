//! What the Markdown of a skill makes an agent run: commands that are inserted, and blocks of commands.

use prowess_format::document::markdown::{CodePiece, code_pieces};

use crate::commands::{self, Weight};
use crate::{CapabilityKind, Collector, FileText};

/// Which text is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Text {
    /// The `SKILL.md`, which an agent loads and into which it inserts the output of commands.
    Manifest,
    /// Another text of the skill, which an agent may read.
    Reference,
}

/// Languages of code blocks that are commands of a shell.
const SHELLS: &[&str] = &["bash", "sh", "shell", "zsh", "ksh", "fish"];
/// Fence languages of terminal sessions: commands after a prompt, with output in between.
const SESSIONS: &[&str] = &["console", "shell-session", "shellsession", "terminal", "sh-session"];
/// The most pieces of code of a text that are parsed. What is after them counts as a whole.
const MAX_PIECES: usize = 4_000;
/// Code in a sentence is parsed if it has one of these words, which every command has that installs something.
const INSTALL_WORDS: &[&str] = &[
    "add",
    "curl",
    "dlx",
    "exec",
    "fetch",
    "get",
    "install",
    "npx",
    "pipx",
    "run",
    "tap",
    "uvx",
    "wget",
    "bunx",
    "pnpx",
    "easy_install",
    "-S",
    "-i",
    "create",
    "http",
];
/// The longest command in a sentence. Anything longer is not one.
const MAX_INLINE: usize = 4_096;

pub(crate) fn read(file: &str, text: &str, kind: Text, found: &mut Collector<'_>) {
    let place = FileText::whole(text, file);
    if kind == Text::Manifest {
        for (number, (command, offset)) in inserted(text).into_iter().enumerate() {
            if number >= MAX_PIECES {
                found.count_rest(&[b"command ", command.as_bytes(), b"\n"]);
                continue;
            }
            insert(command, place.line(offset), file, found);
        }
    }
    let pieces = code_pieces(text, 0).into_iter().filter(is_worth_parsing);
    for (number, piece) in pieces.enumerate() {
        if number >= MAX_PIECES {
            found.count_rest(&[b"code ", file.as_bytes(), b" ", piece.text.as_bytes(), b"\n"]);
            continue;
        }
        let line = place.line(piece.span.range().start);
        if kind == Text::Manifest
            && let Some(first) = piece.info.as_deref().and_then(|info| info.strip_prefix('!'))
        {
            let command = format!("{first}\n{}", piece.text);
            insert(&command, line, file, found);
            continue;
        }
        code(&piece, line, file, found);
    }
}

/// Adds a command whose output is inserted into the text.
fn insert(command: &str, line: usize, file: &str, found: &mut Collector<'_>) {
    found.add(CapabilityKind::Command, command, file, line);
    commands::read(&FileText::part(command, file, line), Weight::Command, found);
}

/// Every `` !`command` `` after white space, wherever it stands. Agents differ in whether they leave out code blocks, so
/// none is left out here.
fn inserted(text: &str) -> Vec<(&str, usize)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find("!`").map(|at| from + at) {
        from = at + 2;
        let before = text[..at].chars().next_back();
        if !before.is_none_or(char::is_whitespace) {
            continue;
        }
        let Some(end) = text[from..].find('`') else { break };
        let command = &text[from..from + end];
        if !command.trim().is_empty() {
            found.push((command, at));
        }
        from += end + 1;
    }
    found
}

fn is_worth_parsing(piece: &CodePiece) -> bool {
    !piece.is_inline
        || piece.text.len() <= MAX_INLINE
            && piece.text.contains(' ')
            && INSTALL_WORDS.iter().any(|word| piece.text.contains(word))
}

fn code(piece: &CodePiece, line: usize, file: &str, found: &mut Collector<'_>) {
    if piece.is_inline {
        commands::read(&FileText::part(&piece.text, file, line), Weight::Example, found);
        return;
    }
    let language = piece.info.as_deref().unwrap_or_default();
    let language = language.split(|character: char| !is_word(character)).next().unwrap_or_default();
    let language = language.to_ascii_lowercase();
    let session = typed_lines(&piece.text);
    let (text, weight) = match (&session, language.as_str()) {
        (Some(typed), language) if is_shell(language) || language.is_empty() => {
            (typed.as_str(), Weight::Command)
        }
        (None, language) if SHELLS.contains(&language) => (piece.text.as_str(), Weight::Command),
        (None, language) if SESSIONS.contains(&language) || language.is_empty() => {
            (piece.text.as_str(), Weight::Example)
        }
        _ => return,
    };
    let first_line = if piece.info.is_some() { line + 1 } else { line };
    commands::read(&FileText::part(text, file, first_line), weight, found);
}

fn is_shell(language: &str) -> bool {
    SHELLS.contains(&language) || SESSIONS.contains(&language)
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '-'
}

/// What somebody types in a block with prompts; its other lines, which are output, become empty.
fn typed_lines(text: &str) -> Option<String> {
    if !text.lines().any(|line| line.trim_start().starts_with("$ ")) {
        return None;
    }
    let mut typed = String::with_capacity(text.len());
    let mut is_continued = false;
    for line in text.lines() {
        let command = line.trim_start().strip_prefix("$ ");
        let command = command.or(is_continued.then_some(line)).unwrap_or_default();
        is_continued = command.ends_with('\\');
        typed.push_str(command);
        typed.push('\n');
    }
    Some(typed)
}
