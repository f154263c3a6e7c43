//! The studio: everything that its routes share.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRef;
use prowess_core::{Problem, ProblemKind};
use prowess_engine::World;
use prowess_engine::service::{
    EventLimits, ExecutionService, QueueLimits, ServiceLimits, Shutdown, StreamLimits,
};
use prowess_server::Server;
use prowess_server::database::DatabaseKind;

use crate::chat::ChatStore;
use crate::company::{Company, CompanySettings};
use crate::knowledge::{Knowledge, OfferedEmbedder};
use crate::limiter::{Admission, RunLimiter};
use crate::migrations;
use crate::models::Models;
use crate::objects::{DatabaseObjects, FolderObjects, ObjectFiles};
use crate::problem::ApiProblem;
use crate::questions::Questions;
use crate::runs::{RunSlots, RunStore, Runs, SlotLimits};
use crate::settings::Settings;
use crate::skills::{OwnerSkills, SkillFiles, SkillHistory};
use crate::workflows::Workflows;

/// What a studio is opened with.
pub struct StudioOptions {
    /// The folder with all data.
    pub data: PathBuf,
    /// The folder with the settings of models.
    pub config: PathBuf,
    /// The variables with keys of models, and `PATH` for tools.
    pub environment: Vec<(String, String)>,
    /// The name of this server among several.
    pub node: String,
    /// The embedders that knowledge bases may have.
    pub embedders: Vec<OfferedEmbedder>,
    /// Storage of uploaded files; without it, the folder of data, or the database where several servers share one.
    pub objects: Option<Arc<dyn ObjectFiles>>,
    /// The log-in of a company.
    pub company: Option<CompanySettings>,
    /// Limits.
    pub limits: StudioLimits,
}

/// A day, in which a quota holds.
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// How long a server that stops waits for the ends of runs to be written.
const RECORDING: Duration = Duration::from_secs(10);

/// Limits of a studio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StudioLimits {
    /// Runs of skills per minute and user (specification §7.1).
    pub runs_per_minute: usize,
    /// Runs at a time, of all users.
    pub running: usize,
    /// Runs at a time, of one user.
    pub running_per_user: usize,
    /// Maximum size of an uploaded file.
    pub upload_bytes: u64,
}

impl StudioLimits {
    /// Limits for a team.
    pub const USUAL: Self =
        Self { runs_per_minute: 10, running: 5_000, running_per_user: 20, upload_bytes: 64 << 20 };
}

/// A studio. Clones share it.
#[derive(Clone)]
pub struct Studio {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub(crate) server: Server,
    pub(crate) data: PathBuf,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) limits: StudioLimits,
    pub(crate) skills: SkillFiles,
    pub(crate) history: SkillHistory,
    pub(crate) models: Models,
    pub(crate) runs: Runs,
    pub(crate) settings: Settings,
    pub(crate) knowledge: Knowledge,
    pub(crate) chats: ChatStore,
    pub(crate) workflows: Workflows,
    pub(crate) questions: Questions,
    pub(crate) limiter: RunLimiter,
    pub(crate) company: Option<Company>,
}

impl FromRef<Studio> for Server {
    fn from_ref(studio: &Studio) -> Self {
        studio.server().clone()
    }
}

impl Studio {
    /// Opens a studio on a server. It migrates the tables, and marks runs as interrupted that a killed process of the same
    /// name has left. This blocks.
    pub fn open(server: Server, options: StudioOptions) -> Result<Self, Problem> {
        let StudioOptions { data, config, environment, node, embedders, objects, company, limits } =
            options;
        prowess_files::private::private_folder(&data).map_err(|error| {
            let message = format!("cannot use `{}`: {error}", data.display());
            Problem::new("data-folder-unusable", ProblemKind::Failed, message)
        })?;
        let database = server.database().clone();
        database.migrate_blocking(migrations::COMPONENT, migrations::MIGRATIONS)?;
        let store = RunStore { database: database.clone() };
        let is_shared = database.kind() == DatabaseKind::Postgres;
        let workflows = Workflows::new(database.clone(), node.clone());
        let chats = ChatStore::new(database.clone());
        let skills = if is_shared {
            // Before the first run: the others would take it over from a server that they don't know.
            crate::cluster::beat_blocking(&database, &node)?;
            SkillFiles::in_database(data.join("skills"), database.clone())
                .map_err(|error| failed("skills", &error))?
        } else {
            // Nobody else has this database: what still runs in it was cut off.
            let interrupted = store.interrupt_all_blocking(server.clock().now().millis())?;
            if interrupted > 0 {
                let runs = interrupted;
                tracing::warn!(runs, "runs were interrupted when the server was stopped");
            }
            workflows.interrupt_blocking()?;
            chats.interrupt_blocking()?;
            SkillFiles::new(data.join("skills"))
        };
        skills.clean();
        let objects = objects.unwrap_or_else(|| {
            if is_shared {
                Arc::new(DatabaseObjects(database.clone()))
            } else {
                Arc::new(FolderObjects(data.join("uploads")))
            }
        });
        let knowledge = Knowledge::open(&data, database.clone(), objects, embedders)
            .map_err(|error| failed("knowledge bases", &error))?;
        let service = ExecutionService::new(service_limits(limits));
        let slots = RunSlots::new(SlotLimits {
            running: limits.running,
            running_per_owner: limits.running_per_user,
            ..SlotLimits::USUAL
        });
        let runs = Runs::new(service, slots, store, node);
        server.metrics().register(
            "prowess_studio_runs_active",
            "Runs that go on or wait",
            runs.inner.active.clone(),
        );
        let models = Models::new(environment.clone(), config);
        let settings = Settings::new(database.clone());
        let stored = settings.read_blocking()?;
        models.set_list(stored.models.clone());
        settings.remember(stored);
        let limiter = RunLimiter::new(database.clone(), &runs.inner.node, limits);
        let shared = Shared {
            runs,
            history: SkillHistory::new(database.clone()),
            chats,
            workflows,
            questions: Questions::default(),
            knowledge,
            limiter,
            company: company.map(|company| Company::open(&server, company)).transpose()?,
            server,
            data,
            environment,
            limits,
            skills,
            models,
            settings,
        };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// The server below.
    pub fn server(&self) -> &Server {
        &self.shared.server
    }

    /// Lets runs end until the deadline, then cancels them; returns whether all have ended.
    pub async fn shutdown(&self, deadline: Duration) -> bool {
        let runs = &self.shared.runs.inner;
        let all_ended = runs.service.shutdown(Shutdown::Drain, deadline).await;
        // The end of a workflow is written by a task that follows it. Without that record another server would have to wait until
        // this one no longer holds the workflow.
        let recorded = tokio::time::timeout(RECORDING, runs.all_recorded()).await;
        all_ended && recorded.is_ok()
    }

    /// Leaves the runs that are cancelled from now on to the other servers, if there are any.
    pub(crate) fn hand_over(&self) {
        if self.server().database().kind() == DatabaseKind::Postgres {
            self.shared.runs.inner.is_leaving.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }

    /// The skills that an owner's runs find.
    pub(crate) fn skills_of(&self, owner: Option<&str>) -> OwnerSkills {
        OwnerSkills { files: self.shared.skills.clone(), owner: owner.map(str::to_owned) }
    }

    /// The world of a user's runs: folders of their own, and no variables but the search path. This blocks.
    pub(crate) fn world_of(&self, user: &str) -> Result<World, Problem> {
        let root = self.user_folder(user);
        let (home, work) = (root.join("home"), root.join("work"));
        let failed = |error: &dyn std::fmt::Display| {
            let message = format!("cannot prepare the folders of a user: {error}");
            Problem::new("user-folders-unusable", ProblemKind::Failed, message)
        };
        for folder in [&root, &home, &work] {
            prowess_files::private::private_folder(folder).map_err(|error| failed(&error))?;
        }
        let path = self.shared.environment.iter().find(|(name, _)| name == "PATH");
        let path = path.map_or("/usr/local/bin:/usr/bin:/bin", |(_, value)| value.as_str());
        let variables = vec![("PATH".to_owned(), path.to_owned())];
        let mut world =
            World::at(&home, &work, path.as_ref(), variables).map_err(|error| failed(&error))?;
        world.state.data = root.join("data");
        world.state.config = root.join("config");
        world.state.cache = root.join("cache");
        Ok(world)
    }

    /// Admits a run of a user: within the limit of runs per minute and the quota of tokens per day.
    pub(crate) async fn admit(&self, user: &str) -> Result<Admission, ApiProblem> {
        let now = self.now();
        let admission = self.shared.limiter.admit(user, now).await?;
        let Some(quota) = self.shared.settings.cached().tokens_per_day else {
            return Ok(admission);
        };
        let date = crate::timestamp::date_of_millis(now);
        let tokens = self.shared.runs.inner.store.tokens_on(user, &date).await?;
        if tokens < quota {
            return Ok(admission);
        }
        let left = u64::try_from(DAY_MS - now.rem_euclid(DAY_MS)).unwrap_or(1);
        let message = format!("Your quota of {quota} tokens per day is used up");
        Err(ApiProblem {
            code: "quota-exceeded",
            ..ApiProblem::rate_limited(message, Duration::from_millis(left))
        })
    }

    /// The knowledge bases that an owner's runs search.
    pub(crate) fn retriever_of(&self, owner: &str) -> Arc<dyn prowess_core::Retriever> {
        Arc::new(self.shared.knowledge.of_owner(owner))
    }

    /// The folder of a user. Ids are made by the server and are safe parts of a path; anything else is hashed.
    fn user_folder(&self, user: &str) -> PathBuf {
        let is_safe = !user.is_empty()
            && user.len() <= 64
            && user
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
        let name = if is_safe { user.to_owned() } else { crate::digest(user.as_bytes()) };
        self.shared.data.join("users").join(name)
    }

    /// Now, in milliseconds.
    pub(crate) fn now(&self) -> i64 {
        self.server().clock().now().millis()
    }
}

fn failed(what: &str, error: &dyn std::fmt::Display) -> Problem {
    Problem::new("studio-unusable", ProblemKind::Failed, format!("cannot open the {what}: {error}"))
}

fn service_limits(limits: StudioLimits) -> ServiceLimits {
    // Who may run is decided by the slots, which also tell the position. The service's own limits lie above.
    let all = limits.running + SlotLimits::USUAL.waiting;
    let one = limits.running_per_user + SlotLimits::USUAL.waiting_per_owner;
    ServiceLimits {
        queue: QueueLimits::of_this_machine(),
        streams: StreamLimits { running: all, running_per_owner: one },
        events: EventLimits::USUAL,
    }
}
