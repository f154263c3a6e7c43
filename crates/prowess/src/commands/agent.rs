//! `prowess agent`: agents that are made of skills (GAIA §9).

mod check;
mod install;
mod run;
mod tools;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use prowess_files::atomic::folder_of;
use prowess_format::diagnostic::Severity;
use prowess_format::manifest::{
    ActiveSkills, AgentManifest, FILE_NAMES, SetChosenBy, SkillSetError,
};
use prowess_store::composition::{Composition, compose, present};

use super::Outcome;
use crate::error::Error;
use crate::packages::manager;
use crate::render::{full, json};
use crate::skill::check_report::{self, CheckOptions, Examined, FindingsReader};
use crate::skill::skill_ref;
use crate::terminal::printer::Printer;
use prowess_library::packages::PackageManager;

/// The variable with which whatever starts an agent selects a skill set (GAIX-18).
const SELECTOR: &str = "PROWESS_SKILL_SET";

/// Run an agent, check its manifest, install its skills, list its tools
///
/// An `AGENT.yaml` lists the skills that an agent is made of, with ranges of
/// versions, the smallest model it works with, and tools of its own. The agent's
/// skills are installed beside it, in `.prowess/`, with a lock file.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess agent check AGENT.yaml
  prowess agent install AGENT.yaml --dry-run
  prowess agent tools AGENT.yaml --format json
  prowess agent run AGENT.yaml \"Count the words of README.md\"")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Check(check::Arguments),
    Install(install::Arguments),
    Tools(tools::Arguments),
    Run(Box<run::Arguments>),
}

/// Which agent, and which of its skill sets.
#[derive(Args)]
struct AgentOptions {
    /// The manifest, or the folder it is in
    #[arg(value_name = "AGENT.yaml")]
    manifest: PathBuf,
    /// The active skill set; else `PROWESS_SKILL_SET`, else the manifest's default
    #[arg(long, value_name = "NAME")]
    set: Option<String>,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    match &arguments.action {
        Action::Check(arguments) => check::run(arguments, printer),
        Action::Install(arguments) => install::run(arguments, printer),
        Action::Tools(arguments) => tools::run(arguments, printer),
        Action::Run(arguments) => run::run(arguments, printer),
    }
}

/// A manifest that was read.
struct Agent {
    path: PathBuf,
    /// The folder it is in, free of links.
    folder: PathBuf,
    text: String,
    manifest: AgentManifest,
    examined: Examined,
    requested: Option<String>,
    selected: Option<String>,
}

impl Agent {
    fn load(options: &AgentOptions) -> Result<Self, Error> {
        let path = manifest_file(&options.manifest)?;
        if path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md")) {
            let shown = skill_ref::shown(&path);
            return Err(Error::usage(format!("`{shown}` is a skill, and no agent's manifest"))
                .hint(format!("`prowess check {shown}` checks a skill")));
        }
        let bytes = skill_ref::read(&path).map_err(|source| Error::io("read", &path, &source))?;
        skill_ref::within_bounds(&bytes, &skill_ref::shown(&path))?;
        let (text, checked) = check_report::read_manifest(&bytes);
        let folder = folder_of(&path);
        let folder = folder.canonicalize().map_err(|source| Error::io("find", folder, &source))?;
        let examined = check_report::examine_agent(
            &path,
            &text,
            &checked.manifest,
            checked.diagnostics,
            &FINDINGS,
        );
        let selected = std::env::var(SELECTOR).ok();
        let requested = options.set.clone();
        Ok(Self { path, folder, text, manifest: checked.manifest, examined, requested, selected })
    }

    /// Loads a manifest and refuses one with errors: which skills an agent gets must not be guessed.
    fn sound(options: &AgentOptions, done: &str, printer: &mut Printer) -> Result<Self, Error> {
        let agent = Self::load(options)?;
        if agent.examined.errors == 0 {
            return Ok(agent);
        }
        let reports = agent.examined.report.as_slice();
        printer.talk_report(|colour| full::render(reports, colour));
        let findings = reports.iter().flat_map(json::diagnostics).collect();
        let shown = skill_ref::shown(&agent.path);
        let error = Error::failed(format!("`{shown}` has errors and was not {done}"))
            .hint(format!("`prowess check {shown}` lists them"));
        Err(Error { findings, ..error })
    }

    fn name(&self) -> &str {
        self.manifest.name.as_ref().map_or("the agent", |name| name.as_str())
    }

    fn active(&self) -> Result<ActiveSkills<'_>, Error> {
        self.manifest.active_skills(self.requested.as_deref(), self.selected.as_deref()).map_err(
            |error| {
                let by_variable = matches!(
                    &error,
                    SkillSetError::Unknown { chosen_by: SetChosenBy::Selector, .. }
                );
                let usage = Error::usage(error.to_string()).hint(error.hint());
                if by_variable {
                    usage.hint(format!("the variable `{SELECTOR}` selects it"))
                } else {
                    usage
                }
            },
        )
    }

    /// The package manager, with the manifest's folder as the project.
    fn packages(&self) -> Result<PackageManager, Error> {
        Ok(manager()?.with_project(self.folder.clone()))
    }

    /// The skills that count, compared with what is installed: beside the manifest first.
    fn compose<'a>(&self, active: &ActiveSkills<'a>, packages: &PackageManager) -> Composition<'a> {
        let listing = packages.listing();
        compose(active, &self.manifest.model, |name| present(&listing, name))
    }
}

/// What a reader of findings wants to see.
const FINDINGS: CheckOptions<'static> = CheckOptions {
    dialect: None,
    strict: false,
    least: Severity::Warning,
    clean_files: true,
    excerpts: true,
    reader: FindingsReader::Author,
    clients: &[],
};

fn manifest_file(path: &Path) -> Result<PathBuf, Error> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let inside = FILE_NAMES.iter().map(|name| path.join(name)).find(|path| path.is_file());
    inside.ok_or_else(|| {
        Error::not_found(format!("there is no agent manifest in `{}`", skill_ref::shown(path)))
            .hint(format!("it is called {}", FILE_NAMES.join(" or ")))
    })
}
