//! What a file of JavaScript or TypeScript names, found by a search of its text and not by a parser: URLs, variables of the
//! environment, and literal commands of `child_process` and its like.

use crate::commands::{self, Weight};
use crate::utilities::is_text_only;
use crate::{CapabilityKind, Collector, FileText, variables};

/// Functions that run a command line.
const LINES: &[&str] = &["exec(", "execSync(", "execaCommand(", "execaCommandSync("];
/// Functions that start a program.
const PROGRAMS: &[&str] = &[
    "spawn(",
    "spawnSync(",
    "execFile(",
    "execFileSync(",
    "execa(",
    "execaSync(",
    "Command(",
    "Bun.spawn([",
    "Bun.spawnSync([",
];
/// A file without one of these words starts nothing, and its `exec(` is that of a regular expression.
const STARTERS: &[&str] = &["child_process", "execa", "Bun.spawn", "Deno.Command", "zx"];
/// What stands before the name of a variable.
const READERS: &[(&str, &[char])] = &[
    ("process.env.", &[]),
    ("Bun.env.", &[]),
    ("process.env[", &['"', '\'', '`']),
    ("Bun.env[", &['"', '\'', '`']),
    ("Deno.env.get(", &['"', '\'', '`']),
];

pub(crate) fn read(script: &FileText<'_>, found: &mut Collector<'_>) {
    let text = without_comments(script.text);
    let file = script.file;
    for host in prowess_shell::hosts_in(&text) {
        found.add(CapabilityKind::Host, &host.host, file, script.line(host.span.start));
    }
    for (reader, quotes) in READERS {
        for (at, rest) in occurrences(&text, reader) {
            let rest = rest.trim_start();
            let rest = if quotes.is_empty() {
                rest
            } else {
                let Some(rest) = rest.strip_prefix(*quotes) else { continue };
                rest
            };
            let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
            let name = &rest[..rest.find(|character| !is_name(character)).unwrap_or(rest.len())];
            if !name.is_empty() && !variables::is_ordinary(name) && name != "NODE_ENV" {
                found.add(CapabilityKind::Variable, name, file, script.line(at));
            }
        }
    }
    if !STARTERS.iter().any(|word| text.contains(word)) {
        return;
    }
    for function in LINES {
        for (at, rest) in calls(&text, function) {
            let line = script.line(at);
            match literal(rest) {
                Some(command) => {
                    commands::read(&FileText::part(&command, file, line), Weight::Command, found);
                }
                None => computed(file, line, found),
            }
        }
    }
    for function in PROGRAMS {
        for (at, rest) in calls(&text, function) {
            let line = script.line(at);
            match literal(rest) {
                Some(program) if is_text_only(&program) => {}
                Some(program) => found.add(CapabilityKind::Program, &program, file, line),
                None => computed(file, line, found),
            }
        }
    }
}

fn computed(file: &str, line: usize, found: &mut Collector<'_>) {
    found.add(CapabilityKind::Program, "a program whose name is computed", file, line);
}

/// The places of a word, each with the text after it.
fn occurrences<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = (usize, &'t str)> {
    text.match_indices(word).map(move |(at, _)| (at, &text[at + word.len()..]))
}

/// The calls of a function: of its own name, or as a member of `cp`, `child_process` or `Deno`.
fn calls<'t>(text: &'t str, function: &'t str) -> impl Iterator<Item = (usize, &'t str)> {
    occurrences(text, function).filter(move |(at, _)| {
        let before = &text[..*at];
        let last = before.chars().next_back();
        let is_word = |character: char| character.is_ascii_alphanumeric() || character == '_';
        match last {
            Some('.') => {
                let owners =
                    ["cp.", "child_process.", "childProcess.", "Deno.", ").", "childprocess."];
                owners.iter().any(|owner| before.ends_with(owner))
            }
            // A definition calls nothing.
            _ if before.trim_end().ends_with("function") => false,
            Some(character) => !is_word(character) && character != '$',
            None => true,
        }
    })
}

/// A literal text at the start of arguments. Of a template the parts that are computed are left out.
fn literal(rest: &str) -> Option<String> {
    let rest = rest.trim_start();
    let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\'' | '`'))?;
    let mut text = String::new();
    let mut characters = rest.chars().skip(1).take(4_096).peekable();
    while let Some(character) = characters.next() {
        match character {
            _ if character == quote => return Some(text),
            '\\' => text.extend(characters.next()),
            '$' if quote == '`' && characters.peek() == Some(&'{') => {
                text.push_str("$X");
                characters.find(|inner| *inner == '}');
            }
            _ => text.push(character),
        }
    }
    None
}

/// The text with its comments blanked out; every offset stays where it was. A `//` inside a URL is no comment, because a
/// colon stands before it.
fn without_comments(text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    let mut at = 0;
    let blank = |bytes: &mut [u8]| {
        for byte in bytes.iter_mut().filter(|byte| **byte != b'\n') {
            *byte = b' ';
        }
    };
    while at + 1 < bytes.len() {
        let before = if at == 0 { b'\n' } else { bytes[at - 1] };
        match (bytes[at], bytes[at + 1]) {
            (b'/', b'/')
                if before.is_ascii_whitespace() || matches!(before, b';' | b'}' | b',') =>
            {
                let rest = &bytes[at..];
                let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                blank(&mut bytes[at..at + end]);
                at += end;
            }
            (b'/', b'*') if before.is_ascii_whitespace() => {
                let rest = &bytes[at..];
                // A block that has no end is no comment.
                let end = rest.windows(2).position(|pair| pair == b"*/");
                let Some(end) = end else { break };
                blank(&mut bytes[at..at + end + 2]);
                at += end + 2;
            }
            _ => at += 1,
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}
