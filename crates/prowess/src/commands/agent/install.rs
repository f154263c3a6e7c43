//! `prowess agent install`: the skills of an agent, beside its manifest.

use std::collections::BTreeSet;

use clap::Args;
use prowess_core::Remedy;
use prowess_format::manifest::ActiveSkills;
use prowess_format::skill::SkillDependency;
use prowess_package::name::SkillName;
use prowess_policy::Tier;
use prowess_store::composition::{Fit, fit, installed_name};
use prowess_store::install::{InstallError, Installer, Plan, Restoration, Step, Wish};
use prowess_store::lock::{Lock, Locked};
use prowess_store::places::Scope;
use prowess_store::reference::{Named, Reference};
use prowess_store::review::{Leave, Refusal};
use prowess_store::source::Source as _;
use prowess_store::store::LOCK_FILE;
use serde_json::json;

use super::{Agent, AgentOptions};
use crate::commands::Outcome;
use crate::commands::install::{Doing, FetchOptions, Format, carry_out};
use crate::error::Error;
use crate::render::change_report::{Report, changing};
use crate::render::problem_text::hints;
use crate::store::agent_folders::Placing;
use crate::store::packages::{Packages, Reach, Stop, lock_of, skill_name, source_failed};
use crate::terminal::printer::{Printer, inline};

/// Install the skills that an agent lists, beside its manifest
///
/// Required and optional skills, with all that they need, go into `.prowess/` next
/// to the manifest, with the lock file `.prowess/skill-lock.json`; your own skills
/// are left alone. They come from `--from`, else from the configured registries. A
/// skill that the lock file has in a version that fits stays, or is put back. An
/// optional skill that can't be installed is left out with a warning.
///
/// A skill that nobody you trust has signed is never installed because a manifest
/// lists it: look at it, and name it with `--allow-experimental`.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess agent install AGENT.yaml --dry-run
  prowess agent install AGENT.yaml --from ./skills --allow-experimental notes
  prowess agent install AGENT.yaml --frozen     in CI: exactly what the lock file says

Exit codes:
  0  everything that the agent requires is installed
  1  it failed; without `--frozen` nothing was changed
  2  there is no such skill set
  3  there is no such file or skill
  4  refused: experimental, changed, or not agreed to")]
#[expect(clippy::struct_excessive_bools, reason = "one for each flag")]
pub(super) struct Arguments {
    #[command(flatten)]
    agent: AgentOptions,
    /// A folder, repository or domain with skills, asked before registries
    #[arg(long, value_name = "PLACE")]
    from: Vec<String>,
    /// Install these skills although nobody you trust has signed them
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    allow_experimental: Vec<String>,
    /// Install over a signed version one that is not signed
    #[arg(long)]
    allow_unsigned: bool,
    /// Install over a skill of another owner or from another place
    #[arg(long)]
    replace_owner: bool,
    /// Agree to all questions
    #[arg(short, long)]
    yes: bool,
    /// Only what the lock file says, and fail when it does not suit the manifest
    #[arg(long, conflicts_with = "from")]
    frozen: bool,
    /// Look, and write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    fetching: FetchOptions,
    /// How the result is written
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// A place that was named with `--from`, and what it has.
struct Place {
    text: String,
    reference: Reference,
    names: BTreeSet<String>,
}

/// A skill that an agent lists and the store does not have.
struct WantedSkill<'m> {
    dependency: &'m SkillDependency,
    wish: Wish,
}

/// All of them.
struct Wanted<'m> {
    skills: Vec<WantedSkill<'m>>,
    left_out: LeftOut,
}

pub(super) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
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
    let agent = Agent::sound(&arguments.agent, "installed", printer)?;
    let active = agent.active()?;
    let packages = agent.packages()?;
    let lock_path = packages.store_path(Scope::Project).join(LOCK_FILE);
    if arguments.frozen && !lock_path.exists() {
        let missing = Error::not_found(format!("there is no lock file `{}`", lock_path.display()));
        return Err(missing.hint("`prowess agent install` without `--frozen` writes it"));
    }
    let store = packages.store(Scope::Project)?;
    let reach = packages.reach(printer, arguments.fetching.offline)?;
    let named: BTreeSet<SkillName> = arguments
        .allow_experimental
        .iter()
        .map(|text| skill_name(text))
        .collect::<Result<_, Error>>()?;
    let placing = Placing::as_before(&packages, Scope::Project);
    let doing = Doing {
        dry_run: arguments.dry_run,
        yes: arguments.yes,
        placing: &placing,
        can_allow_all: false,
    };
    let leave = Leave {
        experimental: !named.is_empty(),
        unsigned: arguments.allow_unsigned,
        replace_owner: arguments.replace_owner,
    };
    let places = places(arguments, &packages, &reach)?;
    let min_age = arguments.fetching.min_age;
    packages.with_installer(&store, &reach, leave, min_age, |installer| {
        report.forget_failures();
        let lock = lock_of(&store)?;
        let kept = if arguments.frozen {
            suits(&active, &lock)?;
            lock.skills.keys().cloned().collect()
        } else {
            kept(&active, &lock)
        };
        let Restoration { plan: restoration, failures, .. } =
            installer.plan_restore(Some(&kept))?;
        if arguments.frozen {
            for (name, error) in &failures {
                report.fail(name.as_str(), "put back", error);
            }
            let plan = allowed(restoration, &named, installer);
            return carry_out(plan, &doing, report, printer, installer);
        }
        let Wanted { skills, left_out } =
            wanted(&agent, &active, &lock, &places, &failures, reach.has_registry)?;
        let (plan, more_left_out) = plan(installer, &skills, &named)?;
        for (name, why) in left_out.iter().chain(&more_left_out) {
            let message = format!("`{name}` is optional and is left out: {why}");
            printer.warning(&inline(&message));
        }
        if let Some(obstacle @ Obstacle::OtherVersion { .. }) =
            obstacle(&plan, &skills, &named, installer)
        {
            return Err(Stop::from(obstacle.error(agent.name())));
        }
        let plan = allowed(plan.and(restoration)?, &named, installer);
        carry_out(plan, &doing, report, printer, installer)
    })
}

/// The skills of the lock file that an agent uses as they are, with all that they need.
fn kept(active: &ActiveSkills<'_>, lock: &Lock) -> BTreeSet<SkillName> {
    let fitting = active.skills.iter().filter_map(|dependency| {
        let (name, entry) = locked(lock, dependency)?;
        (fit(dependency, declared(&entry.version).as_deref()) == Fit::Fits).then_some(name)
    });
    let mut next: Vec<SkillName> = fitting.collect();
    let mut kept = BTreeSet::new();
    while let Some(name) = next.pop() {
        if let Some(entry) = lock.skills.get(&name)
            && kept.insert(name)
        {
            next.extend(entry.dependencies.keys().cloned());
        }
    }
    kept
}

/// GAIA §4.3: an experimental skill is installed when it was named, also one that comes along, and never otherwise.
fn allowed(mut plan: Plan, named: &BTreeSet<SkillName>, installer: &Installer<'_>) -> Plan {
    for number in 0..plan.steps.len() {
        let is_unknown = is_unknown(&plan, &plan.steps[number], installer);
        let step = &mut plan.steps[number];
        let is_named = named.contains(step.name());
        let refusals = &mut step.review.refusals;
        if is_named {
            refusals.retain(|refusal| *refusal != Refusal::ExperimentalDependency);
        } else if is_unknown && refusals.is_empty() {
            refusals.push(Refusal::Experimental);
        }
    }
    plan
}

/// Whether a skill is experimental, and this user has never agreed to one of its name.
fn is_unknown(plan: &Plan, step: &Step, installer: &Installer<'_>) -> bool {
    let name = step.name();
    let is_known =
        plan.lock().skills.get(name).is_some_and(|entry| {
            entry.tier == Tier::Experimental && installer.has_agreed(name, entry)
        });
    step.entry.tier == Tier::Experimental && !is_known
}

/// The version of an installed skill, as a manifest's range sees it: `0.0.0` stands for none (R5).
fn declared(version: &semver::Version) -> Option<String> {
    (*version != semver::Version::new(0, 0, 0)).then(|| version.to_string())
}

fn locked<'l>(lock: &'l Lock, dependency: &SkillDependency) -> Option<(SkillName, &'l Locked)> {
    let name: SkillName = installed_name(dependency).parse().ok()?;
    lock.skills.get(&name).map(|entry| (name, entry))
}

/// Whether a lock file has everything that the agent requires.
fn suits(active: &ActiveSkills<'_>, lock: &Lock) -> Result<(), Error> {
    for dependency in &active.skills {
        let entry = locked(lock, dependency);
        let fit = match &entry {
            Some((_, entry)) => fit(dependency, declared(&entry.version).as_deref()),
            None if !dependency.required => continue,
            None => Fit::Missing,
        };
        if fit != Fit::Fits {
            let name = dependency.name.as_str();
            let has = entry.map_or("nothing".to_owned(), |(_, entry)| entry.version.to_string());
            return Err(Error::refused(format!(
                "the lock file does not suit the manifest: it has {has} for `{name}`, which is wanted as `{}`",
                if dependency.range.is_empty() { "any version" } else { &dependency.range }
            ))
            .hint("run `prowess agent install` without `--frozen`, and keep the new lock file"));
        }
    }
    Ok(())
}

/// The places of `--from`, asked once.
fn places(arguments: &Arguments, packages: &Packages, reach: &Reach) -> Result<Vec<Place>, Error> {
    let ask = |text: &String| {
        let reference = place(text, packages, reach)?;
        let offers = reach.sources.offers(&reference).map_err(|error| source_failed(&error))?;
        let names = offers.skills.into_iter().map(|offer| offer.name).collect();
        Ok(Place { text: text.clone(), reference, names })
    };
    arguments.from.iter().map(ask).collect()
}

fn wanted<'m>(
    agent: &Agent,
    active: &ActiveSkills<'m>,
    lock: &Lock,
    places: &[Place],
    gone: &[(SkillName, InstallError)],
    has_registry: bool,
) -> Result<Wanted<'m>, Error> {
    let origin = format!("`{}`", inline(agent.name()));
    let mut wanted = Wanted { skills: Vec::new(), left_out: LeftOut::new() };
    let kept = kept(active, lock);
    for &dependency in &active.skills {
        let name = installed_name(dependency);
        let gone = gone.iter().find(|(gone, _)| gone.as_str() == name);
        let is_kept = kept.iter().any(|kept| kept.as_str() == name);
        if is_kept && gone.is_none() {
            continue;
        }
        let reference = match places.iter().find(|place| place.names.contains(name)) {
            Some(place) => place.reference.clone(),
            None if has_registry => {
                let named: Named = dependency.name.as_str().parse().map_err(
                    |error: prowess_package::name::NameError| Error::usage(error.to_string()),
                )?;
                let range = Some(dependency.range.clone()).filter(|it| !it.trim().is_empty());
                Reference::Named(Named { range, ..named })
            }
            None => {
                let error = nowhere(dependency.name.as_str(), places, gone);
                if dependency.required {
                    return Err(error);
                }
                wanted.left_out.push((dependency.name.value.clone(), error.message));
                continue;
            }
        };
        let only = match &reference {
            Reference::Named(_) => BTreeSet::new(),
            _ => [name.to_owned()].into(),
        };
        let wish = Wish { reference, only, chosen: None, origin: origin.clone() };
        wanted.skills.push(WantedSkill { dependency, wish });
    }
    // What a listed skill needs is not listed, and its own failure says what is missing.
    let is_listed = |name: &SkillName| {
        active.skills.iter().any(|dependency| installed_name(dependency) == name.as_str())
    };
    if let Some(missing) = gone.iter().find(|(name, _)| !is_listed(name)) {
        return Err(nowhere(missing.0.as_str(), places, Some(missing)));
    }
    Ok(wanted)
}

/// That a skill is to be had from nowhere: not from where the lock file has it, and not from the places that were named.
fn nowhere(name: &str, places: &[Place], gone: Option<&(SkillName, InstallError)>) -> Error {
    let name = inline(name);
    let listed = |place: &Place| {
        let names: Vec<String> = place.names.iter().map(|name| format!("`{name}`")).collect();
        format!("`{}` has no skill `{name}`, only {}", place.text, names.join(", "))
    };
    let mut reasons: Vec<String> = gone.iter().map(|(_, error)| error.to_string()).collect();
    reasons.extend(places.iter().map(listed));
    let why = if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) };
    Error::not_found(inline(&format!("there is nowhere to get `{name}` from{why}")).into_owned())
        .hint("name a place that has it with `--from`, or set up a registry in the configuration")
}

/// A place with skills. Only here a bare word is a folder, because no skill is named.
fn place(text: &str, packages: &Packages, reach: &Reach) -> Result<Reference, Error> {
    let path = packages.places.current.join(text);
    if path.exists() {
        return Ok(Reference::Path(path));
    }
    match packages.reference(text, reach)? {
        Reference::Named(_) => Err(Error::not_found(format!("`{}` is no place", inline(text)))
            .hint("name a folder, an archive, a repository or a domain")),
        reference => Ok(reference),
    }
}

/// Optional skills that are not in a plan, and why.
type LeftOut = Vec<(String, String)>;

/// A plan with everything that is required, and with as much of the rest as goes together with it.
fn plan(
    installer: &Installer<'_>,
    wanted: &[WantedSkill<'_>],
    named: &BTreeSet<SkillName>,
) -> Result<(Plan, LeftOut), InstallError> {
    let wishes = |chosen: &[&WantedSkill<'_>]| -> Vec<Wish> {
        chosen.iter().map(|wanted| wanted.wish.clone()).collect()
    };
    // GAIA §4.3: whoever names a skill knows of it, also when only another skill needs it.
    let plan_of = |chosen: &[&WantedSkill<'_>]| -> Result<Plan, InstallError> {
        let mut plan = installer.plan(&wishes(chosen))?;
        for step in plan.steps.iter_mut().filter(|step| named.contains(step.name())) {
            step.review.refusals.retain(|refusal| *refusal != Refusal::ExperimentalDependency);
        }
        Ok(plan)
    };
    let mut chosen: Vec<&WantedSkill<'_>> = wanted.iter().collect();
    let whole = plan_of(&chosen);
    let is_fine =
        whole.as_ref().is_ok_and(|plan| obstacle(plan, wanted, named, installer).is_none());
    if is_fine || wanted.iter().all(|wanted| wanted.dependency.required) {
        return Ok((whole?, Vec::new()));
    }
    // One after the other, so that the one that is in the way is the one that is left out.
    chosen.retain(|wanted| wanted.dependency.required);
    let mut best = plan_of(&chosen)?;
    let mut left_out = Vec::new();
    if obstacle(&best, wanted, named, installer).is_some() {
        return Ok((best, left_out));
    }
    for one in wanted.iter().filter(|wanted| !wanted.dependency.required) {
        chosen.push(one);
        let why = match plan_of(&chosen) {
            Ok(plan) => match obstacle(&plan, wanted, named, installer) {
                None => {
                    best = plan;
                    continue;
                }
                Some(obstacle) => format!("{}; {}", obstacle.what(), obstacle.hints().join("; ")),
            },
            Err(error) => error.to_string(),
        };
        chosen.pop();
        left_out.push((one.dependency.name.value.clone(), why));
    }
    Ok((best, left_out))
}

/// Why a plan is none for an agent.
enum Obstacle {
    /// GAIA §4.3: never installed because somebody lists it.
    Experimental(SkillName),
    /// The place has another version than the manifest asks for.
    OtherVersion { name: SkillName, version: String, range: String },
    /// Refused for another reason.
    Refused { name: SkillName, reasons: Vec<String>, hints: Vec<String> },
}

fn obstacle(
    plan: &Plan,
    wanted: &[WantedSkill<'_>],
    named: &BTreeSet<SkillName>,
    installer: &Installer<'_>,
) -> Option<Obstacle> {
    let steps = plan.steps.iter().map(|step| (step.name(), &step.entry.version));
    let unchanged = plan.unchanged.iter().map(|(name, version)| (name, version));
    for (name, version) in steps.chain(unchanged) {
        let mut dependencies = wanted.iter().map(|wanted| wanted.dependency);
        let version = declared(version);
        if let Some(dependency) = dependencies.find(|it| installed_name(it) == name.as_str())
            && fit(dependency, version.as_deref()) != Fit::Fits
        {
            let (name, range) = (name.clone(), dependency.range.clone());
            let version = version.unwrap_or_else(|| "without a version".to_owned());
            return Some(Obstacle::OtherVersion { name, version, range });
        }
    }
    for step in &plan.steps {
        let name = step.name().clone();
        if is_unknown(plan, step, installer) && !named.contains(&name) {
            return Some(Obstacle::Experimental(name));
        }
        let comes_along = |refusal: &&Refusal| **refusal == Refusal::ExperimentalDependency;
        let refusals: Vec<&Refusal> = step
            .review
            .refusals
            .iter()
            .filter(|refusal| !(comes_along(refusal) && named.contains(&name)))
            .collect();
        if !refusals.is_empty() {
            let reasons = refusals.iter().map(ToString::to_string).collect();
            let remedies: Vec<Remedy> =
                refusals.iter().flat_map(|refusal| refusal.remedies()).collect();
            let hints = hints(&remedies);
            return Some(Obstacle::Refused { name, reasons, hints });
        }
    }
    None
}

impl Obstacle {
    fn what(&self) -> String {
        match self {
            Self::Experimental(name) => {
                format!(
                    "`{name}` is experimental, and that a manifest lists it or a skill needs it is not enough"
                )
            }
            Self::OtherVersion { name, version, range } => {
                format!("what there is of `{name}` is {version}, which is not in `{range}`")
            }
            Self::Refused { name, reasons, .. } => {
                format!("`{name}` is refused: {}", reasons.join("; "))
            }
        }
    }

    fn hints(&self) -> Vec<String> {
        match self {
            Self::Experimental(name) => vec![format!(
                "read it first (`prowess show`, `prowess policy`), then give `--allow-experimental {name}`"
            )],
            Self::OtherVersion { .. } => vec!["change the range, or name another place".to_owned()],
            Self::Refused { hints, .. } => hints.clone(),
        }
    }

    fn error(&self, agent: &str) -> Error {
        let what = format!("nothing was installed for `{agent}`: {}", self.what());
        self.hints().into_iter().fold(Error::refused(inline(&what)), Error::hint)
    }
}
