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
    if !can_ask(printer) {
        return None;
    }
    forget_typed_ahead();
    let width = printer.width(Channel::Err);
    printer.piece(Channel::Err, wrap(question, 2, width).as_bytes());
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    let is_yes = matches!(line.trim().to_lowercase().as_str(), "y" | "yes");
    Some(read.is_ok() && is_yes)
}
