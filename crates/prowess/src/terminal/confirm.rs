//! Questions that are answered with yes or no.

use std::io::{self, BufRead as _, IsTerminal as _};

use super::approval_prompt::forget_typed_ahead;
use super::printer::{Channel, Printer};
use super::wrap::wrap;

/// Whether somebody can be asked: input and error output are terminals.
pub(crate) fn can_ask(printer: &Printer) -> bool {
    io::stdin().is_terminal() && printer.is_terminal(Channel::Err)
}

/// Asks a question; only a clear yes is one. Returns `None` without a terminal.
pub(crate) fn confirm(question: &str, printer: &mut Printer) -> Option<bool> {
    let answer = ask_line(question, printer)?.to_lowercase();
    Some(matches!(answer.as_str(), "y" | "yes"))
}

/// The answer to a question with several answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The answer with this number.
    Chosen(usize),
    /// Something else.
    Other,
    /// There is no terminal.
    NobodyToAsk,
}

/// Asks a question with several answers, each with a letter and a word.
pub(crate) fn choose(question: &str, answers: &[(&str, &str)], printer: &mut Printer) -> Answer {
    let Some(answer) = ask_line(question, printer) else { return Answer::NobodyToAsk };
    let answer = answer.to_lowercase();
    let chosen = answers.iter().position(|(letter, word)| answer == *letter || answer == *word);
    chosen.map_or(Answer::Other, Answer::Chosen)
}

/// Asks a question and returns the answer without blanks around it; empty if nothing can be read. Returns `None` without
/// a terminal.
pub(crate) fn ask_line(question: &str, printer: &mut Printer) -> Option<String> {
    if !can_ask(printer) {
        return None;
    }
    forget_typed_ahead();
    let width = printer.width(Channel::Err);
    printer.piece(Channel::Err, wrap(question, 2, width).as_bytes());
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    Some(if read.is_ok() { line.trim().to_owned() } else { String::new() })
}
