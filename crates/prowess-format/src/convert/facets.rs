//! Splits a skill into the facets that a conversion can keep, change or lose.

use serde_json::{Map, Value};

use crate::skill::{Hook, OptionalText, Parameter, Quiz, QuizBranch, Skill, SkillDependency, Tool};
use crate::span::Spanned;

/// Lists every declared field of a skill by name; undeclared ones are omitted.
pub fn facets(skill: &Skill) -> Vec<(&'static str, Value)> {
    let invocation = &skill.invocation;
    let wanted = &skill.requirements;
    let vendor = skill.openclaw.clone().unwrap_or_default();
    let all = [
        ("name", text(&skill.name)),
        ("version", text(&skill.version)),
        ("description", text(&skill.description)),
        ("authors", texts(&skill.authors)),
        ("license", text(&skill.license)),
        ("compatibility", texts(&skill.compatibility)),
        ("homepage", text(&skill.homepage)),
        ("repository", text(&skill.repository)),
        ("registry", text(&skill.registry)),
        ("tags", texts(&skill.tags)),
        ("category", text(&skill.category)),
        ("trust_level", text(&skill.trust_level)),
        ("security_tier", text(&skill.security_tier)),
        ("checksum", text(&skill.checksum)),
        ("min_client_version", text(&skill.min_client_version)),
        ("inputs", list(&skill.inputs, parameter)),
        ("outputs.type", skill.outputs.as_ref().map_or(Value::Null, |outputs| text(&outputs.kind))),
        (
            "outputs.schema",
            skill.outputs.as_ref().and_then(|outputs| outputs.schema.clone()).unwrap_or_default(),
        ),
        ("tools", list(&skill.tools, tool)),
        (
            "permissions",
            list(&skill.permissions, |permission| Value::String(permission.to_string())),
        ),
        ("requirements.model", text(&wanted.model)),
        ("requirements.context", text(&wanted.context)),
        ("requirements.python", text(&wanted.python)),
        ("requirements.python_packages", texts(&wanted.python_packages)),
        ("requirements.node_packages", texts(&wanted.node_packages)),
        ("requirements.env_vars", texts(&wanted.env_vars)),
        ("requirements.hardware", wanted.hardware.clone().unwrap_or_default()),
        ("requirements.programs", texts(&wanted.programs)),
        ("requirements.any_programs", texts(&wanted.any_programs)),
        ("requirements.config", texts(&wanted.config)),
        ("requirements.os", texts(&wanted.os)),
        ("requirements.mcp_servers", texts(&wanted.mcp_servers)),
        ("requirements.skills", list(&wanted.skills, dependency)),
        ("sampling", sampling(skill)),
        ("model_alias", text(&skill.model_alias)),
        ("knowledge_base", text(&skill.knowledge_base)),
        ("owner", text(&skill.owner)),
        ("runtime.type", skill.runtime.as_ref().map_or(Value::Null, |runtime| text(&runtime.kind))),
        (
            "runtime.min_version",
            skill.runtime.as_ref().map_or(Value::Null, |runtime| text(&runtime.min_version)),
        ),
        (
            "runtime.server",
            skill.runtime.as_ref().map_or(Value::Null, |runtime| text(&runtime.server)),
        ),
        ("runtime.tool", skill.runtime.as_ref().map_or(Value::Null, |runtime| text(&runtime.tool))),
        ("invocation.disable_model_invocation", flag(invocation.disable_model_invocation.as_ref())),
        ("invocation.user_invocable", flag(invocation.user_invocable.as_ref())),
        ("invocation.mode", flag(invocation.mode.as_ref())),
        ("invocation.argument_hint", text(&invocation.argument_hint)),
        ("invocation.context", text(&invocation.context)),
        ("invocation.agent", text(&invocation.agent)),
        ("invocation.when_to_use", text(&invocation.when_to_use)),
        ("invocation.arguments", texts(&invocation.arguments)),
        ("invocation.effort", text(&invocation.effort)),
        ("invocation.background", flag(invocation.background.as_ref())),
        ("invocation.paths", texts(&invocation.paths)),
        ("invocation.shell", text(&invocation.shell)),
        ("invocation.command_dispatch", text(&invocation.command_dispatch)),
        ("invocation.command_tool", text(&invocation.command_tool)),
        ("invocation.command_arg_mode", text(&invocation.command_arg_mode)),
        ("hooks", list(&skill.hooks, hook)),
        ("quiz", list(&skill.quiz, quiz)),
        ("modes", texts(&skill.modes)),
        ("read_only", flag(skill.read_only.as_ref())),
        ("always_ask", flag(skill.always_ask.as_ref())),
        (
            "timeout_secs",
            skill.timeout_secs.as_ref().map_or(Value::Null, |timeout| Value::from(timeout.value)),
        ),
        ("network", flag(skill.network.as_ref())),
        ("allowed_tools", texts(&skill.allowed_tools)),
        ("disallowed_tools", texts(&skill.disallowed_tools)),
        ("openclaw.emoji", Value::from(vendor.emoji)),
        ("openclaw.always", Value::from(vendor.always)),
        ("openclaw.skill_key", Value::from(vendor.skill_key)),
        ("openclaw.primary_env", Value::from(vendor.primary_env)),
        ("openclaw.env_vars", Value::Array(vendor.env_vars)),
        ("openclaw.install", list(&vendor.install, |install| install.entry.clone())),
        ("openclaw.extra", entries(&vendor.extra)),
        ("metadata", entries(&skill.metadata)),
        ("extra", entries(&skill.extra)),
        ("body", Value::String(skill.body.clone())),
    ];
    all.into_iter().filter(|(_, value)| !is_nothing(value)).collect()
}

/// Whether a value is empty: null, or an empty text, list or map.
pub(super) fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

fn text(text: &OptionalText) -> Value {
    text.as_ref().map_or(Value::Null, |text| Value::String(text.value.clone()))
}

fn texts(texts: &[Spanned<String>]) -> Value {
    list(texts, |text| Value::String(text.value.clone()))
}

fn flag(value: Option<&Spanned<bool>>) -> Value {
    value.map_or(Value::Null, |value| Value::Bool(value.value))
}

fn list<T>(items: &[T], show: impl Fn(&T) -> Value) -> Value {
    Value::Array(items.iter().map(show).collect())
}

fn entries(entries: &[(String, Value)]) -> Value {
    Value::Object(entries.iter().cloned().collect())
}

/// A map of the pairs with a non-empty value.
fn map<const N: usize>(pairs: [(&str, Value); N]) -> Value {
    let said = pairs.into_iter().filter(|(_, value)| !is_nothing(value));
    Value::Object(said.map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>())
}

fn parameter(parameter: &Parameter) -> Value {
    map([
        ("name", Value::String(parameter.name.value.clone())),
        ("type", Value::String(parameter.kind.value.clone())),
        ("required", Value::Bool(parameter.required)),
        ("description", Value::from(parameter.description.clone())),
        ("default", parameter.default.clone().unwrap_or_default()),
        ("label", Value::from(parameter.label.clone())),
        ("source", Value::from(parameter.source.clone())),
        ("extra", entries(&parameter.extra)),
    ])
}

fn tool(tool: &Tool) -> Value {
    map([
        ("name", Value::String(tool.name.value.clone())),
        ("description", Value::String(tool.description.clone())),
        ("parameters", list(&tool.parameters, parameter)),
        ("command", tool.command.as_ref().map_or(Value::Null, |command| command_words(command))),
        ("handler", text(&tool.handler)),
        ("returns", tool.returns.clone().unwrap_or_default()),
        ("atomic", Value::from(tool.atomic)),
        ("extra", entries(&tool.extra)),
    ])
}

/// A command as its arguments, so that different quoting compares equal.
fn command_words(command: &str) -> Value {
    match crate::command::parse(command) {
        Ok(template) => Value::Array(
            template
                .arguments
                .iter()
                .map(|argument| Value::String(argument.to_template()))
                .collect(),
        ),
        Err(_) => Value::String(command.to_owned()),
    }
}

fn dependency(dependency: &SkillDependency) -> Value {
    map([
        ("name", Value::String(dependency.name.value.clone())),
        ("range", Value::String(dependency.range.clone())),
        ("required", Value::Bool(dependency.required)),
    ])
}

fn sampling(skill: &Skill) -> Value {
    skill.sampling.as_ref().map_or(Value::Null, |sampling| {
        map([
            ("temperature", sampling.temperature.map_or(Value::Null, Value::from)),
            ("max_tokens", sampling.max_tokens.map_or(Value::Null, Value::from)),
            ("extra", entries(&sampling.extra)),
        ])
    })
}

fn hook(hook: &Hook) -> Value {
    let handlers = list(&hook.handlers, |handler| {
        map([
            ("type", Value::String(handler.kind.value.clone())),
            ("action", text(&handler.action)),
            ("if", text(&handler.condition)),
            ("timeout", Value::from(handler.timeout)),
            ("status_message", Value::from(handler.status_message.clone())),
            ("once", Value::Bool(handler.once)),
            ("args", Value::from(handler.arguments.clone())),
            ("shell", Value::from(handler.shell.clone())),
            ("async", Value::Bool(handler.is_async)),
            ("async_rewake", Value::Bool(handler.async_rewake)),
            (
                "headers",
                list(&handler.headers, |(name, value)| Value::from(format!("{name}: {value}"))),
            ),
            ("allowed_env_vars", Value::from(handler.allowed_env_vars.clone())),
            ("server", text(&handler.server)),
            ("input", handler.input.clone().unwrap_or_default()),
            ("model", Value::from(handler.model.clone())),
            ("continue_on_block", Value::Bool(handler.continue_on_block)),
            ("extra", entries(&handler.extra)),
        ])
    });
    map([
        ("name", Value::String(hook.event.value.clone())),
        ("matcher", Value::from(hook.matcher.clone())),
        ("handlers", handlers),
    ])
}

fn quiz(quiz: &Quiz) -> Value {
    let questions = list(&quiz.questions, |question| {
        let options = list(&question.options, |option| {
            map([
                ("label", Value::String(option.label.clone())),
                ("correct", Value::Bool(option.correct)),
            ])
        });
        map([
            ("question", Value::String(question.question.value.clone())),
            ("options", options),
            ("explanation", Value::from(question.explanation.clone())),
            ("on_correct", branch(&question.on_correct)),
            ("on_incorrect", branch(&question.on_incorrect)),
        ])
    });
    map([
        ("title", Value::from(quiz.title.clone())),
        ("description", Value::from(quiz.description.clone())),
        ("gate", Value::Bool(quiz.gate)),
        ("passing_score", Value::from(quiz.passing_score)),
        ("questions", questions),
    ])
}

fn branch(branch: &QuizBranch) -> Value {
    map([
        ("goto", text(&branch.goto)),
        ("load_skill", text(&branch.load_skill)),
        ("load_reference", text(&branch.load_reference)),
        ("message", text(&branch.message)),
    ])
}
