//! `prowess completions`: completion scripts for shells.

use clap::Args;
use clap_complete::Shell;

use super::Outcome;
use crate::terminal::printer::Printer;

/// Print a completion script for a shell
///
/// Save the script where the shell looks for completions, or load it in the shell's
/// startup file.
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
    clap_complete::generate(arguments.shell, &mut crate::cli::command(), "prowess", &mut script);
    printer.data(&String::from_utf8_lossy(&script));
    Outcome::Fine
}
