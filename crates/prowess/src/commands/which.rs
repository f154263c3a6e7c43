//! `prowess which`: which copy of a skill each agent loads, and why.

use std::fmt::Write as _;
use std::time::SystemTime;

use clap::Args;
use prowess_library::packages::{PackageManager, agent_by_id};
use prowess_store::agents::{self, Agent};
use prowess_store::discovery::{ScanCache, program_stamp};
use prowess_store::places::Places;
use prowess_store::which::{
    AgentCopy, AgentSelection, AgentView, CatalogueCost, CopyOutcome, LoadedCopies, WhichOptions,
    which,
};
use serde_json::{Value, json};

use super::Outcome;
use crate::error::Error;
use crate::packages::options::{Format, ScopeOption};
use crate::packages::scope::ScopedPackages;
use crate::render::inventory_text::shown;
use crate::terminal::printer::{Channel, Printer, inline};
use crate::terminal::wrap::wrap;

/// Show which copy of a skill each agent loads, and why
///
/// A skill may lie in several folders, and agents do not agree on which one
/// counts. For each agent on this machine this shows the copies in its folders,
/// which one it loads, the rule that says so and where that was read. Where no
/// source says, that is the answer.
///
/// The cost is what the skill takes of the room that an agent has for the names
/// and descriptions of all skills: an estimate, with four characters to a token.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess which greet
  prowess which greet --agent claude-code,codex
  prowess which greet --context 200000

Exit codes:
  0  some agent has it
  2  there is no such agent
  3  no agent has it")]
pub(crate) struct Arguments {
    /// The skill, as agents call it
    #[arg(value_name = "NAME")]
    name: String,
    /// Only these agents, present or not
    #[arg(long = "agent", value_name = "AGENT", value_delimiter = ',')]
    agents: Vec<String>,
    /// As an agent sees it that is started in this project
    #[arg(long)]
    project: bool,
    /// As an agent sees it that is started outside of a project
    #[arg(long, conflicts_with = "project")]
    user: bool,
    /// How many tokens the model has room for, for the cost
    #[arg(long, value_name = "TOKENS")]
    context: Option<u64>,
    /// How the result is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let scoped = ScopedPackages::open(ScopeOption::new(arguments.project, arguments.user))?;
    let mut places = scoped.packages.places().clone();
    if arguments.user {
        places.project = None;
    }
    let packages = &scoped.packages;
    let named: Vec<&'static Agent> = arguments
        .agents
        .iter()
        .map(|id| agent_by_id(id).map_err(Error::from))
        .collect::<Result<_, Error>>()?;
    let stamp = program_stamp();
    let views = which(&WhichOptions {
        places: &places,
        now: SystemTime::now(),
        memory: ScanCache::Kept { stamp: &stamp },
        name: &arguments.name,
        agents: if named.is_empty() {
            AgentSelection::Present
        } else {
            AgentSelection::Named(&named)
        },
        context_tokens: arguments.context,
    });
    if views.iter().all(|view| view.copies.is_empty()) {
        return Err(nobody_has(&arguments.name, &named, packages, printer));
    }
    match arguments.format {
        Format::Json => {
            let agents: Vec<Value> = views.iter().map(wire).collect();
            let project = places.project.as_ref().map(|project| project.display().to_string());
            printer.json(&json!({
                "name": arguments.name,
                "project": project,
                "agents": agents,
            }));
        }
        Format::Text => {
            printer.say(&match &places.project {
                Some(project) => {
                    // Shown from the home, so that it says which project it is.
                    let outside = Places { project: None, ..places.clone() };
                    format!("as agents see it in the project `{}`", shown(&outside, project))
                }
                None => "as agents see it outside of a project".to_owned(),
            });
            let width = printer.width(Channel::Out);
            let without: Vec<&str> = views
                .iter()
                .filter(|view| view.copies.is_empty())
                .map(|view| view.agent.title)
                .collect();
            let views = views.iter().filter(|view| !view.copies.is_empty());
            let pages: Vec<String> =
                views.map(|view| page(packages, &arguments.name, view, width)).collect();
            printer.report(&pages.join("\n"));
            if !without.is_empty() {
                printer.note(&format!("without it: {}", without.join(", ")));
            }
        }
    }
    Ok(Outcome::Fine)
}

/// No agent has it. Perhaps we do.
fn nobody_has(
    name: &str,
    named: &[&'static Agent],
    packages: &PackageManager,
    printer: &mut Printer,
) -> Error {
    let inventory = packages.inventory();
    for warning in &inventory.warnings {
        printer.warning(warning);
    }
    let who = match named {
        [] if agents::present(packages.places()).is_empty() => "there is no agent here".to_owned(),
        [] => "no agent here".to_owned(),
        named => named.iter().map(|agent| agent.title).collect::<Vec<&str>>().join(", "),
    };
    let has = match named {
        [] if who.starts_with("there") => " that could have it",
        [_, _, ..] => " do not have it",
        [_] => " does not have it",
        [] => " has it",
    };
    let what = format!("`{}` is in no folder of an agent: {who}{has}", inline(name));
    let is_ours =
        |found: &&&prowess_store::discovery::FoundSkill| inventory.locked(found).is_some();
    match inventory.copies(name).iter().find(is_ours) {
        Some(found) => Error::not_found(what).hint(format!(
            "it is installed in `{}`; install it again with `--agent AGENT` to place it",
            shown(packages.places(), &found.directory),
        )),
        None => {
            let unknown = Error::from(inventory.unknown(&inline(name)));
            unknown.hints.into_iter().fold(Error::not_found(what), Error::hint)
        }
    }
}

fn page(packages: &PackageManager, name: &str, view: &AgentView, width: Option<usize>) -> String {
    let mut page = String::new();
    let mut line = |text: &str, indent: usize| {
        let _ = writeln!(page, "{}", wrap(text, indent, width));
    };
    let place = |number: usize| shown(packages.places(), &view.copies[number].directory);
    let loads = match view.loads {
        LoadedCopies::Nothing => "loads none of these".to_owned(),
        LoadedCopies::One(number) => format!("loads {}", place(number)),
        LoadedCopies::Several => "offers several side by side".to_owned(),
        LoadedCopies::Unknown => "loads one of these, and no source says which".to_owned(),
    };
    line(&format!("{} ({}) {loads}", view.agent.title, view.agent.id), 2);
    for copy in &view.copies {
        let version = copy.version.as_deref().map(|version| format!(" {}", inline(version)));
        let head = format!(
            "  {}{} ({}): {}",
            shown(packages.places(), &copy.directory),
            version.unwrap_or_default(),
            copy.folder,
            fate(copy, &place)
        );
        line(&head, 4);
        for remark in &copy.remarks {
            line(&format!("    minds: {}", inline(remark)), 6);
        }
    }
    match view.rules {
        Some(rules) => {
            line(&format!("  rule: {}", rules.precedence), 4);
            line(&format!("  source: {}", rules.source), 4);
        }
        None => line("  rule: none is known, so only its two usual folders were looked at", 4),
    }
    if let Some(cost) = &view.cost {
        line(&format!("  cost: {}", cost_of(name, cost, view)), 4);
    }
    page
}

fn fate(copy: &AgentCopy, place: &impl Fn(usize) -> String) -> String {
    match &copy.fate {
        CopyOutcome::Loaded => "loaded".to_owned(),
        CopyOutcome::LoadedAs(name) => format!("loaded as `{}`", inline(name)),
        CopyOutcome::Behind(winner) => format!("shadowed by {}", place(*winner)),
        CopyOutcome::Same(other) => format!("the same folder as {}", place(*other)),
        CopyOutcome::Dropped(reasons) => {
            let reasons: Vec<_> = reasons.iter().map(|reason| inline(reason)).collect();
            format!("refused: {}", reasons.join("; "))
        }
        CopyOutcome::Unseen(why) => format!("not seen: {}", inline(why)),
        CopyOutcome::Unknown => "no source says".to_owned(),
    }
}

fn cost_of(name: &str, cost: &CatalogueCost, view: &AgentView) -> String {
    let share = cost.thousandths();
    let mut text = format!(
        "about {} of {} tokens ({}.{} %); the whole catalogue ({}) takes about {}",
        cost.tokens,
        cost.room,
        share / 10,
        share % 10,
        if cost.entries == 1 { "1 skill".to_owned() } else { format!("{} skills", cost.entries) },
        cost.catalogue
    );
    if cost.cut > 0 {
        let _ = write!(
            text,
            "; {} characters of the description of `{}` are cut",
            cost.cut,
            inline(name)
        );
    }
    let overflow = view.rules.and_then(|rules| rules.budget).map(|budget| budget.overflow);
    if let Some(overflow) = overflow.filter(|_| cost.overflows()) {
        let _ = write!(text, ", which is too much: {overflow}");
    }
    text
}

fn wire(view: &AgentView) -> Value {
    let copies: Vec<Value> = view
        .copies
        .iter()
        .map(|copy| {
            let (fate, detail) = match &copy.fate {
                CopyOutcome::Loaded => ("loaded", Value::Null),
                CopyOutcome::LoadedAs(name) => ("loaded-as", json!(name)),
                CopyOutcome::Behind(winner) => ("shadowed", json!(winner)),
                CopyOutcome::Same(other) => ("same", json!(other)),
                CopyOutcome::Dropped(reasons) => ("refused", json!(reasons)),
                CopyOutcome::Unseen(why) => ("unseen", json!(why)),
                CopyOutcome::Unknown => ("unknown", Value::Null),
            };
            json!({
                "directory": copy.directory.display().to_string(),
                "real_directory": copy.real.display().to_string(),
                "folder": copy.folder,
                "scope": copy.scope.map(prowess_store::places::Scope::as_str),
                "version": copy.version,
                "fate": fate,
                "detail": detail,
                "remarks": copy.remarks,
            })
        })
        .collect();
    let (loads, number) = match view.loads {
        LoadedCopies::Nothing => ("nothing", None),
        LoadedCopies::One(number) => ("one", Some(number)),
        LoadedCopies::Several => ("several", None),
        LoadedCopies::Unknown => ("unknown", None),
    };
    json!({
        "agent": view.agent.id,
        "title": view.agent.title,
        "loads": loads,
        "loaded": number.map(|number| view.copies[number].directory.display().to_string()),
        "copies": copies,
        "rule": view.rules.map(|rules| json!({"text": rules.precedence, "source": rules.source})),
        "cost": view.cost.map(|cost| json!({
            "tokens": cost.tokens,
            "cut_characters": cost.cut,
            "catalogue_tokens": cost.catalogue,
            "entries": cost.entries,
            "room_tokens": cost.room,
        })),
    })
}
