//! Types of subagents for `context: fork`, and what each may use.

use crate::skill::Skill;

/// The type that gets the task where a skill names none.
pub const DEFAULT_AGENT: &str = "general-purpose";

/// A built-in type of subagent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentType {
    /// Its name, as in `agent`.
    pub name: &'static str,
    /// What it is for.
    pub purpose: &'static str,
    /// The tools that it has.
    pub tools: AgentTools,
    /// The model that it uses; that of the conversation if absent.
    pub model: Option<&'static str>,
    /// Whether it reads the instructions of the project (`CLAUDE.md`) first.
    pub reads_project: bool,
    /// Where the documentation says so.
    pub source: &'static str,
}

/// The tools of a subagent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgentTools {
    /// All tools of the conversation.
    All,
    /// All tools but those that change files.
    ReadOnly,
    /// These tools.
    Only(&'static [&'static str]),
}

/// The tools that change files, which agents that only read do not have.
pub const WRITING_TOOLS: &[&str] = &["Edit", "MultiEdit", "NotebookEdit", "Write"];

const SUBAGENTS: &str = "Claude Code documentation, `sub-agents`, \"Built-in subagents\"";
const SKILL_LAYER: &str = "skillli specification, layer 2, \"Agent Types\"";

/// The built-in types.
pub const AGENT_TYPES: &[AgentType] = &[
    AgentType {
        name: "general-purpose",
        purpose: "research and changes in several steps",
        tools: AgentTools::All,
        model: None,
        reads_project: true,
        source: SUBAGENTS,
    },
    AgentType {
        name: "Explore",
        purpose: "file discovery and code search",
        tools: AgentTools::ReadOnly,
        // It used a small model of its own before version 2.1.198.
        model: None,
        reads_project: false,
        source: SUBAGENTS,
    },
    AgentType {
        name: "Plan",
        purpose: "codebase research for planning",
        tools: AgentTools::ReadOnly,
        model: None,
        reads_project: false,
        source: SUBAGENTS,
    },
    AgentType {
        name: "statusline-setup",
        purpose: "the client's status line",
        tools: AgentTools::Only(&["Read", "Edit"]),
        model: Some("sonnet"),
        reads_project: true,
        source: SUBAGENTS,
    },
    AgentType {
        name: "claude-code-guide",
        purpose: "questions about the client",
        tools: AgentTools::Only(&["Glob", "Grep", "Read", "WebFetch", "WebSearch"]),
        model: Some("haiku"),
        reads_project: true,
        source: SUBAGENTS,
    },
    // No longer documented by the client.
    AgentType {
        name: "Bash",
        purpose: "commands in a context of their own",
        tools: AgentTools::Only(&["Bash"]),
        model: None,
        reads_project: true,
        source: SKILL_LAYER,
    },
];

/// A task for a subagent: the rendered text of a skill with `context: fork`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subagent {
    /// The type, as the skill names it.
    pub agent: String,
    /// What is known about the type; nothing about one of the user's own.
    pub known: Option<&'static AgentType>,
    /// Whether the conversation goes on meanwhile.
    pub background: bool,
    /// The model that the skill names.
    pub model: Option<String>,
}

/// The subagent that a skill runs in, if it does.
pub fn of(skill: &Skill) -> Option<Subagent> {
    let invocation = &skill.invocation;
    if invocation.context.as_ref()?.as_str() != "fork" {
        return None;
    }
    let agent = invocation.agent.as_ref().map_or(DEFAULT_AGENT, |agent| agent.as_str());
    let model = skill.model_alias.as_ref().map(|model| model.value.clone());
    Some(Subagent {
        agent: agent.to_owned(),
        known: agent_type(agent),
        background: invocation.background.as_ref().is_none_or(|flag| flag.value),
        model: model.filter(|model| model != "inherit"),
    })
}

/// A built-in type by its name.
pub fn agent_type(name: &str) -> Option<&'static AgentType> {
    AGENT_TYPES.iter().find(|known| known.name == name)
}

impl AgentTools {
    /// Whether an agent with these tools has one of this name.
    pub fn have(self, tool: &str) -> bool {
        match self {
            AgentTools::All => true,
            AgentTools::ReadOnly => !WRITING_TOOLS.contains(&tool),
            AgentTools::Only(tools) => tools.contains(&tool),
        }
    }
}

impl Subagent {
    /// Whether the subagent has a tool. One of an unknown type has those of the conversation.
    pub fn has(&self, tool: &str) -> bool {
        self.known.is_none_or(|known| known.tools.have(tool))
    }
}
