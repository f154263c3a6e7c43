//! The argument `PATH[/TOOL]`: a skill, and optionally one of its tools.

use std::path::Path;

use prowess_core::Problem;
use prowess_engine::{LoadedSkill, script_tool};
use prowess_format::skill::{Skill, SkillKind, Tool};
use prowess_format::text::closest;

use crate::error::Error;
use crate::skill::skill_ref::{self, Loaded, ReferenceOptions, Tools};
use crate::terminal::printer::Printer;

/// Loads a skill, and returns the name of the tool or the path of the script if there is one.
pub(crate) fn load_with_script(
    path: &Path,
    printer: &mut Printer,
) -> Result<(Loaded, Option<String>), Error> {
    without_manifest(skill_ref::locate(path, Tools::OrScripts, printer)?)
}

/// Loads a skill like [`load_with_script`], and fetches one that is not on this machine.
pub(crate) fn read_with_script(
    path: &Path,
    options: &ReferenceOptions,
    printer: &mut Printer,
) -> Result<(Loaded, Option<String>), Error> {
    without_manifest(skill_ref::read_reference(path, Tools::OrScripts, options, printer)?)
}

/// Loads a skill, fetches one that is not on this machine, and returns the name of the tool if there is one.
pub(crate) fn read_with_tool(
    path: &Path,
    options: &ReferenceOptions,
    printer: &mut Printer,
) -> Result<(Loaded, Option<String>), Error> {
    without_manifest(skill_ref::read_reference(path, Tools::MayBeNamed, options, printer)?)
}

/// Refuses the manifest of an agent, which is no skill.
fn without_manifest(
    (loaded, tool): (Loaded, Option<String>),
) -> Result<(Loaded, Option<String>), Error> {
    skill_ref::refuse_manifest(&loaded)?;
    Ok((loaded, tool))
}

/// Chooses the named tool or script, or the only tool; `None` for a skill without tools.
pub(crate) fn choose_or_script(
    skill: &LoadedSkill,
    name: Option<&str>,
    loaded: &Loaded,
    verb: &str,
) -> Result<Option<Tool>, Error> {
    if let Some(name) = name
        && skill.skill.tool(name).is_none()
        && is_script_path(name, skill.directory.as_deref())
    {
        let directory = skill.directory.as_deref();
        let tool =
            script_tool(&skill.skill, &skill.name, directory, name).map_err(Problem::from)?;
        return Ok(Some(tool));
    }
    Ok(choose(&skill.skill, name, loaded, verb)?.cloned())
}

/// Whether a name can only mean a script.
fn is_script_path(name: &str, directory: Option<&Path>) -> bool {
    name.contains('/') || directory.is_some_and(|folder| folder.join(name).exists())
}

/// Chooses the named tool, or the only one; `None` for a skill without tools. `verb` is for the hint.
pub(crate) fn choose<'s>(
    skill: &'s Skill,
    name: Option<&str>,
    loaded: &Loaded,
    verb: &str,
) -> Result<Option<&'s Tool>, Error> {
    let names: Vec<&str> = skill.tools.iter().map(|tool| tool.name.as_str()).collect();
    let list = || names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let place = loaded.directory.as_deref().unwrap_or(&loaded.path);
    let place = skill_ref::shown(place);
    if let Some(name) = name {
        let tool = skill.tool(name).ok_or_else(|| {
            let error = Error::not_found(format!("`{place}` has no tool `{name}`"));
            match closest(name, names.iter().copied()) {
                Some(similar) => error.hint(format!("did you mean `{place}/{similar}`?")),
                None if names.is_empty() => {
                    error.hint(format!("it has no tools; `prowess render {place}` prints its text"))
                }
                None => error.hint(format!("its tools are {}", list())),
            }
        })?;
        return Ok(Some(tool));
    }
    if skill.kind != SkillKind::Tools {
        return Ok(None);
    }
    match skill.tools.as_slice() {
        [] => Ok(None),
        [tool] => Ok(Some(tool)),
        [first, ..] => Err(Error::usage(format!("`{place}` has several tools: {}", list()))
            .hint(format!("name one, as in `prowess {verb} {place}/{}`", first.name.value))),
    }
}
