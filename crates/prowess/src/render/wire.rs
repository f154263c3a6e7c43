//! A skill as JSON. The keys are stable, while the model may change.

use prowess_engine::Script;
use prowess_format::manifest::AgentManifest;
use prowess_format::skill::{
    Hook, HookHandler, Invocation, OpenClaw, OptionalText, Parameter, Quiz, QuizBranch,
    QuizQuestion, Requirements, Sampling, Skill, SkillDependency, Tool, ToolKind,
};
use prowess_format::span::{LineIndex, Spanned};
use serde_json::{Map, Value, json};

use crate::skill::check_report::MANIFEST;

/// The source of a skill, for the keys that the model does not contain.
pub(crate) struct Origin<'o> {
    /// The path as shown.
    pub(crate) path: &'o str,
    /// The main file's name.
    pub(crate) file_name: &'o str,
    /// The whole text.
    pub(crate) text: &'o str,
    /// The name of the directory, for skills that declare no name (R3).
    pub(crate) directory_name: Option<&'o str>,
    /// Files under `scripts/`, `references/` and `assets/`.
    pub(crate) resources: &'o [String],
    pub(crate) scripts: &'o [Script],
}

/// A skill as JSON: what is absent is null or an empty list, never a missing key.
pub(crate) fn skill(skill: &Skill, origin: &Origin<'_>) -> Value {
    let lines = LineIndex::new(origin.text);
    let tools: Vec<Value> =
        skill.tools.iter().map(|tool| self::tool(tool, origin, &lines)).collect();
    let entries: Vec<(&str, Value)> = vec![
        ("path", json!(origin.path)),
        ("name", json!(skill.name_text().or(origin.directory_name))),
        ("version", json!(text(&skill.version))),
        ("description", json!(text(&skill.description))),
        ("dialect", json!(skill.dialect.id)),
        ("layers", json!(skill.layers.iter().map(|layer| layer.id).collect::<Vec<_>>())),
        ("kind", json!(skill.kind.as_str())),
        ("authors", json!(texts(&skill.authors))),
        ("license", json!(text(&skill.license))),
        ("compatibility", json!(texts(&skill.compatibility))),
        ("homepage", json!(text(&skill.homepage))),
        ("repository", json!(text(&skill.repository))),
        ("registry", json!(text(&skill.registry))),
        ("tags", json!(texts(&skill.tags))),
        ("category", json!(text(&skill.category))),
        ("trust_level", json!(text(&skill.trust_level))),
        ("security_tier", json!(text(&skill.security_tier))),
        ("checksum", json!(text(&skill.checksum))),
        ("min_client_version", json!(text(&skill.min_client_version))),
        ("inputs", json!(skill.inputs.iter().map(parameter).collect::<Vec<_>>())),
        (
            "outputs",
            json!(skill.outputs.as_ref().map(|outputs| json!({
                "type": text(&outputs.kind),
                "schema": outputs.schema,
            }))),
        ),
        ("tools", json!(tools)),
        (
            "permissions",
            json!(
                skill.permissions.iter().map(|grant| grant.value.to_string()).collect::<Vec<_>>()
            ),
        ),
        ("requirements", json!(requirements(&skill.requirements))),
        ("model", json!(model(skill))),
        ("knowledge_base", json!(text(&skill.knowledge_base))),
        ("owner", json!(text(&skill.owner))),
        (
            "runtime",
            json!(skill.runtime.as_ref().map(|runtime| json!({
                "type": text(&runtime.kind),
                "min_version": text(&runtime.min_version),
            }))),
        ),
        ("invocation", json!(invocation(&skill.invocation))),
        ("hooks", json!(hooks(&skill.hooks))),
        ("quiz", json!(skill.quiz.iter().map(quiz).collect::<Vec<_>>())),
        ("modes", json!(texts(&skill.modes))),
        ("read_only", json!(flag(skill.read_only.as_ref()))),
        ("always_ask", json!(flag(skill.always_ask.as_ref()))),
        ("timeout_secs", json!(skill.timeout_secs.as_ref().map(|timeout| timeout.value))),
        ("network", json!(flag(skill.network.as_ref()))),
        ("allowed_tools", json!(texts(&skill.allowed_tools))),
        ("disallowed_tools", json!(texts(&skill.disallowed_tools))),
        ("openclaw", json!(skill.openclaw.as_ref().map(openclaw))),
        ("metadata", json!(object(&skill.metadata))),
        ("extra", json!(object(&skill.extra))),
        ("resources", json!(origin.resources)),
        ("scripts", origin.scripts.iter().map(script).collect()),
        ("body", json!(skill.body)),
    ];
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>().into()
}

fn text(text: &OptionalText) -> Option<&str> {
    text.as_ref().map(|text| text.as_str())
}

fn texts(texts: &[Spanned<String>]) -> Vec<&str> {
    texts.iter().map(|text| text.as_str()).collect()
}

fn flag(flag: Option<&Spanned<bool>>) -> Option<bool> {
    flag.map(|flag| flag.value)
}

fn object(entries: &[(String, Value)]) -> Value {
    Value::Object(entries.iter().cloned().collect::<Map<_, _>>())
}

/// The field `model`: an alias or sampling settings, of which a file can declare only one (R14).
fn model(skill: &Skill) -> Value {
    match (&skill.model_alias, &skill.sampling) {
        (Some(alias), _) => json!(alias.value),
        (None, Some(sampling)) => self::sampling(sampling),
        (None, None) => Value::Null,
    }
}

fn sampling(sampling: &Sampling) -> Value {
    json!({
        "temperature": sampling.temperature,
        "max_tokens": sampling.max_tokens,
        "extra": object(&sampling.extra),
    })
}

fn parameter(parameter: &Parameter) -> Value {
    json!({
        "name": parameter.name.value,
        "type": parameter.kind.value,
        "required": parameter.required,
        "description": parameter.description,
        "default": parameter.default,
        "label": parameter.label,
        "source": parameter.source,
        "extra": object(&parameter.extra),
    })
}

fn script(script: &Script) -> Value {
    json!({
        "path": script.path,
        "kind": script.kind.as_str(),
        "interpreter": script.interpreter(),
    })
}

fn tool(tool: &Tool, origin: &Origin<'_>, lines: &LineIndex) -> Value {
    let source = match (&tool.handler, tool.kind) {
        (Some(handler), _) => handler.as_str(),
        (None, ToolKind::Python) => "tools.py",
        (
            None,
            ToolKind::Command
            | ToolKind::Handler
            | ToolKind::Script
            | ToolKind::CommandLine
            | ToolKind::McpTool,
        ) => origin.file_name,
    };
    json!({
        "name": tool.name.value,
        "description": tool.description,
        "kind": tool.kind.as_str(),
        "parameters": tool.parameters.iter().map(parameter).collect::<Vec<_>>(),
        "command": tool.command.as_ref().map(|command| command.as_str()),
        "source": source,
        "line": lines.position(origin.text, tool.name.span.range().start).line,
        "returns": tool.returns,
        "atomic": tool.atomic,
        "extra": object(&tool.extra),
    })
}

fn requirements(requirements: &Requirements) -> Value {
    json!({
        "model": text(&requirements.model),
        "context": text(&requirements.context),
        "python": text(&requirements.python),
        "python_packages": texts(&requirements.python_packages),
        "node_packages": texts(&requirements.node_packages),
        "env_vars": texts(&requirements.env_vars),
        "hardware": requirements.hardware,
        "programs": texts(&requirements.programs),
        "any_programs": texts(&requirements.any_programs),
        "config": texts(&requirements.config),
        "os": texts(&requirements.os),
        "mcp_servers": texts(&requirements.mcp_servers),
        "skills": dependencies(&requirements.skills),
    })
}

fn dependencies(skills: &[SkillDependency]) -> Vec<Value> {
    let dependency = |skill: &SkillDependency| json!({ "name": skill.name.value, "range": skill.range, "required": skill.required });
    skills.iter().map(dependency).collect()
}

/// An agent manifest as JSON (GAIA §9).
pub(crate) fn manifest(manifest: &AgentManifest, origin: &Origin<'_>) -> Value {
    let lines = LineIndex::new(origin.text);
    let tools: Vec<Value> = manifest.tools.iter().map(|one| tool(one, origin, &lines)).collect();
    let sets: Map<String, Value> = manifest
        .skill_sets
        .iter()
        .map(|set| (set.name.value.clone(), json!(dependencies(&set.skills))))
        .collect();
    json!({
        "path": origin.path,
        "name": text(&manifest.name),
        "version": text(&manifest.version),
        "description": text(&manifest.description),
        "dialect": MANIFEST,
        "kind": "agent",
        "skills": dependencies(&manifest.skills),
        "model": {
            "default": text(&manifest.model.default),
            "minimum": text(&manifest.model.minimum),
            "context": text(&manifest.model.context),
        },
        "tools": tools,
        "skill_sets": sets,
        "default_set": text(&manifest.default_set),
        "extra": object(&manifest.extra),
    })
}

fn invocation(invocation: &Invocation) -> Value {
    json!({
        "disable_model_invocation": flag(invocation.disable_model_invocation.as_ref()),
        "user_invocable": flag(invocation.user_invocable.as_ref()),
        "mode": flag(invocation.mode.as_ref()),
        "argument_hint": text(&invocation.argument_hint),
        "context": text(&invocation.context),
        "agent": text(&invocation.agent),
        "when_to_use": text(&invocation.when_to_use),
        "arguments": texts(&invocation.arguments),
        "effort": text(&invocation.effort),
        "background": flag(invocation.background.as_ref()),
        "paths": texts(&invocation.paths),
        "shell": text(&invocation.shell),
        "command_dispatch": text(&invocation.command_dispatch),
        "command_tool": text(&invocation.command_tool),
        "command_arg_mode": text(&invocation.command_arg_mode),
    })
}

/// Hooks by event, in the shape of the front matter; null if there are none.
fn hooks(hooks: &[Hook]) -> Value {
    if hooks.is_empty() {
        return Value::Null;
    }
    let mut events: Map<String, Value> = Map::new();
    for hook in hooks {
        let entry = json!({
            "matcher": hook.matcher,
            "hooks": hook.handlers.iter().map(handler).collect::<Vec<_>>(),
        });
        let event = events.entry(hook.event.value.clone()).or_insert_with(|| json!([]));
        if let Value::Array(entries) = event {
            entries.push(entry);
        }
    }
    Value::Object(events)
}

fn handler(handler: &HookHandler) -> Value {
    json!({
        "type": handler.kind.value,
        "action": text(&handler.action),
        "if": text(&handler.condition),
        "timeout": handler.timeout,
        "status_message": handler.status_message,
        "once": handler.once,
        "args": handler.arguments,
        "shell": handler.shell,
        "async": handler.is_async,
        "async_rewake": handler.async_rewake,
        "headers": headers(&handler.headers),
        "allowed_env_vars": handler.allowed_env_vars,
        "server": text(&handler.server),
        "input": handler.input,
        "model": handler.model,
        "continue_on_block": handler.continue_on_block,
        "extra": object(&handler.extra),
    })
}

fn headers(headers: &[(String, String)]) -> Value {
    let pairs = headers.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str())));
    Value::Object(pairs.collect())
}

fn quiz(quiz: &Quiz) -> Value {
    json!({
        "title": quiz.title,
        "description": quiz.description,
        "gate": quiz.gate,
        "passing_score": quiz.passing_score,
        "questions": quiz.questions.iter().map(question).collect::<Vec<_>>(),
    })
}

fn question(question: &QuizQuestion) -> Value {
    let options: Vec<Value> = question
        .options
        .iter()
        .map(|option| json!({ "label": option.label, "correct": option.correct }))
        .collect();
    json!({
        "question": question.question.value,
        "options": options,
        "explanation": question.explanation,
        "on_correct": branch(&question.on_correct),
        "on_incorrect": branch(&question.on_incorrect),
    })
}

fn branch(branch: &QuizBranch) -> Value {
    json!({
        "goto": text(&branch.goto),
        "load_skill": text(&branch.load_skill),
        "load_reference": text(&branch.load_reference),
        "message": text(&branch.message),
    })
}

fn openclaw(openclaw: &OpenClaw) -> Value {
    json!({
        "namespace": openclaw.namespace,
        "emoji": openclaw.emoji,
        "always": openclaw.always,
        "skill_key": openclaw.skill_key,
        "primary_env": openclaw.primary_env,
        "env_vars": openclaw.env_vars,
        "install": openclaw.install.iter().map(|install| &install.entry).collect::<Vec<_>>(),
        "extra": object(&openclaw.extra),
    })
}
