//! What grants come to on this machine, before anybody is asked about them: what is never opened although it is granted,
//! and the repository of a linked worktree, which is opened although no grant names it. A promise that a run does not keep
//! is no basis for a yes.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use prowess_format::permission::{Domain, Level};
use prowess_format::text::visible_line;
use prowess_policy::scope::PathPattern;
use prowess_policy::spec::FileScope;
use prowess_policy::{
    Decision, Grant, GrantEffect, GrantScope, Line, LineKind, explain_with_effects,
};
use prowess_sandbox::{FileAccess, FileGrant};

use super::files::{self, FileContext, FileError};
use super::secrets::CacheUse;
use super::uses::Uses;
use super::{protect, secrets, worktree};
use crate::programs::Images;
use crate::staging;
use crate::world::{World, Writes};

/// Said wherever the limit is said (attack sandbox-E07).
const BEST_EFFORT: &str = "the memory limit is best effort on this machine: no cgroup is available to you, so memory use is polled, not capped";

/// How many places a line names.
const MAX_NAMED: usize = 5;

/// What becomes of grants on this machine, for the policy to decide with. The same grant is asked about several times.
#[derive(Debug)]
pub(crate) struct GrantEffects<'w> {
    world: &'w World,
    skill_directory: Option<&'w Path>,
    uses: Uses<'w>,
    known: RefCell<BTreeMap<String, GrantEffect>>,
}

impl<'w> GrantEffects<'w> {
    pub(crate) fn new(world: &'w World, skill_directory: Option<&'w Path>) -> Self {
        Self { world, skill_directory, uses: Uses::new(world), known: RefCell::default() }
    }

    /// Whether a grant is opened as it says. Nothing is made or changed.
    pub(crate) fn effect_of(&self, grant: &Grant) -> GrantEffect {
        let Some((scope, access)) = file_rule(grant) else { return GrantEffect::AsGranted };
        let text = grant.to_string();
        if let Some(known) = self.known.borrow().get(&text) {
            return known.clone();
        }
        let Self { world, skill_directory, uses, .. } = self;
        let here = FileContext { world, skill_directory: *skill_directory, uses };
        let effect_of = files::effect_of(&scope, access, here);
        self.known.borrow_mut().insert(text, effect_of.clone());
        effect_of
    }
}

/// What grants come to.
#[derive(Debug, Default)]
pub(crate) struct GrantPreview {
    /// By the text of a grant.
    realities: Vec<(String, GrantEffect)>,
    /// What is opened beside the grants.
    beside: Option<Line>,
    /// Files with keys that stay closed.
    hidden: Option<Line>,
    /// What is granted and not there, and limits that the kernel does not hold.
    notes: Vec<Line>,
}

impl GrantPreview {
    /// Looks at everything that a decision would open. Nothing is made or changed.
    pub(crate) fn of(
        decision: &Decision,
        images: &Images,
        skill_directory: Option<&Path>,
        world: &World,
    ) -> Self {
        let allowed = decision.spec();
        let mut realities = Vec::new();
        let mut opened = Vec::new();
        let here = FileContext { world, skill_directory, uses: &Uses::new(world) };
        for grant in decision.grants() {
            let Some((scope, access)) = file_rule(grant) else { continue };
            let found = files::look(&scope, access, here);
            let effect_of = match &scope {
                FileScope::Everything => GrantEffect::AsGranted,
                FileScope::Pattern(pattern) => {
                    RequestedFiles { scope: &scope, pattern, access }.effect_of(&found, here.uses)
                }
            };
            realities.push((grant.to_string(), effect_of));
            opened.extend(found.unwrap_or_default());
        }
        let hidden =
            secrets::hidden(&opened, allowed, world, secrets::MAX_FOLDERS_TOLD, CacheUse::ReadOnly);
        let repository = worktree::open(images, &opened, world);
        let is_limited = allowed.limits.memory_bytes.is_some();
        let best_effort = (is_limited && !prowess_sandbox::has_memory_accounting())
            .then(|| BEST_EFFORT.to_owned());
        let notes = files::absent(allowed, world).into_iter().chain(best_effort);
        let notes = notes.chain(not_undone(&opened, world));
        Self {
            realities,
            beside: beside(&repository.grants),
            hidden: hidden_line(&hidden.files, world),
            notes: notes.map(|text| Line::new(LineKind::Note, text)).collect(),
        }
    }

    /// A decision in plain words, as far as they are true here.
    pub(crate) fn explain(&self, decision: &Decision) -> Vec<Line> {
        let mut lines = explain_with_effects(decision, &|grant| {
            let text = grant.to_string();
            let known = self.realities.iter().find(|(known, _)| *known == text);
            known.map_or(GrantEffect::AsGranted, |(_, effect_of)| effect_of.clone())
        });
        if matches!(decision, Decision::Deny(_)) {
            return lines;
        }
        let after_grants = lines.iter().rposition(|line| line.kind == LineKind::May);
        let more = self.beside.iter().chain(&self.hidden).cloned();
        let at = after_grants.map_or(lines.len(), |at| at + 1);
        lines.splice(at..at, more);
        lines.extend(self.notes.iter().cloned());
        lines
    }
}

/// What a run writes at once, so that it can't be undone.
fn not_undone(opened: &[FileGrant], world: &World) -> Vec<String> {
    if !opened.iter().any(|grant| grant.access == FileAccess::Write) {
        return Vec::new();
    }
    match world.writes {
        Writes::Live => vec![
            "changes are made at once: they are not examined first, and can't be undone".to_owned(),
        ],
        Writes::Staged(_) => {
            let obstacles = staging::obstacles(opened, world);
            let line = |(path, reason): (PathBuf, String)| {
                let path = shown(&path);
                format!("changes to {path} are made at once and can't be undone: {reason}")
            };
            obstacles.into_iter().take(MAX_NAMED).map(line).collect()
        }
    }
}

/// The rule that a grant of files is.
fn file_rule(grant: &Grant) -> Option<(FileScope, FileAccess)> {
    if grant.domain() != Domain::Filesystem {
        return None;
    }
    let access = if grant.level() == Level::Write { FileAccess::Write } else { FileAccess::Read };
    Some(match grant.scope() {
        GrantScope::Path(pattern) => (FileScope::Pattern(pattern.clone()), access),
        _ => (FileScope::Everything, access),
    })
}

/// A grant of some files.
struct RequestedFiles<'a> {
    scope: &'a FileScope,
    pattern: &'a PathPattern,
    access: FileAccess,
}

impl RequestedFiles<'_> {
    /// What the decision did not know: whether a run would be refused, and which parts of a folder stay closed.
    fn effect_of(&self, found: &Result<Vec<FileGrant>, FileError>, uses: &Uses<'_>) -> GrantEffect {
        let opened = match found {
            Ok(opened) => opened,
            // What is missing is told as such.
            Err(FileError::NoFolder { .. }) => return GrantEffect::AsGranted,
            Err(error) => {
                return GrantEffect::Never(format!("the run is refused, because {error}"));
            }
        };
        let base = files::base(self.pattern, uses.world());
        let usable: Vec<&FileGrant> =
            opened.iter().filter(|grant| grant.access == self.access).collect();
        let is_whole = usable.iter().any(|grant| base.starts_with(&grant.path));
        // Reading a home without its keys is what everybody expects, and the guide says it.
        if is_whole || self.access != FileAccess::Write || !base.exists() {
            return GrantEffect::AsGranted;
        }
        if usable.is_empty() {
            return GrantEffect::Never(files::nothing_writable_in(&base));
        }
        let guards = protect::guards(self.scope, uses);
        let inside = guards.iter().filter(|guard| guard.place.starts_with(&base));
        let closed = named(inside.map(|guard| guard.place.as_path()).filter(|it| it.exists()));
        let base = shown(&base);
        let open = named(usable.iter().map(|grant| grant.path.as_path()));
        let closed = if closed.is_empty() { closed } else { format!("; never {closed}") };
        GrantEffect::Partly(format!(
            "may change only {open} in {base}, and create nothing next to them{closed}"
        ))
    }
}

/// The repository of a linked worktree in words.
fn beside(grants: &[FileGrant]) -> Option<Line> {
    let repository = &grants.first()?.path;
    let changed: Vec<String> = grants
        .iter()
        .filter(|grant| grant.access == FileAccess::Write)
        .filter_map(|grant| grant.path.strip_prefix(repository).ok())
        .map(shown)
        .collect();
    let repository = shown(repository);
    let because = "because the working directory is a linked worktree of it";
    let text = if changed.is_empty() {
        format!("may read the repository {repository}, {because}")
    } else {
        let changed = changed.join(", ");
        format!("may read the repository {repository} and change its {changed}, {because}")
    };
    Some(Line::new(LineKind::May, text))
}

/// Files with keys in words.
fn hidden_line(files: &BTreeSet<PathBuf>, world: &World) -> Option<Line> {
    let relative =
        files.iter().map(|file| file.strip_prefix(&world.working_directory).unwrap_or(file));
    let names = named(relative);
    let text = format!("may not read {names}, because projects store keys in it");
    (!files.is_empty()).then_some(Line::new(LineKind::MayNot, text))
}

/// Some paths in words; empty for none.
fn named<'p>(paths: impl Iterator<Item = &'p Path>) -> String {
    let mut paths: Vec<PathBuf> = paths.map(Path::to_owned).collect();
    paths.sort();
    paths.dedup();
    let more = paths.len().saturating_sub(MAX_NAMED);
    let mut words: Vec<String> = paths.iter().take(MAX_NAMED).map(|path| shown(path)).collect();
    if more > 0 {
        words.push(format!("{more} more"));
    }
    words.join(", ")
}

fn shown(path: &Path) -> String {
    visible_line(&path.display().to_string()).into_owned()
}
