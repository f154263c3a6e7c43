//! The agents that read skills: their folders, and what is known about how each chooses a copy.
//!
//! The folders are data, see `agents/table.tsv`; so are the rules, see [`AgentRules`], with their sources. Nothing is
//! claimed without a source.

mod rules;

use std::sync::LazyLock;

use crate::places::{Location, Places, Scope};

pub use rules::{
    AgentRules, BudgetLimit, CatalogueBudget, Collision, NamingRule, RULES, SearchFolder,
};

/// A program that reads skills from folders.
#[derive(Debug)]
pub struct Agent {
    /// The value for `--agent`.
    pub id: &'static str,
    /// The display name.
    pub title: &'static str,
    /// The skill folder in a project.
    pub project: &'static str,
    /// The user's skill folder, if it has one.
    pub user: Option<&'static str>,
    /// A path that exists if the agent is in use. `None` if there is none: such an agent is only used when it is named.
    pub marker: Option<&'static str>,
    /// Whether it sees skills that are symbolic links.
    pub links: Links,
}

/// Whether an agent sees a skill that is a symbolic link to a folder.
#[derive(Clone, Copy, Debug)]
pub struct Links {
    /// In the project.
    pub project: LinkSupport,
    /// In the user's folder.
    pub user: LinkSupport,
    /// The source of this information.
    pub source: Option<&'static str>,
}

/// Whether symbolic links are supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkSupport {
    /// Supported.
    Yes,
    /// Reported as unsupported, or not supported everywhere in the agent.
    No,
    /// Not documented.
    Unknown,
}

impl PartialEq for Agent {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Agent {}

/// Every agent, sorted by id.
pub fn all() -> &'static [Agent] {
    static AGENTS: LazyLock<Vec<Agent>> =
        LazyLock::new(|| read_table(include_str!("agents/table.tsv")));
    &AGENTS
}

/// Finds an agent by id.
pub fn by_id(id: &str) -> Option<&'static Agent> {
    let at = all().binary_search_by(|agent| agent.id.cmp(id)).ok()?;
    all().get(at)
}

/// Other names of agents: what people call them for short, and what the tables of clients call them.
const ALIASES: &[(&str, &str)] = &[
    ("agent-skills", "universal"),
    ("claude", "claude-code"),
    ("copilot", "github-copilot"),
    ("gemini", "gemini-cli"),
    ("hermes", "hermes-agent"),
    ("kimi", "kimi-code-cli"),
    ("kiro", "kiro-cli"),
    ("qwen", "qwen-code"),
    ("tabnine", "tabnine-cli"),
];

/// The agent of an id, or of another name for it.
pub fn by_name(name: &str) -> Option<&'static Agent> {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
    by_id(alias.map_or(name, |(_, id)| id))
}

/// The agents of which something is on this machine or in this project.
pub fn present(places: &Places) -> Vec<&'static Agent> {
    all().iter().filter(|agent| agent.is_present(places)).collect()
}

impl Agent {
    /// Its folder as written in the table.
    pub fn folder(&self, scope: Scope) -> Option<&'static str> {
        match scope {
            Scope::Project => Some(self.project),
            Scope::User => self.user,
        }
    }

    /// Its folder on this machine.
    pub fn locate(&self, scope: Scope, places: &Places) -> Option<Location> {
        places.locate(self.folder(scope)?)
    }

    /// Whether it sees symbolic links in its folder.
    pub fn sees_links(&self, scope: Scope) -> LinkSupport {
        match scope {
            Scope::Project => self.links.project,
            Scope::User => self.links.user,
        }
    }

    /// Whether it is in use here: its settings exist, or a skill folder that no other agent shares.
    pub fn is_present(&self, places: &Places) -> bool {
        let exists = |template: &str| places.locate(template).is_some_and(|at| at.path.exists());
        self.marker.is_some_and(exists) || (!is_shared(self.project) && exists(self.project))
    }

    /// The known rules of how it chooses a copy.
    pub fn rules(&self) -> Option<&'static AgentRules> {
        RULES.iter().copied().find(|rules| rules.agent == self.id)
    }
}

/// Whether several agents use a folder of a project, or it has other uses.
fn is_shared(folder: &str) -> bool {
    let is_hidden = folder.starts_with('.');
    !is_hidden || all().iter().filter(|agent| agent.project == folder).nth(1).is_some()
}

/// Parses the table, which is part of the program and covered by a test, so this can't fail.
fn read_table(table: &'static str) -> Vec<Agent> {
    let rows = table.lines().filter(|line| !line.starts_with('#')).skip(1);
    rows.map(|row| {
        let mut cells = row.split('\t');
        let mut cell = || cells.next().expect("every row has every column");
        let optional = |cell: &'static str| Some(cell).filter(|cell| *cell != "-");
        let seen = |cell: &str| match cell {
            "yes" => LinkSupport::Yes,
            "no" => LinkSupport::No,
            _ => LinkSupport::Unknown,
        };
        Agent {
            id: cell(),
            title: cell(),
            project: cell(),
            user: optional(cell()),
            marker: optional(cell()),
            links: Links { project: seen(cell()), user: seen(cell()), source: optional(cell()) },
        }
    })
    .collect()
}

#[cfg(test)]
mod tests;
