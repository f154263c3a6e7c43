//! The skills on this machine, with what the lock files say about them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use prowess_core::{Problem, ProblemKind, Remedy, system_reason};
use prowess_format::client::{self, Client};
use prowess_format::text::closest;
use prowess_package::name::SkillName;
use prowess_policy::Tier;
use prowess_store::agents::{self, Agent};
use prowess_store::discovery::{
    self, DiscoverOptions, FoundSkill, Listing, RootKind, ScanCache, program_stamp,
};
use prowess_store::drift::{self, Drift, VerifiedSkill};
use prowess_store::lock::{LockEntry, LockFile, MOST_BYTES};
use prowess_store::placement::{self, PlacementError, RecordedPlacement};
use prowess_store::places::Scope;
use prowess_trust::TrustStore;

use super::PackageManager;

/// The skills that were found on this machine.
#[derive(Debug)]
pub struct Inventory {
    /// The skills.
    pub listing: Listing,
    /// Skills that a lock file lists and that are not on disk.
    pub missing: Vec<MissingSkill>,
    /// What could not be read, in words.
    pub warnings: Vec<String>,
    project: LockFile,
    user: LockFile,
    /// Copies and links in the folders of agents, by path.
    placed: BTreeMap<PathBuf, RecordedPlacement>,
    /// What the signatures of installed skills prove now. The tier in a lock file is not evidence.
    proved: BTreeMap<(Scope, SkillName), Proved>,
}

/// What is known of an installed skill that was signed.
#[derive(Clone, Copy, Debug)]
struct Proved {
    tier: Tier,
    /// Whether its files differ from the installed ones.
    is_changed: bool,
}

/// A skill that a lock file lists and that is not on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingSkill {
    /// The skill.
    pub name: SkillName,
    /// Its version.
    pub version: String,
    /// The store whose lock file lists it.
    pub scope: Scope,
    /// Where it should be.
    pub directory: PathBuf,
}

/// The state of a copy of a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillState {
    /// It is the one that its name refers to.
    Active,
    /// Another skill of the same name takes precedence.
    Shadowed,
    /// A copy of an installed skill, placed for an agent.
    Placed,
    /// It was signed, and its files were changed after it was installed.
    Changed,
    /// A lock file lists it, and it is not on disk.
    Missing,
    /// Its file has errors, and there are clients that load it all the same.
    Flawed,
    /// It can't be used.
    Broken,
}

impl SkillState {
    /// The word for it, also on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "ok",
            Self::Shadowed => "shadowed",
            Self::Placed => "placed",
            Self::Changed => "changed",
            Self::Missing => "missing",
            Self::Flawed => "errors",
            Self::Broken => "broken",
        }
    }
}

impl PackageManager {
    /// Lists every skill that can be discovered, installed or not.
    pub fn listing(&self) -> Listing {
        let stamp = program_stamp();
        discovery::discover(&DiscoverOptions {
            places: &self.places,
            now: (self.clock)(),
            memory: ScanCache::Kept { stamp: &stamp },
        })
    }

    /// Takes an inventory of the skills on this machine. A lock file that can't be read is a warning.
    pub fn inventory(&self) -> Inventory {
        let listing = self.listing();
        let mut warnings = Vec::new();
        let mut lock = |scope| {
            let path = self.lock_path(scope);
            read_lock(&path).unwrap_or_else(|why| {
                warnings.push(format!("`{}` can't be read: {why}", path.display()));
                LockFile::default()
            })
        };
        let (project, user) = (lock(Scope::Project), lock(Scope::User));
        let mut placed = BTreeMap::new();
        for scope in [Scope::Project, Scope::User] {
            match placement::placed(&self.places, scope) {
                Ok(known) => {
                    placed.extend(known.into_iter().map(|known| (known.path.clone(), known)));
                }
                Err(PlacementError::NoProject) => {}
                Err(error) => warnings.push(error.to_string()),
            }
        }
        let (mut proved, mut missing) = (BTreeMap::new(), Vec::new());
        let found: BTreeSet<&Path> =
            listing.skills.iter().map(|found| found.directory.as_path()).collect();
        for (scope, lock) in [(Scope::Project, &project), (Scope::User, &user)] {
            proved.extend(self.prove(scope, lock, &mut warnings));
            let folder = self.store_path(scope).join("skills");
            for (name, entry) in &lock.skills {
                let directory = folder.join(name.as_str());
                if !found.contains(directory.as_path()) && !directory.exists() {
                    let (name, version) = (name.clone(), entry.version.to_string());
                    missing.push(MissingSkill { name, version, scope, directory });
                }
            }
        }
        Inventory { listing, missing, warnings, project, user, placed, proved }
    }

    /// Checks the signatures of the skills that a lock file calls more than experimental. The others need no proof, and
    /// their files are not read: hundreds of them are listed at once.
    fn prove(
        &self,
        scope: Scope,
        lock: &LockFile,
        warnings: &mut Vec<String>,
    ) -> Vec<((Scope, SkillName), Proved)> {
        let above = lock.skills.iter().filter(|(_, entry)| entry.tier > Tier::Experimental);
        let names: Vec<SkillName> = above.map(|(name, _)| name.clone()).collect();
        if names.is_empty() {
            return Vec::new();
        }
        let trust = self.trust_store().unwrap_or_else(|problem| {
            warnings.push(problem.message);
            TrustStore::empty()
        });
        let verified = self.store(scope).and_then(|store| {
            drift::verify(&store, &names, &trust, self.now()).map_err(|error| error.problem())
        });
        let verified = verified.unwrap_or_else(|problem| {
            warnings.push(problem.message);
            Vec::new()
        });
        let proved = |skill: VerifiedSkill| {
            let is_changed = skill.drifts.iter().any(Drift::is_about_files);
            let now = skill.drifts.iter().find_map(|drift| match drift {
                Drift::Tier { found, .. } => Some(*found),
                _ => None,
            });
            let before = skill.entry.map_or(Tier::Experimental, |entry| entry.tier);
            // A signature says nothing about files that were changed after it.
            let tier = if is_changed { Tier::Experimental } else { now.unwrap_or(before) };
            ((scope, skill.name), Proved { tier, is_changed })
        };
        verified.into_iter().map(proved).collect()
    }
}

impl Inventory {
    /// The state of a skill that was found.
    pub fn state(&self, found: &FoundSkill) -> SkillState {
        if found.is_broken() {
            let is_loaded = !found.summary.loaded_by.is_empty();
            return if is_loaded { SkillState::Flawed } else { SkillState::Broken };
        }
        if let Some(winner) = self.winner(found) {
            let is_ours = !self.placed_for(found).is_empty() && self.locked(winner).is_some();
            return if is_ours { SkillState::Placed } else { SkillState::Shadowed };
        }
        let is_changed = self.proved(found).is_some_and(|proved| proved.is_changed);
        if is_changed { SkillState::Changed } else { SkillState::Active }
    }

    /// The tier of an installed skill: what its signatures prove now.
    pub fn tier(&self, found: &FoundSkill) -> Option<Tier> {
        self.locked(found)?;
        Some(self.proved(found).map_or(Tier::Experimental, |proved| proved.tier))
    }

    fn proved(&self, found: &FoundSkill) -> Option<Proved> {
        let (scope, name, _) = self.locked(found)?;
        self.proved.get(&(scope, name)).copied()
    }

    /// The lock entry of a skill, if it is installed in one of our stores.
    pub fn locked(&self, found: &FoundSkill) -> Option<(Scope, SkillName, &LockEntry)> {
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

    /// The declared version, or the locked one. A skill without a version is locked as `0.0.0` (R5).
    pub fn version(&self, found: &FoundSkill) -> Option<String> {
        let none = semver::Version::new(0, 0, 0);
        let locked = || {
            let (_, _, entry) = self.locked(found)?;
            (entry.version != none).then(|| entry.version.to_string())
        };
        found.summary.version.clone().or_else(locked)
    }

    /// Every copy of a skill, by its name or by its folder: a broken skill may have no readable name.
    pub fn copies(&self, name: &str) -> Vec<&FoundSkill> {
        let is_folder = |path: &Path| path.file_name().is_some_and(|folder| folder == name);
        let is_meant = |found: &&FoundSkill| {
            found.name == name
                || is_folder(&found.directory)
                || found.also_at.iter().any(|way| is_folder(&way.directory))
        };
        self.listing.skills.iter().filter(is_meant).collect()
    }

    /// Reports that there is no skill of a name, and a similar name.
    pub fn unknown(&self, name: &str) -> Problem {
        let message = format!("there is no skill `{name}` here");
        let problem = Problem::new("skill-not-found", ProblemKind::NotFound, message);
        let names = self.listing.skills.iter().map(|found| found.name.as_str());
        match closest(name, names) {
            Some(similar) => problem.advice(format!("did you mean `{similar}`?")),
            None => problem.remedy(Remedy::FindSkills),
        }
    }

    /// The ids of the agents that find a skill: those on this machine, or all known ones.
    pub fn agents(&self, found: &FoundSkill, present: Option<&[&Agent]>) -> Vec<&'static str> {
        let seen = self.listing.seen_by(found).into_iter();
        let counts = |agent: &&Agent| present.is_none_or(|present| present.contains(agent));
        seen.filter(counts).map(|agent| agent.id).collect()
    }

    /// The ids of the agents for which we placed a copy.
    pub fn placed_for(&self, found: &FoundSkill) -> &[String] {
        let placed = self.placed.get(&found.real);
        placed.map(|placed| placed.owners.as_slice()).unwrap_or_default()
    }

    /// The skill that takes precedence over a shadowed one.
    pub fn winner(&self, found: &FoundSkill) -> Option<&FoundSkill> {
        found.shadowed_by.map(|winner| &self.listing.skills[winner])
    }
}

/// Finds an agent by the id that a user typed.
pub fn agent_by_id(id: &str) -> Result<&'static Agent, Problem> {
    agents::by_name(id).ok_or_else(|| {
        let message = format!("`{id}` is not a known agent");
        let problem = Problem::new("unknown-agent", ProblemKind::InvalidInput, message);
        let similar = similar_agents(id);
        if similar.is_empty() {
            let known: Vec<&str> = agents::all().iter().map(|agent| agent.id).collect();
            return problem.advice(format!("known agents: {}", known.join(", ")));
        }
        problem.advice(format!("did you mean `{}`?", similar.join("` or `")))
    })
}

/// Finds the rules of a client by the word that a user typed. Agents and clients have one list of names: what is an agent's
/// name here is one there.
pub fn client_by_id(word: &str) -> Result<&'static Client, Problem> {
    let of_agent = |agent: &Agent| {
        client::CLIENTS.iter().copied().find(|client| agents::by_name(client.id) == Some(agent))
    };
    if let Some(client) = client::by_id(word) {
        return Ok(client);
    }
    let known = client::ids().join("`, `");
    match agents::by_name(word) {
        Some(agent) => of_agent(agent).ok_or_else(|| {
            let message = format!("it is not known how {} treats a skill", agent.title);
            Problem::new("unknown-client", ProblemKind::InvalidInput, message)
                .advice(format!("known clients: `{known}`"))
        }),
        None => {
            let message = format!("`{word}` is not a known client");
            let problem = Problem::new("unknown-client", ProblemKind::InvalidInput, message);
            let similar = closest(word, client::ids());
            Err(match similar {
                Some(similar) => problem.advice(format!("did you mean `{similar}`?")),
                None => problem.advice(format!("known clients: `{known}`")),
            })
        }
    }
}

/// The agents whose ids are similar to a word, or contain it: `claude` and `copilot` are parts of ids.
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

/// Reads a lock file without locking anything: it is replaced atomically, so it is complete, old or new.
fn read_lock(path: &Path) -> Result<LockFile, String> {
    let failed = |error: io::Error| system_reason(&error);
    // Opening a pipe would wait for a writer, and a project may come from anybody.
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Err("it is not a file".to_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LockFile::default()),
        Err(error) => return Err(failed(error)),
    }
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(MOST_BYTES).read_to_string(&mut text).map_err(failed)?;
    LockFile::parse(&text).map_err(|error| error.to_string())
}
