//! A workflow: nodes, and edges that define their order.

use std::time::Duration;

use prowess_format::span::Span;
use serde_json::{Value, json};

use super::expression::Expression;
use super::template::{ValueReference, WorkflowTemplate};

/// The version of the exchange format that we write.
const EXPORT_VERSION: u64 = 1;

/// A parsed workflow.
#[derive(Clone, Debug, PartialEq)]
pub struct Workflow {
    /// The name.
    pub name: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The nodes, in the order of the file, with unique ids.
    pub nodes: Vec<WorkflowNode>,
    /// The edges. Both ends exist.
    pub edges: Vec<Edge>,
    /// The whole file, including unknown fields.
    pub(crate) document: Value,
}

/// A node of a workflow.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkflowNode {
    /// The id, to which edges and templates refer.
    pub id: String,
    /// The label for people.
    pub label: Option<String>,
    /// The task.
    pub task: Task,
    /// The position of its id in the file.
    pub place: Span,
}

/// The task of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Task {
    /// Takes an input of the workflow.
    Start {
        /// The name of the input.
        variable: String,
    },
    /// Asks a model.
    Llm(LlmNode),
    /// Runs a prompt skill, or a tool of a skill.
    Skill(SkillUse),
    /// Searches a knowledge base.
    Knowledge {
        /// The knowledge base.
        base: SourceText,
    },
    /// Chooses one of two branches.
    Condition {
        /// The condition.
        expression: Expression,
        /// The condition as written.
        text: SourceText,
    },
    /// Sends a request.
    Http(Box<HttpNode>),
    /// Runs Python without access to files or network.
    Code(CodeNode),
    /// Produces an output of the workflow.
    End {
        /// The name of the output, or a template for it.
        output: EndOutput,
    },
}

/// The output of an `end` node.
#[derive(Clone, Debug, PartialEq)]
pub enum EndOutput {
    /// The node's input, under this name; by default the node's id.
    Input(Option<String>),
    /// A rendered template.
    Template(SourceText, WorkflowTemplate),
}

/// A request to a model.
#[derive(Clone, Debug, PartialEq)]
pub struct LlmNode {
    /// The system prompt.
    pub system: Option<(SourceText, WorkflowTemplate)>,
    /// The temperature, 0.0 to 2.0.
    pub temperature: Option<f64>,
    /// Another model than that of the run.
    pub model: Option<String>,
    /// A skill whose body is the system prompt (AFL §7.3).
    pub skill: Option<SkillUse>,
    /// Whether the conversation before the workflow is included.
    pub inherits_history: bool,
}

/// A skill with its input mappings.
#[derive(Clone, Debug, PartialEq)]
pub struct SkillUse {
    /// `skill` or `skill/tool`.
    pub name: SourceText,
    /// The mapping of each input; empty for the default (AFL §7.3).
    pub mappings: Vec<InputMapping>,
}

/// The mapping of an input of a skill.
#[derive(Clone, Debug, PartialEq)]
pub struct InputMapping {
    /// The input.
    pub input: String,
    /// The position of the input's name.
    pub input_place: Span,
    /// The source of its value.
    pub source: MappingSource,
    /// The position of the source.
    pub place: SourceText,
}

/// The source of an input's value (AFL §7.3).
#[derive(Clone, Debug, PartialEq)]
pub enum MappingSource {
    /// The output of a node, or a part of it.
    Node(ValueReference),
    /// A template.
    Template(WorkflowTemplate),
    /// A literal value: `concise` stays `concise`.
    Literal(Value),
}

/// An HTTP request.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpNode {
    /// The method in upper case.
    pub method: String,
    /// The URL.
    pub url: (SourceText, WorkflowTemplate),
    /// The headers.
    pub headers: Vec<(String, SourceText, WorkflowTemplate)>,
    /// The body.
    pub body: Option<(SourceText, HttpBody)>,
    /// The timeout.
    pub timeout: Duration,
    /// The path of the output in a JSON response.
    pub response_path: Option<(SourceText, Vec<String>)>,
}

/// The body of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum HttpBody {
    /// Text.
    Text(WorkflowTemplate),
    /// JSON whose strings are templates: a value can't break out of its quotes.
    Json(JsonTemplate),
}

/// JSON with templates in place of strings.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonTemplate {
    /// A value without strings.
    Value(Value),
    /// A string. A lone reference becomes the value with its type.
    Text(WorkflowTemplate),
    /// A list.
    List(Vec<JsonTemplate>),
    /// An object.
    Object(Vec<(String, JsonTemplate)>),
}

/// A Python program without access to files or network.
#[derive(Clone, Debug, PartialEq)]
pub struct CodeNode {
    /// The program.
    pub code: SourceText,
    /// Its environment variables.
    pub variables: Vec<(String, SourceText, WorkflowTemplate)>,
    /// The timeout.
    pub timeout: Duration,
    /// The memory limit in bytes.
    pub memory: u64,
}

/// An edge between two nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The index of its source node.
    pub source: usize,
    /// The index of its target node.
    pub target: usize,
    /// The branch of a condition. Without one the edge is taken in both cases.
    pub branch: Option<bool>,
    /// The position in the file.
    pub place: Span,
}

/// A text with its position in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceText {
    /// The text.
    pub value: String,
    /// The span of the text in the file.
    pub span: Span,
    /// Whether it is written without escapes, so that parts of it have positions too.
    pub(crate) verbatim: bool,
}

impl SourceText {
    /// The span of a part.
    pub(crate) fn part(&self, inner: Span) -> Span {
        // After the opening quote.
        if self.verbatim && !inner.is_empty() {
            inner.shift(self.span.start as usize + 1)
        } else {
            self.span
        }
    }
}

impl Task {
    /// The name in the file format.
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

    /// All references of the node, with their positions.
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

    /// The names of the skill and the tool.
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
    /// The index of a node.
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

    /// The edges to a node, in the order of the file.
    pub fn incoming(&self, node: usize) -> impl Iterator<Item = &Edge> {
        self.edges.iter().filter(move |edge| edge.target == node)
    }

    /// The edges from a node, in the order of the file.
    pub fn outgoing(&self, node: usize) -> impl Iterator<Item = &Edge> {
        self.edges.iter().filter(move |edge| edge.source == node)
    }

    /// The node whose output is the result verbatim, so that it can be displayed while it is streamed.
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

    /// The file in the exchange format, with all its fields.
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
