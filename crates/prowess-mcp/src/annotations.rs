//! Hints for clients about the effects of a tool, derived from the permissions that the skill requests.

use prowess_format::permission::{Domain, Level};
use prowess_format::skill::{Skill, Tool, ToolKind};
use prowess_policy::grants;
use rmcp::model::ToolAnnotations;

/// The hints for a tool. What it requests decides, not only what it says about itself.
pub(crate) fn of(skill: &Skill, tool: &Tool) -> ToolAnnotations {
    let grants = grants::of_tool(skill, tool).for_tool(&tool.name.value);
    let mut is_open = false;
    let mut changes = false;
    for grant in grants.grants() {
        is_open |= matches!(grant.domain(), Domain::Network | Domain::Mcp | Domain::Database);
        changes |= matches!(grant.level(), Level::Write | Level::Control | Level::Connect);
    }
    let says_read_only = skill.read_only.as_ref().is_some_and(|flag| flag.value);
    // A script may do whatever its programs can do with what they may write.
    let is_declared = !matches!(tool.kind, ToolKind::Script | ToolKind::CommandLine);
    let is_read_only = !changes && (says_read_only || !is_declared);
    let annotations = ToolAnnotations::new().read_only(is_read_only).open_world(is_open);
    if is_read_only { annotations } else { annotations.destructive(changes) }
}

/// The hints for a question to a model: nothing is changed, and the model is somewhere else.
pub(crate) fn of_prompt() -> ToolAnnotations {
    ToolAnnotations::new().read_only(true).open_world(true)
}
