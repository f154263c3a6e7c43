//! The model that every dialect is read into and written from.
//!
//! `None` and empty lists mean "not declared"; methods such as [`Skill::timeout_secs_or_default`]
//! return the defaults.

use serde_json::Value;

use crate::dialect::Dialect;
use crate::permission::Permission;
use crate::span::{Span, Spanned};
use crate::tool_output::OutputShape;

/// A declared text.
pub type OptionalText = Option<Spanned<String>>;

/// The kind of a skill, by its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillKind {
    /// Free text without front matter (SRT §3.1).
    Prose,
    /// Instructions for the host agent.
    Instructions,
    /// A prompt template with inputs.
    Prompt,
    /// Runnable tools.
    Tools,
}

impl SkillKind {
    /// The value in JSON output.
    pub fn as_str(self) -> &'static str {
        match self {
            SkillKind::Prose => "prose",
            SkillKind::Instructions => "instructions",
            SkillKind::Prompt => "prompt",
            SkillKind::Tools => "tools",
        }
    }
}

/// A skill, whatever dialect it was written in.
#[derive(Clone, Debug, PartialEq)]
pub struct Skill {
    /// The dialect that explains most of the file.
    pub dialect: &'static Dialect,
    /// Every dialect whose fields the file has, the main one first.
    pub layers: Vec<&'static Dialect>,
    /// The kind of skill.
    pub kind: SkillKind,
    /// The declared name.
    pub name: OptionalText,
    /// The declared version, as written.
    pub version: OptionalText,
    /// The declared description.
    pub description: OptionalText,
    /// Authors; `author` is a list of one (R42).
    pub authors: Vec<Spanned<String>>,
    /// The licence as written.
    pub license: OptionalText,
    /// Environment requirements, as text.
    pub compatibility: Vec<Spanned<String>>,
    /// Home page.
    pub homepage: OptionalText,
    /// Source repository.
    pub repository: OptionalText,
    /// Registry the author publishes to.
    pub registry: OptionalText,
    /// Tags.
    pub tags: Vec<Spanned<String>>,
    /// The registry's category.
    pub category: OptionalText,
    /// The badge the file claims; a claim grants nothing (R19).
    pub trust_level: OptionalText,
    /// The tier the file claims; a claim grants nothing (R19).
    pub security_tier: OptionalText,
    /// The digest the file claims.
    pub checksum: OptionalText,
    /// Minimum version of the registry client.
    pub min_client_version: OptionalText,
    /// Inputs of a prompt or a procedure.
    pub inputs: Vec<Parameter>,
    /// The output of a procedure.
    pub outputs: Option<Outputs>,
    /// Tools.
    pub tools: Vec<Tool>,
    /// Declared permissions.
    pub permissions: Vec<Spanned<Permission>>,
    /// What it needs to run.
    pub requirements: Requirements,
    /// Sampling settings (`model` as a map, R14).
    pub sampling: Option<Sampling>,
    /// A model by name (`model` as text, R14).
    pub model_alias: OptionalText,
    /// Knowledge base for retrieval.
    pub knowledge_base: OptionalText,
    /// The owner on a studio server.
    pub owner: OptionalText,
    /// The runtime family and its minimum version.
    pub runtime: Option<Runtime>,
    /// How a host agent may invoke it.
    pub invocation: Invocation,
    /// Lifecycle hooks.
    pub hooks: Vec<Hook>,
    /// Quiz gates.
    pub quiz: Vec<Quiz>,
    /// Modes in which the tools are offered.
    pub modes: Vec<Spanned<String>>,
    /// May run without approval.
    pub read_only: Option<Spanned<bool>>,
    /// Asks even when read-only.
    pub always_ask: Option<Spanned<bool>>,
    /// Timeout of a tool, in seconds.
    pub timeout_secs: Option<Spanned<i64>>,
    /// Whether a command skill needs the network (R53).
    pub network: Option<Spanned<bool>>,
    /// Tools of the host that the author pre-approves (R16).
    pub allowed_tools: Vec<Spanned<String>>,
    /// Tools of the host that the skill may not use.
    pub disallowed_tools: Vec<Spanned<String>>,
    /// OpenClaw's own block.
    pub openclaw: Option<OpenClaw>,
    /// The `metadata` map without the entries that a layer has read.
    pub metadata: Vec<(String, Value)>,
    /// Top-level fields that no layer knows.
    pub extra: Vec<(String, Value)>,
    /// The body.
    pub body: String,
}

/// A parameter of a tool, or an input of a prompt.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Parameter {
    /// The name.
    pub name: Spanned<String>,
    /// The type, as declared (R13).
    pub kind: Spanned<String>,
    /// Whether a value must be given.
    pub required: bool,
    /// What it is for.
    pub description: Option<String>,
    /// The default value.
    pub default: Option<Value>,
    /// Label in a form.
    pub label: Option<String>,
    /// Where a tool pack gets the value from.
    pub source: Option<String>,
    /// Other keys of the declaration.
    pub extra: Vec<(String, Value)>,
}

/// The output of a procedure (SRT §4.5).
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Outputs {
    /// `text`, `json` or `file`.
    pub kind: OptionalText,
    /// A JSON Schema of the output.
    pub schema: Option<Value>,
}

/// How a tool runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolKind {
    /// A program with arguments.
    Command,
    /// A decorated function in `tools.py`.
    Python,
    /// A handler of the older OpenClaw shape.
    Handler,
    /// A script among the skill's files. No dialect declares these: whoever runs one makes the tool.
    Script,
    /// A command line of the user's, run as the skill would. Made by whoever runs it, like a script.
    CommandLine,
    /// A tool of an MCP server (SRT §4.3); [`Tool::mcp_target`] names both.
    McpTool,
}

impl ToolKind {
    /// The value in JSON output.
    pub fn as_str(self) -> &'static str {
        match self {
            ToolKind::Command => "command",
            ToolKind::Python => "python",
            ToolKind::Handler => "handler",
            ToolKind::Script => "script",
            ToolKind::CommandLine => "command_line",
            ToolKind::McpTool => "mcp_tool",
        }
    }
}

/// One tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// The name.
    pub name: Spanned<String>,
    /// What it does.
    pub description: String,
    /// How it runs.
    pub kind: ToolKind,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// Whether the parameters were declared at all.
    pub parameters_declared: bool,
    /// The command template.
    pub command: Option<Spanned<String>>,
    /// The path of a handler or a script, or the program of a command line.
    pub handler: OptionalText,
    /// The declared return value.
    pub returns: Option<Value>,
    /// GAIA's `atomic` flag.
    pub atomic: Option<bool>,
    /// How its output becomes its result; `None` where the output is the result.
    pub output_shape: Option<OutputShape>,
    /// Policy and output fields of a tool pack.
    pub extra: Vec<(String, Value)>,
}

/// What a skill needs to run (R17).
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Requirements {
    /// Minimum model size, such as `>=7B`.
    pub model: OptionalText,
    /// Minimum context window, such as `>=8K`.
    pub context: OptionalText,
    /// Python version range.
    pub python: OptionalText,
    /// Python packages.
    pub python_packages: Vec<Spanned<String>>,
    /// Node packages.
    pub node_packages: Vec<Spanned<String>>,
    /// Environment variables.
    pub env_vars: Vec<Spanned<String>>,
    /// Hardware hints.
    pub hardware: Option<Value>,
    /// Programs that must be on PATH.
    pub programs: Vec<Spanned<String>>,
    /// Programs of which one must be on PATH.
    pub any_programs: Vec<Spanned<String>>,
    /// Settings that must be set.
    pub config: Vec<Spanned<String>>,
    /// Operating systems it runs on.
    pub os: Vec<Spanned<String>>,
    /// MCP servers.
    pub mcp_servers: Vec<Spanned<String>>,
    /// Other skills.
    pub skills: Vec<SkillDependency>,
}

/// A required skill.
#[derive(Clone, Debug, PartialEq)]
pub struct SkillDependency {
    /// Its name.
    pub name: Spanned<String>,
    /// The version range, as written; empty means any version.
    pub range: String,
    /// Whether the skill fails without it.
    pub required: bool,
}

/// Sampling settings (AFL §3.2).
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Sampling {
    /// 0.0 to 2.0.
    pub temperature: Option<f64>,
    /// 1 to 8192.
    pub max_tokens: Option<i64>,
    /// Other keys.
    pub extra: Vec<(String, Value)>,
}

/// The runtime a procedure is written for (SRT §4.3).
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Runtime {
    /// The family.
    pub kind: OptionalText,
    /// The minimum version.
    pub min_version: OptionalText,
    /// The MCP server whose tool is called, if the family is `mcp-tool` (D10).
    pub server: OptionalText,
    /// The tool of that server; the name of the skill if absent (D10).
    pub tool: OptionalText,
}

/// How a host agent may invoke a skill (SKL layer 2).
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Invocation {
    /// Only the user may invoke it.
    pub disable_model_invocation: Option<Spanned<bool>>,
    /// Listed in the `/` menu.
    pub user_invocable: Option<Spanned<bool>>,
    /// Listed as a mode command.
    pub mode: Option<Spanned<bool>>,
    /// Shown after the name during completion.
    pub argument_hint: OptionalText,
    /// `fork` runs it in a subagent.
    pub context: OptionalText,
    /// The subagent's type.
    pub agent: OptionalText,
    /// More trigger text beside the description.
    pub when_to_use: OptionalText,
    /// Declared argument names.
    pub arguments: Vec<Spanned<String>>,
    /// Effort level.
    pub effort: OptionalText,
    /// Runs in the background.
    pub background: Option<Spanned<bool>>,
    /// File globs that activate the skill.
    pub paths: Vec<Spanned<String>>,
    /// The shell for injected commands.
    pub shell: OptionalText,
    /// OpenClaw: `tool` sends `/name` straight to a tool.
    pub command_dispatch: OptionalText,
    /// OpenClaw: the tool for `command_dispatch`.
    pub command_tool: OptionalText,
    /// OpenClaw: how arguments are passed.
    pub command_arg_mode: OptionalText,
}

/// The handlers of one matcher of one event.
#[derive(Clone, Debug, PartialEq)]
pub struct Hook {
    /// The event.
    pub event: Spanned<String>,
    /// Tools that the hook applies to.
    pub matcher: Option<String>,
    /// The handlers.
    pub handlers: Vec<HookHandler>,
}

/// One action of a hook.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a field of its own in the front matter")]
pub struct HookHandler {
    /// `command`, `http`, `mcp_tool`, `prompt` or `agent`.
    pub kind: Spanned<String>,
    /// What it does: the command, the URL, the tool of a server, or the prompt.
    pub action: OptionalText,
    /// A permission rule such as `Bash(git *)` that narrows when it runs (`if`).
    pub condition: OptionalText,
    /// Timeout in seconds.
    pub timeout: Option<i64>,
    /// What is shown while it runs.
    pub status_message: Option<String>,
    /// Whether it runs once per session.
    pub once: bool,
    /// The arguments of a command that is started without a shell.
    pub arguments: Option<Vec<String>>,
    /// The shell of a command: `bash` or `powershell`.
    pub shell: Option<String>,
    /// Whether it runs in the background.
    pub is_async: bool,
    /// Whether a background command that exits with 2 wakes the agent.
    pub async_rewake: bool,
    /// Headers of a request.
    pub headers: Vec<(String, String)>,
    /// Variables that headers may contain.
    pub allowed_env_vars: Vec<String>,
    /// The MCP server whose tool is called.
    pub server: OptionalText,
    /// The arguments of that tool.
    pub input: Option<Value>,
    /// The model of a prompt or an agent.
    pub model: Option<String>,
    /// Whether a turn goes on after the model has said no.
    pub continue_on_block: bool,
    /// Other keys.
    pub extra: Vec<(String, Value)>,
}

impl HookHandler {
    /// The field that holds what a handler of a type does.
    pub fn action_field(kind: &str) -> &'static str {
        match kind {
            "http" => "url",
            "mcp_tool" => "tool",
            "prompt" | "agent" => "prompt",
            _ => "command",
        }
    }
}

/// One quiz block (SKL layer 4).
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Quiz {
    /// Heading.
    pub title: Option<String>,
    /// Purpose.
    pub description: Option<String>,
    /// Must be passed before the body is shown.
    pub gate: bool,
    /// Percentage needed to pass.
    pub passing_score: f64,
    /// Questions.
    pub questions: Vec<QuizQuestion>,
    /// Span of the block.
    pub span: Span,
}

/// One question.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct QuizQuestion {
    /// The question.
    pub question: Spanned<String>,
    /// The choices.
    pub options: Vec<QuizOption>,
    /// Shown after answering.
    pub explanation: Option<String>,
    /// After a right answer.
    pub on_correct: QuizBranch,
    /// After a wrong answer.
    pub on_incorrect: QuizBranch,
}

/// One choice of a question.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct QuizOption {
    /// Text of the choice.
    pub label: String,
    /// Whether the choice is correct.
    pub correct: bool,
}

/// What happens after an answer.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct QuizBranch {
    /// A section of the body.
    pub goto: OptionalText,
    /// Another skill.
    pub load_skill: OptionalText,
    /// A file of the skill.
    pub load_reference: OptionalText,
    /// A message.
    pub message: OptionalText,
}

/// OpenClaw's vendor block, without the fields that the model has elsewhere.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct OpenClaw {
    /// The namespace it was found under; empty for fields without one.
    pub namespace: String,
    /// Shown beside the name.
    pub emoji: Option<String>,
    /// Skips every gate except the operating system.
    pub always: Option<bool>,
    /// Key of the skill's settings.
    pub skill_key: Option<String>,
    /// The main secret.
    pub primary_env: Option<String>,
    /// Environment variables with their descriptions.
    pub env_vars: Vec<Value>,
    /// Install steps for what it needs; never run automatically.
    pub install: Vec<InstallStep>,
    /// Other keys.
    pub extra: Vec<(String, Value)>,
}

/// One install step.
#[derive(Clone, Debug, PartialEq)]
pub struct InstallStep {
    /// `brew`, `node`, `go`, `uv`, `download` or a less common kind.
    pub kind: Spanned<String>,
    /// The whole entry.
    pub entry: Value,
}

/// The key of [`Tool::extra`] with the MCP server of an [`ToolKind::McpTool`].
pub(crate) const MCP_SERVER: &str = "mcp_server";
/// The key of [`Tool::extra`] with the server's own name of the tool.
pub(crate) const MCP_TOOL: &str = "mcp_tool";

impl Tool {
    /// The server and the name of its tool, for a tool of an MCP server.
    pub fn mcp_target(&self) -> Option<(&str, &str)> {
        let text = |key: &str| {
            let found = self.extra.iter().find(|(known, _)| known == key);
            found.and_then(|(_, value)| value.as_str())
        };
        (self.kind == ToolKind::McpTool).then(|| Some((text(MCP_SERVER)?, text(MCP_TOOL)?)))?
    }

    /// The JSON Schema of a call's arguments (GIB §3.3); array items are strings.
    pub fn arguments_schema(&self) -> Value {
        let mut properties = serde_json::Map::new();
        for parameter in &self.parameters {
            let mut schema = serde_json::Map::new();
            let kind = match parameter.kind.as_str() {
                known @ ("string" | "integer" | "number" | "boolean" | "array" | "object") => known,
                _ => "string",
            };
            schema.insert("type".to_owned(), Value::String(kind.to_owned()));
            if kind == "array" {
                schema.insert("items".to_owned(), serde_json::json!({ "type": "string" }));
            }
            if let Some(description) = &parameter.description {
                schema.insert("description".to_owned(), Value::String(description.clone()));
            }
            if let Some(default) = &parameter.default {
                schema.insert("default".to_owned(), default.clone());
            }
            if let Some((_, choices)) = parameter.extra.iter().find(|(key, _)| key == "enum") {
                schema.insert("enum".to_owned(), choices.clone());
            }
            properties.insert(parameter.name.value.clone(), Value::Object(schema));
        }
        let required = self.parameters.iter().filter(|parameter| parameter.required);
        let required: Vec<&str> = required.map(|parameter| parameter.name.as_str()).collect();
        serde_json::json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }
}

impl Skill {
    /// An empty skill of a dialect.
    pub fn empty(dialect: &'static Dialect) -> Self {
        Self {
            dialect,
            layers: vec![dialect],
            kind: SkillKind::Instructions,
            name: None,
            version: None,
            description: None,
            authors: Vec::new(),
            license: None,
            compatibility: Vec::new(),
            homepage: None,
            repository: None,
            registry: None,
            tags: Vec::new(),
            category: None,
            trust_level: None,
            security_tier: None,
            checksum: None,
            min_client_version: None,
            inputs: Vec::new(),
            outputs: None,
            tools: Vec::new(),
            permissions: Vec::new(),
            requirements: Requirements::default(),
            sampling: None,
            model_alias: None,
            knowledge_base: None,
            owner: None,
            runtime: None,
            invocation: Invocation::default(),
            hooks: Vec::new(),
            quiz: Vec::new(),
            modes: Vec::new(),
            read_only: None,
            always_ask: None,
            timeout_secs: None,
            network: None,
            allowed_tools: Vec::new(),
            disallowed_tools: Vec::new(),
            openclaw: None,
            metadata: Vec::new(),
            extra: Vec::new(),
            body: String::new(),
        }
    }

    /// The version under which the skill is packed, signed and published: the declared one or, in a dialect without a field for
    /// it, an unknown `version` at the top level or that of the open standard's `metadata`.
    pub fn published_version(&self) -> Option<&str> {
        let unread = || {
            let known = self.extra.iter().chain(&self.metadata);
            known.filter(|(key, _)| key == "version").find_map(|(_, value)| value.as_str())
        };
        self.version.as_ref().map(|version| version.as_str()).or_else(unread)
    }

    /// The declared name as text.
    pub fn name_text(&self) -> Option<&str> {
        self.name.as_ref().map(|name| name.as_str())
    }

    /// The declared name, or the directory's (R3).
    pub fn name_or<'s>(&'s self, directory: &'s str) -> &'s str {
        self.name_text().unwrap_or(directory)
    }

    /// The declared description, or the name (AFL §3.1).
    pub fn description_or<'s>(&'s self, name: &'s str) -> &'s str {
        self.description.as_ref().map_or(name, |description| description.as_str())
    }

    /// The description of a tool for a model: its own, else the skill's. gibb.eri.sh cuts it at 256 characters (GIB §9.2,
    /// R1).
    pub fn tool_description<'s>(&'s self, tool: &'s Tool) -> &'s str {
        let description = match tool.description.as_str() {
            "" => self.description.as_ref().map_or("", |text| text.as_str()),
            own => own,
        };
        self.within_limit(description)
    }

    /// The description of the skill for a model, without surrounding white space; the name if there is none. It is cut like
    /// that of a tool.
    pub fn model_description<'s>(&'s self, name: &'s str) -> &'s str {
        self.within_limit(self.description_or(name).trim())
    }

    /// Cuts a description where the dialect's specification says that hosts cut it.
    fn within_limit<'s>(&self, description: &'s str) -> &'s str {
        let limit = self.dialect.description;
        let end = description.char_indices().nth(limit.most).filter(|_| limit.is_cut);
        end.map_or(description, |(end, _)| &description[..end])
    }

    /// The declared version; `0.0.0` by default (R5).
    pub fn version_or_default(&self) -> &str {
        self.version.as_ref().map_or("0.0.0", |version| version.as_str())
    }

    /// The declared timeout; 30 s by default (GIB §2.2).
    pub fn timeout_secs_or_default(&self) -> i64 {
        self.timeout_secs.as_ref().map_or(30, |timeout| timeout.value)
    }

    /// The declared modes; `Global` by default (GIB §2.2, R46).
    pub fn modes_or_default(&self) -> Vec<&str> {
        if self.modes.is_empty() {
            vec!["Global"]
        } else {
            self.modes.iter().map(|mode| mode.as_str()).collect()
        }
    }

    /// The declared temperature; 0.7 by default (AFL §3.2).
    pub fn temperature_or_default(&self) -> f64 {
        self.sampling.as_ref().and_then(|sampling| sampling.temperature).unwrap_or(0.7)
    }

    /// The declared token limit; 2000 by default (AFL §3.2).
    pub fn max_tokens_or_default(&self) -> i64 {
        self.sampling.as_ref().and_then(|sampling| sampling.max_tokens).unwrap_or(2000)
    }

    /// The declared runtime family; `markdown-skill` by default (SRT §4.3).
    pub fn runtime_or_default(&self) -> &str {
        self.runtime
            .as_ref()
            .and_then(|runtime| runtime.kind.as_ref())
            .map_or("markdown-skill", |kind| kind.as_str())
    }

    /// Whether only the user may invoke the skill (`disable-model-invocation`).
    pub fn is_hidden_from_model(&self) -> bool {
        self.invocation.disable_model_invocation.as_ref().is_some_and(|flag| flag.value)
    }

    /// Whether the skill is in the user's menu of commands (`user-invocable`; true by default).
    pub fn is_user_invocable(&self) -> bool {
        self.invocation.user_invocable.as_ref().is_none_or(|flag| flag.value)
    }

    /// Whether the skill is listed among the mode commands (`mode`; false by default).
    pub fn is_mode_command(&self) -> bool {
        self.invocation.mode.as_ref().is_some_and(|flag| flag.value)
    }

    /// Whether a quiz withholds the body and the files until it is passed (SKL layer 4).
    pub fn is_gated(&self) -> bool {
        self.quiz.iter().any(|quiz| quiz.gate)
    }

    /// Whether the skill has a layer with this id.
    pub fn has_layer(&self, id: &str) -> bool {
        self.layers.iter().any(|layer| layer.id == id)
    }

    /// Looks up a tool by name.
    pub fn tool(&self, name: &str) -> Option<&Tool> {
        self.tools.iter().find(|tool| *tool.name == name)
    }
}
