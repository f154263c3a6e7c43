//! A workflow: nodes that do something and edges that say what comes after what.

use std::time::Duration;

use prowess_format::span::Span;
use serde_json::{Value, json};

use super::expression::Expression;
use super::template::{ValueReference, WorkflowTemplate};

/// The version of the exchange format that we write.
const EXPORT_VERSION: u64 = 1;

/// A workflow as its author wrote it.
#[derive(Clone, Debug, PartialEq)]
pub struct Workflow {
    /// What it is called.
    pub name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// The nodes, in the order of the file. No two have the same id.
    pub nodes: Vec<WorkflowNode>,
    /// The edges between them. Both ends are there.
    pub edges: Vec<Edge>,
    /// The whole file, also what nobody here knows.
    pub(crate) document: Value,
}

/// A step.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkflowNode {
    /// How edges and templates call it.
    pub id: String,
    /// How people call it.
    pub label: Option<String>,
    /// What it does.
    pub task: Task,
    /// Where its id is written.
    pub place: Span,
}

/// What a node does.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// Takes an input of the workflow.
    Start {
        /// The name of the input.
        variable: String,
    },
    /// Asks a model.
    Llm(LlmNode),
    /// Runs a skill, or a tool of one.
    Skill(SkillUse),
    /// Looks something up.
    Knowledge {
        /// The knowledge base.
        base: SourceText,
    },
    /// Goes one way or the other.
    Condition {
        /// What decides.
        expression: Expression,
        /// Where it is written.
        text: SourceText,
    },
    /// Sends a request.
    Http(Box<HttpNode>),
    /// Runs Python that reaches nothing.
    Code(CodeNode),
    /// Gives an output of the workflow.
    End {
        /// The name of the output, or a template of it.
        output: EndOutput,
    },
}

/// What an `end` gives.
#[derive(Clone, Debug, PartialEq)]
pub enum EndOutput {
    /// What comes in, under this name; the node's id where there is none.
    Input(Option<String>),
    /// Something else.
    Template(SourceText, WorkflowTemplate),
}

/// A question to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct LlmNode {
    /// What the model is told before everything else.
    pub system: Option<(SourceText, WorkflowTemplate)>,
    /// 0.0 to 2.0.
    pub temperature: Option<f64>,
    /// Another model than the one of the run.
    pub model: Option<String>,
    /// A skill whose body is the system prompt (AFL §7.3).
    pub skill: Option<SkillUse>,
    /// Whether what was said before the workflow comes first.
    pub inherits_history: bool,
}

/// A skill and what it is given.
#[derive(Clone, Debug, PartialEq)]
pub struct SkillUse {
    /// `skill` or `skill/tool`.
    pub name: SourceText,
    /// What each input gets; empty for the default (AFL §7.3).
    pub mappings: Vec<InputMapping>,
}

/// What an input of a skill gets.
#[derive(Clone, Debug, PartialEq)]
pub struct InputMapping {
    /// The input.
    pub input: String,
    /// Where that is written.
    pub input_place: Span,
    /// What it gets.
    pub source: MappingSource,
    /// Where that is written.
    pub place: SourceText,
}

/// Where the value of an input comes from (AFL §7.3).
#[derive(Clone, Debug, PartialEq)]
pub enum MappingSource {
    /// The output of a node, or a part of it.
    Node(ValueReference),
    /// A text with references in it.
    Template(WorkflowTemplate),
    /// This value and no other: `concise` stays `concise`.
    Literal(Value),
}

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpNode {
    /// The method, in capitals.
    pub method: String,
    /// Where it goes.
    pub url: (SourceText, WorkflowTemplate),
    /// Its headers.
    pub headers: Vec<(String, SourceText, WorkflowTemplate)>,
    /// What is sent.
    pub body: Option<(SourceText, HttpBody)>,
    /// How long it may take.
    pub timeout: Duration,
    /// The part of a JSON answer that is the output.
    pub response_path: Option<(SourceText, Vec<String>)>,
}

/// What a request sends.
#[derive(Clone, Debug, PartialEq)]
pub enum HttpBody {
    /// A text.
    Text(WorkflowTemplate),
    /// JSON whose texts are templates: a value can't break out of its quotes.
    Json(JsonTemplate),
}

/// JSON with templates in the place of texts.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonTemplate {
    /// A value without any text in it.
    Value(Value),
    /// A text. One that is a lone reference becomes the value with its type.
    Text(WorkflowTemplate),
    /// A list.
    List(Vec<JsonTemplate>),
    /// An object.
    Object(Vec<(String, JsonTemplate)>),
}

/// Python that reaches nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct CodeNode {
    /// The program.
    pub code: SourceText,
    /// Its variables.
    pub variables: Vec<(String, SourceText, WorkflowTemplate)>,
    /// How long it may take.
    pub timeout: Duration,
    /// What it may use, in bytes.
    pub memory: u64,
}

/// What comes after what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The number of the node that it leaves.
    pub source: usize,
    /// The number of the node that it leads to.
    pub target: usize,
    /// Of a condition: the answer that it stands for. Without one it is taken either way.
    pub branch: Option<bool>,
    /// Where it is written.
    pub place: Span,
}

/// A text and where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    /// The text.
    pub value: String,
    /// The whole of it in the file.
    pub span: Span,
    /// Whether it stands there letter by letter, so that a part of it has a place of its own.
    pub(crate) verbatim: bool,
}

impl SourceText {
    /// The place of a part.
    pub(crate) fn part(&self, inner: Span) -> Span {
        // Behind the quote.
        if self.verbatim && !inner.is_empty() {
            inner.shift(self.span.start as usize + 1)
        } else {
            self.span
        }
    }
}

impl Task {
    /// The word of the file format.
    pub fn kind(&self) -> &'static str {
        match self {
            Task::Start { .. } => "start",
            Task::Llm(_) => "llm",
            Task::Skill(_) => "skill",
            Task::Knowledge { .. } => "knowledge",
            Task::Condition { .. } => "condition",
            Task::Http(_) => "http",
            Task::Code(_) => "code",
            Task::End { .. } => "end",
        }
    }

    /// Everything that the node refers to, and where.
    pub fn references(&self) -> Vec<(&ValueReference, Span)> {
        fn of<'t>(
            text: &'t SourceText,
            template: &'t WorkflowTemplate,
        ) -> impl Iterator<Item = (&'t ValueReference, Span)> {
            template.references().map(|(reference, span)| (reference, text.part(span)))
        }
        let mut found = Vec::new();
        match self {
            Task::Start { .. } | Task::Knowledge { .. } => {}
            Task::Llm(llm) => {
                found.extend(llm.system.iter().flat_map(|(text, template)| of(text, template)));
                llm.skill.iter().for_each(|skill| skill.references(&mut found));
            }
            Task::Skill(skill) => skill.references(&mut found),
            Task::Condition { expression, text } => {
                let all = expression.references().into_iter();
                found.extend(all.map(|(reference, span)| (reference, text.part(span))));
            }
            Task::Http(http) => {
                found.extend(of(&http.url.0, &http.url.1));
                found.extend(http.headers.iter().flat_map(|(_, text, it)| of(text, it)));
                match &http.body {
                    None => {}
                    Some((text, HttpBody::Text(template))) => found.extend(of(text, template)),
                    Some((text, HttpBody::Json(json))) => json.each(&mut |template| {
                        found.extend(template.references().map(|(it, _)| (it, text.span)));
                    }),
                }
            }
            Task::Code(code) => {
                found.extend(code.variables.iter().flat_map(|(_, text, it)| of(text, it)));
            }
            Task::End { output: EndOutput::Template(text, template) } => {
                found.extend(of(text, template));
            }
            Task::End { output: EndOutput::Input(_) } => {}
        }
        found
    }
}

impl SkillUse {
    fn references<'s>(&'s self, found: &mut Vec<(&'s ValueReference, Span)>) {
        for mapping in &self.mappings {
            match &mapping.source {
                MappingSource::Node(reference) => found.push((reference, mapping.place.span)),
                MappingSource::Template(template) => {
                    let all = template.references();
                    found.extend(all.map(|(it, span)| (it, mapping.place.part(span))));
                }
                MappingSource::Literal(_) => {}
            }
        }
    }

    /// Skill and tool.
    pub fn skill_and_tool(&self) -> (&str, Option<&str>) {
        match self.name.value.split_once('/') {
            Some((skill, tool)) => (skill, Some(tool)),
            None => (&self.name.value, None),
        }
    }
}

impl JsonTemplate {
    pub(crate) fn each<'t>(&'t self, visit: &mut dyn FnMut(&'t WorkflowTemplate)) {
        match self {
            JsonTemplate::Value(_) => {}
            JsonTemplate::Text(template) => visit(template),
            JsonTemplate::List(items) => items.iter().for_each(|item| item.each(visit)),
            JsonTemplate::Object(pairs) => pairs.iter().for_each(|(_, item)| item.each(visit)),
        }
    }
}

impl Workflow {
    /// The number of a node.
    pub fn position(&self, id: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.id == id)
    }

    /// The names of the inputs, in the order of the start nodes.
    pub fn inputs(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for node in &self.nodes {
            if let Task::Start { variable } = &node.task
                && !names.contains(&variable.as_str())
            {
                names.push(variable);
            }
        }
        names
    }

    /// Edges that lead to a node, in the order of the file.
    pub fn incoming(&self, node: usize) -> impl Iterator<Item = &Edge> {
        self.edges.iter().filter(move |edge| edge.target == node)
    }

    /// Edges that leave a node, in the order of the file.
    pub fn outgoing(&self, node: usize) -> impl Iterator<Item = &Edge> {
        self.edges.iter().filter(move |edge| edge.source == node)
    }

    /// The node whose words are the result, word for word, so that they can be shown while they come.
    pub fn speaker(&self) -> Option<&str> {
        let mut ends = self.nodes.iter().enumerate().filter(|(_, node)| node.task.kind() == "end");
        let (at, end) = ends.next().filter(|_| ends.next().is_none())?;
        let mut parents = self.incoming(at);
        let parent = parents.next().filter(|_| parents.next().is_none())?;
        let speaker = &self.nodes[parent.source];
        let speaks = matches!(&speaker.task, Task::Llm(_) | Task::Skill(_));
        match &end.task {
            Task::End { output: EndOutput::Input(_) } if speaks => Some(&speaker.id),
            _ => None,
        }
    }

    /// The file in the form in which other programs exchange workflows, with everything that it held.
    pub fn export(&self) -> Value {
        let has = |key| self.document.get(key).is_some_and(|value: &Value| !value.is_null());
        if has("workflow") {
            return self.document.clone();
        }
        if has("graph_data") || has("graphData") {
            return json!({ "version": EXPORT_VERSION, "workflow": self.document });
        }
        json!({
            "version": EXPORT_VERSION,
            "workflow": {
                "name": self.name,
                "description": self.description,
                "graph_data": self.document,
            },
        })
    }
}
