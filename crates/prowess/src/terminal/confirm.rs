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

/// Asks a question with several answers, each with a letter and a word. Returns `None` without a terminal, and
/// `Some(None)` if the answer is none of them.
pub(crate) fn choose(
    question: &str,
    answers: &[(&str, &str)],
    printer: &mut Printer,
) -> Option<Option<usize>> {
    let answer = ask_line(question, printer)?.to_lowercase();
    Some(answers.iter().position(|(letter, word)| answer == *letter || answer == *word))
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
