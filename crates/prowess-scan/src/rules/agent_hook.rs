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
        if !["hooks", "mcpServers", "permissions", "ANTHROPIC_BASE_URL"]
            .iter()
            .any(|word| document.text.contains(word))
        {
            continue;
        }
        for unit in &document.units {
            let is_settings = match unit.kind {
                UnitKind::Code => {
                    document.kind == FileKind::Data && has_extension(&document.path, "json")
                }
                UnitKind::Fence => {
                    matches!(unit.language.as_str(), "json" | "jsonc" | "json5" | "")
                }
                _ => false,
            };
            if !is_settings {
                continue;
            }
            let text = &document.text[unit.range.clone()];
            let mut commands = Vec::new();
            match serde_json::from_str::<Value>(text) {
                Ok(value) => collect(&value, false, 0, &mut commands),
                // Agents read settings with mistakes in them too.
                Err(_) => commands.extend(lines_with_commands(text)),
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
    if depth > 32 || commands.len() > 200 {
        return;
    }
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let inside = inside || matches!(key.as_str(), "hooks" | "mcpServers");
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
                    ("ANTHROPIC_BASE_URL", Value::String(url))
                        if crate::known::hosts::standing(url)
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
