//! `prowess agent check`: a manifest, and whether what it lists is there.

use std::fmt::Write as _;

use clap::Args;
use prowess_format::manifest::ActiveSkills;
use prowess_format::skill::SkillDependency;
use prowess_resolve::Range;
use prowess_store::composition::{Composition, Fit, Member};
use prowess_store::reference::NamedReference;
use prowess_store::source::Catalogue as _;
use serde_json::{Value, json};

use super::{Agent, AgentOptions, FINDINGS};
use crate::commands::Outcome;
use crate::error::Error;
use crate::packages::options::Format;
use crate::packages::sources::SourceSession;
use crate::render::{full, json};
use crate::skill::check_report;
use crate::terminal::printer::{Printer, inline};
use prowess_library::packages::PackageManager;

/// Check a manifest against the installed skills
///
/// Reports what is wrong with the file, and with each skill it lists: missing,
/// of a version outside the range, without a version although one is asked for,
/// or in need of a larger model than the agent's smallest. A skill with
/// `required: false` gives warnings. For what is missing, configured registries
/// are asked which version would be installed.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess agent check AGENT.yaml
  prowess agent check agents/desk --set office --format json

Exit codes:
  0  the agent has everything it requires
  1  it has not, or the manifest has errors
  2  there is no such skill set
  3  there is no such file")]
pub(super) struct Arguments {
    #[command(flatten)]
    agent: AgentOptions,
    /// Ask nothing over the network
    #[arg(long)]
    offline: bool,
    /// How the result is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(super) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let agent = Agent::load(&arguments.agent)?;
    if agent.examined.errors > 0 {
        // What a manifest with errors lists is not known, so it is held against nothing.
        let report = agent.examined.report.as_slice();
        match arguments.format {
            Format::Text => printer.report(&full::render(report, printer.colour())),
            Format::Json => {
                let diagnostics: Vec<Value> = report.iter().flat_map(json::diagnostics).collect();
                printer.json(&json!({
                    "path": crate::skill::skill_ref::shown(&agent.path),
                    "agent": agent.manifest.name.as_ref().map(|name| name.as_str()),
                    "diagnostics": diagnostics,
                }));
            }
        }
        return Ok(Outcome::Findings);
    }
    let active = agent.active()?;
    let packages = agent.packages()?;
    let composition = agent.compose(&active, &packages);
    let sources = SourceSession::open(&packages, printer, arguments.offline)?;
    let available: Vec<Option<String>> = composition
        .members
        .iter()
        .map(|member| available(member, &sources, arguments.offline, printer))
        .collect();
    let findings = check_report::read_manifest(agent.text.as_bytes()).1.diagnostics;
    let has_errors = composition.has_errors();
    let mut all = findings;
    all.extend(composition.diagnostics.iter().cloned());
    all.sort_by_key(|found| found.span);
    let examined =
        check_report::examine_agent(&agent.path, &agent.text, &agent.manifest, all, &FINDINGS);
    let report = examined.report.as_slice();
    match arguments.format {
        Format::Text => {
            printer.report(&full::render(report, printer.colour()));
            printer.data(&page(&agent, &active, &composition, &available, &packages));
        }
        Format::Json => {
            let diagnostics: Vec<Value> = report.iter().flat_map(json::diagnostics).collect();
            let mut whole = wire(&agent, &active, &composition, &available);
            whole["diagnostics"] = json!(diagnostics);
            printer.json(&whole);
        }
    }
    Ok(if has_errors { Outcome::Findings } else { Outcome::Fine })
}

/// The version that a registry would give, for a skill that is not as it should be.
fn available(
    member: &Member<'_>,
    sources: &SourceSession,
    offline: bool,
    printer: &mut Printer,
) -> Option<String> {
    if member.fit == Fit::Fits || !sources.has_registry || offline {
        return None;
    }
    let named: NamedReference = member.dependency.name.as_str().parse().ok()?;
    let range = Range::declared(member.dependency).ok()?;
    let releases =
        sources.sources.package(&named).and_then(|package| sources.sources.releases(&package));
    match releases {
        Ok(releases) => releases
            .iter()
            .filter(|release| !release.yanked && range.contains(&release.version))
            .map(|release| &release.version)
            .max_by_key(|version| (version.pre.is_empty(), *version))
            .map(ToString::to_string),
        Err(error) => {
            printer.note(&inline(&error.what));
            None
        }
    }
}

fn page(
    agent: &Agent,
    active: &ActiveSkills<'_>,
    composition: &Composition<'_>,
    available: &[Option<String>],
    packages: &PackageManager,
) -> String {
    let mut page = String::new();
    let version = agent.manifest.version.as_ref().map(|version| format!(" {}", version.as_str()));
    let set = active.set.map(|set| format!(", skill set `{set}` ({})", active.chosen_by.as_str()));
    let title = format!(
        "{}{}: {}{}",
        agent.name(),
        version.unwrap_or_default(),
        counted(active.skills.len(), "skill"),
        set.unwrap_or_default()
    );
    let _ = writeln!(page, "{}", inline(&title));
    let name = |dependency: &SkillDependency| inline(dependency.name.as_str()).into_owned();
    let widest = active.skills.iter().map(|skill| name(skill).chars().count()).max().unwrap_or(0);
    for (member, available) in composition.members.iter().zip(available) {
        let Member { dependency, present, fit } = member;
        let mut words = match (fit, present) {
            (Fit::Fits, Some(present)) => {
                let version = present.version.as_deref().unwrap_or("no version");
                let place = packages.places().shown(&present.directory);
                format!("{}  {}", inline(version), inline(&place))
            }
            (fit, _) => fit.as_str().to_owned(),
        };
        if !dependency.required {
            words.push_str(" (optional)");
        }
        if let Some(version) = available {
            let _ = write!(words, ", a registry has {version}");
        }
        let _ = writeln!(page, "  {:widest$}  {words}", name(dependency));
    }
    if !agent.manifest.tools.is_empty() {
        let tools: Vec<&str> = agent.manifest.tools.iter().map(|tool| tool.name.as_str()).collect();
        let _ = writeln!(page, "  tools of its own: {}", inline(&tools.join(", ")));
    }
    page
}

fn counted(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

fn wire(
    agent: &Agent,
    active: &ActiveSkills<'_>,
    composition: &Composition<'_>,
    available: &[Option<String>],
) -> Value {
    let skills: Vec<Value> = composition
        .members
        .iter()
        .zip(available)
        .map(|(member, available)| {
            let present = member.present.as_ref();
            json!({
                "name": member.dependency.name.value,
                "range": member.dependency.range,
                "required": member.dependency.required,
                "status": member.fit.as_str(),
                "version": present.and_then(|it| it.version.clone()),
                "directory": present.map(|it| it.directory.display().to_string()),
                "available": available,
            })
        })
        .collect();
    let model = &agent.manifest.model;
    let text =
        |text: &prowess_format::skill::OptionalText| text.as_ref().map(|text| text.value.clone());
    let tools: Vec<&str> = agent.manifest.tools.iter().map(|tool| tool.name.as_str()).collect();
    json!({
        "path": crate::skill::skill_ref::shown(&agent.path),
        "agent": text(&agent.manifest.name),
        "version": text(&agent.manifest.version),
        "set": active.set,
        "set_chosen_by": active.chosen_by.as_str(),
        "skills": skills,
        "tools": tools,
        "model": {
            "default": text(&model.default),
            "minimum": text(&model.minimum),
            "context": text(&model.context),
        },
    })
}
