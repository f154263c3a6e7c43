//! Checks the nesting depth of a module before it is parsed.
//!
//! The parser grows its stack as needed, but the tree is dropped and walked recursively on the
//! caller's stack. So the depth is bounded first, using only the tokens.

use prowess_format::python::PythonError;
use prowess_format::span::Span;
use ruff_python_ast::token::TokenKind;
use ruff_python_parser::{Mode, lexer::lex};

/// Maximum number of open brackets, the same as in Python's own tokenizer.
const MAX_BRACKETS: usize = 200;
/// Maximum depth of blocks, the same as in Python's own tokenizer.
const MAX_INDENTATION: usize = 100;
/// Maximum number of operators and keywords between two commas, over all open brackets: these make
/// `a.b.c` or `x + y + z` deep.
const MAX_CHAIN: usize = 1_000;

/// Rejects a text whose tree would be too deep to walk.
pub(crate) fn check(text: &str) -> Result<(), PythonError> {
    if let Some(at) = deep_indentation(text) {
        let message = format!("blocks are nested more than {MAX_INDENTATION} deep");
        return Err(PythonError { message, span: Span::at(at) });
    }
    let Some(problem) = problem(text) else { return Ok(()) };
    // The lexer does not expose positions. The shortest prefix with the problem ends at the
    // position.
    let (mut good, mut bad) = (0_usize, text.len());
    loop {
        let middle = text.floor_char_boundary(good.midpoint(bad));
        if middle <= good {
            break;
        }
        match self::problem(&text[..middle]) {
            Some(_) => bad = middle,
            None => good = middle,
        }
    }
    let message = match problem {
        Problem::Deep => "expressions are nested too deeply",
        Problem::Unmatched => "a closing bracket has no matching opening one",
    };
    Err(PythonError { message: message.to_owned(), span: Span::new(good, bad) })
}

/// The first line with too many levels of indentation. Lines inside brackets are included: if a
/// bracket is never closed, the parser uses their indentation.
fn deep_indentation(text: &str) -> Option<usize> {
    let mut open: Vec<usize> = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive(['\n', '\r']) {
        let indentation = line.len() - line.trim_start_matches([' ', '\t', '\x0c']).len();
        if line.trim().is_empty() {
            start += line.len();
            continue;
        }
        while open.last().is_some_and(|last| *last >= indentation) {
            open.pop();
        }
        open.push(indentation);
        if open.len() > MAX_INDENTATION {
            return Some(start + indentation);
        }
        start += line.len();
    }
    None
}

/// Why a text is rejected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Problem {
    Deep,
    /// An unmatched bracket. The parser skips it, so counting brackets no longer gives the depth.
    Unmatched,
}

/// The state of one open bracket.
#[derive(Clone, Copy)]
struct Level {
    /// The token that closes it.
    closer: TokenKind,
    /// Operators and the like since the last comma.
    since_comma: usize,
    /// Keywords that reach over commas: `lambda a, b: lambda c, d: …` nests without a bracket.
    beyond_commas: usize,
}

impl Level {
    fn until(closer: TokenKind) -> Self {
        Self { closer, since_comma: 0, beyond_commas: 0 }
    }
}

fn problem(text: &str) -> Option<Problem> {
    let mut lexer = lex(text, Mode::Module);
    let mut outer: Vec<Level> = Vec::new();
    let mut level = Level::until(TokenKind::EndOfFile);
    let mut chain = 0;
    loop {
        let kind = lexer.next_token();
        if let Some(closer) = closer_of(kind) {
            // The bracket itself counts too: `f()()()` is as deep as `f.a.b`.
            level.since_comma += 1;
            chain += 1;
            outer.push(std::mem::replace(&mut level, Level::until(closer)));
        } else if kind == level.closer {
            chain -= level.since_comma + level.beyond_commas;
            // Nothing is left to close at the end of the file.
            level = outer.pop()?;
        } else {
            match kind {
                TokenKind::EndOfFile => return None,
                TokenKind::Rpar | TokenKind::Rsqb | TokenKind::Rbrace => {
                    return Some(Problem::Unmatched);
                }
                // The lexer emits a newline only outside brackets, or after giving up on a string.
                TokenKind::Newline => {
                    outer.clear();
                    level = Level::until(TokenKind::EndOfFile);
                    chain = 0;
                }
                TokenKind::Comma => {
                    chain -= level.since_comma;
                    level.since_comma = 0;
                }
                TokenKind::Lambda | TokenKind::Yield | TokenKind::Async => {
                    level.beyond_commas += 1;
                    chain += 1;
                }
                _ if kind.is_operator() || (kind.is_keyword() && !kind.is_singleton()) => {
                    level.since_comma += 1;
                    chain += 1;
                }
                _ => {}
            }
        }
        if outer.len() > MAX_BRACKETS || chain > MAX_CHAIN {
            return Some(Problem::Deep);
        }
    }
}

fn closer_of(kind: TokenKind) -> Option<TokenKind> {
    match kind {
        TokenKind::Lpar => Some(TokenKind::Rpar),
        TokenKind::Lsqb => Some(TokenKind::Rsqb),
        TokenKind::Lbrace => Some(TokenKind::Rbrace),
        TokenKind::FStringStart => Some(TokenKind::FStringEnd),
        TokenKind::TStringStart => Some(TokenKind::TStringEnd),
        _ => None,
    }
}
