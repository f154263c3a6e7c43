//! The tools of a skill with their parameters, its inputs, what it needs, and its quiz without the answers.

use std::borrow::Cow;

use askama::Template;
use axum::extract::{Path, Query, State};
use prowess_format::document::Form;
use prowess_format::skill::{Quiz, QuizQuestion};

use super::load::Loaded;
use super::overview::VersionQuery;
use super::{Frame, Part};
use crate::app::AppState;
use crate::facts::{ParameterFacts, ToolFacts};
use crate::pages::layout::Layout;
use crate::pages::response::{PageResult, page};
use crate::pages::visitor::Visitor;

/// The tools of a skill.
#[derive(Debug, Template)]
#[template(path = "page/skill/tools.html")]
pub(crate) struct ToolsPage {
    pub(crate) layout: Layout,
    pub(crate) frame: Frame,
    pub(crate) tools: Vec<ToolView>,
    pub(crate) inputs: Vec<ParameterView>,
    pub(crate) requirements: Vec<(&'static str, Vec<String>)>,
    pub(crate) quizzes: Vec<QuizView>,
    pub(crate) hooks: usize,
}

/// A tool.
#[derive(Clone, Debug)]
pub(crate) struct ToolView {
    pub(crate) name: String,
    pub(crate) description: String,
    /// How it runs, in words.
    pub(crate) kind: &'static str,
    pub(crate) command: Option<String>,
    pub(crate) parameters: Vec<ParameterView>,
}

/// A parameter.
#[derive(Clone, Debug)]
pub(crate) struct ParameterView {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) required: bool,
    pub(crate) description: String,
    pub(crate) default: Option<String>,
}

/// A quiz. There is no field for the right answers, so no page can show them.
#[derive(Clone, Debug)]
pub(crate) struct QuizView {
    pub(crate) title: String,
    pub(crate) description: Option<String>,
    /// Whether an agent has to pass before it gets the instructions.
    pub(crate) is_gate: bool,
    pub(crate) passing_score: String,
    pub(crate) questions: Vec<QuestionView>,
}

/// A question with its choices.
#[derive(Clone, Debug)]
pub(crate) struct QuestionView {
    pub(crate) question: String,
    pub(crate) options: Vec<String>,
}

/// How a tool runs, in words.
pub(crate) fn kind_words(kind: &str) -> &'static str {
    match kind {
        "command" => "runs a program",
        "python" => "runs a Python function",
        "handler" => "runs a handler",
        "mcp_tool" => "calls a tool of an MCP server",
        "script" => "runs a script",
        _ => "runs",
    }
}

/// The tools of a version.
pub(crate) async fn get_tools(
    State(state): State<AppState>,
    visitor: Visitor,
    Path((namespace, name)): Path<(String, String)>,
    Query(query): Query<VersionQuery>,
) -> PageResult {
    let loaded = Loaded::read(&state, &visitor, &namespace, &name, Some(&query.version)).await?;
    let facts = &loaded.chosen.facts;
    let needs = &facts.requirements;
    let requirements = [
        ("Programs", &needs.programs),
        ("Variables", &needs.variables),
        ("Python packages", &needs.python_packages),
        ("Node packages", &needs.node_packages),
        ("MCP servers", &needs.mcp_servers),
        ("Systems", &needs.systems),
    ];
    let template = ToolsPage {
        layout: loaded.layout(&visitor, Part::Tools, format!("Tools of {}", loaded.id)),
        frame: loaded.frame(Part::Tools),
        tools: facts.tools.iter().map(ToolView::of).collect(),
        inputs: facts.inputs.iter().map(ParameterView::of).collect(),
        requirements: requirements
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(label, names)| (label, names.clone()))
            .collect(),
        quizzes: quizzes(&loaded.chosen.manifest),
        hooks: facts.hooks,
    };
    page(&visitor, &template)
}

impl ToolView {
    /// The name of the table, different for each tool.
    fn parameters_title(&self) -> String {
        format!("Parameters of {}", self.name)
    }

    fn of(tool: &ToolFacts) -> Self {
        ToolView {
            name: tool.name.clone(),
            description: tool.description.clone(),
            kind: kind_words(&tool.kind),
            command: tool.command.clone(),
            parameters: tool.parameters.iter().map(ParameterView::of).collect(),
        }
    }
}

impl ParameterView {
    fn of(parameter: &ParameterFacts) -> Self {
        ParameterView {
            name: parameter.name.clone(),
            kind: parameter.kind.clone(),
            required: parameter.required,
            description: parameter.description.clone().unwrap_or_default(),
            default: parameter.default.as_ref().map(ToString::to_string),
        }
    }
}

/// How many quizzes, questions and choices are shown.
const MAX_QUIZ: usize = 30;

fn quizzes(manifest: &str) -> Vec<QuizView> {
    let mut text = Cow::Borrowed("");
    let skill = prowess_format::read_bytes(manifest.as_bytes(), &mut text, Form::Markdown).skill;
    skill.quiz.iter().take(MAX_QUIZ).map(QuizView::of).collect()
}

impl QuizView {
    fn of(quiz: &Quiz) -> Self {
        let question = |question: &QuizQuestion| QuestionView {
            question: question.question.to_string(),
            options: question
                .options
                .iter()
                .take(MAX_QUIZ)
                .map(|option| option.label.clone())
                .collect(),
        };
        QuizView {
            title: quiz.title.clone().unwrap_or_else(|| "without a title".to_owned()),
            description: quiz.description.clone(),
            is_gate: quiz.gate,
            passing_score: format!("{} %", quiz.passing_score),
            questions: quiz.questions.iter().take(MAX_QUIZ).map(question).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preview_of_a_quiz_has_no_answers() {
        let manifest = include_str!("../../../../../examples/api-onboarding/SKILL.md");
        let shown = format!("{:?}", quizzes(manifest));
        assert!(
            shown.contains("The three traps") && shown.contains("Grams, as an integer"),
            "{shown}"
        );
        // Explanations and messages say which answer is right.
        for telling in ["correct", "The key tells the server", "Always an integer", "Right. Create"]
        {
            assert!(!shown.to_lowercase().contains(&telling.to_lowercase()), "{telling}");
        }
    }
}
