//! `prowess agent install`: the skills of an agent, beside its manifest.

use clap::Args;
use prowess_library::packages::{AgentSkills, AgentTargets, ChangeGoal, ChangeRequest};
use prowess_store::places::Scope;
use prowess_store::review::InstallPermissions;
use prowess_store::suspicion::AllowedRules;
use serde_json::json;

use super::{Agent, AgentOptions};
use crate::commands::Outcome;
use crate::error::Error;
use crate::packages::change::{ChangeOptions, carry_out};
use crate::packages::names::skill_names;
use crate::packages::options::{FetchOptions, Format};
use crate::packages::scope::ScopedPackages;
use crate::packages::sources::SourceSession;
use crate::render::change_report::{Report, changing};
use crate::terminal::printer::Printer;

/// Install the skills that an agent lists, beside its manifest
///
/// Required and optional skills, with everything they need, go into `.prowess/`
/// next to the manifest, with the lock file `.prowess/skill-lock.json`; your own
/// skills are left alone. They come from `--from`, else from the configured
/// registries. A skill that the lock file has in a fitting version stays, or is
/// restored. An optional skill that can't be installed is left out with a warning.
///
/// A skill without a trusted signature is never installed because a manifest lists
/// it: read it, and name it with `--allow-experimental`.
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
    /// A folder, repository or domain with skills, used before registries
    #[arg(long, value_name = "PLACE")]
    from: Vec<String>,
    /// Install these skills without a trusted signature
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    allow_experimental: Vec<String>,
    /// Replace a signed version with one that is not signed
    #[arg(long)]
    allow_unsigned: bool,
    /// Replace a skill of another owner or from another source
    #[arg(long)]
    replace_owner: bool,
    /// Answer yes to all questions
    #[arg(short, long)]
    yes: bool,
    /// Install exactly what the lock file lists; fail if it does not match the manifest
    #[arg(long, conflicts_with = "from")]
    frozen: bool,
    /// Show what would change, and write nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    fetching: FetchOptions,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
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
    let (packages, choice) = packages.choose_scope(Some(Scope::Project));
    let scoped = ScopedPackages { packages, choice };
    scoped.tell(report, printer);
    let packages = &scoped.packages;
    let lock_path = packages.lock_path(Scope::Project);
    if arguments.frozen && !lock_path.exists() {
        let missing = Error::not_found(format!("there is no lock file `{}`", lock_path.display()));
        return Err(missing.hint("`prowess agent install` without `--frozen` writes it"));
    }
    let sources = SourceSession::open(packages, printer, arguments.fetching.offline)?;
    let places = arguments.from.iter();
    let places = places.map(|text| packages.skill_place(text, &sources.as_sources()));
    let goal = AgentSkills {
        agent: agent.name().to_owned(),
        skills: active.skills.iter().map(|skill| (*skill).clone()).collect(),
        places: places.collect::<Result<_, _>>()?,
        allowed: skill_names(&arguments.allow_experimental)?,
        is_frozen: arguments.frozen,
    };
    let request = ChangeRequest {
        permissions: InstallPermissions {
            experimental: !goal.allowed.is_empty(),
            unsigned: arguments.allow_unsigned,
            replace_owner: arguments.replace_owner,
            blocked: AllowedRules::NONE,
        },
        goal: ChangeGoal::Agent(goal),
        scope: Scope::Project,
        min_age: arguments.fetching.min_age,
        agents: AgentTargets::Existing,
    };
    let options = ChangeOptions {
        dry_run: arguments.dry_run,
        yes: arguments.yes,
        diff: false,
        skip_unavailable: false,
    };
    carry_out(packages, &request, &sources, options, report, printer)
}
