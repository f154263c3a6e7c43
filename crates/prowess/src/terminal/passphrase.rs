//! Passphrases: read from a variable, or from the terminal without echo.

use std::io::{self, BufRead as _, IsTerminal as _};

use crate::error::Error;
use crate::terminal::printer::{Channel, Printer};
#[cfg(target_os = "linux")]
use crate::terminal::signals::{self, Repaired};

/// The variable with the passphrase, for signing without a terminal.
const VARIABLE: &str = "PROWESS_PASSPHRASE";

/// Asks for the passphrase of a key.
pub(crate) fn ask(question: &str, printer: &mut Printer) -> Result<String, Error> {
    if let Ok(secret) = std::env::var(VARIABLE) {
        return Ok(secret);
    }
    if !io::stdin().is_terminal() || !printer.is_terminal(Channel::Err) {
        return Err(Error::refused("a passphrase is needed, but this is not a terminal")
            .hint(format!("set the variable {VARIABLE}, or run it in a terminal")));
    }
    hidden(question, printer)
}

/// Asks for a new passphrase twice.
pub(crate) fn choose(printer: &mut Printer) -> Result<String, Error> {
    let secret = ask("New passphrase: ", printer)?;
    if secret.is_empty() {
        return Err(Error::usage("the passphrase is empty").hint("run without `--passphrase`"));
    }
    if std::env::var_os(VARIABLE).is_none() && hidden("Repeat it: ", printer)? != secret {
        return Err(Error::usage("the passphrases differ, so no key was created"));
    }
    Ok(secret)
}

/// Asks for a password on the terminal.
pub(crate) fn password(printer: &mut Printer) -> Result<String, Error> {
    if !io::stdin().is_terminal() || !printer.is_terminal(Channel::Err) {
        return Err(Error::refused("a password is needed, but this is not a terminal")
            .hint("pass it on standard input, or run it in a terminal"));
    }
    hidden("Password: ", printer)
}

/// Asks for a new password twice.
pub(crate) fn choose_password(printer: &mut Printer) -> Result<String, Error> {
    let secret = password(printer)?;
    if hidden("Repeat it: ", printer)? != secret {
        return Err(Error::usage("the passwords differ"));
    }
    Ok(secret)
}

fn hidden(question: &str, printer: &mut Printer) -> Result<String, Error> {
    // Echo is turned off before the question, in case the user types at once.
    let no_echo = NoEcho::new();
    printer.piece(Channel::Err, question.as_bytes());
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    drop(no_echo);
    printer.piece(Channel::Err, b"\n");
    read.map_err(|error| Error::failed(format!("cannot read from the terminal: {error}")))?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// Turns the terminal's echo off until it is dropped or a signal ends this process.
struct NoEcho {
    #[cfg(target_os = "linux")]
    before: Option<(rustix::termios::Termios, Repaired)>,
}

impl NoEcho {
    #[cfg(target_os = "linux")]
    fn new() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let Ok(before) = tcgetattr(io::stdin()) else { return Self { before: None } };
        let mut no_echo = before.clone();
        no_echo.local_modes.remove(LocalModes::ECHO);
        let as_before = before.clone();
        let cleanup = signals::repaired_by(move || restore(&as_before));
        // If this fails, the passphrase is shown while it is typed.
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &no_echo);
        Self { before: Some((before, cleanup)) }
    }

    #[cfg(not(target_os = "linux"))]
    fn new() -> Self {
        Self {}
    }
}

#[cfg(target_os = "linux")]
fn restore(terminal: &rustix::termios::Termios) {
    use rustix::termios::{OptionalActions, tcsetattr};
    let _ = tcsetattr(io::stdin(), OptionalActions::Flush, terminal);
}

#[cfg(target_os = "linux")]
impl Drop for NoEcho {
    fn drop(&mut self) {
        if let Some((before, _)) = &self.before {
            restore(before);
        }
    }
}
