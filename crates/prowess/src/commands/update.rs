//! `prowess update`: newer versions of what is installed.

use std::collections::BTreeSet;

use clap::Args;
use prowess_package::name::SkillName;
use prowess_store::install::Update;
use serde_json::json;

use super::Outcome;
use super::install::{Doing, FetchOptions, Format, LeaveOptions, carry_out};
use crate::error::Error;
use crate::render::change_report::{Report, changing};
use crate::store::agent_folders::Placing;
use crate::store::packages::{Packages, ScopeOption, skill_names};
use crate::terminal::printer::Printer;

/// Install newer versions of installed skills
///
/// Each skill is looked for where it came from: a registry within the range it
/// was installed with, the branch of its repository, its domain, its folder. An
/// update that may do more than before, or that somebody else has signed, is
/// shown and asked about. Copies in the folders of agents are renewed. A skill
/// that can't be updated stays as it is and keeps no other from it. Newer versions
/// outside of a range are told; `prowess outdated` lists them.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess update greet
  prowess update --all
  prowess update --all --dry-run

Exit codes:
  0  everything is up to date
  1  some could not be updated and stay as they are; the others are
  3  there is no such skill
  4  refused: not signed, changed, or not agreed to")]
pub(crate) struct Arguments {
    /// Which skills
    #[arg(value_name = "NAME", required_unless_present = "all", conflicts_with = "all")]
    names: Vec<String>,
    /// All of them
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    scope: ScopeOption,
    #[command(flatten)]
    leave: LeaveOptions,
    /// Look, and write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    fetching: FetchOptions,
    /// How the result is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let before = json!({ "installed": false });
    changing(arguments.format, before, printer, |report, printer| {
        update(arguments, report, printer)
    })
}

fn update(
    arguments: &Arguments,
    report: &mut Report,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let names: BTreeSet<SkillName> = skill_names(&arguments.names)?;
    let packages = Packages::new()?;
    let store = packages.store(arguments.scope.scope())?;
    let reach = packages.reach(printer, arguments.fetching.offline)?;
    let leave = arguments.leave.leave();
    let placing = Placing::as_before(&packages, arguments.scope.scope());
    let doing = Doing {
        dry_run: arguments.dry_run,
        yes: arguments.leave.yes(),
        placing: &placing,
        can_allow_all: true,
    };
    packages.with_installer(&store, &reach, leave, arguments.fetching.min_age, |installer| {
        report.forget_failures();
        let Update { plan, failures } = installer.plan_update(&names)?;
        for (name, error) in &failures {
            report.fail(name.as_str(), "updated", error);
        }
        carry_out(plan, &doing, report, printer, installer)
    })
}
