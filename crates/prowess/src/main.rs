//! The toolchain for SKILL.md files: arguments to a verb, a verb to an exit code.

mod cli;
mod commands;
mod error;
mod log;
mod python_requirements;
mod render;
mod run;
mod session;
mod skill;
mod store;
mod terminal;
mod walk;

use std::process::ExitCode;

fn main() -> ExitCode {
    // What a run waits for is made while its arguments are read, its skill is read, and both are decided about.
    if std::env::args_os().nth(1).is_some_and(|verb| verb == "run") {
        prowess_sandbox::warm_up();
    }
    match cli::parse() {
        Ok(cli) => commands::run(cli),
        Err(error) => terminal::printer::usage(&error),
    }
}
