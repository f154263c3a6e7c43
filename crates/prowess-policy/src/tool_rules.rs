//! Rules about the tools of an agent: which of its calls a pattern such as `Bash(git *)` matches, and what lists of them
//! decide.
//!
//! They say what an agent does without asking its user. They grant nothing in our own sandbox: `allowed-tools` of a skill is
//! not part of [`grants::of`](crate::grants::of).
//!
//! The meaning is that of Claude Code's documentation, "Configure permissions". Where it leaves something open, a rule that
//! allows does not match, and one that denies does.

mod command;
mod glob;
mod path;
mod web;

use prowess_format::tool_pattern::{
    IneffectivePattern, PatternList, SpecifierKind, ToolPattern, ToolPatternError,
    content_parameter, kind_of,
};
use serde_json::Value;

pub use command::is_search_or_comparison;

/// A call of a tool of the agent.
#[derive(Clone, Copy, Debug)]
pub struct ToolUse<'u> {
    /// The tool, as in `Bash` or `mcp__github__get_issue`.
    pub tool: &'u str,
    /// Its input, an object.
    pub input: &'u Value,
    /// The folders that relative paths and patterns start from.
    pub folders: ToolFolders<'u>,
}

/// Folders as absolute paths, `/` between their parts.
#[derive(Clone, Copy, Debug)]
pub struct ToolFolders<'f> {
    /// The working directory.
    pub working: &'f str,
    /// The root of the project, for patterns that begin with one `/`.
    pub project: &'f str,
    /// The user's home, for `~/`.
    pub home: Option<&'f str>,
}

/// Whether a rule allows something or restricts it, which decides what happens to a call that can't be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleEffect {
    /// Every part of the call has to match; what can't be understood doesn't.
    Allow,
    /// One part that matches is enough, and what can't be understood does. Also the `if` of a hook.
    Restrict,
}

/// Whether a pattern matches a call.
pub fn matches(pattern: &ToolPattern, effect: RuleEffect, call: &ToolUse<'_>) -> bool {
    let list = match effect {
        RuleEffect::Allow => PatternList::Allow,
        RuleEffect::Restrict => PatternList::Deny,
    };
    match pattern.ineffective(list) {
        Some(IneffectivePattern::UnanchoredName | IneffectivePattern::ContentParameter { .. }) => {
            return false;
        }
        // A colon inside of a command is an ordinary character; the others are handled with their tools below.
        Some(
            IneffectivePattern::ColonInside
            | IneffectivePattern::WrongPathTool { .. }
            | IneffectivePattern::NoDomain,
        )
        | None => {}
    }
    if !names_tool(pattern, call.tool) {
        return false;
    }
    let Some(specifier) = pattern.specifier.as_deref() else { return true };
    if effect == RuleEffect::Restrict && matches_parameter(pattern, call) {
        return true;
    }
    let text = |key: &str| call.input.get(key).and_then(Value::as_str);
    match pattern.kind() {
        SpecifierKind::Command => {
            let command = text("command").unwrap_or_default();
            if call.tool == "PowerShell" {
                return command::matches_powershell(specifier, effect, command);
            }
            // One pattern alone says nothing about files that a redirection writes.
            command::matches(&[specifier], effect, command, &|target| target.path == "/dev/null")
        }
        SpecifierKind::Path => {
            let paths = paths_of(call);
            !paths.is_empty()
                && paths.iter().all(|path| path::matches(specifier, effect, path, call.folders))
        }
        // The client never consults these to allow something.
        SpecifierKind::UnusedPath => match effect {
            RuleEffect::Allow => false,
            RuleEffect::Restrict => paths_of(call)
                .iter()
                .any(|path| path::matches(specifier, effect, path, call.folders)),
        },
        SpecifierKind::Domain => match specifier.strip_prefix("domain:") {
            Some(domain) => {
                let host = text("url").and_then(web::host);
                host.map_or(effect == RuleEffect::Restrict, |host| web::matches(domain, &host))
            }
            None => effect == RuleEffect::Restrict,
        },
        SpecifierKind::Skill => {
            let Some(name) = text("skill").or_else(|| text("name")) else { return false };
            let arguments = text("args").unwrap_or_default().trim();
            let call = format!("{} {arguments}", name.trim_start_matches('/'));
            glob::command(specifier.trim_start_matches('/'), call.trim_end())
        }
        SpecifierKind::Agent => text("subagent_type")
            .or_else(|| text("agent_type"))
            .is_some_and(|kind| kind == specifier),
        // Other tools have no specifiers: one that denies is taken at its word.
        SpecifierKind::Other => effect == RuleEffect::Restrict && pattern.parameter().is_none(),
    }
}

/// Whether the name in a pattern is that of a tool. Rules for `Read` and `Edit` are about all tools that read and edit files.
fn names_tool(pattern: &ToolPattern, tool: &str) -> bool {
    if let Some((server, None)) = pattern.mcp()
        && !server.contains('*')
    {
        let rest = tool.strip_prefix("mcp__").and_then(|rest| rest.strip_prefix(server));
        return rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("__"));
    }
    let tool = current_name(tool);
    let named = current_name(&pattern.tool);
    if pattern.specifier.is_some() {
        let covered: &[&str] = match named {
            "Read" => &["Read", "Grep", "Glob", "LS", "NotebookRead"],
            "Edit" => &["Edit", "Write", "MultiEdit", "NotebookEdit"],
            _ => &[],
        };
        if covered.contains(&tool) {
            return true;
        }
    }
    glob::anything(named, tool)
}

/// The name that a tool has today.
fn current_name(tool: &str) -> &str {
    if tool == "Task" { "Agent" } else { tool }
}

/// `Agent(model:opus)`: a parameter of the call has this value, letter by letter.
fn matches_parameter(pattern: &ToolPattern, call: &ToolUse<'_>) -> bool {
    let Some((parameter, value)) = pattern.parameter() else { return false };
    let given = match call.input.get(parameter) {
        Some(Value::String(text)) => text.clone(),
        Some(value @ (Value::Bool(_) | Value::Number(_))) => value.to_string(),
        Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => return false,
    };
    glob::anything(value, &given)
}

/// The paths that a call of a file tool is about. A search without a path is about the working directory.
fn paths_of(call: &ToolUse<'_>) -> Vec<String> {
    let parameter = content_parameter(call.tool).unwrap_or("file_path");
    let given = call.input.get(parameter).and_then(Value::as_str);
    let is_search = matches!(call.tool, "Grep" | "Glob" | "LS");
    let path = given.filter(|path| !path.is_empty()).or(is_search.then_some("."));
    path.map(|path| path::absolute(path, call.folders)).into_iter().collect()
}

/// The lists of patterns that hold for a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolRules {
    /// What is denied.
    pub deny: Vec<ToolPattern>,
    /// What the user is asked about.
    pub ask: Vec<ToolPattern>,
    /// What needs no question.
    pub allow: Vec<ToolPattern>,
}

/// What rules say about a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolDecision {
    /// A pattern denies it.
    Deny(ToolPattern),
    /// A pattern wants a question first.
    Ask(ToolPattern),
    /// Patterns allow all of it.
    Allow,
    /// No pattern is about it, or not about all of it.
    Unlisted,
}

impl ToolRules {
    /// Adds the patterns of a skill. What is not a pattern is returned with the reason: in a list that denies it is the caller's
    /// duty to say so.
    pub fn of_skill(
        skill: &prowess_format::skill::Skill,
    ) -> (Self, Vec<(String, ToolPatternError)>) {
        let mut rules = Self::default();
        let mut odd = Vec::new();
        let lists =
            [(&skill.allowed_tools, &mut rules.allow), (&skill.disallowed_tools, &mut rules.deny)];
        for (texts, patterns) in lists {
            for text in texts {
                match text.parse() {
                    Ok(pattern) => patterns.push(pattern),
                    Err(error) => odd.push((text.value.clone(), error)),
                }
            }
        }
        (rules, odd)
    }

    /// The same rules with the folders of the skill and the project in their commands.
    #[must_use]
    pub fn with_folders(&self, skill: Option<&str>, project: Option<&str>) -> Self {
        let expand = |patterns: &[ToolPattern]| {
            patterns.iter().map(|pattern| pattern.with_folders(skill, project)).collect()
        };
        Self { deny: expand(&self.deny), ask: expand(&self.ask), allow: expand(&self.allow) }
    }

    /// Decides about a call: deny comes before ask, and ask before allow, however specific a pattern is.
    ///
    /// The parts of a compound command may be allowed by different patterns.
    pub fn decide(&self, call: &ToolUse<'_>) -> ToolDecision {
        let restricting = |patterns: &[ToolPattern]| {
            patterns.iter().find(|pattern| matches(pattern, RuleEffect::Restrict, call)).cloned()
        };
        if let Some(pattern) = restricting(&self.deny) {
            return ToolDecision::Deny(pattern);
        }
        if let Some(pattern) = restricting(&self.ask) {
            return ToolDecision::Ask(pattern);
        }
        let is_allowed = self.allow.iter().any(|pattern| matches(pattern, RuleEffect::Allow, call))
            || self.allows_each_part(call);
        if is_allowed { ToolDecision::Allow } else { ToolDecision::Unlisted }
    }

    /// Whether each part of a compound command is allowed by one of the patterns, and each file that it writes too.
    fn allows_each_part(&self, call: &ToolUse<'_>) -> bool {
        if call.tool != "Bash" {
            return false;
        }
        let Some(command) = call.input.get("command").and_then(Value::as_str) else { return false };
        let commands = self.allow.iter().filter(|pattern| pattern.tool == "Bash");
        let specifiers: Vec<&str> =
            commands.filter_map(|pattern| pattern.specifier.as_deref()).collect();
        command::matches(&specifiers, RuleEffect::Allow, command, &|target| {
            target.path == "/dev/null"
                || target.is_literal && self.allows_write(&target.path, call.folders)
        })
    }

    /// Whether a pattern for `Edit` allows to write a file.
    fn allows_write(&self, path: &str, folders: ToolFolders<'_>) -> bool {
        let input = serde_json::json!({ "file_path": path });
        let call = ToolUse { tool: "Edit", input: &input, folders };
        self.allow.iter().any(|pattern| {
            kind_of(&pattern.tool) == SpecifierKind::Path
                && matches(pattern, RuleEffect::Allow, &call)
        }) && !self
            .deny
            .iter()
            .chain(&self.ask)
            .any(|pattern| matches(pattern, RuleEffect::Restrict, &call))
    }
}
