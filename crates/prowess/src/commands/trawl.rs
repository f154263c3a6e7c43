//! `prowess trawl`: lists the skills that domains publish.

use std::time::Duration;

use clap::Args;
use prowess_sources::{TRAWL_TIME, Trawl, Trawled};
use serde_json::{Value, json};

use super::Outcome;
use crate::error::Error;
use crate::packages::manager;
use crate::packages::options::Format;
use crate::packages::sources::SourceSession;
use crate::terminal::printer::{Printer, inline};

/// List the skills that domains publish
///
/// Fetches `/.well-known/skills/default/skill.md` from each domain, many at a time.
/// Domains without a skill are listed with the reason, at most ten of them;
/// `--verbose` and `--format json` list all. Nothing is installed.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess trawl example.com example.org
  prowess trawl example.com --timeout 2 --format json

Exit codes:
  0  the domains were contacted, whatever they publish
  2  the arguments are wrong")]
pub(crate) struct Arguments {
    /// The domains
    #[arg(value_name = "DOMAIN", required = true)]
    domains: Vec<String>,
    /// The time limit per domain, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = TRAWL_TIME.as_secs(), value_parser = clap::value_parser!(u64).range(1..=300))]
    timeout: u64,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// The most domains without a skill that are listed.
const MOST_MISSED: usize = 10;

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let packages = manager()?;
    let sources = SourceSession::open(&packages, printer, false)?;
    let limit = Duration::from_secs(arguments.timeout);
    let trawl = sources.sources.trawl(&arguments.domains, limit);
    if arguments.format == Format::Json {
        printer.json(&wire(&trawl));
        return Ok(Outcome::Fine);
    }
    printer.report(&table(&trawl.found));
    let shown = if printer.is_verbose() { usize::MAX } else { MOST_MISSED };
    for missed in trawl.failed.iter().take(shown) {
        printer.note(&format!("`{}`: {}", inline(&missed.domain), inline(&missed.reason)));
    }
    let more = trawl.failed.len().saturating_sub(shown);
    if more > 0 {
        printer.note(&format!(
            "{more} more domains publish no skill or did not answer; `--verbose` lists them"
        ));
    }
    if trawl.skipped > 0 {
        printer.warning(&format!("{} domains over the limit were skipped", trawl.skipped));
    }
    if let Some(first) = trawl.found.first() {
        printer.hint(&format!("`prowess install {}` installs one", inline(&first.domain)));
    }
    Ok(Outcome::Fine)
}

/// One line per skill: its name and the domain.
fn table(found: &[Trawled]) -> String {
    let names: Vec<_> = found.iter().map(|one| inline(&one.offer.name)).collect();
    let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let lines = names.iter().zip(found);
    let lines = lines.map(|(name, one)| format!("{name:width$}  {}\n", inline(&one.domain)));
    lines.collect::<Vec<String>>().concat()
}

fn wire(trawl: &Trawl) -> Value {
    let skills: Vec<Value> = trawl
        .found
        .iter()
        .map(|one| {
            json!({
                "name": one.offer.name,
                "domain": one.domain,
                "source": one.offer.pinned.to_string(),
            })
        })
        .collect();
    let missed = trawl.failed.iter();
    let missed = missed.map(|it| json!({ "domain": it.domain, "reason": it.reason }));
    json!({
        "skills": skills,
        "failed": trawl.failed.len(),
        "failures": missed.collect::<Vec<Value>>(),
        "skipped": trawl.skipped,
    })
}
