//! `prowess policy`: what a tool may do and why, without running anything.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use prowess_engine::{ApprovalStore as _, Examination, FileApprovals, examine_for_user, scripts};
use prowess_format::skill::Tool;
use prowess_library::{capabilities_in, capabilities_json};
use prowess_policy::{Decision, LineKind, Mode, ToolPolicy, ToolSource, tool_policies};
use prowess_store::capabilities::Capability;
use serde_json::{Value, json};

use super::Outcome;
use crate::cli::DialectOption;
use crate::error::Error;
use crate::render::capability_text;
use crate::render::problem_text::hints;
use crate::run::standing::{self, StandingOptions};
use crate::run::tool_run;
use crate::session;
use crate::skill::skill_ref::{self, ReferenceOptions};
use crate::skill::tool_ref;
use crate::terminal::printer::{Channel, Printer, inline};
use crate::terminal::wrap::wrap;

/// Explain what a skill's tools may do, and why
///
/// Makes the same decision as `prowess run` and prints it line by line: whether
/// the tool runs, how far it is trusted, its working directory, what it may and
/// may not do, what you would be asked, and its limits. Missing programs and
/// scripts are reported as `prowess run` reports them. Nothing runs. Without
/// `/TOOL` every tool of the skill is explained, and then what its text, hooks and
/// scripts can make an agent do. A skill that is not on this machine is fetched to
/// be read, and nothing is installed.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess policy examples/git-insights
  prowess policy examples/git-insights/recent_changes --format json")]
pub(crate) struct Arguments {
    /// A skill's folder or file, or the name of an installed skill, with `/TOOL` for
    /// one of its tools or `/scripts/FILE` for one of its scripts; or anything that
    /// `prowess install` takes
    #[arg(value_name = "SKILL[/TOOL]")]
    path: PathBuf,
    #[command(flatten)]
    reference: ReferenceOptions,
    #[command(flatten)]
    dialect: DialectOption,
    /// The mode you are in: Global, Dev, Meeting or Writer
    #[arg(long, value_name = "MODE", default_value = "Global", value_parser = tool_run::parse_mode)]
    mode: Mode,
    #[command(flatten)]
    standing: StandingOptions,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let result = decide(arguments, printer);
    // Programs that read JSON get their answer also when nothing could be decided.
    if let (Err(error), Format::Json) = (&result, arguments.format) {
        printer.json(&json!({
            "error": error.message,
            "hints": error.hints,
            "findings": error.findings,
        }));
    }
    result
}

fn decide(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let (loaded, tool_name) =
        tool_ref::read_with_script(&arguments.path, &arguments.reference, printer)?;
    let dialect = arguments.dialect.dialect;
    let skill = tool_run::load_without_errors(&loaded, dialect, "decided about", printer)?;
    let is_whole = tool_name.is_none();
    let tools: Vec<Tool> = match tool_name {
        Some(name) => tool_ref::choose_or_script(&skill, Some(&name), &loaded, "policy")?
            .into_iter()
            .collect(),
        None => skill.skill.tools.clone(),
    };
    // What an agent does that follows the text is no decision of ours, and still the most that most skills can do.
    let capabilities = match (&loaded.directory, is_whole) {
        (Some(folder), true) => Some(capabilities_in(folder)?),
        _ => None,
    };
    if tools.is_empty() {
        if capabilities.is_none() {
            printer
                .note(&format!("`{}` has no tools, so there is nothing to decide", loaded.shown));
        }
        let scripts = skill.directory.as_deref().map(|folder| scripts(&skill.skill, folder));
        if let Some(script) = scripts.unwrap_or_default().first() {
            let place = skill_ref::shown(loaded.directory.as_deref().unwrap_or(&loaded.path));
            let path = &script.path;
            printer.hint(&format!("it has scripts: see `prowess policy {place}/{path}`"));
        }
    }
    let world = arguments.standing.world(session::world()?)?;
    // A wrong permission is told also where there is no tool.
    arguments.standing.grants(&world)?;
    let approvals =
        FileApprovals::of(&world.state).load().map_err(|error| Error::failed(error.to_string()))?;
    let records = tool_policies(&skill.skill, &skill.name);
    let mut decided = Vec::new();
    let mut works_at_home = false;
    for tool in tools {
        let world = tool_run::world_for(&tool, Arc::clone(&world))?;
        let user = arguments.standing.grants(&world)?;
        let mut examined =
            examine_for_user(&skill, &tool, arguments.mode, &user, &world, &approvals)
                .map_err(|error| Error::failed(error.to_string()))?;
        works_at_home |= world.falls_back_to_home() && examined.decision.spec().depends_on_place();
        // The folder that a skill was fetched into is gone before anybody can look into it.
        if let (Some(_), Some(directory)) = (&loaded.temporary, &loaded.directory) {
            let directory = directory.display().to_string();
            for line in &mut examined.lines {
                line.text = line.text.replace(&directory, &loaded.shown);
            }
        }
        decided.push((tool, examined));
    }
    match arguments.format {
        Format::Text => {
            let width = printer.width(Channel::Out);
            let pages = decided.iter().map(|(_, examined)| page(examined, width));
            let instructions = capabilities.iter().map(|found| instructions(found, width));
            let pages: Vec<String> = pages.chain(instructions).collect();
            printer.report(&pages.join("\n"));
            if works_at_home {
                printer.hint(&standing::home_hint());
            }
        }
        Format::Json => {
            let tools: Vec<Value> = decided
                .iter()
                .map(|(tool, examined)| {
                    let record = records.iter().find(|record| record.name == *tool.name);
                    wire(tool, examined, record)
                })
                .collect();
            printer.json(&json!({
                "skill": skill.name,
                "tools": tools,
                "capabilities": capabilities.as_deref().map(capabilities_json),
            }));
        }
    }
    Ok(Outcome::Fine)
}

/// What an agent does that follows the text of the skill.
fn instructions(capabilities: &[Capability], width: Option<usize>) -> String {
    let mut page = format!("an agent {}\n", capability_text::AGENT_RIGHTS);
    let capabilities: Vec<&Capability> = capabilities.iter().collect();
    let lines = capability_text::lines(&capabilities, "");
    if lines.is_empty() {
        page.push_str("    it pre-approves, hooks, runs and installs nothing\n");
    }
    for line in lines {
        page.push_str(&wrap(&format!("  * {line}"), 4, width));
        page.push('\n');
    }
    page
}

fn page(examined: &Examination, width: Option<usize>) -> String {
    let page = examined.lines.iter().fold(String::new(), |mut page, line| {
        let mark = match line.kind {
            LineKind::Verdict => "",
            LineKind::May => "  + ",
            LineKind::MayNot | LineKind::Closed => "  - ",
            LineKind::Asks | LineKind::Consent => "  ? ",
            LineKind::Refused => "  ! ",
            LineKind::Trust
            | LineKind::Place
            | LineKind::Note
            | LineKind::Limit
            | LineKind::FurtherLimit => "    ",
        };
        page.push_str(&wrap(&format!("{mark}{}", inline(&line.text)), 4, width));
        page.push('\n');
        page
    });
    hints(&examined.remedies).into_iter().fold(page, |mut page, hint| {
        page.push_str(&wrap(&format!("    {}", inline(&hint)), 4, width));
        page.push('\n');
        page
    })
}

fn wire(tool: &Tool, examined: &Examination, record: Option<&ToolPolicy>) -> Value {
    let verdict = match (&examined.decision, &examined.obstacle) {
        (Decision::Deny(_), _) | (_, Some(_)) => "deny",
        (Decision::Allow(_), None) => "allow",
        (Decision::Ask(_), None) => "ask",
    };
    // The keys that `prowess run --format json` has for the same failure.
    let obstacle = examined.obstacle.as_ref().map(|error| {
        json!({
            "error": error.to_string(),
            "outcome": error.outcome().as_str(),
            "exit_code": error.exit_code(),
            "hints": hints(&error.remedies()),
        })
    });
    let lines: Vec<Value> = examined
        .lines
        .iter()
        .map(|line| json!({ "kind": kind(line.kind), "text": line.text }))
        .chain(hints(&examined.remedies).iter().map(|text| json!({ "kind": "hint", "text": text })))
        .collect();
    // GIB §7.3.
    let record = record.map(|record| {
        let ToolSource::Skill(skill) = &record.source;
        json!({
            "name": record.name,
            "read_only": record.read_only,
            "always_ask": record.always_ask,
            "source": { "skill": skill },
        })
    });
    json!({
        "tool": tool.name.value,
        "decision": verdict,
        "obstacle": obstacle,
        "lines": lines,
        "policy": record,
    })
}

fn kind(kind: LineKind) -> &'static str {
    match kind {
        LineKind::Verdict => "verdict",
        LineKind::Trust => "trust",
        LineKind::Place => "place",
        LineKind::Note => "note",
        LineKind::May => "may",
        LineKind::MayNot | LineKind::Closed => "may_not",
        LineKind::Asks | LineKind::Consent => "asks",
        LineKind::Refused => "refused",
        LineKind::Limit | LineKind::FurtherLimit => "limit",
    }
}
