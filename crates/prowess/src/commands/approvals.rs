//! `prowess approvals`: what the user has approved, and taking it back.

use std::fmt::Write as _;

use clap::{Args, Subcommand, ValueEnum};
use prowess_engine::{ApprovalStore, StoreError};
use prowess_policy::Approval;
use serde_json::{Value, json};

use super::Outcome;
use crate::error::Error;
use crate::printer::{Printer, inline};
use crate::running;

/// List what you have approved, or take it back
///
/// An approval counts for the exact bytes of all the skill's files, for the
/// permissions that were shown, and for the programs that were there. When one of
/// these changes, `prowess run` asks again.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess approvals list
  prowess approvals list --format json
  prowess approvals revoke --all")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List what is approved
    List {
        /// How the list is written
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Take approvals back, so that the next run asks
    Revoke {
        /// A skill's name, with `/TOOL` behind it for one of its tools
        #[arg(value_name = "NAME[/TOOL]", required_unless_present = "all")]
        name: Option<String>,
        /// Take all of them back
        #[arg(long, conflicts_with = "name")]
        all: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let store = ApprovalStore::of(&running::world()?.state);
    match &arguments.action {
        Action::List { format } => list(&store, *format, printer),
        Action::Revoke { name, .. } => revoke(&store, name.as_deref(), printer),
    }
}

fn list(store: &ApprovalStore, format: Format, printer: &mut Printer) -> Result<Outcome, Error> {
    let approvals = store.load().map_err(|error| failed(&error))?;
    let records = approvals.records();
    match format {
        Format::Json => {
            let records: Vec<Value> = records.iter().map(wire).collect();
            printer.json(&json!({ "approvals": records }));
        }
        Format::Text if records.is_empty() => printer.note("nothing is approved"),
        Format::Text => {
            let pages: Vec<String> = records.iter().map(page).collect();
            printer.report(&pages.concat());
        }
    }
    Ok(Outcome::Fine)
}

fn revoke(
    store: &ApprovalStore,
    name: Option<&str>,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let count = match name {
        None => store.revoke_all(),
        Some(name) => match name.split_once('/') {
            Some((skill, tool)) => store.revoke(skill, Some(tool)),
            None => store.revoke(name, None),
        },
    };
    let count = count.map_err(|error| failed(&error))?;
    if let (0, Some(name)) = (count, name) {
        return Err(Error::not_found(format!("nothing is approved for `{name}`"))
            .hint("`prowess approvals list` shows what is"));
    }
    let noun = if count == 1 { "approval" } else { "approvals" };
    printer.say(&format!("took back {count} {noun}"));
    Ok(Outcome::Fine)
}

fn failed(error: &StoreError) -> Error {
    Error::failed(error.to_string()).hint("move the file away: you will be asked again")
}

fn name(approval: &Approval) -> String {
    match &approval.tool {
        Some(tool) => format!("{}/{tool}", approval.skill),
        None => approval.skill.clone(),
    }
}

fn page(approval: &Approval) -> String {
    let mut page = format!("{}\n", inline(&name(approval)));
    let _ = writeln!(page, "  approved  {}", date(approval.given_at));
    let _ = writeln!(page, "  files     {}", inline(approval.digest.as_str()));
    for grant in &approval.grants {
        let _ = writeln!(page, "  may       {}", inline(grant));
    }
    for pin in &approval.pins {
        let _ = writeln!(page, "  program   {}", inline(&pin.path));
    }
    page
}

fn wire(approval: &Approval) -> Value {
    let programs: Vec<Value> =
        approval.pins.iter().map(|pin| json!({ "path": pin.path, "sha256": pin.sha256 })).collect();
    json!({
        "skill": approval.skill,
        "tool": approval.tool,
        "digest": approval.digest.as_str(),
        "grants": approval.grants,
        "programs": programs,
        "given_at": approval.given_at,
    })
}
