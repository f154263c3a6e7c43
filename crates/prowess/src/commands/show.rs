//! `prowess show`: shows what a skill of any dialect declares.

use std::borrow::Cow;
use std::fmt::{self, Write as _};
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use prowess_engine::quiz::Quizzes;
use prowess_engine::{DirectoryFiles, Script, scripts};
use prowess_format::command;
use prowess_format::diagnostic::{Diagnostic, Severity};
use prowess_format::document::Form;
use prowess_format::manifest::{self, AgentManifest};
use prowess_format::rules::{SkillFiles, SkillLocation};
use prowess_format::skill::{
    HookHandler, OptionalText, Parameter, Quiz, Skill, SkillDependency, Tool,
};
use prowess_format::span::Spanned;
use prowess_format::{ReadOptions, check_bytes};
use serde_json::{Value, json};

use super::Outcome;
use crate::cli::DialectOption;
use crate::error::Error;
use crate::render::problem_text::quoted;
use crate::render::wire::{self, Origin};
use crate::session;
use crate::skill::check_report;
use crate::skill::prose_warning;
use crate::skill::quiz_gate;
use crate::skill::skill_ref::{self, Loaded, ReferenceOptions, Tools};
use crate::terminal::printer::{Channel, Printer, inline, visible_lines};
use crate::terminal::wrap::wrap;

/// Show what a skill declares
///
/// Reads a skill of any dialect and prints it: name, version, tools with their
/// parameters, permissions, requirements, quiz, hooks, scripts with their
/// interpreters, other files, and fields that no dialect knows. The text format includes the defaults of what is not
/// declared, and the body with `--verbose`. The JSON format has stable keys: what
/// is not declared is null or an empty list.
///
/// The answers of quiz gates, with their explanations and branches, are not shown,
/// and until the quiz is passed neither are the body and the files. `--quiz-answers`
/// shows all of it to authors, on a terminal only.
///
/// A skill that is not on this machine is fetched to be read, and nothing is
/// installed: `prowess show https://example.com/tools.git#v2:skills/greet`.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess show examples/git-insights
  prowess show examples/git-insights --format json")]
pub(crate) struct Arguments {
    /// A skill's folder, file or archive, the name of an installed skill, or anything
    /// that `prowess install` takes; `-` is standard input
    #[arg(value_name = "SKILL")]
    path: PathBuf,
    #[command(flatten)]
    reference: ReferenceOptions,
    #[command(flatten)]
    dialect: DialectOption,
    /// Show the answers of quiz gates and what they withhold, on a terminal only
    #[arg(long)]
    quiz_answers: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let result = show(arguments, printer);
    if let (Err(error), Format::Json) = (&result, arguments.format) {
        print_json_error(&error.message, &error.hints, &error.findings, printer);
    }
    result
}

/// Prints an error as JSON, for programs.
fn print_json_error(error: &str, hints: &[String], findings: &[Value], printer: &mut Printer) {
    printer.json(&json!({ "error": error, "hints": hints, "findings": findings }));
}

/// The result for a file that can't be shown: its findings, also as JSON.
fn nothing_to_show(
    loaded: &Loaded,
    findings: &[Value],
    format: Format,
    printer: &mut Printer,
) -> Outcome {
    if format == Format::Json {
        let error = format!("`{}` can't be read", loaded.shown);
        let hint = "correct it first, or try `prowess check --fix`".to_owned();
        print_json_error(&error, &[hint], findings, printer);
    }
    Outcome::Findings
}

fn show(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let (loaded, _) =
        skill_ref::read_reference(&arguments.path, Tools::NotNamed, &arguments.reference, printer)?;
    session::library()?.require_unchanged(&loaded)?;
    if loaded.form == Form::Yaml {
        return Ok(show_manifest(&loaded, arguments, printer));
    }
    let files = loaded.directory.as_deref().map(DirectoryFiles::new);
    let directory_name = loaded.directory_name();
    let place = SkillLocation {
        directory: directory_name.as_deref(),
        files: files.as_ref().map(|files| files as &dyn SkillFiles),
    };
    let read = ReadOptions { form: loaded.form, dialect: arguments.dialect.dialect, place };
    let mut text = Cow::Borrowed("");
    let checked = check_bytes(&loaded.bytes, &mut text, read);
    if !checked.is_skill() {
        let findings = check_report::print_problems(&loaded, arguments.dialect.dialect, printer);
        return Ok(nothing_to_show(&loaded, &findings, arguments.format, printer));
    }
    let gate = Gate::of(&loaded, &quiz_gate::declared(&checked.document), arguments, printer)?;
    let folder = loaded.directory.as_deref().filter(|_| gate.is_open);
    let resources = folder.map(skill_ref::resources).unwrap_or_default();
    let scripts = folder.map(|folder| scripts(&checked.skill, folder)).unwrap_or_default();
    let skill = gate.shown(&checked.skill);
    let origin = Origin {
        path: &loaded.shown,
        file_name: &loaded.file_name,
        text: checked.document.text,
        scripts: &scripts,
        directory_name: directory_name.as_deref(),
        resources: &resources,
    };
    prose_warning::warn_of_prose(&checked.skill, &loaded, printer);
    match arguments.format {
        Format::Json => {
            let mut value = wire::skill(&skill, &origin);
            gate.withhold(&mut value);
            printer.json(&value);
        }
        Format::Text => {
            let page = Page::new(printer.width(Channel::Out));
            let in_full = gate.is_open.then(|| printer.is_verbose());
            let mut text = describe(&skill, &origin, in_full, page);
            if arguments.quiz_answers {
                text.push_str(&answers(&skill.quiz, printer.width(Channel::Out)));
            }
            printer.report(&text);
        }
    }
    if !gate.is_open {
        printer.note("its body and files are withheld until its quiz is passed");
        let path = quoted(&skill_ref::shown(&arguments.path));
        printer.hint(&format!("take it with `prowess quiz {path}`"));
    }
    mention_findings(&checked.diagnostics, &loaded, printer);
    Ok(Outcome::Fine)
}

/// What a quiz gate lets this verb show.
struct Gate {
    /// Whether there is none, it is passed, or the author wants to see everything.
    is_open: bool,
    /// Whether the answers are shown.
    shows_answers: bool,
    /// The quizzes, whatever dialect the skill is read as.
    quizzes: Vec<Quiz>,
}

impl Gate {
    fn of(
        loaded: &Loaded,
        quizzes: &[Quiz],
        arguments: &Arguments,
        printer: &Printer,
    ) -> Result<Self, Error> {
        let has_gate = quizzes.iter().any(|quiz| quiz.gate);
        if arguments.quiz_answers
            && !(printer.is_terminal(Channel::Out) && io::stdin().is_terminal())
        {
            return Err(Error::refused("`--quiz-answers` shows answers on a terminal only")
                .hint("the author of a skill finds them in its SKILL.md"));
        }
        // Who pipes a skill in has it already.
        let is_piped = loaded.path == Path::new("-");
        let is_open = !has_gate
            || is_piped
            || arguments.quiz_answers
            || Quizzes::of_user(&*session::world()?).is_open_at(loaded.place(), quizzes);
        let shows_answers = !has_gate || arguments.quiz_answers;
        Ok(Self { is_open, shows_answers, quizzes: quizzes.to_vec() })
    }

    /// The skill as far as it is shown: as a dialect without quizzes it has one among its unknown fields.
    fn shown<'s>(&self, skill: &'s Skill) -> Cow<'s, Skill> {
        if self.is_open && self.shows_answers {
            return Cow::Borrowed(skill);
        }
        let mut shown = skill.clone();
        shown.quiz.clone_from(&self.quizzes);
        shown.extra.retain(|(key, _)| key != "quiz");
        if !self.is_open {
            shown.body.clear();
        }
        Cow::Owned(shown)
    }

    /// Removes what is not shown from the JSON.
    fn withhold(&self, value: &mut Value) {
        if !self.is_open {
            value["body"] = Value::Null;
        }
        if self.shows_answers {
            return;
        }
        let quizzes = value["quiz"].as_array_mut().into_iter().flatten();
        let questions = quizzes.filter_map(|quiz| quiz["questions"].as_array_mut()).flatten();
        for question in questions.filter_map(Value::as_object_mut) {
            for key in ["explanation", "on_correct", "on_incorrect"] {
                question.remove(key);
            }
            let options = question.get_mut("options").and_then(Value::as_array_mut);
            for option in options.into_iter().flatten().filter_map(Value::as_object_mut) {
                option.remove("correct");
            }
        }
    }
}

/// The questions with their answers.
fn answers(quizzes: &[Quiz], width: Option<usize>) -> String {
    let mut page = Page::new(width);
    for question in quizzes.iter().flat_map(|quiz| &quiz.questions) {
        page.heading(&question.question.value);
        for option in &question.options {
            page.item(&format!("{} {}", if option.correct { "+" } else { "-" }, option.label));
        }
        if let Some(explanation) = &question.explanation {
            page.item(explanation);
        }
    }
    page.text
}

/// Shows an agent manifest (GAIA §9).
fn show_manifest(loaded: &Loaded, arguments: &Arguments, printer: &mut Printer) -> Outcome {
    let text = String::from_utf8_lossy(&loaded.bytes);
    let checked = manifest::check(&text);
    if checked.manifest == AgentManifest::default() && !checked.diagnostics.is_empty() {
        let findings = check_report::print_problems(loaded, None, printer);
        return nothing_to_show(loaded, &findings, arguments.format, printer);
    }
    let origin = Origin {
        path: &loaded.shown,
        file_name: &loaded.file_name,
        text: &text,
        directory_name: None,
        resources: &[],
        scripts: &[],
    };
    match arguments.format {
        Format::Json => printer.json(&wire::manifest(&checked.manifest, &origin)),
        Format::Text => {
            let page = Page::new(printer.width(Channel::Out));
            printer.report(&parse_metadata(&checked.manifest, &origin, page));
        }
    }
    mention_findings(&checked.diagnostics, loaded, printer);
    Outcome::Fine
}

fn mention_findings(diagnostics: &[Diagnostic], loaded: &Loaded, printer: &mut Printer) {
    let errors =
        diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count();
    if errors > 0 {
        let noun = if errors == 1 { "error" } else { "errors" };
        printer.note(&format!("it has {errors} {noun}: see `prowess check {}`", loaded.shown));
    }
}

/// The text format; without a body where that is withheld.
fn describe(skill: &Skill, origin: &Origin<'_>, in_full: Option<bool>, mut page: Page) -> String {
    let name = skill.name_text().or(origin.directory_name).unwrap_or("unnamed");
    page.title(name, skill.version_or_default(), skill.version.is_none());
    page.field("path", origin.path);
    let layers: Vec<&str> = skill.layers.iter().map(|layer| layer.id).collect();
    page.field("dialect", &layers.join(" + "));
    page.field("kind", skill.kind.as_str());
    page.text("description", &skill.description);
    page.texts("authors", &skill.authors);
    page.text("license", &skill.license);
    page.texts("compatibility", &skill.compatibility);
    page.text("homepage", &skill.homepage);
    page.text("repository", &skill.repository);
    page.text("registry", &skill.registry);
    page.texts("tags", &skill.tags);
    page.text("category", &skill.category);
    page.text("trust level", &skill.trust_level);
    page.text("security tier", &skill.security_tier);
    page.text("checksum", &skill.checksum);
    page.text("min client version", &skill.min_client_version);
    page.text("knowledge base", &skill.knowledge_base);
    page.text("owner", &skill.owner);
    describe_running(skill, &mut page);
    describe_invocation(skill, &mut page);
    page.section("permissions", skill.permissions.iter().map(|grant| grant.value.to_string()));
    page.section("requirements", requirements(skill));
    page.section("inputs", skill.inputs.iter().map(parameter));
    if let Some(outputs) = &skill.outputs {
        page.text("output", &outputs.kind);
        page.json("output schema", outputs.schema.as_ref());
    }
    describe_tools(&skill.tools, &mut page);
    page.section("quiz", skill.quiz.iter().map(quiz));
    page.section(
        "hooks",
        skill.hooks.iter().flat_map(|hook| {
            hook.handlers.iter().map(|handler| {
                let matcher = hook.matcher.as_deref().unwrap_or("*");
                let action = handler.action.as_ref().map_or("", |action| action.as_str());
                let name =
                    handler.server.as_ref().map_or(String::new(), |it| format!("{} ", it.value));
                let notes = hook_notes(handler);
                let notes = if notes.is_empty() { notes } else { format!(" ({notes})") };
                format!(
                    "{} {matcher}: {} {name}{action}{notes}",
                    hook.event.value, handler.kind.value
                )
            })
        }),
    );
    if let Some(openclaw) = &skill.openclaw {
        page.section(
            "openclaw",
            openclaw.install.iter().map(|install| format!("install {}", install.entry)),
        );
    }
    page.section("metadata", skill.metadata.iter().map(entry));
    // SRT-CLI-2: what nobody knows is still shown.
    page.section("unknown fields", skill.extra.iter().map(entry));
    page.section("scripts", origin.scripts.iter().map(script));
    page.section("files", origin.resources.iter().cloned());
    if let Some(in_full) = in_full {
        page.body(&skill.body, in_full);
    }
    page.text
}

fn parse_metadata(manifest: &AgentManifest, origin: &Origin<'_>, mut page: Page) -> String {
    let value = |text: &OptionalText, fallback: &str| {
        text.as_ref().map_or_else(|| fallback.to_owned(), |text| text.value.clone())
    };
    let version = value(&manifest.version, "0.0.0");
    page.title(&value(&manifest.name, "unnamed"), &version, manifest.version.is_none());
    page.field("path", origin.path);
    page.field("kind", "agent");
    page.text("description", &manifest.description);
    page.text("model", &manifest.model.default);
    page.text("smallest model", &manifest.model.minimum);
    page.text("context", &manifest.model.context);
    page.section("skills", manifest.skills.iter().map(dependency));
    for set in &manifest.skill_sets {
        page.section(&format!("skill set {}", set.name.value), set.skills.iter().map(dependency));
    }
    page.text("default set", &manifest.default_set);
    describe_tools(&manifest.tools, &mut page);
    page.section("unknown fields", manifest.extra.iter().map(entry));
    page.text
}

/// The settings of runs; defaults are marked.
fn describe_running(skill: &Skill, page: &mut Page) {
    if skill.tools.is_empty() && skill.timeout_secs.is_none() && skill.modes.is_empty() {
        if let Some(alias) = &skill.model_alias {
            page.field("model", alias);
        }
        if skill.sampling.is_some() || !skill.inputs.is_empty() && skill.has_layer("agent-flow") {
            let declared = skill.sampling.as_ref();
            let temperature = skill.temperature_or_default();
            page.effective(
                "temperature",
                temperature,
                declared.is_some_and(|it| it.temperature.is_some()),
            );
            let tokens = skill.max_tokens_or_default();
            page.effective(
                "max tokens",
                tokens,
                declared.is_some_and(|it| it.max_tokens.is_some()),
            );
        }
        if let Some(runtime) = &skill.runtime {
            page.effective("runtime", skill.runtime_or_default(), runtime.kind.is_some());
            page.text("runtime from", &runtime.min_version);
        }
        return;
    }
    let timeout = format!("{} s", skill.timeout_secs_or_default());
    page.effective("timeout", timeout, skill.timeout_secs.is_some());
    page.effective("modes", skill.modes_or_default().join(", "), !skill.modes.is_empty());
    let flag = |flag: &Option<Spanned<bool>>| flag.as_ref().is_some_and(|flag| flag.value);
    page.effective("read only", flag(&skill.read_only), skill.read_only.is_some());
    page.effective("always ask", flag(&skill.always_ask), skill.always_ask.is_some());
    page.effective("network", flag(&skill.network), skill.network.is_some());
}

fn describe_tools(tools: &[Tool], page: &mut Page) {
    for tool in tools {
        page.heading(&format!("tool {} ({})", tool.name.value, tool.kind.as_str()));
        page.item(&tool.description);
        tool.parameters.iter().for_each(|one| page.item(&parameter(one)));
        if let Some(command) = &tool.command {
            page.item(&format!("command: {}", command.value));
        }
        if let Some(handler) = &tool.handler {
            page.item(&format!("handler: {}", handler.value));
        }
    }
}

fn describe_invocation(skill: &Skill, page: &mut Page) {
    let invocation = &skill.invocation;
    let flags = [
        ("disable model invocation", &invocation.disable_model_invocation),
        ("user invocable", &invocation.user_invocable),
        ("mode", &invocation.mode),
        ("background", &invocation.background),
    ];
    for (label, flag) in flags {
        if let Some(flag) = flag {
            page.field(label, &flag.value.to_string());
        }
    }
    page.text("argument hint", &invocation.argument_hint);
    page.texts("arguments", &invocation.arguments);
    page.text("when to use", &invocation.when_to_use);
    page.text("context", &invocation.context);
    page.text("agent", &invocation.agent);
    page.text("effort", &invocation.effort);
    page.texts("paths", &invocation.paths);
    page.text("shell", &invocation.shell);
    page.text("command dispatch", &invocation.command_dispatch);
    page.text("command tool", &invocation.command_tool);
    page.text("command arg mode", &invocation.command_arg_mode);
    page.texts("allowed tools", &skill.allowed_tools);
    page.texts("disallowed tools", &skill.disallowed_tools);
}

/// What a handler of a hook declares beside its action.
fn hook_notes(handler: &HookHandler) -> String {
    let condition = handler.condition.as_ref().map(|rule| format!("if {}", rule.value));
    let without_shell = handler.arguments.as_ref().map(|words| match words.as_slice() {
        [] => "no shell".to_owned(),
        words => format!("no shell, with {}", command::join(words)),
    });
    let timeout = handler.timeout.map(|seconds| format!("{seconds} s"));
    let flags =
        [(handler.once, "once"), (handler.is_async || handler.async_rewake, "in the background")];
    let flags = flags.into_iter().filter(|(is_set, _)| *is_set).map(|(_, word)| word.to_owned());
    condition
        .into_iter()
        .chain(without_shell)
        .chain(timeout)
        .chain(flags)
        .collect::<Vec<_>>()
        .join(", ")
}

fn requirements(skill: &Skill) -> Vec<String> {
    let needs = &skill.requirements;
    let mut lines = Vec::new();
    for (label, text) in
        [("model", &needs.model), ("context", &needs.context), ("python", &needs.python)]
    {
        lines.extend(text.as_ref().map(|text| format!("{label} {}", text.value)));
    }
    let lists = [
        ("python packages", &needs.python_packages),
        ("node packages", &needs.node_packages),
        ("environment", &needs.env_vars),
        ("programs", &needs.programs),
        ("one program of", &needs.any_programs),
        ("settings", &needs.config),
        ("systems", &needs.os),
        ("MCP servers", &needs.mcp_servers),
    ];
    for (label, texts) in lists {
        if !texts.is_empty() {
            lines.push(format!("{label}: {}", joined(texts)));
        }
    }
    lines.extend(needs.hardware.as_ref().map(|hardware| format!("hardware: {hardware}")));
    lines.extend(needs.skills.iter().map(|skill| format!("skill {}", dependency(skill))));
    lines
}

fn script(script: &Script) -> String {
    match script.interpreter() {
        Some(interpreter) => format!("{} ({}, {interpreter})", script.path, script.kind.as_str()),
        None => format!("{} ({})", script.path, script.kind.as_str()),
    }
}

fn dependency(dependency: &SkillDependency) -> String {
    let optional = if dependency.required { "" } else { " (optional)" };
    let range = if dependency.range.is_empty() { "any version" } else { &dependency.range };
    format!("{} {range}{optional}", dependency.name.value)
}

fn quiz(quiz: &Quiz) -> String {
    let gate = if quiz.gate { "gate" } else { "no gate" };
    format!(
        "{}: {} questions, passes at {} %, {gate}",
        quiz.title.as_deref().unwrap_or("untitled"),
        quiz.questions.len(),
        quiz.passing_score
    )
}

fn parameter(parameter: &Parameter) -> String {
    let mut line = format!("{} ({}", parameter.name.value, parameter.kind.value);
    line.push_str(if parameter.required { ", required)" } else { ", optional)" });
    if let Some(default) = &parameter.default {
        let _ = write!(line, " = {default}");
    }
    if let Some(description) = &parameter.description {
        let _ = write!(line, " {description}");
    }
    line
}

fn entry((key, value): &(String, Value)) -> String {
    match value {
        Value::String(text) => format!("{key}: {text}"),
        other => format!("{key}: {other}"),
    }
}

fn joined(texts: &[Spanned<String>]) -> String {
    texts.iter().map(|text| text.as_str()).collect::<Vec<_>>().join(", ")
}

/// Text in two columns, with deceptive characters escaped, wrapped for a terminal.
struct Page {
    text: String,
    width: Option<usize>,
}

impl Page {
    fn new(width: Option<usize>) -> Self {
        Self { text: String::new(), width }
    }

    /// Adds a line; `indent` is for its continuation lines.
    fn line(&mut self, line: &str, indent: usize) {
        let _ = writeln!(self.text, "{}", wrap(line, indent, self.width));
    }

    fn title(&mut self, name: &str, version: &str, assumed: bool) {
        let note = if assumed { " (default version)" } else { "" };
        let _ = writeln!(self.text, "{}@{}{note}", inline(name), inline(version));
    }

    fn field(&mut self, label: &str, value: &str) {
        self.line(&format!("  {label:<15} {}", inline(value.trim())), 18);
    }

    fn effective(&mut self, label: &str, value: impl fmt::Display, declared: bool) {
        let note = if declared { "" } else { " (default)" };
        self.field(label, &format!("{value}{note}"));
    }

    fn text(&mut self, label: &str, text: &OptionalText) {
        if let Some(text) = text {
            self.field(label, text);
        }
    }

    fn texts(&mut self, label: &str, texts: &[Spanned<String>]) {
        if !texts.is_empty() {
            self.field(label, &joined(texts));
        }
    }

    fn json(&mut self, label: &str, value: Option<&Value>) {
        if let Some(value) = value {
            self.field(label, &value.to_string());
        }
    }

    fn heading(&mut self, heading: &str) {
        let _ = writeln!(self.text, "\n{}", inline(heading));
    }

    fn item(&mut self, item: &str) {
        if !item.trim().is_empty() {
            self.line(&format!("  {}", inline(item.trim())), 4);
        }
    }

    fn section(&mut self, heading: &str, items: impl IntoIterator<Item = String>) {
        let mut items = items.into_iter().peekable();
        if items.peek().is_some() {
            self.heading(heading);
            items.for_each(|item| self.item(&item));
        }
    }

    fn body(&mut self, body: &str, in_full: bool) {
        let body = body.trim();
        if in_full && !body.is_empty() {
            let _ = writeln!(self.text, "\nbody\n{}", visible_lines(body));
        } else {
            let (lines, bytes) = (body.lines().count(), body.len());
            let _ = writeln!(
                self.text,
                "\nbody\n  {lines} lines, {bytes} bytes (`--verbose` prints it)"
            );
        }
    }
}
