//! The argument `PATH[/TOOL]`: a skill, and optionally one of its tools.

use std::path::Path;

use prowess_format::skill::{Skill, SkillKind, Tool};
use prowess_format::text::closest;

use crate::error::Error;
use crate::skill::skill_ref::{self, Loaded, ReferenceOptions, Tools};
use crate::terminal::printer::Printer;

/// Loads a skill, and returns the name of the tool if there is one.
pub(crate) fn load_with_tool(
    path: &Path,
    printer: &mut Printer,
) -> Result<(Loaded, Option<String>), Error> {
    let (loaded, tool) = skill_ref::locate(path, Tools::MayBeNamed, printer)?;
    skill_ref::refuse_manifest(&loaded)?;
    Ok((loaded, tool))
}

/// Loads a skill like [`load_with_tool`], and fetches one that is not on this machine.
pub(crate) fn read_with_tool(
    path: &Path,
    options: &ReferenceOptions,
    printer: &mut Printer,
) -> Result<(Loaded, Option<String>), Error> {
    let (loaded, tool) = skill_ref::read_reference(path, Tools::MayBeNamed, options, printer)?;
    skill_ref::refuse_manifest(&loaded)?;
    Ok((loaded, tool))
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
