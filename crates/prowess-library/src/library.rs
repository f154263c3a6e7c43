//! The library: every way from a reference to a skill with its trust.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use prowess_core::{Problem, ProblemKind, Remedy};
use prowess_engine::{LoadedSkill, SkillResolver, World, check_skill};
use prowess_format::diagnostic::{Diagnostic, Severity};
use prowess_format::dialect::Dialect;
use prowess_format::document::Form;
use prowess_policy::{Origin, Tier, Trust};
use prowess_store::lock::LockFile;
use prowess_store::places::Places;
use prowess_trust::TrustStore;

use crate::cache::{SkillCache, Stamp};
use crate::file::{SkillFile, path_problem};
use crate::models::ModelCache;
use crate::packages::{self, PackageManager};

/// Variables that move folders of agents and of other systems.
const AGENT_VARIABLES: [&str; 6] = [
    "CODEX_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "CLAUDE_CONFIG_DIR",
    "GAIA_CONFIG_DIR",
];
/// The rules about a skill's own name.
const NAME_RULES: [&str; 2] = ["invalid-name", "name-directory-mismatch"];

/// The skills that one user can reach from one folder.
#[derive(Debug)]
pub struct Library {
    world: Arc<World>,
    places: Places,
    models: ModelCache,
    skills: Mutex<SkillCache>,
    pub(crate) locks: Mutex<HashMap<PathBuf, (Stamp, Arc<LockFile>)>>,
    pub(crate) keys: Mutex<Option<(Stamp, Arc<TrustStore>)>>,
    /// The tiers of skills that were fetched and not installed, by their temporary folders.
    pub(crate) fetched: Mutex<HashMap<PathBuf, Tier>>,
    pub(crate) counts: Counts,
    pub(crate) clock: fn() -> SystemTime,
}

#[derive(Debug, Default)]
pub(crate) struct Counts {
    pub(crate) lock_reads: AtomicUsize,
    pub(crate) hashes: AtomicUsize,
    pub(crate) loads: AtomicUsize,
}

/// How much work a library has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statistics {
    /// How often a lock file was read.
    pub lock_reads: usize,
    /// How often all files of a skill were hashed.
    pub hashes: usize,
    /// How often a skill was parsed and checked.
    pub loads: usize,
}

impl Library {
    /// The library of a user, as the world says where they are. Nothing is read before somebody asks.
    pub fn open(world: Arc<World>) -> Self {
        let variable = |name: &&str| {
            let (_, value) = world.environment.iter().find(|(known, _)| known == name)?;
            Some(((*name).to_owned(), PathBuf::from(value)))
        };
        let variables: BTreeMap<String, PathBuf> =
            AGENT_VARIABLES.iter().filter_map(variable).collect();
        let repository = Some(world.working_directory.as_path());
        let repository = repository.filter(|folder| *folder != world.home);
        // Outside of a repository, a lock file marks the root of a project.
        let project = repository.or_else(|| packages::project_around(&world.current, &world.home));
        let places = Places {
            project: project.map(Path::to_owned),
            home: world.home.clone(),
            current: world.current.clone(),
            data: world.state.data.clone(),
            cache: world.state.cache.clone(),
            bundled: None,
            machine: PathBuf::from("/"),
            variables,
        };
        Self {
            models: ModelCache::new(world.environment.clone(), world.state.config.clone()),
            places,
            world,
            skills: Mutex::default(),
            locks: Mutex::default(),
            keys: Mutex::default(),
            fetched: Mutex::default(),
            counts: Counts::default(),
            clock: SystemTime::now,
        }
    }

    /// Replaces the clock that signatures and the age of files are judged by.
    #[must_use]
    pub fn with_clock(mut self, clock: fn() -> SystemTime) -> Self {
        self.clock = clock;
        self
    }

    /// The machine that it was opened for.
    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    /// Where the user and the project keep things.
    pub fn places(&self) -> &Places {
        &self.places
    }

    /// Installs, updates, removes and verifies skills in the stores of this library.
    pub fn packages(&self) -> PackageManager {
        PackageManager::new(self.places.clone()).with_clock(self.clock)
    }

    /// Models, each opened once.
    pub fn models(&self) -> &ModelCache {
        &self.models
    }

    /// How much work was done so far.
    pub fn statistics(&self) -> Statistics {
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        Statistics {
            lock_reads: count(&self.counts.lock_reads),
            hashes: count(&self.counts.hashes),
            loads: count(&self.counts.loads),
        }
    }

    /// Resolves a reference to a skill, and to the name of the tool where the reference has one.
    pub fn resolve_tool(
        &self,
        reference: &str,
    ) -> Result<(Arc<LoadedSkill>, Option<String>), Problem> {
        let located = self.locate(Path::new(reference))?;
        if located.file.form == Form::Yaml {
            let message = format!("`{}` is an agent manifest, not a skill", located.file.shown);
            return Err(Problem::new("not-a-skill", ProblemKind::InvalidInput, message));
        }
        Ok((self.load(&located.file, None)?, located.tool))
    }

    /// Reads a skill and decides how far it is trusted. One with errors is refused, because nobody can say what it would
    /// do. While its files, the lock file, the trusted keys and the agreements stay the same, it is not read again.
    pub fn load(
        &self,
        file: &SkillFile,
        dialect: Option<&'static Dialect>,
    ) -> Result<Arc<LoadedSkill>, Problem> {
        let real =
            |path: &Path| path.canonicalize().map_err(|source| path_problem("find", path, &source));
        let directory = file.directory.as_deref().map(real).transpose()?;
        let main_file = real(&file.path)?;
        let place = directory.as_deref().map(|directory| self.place_in_store(directory));
        let place = place.transpose()?.flatten();
        let trust_files = self.trust_files(place.as_ref());
        let files = trust_files.iter().map(PathBuf::as_path).chain([main_file.as_path()]);
        let stamp = match &directory {
            Some(directory) => Stamp::of_files(files).and_below(directory),
            None => Some(Stamp::of_files(files)),
        };
        let key = (main_file.clone(), dialect.map(|dialect| dialect.id));
        if let Some(stamp) = &stamp
            && let Some(skill) = self.cached().get(&key, stamp)
        {
            return Ok(skill);
        }
        self.counts.loads.fetch_add(1, Ordering::Relaxed);
        let (skill, diagnostics) =
            check_skill(&file.bytes, file.form, dialect, file.directory.as_deref());
        let given = place.as_ref().and_then(|place| place.given_name());
        let is_error = |diagnostic: &&Diagnostic| {
            // A name that the user gave replaces the skill's own, so what is wrong with that does not matter.
            let is_settled = given.is_some() && NAME_RULES.contains(&diagnostic.rule.name);
            diagnostic.severity == Severity::Error && !is_settled
        };
        if let Some(first) = diagnostics.iter().find(is_error) {
            let message = format!("`{}` has errors: {}", file.shown, first.message);
            return Err(Problem::new("invalid-skill", ProblemKind::InvalidInput, message)
                .remedy(Remedy::Fix(file.shown.clone())));
        }
        let fetched = directory.as_deref().and_then(|directory| self.fetched_tier(directory));
        let (tier, origin) = match fetched {
            Some(tier) => (tier, Origin::Downloaded),
            None => self.trust(&file.bytes, &file.file_name, place.as_ref())?,
        };
        let trust = Trust::of(&skill, tier, None, origin);
        let fallback = directory.as_deref().unwrap_or(&file.path);
        let fallback = fallback.file_stem().unwrap_or_default().to_string_lossy();
        let name = match given {
            Some(given) => given.to_string(),
            None => skill.name_or(&fallback).to_owned(),
        };
        let loaded = Arc::new(LoadedSkill {
            trust,
            name,
            skill,
            file: main_file,
            directory,
            diagnostics,
            digest: None,
        });
        if let Some(stamp) = stamp {
            self.cached().put(key, stamp, Arc::clone(&loaded), (self.clock)());
        }
        Ok(loaded)
    }

    /// Refuses an installed skill that was signed and has changed since, as [`Library::load`] does, for callers that read
    /// skills with errors too. Nothing is hashed for a skill outside of a store.
    pub fn require_unchanged(&self, file: &SkillFile) -> Result<(), Problem> {
        let directory = file.directory.as_deref().and_then(|it| it.canonicalize().ok());
        let place = directory.as_deref().map(|directory| self.place_in_store(directory));
        let place = place.transpose()?.flatten();
        if place.as_ref().and_then(|place| place.entry()).is_none() {
            return Ok(());
        }
        self.trust(&file.bytes, &file.file_name, place.as_ref()).map(|_| ())
    }

    fn cached(&self) -> std::sync::MutexGuard<'_, SkillCache> {
        self.skills.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SkillResolver for Library {
    fn resolve(&self, reference: &str) -> Result<Arc<LoadedSkill>, Problem> {
        self.resolve_tool(reference).map(|(skill, _)| skill)
    }
}
