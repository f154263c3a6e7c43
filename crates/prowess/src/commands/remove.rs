//! `prowess remove`: uninstalls skills.

use std::collections::BTreeSet;

use clap::Args;
use prowess_library::packages::{Decision, PreparedRemoval, RemovedSkill};
use prowess_package::name::SkillName;
use serde_json::{Value, json};

use super::Outcome;
use crate::error::Error;
use crate::packages::names::{skill_names, with_version};
use crate::packages::options::{Format, ScopeOption};
use crate::packages::scope::ScopedPackages;
use crate::render::change_report::{Report, changing};
use crate::render::placement_text;
use crate::terminal::confirm::{can_ask, confirm};
use crate::terminal::printer::Printer;

/// Uninstall skills
///
/// Dependencies that nothing else needs are removed too. A skill that others need
/// is not removed unless they are; on a terminal you are asked first. Links and
/// copies in the folders of agents are removed, unless they were changed since.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess remove greet
  prowess remove greet --dry-run
  prowess remove greet --project

Exit codes:
  0  they are removed
  1  it failed, and nothing was changed
  3  there is no such skill
  4  other skills need it, or you did not agree")]
pub(crate) struct Arguments {
    /// The skills to remove
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    #[command(flatten)]
    scope: ScopeOption,
    /// Show what would be removed, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Answer yes to all questions: also remove the skills that need these
    #[arg(short, long)]
    yes: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let before = json!({ "removed": [] });
    changing(arguments.format, before, printer, |report, printer| {
        remove(arguments, report, printer)
    })
}

fn remove(
    arguments: &Arguments,
    report: &mut Report,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let named: BTreeSet<SkillName> = skill_names(&arguments.names)?;
    let scoped = ScopedPackages::open(arguments.scope)?;
    scoped.tell(report, printer);
    let packages = &scoped.packages;
    // Without a terminal, nobody can agree that other skills go as well.
    let with_dependents = arguments.yes || can_ask(printer);
    let removed = packages.remove(&named, scoped.scope(), with_dependents, |removal| {
        decide(removal, arguments, report, printer)
    })?;
    let Some(removed) = removed else { return Ok(Outcome::Fine) };
    printer.stands("what was removed is gone");
    report.put(json!({ "removed": wire(&removed.skills) }));
    placement_text::say_removed(&removed.placements, packages.places(), printer);
    if report.is_text() {
        for skill in &removed.skills {
            printer.say(&format!("removed {}", line(skill)));
        }
    }
    Ok(Outcome::Fine)
}

fn decide(
    removal: &PreparedRemoval,
    arguments: &Arguments,
    report: &mut Report,
    printer: &mut Printer,
) -> Result<Decision, Error> {
    if arguments.dry_run {
        report.put(json!({ "would_remove": wire(&removal.skills) }));
        if report.is_text() {
            say_preview(removal, printer);
            printer.note("nothing was written");
        }
        return Ok(Decision::Stop);
    }
    // Without a terminal, dependencies that nothing else needs are removed as documented; dependents have stopped it.
    if !removal.has_more_than_named() || arguments.yes || !can_ask(printer) {
        return Ok(Decision::Apply);
    }
    say_preview(removal, printer);
    match confirm("Remove all of them? [y]es / [N]o: ", printer) {
        Some(false) => Err(Error::refused("nothing was removed, because you did not agree")),
        Some(true) | None => Ok(Decision::ApplyAsShown),
    }
}

fn say_preview(removal: &PreparedRemoval, printer: &mut Printer) {
    for skill in &removal.skills {
        printer.say(&format!("would remove {}", line(skill)));
    }
}

fn line(skill: &RemovedSkill) -> String {
    let name = with_version(&skill.name, &skill.version);
    match skill.reason.as_str() {
        Some(reason) => format!("{name}, {reason}"),
        None => name,
    }
}

fn wire(skills: &[RemovedSkill]) -> Vec<Value> {
    skills.iter().map(RemovedSkill::to_json).collect()
}
