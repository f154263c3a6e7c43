//! Splits a body into text and substitutions, in one pass.

use crate::template::{Substitutions, placeholder_at};

/// A part of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'b> {
    /// Literal text.
    Text(&'b str),
    /// `{{name}}`.
    Input { name: &'b str },
    /// `$ARGUMENTS`.
    AllArguments,
    /// `$ARGUMENTS[N]` or `$N`.
    Argument { index: usize, written: &'b str },
    /// `$name` of a declared argument.
    NamedArgument { index: usize },
    /// `${CLAUDE_…}` or `{baseDir}`.
    Variable { variable: Variable, written: &'b str },
    /// `` !`source` ``, or a block opened by `` ```! ``.
    Command { source: &'b str, block: bool },
}

impl Piece<'_> {
    /// Whether the value is typed by the user, and not by the author or the host.
    pub(super) fn is_typed_by_the_user(&self) -> bool {
        match self {
            Piece::Input { .. }
            | Piece::AllArguments
            | Piece::Argument { .. }
            | Piece::NamedArgument { .. } => true,
            Piece::Text(_) | Piece::Variable { .. } | Piece::Command { .. } => false,
        }
    }
}

/// A value that the host provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variable {
    SessionId,
    SkillDir,
    ProjectDir,
    Effort,
    PluginRoot,
    PluginData,
}

/// The spelling of the variables. A backslash before them escapes nothing, as in Claude Code.
const VARIABLES: &[(&str, Variable)] = &[
    ("${CLAUDE_SESSION_ID}", Variable::SessionId),
    ("${CLAUDE_SKILL_DIR}", Variable::SkillDir),
    ("${CLAUDE_PROJECT_DIR}", Variable::ProjectDir),
    ("${CLAUDE_EFFORT}", Variable::Effort),
    ("${CLAUDE_PLUGIN_ROOT}", Variable::PluginRoot),
    ("${CLAUDE_PLUGIN_DATA}", Variable::PluginData),
    // OpenClaw's spelling of the skill's path (OC-9).
    ("{baseDir}", Variable::SkillDir),
];

/// Maximum length of a code span, so that a line full of backticks stays cheap.
const MAX_SPAN: usize = 256;

/// Maximum number of declared arguments: each is tried at every `$`.
const MAX_NAMES: usize = 64;

/// The pieces of a body.
pub(super) fn pieces<'b>(body: &'b str, syntax: Substitutions, names: &[&str]) -> Vec<Piece<'b>> {
    Scanner { text: body, syntax, names, commands: syntax.arguments }.scan()
}

/// The pieces of a command, which can't contain another command.
pub(super) fn pieces_of_command<'b>(
    source: &'b str,
    syntax: Substitutions,
    names: &[&str],
) -> Vec<Piece<'b>> {
    Scanner { text: source, syntax, names, commands: false }.scan()
}

struct Scanner<'b, 'n> {
    text: &'b str,
    syntax: Substitutions,
    names: &'n [&'n str],
    commands: bool,
}

/// An open fenced code block: its character and the length of the fence.
type Fence = (u8, usize);

impl<'b> Scanner<'b, '_> {
    fn scan(&self) -> Vec<Piece<'b>> {
        let bytes = self.text.as_bytes();
        let mut pieces = Vec::new();
        // Everything before `copied` is in `pieces`; commands are looked for from `masked` on.
        let (mut at, mut copied, mut masked) = (0, 0, 0);
        let mut fence: Option<Fence> = None;
        while at < bytes.len() {
            let at_line_start = at == 0 || bytes[at - 1] == b'\n';
            if self.commands
                && at_line_start
                && let Some((command, end)) = self.line_start(at, &mut fence)
            {
                self.push(&mut pieces, copied, at, command);
                (at, copied) = (end, end);
                continue;
            }
            let found = match bytes[at] {
                b'{' => self.input(at).or_else(|| self.variable(at)),
                b'$' if self.syntax.arguments => self.variable(at).or_else(|| self.argument(at)),
                b'!' if self.commands && fence.is_none() && at >= masked => self.command(at),
                b'`' if self.commands && fence.is_none() && at >= masked => {
                    masked = self.end_of_span(at);
                    None
                }
                _ => None,
            };
            match found {
                Some((piece, end)) => {
                    if piece.is_escapable() && is_escaped(&self.text[copied..at]) {
                        // The backslash goes, and the rest is text.
                        self.push(&mut pieces, copied, at - 1, Piece::Text(&self.text[at..end]));
                    } else {
                        self.push(&mut pieces, copied, at, piece);
                    }
                    (at, copied) = (end, end);
                }
                None => at += 1,
            }
        }
        self.push(&mut pieces, copied, at, Piece::Text(""));
        pieces
    }

    fn push(&self, pieces: &mut Vec<Piece<'b>>, from: usize, to: usize, piece: Piece<'b>) {
        let before = Piece::Text(&self.text[from..to]);
        pieces.extend([before, piece].into_iter().filter(|piece| *piece != Piece::Text("")));
    }

    fn input(&self, at: usize) -> Option<(Piece<'b>, usize)> {
        let placeholder = placeholder_at(self.text, at, self.syntax.inputs?)?;
        Some((Piece::Input { name: placeholder.name }, placeholder.span.end as usize))
    }

    fn variable(&self, at: usize) -> Option<(Piece<'b>, usize)> {
        if !self.syntax.arguments {
            return None;
        }
        let (written, variable) =
            VARIABLES.iter().find(|(written, _)| self.text[at..].starts_with(written))?;
        Some((Piece::Variable { variable: *variable, written }, at + written.len()))
    }

    fn argument(&self, at: usize) -> Option<(Piece<'b>, usize)> {
        let rest = &self.text[at + 1..];
        // The longest name first, so that `$branch` is not read as `$b`.
        let named = self
            .names
            .iter()
            .take(MAX_NAMES)
            .enumerate()
            .filter(|(_, name)| !name.is_empty() && rest.starts_with(**name))
            .filter(|(_, name)| {
                !rest[name.len()..].starts_with(|next| next == '[' || is_word(next))
            })
            .max_by_key(|(_, name)| name.len());
        if let Some((index, name)) = named {
            return Some((Piece::NamedArgument { index }, at + 1 + name.len()));
        }
        if let Some(after) = rest.strip_prefix("ARGUMENTS") {
            let end = at + 1 + "ARGUMENTS".len();
            let indexed = after.strip_prefix('[').and_then(|inner| {
                let digits = digits(inner);
                inner[digits.len()..].starts_with(']').then_some(digits)
            });
            return Some(match indexed.and_then(|digits| Some((digits, digits.parse().ok()?))) {
                Some((digits, index)) => {
                    let end = end + digits.len() + 2;
                    (Piece::Argument { index, written: &self.text[at..end] }, end)
                }
                None => (Piece::AllArguments, end),
            });
        }
        let digits = digits(rest);
        let index = digits.parse().ok()?;
        let end = at + 1 + digits.len();
        let alone = !self.text[end..].starts_with(is_word);
        alone.then(|| (Piece::Argument { index, written: &self.text[at..end] }, end))
    }

    /// `` !`command` `` at the start of a line or after a space.
    fn command(&self, at: usize) -> Option<(Piece<'b>, usize)> {
        let inner = self.text[at + 1..].strip_prefix('`')?;
        if !self.text[..at].chars().next_back().is_none_or(char::is_whitespace) {
            return None;
        }
        let end = memchr::memchr(b'`', inner.as_bytes())?;
        let source = &inner[..end];
        let end = at + 2 + end + 1;
        (!source.trim().is_empty()).then_some((Piece::Command { source, block: false }, end))
    }

    /// The end of a code span of two or more backticks: its content is shown, not run.
    fn end_of_span(&self, at: usize) -> usize {
        let bytes = &self.text.as_bytes()[at..];
        let run = bytes.iter().take_while(|byte| **byte == b'`').count();
        if run == 1 {
            return at;
        }
        let line = bytes.iter().take(MAX_SPAN).take_while(|byte| **byte != b'\n').count();
        let mut from = run;
        while let Some(next) = memchr::memchr(b'`', &bytes[from.min(line)..line]) {
            let start = from + next;
            let length = bytes[start..line].iter().take_while(|byte| **byte == b'`').count();
            from = start + length;
            if length == run {
                return at + from;
            }
        }
        at + run
    }

    /// Follows code fences line by line; a block opened by `` ```! `` is a command with its end.
    fn line_start(&self, at: usize, fence: &mut Option<Fence>) -> Option<(Piece<'b>, usize)> {
        let line = line_at(self.text, at);
        let (character, run, info) = fence_line(line)?;
        if let Some((open, length)) = *fence {
            if character == open && run >= length && info.is_empty() {
                *fence = None;
            }
            return None;
        }
        if character == b'`' && info.contains('`') {
            return None;
        }
        let block = info.strip_prefix('!').filter(|_| character == b'`');
        if let Some((source, end)) = block.and_then(|first| self.command_block(at, first, run)) {
            return Some((Piece::Command { source, block: true }, end));
        }
        *fence = Some((character, run));
        None
    }

    /// The lines up to the closing fence, which stays outside like the opening one.
    fn command_block(&self, at: usize, first: &str, run: usize) -> Option<(&'b str, usize)> {
        let opening = line_at(self.text, at);
        // A command may begin on the opening line.
        let start = at + opening.trim_end().len() - first.len();
        let mut line_start = at + opening.len() + 1;
        while line_start < self.text.len() {
            let line = line_at(self.text, line_start);
            if fence_line(line).is_some_and(|(character, length, info)| {
                character == b'`' && length >= run && info.is_empty()
            }) {
                let end = line_start + line.trim_end().len();
                return Some((&self.text[start..line_start], end));
            }
            line_start += line.len() + 1;
        }
        None
    }
}

impl Piece<'_> {
    fn is_escapable(&self) -> bool {
        matches!(self, Piece::AllArguments | Piece::Argument { .. } | Piece::NamedArgument { .. })
    }
}

/// Exactly one backslash escapes: two stay, and so does the argument.
fn is_escaped(before: &str) -> bool {
    before.bytes().rev().take(2).take_while(|byte| *byte == b'\\').count() == 1
}

/// The line that begins at `at`, without its line break.
fn line_at(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    &rest[..memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len())]
}

/// A line that may open or close a code block: its character, the length of the run, and what follows.
fn fence_line(line: &str) -> Option<(u8, usize, &str)> {
    let line = line.trim();
    let character = *line.as_bytes().first().filter(|byte| matches!(byte, b'`' | b'~'))?;
    let run = line.bytes().take_while(|byte| *byte == character).count();
    (run >= 3).then(|| (character, run, line[run..].trim()))
}

fn digits(text: &str) -> &str {
    &text[..text.bytes().take_while(u8::is_ascii_digit).count()]
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}
