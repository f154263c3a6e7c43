//! `prowess lock`: the lock file, whether the store is what it says, and merge conflicts in it.

use clap::{Args, ValueEnum};
use prowess_library::packages::{ResolvedLock, SidePreference, unchosen_side};
use prowess_store::conflict::{
    CONFLICT_FILE, ConflictedSkill, LockConflict, MergeSide, SkillConflict,
};
use prowess_store::lock::LockEntry;
use serde_json::json;

use super::Outcome;
use super::verify;
use crate::error::Error;
use crate::packages::names::with_version;
use crate::packages::options::{Format, ScopeOption};
use crate::packages::scope::ScopedPackages;
use crate::render::change_report::{Report, changing};
use crate::terminal::confirm::{Answer, choose};
use crate::terminal::printer::{Printer, inline};

/// Print the lock file, compare the store with it, or resolve a conflict in it
///
/// The lock file says what is installed byte for byte, where it came from and who
/// signed it. `--check` reports what differs: versions, tiers, contents, and
/// skills that are missing or that nobody locked.
///
/// `--resolve` takes a lock file with a merge conflict apart and writes one that has
/// the skills of both sides. Where both sides have a skill and lock different bytes,
/// you are asked, or `--prefer` decides. The file with the conflict is kept as
/// `skill-lock.json.conflict`. Nothing is installed: `prowess install` does that,
/// with a review of what the other side has added.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess lock
  prowess lock --check --project
  prowess lock --resolve --prefer newer

Exit codes:
  0  the store is what the lock file says, or the conflict is resolved
  1  it is not, or the conflict can't be resolved
  3  there is no lock file
  4  the sides differ, and nobody chose one")]
pub(crate) struct Arguments {
    /// Compare, and say what differs
    #[arg(long)]
    check: bool,
    /// Resolve a merge conflict: keep the skills of both sides
    #[arg(long, conflicts_with = "check")]
    resolve: bool,
    /// Where the sides differ, take this one instead of asking
    #[arg(long, value_name = "SIDE", value_enum, requires = "resolve")]
    prefer: Option<Prefer>,
    #[command(flatten)]
    scope: ScopeOption,
    /// How the comparison is written; the lock file itself is JSON
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Which side of a conflict is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Prefer {
    /// What was checked out when the merge began
    Ours,
    /// What is merged into it
    Theirs,
    /// The higher version, or of the same version the later installation
    Newer,
}

impl Prefer {
    fn preference(self) -> SidePreference {
        match self {
            Self::Ours => SidePreference::Side(MergeSide::Ours),
            Self::Theirs => SidePreference::Side(MergeSide::Theirs),
            Self::Newer => SidePreference::Newer,
        }
    }
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let scoped = ScopedPackages::open(arguments.scope)?;
    let (packages, scope) = (&scoped.packages, scoped.scope());
    let path = packages.lock_path(scope);
    if !path.exists() {
        let missing = Error::not_found(format!("there is no lock file `{}`", path.display()));
        return Err(missing.hint("it is written by `prowess install`"));
    }
    if arguments.resolve {
        let before = json!({ "resolved": false });
        return changing(arguments.format, before, printer, |report, printer| {
            scoped.tell(report, printer);
            resolve(arguments, &scoped, report, printer)
        });
    }
    if arguments.check {
        return verify::verify(&[], arguments.scope, false, arguments.format, printer);
    }
    let store = packages.store(scope)?;
    // Read and written, so that what is printed is a lock and nothing else.
    let lock = packages.lock_file(scope)?;
    printer.say(&scoped.line());
    printer.data(&store.lock_text(&lock));
    Ok(Outcome::Fine)
}

fn resolve(
    arguments: &Arguments,
    scoped: &ScopedPackages,
    report: &mut Report,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let preference = arguments.prefer.map(Prefer::preference);
    let may_ask = report.is_text();
    let resolved =
        scoped.packages.resolve_lock(scoped.scope(), preference, |conflict, skill| {
            if may_ask {
                ask(conflict, skill, printer)
            } else {
                Err(unchosen_side(&skill.name).into())
            }
        })?;
    let Some(resolved) = resolved else {
        if report.is_text() {
            printer.say("the lock file has no merge conflict");
        }
        return Ok(Outcome::Fine);
    };
    report.put(resolved.to_json());
    if report.is_text() {
        say(&resolved, printer);
    }
    for (name, needed) in &resolved.mismatches {
        printer.warning(&format!(
            "`{name}` was locked with another version of `{needed}`; `prowess update {name}` resolves them together"
        ));
    }
    if report.is_text() {
        printer.note(&format!("the file with the conflict is kept as `{CONFLICT_FILE}`"));
        printer.hint("`prowess install` installs what the lock file lists now");
    }
    Ok(Outcome::Fine)
}

/// Asks for one skill which side to take.
fn ask(
    conflict: &LockConflict,
    skill: &ConflictedSkill,
    printer: &mut Printer,
) -> Result<MergeSide, Error> {
    let SkillConflict::Differs { ours: Some(ours), theirs: Some(theirs) } = &skill.state else {
        return Err(unchosen_side(&skill.name).into());
    };
    let line = |label: &str, entry: &LockEntry| {
        let source = entry.source.as_ref().map(|source| format!(", from {source}"));
        let version = with_version(&skill.name, &entry.version);
        inline(&format!("{version} ({label}){}", source.unwrap_or_default())).into_owned()
    };
    printer.say(&format!("  ours:   {}", line(&conflict.our_label, ours)));
    printer.say(&format!("  theirs: {}", line(&conflict.their_label, theirs)));
    let question = format!("Which `{}`? [o]urs / [t]heirs / [N]o: ", skill.name);
    match choose(&question, &[("o", "ours"), ("t", "theirs")], printer) {
        Answer::Chosen(0) => Ok(MergeSide::Ours),
        Answer::Chosen(_) => Ok(MergeSide::Theirs),
        Answer::Other => Err(Error::refused("nothing was written, because you chose no side")),
        Answer::NobodyToAsk => Err(unchosen_side(&skill.name).into()),
    }
}

fn say(resolved: &ResolvedLock, printer: &mut Printer) {
    let label = |side: MergeSide| match side {
        MergeSide::Ours => inline(&resolved.conflict.our_label).into_owned(),
        MergeSide::Theirs => inline(&resolved.conflict.their_label).into_owned(),
    };
    for skill in &resolved.conflict.skills {
        let name = &skill.name;
        match &skill.state {
            SkillConflict::Same => {}
            SkillConflict::Only(side) => {
                printer.say(&format!("{name}: only in `{}`, kept", label(*side)));
            }
            SkillConflict::Differs { ours, theirs } => {
                let side = resolved.chosen.get(name).copied().unwrap_or(MergeSide::Ours);
                let entry = match side {
                    MergeSide::Ours => ours,
                    MergeSide::Theirs => theirs,
                };
                let version = entry.as_ref().map(|entry| with_version(name, &entry.version));
                let version = version.unwrap_or_else(|| name.to_string());
                printer.say(&format!("{version}: taken from `{}`", label(side)));
            }
        }
    }
}
