//! Packages for handlers of OpenClaw skills (`pip_requires`) and for scripts (PEP 723): they are no functions of a
//! `tools.py`, and get the same environments.

use std::path::PathBuf;

use prowess_policy::scope::Program;
use prowess_sandbox::Spec;

use super::inline_metadata::InlineMetadata;
use super::interpreter::{self, Interpreter, InterpreterError};
use super::{LoadError, LoadStep, packages, venv};
use crate::loaded::LoadedSkill;
use crate::run::CancellationToken;
use crate::world::World;
use prowess_core::Remedy;
use prowess_core::{Event, Thought};

/// The packages of a handler or a script, and the Python they are for.
#[derive(Debug)]
pub(crate) struct HandlerPackages {
    skill: String,
    interpreter: Option<Interpreter>,
    /// In one spelling and order.
    packages: Vec<String>,
    delivery: Delivery,
    has_range: bool,
}

/// How a program learns where its packages are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Delivery {
    /// The adapter of handlers takes the folder as its last argument.
    LastArgument,
    /// A script finds them on Python's own search path. The user's `PYTHONPATH` never gets inside.
    SearchPath,
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
        Ok(Some(Self {
            skill: loaded.name.clone(),
            interpreter: Some(interpreter),
            packages,
            delivery: Delivery::LastArgument,
            has_range: range.is_some(),
        }))
    }

    /// What a script needs: what it says itself, and what its skill declares.
    pub(crate) fn of_script(
        loaded: &LoadedSkill,
        own: InlineMetadata,
        world: &World,
    ) -> Result<Self, LoadError> {
        let wanted = &loaded.skill.requirements;
        let stopped =
            |reason: String| LoadError::new(&loaded.name, LoadStep::Dependencies, &reason);
        let lines = wanted.python_packages.iter().map(|line| line.value.as_str());
        let lines = lines.chain(own.packages.iter().map(String::as_str));
        let packages = packages::normal(lines).map_err(|error| stopped(error.to_string()))?;
        let of_skill = || wanted.python.as_ref().map(|range| range.value.clone());
        let range = own.python.or_else(of_skill);
        let interpreter = match interpreter::find(world, range.as_deref()) {
            Ok(interpreter) => Some(interpreter),
            // A script without needs may name its own interpreter.
            Err(InterpreterError::NotFound) => None,
            Err(error) => return Err(stopped(error.to_string())),
        };
        Ok(Self {
            skill: loaded.name.clone(),
            interpreter,
            packages,
            delivery: Delivery::SearchPath,
            has_range: range.is_some(),
        })
    }

    /// Whether anything has to be installed.
    pub(crate) fn has_packages(&self) -> bool {
        !self.packages.is_empty()
    }

    /// Whether not every version of Python will do.
    pub(crate) fn has_range(&self) -> bool {
        self.has_range
    }

    /// The Python that runs the handler or the script.
    pub(crate) fn program(&self) -> Option<Program> {
        let image = &self.interpreter.as_ref()?.image;
        Some(Program::At(image.to_string_lossy().into_owned()))
    }

    /// Folders that it needs.
    pub(crate) fn support(&self) -> &[PathBuf] {
        self.interpreter.as_ref().map_or(&[], |interpreter| interpreter.support.as_slice())
    }

    /// Installs the packages if they are not there yet, and shows them to a program that is about to start.
    pub(crate) fn provide(
        &self,
        spec: &mut Spec,
        world: &World,
        cancel: &CancellationToken,
        tell: &mut dyn FnMut(&Event),
    ) -> Result<(), LoadError> {
        let Some(interpreter) = self.interpreter.as_ref().filter(|_| self.has_packages()) else {
            return Ok(());
        };
        let folder = self.install(interpreter, world, cancel, tell)?;
        match self.delivery {
            Delivery::LastArgument => spec.arguments.push(folder.clone().into()),
            Delivery::SearchPath => {
                spec.environment.push(("PYTHONPATH".into(), folder.clone().into()));
            }
        }
        spec.support.push(folder);
        Ok(())
    }

    /// The folder of the packages; they are installed if they are not there yet.
    fn install(
        &self,
        interpreter: &Interpreter,
        world: &World,
        cancel: &CancellationToken,
        tell: &mut dyn FnMut(&Event),
    ) -> Result<PathBuf, LoadError> {
        let wanted = venv::EnvironmentSpec { interpreter, packages: &self.packages };
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
