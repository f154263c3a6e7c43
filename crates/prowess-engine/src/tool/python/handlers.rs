//! Packages for handlers of OpenClaw skills (`pip_requires`): they are no functions of a `tools.py`, and get the same
//! environments.

use std::path::{Path, PathBuf};

use super::interpreter::{self, Interpreter};
use super::{LoadError, LoadStep, packages, venv};
use crate::loaded::LoadedSkill;
use crate::run::CancellationToken;
use crate::world::World;
use prowess_core::Remedy;
use prowess_core::{Event, Thought};

/// The packages of a skill with handlers, and the Python they are for.
#[derive(Debug)]
pub(crate) struct HandlerPackages {
    skill: String,
    interpreter: Interpreter,
    /// In one spelling and order; at least one.
    packages: Vec<String>,
}

impl HandlerPackages {
    /// What a skill needs; `None` where it needs nothing.
    pub(crate) fn of(loaded: &LoadedSkill, world: &World) -> Result<Option<Self>, LoadError> {
        let wanted = &loaded.skill.requirements;
        let stopped =
            |reason: String| LoadError::new(&loaded.name, LoadStep::Dependencies, &reason);
        let lines = wanted.python_packages.iter().map(|line| line.value.as_str());
        let packages = packages::normal(lines).map_err(|error| stopped(error.to_string()))?;
        if packages.is_empty() {
            return Ok(None);
        }
        let range = wanted.python.as_ref().map(|range| range.value.as_str());
        let interpreter =
            interpreter::find(world, range).map_err(|error| stopped(error.to_string()))?;
        Ok(Some(Self { skill: loaded.name.clone(), interpreter, packages }))
    }

    /// The Python that runs the handler.
    pub(crate) fn interpreter(&self) -> &Path {
        &self.interpreter.image
    }

    /// Folders that it needs.
    pub(crate) fn support(&self) -> &[PathBuf] {
        &self.interpreter.support
    }

    /// The folder of the packages; they are installed if they are not there yet.
    pub(crate) fn install(
        &self,
        world: &World,
        cancel: &CancellationToken,
        tell: &mut dyn FnMut(&Event),
    ) -> Result<PathBuf, LoadError> {
        let wanted =
            venv::EnvironmentSpec { interpreter: &self.interpreter, packages: &self.packages };
        let mut tell = |message| {
            tell(&Event::Thought(Thought {
                kind: "skill",
                status: "start",
                message: Some(message),
                details: Vec::new(),
            }));
        };
        venv::packages(&wanted, world, cancel, &mut tell).map_err(|error| LoadError {
            remedies: error.hints().into_iter().map(Remedy::Advice).collect(),
            ..LoadError::new(&self.skill, LoadStep::Dependencies, &error)
        })
    }
}
