//! `prowess mcp install`: writes the entry into the settings of agents.

use std::env;
use std::path::{Path, PathBuf};

use clap::Args;
use prowess_store::mcp_settings::plan_install;
use prowess_store::places::Scope;

use super::change::{ChangeOptions, Verb, carry_out};
use crate::commands::Outcome;
use crate::error::Error;
use crate::session;
use crate::terminal::printer::Printer;

/// The name under which the program is found on PATH.
const PROGRAM: &str = "prowess";

/// Write Prowess into the MCP settings of agents
///
/// Adds the server `prowess` to the settings of each agent, your own or with
/// `--project` those of the project. The changes are shown first, and nothing is
/// written without your consent. Comments, order and every other byte of a file
/// stay as they are; `prowess mcp uninstall` restores it.
///
/// Without `--agent`, every agent on this machine whose format is known is used.
/// A file that can't be parsed, is a symbolic link, or has another server named
/// `prowess` is left alone.
///
/// In a project the entry starts `prowess` from PATH if it is there, so that others
/// can use it too; else it has the full path of this program.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess mcp install --agent claude-code,codex,cursor --dry-run
  prowess mcp install --agent claude-code --project --yes

Exit codes:
  0  every agent has the entry
  1  a file can't be edited; the others were changed
  2  the format of an agent's settings is not known
  4  refused: a symbolic link, or not agreed to")]
pub(super) struct Arguments {
    #[command(flatten)]
    options: ChangeOptions,
}

pub(super) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let command = command(arguments.options.scope())?;
    carry_out(Verb::Install, &arguments.options, printer, |agent, scope, places| {
        plan_install(agent, scope, places, &command)
    })
}

/// The command that an agent starts.
fn command(scope: Scope) -> Result<String, Error> {
    let own = env::current_exe()
        .map_err(|error| Error::failed(format!("can't find the path of this program: {error}")))?;
    let world = session::world()?;
    let path = world.environment.iter().find(|(name, _)| name == "PATH");
    let folders = path.map(|(_, folders)| env::split_paths(folders).collect::<Vec<_>>());
    let folders = folders.unwrap_or_default();
    let chosen = match (on_path(&folders, &own), scope) {
        (Some(_), Scope::Project) => PathBuf::from(PROGRAM),
        // A name on PATH survives an update better than the file that it leads to.
        (Some(found), Scope::User) => found,
        (None, _) => own,
    };
    chosen.into_os_string().into_string().map_err(|path| {
        Error::failed(format!(
            "the path of this program is not UTF-8: `{}`",
            path.to_string_lossy()
        ))
    })
}

/// This program on PATH, if the first program of its name is this one.
fn on_path(folders: &[PathBuf], own: &Path) -> Option<PathBuf> {
    let mut candidates = folders.iter().filter(|folder| folder.is_absolute());
    let found = candidates.find_map(|folder| {
        let candidate = folder.join(PROGRAM);
        candidate.is_file().then_some(candidate)
    })?;
    (found.canonicalize().ok()? == own.canonicalize().ok()?).then_some(found)
}
