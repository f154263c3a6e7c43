//! Tool packs of gibb.eri.sh: one tool in one JSON file.

use serde_json::{Map, Value, json};

use super::{DescriptionLimit, Dialect, Limit, NameStyle, agent_skills, common, limit};
use crate::command;
use crate::diagnostic::Severity;
use crate::document::yaml::{Mapping, Node};
use crate::document::{Document, Form};
use crate::emit::WrittenSkill;
use crate::formats;
use crate::rules;
use crate::shape::{ANY_MAP, Field, Shape, UnknownFields};
use crate::skill::{Parameter, Skill, SkillKind, Tool, ToolKind};
use crate::span::Spanned;
use crate::specification::{Section, TOOL_PACKS};
use crate::tool_output::OutputShape;

pub(super) static DIALECT: Dialect = Dialect {
    id: "tool-pack",
    title: "gibb.eri.sh tool pack",
    about: "One command-line tool in one JSON file.",
    specification: TOOL_PACKS.whole(),
    bases: &[],
    fields: FIELDS,
    unknown: UnknownFields::Warned,
    name: NameStyle::Free,
    directory: None,
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

const FIELDS_SECTION: Section = TOOL_PACKS.at("Fields");
const PARAMETERS_SECTION: Section = TOOL_PACKS.at("Parameters");
const COMMAND_SECTION: Section = TOOL_PACKS.at("Command");
const POLICY_SECTION: Section = TOOL_PACKS.at("Policy");
const OUTPUT_SECTION: Section = TOOL_PACKS.at("Output");

/// Text only: JSON distinguishes text from numbers, and so does the vendor's reader.
const TEXT: Shape = Shape::String { most: usize::MAX };
const TEXTS: Shape = Shape::List { item: &TEXT, least: 0, most: usize::MAX };

const PARAMETER: &[Field] = &[
    Field::new("type", Shape::Choice(super::gibberish::TYPES), PARAMETERS_SECTION, "JSON type.")
        .required()
        .rule(&rules::INVALID_PARAMETER_TYPE),
    Field::new("required", Shape::Boolean, PARAMETERS_SECTION, "Must be given.").default("false"),
    Field::new("description", TEXT, PARAMETERS_SECTION, "What it is for."),
    Field::new("enum", TEXTS, PARAMETERS_SECTION, "Allowed values."),
    Field::new("default", Shape::Any, PARAMETERS_SECTION, "Default value."),
    Field::new(
        "source",
        Shape::Choice(&[
            "context.url",
            "context.selection",
            "context.clipboard",
            "context.file",
            "transcript",
            "literal",
        ]),
        PARAMETERS_SECTION,
        "Source of the value if none is given.",
    )
    .lenient(),
];

const COMMAND: &[Field] = &[
    Field::new("program", TEXT, COMMAND_SECTION, "The program; never a shell.").required(),
    Field::new("args", TEXTS, COMMAND_SECTION, "One argument each.").default("[]"),
    Field::new("env", ANY_MAP, COMMAND_SECTION, "Variables for the program."),
    Field::new("cwd", TEXT, COMMAND_SECTION, "Working directory."),
];

const POLICY: &[Field] = &[
    Field::new("read_only", Shape::Boolean, POLICY_SECTION, "Changes nothing.").default("true"),
    Field::new("requires_network", Shape::Boolean, POLICY_SECTION, "Needs the network.")
        .default("false"),
    Field::new(
        "timeout_secs",
        Shape::Integer { from: 1, to: 300 },
        POLICY_SECTION,
        "Timeout in seconds.",
    )
    .default("30")
    .rule(&rules::INVALID_TIMEOUT),
    Field::new("confirm_before_run", Shape::Boolean, POLICY_SECTION, "Asks before each run.")
        .default("false"),
    Field::new(
        "allowed_exit_codes",
        Shape::List { item: &Shape::Integer { from: -1, to: 255 }, least: 0, most: 256 },
        POLICY_SECTION,
        "Exit codes that count as success.",
    )
    .default("[0]"),
];

const OUTPUT: &[Field] = &[
    Field::new(
        "format",
        Shape::Choice(&["text", "json", "markdown"]),
        OUTPUT_SECTION,
        "How the output is read.",
    )
    .default("text"),
    Field::new("extract_field", TEXT, OUTPUT_SECTION, "The key of a JSON output to use."),
    Field::new("template", TEXT, OUTPUT_SECTION, "Text around `{{output}}`."),
    Field::new(
        "max_chars",
        Shape::Integer { from: 0, to: i64::MAX },
        OUTPUT_SECTION,
        "Maximum length of the result.",
    )
    .default("1000"),
    Field::new("speak", Shape::Boolean, OUTPUT_SECTION, "Read aloud.").default("true"),
];

const FIELDS: &[Field] = &[
    Field::new("$schema", TEXT, FIELDS_SECTION, "Hint for editors; never fetched."),
    Field::new("name", Shape::Format(&formats::TOOL_PACK_NAME), FIELDS_SECTION, "The tool's name.")
        .required()
        .rule(&rules::INVALID_TOOL_NAME),
    Field::new("description", Shape::String { most: 1024 }, FIELDS_SECTION, "What it does.")
        .required()
        .rule(&rules::DESCRIPTION_TOO_LONG),
    Field::new("version", TEXT, FIELDS_SECTION, "Version."),
    Field::new(
        "modes",
        TEXTS,
        FIELDS_SECTION,
        "Modes in which the tool is offered; none means every mode.",
    )
    .default("[]"),
    Field::new("examples", TEXTS, FIELDS_SECTION, "Sample requests and calls.").default("[]"),
    Field::new(
        "parameters",
        Shape::MapOf(&Shape::Map(PARAMETER)),
        PARAMETERS_SECTION,
        "Parameters by name.",
    )
    .default("{}"),
    Field::new("command", Shape::Map(COMMAND), FIELDS_SECTION, "The command to run.").required(),
    Field::new("policy", Shape::Map(POLICY), POLICY_SECTION, "When and how it may run."),
    Field::new("output", Shape::Map(OUTPUT), OUTPUT_SECTION, "How the output is processed."),
];

const LIMITS: &[Limit] = &[
    limit("timeout_secs", "1 to 300, default 30", POLICY_SECTION),
    limit("max_chars", "default 1,000", OUTPUT_SECTION),
];

fn affinity(document: &Document<'_>) -> u32 {
    if document.form == Form::Json { 1000 } else { 0 }
}

fn read(document: &Document<'_>, skill: &mut Skill) {
    let root = &document.root;
    skill.kind = SkillKind::Tools;
    let Some(tool_name) = common::text(root, "name") else { return };
    // A tool is called with underscores, a skill with hyphens.
    skill.name = Some(Spanned::new(crate::text::slug(&tool_name), tool_name.span));
    skill.version = common::text(root, "version");
    skill.description = common::text(root, "description");
    skill.modes = common::texts(root, "modes")
        .into_iter()
        .map(|mode| Spanned::new(mode_of(&mode), mode.span))
        .collect();
    let policy = root.get("policy").and_then(Node::mapping);
    let flag = |key: &str| policy.and_then(|policy| common::boolean(policy, key));
    // TP-2: the defaults differ from those of SKILL.md, so they are explicit.
    skill.read_only =
        Some(flag("read_only").unwrap_or_else(|| Spanned::new(true, common::NOWHERE)));
    skill.network = flag("requires_network");
    skill.always_ask = flag("confirm_before_run");
    skill.timeout_secs = policy.and_then(|policy| common::integer(policy, "timeout_secs"));
    skill.tools = vec![tool(root, policy, tool_name)];
}

/// Maps a mode name, including the vendor's aliases, to a mode (R26).
fn mode_of(word: &str) -> String {
    match word.to_lowercase().as_str() {
        "global" => "Global",
        "dev" | "coding" => "Dev",
        "writer" | "writing" | "dictation" => "Writer",
        "meeting" | "call" => "Meeting",
        _ => word,
    }
    .to_owned()
}

fn tool(root: &Mapping<'_>, policy: Option<&Mapping<'_>>, name: Spanned<String>) -> Tool {
    let command = root.get("command").and_then(Node::mapping);
    let mut extra = Vec::new();
    let mut keep = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            extra.push((key.to_owned(), value));
        }
    };
    keep("$schema", common::json(root, "$schema"));
    keep("examples", common::json(root, "examples"));
    keep("env", command.and_then(|command| common::json(command, "env")));
    keep("cwd", command.and_then(|command| common::json(command, "cwd")));
    keep(
        "allowed_exit_codes",
        policy.and_then(|policy| common::json(policy, "allowed_exit_codes")),
    );
    let output = common::json(root, "output");
    let output_shape = Some(OutputShape::of(output.as_ref()));
    keep("output", output);
    Tool {
        description: common::text(root, "description").map(|text| text.value).unwrap_or_default(),
        kind: ToolKind::Command,
        parameters: parameters(root),
        parameters_declared: true,
        command: command.and_then(|command| {
            let program = common::text(command, "program")?;
            let words: Vec<String> = std::iter::once(program.value.clone())
                .chain(common::texts(command, "args").into_iter().map(|arg| arg.value))
                .collect();
            Some(Spanned::new(command::join(&words), program.span))
        }),
        handler: None,
        returns: None,
        atomic: None,
        output_shape,
        extra,
        name,
    }
}

fn parameters(root: &Mapping<'_>) -> Vec<Parameter> {
    let Some(mapping) = root.get("parameters").and_then(Node::mapping) else { return Vec::new() };
    mapping
        .entries
        .iter()
        .filter_map(|entry| {
            Some(common::parameter(
                entry.value.mapping()?,
                Spanned::new(entry.key.to_string(), entry.key_span),
                "string",
            ))
        })
        .collect()
}

fn write(skill: &Skill) -> WrittenSkill {
    let mut packs = skill
        .tools
        .iter()
        .filter(|tool| tool.command.is_some())
        .map(|tool| (format!("{}.tool.json", tool.name.value), write_tool(skill, tool)));
    let empty = || {
        (
            format!("{}.tool.json", skill.name_text().unwrap_or("skill")),
            json!({ "name": skill.name_text(), "description": skill.description.as_ref().map(|text| text.value.clone()) }),
        )
    };
    let (file_name, first) = packs.next().unwrap_or_else(empty);
    WrittenSkill {
        text: pretty(&first),
        file_name,
        files: packs.map(|(name, pack)| (name, pretty(&pack))).collect(),
    }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

fn write_tool(skill: &Skill, tool: &Tool) -> Value {
    let mut extra: Map<String, Value> = tool.extra.iter().cloned().collect();
    let mut pack = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            pack.insert(key.to_owned(), value);
        }
    };
    put("$schema", extra.shift_remove("$schema"));
    put("name", Some(Value::String(tool.name.value.clone())));
    let description = if tool.description.is_empty() {
        skill.description.as_ref().map(|text| text.value.clone()).unwrap_or_default()
    } else {
        tool.description.clone()
    };
    put("description", Some(Value::String(description)));
    put("version", skill.version.as_ref().map(|version| Value::String(version.value.clone())));
    put(
        "modes",
        (!skill.modes.is_empty()).then(|| {
            Value::Array(skill.modes.iter().map(|mode| Value::String(mode.value.clone())).collect())
        }),
    );
    put("examples", extra.shift_remove("examples"));
    let parameters = common::write_parameters(&tool.parameters, common::Required::WhenTrue);
    put("parameters", (!parameters.is_empty()).then_some(Value::Object(parameters)));
    put("command", Some(write_command(tool, &mut extra)));
    let mut policy = Map::new();
    policy.insert(
        "read_only".to_owned(),
        Value::Bool(skill.read_only.as_ref().is_some_and(|value| value.value)),
    );
    if let Some(network) = &skill.network {
        policy.insert("requires_network".to_owned(), Value::Bool(network.value));
    }
    if let Some(timeout) = &skill.timeout_secs {
        policy.insert("timeout_secs".to_owned(), Value::from(timeout.value));
    }
    if let Some(always_ask) = &skill.always_ask {
        policy.insert("confirm_before_run".to_owned(), Value::Bool(always_ask.value));
    }
    if let Some(codes) = extra.shift_remove("allowed_exit_codes") {
        policy.insert("allowed_exit_codes".to_owned(), codes);
    }
    put("policy", Some(Value::Object(policy)));
    put("output", extra.shift_remove("output"));
    pack.extend(extra);
    pack.extend(skill.extra.iter().cloned());
    Value::Object(pack)
}

fn write_command(tool: &Tool, extra: &mut Map<String, Value>) -> Value {
    let template = tool.command.as_ref().map_or("", |command| command.as_str());
    let words: Vec<String> = command::parse(template)
        .map(|template| {
            template.arguments.iter().map(command::TemplateArgument::to_template).collect()
        })
        .unwrap_or_default();
    let mut map = Map::new();
    map.insert("program".to_owned(), Value::String(words.first().cloned().unwrap_or_default()));
    map.insert(
        "args".to_owned(),
        Value::Array(words.iter().skip(1).map(|word| Value::String(word.clone())).collect()),
    );
    for key in ["env", "cwd"] {
        if let Some(value) = extra.shift_remove(key) {
            map.insert(key.to_owned(), value);
        }
    }
    Value::Object(map)
}
