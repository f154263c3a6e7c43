//! Loading a whole skill before any of its tools is called, as an agent does (GAIA §5.1).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_format::skill::{Skill, ToolKind};
use prowess_policy::{Allowed, Mode, Trust};
use serde_json::Map;

use super::steps::{LoadError, LoadStep};
use super::{NotReady, Session, verify};
use crate::approver::Approver;
use crate::decision::{Consent, Engine, approve};
use crate::error::RunError;
use crate::loaded::LoadedSkill;
use crate::prepare::{self, Call, PreparedCall};
use crate::redact::Redactor;
use crate::registry::ToolRegistry;
use crate::run::{self, CancellationToken};
use crate::skill_files::main_file;
use crate::staging;
use crate::user_grants::UserGrants;
use prowess_core::Event;

/// What loading needs from around it.
pub struct LoadOptions<'l> {
    /// What runs share; the worker stays in its pool.
    pub engine: &'l Engine,
    /// The mode that is on.
    pub mode: Mode,
    /// How far a skill is trusted.
    pub trust: &'l dyn Fn(&Skill) -> Trust,
    /// What the user said before anything was asked.
    pub consent: Consent,
    /// Who is asked.
    pub approver: &'l mut dyn Approver,
    /// Ends it early.
    pub cancel: &'l CancellationToken,
    /// Who watches.
    pub sink: &'l mut dyn FnMut(&Event),
}

/// Loads a skill: the seven steps of GAIA §5.1 in their order. Gives the names of its tools.
///
/// Where a step fails, nothing of the later ones has happened: nothing is installed for a skill that is not allowed,
/// nothing is imported whose packages are missing, and no tool has a name that does not work.
pub fn load_skill(
    directory: &Path,
    loading: &mut LoadOptions<'_>,
    registry: &mut ToolRegistry,
) -> Result<Vec<String>, LoadError> {
    let (directory, file) = resolve(directory)?;
    let fallback = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (skill, name) = parse(&file, &directory, &fallback)?;
    let loaded = Arc::new(LoadedSkill {
        trust: (loading.trust)(&skill),
        skill,
        name: name.clone(),
        directory: Some(directory.clone()),
        file,
        diagnostics: Vec::new(),
        digest: None,
    });
    let skill = &loaded.skill;
    let python = skill.tools.iter().filter(|tool| tool.kind == ToolKind::Python);
    let mut allowed = Vec::new();
    for tool in python {
        let call = Call {
            skill: Arc::clone(&loaded),
            tool: tool.clone(),
            values: Map::new(),
            mode: loading.mode,
        };
        allowed.push(permit(call, loading).map_err(|error| stopped(&name, &error))?);
    }
    for (prepared, allowed) in &allowed {
        if let Err(error) = make_ready(prepared, allowed, loading) {
            // An earlier tool may have left a worker behind.
            loading.engine.workers.evict(&directory);
            return Err(error);
        }
    }
    registry.register(skill, &name, &directory, &skill.tools).map_err(|taken| {
        loading.engine.workers.evict(&directory);
        LoadError::new(&name, LoadStep::Register, &taken)
    })
}

/// Step 1.
fn resolve(directory: &Path) -> Result<(PathBuf, PathBuf), LoadError> {
    let shown = directory.display().to_string();
    let stopped = |reason: String| LoadError::new(&shown, LoadStep::Resolve, &reason);
    let directory = directory.canonicalize().map_err(|error| stopped(error.to_string()))?;
    let file = main_file(&directory).ok_or_else(|| stopped("there is no SKILL.md".to_owned()))?;
    Ok((directory, file))
}

/// Step 2, with what of step 6 can be seen without importing.
fn parse(file: &Path, directory: &Path, fallback: &str) -> Result<(Skill, String), LoadError> {
    let read = verify::read(file, directory, None)
        .map_err(|error| LoadError::new(fallback, LoadStep::Parse, &error))?;
    let name = read.skill.name_or(fallback).to_owned();
    match read.problems.iter().map(|(step, _)| *step).min() {
        None => Ok((read.skill, name)),
        Some(step) => Err(LoadError::new(&name, step, &verify::joined(&read.problems, step))),
    }
}

/// Step 3.
fn permit(call: Call, loading: &mut LoadOptions<'_>) -> Result<(PreparedCall, Allowed), RunError> {
    let user = UserGrants::none().with_earlier(&loading.engine.approvals.load()?);
    let prepared = prepare::without_values(call, user, &loading.engine.world)?;
    let ready = approve(prepared, loading.engine, loading.consent, loading.approver)?;
    ready.into_parts().ok_or_else(|| RunError::Unsupported("the tool was not prepared".to_owned()))
}

/// Steps 4, 5 and 6.
fn make_ready(
    prepared: &PreparedCall,
    allowed: &Allowed,
    loading: &mut LoadOptions<'_>,
) -> Result<(), LoadError> {
    let skill = &prepared.call.skill;
    let Some(plan) = &prepared.recipe.python else { return Ok(()) };
    let mut lowered = run::specification(prepared, allowed, &loading.engine.world)
        .map_err(|error| stopped(&skill.name, &error))?;
    staging::hold_writes(&mut lowered.spec, &loading.engine.world);
    let redactor = Redactor::of(allowed.spec(), &loading.engine.world);
    let mut redactor = redactor.map_err(|error| stopped(&skill.name, &error.into()))?;
    let session = Session {
        skill,
        plan,
        allowed,
        world: &loading.engine.world,
        workers: &loading.engine.workers,
        cancel: loading.cancel,
        time: lowered.time,
    };
    let sink = &mut *loading.sink;
    let loaded = session.load(lowered.spec, lowered.door, &mut |event| {
        if let Some(event) = redactor.event(&event) {
            sink(&event);
        }
    });
    redactor.rest().iter().for_each(&mut *sink);
    let findings = lowered.planted_scan.scan();
    for message in findings.warnings.into_iter().chain(findings.failures) {
        sink(&Event::Warning { message });
    }
    let error = loaded.err().map(|error| match error {
        NotReady::Load(error) => error,
        NotReady::Run(error) => stopped(&skill.name, &error),
        NotReady::Lost(lost) => {
            let finished = session.lost(lost, std::time::Instant::now());
            let reason = match finished {
                Ok(finished) => finished.ending.error.unwrap_or_default(),
                Err(error) => error.to_string(),
            };
            LoadError::new(&skill.name, LoadStep::Import, &reason)
        }
    });
    error.map_or(Ok(()), |error| Err(redactor.load_error(error)))
}

/// The step at which a run would not have started.
fn stopped(skill: &str, error: &RunError) -> LoadError {
    let step = match error {
        RunError::Load(error) => return (**error).clone(),
        RunError::Digest(_) | RunError::SkillFolder { .. } => LoadStep::Resolve,
        RunError::Requirements { .. } | RunError::Dependency { .. } | RunError::Program(_) => {
            LoadStep::Dependencies
        }
        RunError::Changed(_)
        | RunError::Sandbox(_)
        | RunError::Staging(_)
        | RunError::Network(_) => LoadStep::Import,
        RunError::Inputs { .. }
        | RunError::Unsupported(_)
        | RunError::Database { .. }
        | RunError::Handler(_)
        | RunError::Quiz(_)
        | RunError::Denied(_)
        | RunError::NobodyToAsk { .. }
        | RunError::Declined(_)
        | RunError::Expired(_)
        | RunError::HookDenied { .. }
        | RunError::Cancelled { .. }
        | RunError::HookDeferred { .. }
        | RunError::Store(_)
        | RunError::Credential(_)
        | RunError::Files(_) => LoadStep::Permissions,
    };
    LoadError { remedies: error.remedies(), ..LoadError::new(skill, step, error) }
}
