//! The agents that read skills: where each looks, and what is known of how it chooses.
//!
//! The folders are data, see `agents/table.tsv`; so are the rules, see [`Rules`], with their sources beside them. What no
//! source says is not claimed.

mod rules;

use std::sync::LazyLock;

use crate::places::{Location, Places, Scope};

pub use rules::{Budget, Collision, Folder, Names, RULES, Room, Rules};

/// A program that reads skills from folders.
#[derive(Debug)]
pub struct Agent {
    /// The word for `--agent`.
    pub id: &'static str,
    /// Its name.
    pub title: &'static str,
    /// Its folder in a project.
    pub project: &'static str,
    /// Its folder of the user, where it has one.
    pub user: Option<&'static str>,
    /// What is there when the agent is used. `None` where nothing tells: such an agent counts only when it is named.
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
    /// Where that was read.
    pub source: Option<&'static str>,
}

/// Whether something is seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkSupport {
    /// It is.
    Yes,
    /// It is reported not to be, or not everywhere in the agent.
    No,
    /// Nobody has said.
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

/// The agent of an id.
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
    /// Its folder, as the table writes it.
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

    /// Whether it sees a link in a folder.
    pub fn sees_links(&self, scope: Scope) -> LinkSupport {
        match scope {
            Scope::Project => self.links.project,
            Scope::User => self.links.user,
        }
    }

    /// Whether something shows that it is used here: its settings, or a folder of skills that no other agent shares.
    pub fn is_present(&self, places: &Places) -> bool {
        let exists = |template: &str| places.locate(template).is_some_and(|at| at.path.exists());
        self.marker.is_some_and(exists) || (!is_shared(self.project) && exists(self.project))
    }

    /// What is known of how it chooses.
    pub fn rules(&self) -> Option<&'static Rules> {
        RULES.iter().copied().find(|rules| rules.agent == self.id)
    }
}

/// Whether several agents look in a folder of a project, or people keep other things in it.
fn is_shared(folder: &str) -> bool {
    let is_hidden = folder.starts_with('.');
    !is_hidden || all().iter().filter(|agent| agent.project == folder).nth(1).is_some()
}

/// The table is part of the program and tested for its shape, so reading it can't fail.
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
