//! Claude Code's extensions (SKL layer 2, and every further field that the product documents).

use serde_json::{Map, Value};

use super::{DescriptionLimit, Dialect, Limit, NameStyle, agent_skills, common, limit, skillli};
use crate::diagnostic::Severity;
use crate::document::Document;
use crate::document::yaml::{Mapping, Node};
use crate::emit::{Written, Yaml};
use crate::formats;
use crate::rules;
use crate::shape::{ANY_MAP, Field, Shape, TEXT, TEXT_OR_TEXTS, Unknown};
use crate::skill::{Hook, HookHandler, Skill};
use crate::span::Spanned;

pub(super) static DIALECT: Dialect = Dialect {
    id: "claude-code",
    title: "Claude Code",
    about: "The open standard with invocation, subagents and hooks.",
    specification: "seed 004, layer 2, and the product's documentation",
    bases: &["agent-skills"],
    fields: FIELDS,
    unknown: Unknown::Kept,
    name: NameStyle::UnicodeKebab,
    directory: Some((Severity::Error, Severity::Error)),
    description: DescriptionLimit {
        most: 1024,
        severity: (Severity::Error, Severity::Error),
        section: "standard",
        is_cut: false,
    },
    limits: LIMITS,
    affinity,
    read,
    check: super::no_check,
    refine: super::no_refinement,
    write,
};

/// The events a hook may be bound to.
pub(crate) const HOOK_EVENTS: &[&str] = &[
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "UserPromptSubmit",
    "Notification",
    "Stop",
    "SubagentStart",
    "SubagentStop",
    "PreCompact",
    "SessionStart",
    "SessionEnd",
    "Setup",
];

/// What a hook may do (SKL layer 2, "Hooks Block").
pub(crate) const HOOK_TYPES: &[&str] = &["command", "prompt", "agent"];

/// Names, or maps with a name and a description, as published skills write them.
const ARGUMENTS: Shape = Shape::Either(&[
    TEXT,
    Shape::List { item: &Shape::Either(&[TEXT, ANY_MAP]), least: 0, most: 100 },
]);

const HANDLER: &[Field] = &[
    Field::new("type", Shape::Choice(HOOK_TYPES), "SKL layer 2", "Kind of handler.")
        .required()
        .rule(&rules::INVALID_HOOK),
    Field::new("command", TEXT, "SKL layer 2", "The command of a `command` hook."),
    Field::new("prompt", TEXT, "SKL layer 2", "The prompt of a `prompt` or `agent` hook."),
    Field::new(
        "timeout",
        Shape::Integer { from: 1, to: 86_400 },
        "SKL layer 2",
        "Timeout in seconds.",
    ),
    Field::new("async", Shape::Boolean, "SKL layer 2", "Runs in the background."),
    Field::new("model", TEXT, "SKL layer 2", "The model of a prompt or an agent."),
];

const MATCHER: &[Field] = &[
    Field::new("matcher", TEXT, "SKL layer 2", "Tools that the hook applies to."),
    Field::new(
        "hooks",
        Shape::List { item: &Shape::Map(HANDLER), least: 1, most: 100 },
        "SKL layer 2",
        "The handlers.",
    )
    .required()
    .rule(&rules::INVALID_HOOK),
];

const FIELDS: &[Field] = &[
    Field::new(
        "name",
        Shape::Format(&formats::UNICODE_NAME),
        "standard",
        "Identifier; defaults to the directory name.",
    )
    .rule(&rules::INVALID_NAME),
    Field::new(
        "description",
        Shape::Text { most: 1024 },
        "standard",
        "What the skill does and when to use it.",
    )
    .expected()
    .rule(&rules::DESCRIPTION_TOO_LONG),
    Field::new("argument-hint", TEXT_OR_TEXTS, "SKL layer 2", "Shown during completion.")
        .mistakes(&["argument"]),
    Field::new(
        "disable-model-invocation",
        Shape::Boolean,
        "SKL layer 2",
        "Only the user may invoke the skill.",
    )
    .default("false"),
    Field::new("user-invocable", Shape::Boolean, "SKL layer 2", "Listed in the `/` menu.")
        .default("true"),
    Field::new("mode", Shape::Boolean, "SKL layer 2", "Listed as a mode command.").default("false"),
    // The client ignores any other value and runs the skill in the main conversation.
    Field::new("context", Shape::Choice(&["fork"]), "SKL layer 2", "`fork` runs it in a subagent.")
        .lenient(),
    Field::new("agent", TEXT, "SKL layer 2", "The subagent's type.").default("general-purpose"),
    Field::new(
        "model",
        Shape::Either(&[TEXT, ANY_MAP]),
        "SKL layer 2",
        "A model by alias or full id (R14).",
    ),
    Field::new(
        "hooks",
        Shape::MapOf(&Shape::List { item: &Shape::Map(MATCHER), least: 0, most: 100 }),
        "SKL layer 2",
        "Lifecycle hooks.",
    )
    .rule(&rules::INVALID_HOOK),
    Field::new("when_to_use", TEXT, "product", "More trigger text beside the description."),
    Field::new("arguments", ARGUMENTS, "product", "Names of the arguments, for `$name`."),
    Field::new(
        "disallowed-tools",
        TEXT_OR_TEXTS,
        "product",
        "Tools of the host that the skill may not use.",
    ),
    Field::new(
        "effort",
        Shape::Choice(&["low", "medium", "high", "xhigh", "max"]),
        "product",
        "Effort level.",
    ),
    Field::new("background", Shape::Boolean, "product", "Runs in the background."),
    Field::new("paths", TEXT_OR_TEXTS, "product", "File globs that activate the skill."),
    Field::new(
        "shell",
        Shape::Choice(&["bash", "powershell"]),
        "product",
        "Shell for injected commands.",
    ),
];

const LIMITS: &[Limit] = &[
    limit("description + when_to_use in the catalogue", "1,536 characters", "product"),
    limit("catalogue", "1 % of the context window", "product"),
];

/// The fields that only this dialect has.
const OWN: &[&str] = &[
    "argument-hint",
    "disable-model-invocation",
    "user-invocable",
    "mode",
    "context",
    "agent",
    "hooks",
    "when_to_use",
    "arguments",
    "disallowed-tools",
    "effort",
    "background",
    "paths",
    "shell",
];

fn affinity(document: &Document<'_>) -> u32 {
    let root = &document.root;
    let own = OWN.iter().filter(|key| root.has(key)).count();
    let alias = root.get("model").is_some_and(|model| model.scalar().is_some());
    u32::try_from(own).unwrap_or(0) * super::OWN_FIELD + if alias { 10 } else { 0 }
}

fn read(document: &Document<'_>, skill: &mut Skill) {
    let root = &document.root;
    common::fill(&mut skill.name, common::text(root, "name"));
    common::fill(&mut skill.description, common::text(root, "description"));
    let model = root.get("model").filter(|model| model.scalar().is_some());
    common::fill(&mut skill.model_alias, model.and_then(common::spanned));
    common::fill_list(&mut skill.disallowed_tools, common::tool_patterns(root, "disallowed-tools"));
    let invocation = &mut skill.invocation;
    common::fill(&mut invocation.argument_hint, hint(root));
    common::fill(
        &mut invocation.disable_model_invocation,
        common::boolean(root, "disable-model-invocation"),
    );
    common::fill(&mut invocation.user_invocable, common::boolean(root, "user-invocable"));
    common::fill(&mut invocation.mode, common::boolean(root, "mode"));
    common::fill(&mut invocation.context, common::text(root, "context"));
    common::fill(&mut invocation.agent, common::text(root, "agent"));
    common::fill(&mut invocation.when_to_use, common::text(root, "when_to_use"));
    common::fill_list(&mut invocation.arguments, argument_names(root));
    common::fill(&mut invocation.effort, common::text(root, "effort"));
    common::fill(&mut invocation.background, common::boolean(root, "background"));
    common::fill_list(&mut invocation.paths, common::comma_texts(root, "paths"));
    common::fill(&mut invocation.shell, common::text(root, "shell"));
    common::fill_list(&mut skill.hooks, hooks(root));
}

/// `argument-hint: [issue]` without quotes is a YAML list; the author meant the text.
fn hint(root: &Mapping<'_>) -> Option<Spanned<String>> {
    let node = root.get("argument-hint")?;
    match node.sequence() {
        Some(items) => Some(Spanned::new(
            format!("[{}]", items.iter().filter_map(Node::text).collect::<Vec<_>>().join(", ")),
            node.span,
        )),
        None => common::spanned(node),
    }
}

/// `arguments: issue branch`, a list of names, or a list of maps with names.
fn argument_names(root: &Mapping<'_>) -> Vec<Spanned<String>> {
    let Some(node) = root.get("arguments") else { return Vec::new() };
    match node.sequence() {
        Some(items) => items
            .iter()
            .filter_map(|item| match item.mapping() {
                Some(mapping) => common::text(mapping, "name"),
                None => common::spanned(item),
            })
            .collect(),
        None => {
            let words = node.text().unwrap_or_default().split([' ', ',', '\n', '\t']);
            let words = words.filter(|word| !word.is_empty());
            words.map(|word| Spanned::new(word.to_owned(), node.span)).collect()
        }
    }
}

fn hooks(root: &Mapping<'_>) -> Vec<Hook> {
    let Some(events) = root.get("hooks").and_then(Node::mapping) else { return Vec::new() };
    let mut hooks = Vec::new();
    for event in &events.entries {
        for matcher in event.value.sequence().unwrap_or_default().iter().filter_map(Node::mapping) {
            let handlers = matcher.get("hooks").and_then(Node::sequence).unwrap_or_default();
            hooks.push(Hook {
                event: Spanned::new(event.key.to_string(), event.key_span),
                matcher: common::text(matcher, "matcher").map(|text| text.value),
                handlers: handlers.iter().filter_map(Node::mapping).filter_map(handler).collect(),
            });
        }
    }
    hooks
}

fn handler(mapping: &Mapping<'_>) -> Option<HookHandler> {
    Some(HookHandler {
        kind: common::text(mapping, "type")?,
        action: common::text(mapping, "command").or_else(|| common::text(mapping, "prompt")),
        timeout: common::integer(mapping, "timeout").map(|timeout| timeout.value),
        is_async: common::boolean(mapping, "async").is_some_and(|value| value.value),
        model: common::text(mapping, "model").map(|text| text.value),
        extra: common::rest(mapping, &["type", "command", "prompt", "timeout", "async", "model"]),
    })
}

fn write(skill: &Skill) -> Written {
    let mut yaml = Yaml::new();
    agent_skills::write_layer(skill, &mut yaml);
    write_layer(skill, &mut yaml);
    skillli::write_metadata(skill, &mut yaml);
    common::finish(skill, yaml)
}

/// Writes the fields of this layer.
pub(super) fn write_layer(skill: &Skill, yaml: &mut Yaml) {
    let invocation = &skill.invocation;
    let text = |text: &Option<Spanned<String>>| text.as_ref().map(|text| text.value.clone());
    yaml.text("argument-hint", text(&invocation.argument_hint).as_deref());
    yaml.boolean(
        "disable-model-invocation",
        invocation.disable_model_invocation.as_ref().map(|value| value.value),
    );
    yaml.boolean("user-invocable", invocation.user_invocable.as_ref().map(|value| value.value));
    yaml.boolean("mode", invocation.mode.as_ref().map(|value| value.value));
    yaml.text("context", text(&invocation.context).as_deref());
    yaml.text("agent", text(&invocation.agent).as_deref());
    yaml.text("model", text(&skill.model_alias).as_deref());
    yaml.text("when_to_use", text(&invocation.when_to_use).as_deref());
    yaml.texts("arguments", &invocation.arguments);
    let withheld: Vec<&str> = skill.disallowed_tools.iter().map(|tool| tool.as_str()).collect();
    yaml.text("disallowed-tools", (!withheld.is_empty()).then(|| withheld.join(" ")).as_deref());
    yaml.text("effort", text(&invocation.effort).as_deref());
    yaml.boolean("background", invocation.background.as_ref().map(|value| value.value));
    yaml.texts("paths", &invocation.paths);
    yaml.text("shell", text(&invocation.shell).as_deref());
    write_hooks(&skill.hooks, yaml);
}

fn write_hooks(hooks: &[Hook], yaml: &mut Yaml) {
    let mut events: Map<String, Value> = Map::new();
    for hook in hooks {
        let handlers: Vec<Value> = hook.handlers.iter().map(write_handler).collect();
        let mut entry = Map::new();
        if let Some(matcher) = &hook.matcher {
            entry.insert("matcher".to_owned(), Value::String(matcher.clone()));
        }
        entry.insert("hooks".to_owned(), Value::Array(handlers));
        let list =
            events.entry(hook.event.value.clone()).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(list) = list {
            list.push(Value::Object(entry));
        }
    }
    if !events.is_empty() {
        yaml.value("hooks", &Value::Object(events));
    }
}

fn write_handler(handler: &HookHandler) -> Value {
    let mut map = Map::new();
    map.insert("type".to_owned(), Value::String(handler.kind.value.clone()));
    if let Some(action) = &handler.action {
        let key = if *handler.kind == "command" { "command" } else { "prompt" };
        map.insert(key.to_owned(), Value::String(action.value.clone()));
    }
    if let Some(timeout) = handler.timeout {
        map.insert("timeout".to_owned(), Value::from(timeout));
    }
    if handler.is_async {
        map.insert("async".to_owned(), Value::Bool(true));
    }
    if let Some(model) = &handler.model {
        map.insert("model".to_owned(), Value::String(model.clone()));
    }
    map.extend(handler.extra.iter().cloned());
    Value::Object(map)
}
