//! What grants come to on this machine, before anybody is asked about them: what is never opened although it is granted,
//! and the repository of a linked worktree, which is opened although no grant names it. A promise that a run does not keep
//! is no basis for a yes.

use std::path::{Path, PathBuf};

use prowess_format::permission::{Domain, Level};
use prowess_format::text::visible;
use prowess_policy::scope::PathPattern;
use prowess_policy::spec::FileScope;
use prowess_policy::{Decision, Grant, Line, LineKind, Reality, SandboxSpec, Scope, explain_here};
use prowess_sandbox::{Access, FileGrant};

use super::files::{self, FileError};
use super::{protect, worktree};
use crate::programs::Images;
use crate::world::World;

/// Said wherever the limit is said (attack E07).
const BEST_EFFORT: &str = "the limit of memory is best effort on this machine: there is no control group for you, so that memory is watched and not held back (`prowess doctor` says more)";

/// How many places a line names.
const MOST_NAMED: usize = 5;

/// What grants come to.
#[derive(Debug, Default)]
pub(crate) struct Outlook {
    /// By the text of a grant.
    realities: Vec<(String, Reality)>,
    /// What is opened beside the grants.
    beside: Option<Line>,
    /// What is granted and not there, and limits that the kernel does not hold.
    notes: Vec<Line>,
}

impl Outlook {
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
        for grant in decision.grants() {
            let Some((scope, access)) = file_rule(grant) else { continue };
            let found = files::look(allowed, &scope, access, world, skill_directory);
            let reality = match &scope {
                FileScope::Everything => Reality::AsGranted,
                FileScope::Pattern(pattern) => {
                    let asked = Asked { allowed, scope: &scope, pattern, access };
                    asked.reality(&found, skill_directory, world)
                }
            };
            realities.push((grant.to_string(), reality));
            opened.extend(found.unwrap_or_default());
        }
        let repository = worktree::open(allowed, images, &opened, world);
        let is_limited = allowed.limits.memory_bytes.is_some();
        let best_effort =
            (is_limited && !prowess_sandbox::counts_memory()).then(|| BEST_EFFORT.to_owned());
        let notes = files::absent(allowed, world).into_iter().chain(best_effort);
        Self {
            realities,
            beside: beside(&repository.grants),
            notes: notes.map(|text| Line { kind: LineKind::Note, text }).collect(),
        }
    }

    /// A decision in plain words, as far as they are true here.
    pub(crate) fn explain(&self, decision: &Decision) -> Vec<Line> {
        let mut lines = explain_here(decision, &|grant| {
            let text = grant.to_string();
            let known = self.realities.iter().find(|(known, _)| *known == text);
            known.map_or(Reality::AsGranted, |(_, reality)| reality.clone())
        });
        if matches!(decision, Decision::Deny(_)) {
            return lines;
        }
        let after_grants = lines.iter().rposition(|line| line.kind == LineKind::May);
        if let Some(beside) = &self.beside {
            lines.insert(after_grants.map_or(lines.len(), |at| at + 1), beside.clone());
        }
        lines.extend(self.notes.iter().cloned());
        lines
    }
}

/// The rule that a grant of files is.
fn file_rule(grant: &Grant) -> Option<(FileScope, Access)> {
    if grant.domain() != Domain::Filesystem {
        return None;
    }
    let access = if grant.level() == Level::Write { Access::Write } else { Access::Read };
    Some(match grant.scope() {
        Scope::Path(pattern) => (FileScope::Pattern(pattern.clone()), access),
        _ => (FileScope::Everything, access),
    })
}

/// A grant of some files.
struct Asked<'a> {
    allowed: &'a SandboxSpec,
    scope: &'a FileScope,
    pattern: &'a PathPattern,
    access: Access,
}

impl Asked<'_> {
    fn reality(
        &self,
        found: &Result<Vec<FileGrant>, FileError>,
        skill_directory: Option<&Path>,
        world: &World,
    ) -> Reality {
        let opened = match found {
            Ok(opened) => opened,
            // What is missing is told as such.
            Err(FileError::NoFolder { .. }) => return Reality::AsGranted,
            Err(error) => return Reality::Never(format!("the run is refused, because {error}")),
        };
        let base = files::base(self.pattern, world);
        if self.access == Access::Write
            && let Some(folder) = skill_directory.filter(|folder| base.starts_with(folder))
        {
            let shown = shown(folder);
            return Reality::Never(format!("{shown} is the skill itself and stays read-only"));
        }
        let guards = protect::guards(self.allowed, self.scope, world);
        let closing = guards.iter().find(|guard| base.starts_with(&guard.place));
        let usable: Vec<&FileGrant> =
            opened.iter().filter(|grant| grant.access == self.access).collect();
        let verb = if self.access == Access::Write { "changes" } else { "reads" };
        if self.access == Access::Write
            && let Some(place) = protect::row_around(self.allowed, self.pattern)
        {
            return Reality::Never(format!("no tool {verb} `{place}`, whatever is granted"));
        }
        match closing {
            Some(guard) if usable.is_empty() => {
                let place = shown(&guard.place);
                return Reality::Never(format!("no tool {verb} {place}, whatever is granted"));
            }
            Some(_) | None => {}
        }
        let is_whole = usable.iter().any(|grant| base.starts_with(&grant.path));
        // Reading a home without its keys is what everybody expects, and the guide says it.
        if is_whole || self.access != Access::Write || !base.exists() {
            return Reality::AsGranted;
        }
        let inside = guards.iter().filter(|guard| guard.place.starts_with(&base));
        let closed = named(inside.map(|guard| guard.place.as_path()).filter(|it| it.exists()));
        let base = shown(&base);
        if usable.is_empty() {
            return Reality::Never(format!(
                "{base} holds nothing that a tool may change, and nothing new is made in it"
            ));
        }
        let open = named(usable.iter().map(|grant| grant.path.as_path()));
        let closed = if closed.is_empty() { closed } else { format!("; never {closed}") };
        Reality::Partly(format!(
            "may change nothing in {base} but {open}, and make nothing new beside them{closed}"
        ))
    }
}

/// The repository of a linked worktree in words.
fn beside(grants: &[FileGrant]) -> Option<Line> {
    let repository = &grants.first()?.path;
    let changed: Vec<String> = grants
        .iter()
        .filter(|grant| grant.access == Access::Write)
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
    Some(Line { kind: LineKind::May, text })
}

/// Some paths in words; empty for none.
fn named<'p>(paths: impl Iterator<Item = &'p Path>) -> String {
    let mut paths: Vec<PathBuf> = paths.map(Path::to_owned).collect();
    paths.sort();
    paths.dedup();
    let more = paths.len().saturating_sub(MOST_NAMED);
    let mut words: Vec<String> = paths.iter().take(MOST_NAMED).map(|path| shown(path)).collect();
    if more > 0 {
        words.push(format!("{more} more"));
    }
    words.join(", ")
}

fn shown(path: &Path) -> String {
    visible(&path.display().to_string()).into_owned()
}
