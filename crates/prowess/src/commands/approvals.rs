//! `prowess approvals`: what the user has approved, and taking it back.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Args, Subcommand, ValueEnum};
use prowess_engine::{ApprovalStore as _, FileApprovals, StoreError, digest_of_skill};
use prowess_policy::approval::date;
use prowess_policy::{Approval, Project};
use serde_json::{Value, json};

use super::Outcome;
use crate::error::Error;
use crate::session;
use crate::terminal::printer::{Channel, Printer, inline};
use crate::terminal::wrap::wrap;

/// List or revoke approvals
///
/// An approval counts for the exact bytes of all the skill's files, for the
/// permissions that were shown, and for the programs that were there. When one of
/// these changes, `prowess run` asks again. If a permission depends on the working
/// directory, such as `filesystem:write:./**`, it counts in that folder only.
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
    ///
    /// For a tool this takes back its own approvals and those of the whole skill,
    /// which would let it run too: the skill's other tools may ask again then.
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
    let store = FileApprovals::of(&session::world()?.state);
    match &arguments.action {
        Action::List { format } => list(&store, *format, printer),
        Action::Revoke { name, .. } => revoke(&store, name.as_deref(), printer),
    }
}

fn list(store: &FileApprovals, format: Format, printer: &mut Printer) -> Result<Outcome, Error> {
    let approvals = store.load().map_err(|error| failed(&error))?;
    let records = approvals.records();
    match format {
        Format::Json => {
            let records: Vec<Value> = records.iter().map(wire).collect();
            printer.json(&json!({ "approvals": records }));
        }
        Format::Text if records.is_empty() => printer.note("nothing is approved"),
        Format::Text => {
            let width = printer.width(Channel::Out);
            let pages: Vec<String> = records.iter().map(|record| page(record, width)).collect();
            printer.report(&pages.concat());
        }
    }
    Ok(Outcome::Fine)
}

fn revoke(
    store: &FileApprovals,
    name: Option<&str>,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let tool = name.and_then(|name| name.split_once('/'));
    let revoked = match (name, tool) {
        (None, _) => store.revoke_all(),
        (Some(_), Some((skill, tool))) => store.revoke(skill, Some(tool)),
        (Some(name), None) => store.revoke(name, None),
    };
    let revoked = revoked.map_err(|error| failed(&error))?;
    if let (true, Some(name)) = (revoked.is_empty(), name) {
        return Err(Error::not_found(format!("nothing is approved for `{name}`"))
            .hint("`prowess approvals list` shows what is"));
    }
    let noun = if revoked.len() == 1 { "approval" } else { "approvals" };
    printer.say(&format!("took back {} {noun}", revoked.len()));
    if let Some((skill, tool)) = tool
        && revoked.iter().any(|approval| approval.tool.is_none())
    {
        printer.note(&format!(
            "`{skill}/{tool}` was approved with the whole skill, so `{skill}` asks again for its other tools too"
        ));
    }
    Ok(Outcome::Fine)
}

fn failed(error: &StoreError) -> Error {
    Error::failed(error.to_string()).hint(error.hint())
}

fn name(approval: &Approval) -> String {
    match &approval.tool {
        Some(tool) => format!("{}/{tool}", approval.skill),
        None => approval.skill.clone(),
    }
}

fn page(approval: &Approval, width: Option<usize>) -> String {
    let mut page = format!("{}\n", inline(&name(approval)));
    let mut field = |label: &str, value: &str| {
        let line = format!("  {label:8}  {}", inline(value));
        let _ = writeln!(page, "{}", wrap(&line, 12, width));
    };
    field("approved", &date(approval.given_at));
    field(
        "for",
        match &approval.project {
            Project::Any => "every folder: nothing in it depends on where it works",
            Project::Folder(folder) => folder,
            Project::Unknown => "no folder: an earlier version gave none, so it asks once more",
        },
    );
    if let Some(folder) = &approval.skill_folder {
        field("skill", folder);
    }
    field("files", approval.digest.as_str());
    match state(approval) {
        State::Same | State::Unknown => {}
        State::Changed => field("changed", "its files are not those any more, so it asks again"),
        State::Gone => field("changed", "it no longer exists"),
    }
    for grant in grants(approval) {
        field("may", grant);
    }
    for pin in &approval.pins {
        field("program", &pin.path);
    }
    page
}

/// The grants, each once: earlier versions have kept one for each tool.
fn grants(approval: &Approval) -> Vec<&str> {
    let mut grants: Vec<&str> = Vec::new();
    for grant in &approval.grants {
        if !grants.contains(&grant.as_str()) {
            grants.push(grant);
        }
    }
    grants
}

/// Whether an approval is still about what lies in the skill's folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Same,
    Changed,
    Gone,
    /// An earlier version kept no folder, or its files can't be read.
    Unknown,
}

fn state(approval: &Approval) -> State {
    let Some(folder) = approval.skill_folder.as_deref().map(Path::new) else {
        return State::Unknown;
    };
    if !folder.exists() {
        return State::Gone;
    }
    match digest_of_skill(folder) {
        Ok(digest) if digest == approval.digest => State::Same,
        Ok(_) => State::Changed,
        Err(_) => State::Unknown,
    }
}

fn wire(approval: &Approval) -> Value {
    let programs: Vec<Value> =
        approval.pins.iter().map(|pin| json!({ "path": pin.path, "sha256": pin.sha256 })).collect();
    // `null` is every folder, and `false` none: nobody knows which one it was.
    let project = match &approval.project {
        Project::Any => Value::Null,
        Project::Folder(folder) => folder.clone().into(),
        Project::Unknown => false.into(),
    };
    json!({
        "skill": approval.skill,
        "skill_folder": approval.skill_folder,
        "tool": approval.tool,
        "project": project,
        "digest": approval.digest.as_str(),
        "files": match state(approval) {
            State::Same => "same",
            State::Changed => "changed",
            State::Gone => "gone",
            State::Unknown => "unknown",
        },
        "grants": grants(approval),
        "programs": programs,
        "given_at": approval.given_at,
    })
}
