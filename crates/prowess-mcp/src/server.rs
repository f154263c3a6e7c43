//! State that all clients share: the catalog, the engine, the queue, and the notice that something has changed.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use prowess_core::{Problem, ProblemKind, Remedy};
use prowess_engine::service::{ExecutionService, ServiceLimits, Shutdown};
use prowess_engine::{
    Engine, HookServices, LoadedSkill, PendingLimits, PendingRuns, PythonWorkers, SystemClock,
    World,
};
use prowess_files::private::private_folder;
use prowess_library::Library;
use prowess_policy::{Mode, is_available};
use tokio::sync::watch;

use crate::catalog::Catalog;
use crate::source::{LeftOut, SkillSource};
use crate::wording::Wording;

/// How long runs have to end when the server stops.
const LAST_SECONDS: Duration = Duration::from_secs(1);
/// How many Python workers are kept.
const WORKERS: usize = 8;

/// The parts of a server.
pub struct ServerSettings {
    /// The skills, models and settings of the user.
    pub library: Arc<Library>,
    /// The mode that is on: skills of other modes are left out.
    pub mode: Mode,
    /// Which skills are served.
    pub source: Arc<dyn SkillSource>,
    /// The texts of the program around the server.
    pub wording: Arc<dyn Wording>,
    /// Services for hooks of skills.
    pub hooks: HookServices,
    /// Where passages for prompts are looked up.
    pub retriever: Option<Arc<dyn prowess_core::Retriever>>,
    /// Reports a skill that is not served, once per problem.
    pub report: Box<dyn Fn(&LeftOut) + Send + Sync>,
    /// Whether the tools of the protocol's official test suite are served as well.
    pub with_fixtures: bool,
}

/// A server of skills. Clones are the same server.
#[derive(Clone)]
pub struct SkillServer {
    pub(crate) shared: Arc<Shared>,
}

/// Counters of changes: each grows by one with each change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    pub(crate) tools: u64,
    pub(crate) prompts: u64,
    pub(crate) resources: u64,
}

pub(crate) struct Shared {
    pub(crate) settings: ServerSettings,
    /// For tools that work in the root of the project.
    pub(crate) engine: Engine,
    /// For scripts, which work in the current folder; the reason if they can't.
    pub(crate) script_engine: Result<Engine, String>,
    pub(crate) service: ExecutionService,
    pub(crate) pending: PendingRuns,
    pub(crate) changes: watch::Sender<Changes>,
    catalog: RwLock<Arc<Catalog>>,
    watched: Mutex<Vec<PathBuf>>,
    reported: Mutex<HashSet<(PathBuf, String)>>,
}

impl SkillServer {
    /// Reads the skills for the first time.
    pub fn new(settings: ServerSettings) -> Result<Self, Problem> {
        let world = Arc::clone(settings.library.world());
        let mut engine = prowess_library::engine(Arc::clone(&world));
        engine.workers = PythonWorkers::new(WORKERS);
        engine.hooks = settings.hooks.clone();
        let script_engine = in_current_folder(&world)
            .map(|world| Engine { world: Arc::new(world), ..engine.clone() });
        let shared = Shared {
            settings,
            engine,
            script_engine,
            service: ExecutionService::new(ServiceLimits::of_this_machine()),
            pending: PendingRuns::new(PendingLimits::USUAL, Arc::new(SystemClock)),
            changes: watch::Sender::new(Changes::default()),
            catalog: RwLock::default(),
            watched: Mutex::default(),
            reported: Mutex::default(),
        };
        let server = Self { shared: Arc::new(shared) };
        server.reload()?;
        Ok(server)
    }

    /// How many skills are served.
    pub fn skill_count(&self) -> usize {
        self.catalog().skills.len()
    }

    /// How many tools clients can call.
    pub fn tool_count(&self) -> usize {
        self.catalog().tools.len()
    }

    /// Reads the skills again and tells clients what has changed. It reads the disk.
    pub fn reload(&self) -> Result<(), Problem> {
        let found = self.shared.settings.source.skills()?;
        let mut left_out = found.left_out;
        let mut names: HashSet<String> = HashSet::new();
        let mut skills = Vec::new();
        let mode = self.shared.settings.mode;
        for skill in found.skills {
            if let Some(problem) = other_mode(&skill, mode) {
                left_out.push(LeftOut { place: skill.place().to_owned(), problem });
                continue;
            }
            if names.insert(skill.name.clone()) {
                skills.push(skill);
            } else {
                let problem = same_name(&skill.name);
                left_out.push(LeftOut { place: skill.place().to_owned(), problem });
            }
        }
        self.report(left_out);
        let before = self.catalog();
        let quizzes = &self.shared.engine.quizzes;
        let catalog = Arc::new(Catalog::new(skills, &before, quizzes, mode));
        let mut watched = found.watched;
        if let Some(folder) = quizzes.folder().filter(|_| catalog.has_quiz()) {
            // A quiz may be passed on a terminal as well. What is not there can't be watched.
            let _ = private_folder(folder);
            watched.push(folder.to_owned());
        }
        *self.shared.watched.lock().unwrap_or_else(PoisonError::into_inner) = watched;
        *self.shared.catalog.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&catalog);
        self.shared.changes.send_if_modified(|changes| {
            let old = *changes;
            // What a quiz has opened or closed is listed as before, and has other contents.
            let other_gates = before.closed != catalog.closed;
            let other_skills = !is_same(&before, &catalog);
            changes.tools += u64::from(before.definitions != catalog.definitions || other_gates);
            changes.prompts += u64::from(before.prompts != catalog.prompts || other_gates);
            changes.resources += u64::from(other_skills || other_gates);
            *changes != old
        });
        Ok(())
    }

    /// Ends everything that runs, and waits for it.
    pub async fn shutdown(&self) -> bool {
        self.shared.service.shutdown(Shutdown::Cancel, LAST_SECONDS).await
    }

    /// The current catalog.
    pub(crate) fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.shared.catalog.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The folders in which something may change.
    pub(crate) fn watched(&self) -> Vec<PathBuf> {
        self.shared.watched.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reports each problem once, and again when it comes back after it was gone.
    fn report(&self, left_out: Vec<LeftOut>) {
        let mut reported = self.shared.reported.lock().unwrap_or_else(PoisonError::into_inner);
        let mut now = HashSet::new();
        for skill in left_out {
            let key = (skill.place.clone(), skill.problem.message.clone());
            if !reported.contains(&key) && !now.contains(&key) {
                (self.shared.settings.report)(&skill);
            }
            now.insert(key);
        }
        *reported = now;
    }
}

/// Whether both have the same skills, file by file: an unchanged skill is the same in memory.
fn is_same(one: &Catalog, other: &Catalog) -> bool {
    one.skills.len() == other.skills.len()
        && one.skills.iter().zip(&other.skills).all(|((name, skill), (other_name, other))| {
            name == other_name && Arc::ptr_eq(skill, other)
        })
}

/// The machine for scripts.
fn in_current_folder(world: &Arc<World>) -> Result<World, String> {
    let any_script = prowess_engine::command_line_tool("true");
    World::clone(world).for_tool(&any_script).map_err(|error| error.to_string())
}

/// Why a skill is not for a mode (GIB §7.2).
fn other_mode(skill: &LoadedSkill, mode: Mode) -> Option<Problem> {
    let declared: Vec<&str> = skill.skill.modes.iter().map(|mode| mode.as_str()).collect();
    if is_available(declared.iter().copied(), mode) {
        return None;
    }
    let message = format!(
        "it is only available in the mode {}, and the server's mode is {mode}",
        declared.join(" or ")
    );
    let problem = Problem::new("other-mode", ProblemKind::Conflict, message);
    let wanted = declared.first().map(|mode| Remedy::SetMode((*mode).to_owned()));
    Some(wanted.into_iter().fold(problem, Problem::remedy))
}

fn same_name(name: &str) -> Problem {
    let message = format!("another skill named `{name}` takes precedence");
    Problem::new("same-name", ProblemKind::Conflict, message)
}
