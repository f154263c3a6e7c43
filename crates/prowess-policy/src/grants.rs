//! Collects what a skill requests, from every way of declaring it (R15, R16, R53).
//!
//! Independent of the dialect. A skill declares permissions, has commands, requires programs and
//! variables, or declares that it needs the network; each of these is one function below.

use std::fmt;

use prowess_format::command;
use prowess_format::permission::{Domain, Level};
use prowess_format::skill::{Skill, Tool, ToolKind};
use prowess_format::text::visible;

use crate::grant::{Grant, GrantError, GrantScope, GrantSource, checked_server};
use crate::request::PROGRAMS_FIELD;
use crate::scope::{HostPattern, PathPattern, Program, VariableName};

/// Everything a skill requests, and what can't be granted.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct GrantSet {
    grants: Vec<Grant>,
    refusals: Vec<RefusedGrant>,
}

/// A request that can't be granted at any tier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedGrant {
    /// The text of the request.
    pub text: String,
    /// Why it can't be granted.
    pub error: GrantError,
    /// The tool it is for; every tool if absent.
    pub tool: Option<String>,
}

impl fmt::Display for RefusedGrant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = self.error.to_string();
        write!(f, "`{}` can't be granted: {}", visible(&self.text), visible(&error))
    }
}

impl GrantSet {
    /// Creates a set without refusals.
    pub fn new(grants: Vec<Grant>) -> Self {
        Self { grants, refusals: Vec::new() }
    }

    /// The grants.
    pub fn grants(&self) -> &[Grant] {
        &self.grants
    }

    /// What can't be granted.
    pub fn refusals(&self) -> &[RefusedGrant] {
        &self.refusals
    }

    /// The grants of one tool: those for every tool, and those for this one.
    #[must_use]
    pub fn for_tool(&self, tool: &str) -> Self {
        let concerns = |named: Option<&str>| named.is_none_or(|named| named == tool);
        Self {
            grants: self.grants.iter().filter(|grant| concerns(grant.tool())).cloned().collect(),
            refusals: self
                .refusals
                .iter()
                .filter(|refusal| concerns(refusal.tool.as_deref()))
                .cloned()
                .collect(),
        }
    }

    /// Adds grants of the user.
    #[must_use]
    pub fn with(mut self, more: impl IntoIterator<Item = Grant>) -> Self {
        self.grants.extend(more);
        self
    }

    /// Keeps only the grants for which `keep` returns true: this is how a user narrows a skill.
    #[must_use]
    pub fn only(mut self, keep: impl Fn(&Grant) -> bool) -> Self {
        self.grants.retain(keep);
        self
    }

    /// Whether a grant of the set covers this one.
    pub fn covers(&self, wanted: &Grant) -> bool {
        self.grants.iter().any(|grant| grant.covers(wanted))
    }

    fn push(&mut self, grant: Grant) {
        if !self.grants.contains(&grant) {
            self.grants.push(grant);
        }
    }

    fn refuse(&mut self, text: &str, error: impl Into<GrantError>, tool: Option<&str>) {
        let tool = tool.map(str::to_owned);
        self.refusals.push(RefusedGrant { text: text.to_owned(), error: error.into(), tool });
    }
}

/// Collects what a skill requests.
///
/// `allowed-tools` is a hint to the host and is ignored (R16). `domain:none` overrides every other
/// request for that domain, and declarations for files or the network replace the implied ones.
pub fn of(skill: &Skill) -> GrantSet {
    with_tools(skill, &[])
}

/// Collects what a skill requests, and what one tool requests that it may not declare: a script or
/// a command line.
pub fn of_tool(skill: &Skill, tool: &Tool) -> GrantSet {
    let is_declared = skill.tools.iter().any(|known| known.name == tool.name);
    let set = with_tools(skill, if is_declared { &[] } else { std::slice::from_ref(tool) });
    match tool.mcp_target() {
        Some((server, _)) => of_server(set, server),
        None => set,
    }
}

/// Keeps what a skill may request on behalf of the MCP server whose tool it calls: files and hosts, which the user is asked
/// about. The server is the user's, and it has its own programs and variables; it gets none of the skill's, and no other
/// server.
fn of_server(set: GrantSet, server: &str) -> GrantSet {
    set.only(|grant| match grant.domain() {
        Domain::Filesystem | Domain::Network => true,
        Domain::Mcp => *grant.scope() == GrantScope::Name(server.to_owned()),
        Domain::Env | Domain::Shell | Domain::Database | Domain::Desktop => false,
    })
}

/// Collects what a skill requests, and what command lines request that it has under one name: those of its hooks. The
/// programs that they start are granted to that name only.
pub fn of_command_lines(skill: &Skill, lines: &[Tool]) -> GrantSet {
    with_tools(skill, lines)
}

fn with_tools(skill: &Skill, more: &[Tool]) -> GrantSet {
    let mut set = GrantSet::default();
    declared(skill, &mut set);
    required(skill, &mut set);
    let tools: Vec<&Tool> = skill.tools.iter().chain(more).collect();
    for tool in &tools {
        commanded(tool, &mut set);
    }
    let declares = |domain| skill.permissions.iter().any(|permission| permission.domain == domain);
    if !declares(Domain::Filesystem) {
        working_directory(skill, &tools, &mut set);
    }
    if !declares(Domain::Network) && skill.network.as_ref().is_some_and(|flag| flag.value) {
        // R53: a request for `network:write:*` that needs the user's approval.
        let scope = GrantScope::Host(HostPattern::ANY);
        set.push(Grant::implied(Domain::Network, Level::Write, scope, GrantSource::NetworkFlag));
    }
    let none = |domain| {
        let mut all = skill.permissions.iter();
        all.any(|permission| permission.domain == domain && permission.level == Level::None)
    };
    set.grants.retain(|grant| !none(grant.domain()));
    set
}

/// Adds declared permissions (GAIA §3, SRT §4.7).
fn declared(skill: &Skill, set: &mut GrantSet) {
    for permission in &skill.permissions {
        let text = permission.to_string();
        match Grant::read(permission, &GrantSource::Declared(text.clone())) {
            Ok(grants) => grants.into_iter().for_each(|grant| set.push(grant)),
            Err(error) => set.refuse(&text, error, None),
        }
    }
}

/// Adds required variables (GAIA §3.1: readable without `env:read`), MCP servers (SRT §4.6), and
/// the programs that an OpenClaw block requires.
///
/// `dependencies.tools` of SRT §4.6 must exist but grant nothing: that dialect may take them from
/// `allowed-tools` (R16).
fn required(skill: &Skill, set: &mut GrantSet) {
    let block = skill.openclaw.as_ref();
    let described = block.iter().flat_map(|block| &block.env_vars).filter_map(|entry| {
        entry.get("name").and_then(|name| name.as_str()).or_else(|| entry.as_str())
    });
    let names = skill.requirements.env_vars.iter().map(|name| name.as_str());
    let primary = block.and_then(|block| block.primary_env.as_deref());
    let mut seen: Vec<&str> = Vec::new();
    for name in names.chain(primary).chain(described) {
        if seen.contains(&name) {
            continue;
        }
        seen.push(name);
        match VariableName::parse(name) {
            Ok(variable) => set.push(Grant::implied(
                Domain::Env,
                Level::Read,
                GrantScope::Variable(variable),
                GrantSource::Required("variable", name.to_owned()),
            )),
            Err(error) => set.refuse(name, error, None),
        }
    }
    for server in &skill.requirements.mcp_servers {
        match checked_server(server) {
            Ok(name) => set.push(Grant::implied(
                Domain::Mcp,
                Level::Connect,
                GrantScope::Name(name),
                GrantSource::Required("MCP server", server.value.clone()),
            )),
            Err(error) => set.refuse(server, error, None),
        }
    }
    if block.is_none() {
        return;
    }
    let programs = skill.requirements.programs.iter().chain(&skill.requirements.any_programs);
    for name in programs {
        match Program::parse(name) {
            Ok(program) => set.push(Grant::implied(
                Domain::Shell,
                Level::Execute,
                GrantScope::Program(program),
                GrantSource::Required("program", name.value.clone()),
            )),
            Err(error) => set.refuse(name, error, None),
        }
    }
}

/// Adds the program that a command tool starts, for that tool only, and checks the variables that a
/// tool pack sets.
fn commanded(tool: &Tool, set: &mut GrantSet) {
    let name = tool.name.as_str();
    if let Some(text) = program_of(tool) {
        match Program::of_command(&text) {
            Ok(program) => set.push(
                Grant::implied(
                    Domain::Shell,
                    Level::Execute,
                    GrantScope::Program(program),
                    GrantSource::Command(text),
                )
                .for_tool(name),
            ),
            Err(error) => set.refuse(&text, error, Some(name)),
        }
    }
    let programs = tool.extra.iter().find(|(key, _)| key == PROGRAMS_FIELD);
    let programs = programs.filter(|_| tool.kind == ToolKind::CommandLine);
    let programs = programs.and_then(|(_, value)| value.as_array()).into_iter().flatten();
    for text in programs.filter_map(serde_json::Value::as_str) {
        // The text of the skill names them, as a command tool names its program.
        if let Ok(program) = Program::parse(text) {
            let scope = GrantScope::Program(program);
            let source = GrantSource::Command(text.to_owned());
            let grant = Grant::implied(Domain::Shell, Level::Execute, scope, source);
            set.push(grant.for_tool(name));
        }
    }
    let variables = tool.extra.iter().find(|(key, _)| key == "env");
    let names = variables.and_then(|(_, value)| value.as_object());
    for variable in names.iter().flat_map(|map| map.keys()) {
        // The values are the author's own, so nothing is read; but they may not control what
        // programs load (attack sandbox-F02).
        if let Err(error) = VariableName::parse(variable) {
            set.refuse(variable, error, Some(name));
        }
    }
}

/// The program that a tool starts, as written; a script is the program that it is, whatever
/// interprets it.
pub(crate) fn program_of(tool: &Tool) -> Option<String> {
    let path = || tool.handler.as_ref().map(|path| path.value.clone());
    match tool.kind {
        ToolKind::Script => Some(format!("./{}", path()?)),
        ToolKind::CommandLine => path(),
        // Who configured the server has named its program.
        ToolKind::McpTool => None,
        ToolKind::Command | ToolKind::Python | ToolKind::Handler => {
            let template = command::parse(tool.command.as_ref()?).ok()?;
            template.arguments.first().map(command::TemplateArgument::to_template)
        }
    }
}

/// Adds the working directory for tools that start a program in it (GIB §5.1): for reading if the
/// skill is read-only, otherwise for writing.
fn working_directory(skill: &Skill, tools: &[&Tool], set: &mut GrantSet) {
    let level = match &skill.read_only {
        Some(flag) if flag.value => Level::Read,
        Some(_) | None => Level::Write,
    };
    let works_there = |tool: &&&Tool| match tool.kind {
        ToolKind::Command | ToolKind::Script | ToolKind::CommandLine | ToolKind::McpTool => true,
        ToolKind::Python | ToolKind::Handler => false,
    };
    for tool in tools.iter().filter(works_there) {
        // A server is not the skill: what it may change, it has to be granted.
        let level = if tool.kind == ToolKind::McpTool { Level::Read } else { level };
        let scope = GrantScope::Path(PathPattern::working_directory());
        let grant = Grant::implied(Domain::Filesystem, level, scope, GrantSource::WorkingDirectory);
        set.push(grant.for_tool(&tool.name));
    }
}
