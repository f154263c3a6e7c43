//! `prowess mcp uninstall`: removes the entry from the settings of agents.

use clap::Args;
use prowess_store::mcp_settings::plan_uninstall;

use super::change::{ChangeOptions, Verb, carry_out};
use crate::commands::Outcome;
use crate::error::Error;
use crate::terminal::printer::Printer;

/// Remove Prowess from the MCP settings of agents
///
/// Removes the server `prowess` from the settings of each agent, after showing the
/// changes. A file that was not changed since `prowess mcp install` gets back its
/// former bytes, or is removed if it did not exist; in others only the entry goes.
/// Without `--agent`, every agent whose format is known is searched.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess mcp uninstall --agent claude-code --dry-run
  prowess mcp uninstall --yes")]
pub(super) struct Arguments {
    #[command(flatten)]
    options: ChangeOptions,
}

pub(super) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    carry_out(Verb::Uninstall, &arguments.options, printer, plan_uninstall)
}
