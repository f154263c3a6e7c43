//! `prowess outdated`: which installed skills have newer versions, inside and outside of their ranges.

use std::fmt::Write as _;

use clap::Args;
use prowess_library::packages::OutdatedSkill;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use super::Outcome;
use crate::error::Error;
use crate::packages::names::skill_names;
use crate::packages::options::{FetchOptions, Format, ScopeOption};
use crate::packages::scope::ScopedPackages;
use crate::packages::sources::SourceSession;
use crate::render::change_report::Report;
use crate::terminal::printer::{Printer, inline};

/// List installed skills that have newer versions
///
/// Asks the source of each skill, as `prowess update` does, and changes nothing.
/// `update` is the version that an update would install, `newest` the newest one of
/// the registry, which may be outside of the range that the skill was installed
/// with: `prowess install NAME@VERSION` installs it.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess outdated
  prowess outdated greet --format json

Exit codes:
  0  every source answered, whether there is something newer or not
  1  some sources did not answer
  3  there is no such skill")]
pub(crate) struct Arguments {
    /// The skills to look for; all if omitted
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    #[command(flatten)]
    scope: ScopeOption,
    #[command(flatten)]
    fetching: FetchOptions,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let mut report = Report::new(arguments.format, printer);
    let result = outdated(arguments, &mut report, printer);
    report.finish(result, printer)
}

fn outdated(
    arguments: &Arguments,
    report: &mut Report,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let FetchOptions { offline, min_age } = arguments.fetching;
    let names = skill_names(&arguments.names)?;
    let scoped = ScopedPackages::open(arguments.scope)?;
    scoped.tell(report, printer);
    let packages = &scoped.packages;
    let sources = SourceSession::open(packages, printer, offline)?;
    let outdated = packages.outdated(names, scoped.scope(), min_age, &sources.as_sources())?;
    report.set_failures(&outdated.failures);
    let skills: Vec<Value> = outdated.skills.iter().map(OutdatedSkill::to_json).collect();
    report.put(json!({ "skills": skills }));
    if report.is_text() {
        if outdated.skills.is_empty() && !report.has_failures() {
            printer.say("there is nothing newer");
        } else {
            printer.report(&table(&outdated.skills));
        }
    }
    Ok(Outcome::Fine)
}

fn table(outdated: &[OutdatedSkill]) -> String {
    let head = ["skill", "installed", "update", "newest", "range"].map(str::to_owned);
    let row = |one: &OutdatedSkill| {
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
            let spaces = width.saturating_sub(text.width()) + 2;
            let _ = write!(line, "{text}{:spaces$}", "");
        }
        let _ = writeln!(page, "{}", line.trim_end());
    }
    page
}
