//! The toolchain for SKILL.md files: arguments to a verb, a verb to an exit code.

mod approving;
mod checking;
mod choosing;
mod cli;
mod commands;
mod error;
mod excerpt;
mod fixing;
mod importing;
mod inputs;
mod interrupting;
mod loading;
mod log;
mod output;
mod packages;
mod passphrase;
mod placing;
mod printer;
mod problem_text;
mod progress;
mod prompting;
mod python_requirements;
mod reading;
mod reporting;
mod running;
mod session;
mod showing;
mod sources;
mod survey;
mod walk;
mod wire;
mod wrapping;
mod writing;

use std::process::ExitCode;

fn main() -> ExitCode {
    // What a run waits for is made while its arguments are read, its skill is read, and both are decided about.
    if std::env::args_os().nth(1).is_some_and(|verb| verb == "run") {
        prowess_sandbox::warm_up();
    }
    match cli::parse() {
        Ok(cli) => commands::run(cli),
        Err(error) => printer::usage(&error),
    }
}
