//! `prowess agent install`: the skills of an agent, beside its manifest.

use std::collections::BTreeSet;

use clap::Args;
use prowess_format::manifest::ActiveSkills;
use prowess_format::skill::SkillDependency;
use prowess_package::name::SkillName;
use prowess_policy::Tier;
use prowess_store::composition::{Fit, fit, installed_name};
use prowess_store::drift;
use prowess_store::install::{InstallError, Installer, Plan, Wish};
use prowess_store::lock::{Lock, Locked};
use prowess_store::places::Scope;
use prowess_store::reference::{Named, Reference};
use prowess_store::review::{Leave, Refusal};
use prowess_store::source::Source as _;
use prowess_store::store::{LOCK_FILE, Store};

use super::{Agent, AgentOptions};
use crate::commands::Outcome;
use crate::commands::install::{FetchOptions, Format, Order, carry_out, show_restored};
use crate::error::Error;
use crate::packages::{
    Packages, Reach, Stop, install_failed, lock_of, now, skill_name, source_failed,
};
use crate::placing::Placing;
use crate::printer::{Printer, inline};

/// Install the skills that an agent lists, beside its manifest
///
/// Required and optional skills, with all that they need, go into `.prowess/` next
/// to the manifest, with the lock file `.prowess/skill-lock.json`; your own skills
/// are left alone. They come from `--from`, else from the configured registries. A
/// skill that is there in a version that fits stays. An optional skill that can't
/// be installed is left out with a warning.
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
  1  it failed, and nothing was changed
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
    /// Install this skill although nobody you trust has signed it
    #[arg(long, value_name = "NAME")]
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
    #[arg(long, conflicts_with_all = ["from", "dry_run"])]
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

/// What an agent lists and the store does not have.
struct Wanted<'m> {
    dependency: &'m SkillDependency,
    wish: Wish,
}

pub(super) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let agent = Agent::sound(&arguments.agent, "installed", printer)?;
    let active = agent.active()?;
    let packages = agent.packages()?;
    let lock_path = packages.store_path(Scope::Project).join(LOCK_FILE);
    if arguments.frozen && !lock_path.exists() {
        let missing = Error::not_found(format!("there is no lock file `{}`", lock_path.display()));
        return Err(missing.hint("`prowess agent install` without `--frozen` writes it"));
    }
    let store = packages.store(Scope::Project)?;
    let lock = lock_of(&store)?;
    let reach = packages.reach(printer, arguments.fetching.offline)?;
    let named: BTreeSet<SkillName> = arguments
        .allow_experimental
        .iter()
        .map(|text| skill_name(text))
        .collect::<Result<_, Error>>()?;
    let placing = Placing::as_before(&packages, Scope::Project);
    let leave = Leave {
        experimental: !named.is_empty(),
        unsigned: arguments.allow_unsigned,
        replace_owner: arguments.replace_owner,
    };
    if arguments.frozen {
        suits(&active, &lock)?;
        #[expect(
            clippy::redundant_closure_for_method_calls,
            reason = "the method itself is not general enough in its lifetime"
        )]
        let restored = packages
            .with_installer(&store, &reach, leave, None, |installer| installer.restore())?;
        return show_restored(&restored, &store, arguments.format, &placing, printer);
    }
    let wanted = wanted(&agent, &active, arguments, &packages, &store, &lock, &reach, printer)?;
    let min_age = arguments.fetching.min_age;
    packages.with_installer(&store, &reach, leave, min_age, |installer| {
        let (plan, left_out) = plan(installer, &wanted, &named)?;
        for (name, why) in &left_out {
            printer.warning(&inline(&format!("`{name}` is optional and is left out: {why}")));
        }
        if let Some(obstacle) = obstacle(&plan, &wanted, &named) {
            return Err(Stop::from(obstacle.error(agent.name())));
        }
        let order = Order {
            dry_run: arguments.dry_run,
            yes: arguments.yes,
            format: arguments.format,
            placing: &placing,
        };
        carry_out(plan, &order, installer, printer)
    })
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

#[expect(clippy::too_many_arguments, reason = "all of them are what a run begins with")]
fn wanted<'m>(
    agent: &Agent,
    active: &ActiveSkills<'m>,
    arguments: &Arguments,
    packages: &Packages,
    store: &Store,
    lock: &Lock,
    reach: &Reach,
    printer: &mut Printer,
) -> Result<Vec<Wanted<'m>>, Error> {
    let mut places: Vec<(Reference, BTreeSet<String>)> = Vec::new();
    for text in &arguments.from {
        let reference = place(text, packages, reach)?;
        let offers = reach.sources.offers(&reference).map_err(|error| source_failed(&error))?;
        places.push((reference, offers.skills.into_iter().map(|offer| offer.name).collect()));
    }
    let trust = packages.trust()?;
    let origin = format!("`{}`", inline(agent.name()));
    let mut wanted = Vec::new();
    for &dependency in &active.skills {
        let name = installed_name(dependency);
        if let Some((known, entry)) = locked(lock, dependency)
            && fit(dependency, declared(&entry.version).as_deref()) == Fit::Fits
        {
            let found = drift::look(store, std::slice::from_ref(&known), &trust, now())
                .map_err(|error| install_failed(&error))?;
            if found.iter().flat_map(|found| &found.drifts).any(drift::Drift::is_about_files) {
                printer.warning(&format!(
                    "`{known}` is not as it was installed; `prowess agent install --frozen` restores it"
                ));
            }
            continue;
        }
        let place = places.iter().find(|(_, names)| names.contains(name));
        let reference = match place {
            Some((reference, _)) => reference.clone(),
            None if reach.has_registry => {
                let named: Named = dependency.name.as_str().parse().map_err(
                    |error: prowess_package::name::NameError| Error::usage(error.to_string()),
                )?;
                let range = Some(dependency.range.clone()).filter(|it| !it.trim().is_empty());
                Reference::Named(Named { range, ..named })
            }
            None => {
                let what = format!("there is nowhere to get `{}` from", dependency.name.as_str());
                if dependency.required {
                    return Err(Error::not_found(what).hint(
                        "name a place that has it with `--from`, or set up a registry in the configuration",
                    ));
                }
                printer.warning(&inline(&format!("{what}; it is optional and is left out")));
                continue;
            }
        };
        let only = match &reference {
            Reference::Named(_) => BTreeSet::new(),
            _ => [name.to_owned()].into(),
        };
        wanted.push(Wanted { dependency, wish: Wish { reference, only, origin: origin.clone() } });
    }
    Ok(wanted)
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
    wanted: &[Wanted<'_>],
    named: &BTreeSet<SkillName>,
) -> Result<(Plan, LeftOut), InstallError> {
    let wishes = |chosen: &[&Wanted<'_>]| -> Vec<Wish> {
        chosen.iter().map(|wanted| wanted.wish.clone()).collect()
    };
    // GAIA §4.3: whoever names a skill knows of it, also when only another skill needs it.
    let plan_of = |chosen: &[&Wanted<'_>]| -> Result<Plan, InstallError> {
        let mut plan = installer.plan(&wishes(chosen))?;
        for step in plan.steps.iter_mut().filter(|step| named.contains(step.name())) {
            step.review.refusals.retain(|refusal| *refusal != Refusal::ExperimentalDependency);
        }
        Ok(plan)
    };
    let mut chosen: Vec<&Wanted<'_>> = wanted.iter().collect();
    let whole = plan_of(&chosen);
    let is_fine = whole.as_ref().is_ok_and(|plan| obstacle(plan, wanted, named).is_none());
    if is_fine || wanted.iter().all(|wanted| wanted.dependency.required) {
        return Ok((whole?, Vec::new()));
    }
    // One after the other, so that the one that is in the way is the one that is left out.
    chosen.retain(|wanted| wanted.dependency.required);
    let mut best = plan_of(&chosen)?;
    let mut left_out = Vec::new();
    if obstacle(&best, wanted, named).is_some() {
        return Ok((best, left_out));
    }
    for one in wanted.iter().filter(|wanted| !wanted.dependency.required) {
        chosen.push(one);
        let why = match plan_of(&chosen) {
            Ok(plan) => match obstacle(&plan, wanted, named) {
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

fn obstacle(plan: &Plan, wanted: &[Wanted<'_>], named: &BTreeSet<SkillName>) -> Option<Obstacle> {
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
        let was = plan.lock().skills.get(&name).map(|entry| entry.tier);
        let is_known = was == Some(Tier::Experimental);
        if step.entry.tier == Tier::Experimental && !is_known && !named.contains(&name) {
            return Some(Obstacle::Experimental(name));
        }
        if !step.review.refusals.is_empty() {
            let refusals = &step.review.refusals;
            let reasons = refusals.iter().map(ToString::to_string).collect();
            let hints = refusals.iter().map(Refusal::hint).collect();
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
