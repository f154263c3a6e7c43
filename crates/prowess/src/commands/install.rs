//! `prowess install`: skills from folders, archives, repositories, domains and registries.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use prowess_core::Remedy;
use prowess_package::name::SkillName;
use prowess_policy::Tier;
use prowess_store::install::{InstallError, Installer, Newer, Plan, Restoration, Step, Wish};
use prowess_store::placement::Destination;
use prowess_store::reference::Reference;
use prowess_store::review::{Leave, Refusal};
use serde_json::{Value, json};

use super::Outcome;
use crate::error::Error;
use crate::render::change_report::{Report, changing};
use crate::render::problem_text;
use crate::store::agent_folders::{AgentOptions, Placing};
use crate::store::lock_import;
use crate::store::packages::{
    Packages, ScopeOption, Stop, agree, install_failed, skill_name, with_version,
};
use crate::terminal::printer::{Channel, Printer, inline};
use crate::terminal::signals;
use crate::terminal::wrap::wrap;

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
  prowess install --project --dry-run       what a project's lock file brings
  prowess install --frozen        in CI: exactly what the lock file says

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
    /// What to install; everything in the lock file when left out
    #[arg(value_name = "SKILL")]
    skills: Vec<String>,
    /// Of a place with several skills, this one
    #[arg(long = "skill", value_name = "NAME", requires = "skills", value_delimiter = ',')]
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
    let packages = Packages::new()?;
    let placing = arguments.agents.placing(&packages, arguments.scope.scope())?;
    let doing = Doing {
        dry_run: arguments.dry_run,
        yes: arguments.leave.yes(),
        placing: &placing,
        can_allow_all: true,
    };
    if arguments.skills.is_empty() && arguments.import.is_none() {
        return restore(arguments, &packages, &doing, report, printer);
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
        Some(file) => Some(lock_import::read(file.as_deref(), &packages, printer)?),
        None => None,
    };
    let wishes: Vec<Wish> = match &import {
        Some(import) => import.wishes.clone(),
        None => named.collect::<Result<_, Error>>()?,
    };
    let store = packages.store(arguments.scope.scope())?;
    let leave = arguments.leave.leave();
    packages.with_installer(&store, &reach, leave, arguments.fetching.min_age, |installer| {
        let Some(import) = &import else {
            let mut plan = installer.plan_with_gaps(&wishes)?;
            settle_gaps(&mut plan, arguments, report, printer)?;
            return carry_out(plan, &doing, report, printer, installer);
        };
        // What a stranger's list names, knows nothing of each other.
        report.forget_failures();
        let mut plan = installer.plan_each(&wishes)?;
        for (wish, error) in plan.take_failures() {
            let wish = &wishes[wish];
            let name = wish.only.first().cloned().unwrap_or_else(|| wish.reference.to_string());
            report.fail(&name, "imported", &error);
        }
        import.ask(&mut plan);
        carry_out(plan, &doing, report, printer, installer)
    })
}

/// Of several skills, some can't be had: all of them are shown at once, and the others are installed only if that is what
/// the user wants.
fn settle_gaps(
    plan: &mut Plan,
    arguments: &Arguments,
    report: &mut Report,
    printer: &mut Printer,
) -> Result<(), Error> {
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
        for hint in problem_text::hints(&one.remedies) {
            let _ = writeln!(page, "{}", wrap(&format!("    hint: {}", inline(&hint)), 6, width));
        }
    }
    printer.talk_report(|_| page);
    let names: Vec<String> =
        plan.left_out.iter().map(|one| format!("`{}`", inline(&one.name))).collect();
    report.put(wire(plan, false));
    let total = names.len() + others;
    let told =
        format!("{} of {total} skills can't be installed: {}", names.len(), names.join(", "));
    if others == 0 {
        return Err(Error::failed(told));
    }
    if !arguments.dry_run && report.is_text() {
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

/// How a plan is carried out.
pub(crate) struct Doing<'d> {
    /// Look, and write nothing.
    pub(crate) dry_run: bool,
    /// Everything is agreed to.
    pub(crate) yes: bool,
    /// For whom skills are placed.
    pub(crate) placing: &'d Placing<'d>,
    /// Whether `--allow-experimental` is about all skills, or takes names.
    pub(crate) can_allow_all: bool,
}

/// Shows a plan, asks, and does it.
pub(crate) fn carry_out(
    plan: Plan,
    doing: &Doing<'_>,
    report: &mut Report,
    printer: &mut Printer,
    installer: &Installer<'_>,
) -> Result<Outcome, Stop> {
    let Doing { dry_run, yes, placing, .. } = *doing;
    let steps = plan.steps.iter().map(Step::name);
    let names: BTreeSet<SkillName> =
        steps.chain(plan.unchanged.iter().map(|(name, _)| name)).cloned().collect();
    for note in &plan.notes {
        printer.warning(note);
    }
    report.put(wire(&plan, false));
    let destinations = if dry_run { placing.preview(installer.store, &names)? } else { Vec::new() };
    if dry_run {
        let wire: Vec<Value> = destinations.iter().map(destination).collect();
        report.put(json!({ "destinations": wire }));
    }
    let destinations = placing.preview_lines(&destinations);
    let say_destinations = |report: &Report, printer: &mut Printer| {
        for line in destinations.iter().filter(|_| report.is_text()) {
            printer.say(line);
        }
    };
    if plan.steps.is_empty() {
        say_destinations(report, printer);
        placing.check(installer.store, &names)?;
        if dry_run {
            say_fine(&plan, report, printer);
            return Ok(Outcome::Fine);
        }
        signals::changes_begin();
        let placed = placing.place(installer.store, &names);
        report.put(json!({ "placed": placed.wire(), "not_placed": placed.wire_failures() }));
        say_fine(&plan, report, printer);
        if report.is_text() {
            placed.say(placing, printer);
        }
        placed.finish(printer)?;
        return Ok(Outcome::Fine);
    }
    let width = printer.width(Channel::Err);
    // What is put back without a question was looked at when it was installed.
    let is_news = |step: &&Step| dry_run || !step.is_restored || !step.review.is_clear();
    let page: String = plan
        .steps
        .iter()
        .filter(is_news)
        .map(|step| shown(step, plan.keeps_files(step), width))
        .collect();
    // Nobody is asked about something that was not shown, not even in the middle of JSON.
    let is_asked = !plan.is_clear() && !yes && !dry_run;
    let is_told = report.is_text() && (dry_run || !plan.is_clear() || !printer.is_quiet());
    if is_asked || is_told {
        printer.talk_report(|_| page);
    }
    say_destinations(report, printer);
    if let Some(error) = refused(&plan, doing) {
        return Err(error.into());
    }
    placing.check(installer.store, &names)?;
    if dry_run {
        if report.is_text() {
            say_newer(&plan, printer);
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
                return Err(Error::refused("confirmation is needed, but this is not a terminal")
                    .hint("look at them with `--dry-run`, then agree with `--yes`")
                    .into());
            }
        }
    }
    let done = wire(&plan, true);
    let recipes: Vec<String> = plan.steps.iter().filter_map(recipes_of).collect();
    let is_again = |step: &&Step| plan.keeps_files(step);
    let again: BTreeSet<SkillName> =
        plan.steps.iter().filter(is_again).map(Step::name).cloned().collect();
    let ranges: Vec<String> = plan.steps.iter().filter_map(|step| new_range(step, &plan)).collect();
    let newer = newer_lines(&plan);
    // A yes is about what was shown; a plan that was made anew would have to be shown again.
    let applied = installer.apply(plan).map_err(|error| match error {
        InstallError::Overtaken if is_asked => Stop::Told(install_failed(&error)),
        error => Stop::Install(error),
    })?;
    printer.stands("what was installed stays");
    for note in &applied.notes {
        printer.warning(note);
    }
    let placed = placing.place(installer.store, &names);
    report.put(done);
    report.put(json!({ "placed": placed.wire(), "not_placed": placed.wire_failures() }));
    if report.is_text() {
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
        for line in &ranges {
            printer.say(line);
        }
        placed.say(placing, printer);
        for line in &newer {
            printer.note(line);
        }
    }
    for recipe in &recipes {
        printer.note(recipe);
    }
    placed.finish(printer)?;
    Ok(Outcome::Fine)
}

/// Says that there is nothing to do, unless something could not even be looked at.
fn say_fine(plan: &Plan, report: &Report, printer: &mut Printer) {
    if !report.is_text() {
        return;
    }
    if !report.has_failures() {
        printer.say("already up to date");
    }
    say_newer(plan, printer);
}

fn say_newer(plan: &Plan, printer: &mut Printer) {
    for line in newer_lines(plan) {
        printer.note(&line);
    }
}

/// What an update could have had in another range.
fn newer_lines(plan: &Plan) -> Vec<String> {
    let line = |newer: &Newer| {
        let Newer { name, chosen, newest, requested } = newer;
        let range = requested.as_deref().map(|range| format!(", outside of `{}`", inline(range)));
        let range = range.unwrap_or_default();
        format!(
            "there is {name} {newest}{range}, and {chosen} is used; `prowess install {name}@{newest}` gets it"
        )
    };
    plan.newer.iter().map(line).collect()
}

/// That a skill is followed in another range from now on.
fn new_range(step: &Step, plan: &Plan) -> Option<String> {
    let range = step.new_range(plan)?;
    Some(format!(
        "updates of {} are looked for within `{}` from now on",
        step.name(),
        inline(range)
    ))
}

/// Why a plan is not carried out: every skill that is refused, so that nobody finds them out one at a time.
fn refused(plan: &Plan, doing: &Doing<'_>) -> Option<Error> {
    let steps: Vec<&Step> =
        plan.steps.iter().filter(|step| !step.review.refusals.is_empty()).collect();
    let first = steps.first()?;
    let reasons = |step: &Step| texts(&step.review.refusals).join("; ");
    let message = match steps.as_slice() {
        [step] => format!("`{}` was not installed: {}", step.name(), reasons(step)),
        steps => {
            let lines = steps.iter().map(|step| format!("`{}`: {}", step.name(), reasons(step)));
            let lines: Vec<String> = lines.collect();
            format!("nothing was installed\n{}", lines.join("\n"))
        }
    };
    let is_experimental = |step: &&Step| step.entry.tier == Tier::Experimental;
    let experimental: Vec<&str> =
        steps.iter().copied().filter(is_experimental).map(|step| step.name().as_str()).collect();
    let mut hints: Vec<String> = Vec::new();
    if !doing.can_allow_all && !experimental.is_empty() {
        let names = experimental.join(",");
        let what = if experimental.len() == 1 { "it" } else { "them" };
        hints.push(format!(
            "read {what} first (`prowess show`, `prowess policy`), then give `--allow-experimental {names}`"
        ));
    } else {
        let refusals = steps.iter().flat_map(|step| &step.review.refusals);
        let remedies: Vec<Remedy> = refusals.flat_map(Refusal::remedies).collect();
        hints.extend(problem_text::hints(&remedies));
    }
    if first.is_restored && !experimental.is_empty() {
        hints.push("the lock file may be somebody else's, so what you never agreed to is looked at as if it were new".to_owned());
    }
    let mut seen = BTreeSet::new();
    hints.retain(|hint| seen.insert(hint.clone()));
    Some(hints.into_iter().fold(Error::refused(message), Error::hint))
}

/// A place that a skill would get, for programs.
fn destination(destination: &Destination) -> Value {
    json!({
        "name": destination.skill.as_str(),
        "path": destination.path.display().to_string(),
        "agents": destination.owners,
        "form": if destination.is_copy { "copy" } else { "link" },
        "in_the_way": destination.in_the_way,
    })
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
    // A refusal says the same.
    let is_refused = |refusal: &Refusal| matches!(refusal, Refusal::CallsItselfExperimental(_));
    let is_told = step.review.refusals.iter().any(is_refused);
    if let Some(modesty) = step.modesty().filter(|_| !is_told) {
        line(&mut page, &format!("  tier   {modesty}"), 9);
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

fn wire(plan: &Plan, is_done: bool) -> Value {
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
    let newer: Vec<Value> = plan
        .newer
        .iter()
        .map(|newer| {
            json!({
                "name": newer.name.as_str(),
                "version": newer.newest.to_string(),
                "requested": newer.requested,
            })
        })
        .collect();
    json!({
        "installed": is_done,
        "skills": steps,
        "unchanged": unchanged,
        "left_out": plan.left_out.iter().chain(plan.gone_without()).map(|one| json!({
            "name": one.name,
            "reason": one.reason,
        })).collect::<Vec<Value>>(),
        "newer": newer,
        "placed": [],
    })
}

fn texts<T: ToString>(items: &[T]) -> Vec<String> {
    items.iter().map(ToString::to_string).collect()
}

fn restore(
    arguments: &Arguments,
    packages: &Packages,
    doing: &Doing<'_>,
    report: &mut Report,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let scope = arguments.scope.scope();
    let lock = packages.store_path(scope).join(prowess_store::store::LOCK_FILE);
    if !lock.exists() {
        let missing = Error::not_found(format!("there is no lock file `{}`", lock.display()));
        return Err(missing.hint("name what to install, such as `prowess install ./greet`"));
    }
    let store = packages.store(scope)?;
    let reach = packages.reach(printer, arguments.fetching.offline)?;
    let leave = arguments.leave.leave();
    packages.with_installer(&store, &reach, leave, None, |installer| {
        put_back(installer, doing, report, printer)
    })
}

/// Puts back what the lock file says. A skill that can't be put back keeps no other from it.
pub(crate) fn put_back(
    installer: &Installer<'_>,
    doing: &Doing<'_>,
    report: &mut Report,
    printer: &mut Printer,
) -> Result<Outcome, Stop> {
    report.forget_failures();
    let Restoration { plan, failures, unknown } = installer.plan_restore(None)?;
    let unknown: Vec<&str> = unknown.iter().map(SkillName::as_str).collect();
    report.put(json!({ "unknown": unknown }));
    for (name, error) in &failures {
        report.fail(name.as_str(), "put back", error);
    }
    for name in unknown {
        printer.warning(&format!("`{name}` is installed and not in the lock file"));
    }
    carry_out(plan, doing, report, printer, installer)
}
