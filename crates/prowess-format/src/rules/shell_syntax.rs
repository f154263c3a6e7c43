//! `shell-syntax`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::specification::GIBBERISH;
use crate::text::shorten;

rule! {
    /// ## What it does
    /// Flags pipes, redirects, globs, variables and command chains in a command.
    ///
    /// ## Why is this bad?
    /// Commands run as program and arguments, never through a shell: the program receives the characters literally.
    ///
    /// ## Example
    /// Put the pipeline into `./scripts/name.sh` and call that.
    SHELL_SYNTAX = "shell-syntax", Warning / Warning, check;
    GIBBERISH.at("3.5")
}

/// Words with a special meaning in a shell (GIB §3.5).
const OPERATORS: &[(&str, &str)] = &[
    ("|", "a pipe"),
    ("||", "a command chain"),
    ("&&", "a command chain"),
    (";", "a command chain"),
    ("&", "a background job"),
    (">", "a redirect"),
    (">>", "a redirect"),
    ("<", "a redirect"),
    ("2>", "a redirect"),
    ("2>&1", "a redirect"),
];

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for command in subject.skill.tools.iter().filter_map(|tool| tool.command.as_ref()) {
        let mut seen: Vec<&str> = Vec::new();
        for word in unquoted_words(command) {
            let Some(what) = meaning(&word) else { continue };
            if seen.contains(&what) {
                continue;
            }
            seen.push(what);
            let message = format!(
                "`{}` is {what}, but no shell is involved: the program gets it as an argument",
                shorten(&word, 30)
            );
            findings.push(
                SHELL_SYNTAX
                    .at(command.span, message)
                    .help("put the command into `./scripts/name.sh` and call that"),
            );
        }
    }
}

fn meaning(word: &str) -> Option<&'static str> {
    if let Some((_, what)) = OPERATORS.iter().find(|(operator, _)| *operator == word) {
        return Some(what);
    }
    let outside = remove_placeholders(word);
    if outside.contains("$(") || outside.contains('`') {
        Some("a command substitution")
    } else if outside.contains('$') {
        Some("a shell variable")
    } else if outside.starts_with('>') || outside.starts_with("2>") {
        Some("a redirect")
    } else if outside.ends_with(';') {
        Some("a command chain")
    } else if outside.contains('*') || (outside.contains('?') && !outside.contains("://")) {
        Some("a glob")
    } else {
        None
    }
}

fn remove_placeholders(word: &str) -> String {
    let mut rest = word;
    let mut outside = String::new();
    while let Some((before, after)) = rest.split_once("{{") {
        outside.push_str(before);
        rest = after.split_once("}}").map_or("", |(_, after)| after);
    }
    outside + rest
}

/// The words of a command line outside quotes; a quoted word is also literal to a shell, except for
/// `$` and backticks in double quotes.
fn unquoted_words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut characters = command.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (None, '\\') => _ = characters.next(),
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None, _) if character.is_whitespace() => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            }
            (Some('"'), '$' | '`') | (None, _) => word.push(character),
            (Some('"'), '(') if word.ends_with('$') => word.push(character),
            _ => {}
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}
