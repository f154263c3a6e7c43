//! `prowess update`: newer versions of what is installed.

use clap::Args;
use prowess_library::packages::{AgentTargets, ChangeGoal, ChangeRequest};
use serde_json::json;

use super::Outcome;
use crate::error::Error;
use crate::packages::change::{ChangeOptions, carry_out};
use crate::packages::names::skill_names;
use crate::packages::options::{FetchOptions, Format, PermissionOptions, ScopeOption};
use crate::packages::scope::ScopedPackages;
use crate::packages::sources::SourceSession;
use crate::render::change_report::changing;
use crate::terminal::printer::Printer;

/// Install newer versions of installed skills
///
/// Each skill is updated from its source: a registry within the range it was
/// installed with, the branch of its repository, its domain, its folder. An update
/// that asks for more permissions, can make an agent do more (hooks, tools, scripts,
/// programs, hosts) or has another signer is shown and needs your consent; one that
/// only changes wording is applied and says so. `--diff` prints the difference. Copies in the folders of agents are renewed. A skill that can't be
/// updated stays as it is and doesn't stop the others. Newer versions outside of a
/// range are reported; `prowess outdated` lists them.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess update
  prowess update greet
  prowess update --dry-run

Exit codes:
  0  everything is up to date
  1  some could not be updated and stay as they are; the others are
  3  there is no such skill
  4  refused: not signed, changed, or not agreed to")]
pub(crate) struct Arguments {
    /// The skills to update; all installed skills if omitted
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Update all installed skills, which is the default
    #[arg(long, conflicts_with = "names")]
    all: bool,
    #[command(flatten)]
    scope: ScopeOption,
    #[command(flatten)]
    permissions: PermissionOptions,
    /// Show what would change, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Print the difference of all texts from what is installed
    #[arg(long)]
    diff: bool,
    #[command(flatten)]
    fetching: FetchOptions,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let before = json!({ "installed": false });
    changing(arguments.format, before, printer, |report, printer| {
        // No names mean all skills, and so does `--all`.
        let names = if arguments.all { &[] } else { arguments.names.as_slice() };
        let goal = ChangeGoal::Update(skill_names(names)?);
        let scoped = ScopedPackages::open(arguments.scope)?;
        scoped.tell(report, printer);
        let packages = &scoped.packages;
        let sources = SourceSession::open(packages, printer, arguments.fetching.offline)?;
        sources.consent_to_servers(arguments.permissions.yes());
        let request = ChangeRequest {
            goal,
            scope: scoped.scope(),
            permissions: arguments.permissions.permissions(),
            min_age: arguments.fetching.min_age,
            agents: AgentTargets::Existing,
        };
        let options = ChangeOptions {
            dry_run: arguments.dry_run,
            yes: arguments.permissions.yes(),
            diff: arguments.diff,
            skip_unavailable: false,
        };
        carry_out(packages, &request, &sources, options, report, printer)
    })
}
