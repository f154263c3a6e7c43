//! `prowess policy`: what a tool may do and why, without running anything.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use prowess_engine::{ApprovalStore, examine};
use prowess_format::skill::Tool;
use prowess_policy::{Decision, LineKind, Mode, ToolPolicy, ToolSource, explain, tool_policies};
use serde_json::{Value, json};

use super::Outcome;
use crate::choosing;
use crate::cli::DialectOption;
use crate::error::Error;
use crate::printer::{Printer, inline};
use crate::running;

/// Say what a skill's tools may do, and why
///
/// Decides about a tool exactly as `prowess run` would, and prints the decision
/// line by line: whether it runs, how far it is trusted, what it may and may not
/// do, what you would be asked, and how much it may use. Nothing runs. Without
/// `/TOOL` every tool of the skill is explained.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess policy examples/git-insights
  prowess policy examples/git-insights/recent_changes --format json")]
pub(crate) struct Arguments {
    /// A skill's folder or file, with `/TOOL` behind it for one of its tools
    #[arg(value_name = "PATH[/TOOL]")]
    path: PathBuf,
    #[command(flatten)]
    dialect: DialectOption,
    /// The situation: Global, Dev, Meeting or Writer
    #[arg(long, value_name = "MODE", default_value = "Global", value_parser = running::parse_mode)]
    mode: Mode,
    /// How the decision is written
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
    let (loaded, tool_name) = choosing::load_with_tool(&arguments.path)?;
    let sound = running::sound(&loaded, arguments.dialect.dialect, "decided about", printer)?;
    let tools: Vec<&Tool> = match tool_name {
        Some(name) => {
            choosing::choose(&sound.skill, Some(&name), &loaded, "policy")?.into_iter().collect()
        }
        None => sound.skill.tools.iter().collect(),
    };
    if tools.is_empty() {
        printer.note(&format!("`{}` has no tools, so there is nothing to decide", loaded.shown));
    }
    let world = running::world()?;
    let approvals =
        ApprovalStore::of(&world.state).load().map_err(|error| Error::failed(error.to_string()))?;
    let subject = sound.subject();
    let records = tool_policies(&sound.skill, &sound.name);
    let mut decided = Vec::new();
    for tool in tools {
        let decision = examine(&subject, tool, arguments.mode, &world, &approvals)
            .map_err(|error| Error::failed(error.to_string()))?;
        decided.push((tool, decision));
    }
    match arguments.format {
        Format::Text => {
            let pages: Vec<String> = decided.iter().map(|(_, decision)| page(decision)).collect();
            printer.report(&pages.join("\n"));
        }
        Format::Json => {
            let tools: Vec<Value> = decided
                .iter()
                .map(|(tool, decision)| {
                    let record = records.iter().find(|record| record.name == *tool.name);
                    wire(tool, decision, record)
                })
                .collect();
            printer.json(&json!({ "skill": sound.name, "tools": tools }));
        }
    }
    Ok(Outcome::Fine)
}

fn page(decision: &Decision) -> String {
    explain(decision).iter().fold(String::new(), |mut page, line| {
        let mark = match line.kind {
            LineKind::Verdict => "",
            LineKind::May => "  + ",
            LineKind::MayNot => "  - ",
            LineKind::Asks => "  ? ",
            LineKind::Refused => "  ! ",
            LineKind::Trust | LineKind::Limit | LineKind::Hint => "    ",
        };
        page.push_str(mark);
        page.push_str(&inline(&line.text));
        page.push('\n');
        page
    })
}

fn wire(tool: &Tool, decision: &Decision, record: Option<&ToolPolicy>) -> Value {
    let verdict = match decision {
        Decision::Allow(_) => "allow",
        Decision::Ask(_) => "ask",
        Decision::Deny(_) => "deny",
    };
    let lines: Vec<Value> = explain(decision)
        .iter()
        .map(|line| json!({ "kind": kind(line.kind), "text": line.text }))
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
    json!({ "tool": tool.name.value, "decision": verdict, "lines": lines, "policy": record })
}

fn kind(kind: LineKind) -> &'static str {
    match kind {
        LineKind::Verdict => "verdict",
        LineKind::Trust => "trust",
        LineKind::May => "may",
        LineKind::MayNot => "may_not",
        LineKind::Asks => "asks",
        LineKind::Refused => "refused",
        LineKind::Limit => "limit",
        LineKind::Hint => "hint",
    }
}
