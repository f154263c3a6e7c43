//! The MCP servers that are configured for agents, and whether those that a skill depends on can be started (SRT §4.6).
//!
//! Nothing is started here. Agents keep their servers in files of similar structure: JSON, perhaps with comments, TOML or YAML.
//! A server is available if any of them lists it and its program exists. Unreadable files count as missing, since they are
//! not ours.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use prowess_format::diagnostic::Findings;
use prowess_format::document::yaml;
use prowess_format::json;
use serde_json::Value;

use crate::platform;
use crate::programs::Finder;
use crate::world::World;

mod configured;

pub use configured::{ConfiguredServer, ServerTransport};

/// Maximum size of a file. Claude Code's contains histories and grows.
const MAX_BYTES: u64 = 32 << 20;

/// Files in a project, with the key of the servers: Claude Code, Cursor, VS Code, Gemini, Codex, Roo, opencode, Kiro, Qwen,
/// Amp, Crush, Factory, Junie, Zed, Kimi, iFlow, Kilo.
const OF_PROJECTS: &[(&str, &str)] = &[
    (".mcp.json", "mcpServers"),
    (".cursor/mcp.json", "mcpServers"),
    (".vscode/mcp.json", "servers"),
    (".gemini/settings.json", "mcpServers"),
    (".codex/config.toml", "mcp_servers"),
    (".roo/mcp.json", "mcpServers"),
    ("opencode.json", "mcp"),
    ("opencode.jsonc", "mcp"),
    (".kiro/settings/mcp.json", "mcpServers"),
    (".qwen/settings.json", "mcpServers"),
    (".amp/settings.json", "amp.mcpServers"),
    (".crush.json", "mcp"),
    ("crush.json", "mcp"),
    (".factory/mcp.json", "mcpServers"),
    (".junie/mcp/mcp.json", "mcpServers"),
    (".zed/settings.json", "context_servers"),
    (".kimi-code/mcp.json", "mcpServers"),
    (".iflow/settings.json", "mcpServers"),
    ("kilo.json", "mcp"),
    ("kilo.jsonc", "mcp"),
    (".kilo/kilo.json", "mcp"),
    (".kilo/kilo.jsonc", "mcp"),
];
/// Files of a user: Claude Code, Cursor, Gemini, Codex, Windsurf, Claude, VS Code, Copilot, opencode, Kiro, Qwen, Amp, Crush,
/// Factory, Junie, Zed, Goose, Hermes, Kimi, iFlow, Kilo, Rovo Dev, Augment, Cline, Antigravity.
const OF_USERS: &[(&str, &str)] = &[
    (".claude.json", "mcpServers"),
    (".cursor/mcp.json", "mcpServers"),
    (".gemini/settings.json", "mcpServers"),
    (".codex/config.toml", "mcp_servers"),
    (".codeium/windsurf/mcp_config.json", "mcpServers"),
    (".config/Claude/claude_desktop_config.json", "mcpServers"),
    (".config/Code/User/mcp.json", "servers"),
    (".copilot/mcp-config.json", "mcpServers"),
    (".config/opencode/opencode.json", "mcp"),
    (".config/opencode/opencode.jsonc", "mcp"),
    (".kiro/settings/mcp.json", "mcpServers"),
    (".qwen/settings.json", "mcpServers"),
    (".config/amp/settings.json", "amp.mcpServers"),
    (".config/crush/crush.json", "mcp"),
    (".factory/mcp.json", "mcpServers"),
    (".junie/mcp/mcp.json", "mcpServers"),
    (".config/zed/settings.json", "context_servers"),
    (".config/goose/config.yaml", "extensions"),
    (".hermes/config.yaml", "mcp_servers"),
    (".kimi-code/mcp.json", "mcpServers"),
    (".iflow/settings.json", "mcpServers"),
    (".config/kilo/kilo.json", "mcp"),
    (".config/kilo/kilo.jsonc", "mcp"),
    (".rovodev/mcp.json", "mcpServers"),
    (".augment/settings.json", "mcpServers"),
    (".cline/data/settings/cline_mcp_settings.json", "mcpServers"),
    (".gemini/antigravity/mcp_config.json", "mcpServers"),
];
/// The most servers of one file that are listed.
const MAX_SERVERS: usize = 500;
/// Keys of the URL of a remote server.
const ADDRESSES: &[&str] = &["url", "httpUrl", "serverUrl", "uri"];

/// The problem with a server, as a phrase after its name; `None` if it is available.
pub(crate) fn problem(name: &str, world: &World, finder: Finder<'_>) -> Option<String> {
    let mut first = None;
    for (file, servers) in configurations(world) {
        let Some(server) = servers.get(name) else { continue };
        match unusable(server, world, finder) {
            None => return None,
            Some(why) => first = first.or(Some(format!("{why} (in `{}`)", file.display()))),
        }
    }
    Some(first.unwrap_or_else(|| {
        let file = world.working_directory.join(OF_PROJECTS[0].0);
        format!("is not configured: add it to `{}`", file.display())
    }))
}

/// A server by its name, as the first settings have it that list a usable one.
pub(crate) fn find(
    name: &str,
    world: &World,
    finder: Finder<'_>,
) -> Result<ConfiguredServer, String> {
    for (file, servers) in configurations(world) {
        let Some(server) = servers.get(name) else { continue };
        if unusable(server, world, finder).is_none() {
            return ConfiguredServer::read(name, &file, server, world)
                .map_err(|why| format!("{why} (in `{}`)", file.display()));
        }
    }
    Err(problem(name, world, finder).unwrap_or_else(|| "is not usable".to_owned()))
}

/// A server in the settings of an agent.
#[derive(Debug)]
pub struct ListedServer {
    /// Its name.
    pub name: String,
    /// The file with its settings.
    pub file: PathBuf,
    /// What it is, or why it can't be used from here.
    pub server: Result<ConfiguredServer, String>,
}

/// Every server in the settings of agents, in the order of the files. A name may appear more than once: the first usable
/// one counts.
pub fn all_servers(world: &World) -> Vec<ListedServer> {
    let finder = Finder { search_path: &world.search_path, skill_directory: None };
    let mut all = Vec::new();
    for (file, servers) in configurations(world) {
        for (name, server) in servers.as_object().into_iter().flatten().take(MAX_SERVERS) {
            let read = match unusable(server, world, finder) {
                Some(why) => Err(why),
                None => ConfiguredServer::read(name, &file, server, world),
            };
            all.push(ListedServer { name: name.clone(), file: file.clone(), server: read });
        }
    }
    all
}

/// All objects with servers, and their files.
fn configurations(world: &World) -> Vec<(PathBuf, Value)> {
    let project = OF_PROJECTS.iter().map(|(file, key)| (world.working_directory.join(file), *key));
    let user = OF_USERS.iter().map(|(file, key)| (world.home.join(file), *key));
    let mut found = Vec::new();
    for (path, key) in project.chain(user) {
        let Some(mut settings) = read(&path) else { continue };
        // Claude Code keeps project settings in the user's file.
        let project = world.working_directory.to_string_lossy();
        let own = settings.get_mut("projects").and_then(|all| all.get_mut(project.as_ref()));
        let own = own.and_then(|own| own.get_mut(key)).map(Value::take);
        let all = settings.get_mut(key).map(Value::take);
        found.extend(own.into_iter().chain(all).map(|servers| (path.clone(), servers)));
    }
    found
}

fn read(path: &Path) -> Option<Value> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(MAX_BYTES).read_to_end(&mut bytes).ok()?;
    match path.extension()?.to_str()? {
        "toml" => toml::from_str(str::from_utf8(&bytes).ok()?).ok(),
        "yaml" => {
            let mut findings = Findings::default();
            let node = yaml::parse(str::from_utf8(&bytes).ok()?, 0, &mut findings);
            node.ok()?.map(|node| node.to_json())
        }
        _ => serde_json::from_slice(&bytes).ok().or_else(|| {
            let text = str::from_utf8(&bytes).ok()?;
            json::parse_with_comments(text).ok().map(|json| json.to_value())
        }),
    }
}

fn unusable(server: &Value, world: &World, finder: Finder<'_>) -> Option<String> {
    let flag = |key: &str| server.get(key).and_then(Value::as_bool);
    if flag("disabled") == Some(true) || flag("enabled") == Some(false) {
        return Some("is disabled".to_owned());
    }
    if ADDRESSES.iter().any(|key| server.get(key).is_some_and(Value::is_string)) {
        return None;
    }
    // opencode writes program and arguments as one list.
    let command = server.get("command").or_else(|| server.get("cmd"));
    let command = command.and_then(|command| command.get(0).unwrap_or(command).as_str());
    let Some(command) = command.filter(|command| !command.is_empty()) else {
        return Some("has neither a command nor a URL".to_owned());
    };
    // The agent expands `${HOME}/bin/server`.
    if command.contains("${") {
        return None;
    }
    if command.contains('/') {
        let path = match command.strip_prefix("~/") {
            Some(below) => world.home.join(below),
            None => world.working_directory.join(command),
        };
        let there = path.is_file() && platform::is_executable(&path).unwrap_or(false);
        return (!there).then(|| format!("starts `{command}`, which is not a program"));
    }
    (!finder.has(command)).then(|| format!("starts `{command}`, which is not on PATH"))
}

#[cfg(test)]
mod tests;
