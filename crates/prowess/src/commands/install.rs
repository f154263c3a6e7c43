//! `prowess install`: skills from folders, archives, repositories, domains and registries.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::Args;
use prowess_library::packages::{
    AgentTargets, ChangeGoal, ChangeRequest, ImportedSkills, PackageManager, SEVERAL_SKILLS,
};
use prowess_package::name::SkillName;
use prowess_store::agents::Agent;
use prowess_store::install::SkillRequirement;
use prowess_store::placement::PlacementMode;
use prowess_store::places::Scope;
use prowess_store::reference::Reference;
use serde_json::json;

use super::Outcome;
use crate::error::Error;
use crate::packages::change::{ChangeOptions, carry_out};
use crate::packages::names::skill_name;
use crate::packages::options::{
    AgentOptions, FetchOptions, Format, PermissionOptions, ScopeOption,
};
use crate::packages::scope::ScopedPackages;
use crate::packages::sources::SourceSession;
use crate::render::change_report::{Report, changing};
use crate::render::inventory_text::shown;
use crate::render::problem_text::quoted;
use crate::terminal::confirm::can_ask;
use crate::terminal::printer::{Printer, inline};
use crate::terminal::selection::select;

/// Install skills, with everything that they need
///
/// Before anything is written you see who signed a skill, what it may do, what it can
/// make an agent do and what has changed since the installed version. Then everything is installed at once,
/// or nothing. Installing never runs anything that a skill contains.
///
/// SKILL is a folder or archive (`./greet`, `greet.tar.gz`), a repository
/// (`owner/repository`, any git URL, `#revision:folder` behind it), a domain that
/// publishes skills (`example.com`), an MCP server that publishes skills
/// (`mcp:SERVER`, as `prowess mcp servers` lists it), or a name in a registry
/// (`name`, `ns/name`, `name@^1.2`). Without SKILL, everything in the lock file is
/// installed.
///
/// With `--agent` the skills are also placed in the folders of agents: as a link to
/// the installed skill, or as a copy if an agent doesn't follow links. Files of
/// others are never replaced, and `prowess remove` removes what was placed.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess install ./greet --allow-experimental
  prowess install owner/repository --skill greet
  prowess install https://example.com/tools.git#v2:skills/greet
  prowess install greet@^1.2
  prowess install greet --agent claude-code,codex
  prowess install --import skills-lock.json
  prowess install --dry-run       what the lock file brings
  prowess install --frozen --allow-experimental --yes    in CI: these bytes

Exit codes:
  0  everything is installed
  1  it failed; of what is named nothing was changed
  2  the arguments are wrong
  3  there is no such skill
  4  refused: not signed, changed, or not agreed to
Without SKILL and with `--import` a skill that can't be fetched doesn't stop the others:
then 1 or 4 says that some are missing, and which.")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Arguments {
    /// What to install; everything in the lock file if omitted
    #[arg(value_name = "SKILL")]
    skills: Vec<String>,
    /// The skill to install from a source with several
    #[arg(long = "skill", value_name = "NAME", requires = "skills", value_delimiter = ',')]
    only: Vec<String>,
    /// Install every skill of a source with several
    #[arg(long, requires = "skills", conflicts_with = "only")]
    all: bool,
    /// Install a skill whose own name is invalid under this name
    #[arg(long = "as", value_name = "NAME", requires = "skills", conflicts_with = "all")]
    chosen: Option<String>,
    /// Of several skills, skip those that can't be installed
    #[arg(long)]
    skip_broken: bool,
    #[command(flatten)]
    scope: ScopeOption,
    #[command(flatten)]
    agents: AgentOptions,
    #[command(flatten)]
    permissions: PermissionOptions,
    /// Install what another tool's lock file lists (found automatically or given)
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with_all = ["skills", "frozen"])]
    #[expect(clippy::option_option, reason = "not asked for, whatever is found, this file")]
    import: Option<Option<PathBuf>>,
    /// Install exactly the bytes that the lock file lists; fail if there is none
    #[arg(long, conflicts_with = "skills")]
    frozen: bool,
    /// Show what would change, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Print the difference of all texts from what is installed
    #[arg(long)]
    diff: bool,
    #[command(flatten)]
    fetching: FetchOptions,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let before = json!({ "installed": false });
    changing(arguments.format, before, printer, |report, printer| {
        install(arguments, report, printer)
    })
}

fn install(
    arguments: &Arguments,
    report: &mut Report,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let scoped = ScopedPackages::open(arguments.scope)?;
    scoped.tell(report, printer);
    let (packages, scope) = (&scoped.packages, scoped.scope());
    let mut agents = arguments.agents.targets(packages, scope)?;
    let is_restore = arguments.skills.is_empty() && arguments.import.is_none();
    if is_restore {
        require_lock_file(&packages.lock_path(scope))?;
    }
    let sources = SourceSession::open(packages, printer, arguments.fetching.offline)?;
    sources.consent_to_servers(arguments.permissions.yes());
    let goal = match &arguments.import {
        _ if is_restore => ChangeGoal::Restore,
        Some(file) => ChangeGoal::Import(import(file.as_deref(), packages, printer)?),
        None => ChangeGoal::Install(requirements(arguments, packages, &sources)?),
    };
    // Somebody who has decided everything in advance is not asked.
    let is_asked = report.is_text()
        && !arguments.dry_run
        && !arguments.permissions.yes()
        && matches!(goal, ChangeGoal::Install(_))
        && can_ask(printer);
    if is_asked && arguments.agents.are_open() {
        agents = choose_agents(packages, scope, printer);
    }
    let mut request = ChangeRequest {
        goal,
        scope,
        permissions: arguments.permissions.permissions(),
        // The lock file says which releases to restore, however young they are.
        min_age: arguments.fetching.min_age.filter(|_| !is_restore),
        agents,
    };
    let options = ChangeOptions {
        dry_run: arguments.dry_run,
        yes: arguments.permissions.yes(),
        diff: arguments.diff,
        skip_unavailable: arguments.skip_broken,
    };
    let done = loop {
        let done = carry_out(packages, &request, &sources, options, report, printer);
        match done {
            Err(error) if is_asked && error.code == Some(SEVERAL_SKILLS) => {
                if !choose_skills(packages, &sources, &mut request, printer) {
                    return Err(error);
                }
            }
            done => break done?,
        }
    };
    if !arguments.dry_run {
        tell_unseen(arguments, &scoped, report, printer);
    }
    Ok(done)
}

/// Asks which agents get the skills.
fn choose_agents(packages: &PackageManager, scope: Scope, printer: &mut Printer) -> AgentTargets {
    let present = packages.present_agents(scope);
    if present.is_empty() {
        return AgentTargets::Existing;
    }
    let ids: Vec<String> = present.iter().map(|agent| agent.id.to_owned()).collect();
    let chosen = select("agents on this machine:", &ids, "Which of them get it?", printer);
    let chosen: Vec<&'static Agent> =
        chosen.unwrap_or_default().into_iter().map(|number| present[number]).collect();
    if chosen.is_empty() {
        return AgentTargets::Existing;
    }
    AgentTargets::Also(chosen, PlacementMode::AsSeen)
}

/// Asks which skills of a source with several are installed; whether one was chosen.
fn choose_skills(
    packages: &PackageManager,
    sources: &SourceSession,
    request: &mut ChangeRequest,
    printer: &mut Printer,
) -> bool {
    let Some(offered) = packages.offered_skills(request, &sources.as_sources()) else {
        return false;
    };
    let ChangeGoal::Install(requirements) = &mut request.goal else { return false };
    let title =
        format!("`{}` contains {} skills:", inline(&offered.reference), offered.names.len());
    let chosen = select(&title, &offered.names, "Which of them?", printer).unwrap_or_default();
    let chosen: BTreeSet<String> =
        chosen.into_iter().map(|number| offered.names[number].clone()).collect();
    let is_meant = |requirement: &&mut SkillRequirement| {
        requirement.only.is_empty() && requirement.reference.to_string() == offered.reference
    };
    let Some(requirement) = requirements.iter_mut().find(is_meant) else { return false };
    requirement.only.clone_from(&chosen);
    !chosen.is_empty()
}

/// Says which of the installed skills no agent sees, if there are agents on this machine.
fn tell_unseen(
    arguments: &Arguments,
    scoped: &ScopedPackages,
    report: &mut Report,
    printer: &mut Printer,
) {
    let (packages, scope) = (&scoped.packages, scoped.scope());
    let present = packages.present_agents(scope);
    let unseen = match present.as_slice() {
        [] => Vec::new(),
        _ => packages.unseen(scope, &report.names()),
    };
    report.put(json!({ "unseen": unseen.iter().map(SkillName::as_str).collect::<Vec<&str>>() }));
    if unseen.is_empty() || !report.is_text() {
        return;
    }
    let (what, it) = match unseen.as_slice() {
        [one] => (format!("`{one}`"), "it"),
        several => (format!("{} of the skills", several.len()), "them"),
    };
    let agents: Vec<&str> = present.iter().map(|agent| agent.id).collect();
    let mut command = vec!["prowess install".to_owned()];
    command.extend(arguments.skills.iter().map(|skill| quoted(skill)));
    command.extend(arguments.only.iter().map(|name| format!("--skill {}", quoted(name))));
    command.extend(arguments.all.then(|| "--all".to_owned()));
    command.extend(arguments.scope.flag().map(str::to_owned));
    command.push(format!("--agent {}", agents.join(",")));
    printer.note(&format!("no agent sees {what} yet; to place {it}: `{}`", command.join(" ")));
}

fn require_lock_file(path: &Path) -> Result<(), Error> {
    if path.exists() {
        return Ok(());
    }
    Err(Error::not_found(format!("there is no lock file `{}`", path.display()))
        .hint("name what to install, such as `prowess install ./greet`"))
}

/// The skills that the command line names.
fn requirements(
    arguments: &Arguments,
    packages: &PackageManager,
    sources: &SourceSession,
) -> Result<Vec<SkillRequirement>, Error> {
    let only: BTreeSet<String> = if arguments.all {
        ["*".to_owned()].into()
    } else {
        arguments.only.iter().cloned().collect()
    };
    let chosen = arguments.chosen.as_deref().map(skill_name).transpose()?;
    if chosen.is_some() && (arguments.skills.len() > 1 || only.len() > 1) {
        return Err(Error::usage("`--as` gives one skill a name, and several are named")
            .hint("install them one by one"));
    }
    let requirement = |text: &String| {
        let reference = packages.reference(text, sources.has_registry)?;
        if let (Reference::Named(named), Some(chosen)) = (&reference, &chosen) {
            return Err(Error::usage(format!(
                "`{named}` is a name in a registry, so it can't be installed as `{chosen}`"
            ))
            .hint("run it without `--as`"));
        }
        let origin = "the command line".to_owned();
        Ok(SkillRequirement { reference, only: only.clone(), chosen: chosen.clone(), origin })
    };
    arguments.skills.iter().map(requirement).collect()
}

/// Reads lock files of other tools and reports which of their skills can be installed.
fn import(
    file: Option<&Path>,
    packages: &PackageManager,
    printer: &mut Printer,
) -> Result<ImportedSkills, Error> {
    let imported = packages.read_import(file).map_err(|problem| {
        let is_missing = problem.code == "no-lock-file-to-import";
        let error = Error::from(problem);
        if is_missing {
            error.hint("name it: `prowess install --import skills-lock.json`")
        } else {
            error
        }
    })?;
    for file in &imported.files {
        let place = shown(packages.places(), &file.path);
        let count =
            if file.count == 1 { "1 skill".to_owned() } else { format!("{} skills", file.count) };
        printer.say(&format!("`{place}` of {} lists {count}", file.tool));
        for note in &file.notes {
            printer.warning(note);
        }
        for (name, reference) in &file.accepted {
            printer.say(&format!("  {} from {reference}", inline(name)));
        }
        for skipped in &file.skipped {
            let (name, reason) = (inline(&skipped.name), inline(&skipped.reason));
            printer.warning(&format!("`{name}` of `{place}` is left out: {reason}"));
        }
    }
    if imported.requirements.is_empty() {
        return Err(Error::failed("none of these skills can be installed")
            .hint("install the skills by hand, from where they are published"));
    }
    Ok(imported)
}
