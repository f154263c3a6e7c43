//! Claude Code's extensions (SKL layer 2, and every further field that the product documents).

use serde_json::{Map, Value};

use super::{DescriptionLimit, Dialect, Limit, NameStyle, agent_skills, common, limit, skillli};
use crate::diagnostic::Severity;
use crate::document::Document;
use crate::document::yaml::{Mapping, Node, YamlEntry};
use crate::emit::{WrittenSkill, YamlWriter};
use crate::formats;
use crate::hook_events::hook_event;
use crate::rules;
use crate::shape::{ANY_MAP, Field, Shape, TEXT, TEXT_OR_TEXTS, TEXTS, UnknownFields};
use crate::skill::{Hook, HookHandler, OptionalText, Skill};
use crate::span::Spanned;
use crate::specification::{CLAUDE_CODE, CLAUDE_CODE_HOOKS, Section};

pub(super) static DIALECT: Dialect = Dialect {
    id: "claude-code",
    title: "Claude Code",
    about: "The open standard with invocation, subagents and hooks.",
    specification: CLAUDE_CODE.whole(),
    bases: &["agent-skills"],
    fields: FIELDS,
    unknown: UnknownFields::Kept,
    name: NameStyle::UnicodeKebab,
    directory: Some((Severity::Error, Severity::Error)),
    description: DescriptionLimit {
        most: 1024,
        severity: (Severity::Error, Severity::Error),
        section: agent_skills::FRONT_MATTER,
        is_cut: false,
    },
    limits: LIMITS,
    affinity,
    read,
    check: super::no_check,
    refine: super::no_refinement,
    write,
};

const FRONT_MATTER: Section = CLAUDE_CODE.at("Frontmatter reference");
const HOOKS: Section = CLAUDE_CODE_HOOKS.whole();

/// What a hook may do: SKL layer 2, "Hooks Block", has three of them, the product documents five.
pub(crate) const HOOK_TYPES: &[&str] = &["command", "http", "mcp_tool", "prompt", "agent"];

/// Booleans as the client reads them: `true`, `yes`, `on`, `1` and their opposites, in any case.
const FLAG: Shape = Shape::Either(&[Shape::Boolean, Shape::Integer { from: 0, to: 1 }]);

/// Names, or maps with a name and a description, as published skills write them.
const ARGUMENTS: Shape = Shape::Either(&[
    TEXT,
    Shape::List { item: &Shape::Either(&[TEXT, ANY_MAP]), least: 0, most: 100 },
]);

const HANDLER: &[Field] = &[
    Field::new("type", Shape::Choice(HOOK_TYPES), HOOKS, "Kind of handler.")
        .required()
        .rule(&rules::INVALID_HOOK),
    Field::new("if", TEXT, HOOKS, "A permission rule that the call of a tool has to match."),
    Field::new("timeout", Shape::Integer { from: 1, to: 86_400 }, HOOKS, "Timeout in seconds."),
    Field::new("statusMessage", TEXT, HOOKS, "Shown while the hook runs."),
    Field::new("once", Shape::Boolean, HOOKS, "Runs once per session."),
    Field::new("command", TEXT, HOOKS, "The command of a `command` hook."),
    Field::new("args", TEXTS, HOOKS, "Arguments of a command that is started without a shell."),
    Field::new("async", Shape::Boolean, HOOKS, "Runs a command in the background."),
    Field::new(
        "asyncRewake",
        Shape::Boolean,
        HOOKS,
        "Runs a command in the background; exit code 2 wakes the agent.",
    ),
    Field::new("shell", Shape::Choice(&["bash", "powershell"]), HOOKS, "The shell of a command."),
    Field::new("url", TEXT, HOOKS, "The URL of an `http` hook."),
    Field::new("headers", Shape::MapOf(&TEXT), HOOKS, "Headers of a request."),
    Field::new("allowedEnvVars", TEXTS, HOOKS, "Variables that headers may contain."),
    Field::new("server", TEXT, HOOKS, "The MCP server of an `mcp_tool` hook."),
    Field::new("tool", TEXT, HOOKS, "The tool of an `mcp_tool` hook."),
    Field::new("input", ANY_MAP, HOOKS, "The arguments of that tool."),
    Field::new("prompt", TEXT, HOOKS, "The prompt of a `prompt` or `agent` hook."),
    Field::new("model", TEXT, HOOKS, "The model of a prompt or an agent."),
    Field::new(
        "continueOnBlock",
        Shape::Boolean,
        HOOKS,
        "The turn goes on after a prompt has said no.",
    ),
];

const MATCHER: &[Field] = &[
    Field::new("matcher", TEXT, HOOKS, "Tools that the hook applies to."),
    Field::new(
        "hooks",
        Shape::List { item: &Shape::Map(HANDLER), least: 1, most: 100 },
        HOOKS,
        "The handlers.",
    )
    .required()
    .rule(&rules::INVALID_HOOK),
];

const FIELDS: &[Field] = &[
    Field::new(
        "name",
        Shape::Format(&formats::UNICODE_NAME),
        agent_skills::FRONT_MATTER,
        "Identifier; defaults to the directory name.",
    )
    .rule(&rules::INVALID_NAME),
    Field::new(
        "description",
        Shape::Text { most: 1024 },
        agent_skills::FRONT_MATTER,
        "What the skill does and when to use it.",
    )
    .expected()
    .rule(&rules::DESCRIPTION_TOO_LONG),
    Field::new("argument-hint", TEXT_OR_TEXTS, FRONT_MATTER, "Shown during completion.")
        .mistakes(&["argument"]),
    Field::new(
        "disable-model-invocation",
        FLAG,
        FRONT_MATTER,
        "Only the user may invoke the skill.",
    )
    .default("false"),
    Field::new("user-invocable", FLAG, FRONT_MATTER, "Listed in the `/` menu.").default("true"),
    Field::new("mode", Shape::Boolean, FRONT_MATTER, "Listed as a mode command.").default("false"),
    // The client ignores any other value and runs the skill in the main conversation.
    Field::new("context", Shape::Choice(&["fork"]), FRONT_MATTER, "`fork` runs it in a subagent.")
        .lenient(),
    Field::new("agent", TEXT, FRONT_MATTER, "The subagent's type.").default("general-purpose"),
    Field::new(
        "model",
        Shape::Either(&[TEXT, ANY_MAP]),
        FRONT_MATTER,
        "A model by alias or full id.",
    ),
    Field::new(
        "hooks",
        Shape::MapOf(&Shape::List { item: &Shape::Map(MATCHER), least: 0, most: 100 }),
        HOOKS,
        "Lifecycle hooks.",
    )
    .rule(&rules::INVALID_HOOK),
    Field::new("when_to_use", TEXT, FRONT_MATTER, "More trigger text beside the description."),
    Field::new("arguments", ARGUMENTS, FRONT_MATTER, "Names of the arguments, for `$name`."),
    Field::new(
        "disallowed-tools",
        TEXT_OR_TEXTS,
        FRONT_MATTER,
        "Tools of the host that the skill may not use.",
    ),
    Field::new(
        "effort",
        Shape::Choice(&["low", "medium", "high", "xhigh", "max"]),
        FRONT_MATTER,
        "Effort level.",
    ),
    Field::new("background", FLAG, FRONT_MATTER, "Runs in the background."),
    Field::new("paths", TEXT_OR_TEXTS, FRONT_MATTER, "File globs that activate the skill."),
    Field::new(
        "shell",
        Shape::Choice(&["bash", "powershell"]),
        FRONT_MATTER,
        "Shell for injected commands.",
    ),
];

const LIMITS: &[Limit] = &[
    limit("description + when_to_use in the catalogue", "1,536 characters", FRONT_MATTER),
    limit("catalogue", "1 % of the context window", FRONT_MATTER),
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
    // Hooks are a gate that somebody relies on: a skill of another dialect that has nothing else of this layer has them too.
    let events = root.get("hooks").and_then(Node::mapping);
    let hooks = events
        .is_some_and(|events| events.entries.iter().any(|entry| hook_event(&entry.key).is_some()));
    u32::try_from(own).unwrap_or(0) * super::OWN_FIELD
        + if alias { 10 } else { 0 }
        + if hooks { super::SECOND_LAYER - super::OWN_FIELD } else { 0 }
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
    common::fill(&mut invocation.disable_model_invocation, flag(root, "disable-model-invocation"));
    common::fill(&mut invocation.user_invocable, flag(root, "user-invocable"));
    common::fill(&mut invocation.mode, common::boolean(root, "mode"));
    common::fill(&mut invocation.context, common::text(root, "context"));
    common::fill(&mut invocation.agent, common::text(root, "agent"));
    common::fill(&mut invocation.when_to_use, common::text(root, "when_to_use"));
    common::fill_list(&mut invocation.arguments, argument_names(root));
    common::fill(&mut invocation.effort, common::text(root, "effort"));
    common::fill(&mut invocation.background, flag(root, "background"));
    common::fill_list(&mut invocation.paths, common::comma_texts(root, "paths"));
    common::fill(&mut invocation.shell, common::text(root, "shell"));
    common::fill_list(&mut skill.hooks, hooks(root));
}

/// A boolean, or one of its digits.
fn flag(root: &Mapping<'_>, key: &str) -> Option<Spanned<bool>> {
    common::boolean(root, key).or_else(|| {
        let digit = common::integer(root, key)?;
        let value = match digit.value {
            0 => false,
            1 => true,
            _ => return None,
        };
        Some(Spanned::new(value, digit.span))
    })
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
    let kind = common::text(mapping, "type")?;
    let flag = |key: &str| common::boolean(mapping, key).is_some_and(|value| value.value);
    let word = |key: &str| common::text(mapping, key).map(|text| text.value);
    let words = |key: &str| {
        let items = mapping.get(key)?.sequence()?;
        Some(items.iter().filter_map(Node::text).map(str::to_owned).collect::<Vec<_>>())
    };
    let action = HookHandler::action_field(&kind);
    let headers = mapping.get("headers").and_then(Node::mapping);
    let header =
        |entry: &YamlEntry<'_>| Some((entry.key.to_string(), entry.value.text()?.to_owned()));
    Some(HookHandler {
        // A type that nobody knows keeps its action, whatever it is called.
        action: common::text(mapping, action).or_else(|| {
            let is_known = HOOK_TYPES.contains(&kind.as_str());
            if is_known { None } else { common::text(mapping, "prompt") }
        }),
        condition: common::text(mapping, "if"),
        timeout: common::integer(mapping, "timeout").map(|timeout| timeout.value),
        status_message: word("statusMessage"),
        once: flag("once"),
        arguments: words("args"),
        shell: word("shell"),
        is_async: flag("async"),
        async_rewake: flag("asyncRewake"),
        headers: headers.iter().flat_map(|map| &map.entries).filter_map(header).collect(),
        allowed_env_vars: words("allowedEnvVars").unwrap_or_default(),
        server: common::text(mapping, "server"),
        input: common::json(mapping, "input"),
        model: word("model"),
        continue_on_block: flag("continueOnBlock"),
        extra: common::rest(mapping, &known(action)),
        kind,
    })
}

/// The keys that [`handler`] has read.
fn known(action: &'static str) -> Vec<&'static str> {
    let actions = ["command", "url", "tool", "prompt"];
    // The action of another type has no effect, and is kept all the same.
    let others = |name: &&str| !actions.contains(name) || *name == action;
    HANDLER.iter().map(|field| field.name).filter(others).collect()
}

fn write(skill: &Skill) -> WrittenSkill {
    let mut yaml = YamlWriter::new();
    agent_skills::write_layer(skill, &mut yaml);
    write_layer(skill, &mut yaml);
    skillli::write_metadata(skill, &mut yaml);
    common::finish(skill, yaml)
}

/// Writes the fields of this layer.
pub(super) fn write_layer(skill: &Skill, yaml: &mut YamlWriter) {
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

fn write_hooks(hooks: &[Hook], yaml: &mut YamlWriter) {
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
    let mut put = |key: &str, value: Value| drop(map.insert(key.to_owned(), value));
    put("type", Value::String(handler.kind.value.clone()));
    let text = |text: &OptionalText| text.as_ref().map(|text| Value::from(text.value.as_str()));
    let flag = |is_set: bool| is_set.then_some(Value::Bool(true));
    let texts = |texts: &[String]| (!texts.is_empty()).then(|| Value::from(texts.to_vec()));
    let headers: Map<String, Value> = handler
        .headers
        .iter()
        .map(|(name, value)| (name.clone(), Value::from(value.as_str())))
        .collect();
    let fields = [
        ("if", text(&handler.condition)),
        ("server", text(&handler.server)),
        (HookHandler::action_field(&handler.kind), text(&handler.action)),
        // An empty list means something else than none: no shell.
        ("args", handler.arguments.clone().map(Value::from)),
        ("input", handler.input.clone()),
        ("headers", (!headers.is_empty()).then_some(Value::Object(headers))),
        ("allowedEnvVars", texts(&handler.allowed_env_vars)),
        ("timeout", handler.timeout.map(Value::from)),
        ("statusMessage", handler.status_message.clone().map(Value::from)),
        ("once", flag(handler.once)),
        ("async", flag(handler.is_async)),
        ("asyncRewake", flag(handler.async_rewake)),
        ("shell", handler.shell.clone().map(Value::from)),
        ("model", handler.model.clone().map(Value::from)),
        ("continueOnBlock", flag(handler.continue_on_block)),
    ];
    for (key, value) in fields {
        if let Some(value) = value {
            put(key, value);
        }
    }
    map.extend(handler.extra.iter().cloned());
    Value::Object(map)
}
