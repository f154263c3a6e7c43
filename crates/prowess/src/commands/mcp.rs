//! `prowess mcp`: Prowess as an MCP server for agents.

mod change;
mod install;
mod uninstall;

use clap::{Args, Subcommand};

use super::Outcome;
use crate::error::Error;
use crate::terminal::printer::Printer;

/// Put Prowess into the MCP settings of agents, or remove it
///
/// Agents reach Prowess as an MCP server that they start themselves. These commands
/// write its entry into their settings, and remove it again.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_long_help = "\
Examples:
  prowess mcp install --agent claude-code,codex
  prowess mcp uninstall --agent codex"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Install(install::Arguments),
    Uninstall(uninstall::Arguments),
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    match &arguments.action {
        Action::Install(arguments) => install::run(arguments, printer),
        Action::Uninstall(arguments) => uninstall::run(arguments, printer),
    }
}
