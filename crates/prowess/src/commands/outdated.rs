//! `prowess outdated`: which installed skills have newer versions, inside and outside of their ranges.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use clap::Args;
use prowess_package::name::SkillName;
use prowess_store::install::{Plan, Update};
use prowess_store::review::Leave;
use semver::Version;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use super::Outcome;
use super::install::{FetchOptions, Format};
use crate::error::Error;
use crate::render::change_report::Report;
use crate::store::packages::{Packages, ScopeOption, skill_names};
use crate::terminal::printer::{Printer, inline};

/// List installed skills that have newer versions
///
/// Each skill is looked for where it came from, as `prowess update` does, and
/// nothing is changed. `update` is the version that an update would install,
/// `newest` the newest one of the registry, which may be outside of the range that
/// the skill was installed with: `prowess install NAME@VERSION` gets it.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess outdated
  prowess outdated greet --format json

Exit codes:
  0  all of them could be looked for, whether there is something newer or not
  1  some could not be looked for
  3  there is no such skill")]
pub(crate) struct Arguments {
    /// Which skills; all when left out
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    scope: ScopeOption,
    #[command(flatten)]
    fetching: FetchOptions,
    /// How the result is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// One skill that could be newer.
struct Outdated {
    name: SkillName,
    installed: Version,
    /// What an update installs; the same version when only its files are others.
    update: Option<Version>,
    newest: Version,
    requested: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let mut report = Report::new(arguments.format, printer);
    let result = look(arguments, &mut report, printer);
    report.finish(result, printer)
}

fn look(
    arguments: &Arguments,
    report: &mut Report,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let names: BTreeSet<SkillName> = skill_names(&arguments.names)?;
    let packages = Packages::new()?;
    let store = packages.store(arguments.scope.scope())?;
    let reach = packages.reach(printer, arguments.fetching.offline)?;
    // What may be installed is asked when it is installed.
    let leave = Leave { experimental: true, unsigned: true, replace_owner: true };
    let Update { plan, failures } = packages.with_installer(
        &store,
        &reach,
        leave,
        arguments.fetching.min_age,
        |installer| installer.plan_update(&names),
    )?;
    for (name, error) in &failures {
        report.fail(name.as_str(), "looked for", error);
    }
    let outdated = outdated(&plan);
    report.put(json!({ "skills": outdated.iter().map(wire).collect::<Vec<Value>>() }));
    if report.is_text() {
        if outdated.is_empty() && !report.has_failures() {
            printer.say("there is nothing newer");
        } else {
            printer.report(&table(&outdated));
        }
    }
    Ok(Outcome::Fine)
}

fn outdated(plan: &Plan) -> Vec<Outdated> {
    let mut all = Vec::new();
    for (name, entry) in &plan.lock().skills {
        let step = plan.steps.iter().find(|step| step.name() == name);
        let newer = plan.newer.iter().find(|newer| newer.name == *name);
        // An update may also put back what somebody has changed on disk, which is nothing newer.
        let update = step
            .filter(|step| step.entry.integrity != entry.integrity)
            .map(|step| step.entry.version.clone());
        let newest = newer.map(|newer| newer.newest.clone()).or_else(|| update.clone());
        let Some(newest) = newest else { continue };
        all.push(Outdated {
            name: name.clone(),
            installed: entry.version.clone(),
            update,
            newest,
            requested: entry.requested.clone(),
        });
    }
    all
}

fn table(outdated: &[Outdated]) -> String {
    let head = ["skill", "installed", "update", "newest", "range"].map(str::to_owned);
    let row = |one: &Outdated| {
        let update = match &one.update {
            Some(update) if *update == one.installed => "other files".to_owned(),
            Some(update) => update.to_string(),
            None => "-".to_owned(),
        };
        let range = one.requested.as_deref().unwrap_or("any");
        [
            one.name.to_string(),
            one.installed.to_string(),
            update,
            one.newest.to_string(),
            inline(range).into_owned(),
        ]
    };
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(outdated.iter().map(row)).collect();
    if outdated.is_empty() {
        return String::new();
    }
    let mut page = String::new();
    for row in &rows {
        let mut line = String::new();
        for (column, text) in row.iter().enumerate() {
            let width = rows.iter().map(|row| row[column].width()).max().unwrap_or_default();
            let blanks = width.saturating_sub(text.width()) + 2;
            let _ = write!(line, "{text}{:blanks$}", "");
        }
        let _ = writeln!(page, "{}", line.trim_end());
    }
    page
}

fn wire(one: &Outdated) -> Value {
    json!({
        "name": one.name.as_str(),
        "version": one.installed.to_string(),
        "update": one.update.as_ref().map(ToString::to_string),
        "newest": one.newest.to_string(),
        "requested": one.requested,
    })
}
