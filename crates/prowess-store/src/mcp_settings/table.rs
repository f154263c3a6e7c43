//! The settings files of agents, as data with sources.

use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::entry::{ServerEntry, SettingsFormat};
use crate::agents::Agent;
use crate::places::{Location, Places, Scope};

/// The name of our entry.
pub const SERVER_NAME: &str = "prowess";
/// Seconds that Goose waits for a server, as in its documentation.
const GOOSE_TIMEOUT: u64 = 300;

/// The settings file in which an agent reads its MCP servers, and the form of an entry.
#[derive(Debug)]
pub struct McpSettings {
    /// The id of the agent.
    pub agent: &'static str,
    /// The project's or the user's settings.
    pub scope: Scope,
    /// The files: the first that exists is used, else the first.
    pub files: Vec<&'static str>,
    /// The format.
    pub format: SettingsFormat,
    /// The key of all servers.
    pub container: &'static str,
    /// The shape of an entry.
    pub shape: Shape,
    /// The documentation that describes it.
    pub source: &'static str,
}

/// The shape of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// `command` and `args`.
    Plain,
    /// `command` and `args` with `type: stdio`.
    Stdio,
    /// Copilot: `type: local` and the tools that are offered.
    Copilot,
    /// opencode: program and arguments in one list.
    OpenCode,
    /// Goose: an extension.
    Goose,
}

/// All rows of the table.
pub fn all() -> &'static [McpSettings] {
    static SETTINGS: LazyLock<Vec<McpSettings>> =
        LazyLock::new(|| read_table(include_str!("table.tsv")));
    &SETTINGS
}

/// The settings of an agent, if they are documented.
pub fn of(agent: &Agent, scope: Scope) -> Option<&'static McpSettings> {
    all().iter().find(|settings| settings.agent == agent.id && settings.scope == scope)
}

impl McpSettings {
    /// The file on this machine.
    pub(super) fn locate(&self, places: &Places) -> Option<Location> {
        let files = || self.files.iter().filter_map(|file| places.locate(file));
        // A dangling link exists too, and is refused later.
        files().find(|file| file.path.symlink_metadata().is_ok()).or_else(|| files().next())
    }

    /// The entry that starts a program as an MCP server.
    pub fn entry(&self, command: &str) -> ServerEntry {
        let arguments = json!(["mcp"]);
        let value = match self.shape {
            Shape::Plain => json!({ "command": command, "args": arguments }),
            Shape::Stdio => json!({ "type": "stdio", "command": command, "args": arguments }),
            Shape::Copilot => {
                json!({ "type": "local", "command": command, "args": arguments, "tools": ["*"] })
            }
            Shape::OpenCode => {
                json!({ "type": "local", "command": [command, "mcp"], "enabled": true })
            }
            Shape::Goose => json!({
                "name": SERVER_NAME,
                "type": "stdio",
                "cmd": command,
                "args": arguments,
                "enabled": true,
                "timeout": GOOSE_TIMEOUT,
            }),
        };
        let value = match value {
            Value::Object(value) => value,
            _ => Map::new(),
        };
        let container = self.container.to_owned();
        ServerEntry { container, name: SERVER_NAME.to_owned(), value }
    }
}

/// Parses the table, which is part of the program and covered by a test, so this can't fail.
fn read_table(table: &'static str) -> Vec<McpSettings> {
    let rows = table.lines().filter(|line| !line.starts_with('#')).skip(1);
    rows.map(|row| {
        let mut cells = row.split('\t');
        let mut cell = || cells.next().expect("every row has every column");
        McpSettings {
            agent: cell(),
            scope: if cell() == "project" { Scope::Project } else { Scope::User },
            files: cell().split('|').collect(),
            format: match cell() {
                "toml" => SettingsFormat::Toml,
                "yaml" => SettingsFormat::Yaml,
                _ => SettingsFormat::Json,
            },
            container: cell(),
            shape: match cell() {
                "stdio" => Shape::Stdio,
                "copilot" => Shape::Copilot,
                "opencode" => Shape::OpenCode,
                "goose" => Shape::Goose,
                _ => Shape::Plain,
            },
            source: cell(),
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::all;
    use crate::agents;

    #[test]
    fn every_row_is_complete_and_about_a_known_agent() {
        let text = include_str!("table.tsv");
        let rows = text.lines().filter(|line| !line.starts_with('#'));
        assert!(
            rows.clone().all(|row| row.split('\t').filter(|cell| !cell.is_empty()).count() == 7)
        );
        let words = |column: usize| -> BTreeSet<&str> {
            rows.clone().skip(1).filter_map(|row| row.split('\t').nth(column)).collect()
        };
        assert_eq!(words(1), BTreeSet::from(["project", "user"]));
        assert_eq!(words(3), BTreeSet::from(["json", "toml", "yaml"]));
        assert_eq!(words(5), BTreeSet::from(["copilot", "goose", "opencode", "plain", "stdio"]));
        let mut seen = BTreeSet::new();
        for settings in all() {
            assert!(agents::by_id(settings.agent).is_some(), "{}", settings.agent);
            assert!(seen.insert((settings.agent, settings.scope)), "{}", settings.agent);
        }
        let agents: BTreeSet<&str> = all().iter().map(|settings| settings.agent).collect();
        assert!(agents.len() >= 12);
    }
}
