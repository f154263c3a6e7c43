//! `prowess policy`: what a tool may do and why, without running anything.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use prowess_engine::{ApprovalStore as _, Examination, FileApprovals, examine_for_user};
use prowess_format::skill::Tool;
use prowess_policy::{Decision, LineKind, Mode, ToolPolicy, ToolSource, tool_policies};
use serde_json::{Value, json};

use super::Outcome;
use crate::cli::DialectOption;
use crate::error::Error;
use crate::render::problem_text::hints;
use crate::run::standing::{self, StandingOptions};
use crate::run::tool_run;
use crate::session;
use crate::skill::tool_ref;
use crate::terminal::printer::{Channel, Printer, inline};
use crate::terminal::wrap::wrap;

/// Explain what a skill's tools may do, and why
///
/// Makes the same decision as `prowess run` and prints it line by line: whether
/// the tool runs, how far it is trusted, its working directory, what it may and
/// may not do, what you would be asked, and its limits. Missing programs and
/// scripts are reported as `prowess run` reports them. Nothing runs. Without
/// `/TOOL` every tool of the skill is explained.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess policy examples/git-insights
  prowess policy examples/git-insights/recent_changes --format json")]
pub(crate) struct Arguments {
    /// A skill's folder or file, or the name of an installed skill, with `/TOOL` for
    /// one of its tools
    #[arg(value_name = "PATH[/TOOL]")]
    path: PathBuf,
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
    let (loaded, tool_name) = tool_ref::load_with_tool(&arguments.path, printer)?;
    let dialect = arguments.dialect.dialect;
    let skill = tool_run::load_without_errors(&loaded, dialect, "decided about", printer)?;
    let tools: Vec<&Tool> = match tool_name {
        Some(name) => {
            tool_ref::choose(&skill.skill, Some(&name), &loaded, "policy")?.into_iter().collect()
        }
        None => skill.skill.tools.iter().collect(),
    };
    if tools.is_empty() {
        printer.note(&format!("`{}` has no tools, so there is nothing to decide", loaded.shown));
    }
    let world = arguments.standing.world(session::world()?)?;
    let user = arguments.standing.grants(&world)?;
    let approvals =
        FileApprovals::of(&world.state).load().map_err(|error| Error::failed(error.to_string()))?;
    let records = tool_policies(&skill.skill, &skill.name);
    let mut decided = Vec::new();
    for tool in tools {
        let examined = examine_for_user(&skill, tool, arguments.mode, &user, &world, &approvals)
            .map_err(|error| Error::failed(error.to_string()))?;
        decided.push((tool, examined));
    }
    match arguments.format {
        Format::Text => {
            let width = printer.width(Channel::Out);
            let pages: Vec<String> =
                decided.iter().map(|(_, examined)| page(examined, width)).collect();
            printer.report(&pages.join("\n"));
            let uses_place = |examined: &Examination| examined.decision.spec().depends_on_place();
            if decided.iter().any(|(_, examined)| uses_place(examined)) {
                standing::hint_at_home(&world, printer);
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
            printer.json(&json!({ "skill": skill.name, "tools": tools }));
        }
    }
    Ok(Outcome::Fine)
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
