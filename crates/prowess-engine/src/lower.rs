//! From what a decision allows to what a sandbox enforces: patterns to paths, names to images, variables to values.

mod files;
mod folder_cache;
mod preview;
mod protect;
mod secrets;
mod uses;
mod worktree;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use prowess_policy::environment::{self, EnvironmentSources, InjectedVariables, WithheldReason};
use prowess_policy::scope::PathRoot;
use prowess_policy::spec::{FileScope, Programs, Servers};
use prowess_policy::{Mode, SandboxSpec};
use prowess_sandbox::{FileAccess, FileGrant, Input, SandboxLimits, Spec};

use crate::digest;
use crate::planted::PlantedScan;
use crate::programs::Images;
use crate::world::World;

pub use files::FileError;
pub(crate) use preview::{GrantEffects, GrantPreview};

/// Something in a skill's folder that is never shown.
pub(crate) fn never_shown_in(folder: &Path, world: &World) -> Option<PathBuf> {
    protect::never_shown_in(folder, world)
}

/// The home inside, when nothing of the real one is in view.
const HOME_INSIDE: &str = "/home/skill";
/// Where programs lie that a skill may start if it may start any.
const ALL_PROGRAMS: &[&str] = &["/usr", "/opt", "/etc/alternatives", "/nix/store"];
/// Variables in which keys of the runtime's own are kept (attack sandbox-F03).
const RUNTIME_KEYS: &[&str] = &["PROWESS_TOKEN", "PROWESS_REGISTRY_TOKEN", "PROWESS_API_KEY"];

/// The variables of the user that a run may read.
pub(crate) fn readable_variables(allowed: &SandboxSpec, world: &World) -> Vec<(String, String)> {
    let sources = EnvironmentSources {
        parent: &world.environment,
        granted: &allowed.variables,
        runtime_keys: RUNTIME_KEYS,
        set_by_tool: &[],
        injected: InjectedVariables { skill_name: "", skill_dir: "", mode: Mode::Global },
    };
    environment::filter(&sources).variables
}

/// What a tool is, as far as a sandbox is concerned.
#[derive(Debug)]
pub(crate) struct Launch<'l> {
    /// The skill's name.
    pub(crate) skill: &'l str,
    /// Its folder.
    pub(crate) skill_directory: Option<&'l Path>,
    /// Whether it is an MCP server, whose grant to be connected to has its effect outside the sandbox.
    pub(crate) is_server: bool,
    /// The mode that is on.
    pub(crate) mode: Mode,
    /// Images.
    pub(crate) images: &'l Images,
    /// What follows the program's name.
    pub(crate) arguments: Vec<OsString>,
    /// Variables that the tool's author sets.
    pub(crate) variables: Vec<(String, String)>,
    /// Standard input.
    pub(crate) input: Input,
}

/// A spec, and what it could not take along.
#[derive(Debug)]
pub(crate) struct LoweredSpec {
    pub(crate) spec: Spec,
    pub(crate) warnings: Vec<String>,
    /// What to look at after the run.
    pub(crate) planted_scan: PlantedScan,
}

/// What a sandbox has to enforce.
pub(crate) fn lower(
    allowed: &SandboxSpec,
    launch: Launch<'_>,
    world: &World,
) -> Result<LoweredSpec, FileError> {
    let program = launch.images.programs.first().cloned().unwrap_or_default();
    let mut spec = Spec::new(program);
    let mut warnings = not_there(allowed, launch.is_server);
    let opened = files::open(allowed, world, launch.skill_directory)?;
    warnings.extend(opened.warnings);
    let hidden = secrets::hidden(
        &opened.grants,
        allowed,
        world,
        secrets::MAX_FOLDERS,
        secrets::CacheUse::Update,
    );
    if !hidden.is_complete {
        warnings.push(format!(
            "the granted folders contain more than {} folders: files such as `.env` in deeply nested ones are not hidden",
            secrets::MAX_FOLDERS
        ));
    }
    spec.hidden.extend(hidden.files);
    let repository = worktree::open(launch.images, &opened.grants, world);
    spec.files = opened.grants;
    spec.files.extend(repository.grants);
    let mut planted_scan = opened.planted_scan;
    planted_scan.absent.extend(repository.absent);
    planted_scan.repositories.extend(repository.repositories);
    if let Some(folder) = launch.skill_directory {
        // Attack sandbox-A11: read-only whatever is granted, and the scripts in it can be started.
        spec.files.push(grant(folder, FileAccess::Execute));
        // No digest covers what git keeps there, so nothing of it is started.
        spec.hidden.push(folder.join(digest::SIDECAR));
        let repository = folder.join(digest::REPOSITORY);
        if std::fs::symlink_metadata(&repository).is_ok_and(|data| !data.is_symlink()) {
            spec.files.push(grant(&repository, FileAccess::Read));
        }
    }
    for folder in &launch.images.execute {
        spec.files.push(grant(folder, FileAccess::Execute));
    }
    if allowed.programs == Programs::Any {
        let all = ALL_PROGRAMS.iter().map(Path::new).filter(|path| path.is_dir());
        spec.files.extend(all.map(|path| grant(path, FileAccess::Execute)));
    }
    let utilities: &[PathBuf] = if allowed.utilities { &launch.images.utilities } else { &[] };
    let programs = launch.images.programs.iter().skip(1).chain(utilities);
    spec.programs = programs.cloned().collect();
    spec.support.clone_from(&launch.images.support);
    spec.working_directory.clone_from(&world.working_directory);
    spec.environment = variables(allowed, &launch, world, &mut warnings);
    spec.arguments = launch.arguments;
    spec.input = launch.input;
    spec.limits = limits(allowed);
    Ok(LoweredSpec { spec, warnings, planted_scan })
}

fn grant(path: &Path, access: FileAccess) -> FileGrant {
    FileGrant { path: path.to_owned(), access, pattern: None, create: false }
}

fn limits(allowed: &SandboxSpec) -> SandboxLimits {
    let limits = &allowed.limits;
    let usual = SandboxLimits::default();
    SandboxLimits {
        time: Duration::from_secs(limits.wall_secs),
        grace: Duration::from_secs(limits.grace_secs),
        cpu: limits.cpu_secs.map(Duration::from_secs),
        memory: limits.memory_bytes,
        processes: limits.processes.map_or(usual.processes, u64::from),
        output: limits.output_bytes,
        written_bytes: limits.written_bytes,
        written_entries: limits.written_entries,
        ..usual
    }
}

/// Permissions that nothing stands behind yet: the run goes on with less than was granted, and says so.
fn not_there(allowed: &SandboxSpec, is_server: bool) -> Vec<String> {
    let mut warnings = Vec::new();
    if allowed.desktop {
        warnings.push(
            "`desktop:control` is granted, but tools can't access the desktop yet".to_owned(),
        );
    }
    if !allowed.databases.is_empty() {
        let way = "grant the file or the host of the database";
        warnings.push(format!("grants for databases have no effect by themselves: {way}"));
    }
    if allowed.mcp != Servers::Only(Vec::new()) && !is_server {
        let way = "a skill calls one with `runtime.type: mcp-tool`";
        warnings.push(format!("MCP servers are granted, but tools can't connect to them: {way}"));
    }
    warnings
}

/// The whole environment inside (GIB §5.2).
fn variables(
    allowed: &SandboxSpec,
    launch: &Launch<'_>,
    world: &World,
    warnings: &mut Vec<String>,
) -> Vec<(OsString, OsString)> {
    let folder = launch.skill_directory.map(|folder| folder.to_string_lossy().into_owned());
    let filtered = environment::filter(&EnvironmentSources {
        parent: &world.environment,
        granted: &allowed.variables,
        runtime_keys: RUNTIME_KEYS,
        set_by_tool: &launch.variables,
        injected: InjectedVariables {
            skill_name: launch.skill,
            skill_dir: folder.as_deref().unwrap_or_default(),
            mode: launch.mode,
        },
    });
    for withheld in &filtered.withheld {
        match withheld.why {
            WithheldReason::RuntimeKey => warnings.push(format!(
                "the variable `{}` is not passed on: it contains a key of prowess",
                withheld.name
            )),
            WithheldReason::Control => warnings.push(format!(
                "the variable `{}` is not set: it would control what programs load",
                withheld.name
            )),
            // The requirements have complained where it matters.
            WithheldReason::NotSet => {}
        }
    }
    let mut variables: Vec<(OsString, OsString)> = filtered
        .variables
        .into_iter()
        .filter(|(name, _)| name != "PATH" && name != "HOME")
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    for credential in &world.credentials {
        variables.retain(|(name, _)| name != credential.name());
        variables.push((credential.name().into(), credential.placeholder.text().into()));
    }
    variables.push(("HOME".into(), home_inside(allowed, world).into()));
    variables.push(("PATH".into(), search_path(allowed, launch.images, world)));
    variables.sort();
    variables
}

/// The real home where a part of it is granted, so that `~/data` means inside what it means outside.
fn home_inside(allowed: &SandboxSpec, world: &World) -> PathBuf {
    let in_home = |scope: &FileScope| match scope {
        FileScope::Everything => true,
        FileScope::Pattern(pattern) => {
            pattern.root() == PathRoot::Home
                || (pattern.root() == PathRoot::Working && world.working_directory == world.home)
        }
    };
    if allowed.read.iter().chain(&allowed.write).any(in_home) {
        world.home.clone()
    } else {
        PathBuf::from(HOME_INSIDE)
    }
}

/// PATH inside: where the images are, and nothing else.
fn search_path(allowed: &SandboxSpec, images: &Images, world: &World) -> OsString {
    let mut folders = images.search_path();
    if allowed.programs == Programs::Any {
        folders.extend(world.search_path.iter().map(PathBuf::as_path));
    }
    // A folder with a colon in its name can't stand in PATH, and is not needed there: the program is called by its path.
    let folders = folders.into_iter().filter(|folder| !folder.to_string_lossy().contains(':'));
    std::env::join_paths(folders).unwrap_or_default()
}

#[cfg(test)]
mod tests;
