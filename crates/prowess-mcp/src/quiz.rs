//! Quizzes over MCP: two tools that ask and take answers, and what is said about a skill that is closed.

use std::sync::Arc;

use prowess_core::Problem;
use prowess_engine::LoadedSkill;
use prowess_engine::quiz::{NOT_PASSED, QuizAnswer};
use rmcp::model::{CallToolRequestParams, CallToolResult, ContentBlock, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use crate::call::{failure, with_hints};
use crate::server::SkillServer;

/// The tool that gives the next question.
const NEXT: &str = "quiz_next";
/// The tool that takes an answer.
const ANSWER: &str = "quiz_answer";
/// Added to the server's instructions if a skill has a quiz.
pub(crate) const INSTRUCTIONS: &str = " Some skills are behind a quiz: their instructions, files and tools are closed \
    until it is passed. Call `quiz_next` with the name of the skill, then `quiz_answer`.";
/// Added to the description of a tool while its skill is closed.
const CLOSED: &str = "Closed until the quiz of its skill is passed: call `quiz_next` first.";

/// Whether a tool is one of the two.
pub(crate) fn is_tool(name: &str) -> bool {
    name == NEXT || name == ANSWER
}

/// The two tools.
pub(crate) fn definitions() -> [Tool; 2] {
    let schema = |properties: Value, required: Value| {
        Map::from_iter([
            ("type".to_owned(), Value::from("object")),
            ("properties".to_owned(), properties),
            ("required".to_owned(), required),
            ("additionalProperties".to_owned(), Value::from(false)),
        ])
    };
    let skill = json!({ "type": "string", "description": "The name of the skill" });
    let number = |about: &str| json!({ "type": "integer", "minimum": 0, "description": about });
    let option = json!({ "type": ["integer", "string"] });
    let answer = json!({
        "description": "The number of an option, starting at 0, or its label; a list of these where `multiple` is true",
        "anyOf": [{ "type": "integer" }, { "type": "string" }, { "type": "array", "items": option }],
    });
    let next = schema(json!({ "skill": skill }), json!(["skill"]));
    let answered = schema(
        json!({
            "skill": skill,
            "quiz": number("The number of the quiz, as `quiz_next` gives it"),
            "question": number("The number of the question, as `quiz_next` gives it"),
            "answer": answer,
        }),
        json!(["skill", "quiz", "question", "answer"]),
    );
    [
        Tool::new(
            ANSWER,
            "Answers a question of the quiz of a skill. The result says whether the answer is right, explains it, and may have a text to read before the next try. When every gate is passed, the instructions, files and tools of the skill are open.",
            answered,
        )
        .with_annotations(ToolAnnotations::new().read_only(false).destructive(false).open_world(false)),
        Tool::new(
            NEXT,
            "Gives the next question of the quiz of a skill: its text and the options. `passed` says whether the skill is open.",
            next,
        )
        .with_annotations(ToolAnnotations::new().read_only(true).open_world(false)),
    ]
}

/// Says in a description that the tool is closed.
pub(crate) fn mark_closed(tool: &mut Tool) {
    let about = tool.description.take().unwrap_or_default();
    tool.description = Some(format!("{about}\n\n{CLOSED}").trim_start().to_owned().into());
}

/// Why the files of a skill are not there.
pub(crate) fn files_withheld(skill: &str) -> String {
    format!("the files of `{skill}` are withheld until its quiz is passed: call the tool `{NEXT}`")
}

/// Why a skill can't be used: its quiz is not passed. `None` if it is open.
pub(crate) async fn closed(server: &SkillServer, skill: &Arc<LoadedSkill>) -> Option<String> {
    if !skill.skill.is_gated() {
        return None;
    }
    let (quizzes, gated) = (server.shared.engine.quizzes.clone(), Arc::clone(skill));
    let decided = tokio::task::spawn_blocking(move || quizzes.require_passed(&gated)).await;
    match decided {
        Ok(Ok(())) => None,
        Ok(Err(problem)) => Some(problem_text(server, &problem, &skill.name)),
        Err(_) => Some("could not determine whether the quiz is passed".to_owned()),
    }
}

fn problem_text(server: &SkillServer, problem: &Problem, skill: &str) -> String {
    let mut hints = server.shared.settings.wording.hints(&problem.remedies);
    if problem.code == NOT_PASSED {
        let arguments = json!({ "skill": skill });
        hints.push(format!("or call the tool `{NEXT}` with `{arguments}`, then `{ANSWER}`"));
    }
    with_hints(&problem.message, &hints)
}

/// A call of one of the two tools.
pub(crate) async fn call(server: &SkillServer, request: &CallToolRequestParams) -> CallToolResult {
    let (on_thread, name) = (server.clone(), request.name.to_string());
    let values = request.arguments.clone().unwrap_or_default();
    let asked = tokio::task::spawn_blocking(move || answer(&on_thread, &name, &values));
    match asked.await {
        Ok(Ok(value)) => {
            let mut result = CallToolResult::success(vec![ContentBlock::text(value.to_string())]);
            result.structured_content = Some(value);
            result
        }
        Ok(Err(text)) => failure(text),
        Err(_) => failure("the quiz could not be read".to_owned()),
    }
}

fn answer(server: &SkillServer, name: &str, values: &Map<String, Value>) -> Result<Value, String> {
    let wanted = values.get("skill").and_then(Value::as_str);
    let wanted = wanted.ok_or_else(|| "`skill` is missing: the name of a skill".to_owned())?;
    let catalog = server.catalog();
    let skill = catalog.skills.get(wanted).ok_or_else(|| {
        let with_quiz = catalog.skills.values().filter(|skill| !skill.skill.quiz.is_empty());
        let names: Vec<String> = with_quiz.map(|skill| format!("`{}`", skill.name)).collect();
        format!("there is no skill `{wanted}`; these have a quiz: {}", names.join(", "))
    })?;
    let quizzes = &server.shared.engine.quizzes;
    let told = |problem: Problem| problem_text(server, &problem, &skill.name);
    if name == NEXT {
        return Ok(quizzes.next(skill).map_err(told)?.json());
    }
    let number = |name: &str| {
        let number = values.get(name).and_then(Value::as_u64);
        let number = number.and_then(|number| usize::try_from(number).ok());
        number.ok_or_else(|| format!("`{name}` must be a number from 0, as `{NEXT}` returns it"))
    };
    let (quiz, question) = (number("quiz")?, number("question")?);
    let given = values.get("answer").ok_or_else(|| "`answer` is missing".to_owned())?;
    let given = QuizAnswer::from_json(given).map_err(|error| error.to_string())?;
    let feedback = quizzes.answer(skill, quiz, question, &given).map_err(told)?;
    if feedback.passed {
        // Clients learn that there is more now. What can't be read again is noticed by the next change.
        let _ = server.reload();
    }
    Ok(feedback.json())
}
