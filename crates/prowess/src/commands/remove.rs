//! `prowess remove`: takes installed skills away.

use std::collections::BTreeSet;

use clap::Args;
use prowess_package::name::SkillName;
use prowess_store::review::Leave;

use super::Outcome;
use crate::error::Error;
use crate::packages::{Packages, ScopeOption, Stop, skill_name, with_version};
use crate::placing::take_away;
use crate::printer::Printer;

/// Take installed skills away
///
/// Skills that were only installed because these needed them go too. A skill that
/// others need stays until they are removed as well. What was put into the
/// folders of agents goes first, unless somebody has changed it since.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess remove greet
  prowess remove greet --project

Exit codes:
  0  they are gone
  1  it failed, and nothing was changed
  3  there is no such skill")]
pub(crate) struct Arguments {
    /// Which skills
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    #[command(flatten)]
    scope: ScopeOption,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let names: BTreeSet<SkillName> =
        arguments.names.iter().map(|name| skill_name(name)).collect::<Result<_, Error>>()?;
    let packages = Packages::new()?;
    let store = packages.store(arguments.scope.scope())?;
    let reach = packages.reach(printer, true)?;
    let scope = arguments.scope.scope();
    let applied = packages.with_installer(&store, &reach, Leave::default(), None, |installer| {
        let going = installer.removed_by(&names).map_err(Stop::Install)?;
        take_away(&packages, scope, going.iter().map(|(name, _)| name), printer)
            .map_err(Stop::Told)?;
        installer.remove(&names).map_err(Stop::Install)
    })?;
    for (name, version) in &applied.removed {
        let why = if names.contains(name) { "" } else { ", which nothing needs any more" };
        printer.say(&format!("removed {}{why}", with_version(name, version)));
    }
    Ok(Outcome::Fine)
}
