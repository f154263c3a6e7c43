//! `prowess approvals`: lists and revokes approvals.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Args, Subcommand, ValueEnum};
use prowess_engine::{ApprovalStore as _, ApprovalStoreError, FileApprovals, digest_of_skill};
use prowess_policy::approval::date;
use prowess_policy::{Approval, Digest, Project, RememberedGrant};
use serde_json::{Value, json};

use super::Outcome;
use crate::error::Error;
use crate::session;
use crate::terminal::printer::{Channel, Printer, inline};
use crate::terminal::wrap::wrap;

/// List or revoke approvals
///
/// An approval is valid for the exact content of the skill's files, the permissions
/// that were shown, and the programs as they were. If one of these changes,
/// `prowess run` asks again. If a permission depends on the working directory, such
/// as `filesystem:write:./**`, the approval is valid in that folder only.
///
/// What you granted with `--allow` and `--remember` is listed as well. It is used
/// until a file of the skill changes.
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
    /// List approvals
    List {
        /// The output format
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Revoke approvals, so that the next run asks again
    ///
    /// For a tool, approvals of the whole skill are revoked too, because they would
    /// let it run: the skill's other tools may then ask again.
    Revoke {
        /// A skill's name, with `/TOOL` for one of its tools
        #[arg(value_name = "NAME[/TOOL]", required_unless_present = "all")]
        name: Option<String>,
        /// Revoke all of them
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
            let grants: Vec<Value> = approvals.grants().iter().map(grant_wire).collect();
            printer.json(&json!({ "approvals": records, "grants": grants }));
        }
        Format::Text if records.is_empty() && approvals.grants().is_empty() => {
            printer.note("nothing is approved");
        }
        Format::Text => {
            let width = printer.width(Channel::Out);
            let grants = approvals.grants().iter().map(|grant| grant_page(grant, width));
            let pages = records.iter().map(|record| page(record, width)).chain(grants);
            printer.report(&pages.collect::<Vec<String>>().concat());
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
    let before = store.load().map_err(|error| failed(&error))?.grants().len();
    let (revoked, grants) = match (name, tool) {
        (None, _) => (store.revoke_all(), Ok(before)),
        // The user's own grants are for the whole skill, and let none of its tools run.
        (Some(_), Some((skill, tool))) => (store.revoke(skill, Some(tool)), Ok(0)),
        (Some(name), None) => {
            (store.revoke(name, None), store.revoke_grants(name).map(|grants| grants.len()))
        }
    };
    let revoked = revoked.map_err(|error| failed(&error))?;
    let grants = grants.map_err(|error| failed(&error))?;
    if let (true, Some(name)) = (revoked.is_empty() && grants == 0, name) {
        return Err(Error::not_found(format!("nothing is approved for `{name}`"))
            .hint("`prowess approvals list` shows the approvals"));
    }
    let count = |count: usize, noun: &str| match count {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    };
    let approvals = (!revoked.is_empty() || grants == 0).then(|| count(revoked.len(), "approval"));
    let grants = (grants > 0).then(|| format!("{} of yours", count(grants, "grant")));
    let revoked_words: Vec<String> = approvals.into_iter().chain(grants).collect();
    printer.say(&format!("revoked {}", revoked_words.join(" and ")));
    if let Some((skill, tool)) = tool
        && revoked.iter().any(|approval| approval.tool.is_none())
    {
        printer.note(&format!(
            "`{skill}/{tool}` was approved with the whole skill, so its other tools ask again too"
        ));
    }
    Ok(Outcome::Fine)
}

fn failed(error: &ApprovalStoreError) -> Error {
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
            Project::Any => "every folder: no permission depends on the working directory",
            Project::Folder(folder) => folder,
            Project::Unknown => "unknown: an earlier version did not record it, so it asks again",
        },
    );
    if let Some(folder) = &approval.skill_folder {
        field("skill", folder);
    }
    field("files", approval.digest.as_str());
    match state(approval.skill_folder.as_deref(), &approval.digest) {
        FilesState::Same | FilesState::Unknown => {}
        FilesState::Changed => field("changed", "its files have changed, so it asks again"),
        FilesState::Gone => field("changed", "it no longer exists"),
    }
    for grant in grants(approval) {
        field("may", grant);
    }
    for pin in &approval.pins {
        field("program", &pin.path);
    }
    page
}

fn grant_page(grant: &RememberedGrant, width: Option<usize>) -> String {
    let mut page = format!("{}\n", inline(&grant.skill));
    let mut field = |label: &str, value: &str| {
        let line = format!("  {label:8}  {}", inline(value));
        let _ = writeln!(page, "{}", wrap(&line, 12, width));
    };
    field("granted", &format!("{}, by you", date(grant.given_at)));
    field(
        "for",
        match &grant.project {
            Project::Any => "every folder",
            Project::Folder(folder) => folder,
            Project::Unknown => "unknown",
        },
    );
    if let Some(folder) = &grant.skill_folder {
        field("skill", folder);
    }
    field("files", grant.digest.as_str());
    match state(grant.skill_folder.as_deref(), &grant.digest) {
        FilesState::Same | FilesState::Unknown => {}
        FilesState::Changed => field("changed", "its files have changed, so it is not used"),
        FilesState::Gone => field("changed", "it no longer exists"),
    }
    for text in &grant.grants {
        field("may", text);
    }
    page
}

fn grant_wire(grant: &RememberedGrant) -> Value {
    json!({
        "skill": grant.skill,
        "skill_folder": grant.skill_folder,
        "project": project(&grant.project),
        "digest": grant.digest.as_str(),
        "files": state(grant.skill_folder.as_deref(), &grant.digest).as_str(),
        "grants": grant.grants,
        "given_at": grant.given_at,
    })
}

/// The grants without duplicates: earlier versions stored one for each tool.
fn grants(approval: &Approval) -> Vec<&str> {
    let mut grants: Vec<&str> = Vec::new();
    for grant in &approval.grants {
        if !grants.contains(&grant.as_str()) {
            grants.push(grant);
        }
    }
    grants
}

/// Whether the skill's files are still those that were approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FilesState {
    Same,
    Changed,
    Gone,
    /// An earlier version recorded no folder, or its files can't be read.
    Unknown,
}

impl FilesState {
    fn as_str(self) -> &'static str {
        match self {
            FilesState::Same => "same",
            FilesState::Changed => "changed",
            FilesState::Gone => "gone",
            FilesState::Unknown => "unknown",
        }
    }
}

fn state(folder: Option<&str>, approved: &Digest) -> FilesState {
    let Some(folder) = folder.map(Path::new) else {
        return FilesState::Unknown;
    };
    if !folder.exists() {
        return FilesState::Gone;
    }
    match digest_of_skill(folder) {
        Ok(digest) if digest == *approved => FilesState::Same,
        Ok(_) => FilesState::Changed,
        Err(_) => FilesState::Unknown,
    }
}

/// `null` is every folder; `false` is none, because it was not recorded.
fn project(project: &Project) -> Value {
    match project {
        Project::Any => Value::Null,
        Project::Folder(folder) => folder.clone().into(),
        Project::Unknown => false.into(),
    }
}

fn wire(approval: &Approval) -> Value {
    let programs: Vec<Value> =
        approval.pins.iter().map(|pin| json!({ "path": pin.path, "sha256": pin.sha256 })).collect();
    json!({
        "skill": approval.skill,
        "skill_folder": approval.skill_folder,
        "tool": approval.tool,
        "project": project(&approval.project),
        "digest": approval.digest.as_str(),
        "files": state(approval.skill_folder.as_deref(), &approval.digest).as_str(),
        "grants": grants(approval),
        "programs": programs,
        "given_at": approval.given_at,
    })
}
