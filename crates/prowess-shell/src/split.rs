//! A command line as its subcommands, for rules that have to match each of them.
//!
//! Strict, unlike the rest of this crate: what the shell would compute, or what two readings of the text could disagree
//! about, is an error. A rule that allows something then doesn't match.

use std::fmt;

use crate::syntax;
use crate::{ShellWord, wrappers};

/// The longest command line that is split. Claude Code's documentation has the same limit.
pub(crate) const MAX_COMMAND_BYTES: usize = 10_000;

/// A command between the separators `&&`, `||`, `;`, `|`, `|&`, `&` and line breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subcommand {
    /// Its text without assignments before it and without redirections.
    pub text: String,
    /// The names of the variables that are assigned before it.
    pub assigned: Vec<String>,
    /// Its words, its name first.
    pub words: Vec<ShellWord>,
    /// The files that its redirections write.
    pub writes: Vec<WriteTarget>,
}

/// A file that a redirection writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteTarget {
    /// The path as a program would see it.
    pub path: String,
    /// Whether it is known before the command runs: no expansion, no wildcard, no `~`.
    pub is_literal: bool,
}

/// Why a command line can't be split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TooComplex {
    /// It is longer than 10,000 bytes.
    TooLong,
    /// The parser doesn't understand it.
    Syntax,
    /// It inserts the output of another command.
    Substitution,
    /// It computes something in a way that can run a command, as `$((…))` does.
    Expansion,
    /// It has loops, conditions, functions or groups.
    Structure,
}

impl fmt::Display for TooComplex {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::TooLong => "the command is too long to be compared with patterns",
            Self::Syntax => "the command can't be parsed",
            Self::Substitution => "the command inserts the output of another one",
            Self::Expansion => "the command computes a value",
            Self::Structure => "the command has loops, conditions or groups",
        })
    }
}

impl std::error::Error for TooComplex {}

/// Splits a command line at its separators.
pub fn split(text: &str) -> Result<Vec<Subcommand>, TooComplex> {
    if text.len() > MAX_COMMAND_BYTES {
        return Err(TooComplex::TooLong);
    }
    // A carriage return is part of a word for bash, and space for others.
    let is_odd = |character: char| character.is_control() && !matches!(character, '\n' | '\t');
    if text.contains(is_odd) {
        return Err(TooComplex::Syntax);
    }
    let subcommands = syntax::subcommands(text)?;
    // A second opinion: what the grammar takes for one command has no separator outside of quotes.
    let is_clear = subcommands.iter().all(|subcommand| is_one_command(&subcommand.text));
    if is_clear { Ok(subcommands) } else { Err(TooComplex::Syntax) }
}

/// Whether a text has no operator of a shell outside of quotes.
fn is_one_command(text: &str) -> bool {
    let mut quote = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        if character == '\\' && quote != Some('\'') {
            let next = characters.next();
            if quote.is_none() && next.is_none_or(|next| next == '\n') {
                return false;
            }
            continue;
        }
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            // `$'…'` and `$"…"` have rules of their own for quotes.
            (None, '$') if matches!(characters.peek(), Some('\'' | '"')) => return false,
            (None, ';' | '|' | '&' | '<' | '>' | '(' | ')' | '`' | '\n' | '\r') => return false,
            (Some('"'), '`') => return false,
            _ => {}
        }
    }
    quote.is_none()
}

/// The words of a command after the wrappers that patterns look through: `timeout`, `time`, `nice`, `nohup`, `stdbuf`,
/// `command`, `builtin`, `noglob`, and `xargs` without options. The result is the number of words before it.
///
/// A wrapper with an option that isn't known here stays: which of its words is the command would be a guess.
pub fn without_wrappers(words: &[ShellWord]) -> usize {
    let mut at = 0;
    while let Some(inner) = wrappers::strictly_inner(&words[at..]) {
        at += inner;
    }
    at
}
