//! `prowess mcp`: serves skills to agents over the Model Context Protocol, and puts the server into their settings.

mod change;
mod install;
#[cfg(feature = "mcp")]
mod serve;
mod servers;
mod uninstall;

use clap::{Args, Subcommand};

use super::Outcome;
use crate::error::Error;
use crate::terminal::printer::Printer;

/// Serve skills to agents over the Model Context Protocol
///
/// Every skill is offered three ways: its tools and scripts as MCP tools
/// `SKILL__TOOL`, its files as resources `skill://SKILL/…`, and, if it takes
/// inputs, as a prompt. Clients that know the skills extension of the protocol get
/// lists of skills with the digests of their files.
///
/// Without `--http` the server talks to one client over standard input and output,
/// which is how agents start it. With `--http` any number of clients connect to
/// `http://ADDR/mcp`; each needs the bearer token, which is printed at the start
/// unless `PROWESS_MCP_TOKEN` has one.
///
/// A call is decided as `prowess run` decides it. Where you have to be asked, the
/// client shows you the question if it can. Otherwise the call is refused, and the
/// refusal has the command that asks you on a terminal. A model can't approve.
///
/// Skills that are added, changed or removed while the server runs are noticed.
/// Skills with errors are left out and reported on standard error.
///
/// `install` and `uninstall` write the entry of this server into the settings of
/// agents, and remove it again. `servers` lists the servers that are configured for
/// agents, whose tools and skills can be used from here.
#[derive(Args)]
#[cfg_attr(feature = "mcp", command(args_conflicts_with_subcommands = true))]
#[cfg_attr(not(feature = "mcp"), command(subcommand_required = true))]
#[command(after_long_help = "\
Examples:
  prowess mcp examples
  prowess mcp examples/word-count examples/git-insights
  prowess mcp examples --http 127.0.0.1:8765
  prowess mcp install --agent claude-code,codex
  prowess mcp uninstall --agent codex
  prowess mcp servers")]
pub(crate) struct Arguments {
    #[cfg(feature = "mcp")]
    #[command(flatten)]
    serve: serve::ServeArguments,
    #[command(subcommand)]
    action: Option<Action>,
}

#[derive(Subcommand)]
enum Action {
    Install(install::Arguments),
    Uninstall(uninstall::Arguments),
    Servers(servers::Arguments),
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    match &arguments.action {
        #[cfg(feature = "mcp")]
        None => serve::run(&arguments.serve, printer),
        #[cfg(not(feature = "mcp"))]
        None => Err(Error::usage("this build can't serve skills")
            .hint("use a build with the feature `mcp`, which is on unless it was turned off")),
        Some(Action::Install(arguments)) => install::run(arguments, printer),
        Some(Action::Uninstall(arguments)) => uninstall::run(arguments, printer),
        Some(Action::Servers(arguments)) => servers::run(arguments, printer),
    }
}
