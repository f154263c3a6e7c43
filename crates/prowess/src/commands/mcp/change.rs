//! What `mcp install` and `mcp uninstall` share: choosing agents, showing the changes, asking, and applying them.

use clap::Args;
use prowess_core::Problem;
use prowess_library::packages::agent_by_id;
use prowess_store::agents::{self, Agent};
use prowess_store::mcp_settings::{self, SettingsAction, SettingsChange};
use prowess_store::places::{Places, Scope};
use serde_json::{Value, json};

use crate::commands::Outcome;
use crate::error::Error;
use crate::packages::manager;
use crate::packages::options::Format;
use crate::terminal::confirm::confirm;
use crate::terminal::printer::{Channel, Printer, visible_lines};

/// The options of both verbs.
#[derive(Args, Clone)]
pub(super) struct ChangeOptions {
    /// The agents: `claude-code,codex,cursor`
    #[arg(long = "agent", value_name = "AGENT", value_delimiter = ',')]
    agents: Vec<String>,
    /// Change the settings of the project instead of your own
    #[arg(long)]
    project: bool,
    /// Don't ask for confirmation
    #[arg(short, long)]
    yes: bool,
    /// Show what would change, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

impl ChangeOptions {
    pub(super) fn scope(&self) -> Scope {
        if self.project { Scope::Project } else { Scope::User }
    }
}

/// Which verb it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    /// `mcp install`
    Install,
    /// `mcp uninstall`
    Uninstall,
}

/// Plans a change for each agent, shows them, asks, and applies them. A file that can't be changed doesn't stop the others.
pub(super) fn carry_out(
    verb: Verb,
    options: &ChangeOptions,
    printer: &mut Printer,
    plan: impl Fn(&'static Agent, Scope, &Places) -> Result<SettingsChange, Problem>,
) -> Result<Outcome, Error> {
    let scope = options.scope();
    let packages = manager()?;
    let packages = match scope {
        Scope::Project => packages.choose_scope(Some(scope)).0,
        Scope::User => packages,
    };
    let places = packages.places();
    let agents = chosen(verb, options, places)?;
    let mut failure: Option<Error> = None;
    let mut planned = Vec::new();
    for agent in agents {
        match plan(agent, scope, places) {
            Ok(change) => planned.push(change),
            Err(problem) => fail(&mut failure, problem.into(), printer),
        }
    }
    let is_change = |change: &&SettingsChange| change.action != SettingsAction::Nothing;
    let changes: Vec<&SettingsChange> = planned.iter().filter(is_change).collect();
    if options.format == Format::Text || !options.yes {
        for change in &changes {
            let difference = change.difference(&places.shown(&change.path));
            printer.piece(Channel::Err, visible_lines(&difference).as_bytes());
        }
    }
    let mut applied = Vec::new();
    if !options.dry_run && !changes.is_empty() && is_agreed(changes.len(), options, printer)? {
        for change in &changes {
            match change.apply(places) {
                Ok(()) => applied.push(change.agent),
                Err(problem) => fail(&mut failure, problem.into(), printer),
            }
        }
    }
    report(verb, options, places, &planned, &applied, printer);
    failure.map_or(Ok(Outcome::Fine), Err)
}

/// The agents that the user names, else those on this machine whose settings are known.
fn chosen(
    verb: Verb,
    options: &ChangeOptions,
    places: &Places,
) -> Result<Vec<&'static Agent>, Error> {
    let mut chosen: Vec<&'static Agent> = Vec::new();
    for id in &options.agents {
        let agent = agent_by_id(id)?;
        if !chosen.contains(&agent) {
            chosen.push(agent);
        }
    }
    if !options.agents.is_empty() {
        return Ok(chosen);
    }
    let is_known = |agent: &&Agent| mcp_settings::of(agent, options.scope()).is_some();
    let candidates = match verb {
        Verb::Install => agents::present(places),
        Verb::Uninstall => agents::all().iter().collect(),
    };
    chosen.extend(candidates.into_iter().filter(is_known));
    if chosen.is_empty() {
        return Err(Error::not_found("there is no agent on this machine whose settings are known")
            .hint("name an agent with `--agent`, such as `--agent claude-code`"));
    }
    Ok(chosen)
}

fn is_agreed(count: usize, options: &ChangeOptions, printer: &mut Printer) -> Result<bool, Error> {
    if options.yes {
        return Ok(true);
    }
    let files = if count == 1 { "this file".to_owned() } else { format!("these {count} files") };
    let question = format!("Change {files}? [y]es / [N]o: ");
    confirm(&question, printer).ok_or_else(|| {
        Error::refused("refusing to change settings without confirmation (not a terminal)")
            .hint("`--yes` changes them without confirmation, `--dry-run` only shows the changes")
    })
}

/// Keeps the first failure as the result and prints the others at once.
fn fail(failure: &mut Option<Error>, error: Error, printer: &mut Printer) {
    if failure.is_some() {
        printer.error(&error);
    } else {
        *failure = Some(error);
    }
}

fn report(
    verb: Verb,
    options: &ChangeOptions,
    places: &Places,
    planned: &[SettingsChange],
    applied: &[&'static Agent],
    printer: &mut Printer,
) {
    if options.format == Format::Json {
        let changes = planned.iter().map(|change| {
            json!({
                "agent": change.agent.id,
                "file": change.path.to_string_lossy(),
                "action": change.action.as_str(),
                "applied": applied.contains(&change.agent),
            })
        });
        printer.json(&json!({ "changes": changes.collect::<Vec<Value>>() }));
        return;
    }
    let mut is_anything = false;
    for change in planned {
        let (title, file) = (change.agent.title, places.shown(&change.path));
        let done = applied.contains(&change.agent);
        let line = match (change.action, verb) {
            (SettingsAction::Nothing, Verb::Install) => format!("{title}: already in `{file}`"),
            // All known agents are searched, and most are not in use.
            (SettingsAction::Nothing, Verb::Uninstall) if options.agents.is_empty() => continue,
            (SettingsAction::Nothing, Verb::Uninstall) => format!("{title}: not in `{file}`"),
            (SettingsAction::Remove, _) if options.dry_run => {
                format!("{title}: would be removed from `{file}`")
            }
            (_, _) if options.dry_run => format!("{title}: would be written into `{file}`"),
            (_, _) if !done => format!("{title}: `{file}` was not changed"),
            (SettingsAction::Add, _) => format!("{title}: added to `{file}`"),
            (SettingsAction::Update, _) => format!("{title}: updated in `{file}`"),
            (SettingsAction::Remove, _) => format!("{title}: removed from `{file}`"),
        };
        is_anything = true;
        printer.say(&line);
    }
    if !is_anything && verb == Verb::Uninstall && options.agents.is_empty() {
        printer.say("no settings have the entry");
    }
    if verb == Verb::Install && !applied.is_empty() {
        printer.hint("agents read their settings when they start: restart those that are running");
    }
}
