//! The skills of this machine together with what our lock files say of them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use prowess_format::text::closest;
use prowess_package::name::SkillName;
use prowess_policy::Tier;
use prowess_store::agents::{self, Agent};
use prowess_store::discovery::{
    self, DiscoverOptions, Found, Listing, Memory, RootKind, program_stamp,
};
use prowess_store::drift::{self, Drift, Finding};
use prowess_store::lock::{Lock, Locked, MOST_BYTES};
use prowess_store::placement::{self, PlacementError, Recorded};
use prowess_store::places::{Places, Scope};
use prowess_store::store::LOCK_FILE;
use prowess_trust::TrustStore;
use serde_json::{Value, json};

use crate::error::Error;
use crate::store::packages::{Packages, install_failed, now};
use crate::terminal::printer::{Printer, inline};

/// Everything that was found, and what is known of it.
pub(crate) struct Survey {
    /// The skills.
    pub(crate) listing: Listing,
    project: Lock,
    user: Lock,
    /// What was put into the folders of agents by us, by its path.
    placed: BTreeMap<PathBuf, Recorded>,
    /// What the signatures of installed skills prove now. A lock file is a file like any other, and its word for a tier
    /// is nobody's word.
    proved: BTreeMap<(Scope, SkillName), Proved>,
    /// What a lock file names and nobody finds.
    pub(crate) missing: Vec<Missing>,
}

/// What is known of an installed skill that somebody has signed.
#[derive(Clone, Copy)]
struct Proved {
    tier: Tier,
    /// Whether its files are not those that were installed.
    is_changed: bool,
}

/// A skill that a lock file names, and that is not on disk.
pub(crate) struct Missing {
    pub(crate) name: SkillName,
    pub(crate) version: String,
    pub(crate) directory: PathBuf,
}

/// How a copy of a skill stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It counts for its name.
    Counts,
    /// Another one stands before it.
    Shadowed,
    /// A copy of an installed skill, put there for an agent by us.
    Placed,
    /// It was signed, and is not what was installed any more.
    Changed,
    /// A lock file names it, and it is not there.
    Missing,
    /// It can't be used.
    Broken,
}

impl State {
    /// The word for it, also on the wire.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            State::Counts => "ok",
            State::Shadowed => "shadowed",
            State::Placed => "placed",
            State::Changed => "changed",
            State::Missing => "missing",
            State::Broken => "broken",
        }
    }
}

impl Survey {
    /// Looks everywhere. A lock file that can't be read takes away what it would have told, and nothing else.
    pub(crate) fn new(packages: &Packages, printer: &mut Printer) -> Self {
        let stamp = program_stamp();
        let listing = discovery::discover(&DiscoverOptions {
            places: &packages.places,
            now: SystemTime::now(),
            memory: Memory::Kept { stamp: &stamp },
        });
        let mut lock = |scope| {
            let path = packages.store_path(scope).join(LOCK_FILE);
            read_lock(&path).unwrap_or_else(|why| {
                printer.warning(&format!("`{}` can't be read: {why}", path.display()));
                Lock::default()
            })
        };
        let (project, user) = (lock(Scope::Project), lock(Scope::User));
        let mut placed = BTreeMap::new();
        for scope in [Scope::Project, Scope::User] {
            match placement::placed(&packages.places, scope) {
                Ok(known) => {
                    placed.extend(known.into_iter().map(|known| (known.path.clone(), known)));
                }
                Err(PlacementError::NoProject) => {}
                Err(error) => printer.warning(&error.to_string()),
            }
        }
        let (mut proved, mut missing) = (BTreeMap::new(), Vec::new());
        let found: BTreeSet<&Path> =
            listing.skills.iter().map(|found| found.directory.as_path()).collect();
        for (scope, lock) in [(Scope::Project, &project), (Scope::User, &user)] {
            proved.extend(prove(packages, scope, lock, printer));
            let folder = packages.store_path(scope).join("skills");
            for (name, entry) in &lock.skills {
                let directory = folder.join(name.as_str());
                if !found.contains(directory.as_path()) && !directory.exists() {
                    let version = entry.version.to_string();
                    missing.push(Missing { name: name.clone(), version, directory });
                }
            }
        }
        Self { listing, project, user, placed, proved, missing }
    }

    /// How a skill that was found stands.
    pub(crate) fn state(&self, found: &Found) -> State {
        if found.is_broken() {
            return State::Broken;
        }
        if let Some(winner) = self.winner(found) {
            let is_ours = !self.placed_for(found).is_empty() && self.locked(winner).is_some();
            return if is_ours { State::Placed } else { State::Shadowed };
        }
        let is_changed = self.proved(found).is_some_and(|proved| proved.is_changed);
        if is_changed { State::Changed } else { State::Counts }
    }

    /// The tier of a skill that was installed: what its signatures prove now.
    pub(crate) fn tier(&self, found: &Found) -> Option<Tier> {
        self.locked(found)?;
        Some(self.proved(found).map_or(Tier::Experimental, |proved| proved.tier))
    }

    fn proved(&self, found: &Found) -> Option<Proved> {
        let (scope, name, _) = self.locked(found)?;
        self.proved.get(&(scope, name)).copied()
    }

    /// What the lock file says of a skill, when it is one that we installed.
    pub(crate) fn locked(&self, found: &Found) -> Option<(Scope, SkillName, &Locked)> {
        let root = &self.listing.roots[found.root];
        let (scope, lock) = match root.kind {
            RootKind::Project => (Scope::Project, &self.project),
            RootKind::User => (Scope::User, &self.user),
            RootKind::Bundled | RootKind::Agent | RootKind::System => return None,
        };
        if found.directory.parent() != Some(root.path.as_path()) {
            return None;
        }
        let name: SkillName = found.directory.file_name()?.to_str()?.parse().ok()?;
        let entry = lock.skills.get(&name)?;
        Some((scope, name, entry))
    }

    /// The version: the declared one, or the one that was locked. `0.0.0` is locked for none (R5).
    pub(crate) fn version(&self, found: &Found) -> Option<String> {
        let none = semver::Version::new(0, 0, 0);
        let locked = || {
            let (_, _, entry) = self.locked(found)?;
            (entry.version != none).then(|| entry.version.to_string())
        };
        found.summary.version.clone().or_else(locked)
    }

    /// Every copy of a name, by what it is called or by its folder: the broken ones may not have told their name.
    pub(crate) fn copies(&self, name: &str) -> Vec<&Found> {
        let is_folder = |path: &Path| path.file_name().is_some_and(|folder| folder == name);
        let is_meant = |found: &&Found| {
            found.name == name
                || is_folder(&found.directory)
                || found.also_at.iter().any(|way| is_folder(&way.directory))
        };
        self.listing.skills.iter().filter(is_meant).collect()
    }

    /// That there is no skill of a name, and which one may have been meant.
    pub(crate) fn unknown(&self, name: &str) -> Error {
        let error = Error::not_found(format!("there is no skill `{}` here", inline(name)));
        let names = self.listing.skills.iter().map(|found| found.name.as_str());
        match closest(name, names) {
            Some(similar) => error.hint(format!("did you mean `{}`?", inline(similar))),
            None => error.hint("`prowess list` shows all, `prowess search` those of a registry"),
        }
    }

    /// The ids of the agents that find a skill: those on this machine, or all that are known.
    pub(crate) fn agents(&self, found: &Found, present: Option<&[&Agent]>) -> Vec<&'static str> {
        let seen = self.listing.seen_by(found).into_iter();
        let counts = |agent: &&Agent| present.is_none_or(|present| present.contains(agent));
        seen.filter(counts).map(|agent| agent.id).collect()
    }

    /// The ids of the agents for which a copy was put where it is, when that was done by us.
    pub(crate) fn placed_for(&self, found: &Found) -> &[String] {
        let placed = self.placed.get(&found.real);
        placed.map(|placed| placed.owners.as_slice()).unwrap_or_default()
    }

    /// What stands in place of a shadowed skill.
    pub(crate) fn winner(&self, found: &Found) -> Option<&Found> {
        found.shadowed_by.map(|winner| &self.listing.skills[winner])
    }
}

/// Checks the signatures of the skills that a lock file calls more than experimental. The others need no proof, and their
/// files are not read: hundreds of them are listed at once.
fn prove(
    packages: &Packages,
    scope: Scope,
    lock: &Lock,
    printer: &mut Printer,
) -> Vec<((Scope, SkillName), Proved)> {
    let above = lock.skills.iter().filter(|(_, entry)| entry.tier > Tier::Experimental);
    let names: Vec<SkillName> = above.map(|(name, _)| name.clone()).collect();
    if names.is_empty() {
        return Vec::new();
    }
    let trust = packages.trust().unwrap_or_else(|error| {
        printer.warning(&error.message);
        TrustStore::empty()
    });
    let looked = packages.store(scope).and_then(|store| {
        drift::look(&store, &names, &trust, now()).map_err(|error| install_failed(&error))
    });
    let findings = looked.unwrap_or_else(|error| {
        printer.warning(&error.message);
        Vec::new()
    });
    let proved = |finding: Finding| {
        let is_changed = finding.drifts.iter().any(Drift::is_about_files);
        let now = finding.drifts.iter().find_map(|drift| match drift {
            Drift::Tier { found, .. } => Some(*found),
            _ => None,
        });
        let before = finding.entry.map_or(Tier::Experimental, |entry| entry.tier);
        // Files that somebody has changed are nobody's word.
        let tier = if is_changed { Tier::Experimental } else { now.unwrap_or(before) };
        ((scope, finding.name), Proved { tier, is_changed })
    };
    findings.into_iter().map(proved).collect()
}

/// Why a skill is broken, in a line.
pub(crate) fn first_problem(found: &Found) -> Option<String> {
    let problem = found.summary.errors.first()?;
    let file = found.file.file_name().unwrap_or_default().to_string_lossy();
    Some(format!("{}:{}: {}", inline(&file), problem.line, inline(&problem.message)))
}

/// Why a skill is broken, for programs.
pub(crate) fn problems(found: &Found) -> Vec<Value> {
    let problems = found.summary.errors.iter();
    problems
        .map(|problem| {
            json!({
                "rule": problem.rule,
                "line": problem.line,
                "message": problem.message,
                "help": problem.help,
            })
        })
        .collect()
}

/// A path for people, safe to show.
pub(crate) fn shown(places: &Places, path: &Path) -> String {
    inline(&places.shown(path)).into_owned()
}

/// The agent of an id that a user typed.
pub(crate) fn agent(id: &str) -> Result<&'static Agent, Error> {
    agents::by_id(id).ok_or_else(|| {
        let error = Error::usage(format!("`{}` is no agent that is known here", inline(id)));
        let similar = similar_agents(id);
        if similar.is_empty() {
            let known: Vec<&str> = agents::all().iter().map(|agent| agent.id).collect();
            return error.hint(format!("known are {}", known.join(", ")));
        }
        error.hint(format!("did you mean `{}`?", similar.join("` or `")))
    })
}

/// The agents whose ids are spelt almost like a word, or contain it: `claude` and `copilot` are parts of ids.
fn similar_agents(word: &str) -> Vec<&'static str> {
    const SHORTEST: usize = 3;
    let ids = || agents::all().iter().map(|agent| agent.id);
    if let Some(similar) = closest(word, ids()) {
        return vec![similar];
    }
    let word = word.to_lowercase().replace([' ', '_'], "-");
    let contains = |id: &&str| id.contains(&word) || word.contains(*id);
    ids().filter(|id| word.len() >= SHORTEST && id.len() >= SHORTEST).filter(contains).collect()
}

/// Reads a lock file without locking anything: it is exchanged in one step, so it is old or new and always whole.
fn read_lock(path: &Path) -> Result<Lock, String> {
    let failed = |error: io::Error| prowess_core::system_reason(&error);
    // Opening a pipe would wait for somebody to write into it, and a project may come from anybody.
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Err("it is not a file".to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Lock::default()),
        Err(error) => return Err(failed(error)),
    }
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(MOST_BYTES).read_to_string(&mut text).map_err(failed)?;
    Lock::parse(&text).map_err(|error| error.to_string())
}
