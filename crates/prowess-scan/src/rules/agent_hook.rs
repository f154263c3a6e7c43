//! `agent-hook`.

use serde_json::Value;

use crate::findings::Findings;
use crate::input::{FileKind, has_extension};
use crate::rule::scan_rule;
use crate::segment::UnitKind;
use crate::severity::Severity;
use crate::subject::Subject;

scan_rule! {
    /// ## What it does
    /// Flags settings of agents in a skill that run commands by themselves: hooks with an interpreter or a download in them, servers of the Model Context Protocol that are started from elsewhere, settings that allow everything.
    ///
    /// ## Why is this bad?
    /// They run at the next session, without a question, and outside of the skill.
    ///
    /// ## Example
    /// `.claude/settings.json` with `"command": "bash -lc 'python3 -c …'"`
    AGENT_HOOK = "agent-hook", High, Persistence, check;
    matching: &[
        (".claude/settings.json", "{\"hooks\": {\"PreToolUse\": [{\"matcher\": \"*\", \"command\": \"bash -lc 'python3 -c \\\"import os\\\"'\"}]}}\n"),
    ],
    clean: &[
        (".claude/settings.json", "{\"hooks\": {\"PostToolUse\": [{\"matcher\": \"Edit\", \"command\": \"npm run format\"}]}}\n"),
    ],
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for document in subject.documents.iter().filter(|document| document.origin.is_none()) {
        if ![
            "hooks",
            "mcpServers",
            "mcp_servers",
            "permissions",
            "ANTHROPIC_BASE_URL",
            "\"tasks\"",
            "Command\"",
            "notify",
        ]
        .iter()
        .any(|word| document.text.contains(word))
        {
            continue;
        }
        for unit in &document.units {
            let is_settings = match unit.kind {
                UnitKind::Code => {
                    document.kind == FileKind::Data
                        && ["json", "jsonc", "toml"]
                            .iter()
                            .any(|end| has_extension(&document.path, end))
                }
                UnitKind::Fence => {
                    matches!(unit.language.as_str(), "json" | "jsonc" | "json5" | "toml" | "")
                }
                _ => false,
            };
            if !is_settings {
                continue;
            }
            let text = &document.text[unit.range.clone()];
            let mut commands = Vec::new();
            let is_toml = has_extension(&document.path, "toml") || unit.language == "toml";
            let parsed = if is_toml {
                text.parse::<toml::Table>()
                    .ok()
                    .map(|table| from_toml(&toml::Value::Table(table), 0))
            } else {
                serde_json::from_str::<Value>(text).ok()
            };
            match parsed {
                Some(value) => collect(&value, false, 0, &mut commands),
                // Agents read settings with mistakes in them too.
                None => commands.extend(lines_with_commands(text)),
            }
            // What a document shows is an example as long as nobody copies it.
            let is_file = unit.kind == UnitKind::Code;
            for (command, what) in commands {
                let severity = match (is_suspicious(&command), is_file) {
                    (true, _) => Severity::High,
                    (false, true) => Severity::Low,
                    (false, false) => continue,
                };
                let at =
                    text.find(command.split(['"', '\\']).next().unwrap_or_default()).unwrap_or(0);
                let start = unit.range.start + at;
                let severity =
                    crate::context::of_code(document, &(start..start + 1)).apply(severity);
                findings.add(&AGENT_HOOK, severity, &document.path, start..start + 1, what);
            }
        }
    }
}

/// The commands of settings that are no JSON, line by line.
fn lines_with_commands(text: &str) -> Vec<(String, &'static str)> {
    let is_settings = text.contains("\"hooks\"") || text.contains("\"mcpServers\"");
    let lines = text.lines().filter(|line| is_settings && line.contains("\"command\"")).take(200);
    let command = |line: &str| {
        line.split_once(':').map(|(_, rest)| rest.trim().trim_matches(['"', ',']).to_owned())
    };
    lines
        .filter_map(command)
        .map(|command| (command, "has settings of an agent that run a command"))
        .collect()
}

/// Commands below `hooks` and servers below `mcpServers`.
fn collect(value: &Value, inside: bool, depth: usize, commands: &mut Vec<(String, &'static str)>) {
    if depth > MAX_DEPTH || commands.len() > 200 {
        return;
    }
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let inside = inside
                    || matches!(
                        key.as_str(),
                        "hooks" | "mcpServers" | "mcp_servers" | "tasks" | "context_servers"
                    );
                match (key.as_str(), value) {
                    ("command", Value::String(command)) if inside => {
                        let arguments = map
                            .get("args")
                            .and_then(Value::as_array)
                            .into_iter()
                            .flatten()
                            .filter_map(Value::as_str);
                        let line: Vec<&str> =
                            std::iter::once(command.as_str()).chain(arguments).collect();
                        commands
                            .push((line.join(" "), "has settings of an agent that run a command"));
                    }
                    // What an editor or a container runs when the folder is opened, and what Codex runs after each turn.
                    (
                        "initializeCommand"
                        | "onCreateCommand"
                        | "updateContentCommand"
                        | "postCreateCommand"
                        | "postStartCommand"
                        | "postAttachCommand"
                        | "notify"
                        | "apiKeyHelper"
                        | "statusLine"
                        | "awsAuthRefresh",
                        command,
                    ) => {
                        let mut words = Vec::new();
                        texts_of(command, &mut words);
                        commands.push((
                            words.join(" "),
                            "has settings that run a command by themselves",
                        ));
                    }
                    (
                        "ANTHROPIC_BASE_URL" | "OPENAI_BASE_URL" | "ANTHROPIC_API_URL",
                        Value::String(url),
                    ) if crate::known::hosts::standing(url)
                        != crate::known::hosts::Standing::Known =>
                    {
                        commands.push((
                            format!("curl {url}"),
                            "sends what an agent says to another address",
                        ));
                    }
                    _ => collect(value, inside, depth + 1, commands),
                }
            }
        }
        Value::Array(values) => {
            for value in values {
                collect(value, inside, depth + 1, commands);
            }
        }
        _ => {}
    }
}

/// The texts in a value.
fn texts_of(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) if texts.len() < 32 => texts.push(text.clone()),
        Value::Array(values) => values.iter().take(32).for_each(|value| texts_of(value, texts)),
        Value::Object(map) => map.values().take(32).for_each(|value| texts_of(value, texts)),
        _ => {}
    }
}

/// Settings in TOML as those in JSON.
fn from_toml(value: &toml::Value, depth: usize) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text.clone()),
        toml::Value::Boolean(flag) => Value::Bool(*flag),
        toml::Value::Array(values) if depth < MAX_DEPTH => {
            Value::Array(values.iter().map(|value| from_toml(value, depth + 1)).collect())
        }
        toml::Value::Table(table) if depth < MAX_DEPTH => Value::Object(
            table.iter().map(|(key, value)| (key.clone(), from_toml(value, depth + 1))).collect(),
        ),
        _ => Value::Null,
    }
}

/// How deep settings are looked into.
const MAX_DEPTH: usize = 32;

/// Whether a command runs a text, downloads, or reads secrets.
fn is_suspicious(command: &str) -> bool {
    let words = [
        " -c ",
        "curl ",
        "wget ",
        "base64",
        "/dev/tcp",
        "nc ",
        "eval ",
        " -e ",
        "http://",
        "iwr ",
        "powershell",
        "~/.ssh",
        "~/.aws",
        "/tmp/",
        "$(",
        "| sh",
        "| bash",
    ];
    words.iter().any(|word| command.contains(word)) && !command.contains("mcp-remote")
}
