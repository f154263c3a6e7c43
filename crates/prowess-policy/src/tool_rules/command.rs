//! Patterns of commands: each part of a compound command has to match.

use prowess_shell::{Subcommand, WriteTarget, without_wrappers};

use super::{RuleEffect, glob};

/// Variables that patterns look past: they change how a program presents something and not what it does. The documentation
/// names only the first and says that there are others.
const HARMLESS_VARIABLES: &[&str] = &[
    "NODE_ENV",
    "CI",
    "COLUMNS",
    "FORCE_COLOR",
    "LANG",
    "LC_ALL",
    "LINES",
    "NO_COLOR",
    "RUST_BACKTRACE",
    "TERM",
    "TZ",
];

/// Programs that run their words as a command. A pattern with a wildcard does not allow them.
const EXEC_WRAPPERS: &[&str] = &["watch", "setsid", "ionice", "flock"];

/// Whether patterns match a command line. `may_write` decides about the files that its redirections write.
pub(super) fn matches(
    patterns: &[&str],
    effect: RuleEffect,
    line: &str,
    may_write: &dyn Fn(&WriteTarget) -> bool,
) -> bool {
    let parts = prowess_shell::split(line);
    match effect {
        RuleEffect::Allow => {
            // The exact text is allowed whatever it holds: the author wrote all of it.
            if patterns
                .iter()
                .any(|pattern| !glob::has_wildcard(pattern) && *pattern == line.trim())
            {
                return true;
            }
            parts.is_ok_and(|parts| {
                !parts.is_empty()
                    && parts.iter().all(|part| {
                        part.writes.iter().all(may_write)
                            && part
                                .assigned
                                .iter()
                                .all(|name| HARMLESS_VARIABLES.contains(&name.as_str()))
                            && patterns.iter().any(|pattern| allows(pattern, part))
                    })
            })
        }
        RuleEffect::Restrict => {
            let Ok(parts) = parts else { return true };
            let is_hit = |text: &str| patterns.iter().any(|pattern| glob::command(pattern, text));
            parts.iter().flat_map(spellings).any(|text| is_hit(&text))
                || inner_commands(line).iter().any(|text| is_hit(text))
        }
    }
}

fn allows(pattern: &str, part: &Subcommand) -> bool {
    let name = part.words.first().map_or("", |word| word.text.as_str());
    let runs_others = EXEC_WRAPPERS.contains(&name)
        || name == "find"
            && part.words.iter().any(|word| {
                matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir" | "-delete")
                    || !word.is_literal
            });
    if runs_others && glob::has_wildcard(pattern) {
        return false;
    }
    spellings(part).iter().any(|text| glob::command(pattern, text))
}

/// The text of a part as written, and without the wrappers before its command.
fn spellings(part: &Subcommand) -> Vec<String> {
    let mut spellings = vec![part.text.clone()];
    let inner = without_wrappers(&part.words);
    if inner > 0 {
        let from = part.words[inner].span.start - part.words[0].span.start;
        spellings.extend(part.text.get(from..).map(str::to_owned));
    }
    spellings
}

/// Commands inside of others, such as that of `sh -c '…'`, with single spaces.
fn inner_commands(line: &str) -> Vec<String> {
    let script = prowess_shell::parse(line);
    let words = |command: &prowess_shell::ShellCommand| {
        let mut text = command.name.clone().unwrap_or_default();
        for word in &command.arguments {
            text.push(' ');
            text.push_str(&word.text);
        }
        text
    };
    script.commands.iter().map(words).collect()
}

/// Operators of PowerShell, whose syntax is not parsed here.
const POWERSHELL_OPERATORS: &[char] =
    &['|', ';', '&', '\n', '\r', '(', ')', '{', '}', '$', '`', '<', '>', '@'];

/// Compares a command of PowerShell, without regard to case. One that could be more than one command is not understood.
pub(super) fn matches_powershell(pattern: &str, effect: RuleEffect, line: &str) -> bool {
    if line.contains(POWERSHELL_OPERATORS) {
        return match effect {
            RuleEffect::Allow => {
                !glob::has_wildcard(pattern) && pattern.eq_ignore_ascii_case(line.trim())
            }
            RuleEffect::Restrict => true,
        };
    }
    glob::command(&pattern.to_lowercase(), &line.trim().to_lowercase())
}

/// Commands that search or compare, and whose exit code 1 is a result.
const SEARCHES: &[&str] = &["grep", "egrep", "fgrep", "rg", "find", "diff", "cmp", "test", "["];

/// Whether the exit code of a command line is that of a command which searches or compares, so that 1 means "nothing found" or
/// "they differ". The last part decides, as in a shell without `pipefail`.
pub fn is_search_or_comparison(line: &str) -> bool {
    let Ok(parts) = prowess_shell::split(line) else { return false };
    let Some(last) = parts.last() else { return false };
    let inner = without_wrappers(&last.words);
    let words: Vec<&str> =
        last.words[inner.min(last.words.len())..].iter().map(|word| word.text.as_str()).collect();
    match words.as_slice() {
        ["git", "grep" | "diff", ..] => true,
        [name, ..] => SEARCHES.contains(name),
        [] => false,
    }
}
