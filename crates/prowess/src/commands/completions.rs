//! `prowess completions`: completion scripts for shells.

use clap::Args;
use clap_complete::Shell;
use clap_complete::env::Shells;

use super::Outcome;
use crate::cli::complete::VARIABLE;
use crate::terminal::printer::Printer;

/// Print a completion script for a shell
///
/// Save the script where the shell looks for completions, or load it in the shell's
/// startup file. It completes verbs and options, and the names of installed skills,
/// of agents and of clients.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess completions bash > ~/.local/share/bash-completion/completions/prowess
  prowess completions zsh > ~/.zfunc/_prowess
  prowess completions fish > ~/.config/fish/completions/prowess.fish")]
pub(crate) struct Arguments {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Outcome {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let written = shells.completer(&arguments.shell.to_string()).map(|completer| {
        completer.write_registration(VARIABLE, "prowess", "prowess", "prowess", &mut script)
    });
    if !matches!(written, Some(Ok(()))) {
        // Without a script that asks the program, there is still the static one.
        script.clear();
        let mut command = crate::cli::command();
        clap_complete::generate(arguments.shell, &mut command, "prowess", &mut script);
    }
    printer.data(&String::from_utf8_lossy(&script));
    Outcome::Fine
}
