//! The binary `prowess`: parses the arguments, runs a verb, exits with its code.

mod cli;
mod commands;
mod error;
mod log;
mod packages;
mod python_requirements;
mod render;
mod run;
mod session;
mod skill;
mod terminal;
mod walk;

use std::process::ExitCode;

fn main() -> ExitCode {
    // The sandbox is set up in the background while the arguments and the skill are read.
    if std::env::args_os().nth(1).is_some_and(|verb| verb == "run") {
        prowess_sandbox::warm_up();
    }
    if std::env::var_os(cli::complete::VARIABLE).is_some() {
        // Prints candidates for a shell and ends the process.
        clap_complete::CompleteEnv::with_factory(cli::complete::command)
            .var(cli::complete::VARIABLE)
            .complete();
    }
    match cli::parse() {
        Ok(cli) => commands::run(cli),
        Err(error) => terminal::printer::usage(&error),
    }
}
