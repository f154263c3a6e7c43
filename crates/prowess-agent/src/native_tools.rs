//! The tools of the loop itself: the second and third level of progressive disclosure, and quizzes.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use prowess_core::{CallStatus, Problem, ToolSpec};
use prowess_engine::manifest::{Catalogue, read_resource, skill_content};
use prowess_engine::quiz::{NOT_PASSED, QuizAnswer, Quizzes};
use prowess_engine::{LoadedSkill, plugin_root};
use prowess_format::render::{self, RenderContext, RenderedPrompt};
use prowess_format::text::{closest, shorten, visible};
use serde_json::{Map, Value, json};

use crate::call::CallResult;
use crate::limits::MAX_RESULT;
use crate::wrapping::{neutral, wrapped};

/// A tool of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NativeTool {
    LoadSkill,
    ReadSkillFile,
    QuizNext,
    QuizAnswer,
}

impl NativeTool {
    /// Those that a catalogue needs.
    pub(crate) fn of(catalogue: &Catalogue) -> Vec<Self> {
        if catalogue.for_model.is_empty() {
            return Vec::new();
        }
        let mut tools = vec![Self::LoadSkill, Self::ReadSkillFile];
        if catalogue.for_model.iter().any(|skill| !skill.skill.quiz.is_empty()) {
            tools.extend([Self::QuizNext, Self::QuizAnswer]);
        }
        tools
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::LoadSkill => "load_skill",
            Self::ReadSkillFile => "read_skill_file",
            Self::QuizNext => "quiz_next",
            Self::QuizAnswer => "quiz_answer",
        }
    }

    pub(crate) fn spec(self, catalogue: &Catalogue) -> ToolSpec {
        let names: Vec<&str> = catalogue.for_model.iter().map(|it| it.name.as_str()).collect();
        let with_quiz = catalogue.for_model.iter().filter(|skill| !skill.skill.quiz.is_empty());
        let quizzed: Vec<&str> = with_quiz.map(|skill| skill.name.as_str()).collect();
        let (description, parameters) = match self {
            Self::LoadSkill => (
                "Load the instructions of a skill, and make its scripts available",
                json!({
                    "type": "object",
                    "properties": {
                        "name": { "type": "string", "enum": names, "description": "The skill" },
                        "arguments": {
                            "type": "string",
                            "description": "Arguments, for a skill that takes them",
                        },
                    },
                    "required": ["name"],
                    "additionalProperties": false,
                }),
            ),
            Self::ReadSkillFile => (
                "Read a file of a skill that is loaded",
                json!({
                    "type": "object",
                    "properties": {
                        "skill": { "type": "string", "enum": names, "description": "The skill" },
                        "path": {
                            "type": "string",
                            "description": "The path of the file in the skill, such as `references/api.md`",
                        },
                        "offset": {
                            "type": "integer",
                            "description": "The byte to start at, for the rest of a long file",
                        },
                    },
                    "required": ["skill", "path"],
                    "additionalProperties": false,
                }),
            ),
            Self::QuizNext => (
                "Get the next question of the quiz that a skill is closed by",
                json!({
                    "type": "object",
                    "properties": {
                        "skill": { "type": "string", "enum": quizzed, "description": "The skill" },
                    },
                    "required": ["skill"],
                    "additionalProperties": false,
                }),
            ),
            Self::QuizAnswer => (
                "Answer a question of a quiz; a skill opens when its quiz is passed",
                json!({
                    "type": "object",
                    "properties": {
                        "skill": { "type": "string", "enum": quizzed, "description": "The skill" },
                        "quiz": { "type": "integer", "description": "`quiz` of the question" },
                        "question": { "type": "integer", "description": "`question` of the question" },
                        "answer": {
                            "type": "array",
                            "items": { "type": "string" },
                            "description": "The chosen options, as they are written",
                        },
                    },
                    "required": ["skill", "quiz", "question", "answer"],
                    "additionalProperties": false,
                }),
            ),
        };
        ToolSpec { name: self.name().to_owned(), description: description.to_owned(), parameters }
    }
}

/// The result of a call of a native tool.
pub(crate) struct NativeResult {
    pub(crate) result: CallResult,
    /// The skill that is loaded from now on.
    pub(crate) loaded: Option<Arc<LoadedSkill>>,
    /// The task for a conversation of its own, if the skill is one (`context: fork`).
    pub(crate) fork: Option<ForkedTask>,
    /// The rendered body, whose commands have to run before it can be shown.
    pub(crate) injection: Option<Box<RenderedPrompt>>,
    /// The skill whose quiz is passed from now on.
    pub(crate) opened: Option<String>,
    /// Warnings for the user.
    pub(crate) warnings: Vec<String>,
}

/// A skill that works in a conversation of its own.
pub(crate) struct ForkedTask {
    /// The type of the agent.
    pub(crate) agent: String,
    /// The text of its task.
    pub(crate) task: String,
}

/// The state that native tools use.
pub(crate) struct NativeContext<'n> {
    /// The skills on the menu.
    pub(crate) skills: &'n [Arc<LoadedSkill>],
    /// The skills that are loaded.
    pub(crate) loaded: &'n BTreeSet<String>,
    /// Which gates are open.
    pub(crate) quizzes: &'n Quizzes,
    /// The session, for `${CLAUDE_SESSION_ID}`.
    pub(crate) session_id: &'n str,
    /// The project, for `${CLAUDE_PROJECT_DIR}`.
    pub(crate) project_dir: &'n str,
}

impl From<CallResult> for NativeResult {
    fn from(result: CallResult) -> Self {
        let (injection, opened, warnings) = (None, None, Vec::new());
        Self { result, loaded: None, fork: None, injection, opened, warnings }
    }
}

/// Calls a native tool. It reads the disk.
pub(crate) fn call(
    tool: NativeTool,
    arguments: &Map<String, Value>,
    context: &NativeContext<'_>,
) -> NativeResult {
    let (skills, quizzes) = (context.skills, context.quizzes);
    let known: &[&str] = match tool {
        NativeTool::LoadSkill => &["name", "arguments"],
        NativeTool::ReadSkillFile => &["skill", "path", "offset"],
        NativeTool::QuizNext => &["skill"],
        NativeTool::QuizAnswer => &["skill", "quiz", "question", "answer"],
    };
    if let Some(unknown) = arguments.keys().find(|key| !known.contains(&key.as_str())) {
        let unknown = shorten(&visible(unknown), 64);
        let message = format!("{}: there is no parameter `{unknown}`", tool.name());
        return CallResult::of_loop(CallStatus::Invalid, message).into();
    }
    match tool {
        NativeTool::LoadSkill => load_skill(arguments, context),
        NativeTool::ReadSkillFile => read_skill_file(arguments, context).into(),
        NativeTool::QuizNext => quiz_next(arguments, skills, quizzes).into(),
        NativeTool::QuizAnswer => quiz_answer(arguments, skills, quizzes),
    }
}

fn load_skill(arguments: &Map<String, Value>, context: &NativeContext<'_>) -> NativeResult {
    let skill = match named(arguments, "name", "load_skill", context.skills) {
        Ok(skill) => skill,
        Err(result) => return result.into(),
    };
    if let Err(problem) = context.quizzes.require_passed(skill) {
        return of_problem(&problem).into();
    }
    let typed = match arguments.get("arguments") {
        None | Some(Value::Null) => "",
        Some(Value::String(text)) => text,
        Some(_) => {
            let message = "load_skill: `arguments` is one text";
            return CallResult::of_loop(CallStatus::Invalid, message).into();
        }
    };
    let rendered = match rendered(skill, typed, context) {
        Ok(rendered) => rendered,
        Err(message) => return CallResult::of_loop(CallStatus::Invalid, message).into(),
    };
    let warnings = rendered.warnings.clone();
    if !rendered.commands.is_empty() {
        return NativeResult {
            loaded: Some(Arc::clone(skill)),
            injection: Some(Box::new(rendered)),
            warnings,
            ..CallResult::stopped().into()
        };
    }
    let RenderedPrompt { text, fork, .. } = rendered;
    NativeResult { warnings, ..disclosed(skill, &text, fork, context.quizzes) }
}

/// The result of loading a skill: its body with everything in it, and the list of its files.
pub(crate) fn disclosed(
    skill: &Arc<LoadedSkill>,
    text: &str,
    fork: Option<String>,
    quizzes: &Quizzes,
) -> NativeResult {
    let body = neutral(text);
    let (body, left_out) = match body.len().checked_sub(MAX_RESULT) {
        None | Some(0) => (body, 0),
        Some(_) => {
            let end = body.floor_char_boundary(MAX_RESULT);
            let left_out = body.len() - end;
            let text = format!("{}\n[truncated: {left_out} more bytes]\n", &body[..end]);
            (text.into(), left_out)
        }
    };
    match skill_content(skill, &body, quizzes) {
        Err(problem) => of_problem(&problem).into(),
        Ok(content) => NativeResult {
            fork: fork.map(|agent| ForkedTask { agent, task: content.clone() }),
            loaded: Some(Arc::clone(skill)),
            ..CallResult::marked(CallStatus::Success, content, left_out as u64).into()
        },
    }
}

/// The body of a skill with its arguments. A skill with inputs takes them in its text as they are named.
fn rendered(
    skill: &LoadedSkill,
    typed: &str,
    context: &NativeContext<'_>,
) -> Result<RenderedPrompt, String> {
    let directory = skill.directory.as_deref().map(|it| it.to_string_lossy().into_owned());
    let plugin = skill.directory.as_deref().and_then(plugin_root);
    let plugin = plugin.map(|it| it.to_string_lossy().into_owned());
    let inputs = Map::new();
    let around = RenderContext {
        arguments: Some(typed),
        session_id: Some(context.session_id),
        skill_dir: directory.as_deref(),
        project_dir: Some(context.project_dir),
        plugin_root: plugin.as_deref(),
        ..RenderContext::of_inputs(&inputs)
    };
    render::prompt(&skill.skill, &around).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        format!("`{}`: {}", skill.name, errors.join("; "))
    })
}

fn read_skill_file(arguments: &Map<String, Value>, context: &NativeContext<'_>) -> CallResult {
    let (skills, loaded, quizzes) = (context.skills, context.loaded, context.quizzes);
    let name = NativeTool::ReadSkillFile.name();
    let skill = match named(arguments, "skill", name, skills) {
        Ok(skill) => skill,
        Err(result) => return result,
    };
    if !loaded.contains(&skill.name) {
        let message = format!("load the skill first: call `load_skill` with `{}`", skill.name);
        return CallResult::of_loop(CallStatus::Invalid, message);
    }
    let Some(path) = arguments.get("path").and_then(Value::as_str) else {
        return missing(name, "path");
    };
    let offset = match arguments.get("offset") {
        None | Some(Value::Null) => 0,
        Some(offset) => match offset.as_u64().and_then(|offset| usize::try_from(offset).ok()) {
            Some(offset) => offset,
            None => {
                let message = format!("{name}: `offset` is a number of bytes, 0 or more");
                return CallResult::of_loop(CallStatus::Invalid, message);
            }
        },
    };
    let bytes = match read_resource(skill, path, quizzes) {
        Ok(bytes) => bytes,
        Err(problem) => return of_problem(&problem),
    };
    let Ok(text) = String::from_utf8(bytes) else {
        let message =
            format!("`{}` is not text, so it can't be shown", shorten(&visible(path), 200));
        return CallResult::of_loop(CallStatus::Failed, message);
    };
    let start = text.ceil_char_boundary(offset.min(text.len()));
    let end = text.floor_char_boundary((start + MAX_RESULT).min(text.len()));
    let rest = text.len() - end;
    let bytes = text.len().to_string();
    let mut shown = wrapped(
        "skill_file",
        &[("skill", &skill.name), ("path", path), ("bytes", &bytes)],
        &text[start..end],
    );
    if rest > 0 {
        let _ = write!(shown, "\n[{rest} more bytes: read on with `offset` {end}]");
    }
    CallResult::marked(CallStatus::Success, shown, rest as u64)
}

fn quiz_next(
    arguments: &Map<String, Value>,
    skills: &[Arc<LoadedSkill>],
    quizzes: &Quizzes,
) -> CallResult {
    let name = NativeTool::QuizNext.name();
    let skill = match named(arguments, "skill", name, skills) {
        Ok(skill) => skill,
        Err(result) => return result,
    };
    match quizzes.next(skill) {
        Ok(next) => of_quiz(name, &next.json()),
        Err(problem) => of_problem(&problem),
    }
}

fn quiz_answer(
    arguments: &Map<String, Value>,
    skills: &[Arc<LoadedSkill>],
    quizzes: &Quizzes,
) -> NativeResult {
    let name = NativeTool::QuizAnswer.name();
    let skill = match named(arguments, "skill", name, skills) {
        Ok(skill) => skill,
        Err(result) => return result.into(),
    };
    let number = |key: &str| arguments.get(key)?.as_u64().and_then(|it| usize::try_from(it).ok());
    let (Some(quiz), Some(question)) = (number("quiz"), number("question")) else {
        let message =
            format!("{name}: `quiz` and `question` are the numbers that `quiz_next` gave");
        return CallResult::of_loop(CallStatus::Invalid, message).into();
    };
    let answer = arguments.get("answer").unwrap_or(&Value::Null);
    let answer = match QuizAnswer::from_json(answer) {
        Ok(answer) => answer,
        Err(error) => {
            return CallResult::of_loop(CallStatus::Invalid, format!("{name}: {error}")).into();
        }
    };
    match quizzes.answer(skill, quiz, question, &answer) {
        Err(problem) => of_problem(&problem).into(),
        Ok(feedback) => NativeResult {
            opened: feedback.passed.then(|| skill.name.clone()),
            ..of_quiz(name, &feedback.json()).into()
        },
    }
}

/// The JSON of a quiz, which contains the author's texts.
fn of_quiz(name: &str, value: &Value) -> CallResult {
    let plain = value.to_string();
    let for_model = wrapped("tool_output", &[("tool", name)], &plain);
    CallResult { status: CallStatus::Success, for_model, plain, left_out: 0 }
}

/// The skill that an argument names.
fn named<'s>(
    arguments: &Map<String, Value>,
    key: &str,
    tool: &str,
    skills: &'s [Arc<LoadedSkill>],
) -> Result<&'s Arc<LoadedSkill>, CallResult> {
    let Some(name) = arguments.get(key).and_then(Value::as_str) else {
        return Err(missing(tool, key));
    };
    skills.iter().find(|skill| skill.name == name).ok_or_else(|| {
        let names: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
        let name = shorten(&visible(name), 64);
        let message = match closest(&name, names.iter().copied()) {
            Some(similar) => format!("there is no skill `{name}`; did you mean `{similar}`?"),
            None => format!("there is no skill `{name}`; the skills are {}", names.join(", ")),
        };
        CallResult::of_loop(CallStatus::Invalid, message)
    })
}

fn missing(tool: &str, parameter: &str) -> CallResult {
    let message =
        format!("{tool}: the required parameter `{parameter}` is missing, or is not text");
    CallResult::of_loop(CallStatus::Invalid, message)
}

fn of_problem(problem: &Problem) -> CallResult {
    let status = match problem.kind {
        prowess_core::ProblemKind::Refused => CallStatus::Refused,
        prowess_core::ProblemKind::NotFound | prowess_core::ProblemKind::InvalidInput => {
            CallStatus::Invalid
        }
        _ => CallStatus::Failed,
    };
    let mut message = problem.message.clone();
    if problem.code == NOT_PASSED {
        message.push_str("; call `quiz_next` with its name");
        return CallResult::of_loop(status, message);
    }
    for remedy in &problem.remedies {
        message.push_str("; ");
        message.push_str(&remedy.to_string());
    }
    CallResult::of_loop(status, message)
}
