//! Passphrases: from a variable, or from the terminal without showing them.

use std::io::{self, BufRead as _, IsTerminal as _};

use crate::error::Error;
use crate::terminal::printer::{Channel, Printer};
#[cfg(target_os = "linux")]
use crate::terminal::signals::{self, Repaired};

/// For programs that sign without anybody in front of them.
const VARIABLE: &str = "PROWESS_PASSPHRASE";

/// The passphrase of a key.
pub(crate) fn ask(question: &str, printer: &mut Printer) -> Result<String, Error> {
    if let Ok(secret) = std::env::var(VARIABLE) {
        return Ok(secret);
    }
    if !io::stdin().is_terminal() || !printer.is_terminal(Channel::Err) {
        return Err(Error::usage("a passphrase is needed, and there is nobody to ask for it")
            .hint(format!("set the variable {VARIABLE}, or run it on a terminal")));
    }
    hidden(question, printer)
}

/// A new passphrase, typed twice.
pub(crate) fn choose(printer: &mut Printer) -> Result<String, Error> {
    let secret = ask("New passphrase: ", printer)?;
    if secret.is_empty() {
        return Err(Error::usage("an empty passphrase is none").hint("leave `--passphrase` out"));
    }
    if std::env::var_os(VARIABLE).is_none() && hidden("The same again: ", printer)? != secret {
        return Err(Error::usage("the two are not the same, so no key was made"));
    }
    Ok(secret)
}

fn hidden(question: &str, printer: &mut Printer) -> Result<String, Error> {
    // Quiet before the question: whoever answers at once is not seen either.
    let quiet = Quiet::new();
    printer.piece(Channel::Err, question.as_bytes());
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    drop(quiet);
    printer.piece(Channel::Err, b"\n");
    read.map_err(|error| Error::failed(format!("cannot read from the terminal: {error}")))?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

/// A terminal that does not show what is typed, until it is dropped or a signal ends this program.
struct Quiet {
    #[cfg(target_os = "linux")]
    before: Option<(rustix::termios::Termios, Repaired)>,
}

impl Quiet {
    #[cfg(target_os = "linux")]
    fn new() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let Ok(before) = tcgetattr(io::stdin()) else { return Self { before: None } };
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        let as_before = before.clone();
        let repaired = signals::repaired_by(move || restore(&as_before));
        // A terminal that shows it anyway is still a terminal.
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &quiet);
        Self { before: Some((before, repaired)) }
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
impl Drop for Quiet {
    fn drop(&mut self) {
        if let Some((before, _)) = &self.before {
            restore(before);
        }
    }
}
