//! The toolchain for SKILL.md files: arguments to a verb, a verb to an exit code.

mod checking;
mod cli;
mod commands;
mod error;
mod excerpt;
mod fixing;
mod inputs;
mod loading;
mod output;
mod printer;
mod progress;
mod reading;
mod walk;
mod wire;
mod writing;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::parse() {
        Ok(cli) => commands::run(cli),
        Err(error) => printer::usage(&error),
    }
}
