//! `prowess remove`: takes installed skills away.

use std::collections::BTreeSet;

use clap::Args;
use prowess_package::name::SkillName;
use prowess_store::install::{InstallError, Installer};
use prowess_store::places::Scope;
use prowess_store::review::Leave;
use semver::Version;
use serde_json::{Value, json};

use super::Outcome;
use super::install::Format;
use crate::error::Error;
use crate::render::change_report::{Report, changing};
use crate::store::agent_folders::take_away;
use crate::store::packages::{Packages, ScopeOption, Stop, agree, skill_names, with_version};
use crate::terminal::printer::Printer;
use crate::terminal::signals;

/// Uninstall skills
///
/// Skills that were only installed because these needed them go too. A skill that
/// others need stays until they are removed as well. On a terminal both are shown
/// and asked about first. What was put into the folders of agents goes first,
/// unless somebody has changed it since.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess remove greet
  prowess remove greet --dry-run
  prowess remove greet --project

Exit codes:
  0  they are gone
  1  it failed, and nothing was changed
  3  there is no such skill
  4  others need it, or it was not agreed to")]
pub(crate) struct Arguments {
    /// Which skills
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    #[command(flatten)]
    scope: ScopeOption,
    /// Look, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Agree to all questions: what needs them goes too
    #[arg(short, long)]
    yes: bool,
    /// How the result is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// What goes, in which version and why.
type Going = Vec<(SkillName, Version)>;

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
    let packages = Packages::new()?;
    let scope = arguments.scope.scope();
    let store = packages.store(scope)?;
    let reach = packages.reach(printer, true)?;
    packages.with_installer(
        &store,
        &reach,
        Leave::default(),
        None,
        |installer| -> Result<Outcome, Stop> {
            let (whole, going) = look(installer, &named, arguments, printer)?;
            let removed = wire(&going, &named, &whole);
            if arguments.dry_run {
                report.put(json!({ "would_remove": removed }));
                if report.is_text() {
                    for line in lines(&going, &named, &whole) {
                        printer.say(&format!("would remove {line}"));
                    }
                    printer.note("nothing was written");
                }
                return Ok(Outcome::Fine);
            }
            if going.len() > named.len() && !arguments.yes {
                ask(&lines(&going, &named, &whole), printer)?;
            }
            carry_out(&packages, scope, installer, &whole, &going, printer)?;
            report.put(json!({ "removed": removed }));
            printer.stands("what was removed is gone");
            if report.is_text() {
                for line in lines(&going, &named, &whole) {
                    printer.say(&format!("removed {line}"));
                }
            }
            Ok(Outcome::Fine)
        },
    )
}

/// What would go. Others that need a skill stop it, unless somebody is there who can be asked or has agreed.
fn look(
    installer: &Installer<'_>,
    named: &BTreeSet<SkillName>,
    arguments: &Arguments,
    printer: &Printer,
) -> Result<(BTreeSet<SkillName>, Going), Stop> {
    let can_widen = arguments.yes || crate::store::packages::can_ask(printer);
    match installer.removed_by(named) {
        Err(InstallError::Needed { .. }) if can_widen => {
            let whole = installer.with_dependents(named)?;
            let going = installer.removed_by(&whole)?;
            Ok((whole, going))
        }
        going => Ok((named.clone(), going?)),
    }
}

/// Asks whoever sits at the terminal whether more may go than was named. Where nobody does, what only these needed goes as
/// it always did, and what needs them has stopped it already.
fn ask(lines: &[String], printer: &mut Printer) -> Result<(), Error> {
    if !crate::store::packages::can_ask(printer) {
        return Ok(());
    }
    for line in lines {
        printer.say(&format!("would remove {line}"));
    }
    match agree("Remove all of them? [y]es / [N]o: ", printer) {
        Some(false) => Err(Error::refused("nothing was removed, because you did not agree")),
        Some(true) | None => Ok(()),
    }
}

fn carry_out(
    packages: &Packages,
    scope: Scope,
    installer: &Installer<'_>,
    whole: &BTreeSet<SkillName>,
    going: &Going,
    printer: &mut Printer,
) -> Result<(), Stop> {
    signals::changes_begin();
    take_away(packages, scope, going.iter().map(|(name, _)| name), printer)?;
    installer.remove(whole)?;
    Ok(())
}

/// Why a skill goes that was not named.
fn why(
    name: &SkillName,
    named: &BTreeSet<SkillName>,
    whole: &BTreeSet<SkillName>,
) -> Option<&'static str> {
    match (named.contains(name), whole.contains(name)) {
        (true, _) => None,
        (false, true) => Some("which needs one of these"),
        (false, false) => Some("which nothing needs any more"),
    }
}

fn lines(going: &Going, named: &BTreeSet<SkillName>, whole: &BTreeSet<SkillName>) -> Vec<String> {
    let line = |(name, version): &(SkillName, Version)| match why(name, named, whole) {
        Some(why) => format!("{}, {why}", with_version(name, version)),
        None => with_version(name, version),
    };
    going.iter().map(line).collect()
}

fn wire(going: &Going, named: &BTreeSet<SkillName>, whole: &BTreeSet<SkillName>) -> Vec<Value> {
    let skill = |(name, version): &(SkillName, Version)| {
        json!({
            "name": name.as_str(),
            "version": version.to_string(),
            "why": why(name, named, whole),
        })
    };
    going.iter().map(skill).collect()
}
