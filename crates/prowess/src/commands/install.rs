//! `prowess install`: skills from folders, archives, repositories, domains and registries.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use prowess_package::name::SkillName;
use prowess_store::install::{InstallError, Installer, Plan, Restored, Step, Wish};
use prowess_store::reference::Reference;
use prowess_store::review::Leave;
use prowess_store::store::Store;
use serde_json::{Value, json};

use super::Outcome;
use crate::error::Error;
use crate::importing;
use crate::packages::{
    Packages, ScopeOption, Stop, agree, install_failed, lock_of, skill_name, with_version,
};
use crate::placing::{AgentOptions, Placed, Placing};
use crate::printer::{Channel, Printer, inline};
use crate::wrapping::wrap;

/// Install skills, with everything that they need
///
/// A skill is looked at before anything is written: who signed it, what it may
/// do, what has changed since the installed version. Then all of it is installed
/// at once, or nothing. Nothing that a skill contains is run by installing it.
///
/// SKILL is a folder or archive (`./greet`, `greet.tar.gz`), a repository
/// (`owner/repository`, any git URL, `#revision:folder` behind it), a domain that
/// publishes skills (`example.com`), or a name in a registry (`name`, `ns/name`,
/// `name@^1.2`). Without SKILL, what the lock file says is installed.
///
/// With `--agent` the skills are also put where agents look: as a link to the
/// installed skill, or as a copy where an agent does not see links. What others
/// put there is never replaced, and `prowess remove` takes it out again.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess install ./greet --allow-experimental
  prowess install owner/repository --skill greet
  prowess install https://example.com/tools.git#v2:skills/greet
  prowess install greet@^1.2
  prowess install greet --agent claude-code,codex
  prowess install --import skills-lock.json
  prowess install --frozen        in CI: exactly what the lock file says

Exit codes:
  0  everything is installed
  1  it failed, and nothing was changed
  2  the arguments are wrong
  3  there is no such skill
  4  refused: not signed, changed, or not agreed to")]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Arguments {
    /// What to install; everything in the lock file when left out
    #[arg(value_name = "SKILL")]
    skills: Vec<String>,
    /// Of a place with several skills, this one
    #[arg(long = "skill", value_name = "NAME", requires = "skills")]
    only: Vec<String>,
    /// Of a place with several skills, all of them
    #[arg(long, requires = "skills", conflicts_with = "only")]
    all: bool,
    /// Install one skill under this name, because its own can't be installed
    #[arg(long = "as", value_name = "NAME", requires = "skills", conflicts_with = "all")]
    chosen: Option<String>,
    /// Of several skills, leave out those that can't be installed
    #[arg(long)]
    skip_broken: bool,
    #[command(flatten)]
    scope: ScopeOption,
    #[command(flatten)]
    agents: AgentOptions,
    #[command(flatten)]
    leave: LeaveOptions,
    /// Install what the lock file of another tool names, found or given
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with_all = ["skills", "frozen"])]
    #[expect(clippy::option_option, reason = "not asked for, whatever is found, this file")]
    import: Option<Option<PathBuf>>,
    /// Only what the lock file says, and fail when there is none
    #[arg(long, conflicts_with = "skills")]
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

/// What is locked for a skill that declares no version (R5).
const NO_VERSION: semver::Version = semver::Version::new(0, 0, 0);

/// What the user allows beforehand.
#[derive(Args, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct LeaveOptions {
    /// Install skills that nobody you trust has signed
    #[arg(long)]
    allow_experimental: bool,
    /// Install over a signed version one that is not signed
    #[arg(long)]
    allow_unsigned: bool,
    /// Install over a skill of another owner or from another place
    #[arg(long)]
    replace_owner: bool,
    /// Agree to all questions
    #[arg(short, long)]
    yes: bool,
}

impl LeaveOptions {
    /// Whether everything is agreed to.
    pub(crate) fn yes(self) -> bool {
        self.yes
    }

    /// As a review wants it.
    pub(crate) fn leave(self) -> Leave {
        Leave {
            experimental: self.allow_experimental,
            unsigned: self.allow_unsigned,
            replace_owner: self.replace_owner,
        }
    }
}

/// How skills are fetched.
#[derive(Args, Clone)]
pub(crate) struct FetchOptions {
    /// Ask nothing over the network
    #[arg(long)]
    pub(crate) offline: bool,
    /// Releases of a registry must be this old: `36h`, `7d`
    #[arg(long, value_name = "AGE", value_parser = age)]
    pub(crate) min_age: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

/// Seconds of `90m`, `36h`, `7d`.
fn age(text: &str) -> Result<u64, String> {
    let wrong = || "expected a number with `m`, `h` or `d` behind it, such as `7d`".to_owned();
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(wrong)?;
    let seconds = match unit {
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return Err(wrong()),
    };
    number.parse::<u64>().ok().and_then(|number| number.checked_mul(seconds)).ok_or_else(wrong)
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let packages = Packages::new()?;
    let placing = arguments.agents.placing(&packages, arguments.scope.scope())?;
    if arguments.skills.is_empty() && arguments.import.is_none() {
        return restore(arguments, &packages, &placing, printer);
    }
    let reach = packages.reach(printer, arguments.fetching.offline)?;
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
    let named = arguments.skills.iter().map(|text| {
        let reference = packages.reference(text, &reach)?;
        if let (Reference::Named(named), Some(chosen)) = (&reference, &chosen) {
            return Err(Error::usage(format!(
                "`{named}` is a name in a registry, so it can't be installed as `{chosen}`"
            ))
            .hint("leave out `--as`"));
        }
        let origin = "the command line".to_owned();
        Ok(Wish { reference, only: only.clone(), chosen: chosen.clone(), origin })
    });
    let import = match &arguments.import {
        Some(file) => Some(importing::read(file.as_deref(), &packages, printer)?),
        None => None,
    };
    let wishes: Vec<Wish> = match &import {
        Some(import) => import.wishes.clone(),
        None => named.collect::<Result<_, Error>>()?,
    };
    let store = packages.store(arguments.scope.scope())?;
    let leave = arguments.leave.leave();
    packages.with_installer(&store, &reach, leave, arguments.fetching.min_age, |installer| {
        let mut plan = installer.plan_with_gaps(&wishes)?;
        settle_gaps(&mut plan, arguments, printer)?;
        if let Some(import) = &import {
            import.ask(&mut plan);
        }
        let order = Order {
            dry_run: arguments.dry_run,
            yes: arguments.leave.yes(),
            format: arguments.format,
            placing: &placing,
        };
        carry_out(plan, &order, installer, printer)
    })
}

/// Of several skills, some can't be had: all of them are shown at once, and the others are installed only if that is what
/// the user wants.
fn settle_gaps(plan: &mut Plan, arguments: &Arguments, printer: &mut Printer) -> Result<(), Error> {
    if plan.left_out.is_empty() {
        return Ok(());
    }
    let others = plan.steps.len() + plan.unchanged.len();
    if arguments.skip_broken && others > 0 {
        plan.go_without();
        return Ok(());
    }
    let width = printer.width(Channel::Err);
    let mut page = String::new();
    for one in &plan.left_out {
        let _ = writeln!(page, "{}", wrap(&inline(&one.name), 2, width));
        let _ = writeln!(page, "{}", wrap(&format!("  ! {}", inline(&one.reason)), 4, width));
        if let Some(hint) = &one.hint {
            let _ = writeln!(page, "{}", wrap(&format!("    hint: {}", inline(hint)), 6, width));
        }
    }
    printer.talk_report(|_| page);
    let names: Vec<String> =
        plan.left_out.iter().map(|one| format!("`{}`", inline(&one.name))).collect();
    if arguments.format == Format::Json {
        printer.json(&wire(plan, false, &Placed::default()));
    }
    let total = names.len() + others;
    let told =
        format!("{} of {total} skills can't be installed: {}", names.len(), names.join(", "));
    if others == 0 {
        return Err(Error::failed(told));
    }
    if !arguments.dry_run && arguments.format == Format::Text {
        let question = format!("Install the other {others} without them? [y]es / [N]o: ");
        match agree(&question, printer) {
            Some(true) => {
                plan.go_without();
                return Ok(());
            }
            Some(false) => {
                return Err(Error::refused("nothing was installed, because you did not agree"));
            }
            None => {}
        }
    }
    Err(Error::failed(told).hint(format!("`--skip-broken` installs the other {others}")))
}

/// How a plan is to be carried out.
pub(crate) struct Order<'o> {
    /// Looks, and writes nothing.
    pub(crate) dry_run: bool,
    /// Everything is agreed to beforehand.
    pub(crate) yes: bool,
    /// How the result is written.
    pub(crate) format: Format,
    /// The agents that should find the skills.
    pub(crate) placing: &'o Placing<'o>,
}

/// Shows a plan, asks, and does it.
pub(crate) fn carry_out(
    plan: Plan,
    order: &Order<'_>,
    installer: &Installer<'_>,
    printer: &mut Printer,
) -> Result<Outcome, Stop> {
    let Order { dry_run, yes, format, placing } = *order;
    let steps = plan.steps.iter().map(Step::name);
    let names: BTreeSet<SkillName> =
        steps.chain(plan.unchanged.iter().map(|(name, _)| name)).cloned().collect();
    for note in &plan.notes {
        printer.warning(note);
    }
    if plan.steps.is_empty() {
        placing.check(installer.store, &names)?;
        let placed =
            if dry_run { Placed::default() } else { placing.place(installer.store, &names) };
        if format == Format::Json {
            printer.json(&wire(&plan, false, &placed));
        } else {
            printer.say("everything is as it should be");
            placed.say(placing, printer);
        }
        placed.finish(printer)?;
        return Ok(Outcome::Fine);
    }
    let width = printer.width(Channel::Err);
    let page: String =
        plan.steps.iter().map(|step| shown(step, plan.keeps_files(step), width)).collect();
    // Nobody is asked about something that was not shown, not even in the middle of JSON.
    let is_asked = !plan.is_clear() && !yes && !dry_run;
    let is_told = format == Format::Text && (dry_run || !plan.is_clear() || !printer.is_quiet());
    if is_asked || is_told {
        printer.talk_report(|_| page);
    }
    if let Some(error) = refused(&plan) {
        return Err(error.into());
    }
    placing.check(installer.store, &names)?;
    if dry_run {
        if format == Format::Json {
            printer.json(&wire(&plan, false, &Placed::default()));
        } else {
            printer.note("nothing was written");
        }
        return Ok(Outcome::Fine);
    }
    if is_asked {
        match agree("Install it? [y]es / [N]o: ", printer) {
            Some(true) => {}
            Some(false) => {
                let refused = Error::refused("nothing was installed, because you did not agree");
                return Err(refused.into());
            }
            None => {
                return Err(Error::refused("there are questions, and nobody to answer them")
                    .hint("look at them with `--dry-run`, then agree with `--yes`")
                    .into());
            }
        }
    }
    let mut result = wire(&plan, true, &Placed::default());
    let recipes: Vec<String> = plan.steps.iter().filter_map(recipes_of).collect();
    let is_again = |step: &&Step| plan.keeps_files(step);
    let again: BTreeSet<SkillName> =
        plan.steps.iter().filter(is_again).map(Step::name).cloned().collect();
    // A yes is about what was shown; a plan that was made anew would have to be shown again.
    let applied = installer.apply(plan).map_err(|error| match error {
        InstallError::Overtaken if is_asked => Stop::Told(install_failed(&error)),
        error => Stop::Install(error),
    })?;
    let placed = placing.place(installer.store, &names);
    if format == Format::Json {
        result["placed"] = placed.wire().into();
        printer.json(&result);
    } else {
        for (name, version, replaced) in &applied.installed {
            let instead = match replaced {
                Some(_) if again.contains(name) => " again".to_owned(),
                Some(replaced) if replaced == version => " with other files".to_owned(),
                Some(replaced) if replaced.cmp(&NO_VERSION).is_eq() => {
                    " instead of one without a version".to_owned()
                }
                Some(replaced) => format!(" instead of {replaced}"),
                None => String::new(),
            };
            printer.say(&format!("installed {}{instead}", with_version(name, version)));
        }
        placed.say(placing, printer);
    }
    for recipe in &recipes {
        printer.note(recipe);
    }
    placed.finish(printer)?;
    Ok(Outcome::Fine)
}

/// Everything that is refused, in one error.
fn refused(plan: &Plan) -> Option<Error> {
    let refused: Vec<&Step> =
        plan.steps.iter().filter(|step| !step.review.refusals.is_empty()).collect();
    let first = refused.first()?;
    let mut reasons: Vec<String> = Vec::new();
    let mut hints: Vec<String> = Vec::new();
    for refusal in refused.iter().flat_map(|step| &step.review.refusals) {
        let (reason, hint) = (refusal.to_string(), refusal.hint());
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
        if !hints.contains(&hint) {
            hints.push(hint);
        }
    }
    let names = match refused.len() {
        1 => format!("`{}` was", first.name()),
        count => format!("`{}` and {} more were", first.name(), count - 1),
    };
    let error = Error::refused(format!("{names} not installed: {}", reasons.join("; ")));
    Some(hints.into_iter().fold(error, Error::hint))
}

/// What an OpenClaw skill would have installed on the machine. It is told and never done.
fn recipes_of(step: &Step) -> Option<String> {
    let install = &step.described.skill.openclaw.as_ref()?.install;
    let mut commands: Vec<String> = Vec::new();
    for recipe in install {
        let text = |key: &str| recipe.entry.get(key).and_then(Value::as_str).map(quoted);
        let command = match recipe.kind.value.as_str() {
            "brew" => text("formula").map(|it| format!("brew install {it}")),
            "node" | "npm" => text("package").map(|it| format!("npm install --global {it}")),
            "go" => text("module").map(|it| format!("go install {it}")),
            "uv" => text("package").map(|it| format!("uv tool install {it}")),
            "pip" => text("package").map(|it| format!("pip install {it}")),
            "apt" => text("package").map(|it| format!("apt-get install {it}")),
            "download" => text("url").map(|it| format!("download {it}")),
            _ => None,
        };
        commands.push(command.map_or_else(
            || format!("{} (see its SKILL.md)", inline(&recipe.kind.value)),
            |command| format!("`{command}`"),
        ));
    }
    if commands.is_empty() {
        return None;
    }
    Some(format!(
        "`{}` may need one of these, which you run yourself: {}",
        step.name(),
        commands.join(", ")
    ))
}

/// A word of somebody else's in a command that is meant to be copied: whatever it holds, a shell sees one argument, and
/// no option.
fn quoted(word: &str) -> String {
    let word = inline(word);
    let is_plain = |character: char| {
        character.is_ascii_alphanumeric()
            || matches!(character, '@' | '/' | '.' | '_' | ':' | '+' | '-')
    };
    if word.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '@')
        && word.chars().all(is_plain)
    {
        return word.into_owned();
    }
    let word = if word.starts_with('-') { format!("./{word}") } else { word.into_owned() };
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn shown(step: &Step, keeps_files: bool, width: Option<usize>) -> String {
    let mut page = String::new();
    let (files, bytes) = step.size();
    let source = step.entry.source.as_ref().map(ToString::to_string).unwrap_or_default();
    let version = |version: &semver::Version| {
        if *version == NO_VERSION { "(no version)".to_owned() } else { version.to_string() }
    };
    let mut change = match &step.replaces {
        Some(replaced) if *replaced == step.entry.version && keeps_files => {
            format!("{}, installed again", version(replaced))
        }
        Some(replaced) if *replaced == step.entry.version => {
            format!("{}, with other files", version(replaced))
        }
        Some(replaced) => format!("{} -> {}", version(replaced), version(&step.entry.version)),
        None => version(&step.entry.version),
    };
    if step.described.declares_version
        && let Some(written) = &step.described.written_version
    {
        let _ = write!(change, " (written `{}`)", inline(written));
    }
    if let Some(own) = &step.described.calls_itself {
        let _ = write!(change, ", which calls itself `{}`", inline(own));
    }
    let line = |page: &mut String, text: &str, indent: usize| {
        let _ = writeln!(page, "{}", wrap(text, indent, width));
    };
    line(&mut page, &format!("{} {change}, {}", step.name(), step.entry.tier), 2);
    line(&mut page, &format!("  from   {}", inline(&source)), 9);
    line(&mut page, &format!("  files  {files} ({})", size(bytes)), 9);
    let signers: Vec<String> = step
        .entry
        .signers
        .iter()
        .map(|signer| match &signer.identity {
            Some(identity) => format!("{} ({})", inline(identity), signer.key_id),
            None => format!("{} key {}", signer.scheme, signer.key_id),
        })
        .collect();
    if !signers.is_empty() {
        line(&mut page, &format!("  signed {}", signers.join(", ")), 9);
    }
    if !step.entry.permissions.is_empty() {
        let permissions: Vec<&str> = step.entry.permissions.iter().map(String::as_str).collect();
        line(&mut page, &format!("  may    {}", inline(&permissions.join(", "))), 9);
    }
    let packages = &step.described.skill.requirements.python_packages;
    if !packages.is_empty() {
        let packages: Vec<&str> = packages.iter().map(|package| package.as_str()).collect();
        line(&mut page, &format!("  python {}", inline(&packages.join(", "))), 9);
    }
    for question in &step.review.questions {
        line(&mut page, &format!("  ? {}", inline(&question.to_string())), 4);
    }
    for refusal in &step.review.refusals {
        line(&mut page, &format!("  ! {}", inline(&refusal.to_string())), 4);
    }
    page
}

/// A number of bytes for people.
pub(crate) fn size(bytes: usize) -> String {
    if bytes < 10 << 10 {
        format!("{bytes} bytes")
    } else if bytes < 10 << 20 {
        format!("{} KiB", bytes >> 10)
    } else {
        format!("{} MiB", bytes >> 20)
    }
}

fn wire(plan: &Plan, is_done: bool, placed: &Placed) -> Value {
    let steps: Vec<Value> = plan
        .steps
        .iter()
        .map(|step| {
            json!({
                "name": step.name().as_str(),
                "version": step.entry.version.to_string(),
                "replaces": step.replaces.as_ref().map(ToString::to_string),
                "security_tier": step.entry.tier.as_str(),
                "source": step.entry.source.as_ref().map(ToString::to_string),
                "integrity": step.entry.integrity,
                "signers": step.entry.signers.iter().map(|signer| json!({
                    "scheme": signer.scheme,
                    "key": signer.key_id,
                    "identity": signer.identity,
                })).collect::<Vec<Value>>(),
                "permissions": step.entry.permissions,
                "python_packages": step
                    .described
                    .skill
                    .requirements
                    .python_packages
                    .iter()
                    .map(|package| package.as_str())
                    .collect::<Vec<&str>>(),
                "questions": texts(&step.review.questions),
                "refusals": texts(&step.review.refusals),
            })
        })
        .collect();
    let unchanged: Vec<Value> = plan
        .unchanged
        .iter()
        .map(|(name, version)| json!({"name": name.as_str(), "version": version.to_string()}))
        .collect();
    json!({
        "installed": is_done,
        "skills": steps,
        "unchanged": unchanged,
        "left_out": plan.left_out.iter().chain(plan.gone_without()).map(|one| json!({
            "name": one.name,
            "reason": one.reason,
        })).collect::<Vec<Value>>(),
        "placed": placed.wire(),
    })
}

fn texts<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}

fn restore(
    arguments: &Arguments,
    packages: &Packages,
    placing: &Placing<'_>,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let scope = arguments.scope.scope();
    let lock = packages.store_path(scope).join(prowess_store::store::LOCK_FILE);
    if !lock.exists() {
        let missing = Error::not_found(format!("there is no lock file `{}`", lock.display()));
        return Err(missing.hint("name what to install, such as `prowess install ./greet`"));
    }
    if arguments.dry_run {
        return Err(Error::usage("`--dry-run` needs something to look at")
            .hint("`prowess lock --check` says how the store differs from the lock file"));
    }
    let store = packages.store(scope)?;
    let locked: BTreeSet<SkillName> = lock_of(&store)?.skills.into_keys().collect();
    placing.check(&store, &locked)?;
    let reach = packages.reach(printer, arguments.fetching.offline)?;
    let leave = arguments.leave.leave();
    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "the method is about one lifetime, the closure about all"
    )]
    let restored =
        packages.with_installer(&store, &reach, leave, None, |installer| installer.restore())?;
    show_restored(&restored, &store, arguments.format, placing, printer)
}

/// Says what was done to get to what the lock file says, and places it where agents look.
pub(crate) fn show_restored(
    restored: &Restored,
    store: &Store,
    format: Format,
    placing: &Placing<'_>,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    for note in &restored.notes {
        printer.warning(note);
    }
    let names = restored.installed.iter().chain(&restored.unchanged);
    let placed = placing.place(store, &names.map(|(name, _)| name.clone()).collect());
    let versions = |skills: &[(SkillName, semver::Version)]| -> Vec<Value> {
        skills
            .iter()
            .map(|(name, version)| json!({"name": name.as_str(), "version": version.to_string()}))
            .collect()
    };
    if format == Format::Json {
        printer.json(&json!({
            "installed": versions(&restored.installed),
            "unchanged": versions(&restored.unchanged),
            "unknown": restored.unknown.iter().map(SkillName::as_str).collect::<Vec<&str>>(),
            "placed": placed.wire(),
        }));
        placed.finish(printer)?;
        return Ok(Outcome::Fine);
    }
    for (name, version) in &restored.installed {
        printer.say(&format!("installed {}", with_version(name, version)));
    }
    if restored.installed.is_empty() {
        let count = match restored.unchanged.len() {
            1 => "1 skill".to_owned(),
            count => format!("{count} skills"),
        };
        printer.say(&format!("everything is as it should be ({count})"));
    }
    placed.say(placing, printer);
    for name in &restored.unknown {
        printer.warning(&format!("`{name}` is installed and not in the lock file"));
    }
    placed.finish(printer)?;
    Ok(Outcome::Fine)
}
