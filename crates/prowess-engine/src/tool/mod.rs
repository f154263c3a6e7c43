//! What a tool of each kind is started as.

mod command;
pub(crate) mod mcp;
pub(crate) mod openclaw;
pub(crate) mod python;
mod script;

use prowess_format::skill::{Skill, Tool, ToolKind};
use prowess_policy::scope::Program;
use prowess_sandbox::Input;
use serde_json::Value;

use crate::error::RunError;
use crate::prepare::Call;
use crate::world::World;

/// How to start a tool.
#[derive(Debug)]
pub(crate) struct Recipe {
    /// What is started.
    pub(crate) program: Program,
    /// What follows its name.
    pub(crate) arguments: Vec<String>,
    /// What a person reads instead: the same, or something shorter that means it.
    pub(crate) shown: Vec<String>,
    /// Values that the program may take for options (NEG-12): parameter and value.
    pub(crate) option_like: Vec<(String, String)>,
    /// Variables that the author sets.
    pub(crate) variables: Vec<(String, String)>,
    /// What it reads from standard input; nothing when absent.
    pub(crate) input: Option<String>,
    /// Codes beside 0 that the author calls a success.
    pub(crate) successes: Vec<i32>,
    /// Whether its result comes on a descriptor of its own, so that what it prints can't be taken for one.
    pub(crate) private_result: bool,
    /// Set for functions of a `tools.py`, which a worker calls.
    pub(crate) python: Option<python::Plan>,
    /// Packages that a handler or a script needs.
    pub(crate) packages: Option<python::HandlerPackages>,
    /// Set for tools of an MCP server.
    pub(crate) server: Option<Box<mcp::ServerPlan>>,
}

impl Recipe {
    /// Nothing is started.
    pub(crate) fn nothing() -> Self {
        Self {
            program: Program::Named(String::new()),
            arguments: Vec::new(),
            shown: Vec::new(),
            option_like: Vec::new(),
            variables: Vec::new(),
            input: None,
            successes: Vec::new(),
            private_result: false,
            python: None,
            packages: None,
            server: None,
        }
    }

    /// Standard input for the sandbox.
    pub(crate) fn sandbox_input(&self) -> Input {
        self.input.as_ref().map_or(Input::Empty, |text| Input::Bytes(text.clone().into_bytes()))
    }
}

/// How to start the tool of a call.
pub(crate) fn recipe(call: &Call, world: &World) -> Result<Recipe, RunError> {
    match call.tool.kind {
        ToolKind::Command => command::recipe(call),
        ToolKind::Handler => openclaw::recipe(call, world),
        ToolKind::Python => python::recipe(call, world),
        ToolKind::Script => script::recipe(call, world),
        ToolKind::CommandLine => script::command_line(call),
        ToolKind::McpTool => mcp::recipe(call, world),
    }
}

/// The program that a tool starts, whatever its values are, or why a run would end before it is looked for.
pub(crate) fn program(call: &Call, world: &World) -> Result<Program, RunError> {
    match call.tool.kind {
        // Its values are what the template is filled with, and there are none.
        ToolKind::Command => command::program(&call.tool),
        ToolKind::Handler
        | ToolKind::Python
        | ToolKind::Script
        | ToolKind::CommandLine
        | ToolKind::McpTool => recipe(call, world).map(|recipe| recipe.program),
    }
}

/// The program that a tool starts, whatever its values are.
pub(crate) fn starter(skill: &Skill, tool: &Tool, world: &World) -> Option<Program> {
    match tool.kind {
        ToolKind::Command => command::starter(tool),
        ToolKind::Handler => openclaw::starter(skill, tool, world),
        ToolKind::Python => python::starter(skill, world),
        // No skill declares these, and a server is none of the skill's programs.
        ToolKind::Script | ToolKind::CommandLine | ToolKind::McpTool => None,
    }
}

/// The arguments of a call: what was given, else the declared default.
fn with_defaults(call: &Call) -> Value {
    let mut arguments = call.values.clone();
    arguments.retain(|_, value| !value.is_null());
    for parameter in &call.tool.parameters {
        if let Some(default) = &parameter.default
            && !arguments.contains_key(parameter.name.as_str())
        {
            arguments.insert(parameter.name.value.clone(), default.clone());
        }
    }
    Value::Object(arguments)
}
