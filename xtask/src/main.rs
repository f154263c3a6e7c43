//! The project's own commands: `cargo xtask <command>`.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "talking to the developer is what this program is for"
)]

mod bench;
mod codegen;
mod fresh;
mod fuzz;
mod ledger;
mod process;
mod real_model;
mod start;
mod terminal;
mod test;
mod usage;
mod web;

use std::fmt::Write as _;
use std::process::ExitCode;

use crate::terminal::Style;
use crate::usage::UsageError;

/// One word after `cargo xtask`.
struct Command {
    name: &'static str,
    summary: &'static str,
    help: &'static str,
    run: fn(&[String]) -> anyhow::Result<()>,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "start",
        summary: "Build Prowess and try it on the bundled example skills",
        help: start::HELP,
        run: start::run,
    },
    Command {
        name: "test",
        summary: "Install what the tests need, then run every check of the project",
        help: test::HELP,
        run: test::run,
    },
    Command {
        name: "fresh",
        summary: "Run `start` and `test` as on a fresh machine, and time them",
        help: fresh::HELP,
        run: fresh::run,
    },
    Command {
        name: "bench",
        summary: "Measure Prowess beside its peers and print the ratios",
        help: bench::HELP,
        run: bench::run,
    },
    Command {
        name: "fuzz",
        summary: "Feed random input to each fuzz target for a while",
        help: fuzz::HELP,
        run: fuzz::run,
    },
    Command {
        name: "ledger",
        summary: "Compare the requirements ledger with the tests that name its rows",
        help: ledger::HELP,
        run: ledger::run,
    },
    Command {
        name: "real-model",
        summary: "Run the tests that ask a real language model",
        help: real_model::HELP,
        run: real_model::run,
    },
    Command {
        name: "web",
        summary: "Build, check and try the web app",
        help: web::HELP,
        run: web::run,
    },
    Command {
        name: "codegen",
        summary: "Regenerate the reference pages in docs/reference",
        help: codegen::HELP,
        run: codegen::run,
    },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((name, rest)) = arguments.split_first() else {
        eprint!("{}", overview());
        return ExitCode::from(2);
    };
    if matches!(name.as_str(), "-h" | "--help" | "help") {
        print!("{}", overview());
        return ExitCode::SUCCESS;
    }
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        print_error(&format!("`{name}` is not a command of `cargo xtask`"));
        eprint!("\n{}", overview());
        return ExitCode::from(2);
    };
    if rest.iter().any(|argument| matches!(argument.as_str(), "-h" | "--help")) {
        print!("{}", command.help);
        return ExitCode::SUCCESS;
    }
    let Err(error) = (command.run)(rest) else {
        return ExitCode::SUCCESS;
    };
    print_error(&format!("{error:#}"));
    if error.is::<UsageError>() {
        eprint!("\n{}", command.help);
        return ExitCode::from(2);
    }
    ExitCode::FAILURE
}

fn print_error(message: &str) {
    eprintln!("{} {message}", terminal::paint_stderr(Style::Bad, "error:"));
}

fn overview() -> String {
    let mut text = String::from("Usage: cargo xtask <COMMAND> [OPTIONS]\n\nCommands:\n");
    for command in COMMANDS {
        let _ = writeln!(text, "  {:<10} {}", command.name, command.summary);
    }
    text.push_str("\nRun `cargo xtask <COMMAND> --help` for the options of one command.\n");
    text
}
