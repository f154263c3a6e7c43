//! The hooks of a skill as one call that the policy decides about, whatever events they are bound to.

use std::path::Path;
use std::sync::Arc;

use prowess_format::command;
use prowess_format::skill::{HookHandler, Tool, ToolKind};
use prowess_format::text::{shorten, visible_line};
use prowess_hooks::HookSet;
use prowess_policy::scope::Program;
use prowess_policy::{Line, LineKind, Mode, grants};
use serde_json::Map;

use super::HOOKS_TOOL;
use crate::error::RunError;
use crate::loaded::LoadedSkill;
use crate::prepare::{self, Call, PreparedCall};
use crate::scripts;
use crate::user_grants::UserGrants;
use crate::world::World;

/// The events that a call of a tool has.
pub(super) const TOOL_EVENTS: &[&str] = &["PreToolUse", "PostToolUse", "PostToolUseFailure"];
/// The longest action in a question, in characters: long enough that nothing can be hidden at its end.
const MAX_ACTION: usize = 4000;
/// The longest action in the name of a hook, in characters.
const MAX_NAME: usize = 80;

/// Prepares the hooks of a skill for a decision; `None` when it has none. The decision and the answer to its question are
/// those of any call ([`approve`](crate::approve)), and the [`ReadyRun`](crate::ReadyRun) that comes out is not run but
/// registered: [`HookSession::register`](super::HookSession::register).
pub fn prepare_hooks(
    skill: &Arc<LoadedSkill>,
    mode: Mode,
    user: &UserGrants,
    world: &Arc<World>,
) -> Result<Option<PreparedCall>, RunError> {
    let hooks = HookSet::of(&skill.skill.hooks);
    if hooks.is_empty() {
        return Ok(None);
    }
    prepare_set(skill, mode, user, world).map(Some)
}

/// Prepares the hooks around a call of a tool, where the skill has such.
pub(crate) fn for_call(
    call: &Call,
    user: &UserGrants,
    world: &Arc<World>,
) -> Result<Option<Box<PreparedCall>>, RunError> {
    let skill = &call.skill;
    // Nearly all skills end here.
    let is_bound = |event: &str| TOOL_EVENTS.contains(&event);
    if !skill.skill.hooks.iter().any(|hook| is_bound(&hook.event) && !hook.handlers.is_empty()) {
        return Ok(None);
    }
    Ok(Some(Box::new(prepare_set(skill, call.mode, user, world)?)))
}

fn prepare_set(
    skill: &Arc<LoadedSkill>,
    mode: Mode,
    user: &UserGrants,
    world: &Arc<World>,
) -> Result<PreparedCall, RunError> {
    let handlers = skill.skill.hooks.iter().flat_map(|hook| &hook.handlers);
    let mut programs: Vec<String> = Vec::new();
    for handler in handlers.filter(|handler| *handler.kind == "command") {
        let program = start_of(handler, skill.directory.as_deref(), &folders(skill, world)).program;
        // A program that can't be granted or is not there fails when its hook is to run: the others may still.
        let is_there = Program::of_command(&program)
            .is_ok_and(|program| prepare::finder(skill, world).locate(&program).is_ok());
        if is_there && !programs.contains(&program) {
            programs.push(program);
        }
    }
    // What a user lets the tool use is not meant for hooks.
    let world = if world.credentials.is_empty() {
        Arc::clone(world)
    } else {
        Arc::new(World { credentials: Vec::new(), ..World::clone(world) })
    };
    let tools: Vec<Tool> = programs.iter().map(|program| tool(program)).collect();
    let grants = grants::of_command_lines(&skill.skill, &tools);
    let values = Map::new();
    let skill = Arc::clone(skill);
    let Some(first) = tools.into_iter().next() else {
        // Requests and prompts start nothing.
        let tool = Tool { kind: ToolKind::Python, handler: None, ..tool("sh") };
        let call = Call { skill, tool, values, mode };
        return prepare::without_program(call, grants, user.clone(), &world);
    };
    let call = Call { skill, tool: first, values, mode };
    prepare::with_grants(call, grants, user.clone(), &world)
}

fn tool(program: &str) -> Tool {
    let mut tool = scripts::command_line_tool(program);
    HOOKS_TOOL.clone_into(&mut tool.name.value);
    tool
}

/// How a command of a hook is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HookStart {
    /// The program: a name, a path, or a path in the skill.
    pub(super) program: String,
    /// Its arguments.
    pub(super) arguments: Vec<String>,
}

/// The folders that placeholders and variables name.
pub(super) fn folders(skill: &LoadedSkill, world: &World) -> Vec<(&'static str, String)> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut folders = vec![("CLAUDE_PROJECT_DIR", text(&world.working_directory))];
    if let Some(directory) = &skill.directory {
        folders.push(("CLAUDE_SKILL_DIR", text(directory)));
        folders.push(("PROWESS_SKILL_DIR", text(directory)));
    }
    folders
}

/// The program and the arguments of a command: as they are with `args`, and through a shell without.
///
/// A command that begins with a path in the skill and is nothing but words needs no shell either, and that is how such
/// hooks are published: `./scripts/check.sh` is the skill's file, wherever the tool works (R30).
pub(super) fn start_of(
    handler: &HookHandler,
    directory: Option<&Path>,
    folders: &[(&'static str, String)],
) -> HookStart {
    let folders: Vec<(&str, &str)> =
        folders.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let words = prowess_hooks::exec_words(handler, &folders).or_else(|| {
        let words = plain_words(handler.action.as_ref()?)?;
        let first = words.first()?;
        let is_own = first.contains('/') && !first.starts_with('/');
        (is_own && directory?.join(first).is_file()).then_some(words)
    });
    if let Some(mut words) = words.filter(|words| !words.is_empty()) {
        let program = own_path(&words.remove(0), directory);
        return HookStart { program, arguments: words };
    }
    let command = handler.action.as_ref().map(|action| action.value.clone()).unwrap_or_default();
    match handler.shell.as_deref() {
        Some("powershell") => HookStart {
            program: "pwsh".to_owned(),
            arguments: vec!["-NoProfile".to_owned(), "-Command".to_owned(), command],
        },
        // The reference starts `sh`, unless the author names the shell.
        Some("bash") => shell("bash", command),
        _ => shell("sh", command),
    }
}

fn shell(program: &str, command: String) -> HookStart {
    HookStart { program: program.to_owned(), arguments: vec!["-c".to_owned(), command] }
}

/// An absolute path into the skill, as the relative one that it is.
fn own_path(program: &str, directory: Option<&Path>) -> String {
    let inside = directory.and_then(|folder| Path::new(program).strip_prefix(folder).ok());
    match inside.and_then(Path::to_str) {
        Some(relative) if !relative.is_empty() => format!("./{relative}"),
        _ => program.to_owned(),
    }
}

/// The words of a command line in which a shell would find nothing to do.
pub(super) fn plain_words(line: &str) -> Option<Vec<String>> {
    // What a shell would expand or act upon outside of quotes, and `"$x"` within.
    const SPECIAL: &[char] =
        &['$', '`', '|', '&', ';', '<', '>', '(', ')', '*', '?', '[', '#', '~', '!', '\n', '{'];
    if line.contains(SPECIAL) {
        return None;
    }
    let template = command::parse(line).ok()?;
    template.arguments.iter().map(|word| word.literal().map(str::to_owned)).collect()
}

/// The lines of a question about hooks alone: what they are, and what they may do.
pub(crate) fn alone(hooks: &PreparedCall, own: Vec<Line>) -> Vec<Line> {
    let of_hooks = lines(hooks, &[], &own);
    let at = own.iter().position(|line| line.kind == LineKind::May).unwrap_or(own.len());
    let mut all = own;
    all.splice(at..at, of_hooks);
    all
}

/// What the user reads about hooks before anything of the skill runs: one line for each, and what they may do that the tool
/// may not.
pub(crate) fn lines(hooks: &PreparedCall, own: &[Line], of_tool: &[Line]) -> Vec<Line> {
    let skill = &hooks.call.skill;
    let mut lines = Vec::new();
    for hook in &skill.skill.hooks {
        for handler in &hook.handlers {
            let matcher = match hook.matcher.as_deref() {
                None | Some("" | "*") => String::new(),
                Some(matcher) => format!(" ({})", shown(matcher)),
            };
            let text = format!(
                "runs the skill's hook on {}{matcher}: {}",
                shown(&hook.event),
                described(handler)
            );
            lines.push(Line::new(LineKind::May, text));
        }
    }
    let is_new = |line: &&Line| {
        line.kind == LineKind::May && !of_tool.iter().any(|known| known.text == line.text)
    };
    for line in own.iter().filter(is_new) {
        lines.push(Line::new(LineKind::May, format!("its hooks: {}", line.short_text())));
    }
    lines
}

/// What a handler does, in one line.
pub(super) fn described(handler: &HookHandler) -> String {
    let action = handler.action.as_ref().map_or("", |action| action.as_str());
    let text = match handler.kind.as_str() {
        "command" => {
            let words = handler.arguments.as_deref().unwrap_or_default();
            let words: Vec<String> = words.iter().map(|word| command::quote(word)).collect();
            [action.to_owned()].into_iter().chain(words).collect::<Vec<_>>().join(" ")
        }
        "http" => format!("sends the call to {action}"),
        "mcp_tool" => {
            let server = handler.server.as_ref().map_or("", |server| server.as_str());
            format!("calls the tool {action} of the MCP server {server}")
        }
        "prompt" => format!("asks your model: {action}"),
        "agent" => format!("asks an agent on your model: {action}"),
        other => format!("{other} {action}"),
    };
    format!("`{}`", shown(&text))
}

/// How messages name a hook.
pub(super) fn name(skill: &str, handler: &HookHandler) -> String {
    let action = match handler.kind.as_str() {
        "prompt" | "agent" => handler.kind.value.clone(),
        _ => handler.action.as_ref().map(|action| action.value.clone()).unwrap_or_default(),
    };
    let action = shorten(&visible_line(&action), MAX_NAME);
    format!("the hook `{action}` of `{}`", visible_line(skill))
}

fn shown(text: &str) -> String {
    shorten(&visible_line(text), MAX_ACTION)
}
