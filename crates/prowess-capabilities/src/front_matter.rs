//! What the front matter of a skill, and settings beside it, pre-approve, hook and require.

use std::borrow::Cow;

use prowess_format::diagnostic::Findings;
use prowess_format::dialect::tool_patterns;
use prowess_format::document::yaml::{Mapping, Node, YamlEntry};
use prowess_format::document::{Document, Form};
use prowess_format::skill::Skill;
use serde_json::Value;

use crate::commands::{self, Weight};
use crate::{CapabilityKind, Collector, FileText, variables};

/// The fields that pre-approve tools, in the spellings of the clients.
const TOOL_FIELDS: &[&str] = &["allowed-tools", "allowed_tools", "allowedTools"];
/// Scripts that package managers run by themselves.
const PACKAGE_SCRIPTS: &[&str] =
    &["preinstall", "install", "postinstall", "prepare", "preprepare", "postprepare", "prepublish"];

/// Reads the front matter of a `SKILL.md`. It does not matter which dialect it seems to be in: an agent reads what it
/// knows.
pub(crate) fn read(file: &str, text: &str, found: &mut Collector<'_>) {
    let mut decoded = Cow::Borrowed("");
    let checked = prowess_format::read_bytes(text.as_bytes(), &mut decoded, Form::Markdown);
    let document = &checked.document;
    let place = &FileText::whole(document.text, file);
    for field in TOOL_FIELDS {
        for pattern in tool_patterns(&document.root, field) {
            let line = place.line(pattern.span.range().start);
            let note = meaning(&pattern);
            found.add_with_note(CapabilityKind::Tool, &pattern, note, file, line);
        }
    }
    hooks(&document.root, place, found);
    requirements(&checked.skill, place, found);
    let metadata = document.root.get("metadata").and_then(Node::mapping);
    let vendors = metadata.into_iter().flat_map(|metadata| &metadata.entries);
    let vendors = vendors.filter_map(|entry| entry.value.mapping());
    for block in [&document.root].into_iter().chain(metadata).chain(vendors) {
        recipes(block, place, found);
    }
}

/// Whether a file has settings that make agents or package managers run something.
pub(crate) fn is_settings(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    matches!(
        name,
        "hooks.json"
            | "settings.json"
            | "settings.local.json"
            | ".mcp.json"
            | "mcp.json"
            | "package.json"
    )
}

/// Reads such a file. One that is not JSON is read by nobody.
pub(crate) fn read_settings(file: &str, text: &str, found: &mut Collector<'_>) {
    let document = Document::json(text, &mut Findings::default());
    let place = &FileText::whole(text, file);
    hooks(&document.root, place, found);
    if let Some(servers) = document.root.get("mcpServers").and_then(Node::mapping) {
        for server in &servers.entries {
            let event = format!("MCP server {}", server.key);
            handlers(&event, None, &server.value, place, found);
        }
    }
    let is_package = file.rsplit('/').next() == Some("package.json");
    let scripts = document.root.get("scripts").and_then(Node::mapping).filter(|_| is_package);
    for script in scripts.into_iter().flat_map(|scripts| &scripts.entries) {
        if PACKAGE_SCRIPTS.contains(&script.key.as_ref()) {
            let event = format!("package {}", script.key);
            handlers(&event, None, &script.value, place, found);
        }
    }
}

fn hooks(root: &Mapping<'_>, place: &FileText<'_>, found: &mut Collector<'_>) {
    let is_hooks = |entry: &&YamlEntry<'_>| entry.key == "hooks";
    for entry in root.entries.iter().filter(is_hooks) {
        match entry.value.mapping() {
            Some(events) => {
                for event in &events.entries {
                    handlers(&event.key, None, &event.value, place, found);
                }
            }
            None => handlers("hooks", None, &entry.value, place, found),
        }
    }
}

/// Adds the handlers of an event, however deep they are. What has no known form is added as it is written.
fn handlers(
    event: &str,
    matcher: Option<&str>,
    node: &Node<'_>,
    place: &FileText<'_>,
    found: &mut Collector<'_>,
) {
    if let Some(items) = node.sequence() {
        for item in items {
            handlers(event, matcher, item, place, found);
        }
        return;
    }
    let action = ["command", "bash", "url", "prompt"];
    let action = node.mapping().and_then(|map| action.iter().find_map(|key| map.get(key)));
    let line = place.line(action.unwrap_or(node).span.range().start);
    let at = match matcher {
        Some(matcher) if !matcher.is_empty() => format!("{event} {matcher}"),
        _ => event.to_owned(),
    };
    let add = |action: &str, found: &mut Collector<'_>| {
        found.add(CapabilityKind::Hook, &format!("{at}: {action}"), place.file, line);
    };
    let Some(mapping) = node.mapping() else {
        if let Some(command) = node.text().filter(|text| !text.trim().is_empty()) {
            add(command, found);
            read_command(command, place.file, line, found);
        }
        return;
    };
    if let Some(inner) = mapping.get("hooks") {
        let matcher = mapping.get("matcher").and_then(Node::text);
        handlers(event, matcher, inner, place, found);
        return;
    }
    let text = |key: &str| mapping.get(key).and_then(Node::text);
    if let Some(command) = text("command").or_else(|| text("bash")) {
        let arguments = mapping.get("args").and_then(Node::sequence).unwrap_or_default();
        let words: Vec<&str> =
            [command].into_iter().chain(arguments.iter().filter_map(Node::text)).collect();
        let command = words.join(" ");
        add(&command, found);
        read_command(&command, place.file, line, found);
    } else if let Some(url) = text("url") {
        add(&format!("request to {url}"), found);
        for host in prowess_shell::hosts_in(url) {
            found.add(CapabilityKind::Host, &host.host, place.file, line);
        }
    } else if let Some(prompt) = text("prompt") {
        add(&format!("prompt {prompt}"), found);
    } else {
        add(&node.to_json().to_string(), found);
    }
    // What a handler sets or passes on.
    for key in ["env", "allowedEnvVars"] {
        let Some(node) = mapping.get(key) else { continue };
        let names = node.sequence().unwrap_or_default().iter().filter_map(Node::text);
        for name in names {
            found.add(CapabilityKind::Variable, name, place.file, line);
        }
        let values = node.mapping().into_iter().flat_map(|map| &map.entries);
        for value in values.filter_map(|entry| entry.value.text()) {
            for (name, _) in variables::read_by_shell(value) {
                found.add(CapabilityKind::Variable, &name, place.file, line);
            }
        }
    }
}

fn read_command(command: &str, file: &str, line: usize, found: &mut Collector<'_>) {
    commands::read(&FileText::part(command, file, line), Weight::Command, found);
}

/// Programs and variables that the skill says it needs.
fn requirements(skill: &Skill, place: &FileText<'_>, found: &mut Collector<'_>) {
    let wanted = &skill.requirements;
    for program in wanted.programs.iter().chain(&wanted.any_programs) {
        let line = place.line(program.span.range().start);
        if !crate::utilities::is_text_only(program) {
            found.add(CapabilityKind::Program, program, place.file, line);
        }
    }
    for variable in &wanted.env_vars {
        let line = place.line(variable.span.range().start);
        found.add(CapabilityKind::Variable, variable, place.file, line);
    }
    let Some(vendor) = &skill.openclaw else { return };
    let named = vendor.env_vars.iter().filter_map(|variable| {
        variable.as_str().or_else(|| variable.get("name").and_then(Value::as_str))
    });
    for name in vendor.primary_env.as_deref().into_iter().chain(named) {
        found.add(CapabilityKind::Variable, name, place.file, 1);
    }
}

/// The install steps of a vendor's block.
fn recipes(block: &Mapping<'_>, place: &FileText<'_>, found: &mut Collector<'_>) {
    let steps = block.get("install").and_then(Node::sequence).unwrap_or_default();
    for step in steps {
        let line = place.line(step.span.range().start);
        let Some(mapping) = step.mapping() else { continue };
        let text = |key: &str| mapping.get(key).and_then(Node::text).map(quoted);
        let command = match mapping.get("kind").and_then(Node::text).unwrap_or_default() {
            "brew" => text("formula").map(|it| format!("brew install {it}")),
            "node" | "npm" => text("package").map(|it| format!("npm install --global {it}")),
            "go" => text("module").map(|it| format!("go install {it}")),
            "uv" => text("package").map(|it| format!("uv tool install {it}")),
            "pip" => text("package").map(|it| format!("pip install {it}")),
            "apt" => text("package").map(|it| format!("apt-get install {it}")),
            "download" => text("url").map(|it| format!("download {it}")),
            _ => None,
        };
        let command = command.unwrap_or_else(|| step.to_json().to_string());
        for host in prowess_shell::hosts_in(&command) {
            found.add(CapabilityKind::Host, &host.host, place.file, line);
        }
        found.add(CapabilityKind::Recipe, &command, place.file, line);
    }
}

/// A word of a command that somebody may copy: a shell sees one argument, and no option.
fn quoted(word: &str) -> String {
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "@/._:+-".contains(character);
    let is_name = |first: char| first.is_ascii_alphanumeric() || first == '@';
    if word.starts_with(is_name) && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// What a pre-approved tool comes to.
fn meaning(pattern: &str) -> Option<String> {
    let (tool, scope) = match pattern.split_once('(') {
        Some((tool, scope)) => (tool, scope.trim_end_matches(')').trim()),
        None => (pattern, ""),
    };
    let note = match (tool, scope) {
        ("Bash" | "Shell" | "PowerShell", "" | "*" | ":*" | "*:*") => "any command".to_owned(),
        ("Bash" | "Shell" | "PowerShell", scope) => {
            let start = scope.trim_end_matches('*').trim_end_matches(':').trim_end();
            if start.len() == scope.len() {
                return None;
            }
            format!("any command that begins with {start}")
        }
        ("Write" | "Edit" | "MultiEdit" | "NotebookEdit", "") => "any file".to_owned(),
        ("WebFetch", "") => "any address".to_owned(),
        ("*", "") => "every tool".to_owned(),
        _ => return None,
    };
    Some(note)
}
