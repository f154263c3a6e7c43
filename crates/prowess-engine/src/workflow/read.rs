//! From the text of a file to a workflow and what is wrong with it: both `{nodes, edges}` and the exchange format around it.

use std::collections::HashMap;
use std::time::Duration;

use prowess_format::diagnostic::{Diagnostic, Findings};
use prowess_format::json::{self, Json, JsonContent};
use prowess_format::span::Span;
use prowess_format::text::closest;
use serde_json::Value;

use super::expression::Expression;
use super::graph::{
    CodeNode, Edge, EndOutput, HttpBody, HttpNode, InputMapping, JsonTemplate, LlmNode,
    MappingSource, SkillUse, SourceText, Task, Workflow, WorkflowNode,
};
use super::rules;
use super::template::{ValueReference, WorkflowTemplate};

/// What a file may have. The largest that people show around have a few hundred nodes.
const MAX_BYTES: usize = 4 << 20;
/// The most nodes.
const MAX_NODES: usize = 1_000;
/// The most edges.
const MAX_EDGES: usize = 5_000;
/// How long a request or a program may take (AFL).
const MAX_SECONDS: u64 = 30;
/// What a program may use, in MB (AFL).
const MEMORY: std::ops::RangeInclusive<u64> = 64..=512;
/// What it may use when nothing is said.
const DEFAULT_MEMORY: u64 = 256;
/// The name of an input that has none (AFL).
const DEFAULT_INPUT: &str = "input";

const KINDS: &[&str] = &["start", "llm", "skill", "knowledge", "condition", "http", "code", "end"];
const METHODS: &[&str] = &["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];

/// Reads a workflow. Without one there is at least one error.
pub fn read(text: &str) -> (Option<Workflow>, Vec<Diagnostic>) {
    let mut reader = Reader { text, findings: Findings::default() };
    let workflow = reader.workflow();
    (workflow, reader.findings.into_sorted())
}

/// Something can't be read, and that has been told.
struct AlreadyReported;

struct Reader<'t> {
    text: &'t str,
    findings: Findings,
}

impl Reader<'_> {
    fn workflow(&mut self) -> Option<Workflow> {
        if self.text.len() > MAX_BYTES {
            let message = format!("the file has more than {} MiB", MAX_BYTES >> 20);
            self.findings.push(rules::TOO_LARGE.at(Span::at(0), message).help("split it"));
            return None;
        }
        let document = match json::parse(self.text) {
            Ok(document) => document,
            Err(error) => {
                let found = rules::NOT_JSON
                    .at(error.span, format!("this is not valid JSON: {}", error.message));
                self.findings.push(found.help("fix the JSON at this position"));
                return None;
            }
        };
        let about = document.get("workflow").unwrap_or(&document);
        let graph = about.get("graph_data").or_else(|| about.get("graphData")).unwrap_or(about);
        let nodes = self.list(graph, "nodes")?;
        let edges = self.list(graph, "edges")?;
        for (list, most, what) in [(nodes, MAX_NODES, "nodes"), (edges, MAX_EDGES, "edges")] {
            if list.len() > most {
                let message =
                    format!("there are {} {what}, but at most {most} are supported", list.len());
                self.findings
                    .push(rules::TOO_LARGE.at(graph.span, message).help("split the workflow"));
                return None;
            }
        }
        let ids: Vec<&str> =
            nodes.iter().filter_map(|node| node.get("id").and_then(Json::as_str)).collect();
        let nodes = self.nodes(nodes, &ids);
        let edges = self.edges(edges, &nodes, &ids);
        let text_of = |key| about.get(key).and_then(Json::as_str).map(str::to_owned);
        Some(Workflow {
            name: text_of("name"),
            description: text_of("description"),
            nodes,
            edges,
            document: document.to_value(),
        })
    }

    fn list<'j>(&mut self, graph: &'j Json, key: &str) -> Option<&'j [Json]> {
        match graph.get(key) {
            Some(Json { content: JsonContent::Array(items), .. }) => Some(items),
            Some(other) => {
                let message = format!("`{key}` is {}, expected a list", other.kind());
                self.findings.push(rules::FIELD_TYPE.at(other.span, message).help("write `[…]`"));
                None
            }
            None => {
                let message = format!("the list `{key}` is missing");
                let help = "a workflow is `{\"nodes\": […], \"edges\": […]}`, or that as `graph_data` of a `workflow`";
                let start = Span::new(graph.span.start as usize, graph.span.start as usize + 1);
                self.findings.push(rules::FIELD_MISSING.at(start, message).help(help));
                None
            }
        }
    }

    fn nodes(&mut self, list: &[Json], ids: &[&str]) -> Vec<WorkflowNode> {
        let mut first: HashMap<String, Span> = HashMap::new();
        let mut nodes = Vec::new();
        for node in list {
            let Ok(id) = self.text(node, "id", "a node") else { continue };
            if id.value.is_empty() {
                let found = rules::FIELD_MISSING.at(id.span, "the `id` of a node is empty");
                self.findings.push(found.help("give it a unique id"));
                continue;
            }
            if first.contains_key(&id.value) {
                let message = format!("another node has the id `{}`", id.value);
                let help = "change one of the ids, and update its edges";
                self.findings.push(rules::DUPLICATE_NODE.at(id.span, message).help(help));
                continue;
            }
            first.insert(id.value.clone(), id.span);
            let whole = format!("the node `{}`", id.value);
            let Ok(kind) = self.text(node, "type", &whole) else { continue };
            let data = match node.get("data") {
                Some(data) if !matches!(data.content, JsonContent::Object(_)) => {
                    self.wrong_type(data, "data", "an object");
                    continue;
                }
                Some(data) => data.clone(),
                None => Json { span: id.span, content: JsonContent::Object(Vec::new()) },
            };
            let Ok(task) = self.task(&kind, &data, &whole, ids) else { continue };
            let label = node.get("label").or_else(|| data.get("label"));
            let label = label.and_then(Json::as_str).map(str::to_owned);
            nodes.push(WorkflowNode { id: id.value, label, task, place: id.span });
        }
        nodes
    }

    fn edges(&mut self, list: &[Json], nodes: &[WorkflowNode], ids: &[&str]) -> Vec<Edge> {
        let numbers: HashMap<&str, usize> =
            nodes.iter().enumerate().map(|(number, node)| (node.id.as_str(), number)).collect();
        let mut edges = Vec::new();
        for edge in list {
            let ends = ["source", "target"].map(|end| {
                let id = self.text(edge, end, "an edge").ok()?;
                let found = numbers.get(id.value.as_str()).copied();
                // A node that could not be read has an error of its own, and its edges none.
                if found.is_none() && !ids.contains(&id.value.as_str()) {
                    let known = ids.iter().copied();
                    let message = format!("the node `{}` does not exist", id.value);
                    let help = closest(&id.value, known).map_or_else(
                        || "remove the edge, or add the node".to_owned(),
                        |similar| format!("did you mean `{similar}`?"),
                    );
                    self.findings.push(rules::DANGLING_EDGE.at(id.span, message).help(help));
                }
                found
            });
            let [Some(source), Some(target)] = ends else { continue };
            let is_condition = matches!(nodes[source].task, Task::Condition { .. });
            let handle = edge.get("sourceHandle").filter(|_| is_condition);
            let branch = match handle.map(|handle| (handle, handle.as_str())) {
                None => None,
                Some((_, Some("true"))) => Some(true),
                Some((_, Some("false"))) => Some(false),
                Some((handle, _)) => {
                    let message = "an edge of a condition must be for `true` or for `false`";
                    let help = "write `\"sourceHandle\": \"true\"` or `\"false\"`";
                    self.findings.push(rules::UNKNOWN_BRANCH.at(handle.span, message).help(help));
                    continue;
                }
            };
            edges.push(Edge { source, target, branch, place: edge.span });
        }
        edges
    }

    fn task(
        &mut self,
        kind: &SourceText,
        data: &Json,
        whole: &str,
        ids: &[&str],
    ) -> Result<Task, AlreadyReported> {
        Ok(match kind.value.as_str() {
            "start" => {
                let name = self.optional_text(data, "inputVariable")?;
                let name = name.filter(|name| !name.value.trim().is_empty());
                Task::Start { variable: name.map_or(DEFAULT_INPUT.to_owned(), |it| it.value) }
            }
            "llm" => Task::Llm(self.llm(data, ids)?),
            "skill" => Task::Skill(self.skill_use(data, whole, ids)?),
            "knowledge" => Task::Knowledge { base: self.filled(data, "knowledgeBaseId", whole)? },
            "condition" => {
                let text = self.filled(data, "expression", whole)?;
                match Expression::parse(&text.value) {
                    Ok(expression) => Task::Condition { expression, text },
                    Err(error) => {
                        let place = text.part(error.span);
                        let help = "an expression looks like `{{node.output}} === 'yes'`";
                        let found = rules::INVALID_EXPRESSION.at(place, error.message);
                        self.findings.push(found.help(help));
                        return Err(AlreadyReported);
                    }
                }
            }
            "http" => Task::Http(Box::new(self.http(data, whole)?)),
            "code" => Task::Code(self.code(data, whole)?),
            "end" => {
                let name = self.optional_text(data, "outputVariable")?;
                let name = name.filter(|name| !name.value.trim().is_empty());
                let output = match name {
                    Some(text) => {
                        let template = WorkflowTemplate::parse(&text.value);
                        if template.references().next().is_some() {
                            EndOutput::Template(text, template)
                        } else {
                            EndOutput::Input(Some(text.value))
                        }
                    }
                    None => EndOutput::Input(None),
                };
                Task::End { output }
            }
            other => {
                let message = format!("`{other}` is not a node type");
                let lower = other.to_lowercase();
                let same = KINDS.iter().copied().find(|kind| *kind == lower);
                let help = match same.or_else(|| closest(&lower, KINDS.iter().copied())) {
                    Some(similar) => format!("did you mean `{similar}`?"),
                    None => format!("the types are {}", KINDS.join(", ")),
                };
                self.findings.push(rules::UNKNOWN_NODE_TYPE.at(kind.span, message).help(help));
                return Err(AlreadyReported);
            }
        })
    }

    fn llm(&mut self, data: &Json, ids: &[&str]) -> Result<LlmNode, AlreadyReported> {
        // Each field is read before the first mistake ends the node, here and below: an author wants to know them all.
        let system = self.optional_text(data, "systemPrompt");
        let skill = self.optional_text(data, "skillName");
        let mappings = self.mappings(data, ids);
        let temperature = self.number(data, "temperature", 0.0..=2.0);
        let model = self.optional_text(data, "model");
        let inherits_history = self.flag(data, "inheritChatHistory");
        let system = system?.filter(|text| !text.value.trim().is_empty());
        let skill = skill?.filter(|name| !name.value.trim().is_empty());
        let mappings = mappings?;
        Ok(LlmNode {
            system: system.map(|text| (text.clone(), WorkflowTemplate::parse(&text.value))),
            temperature: temperature?,
            model: model?.map(|text| text.value).filter(|name| !name.trim().is_empty()),
            skill: skill.map(|name| SkillUse { name, mappings }),
            inherits_history: inherits_history?,
        })
    }

    fn skill_use(
        &mut self,
        data: &Json,
        whole: &str,
        ids: &[&str],
    ) -> Result<SkillUse, AlreadyReported> {
        let (name, mappings) = (self.filled(data, "skillName", whole), self.mappings(data, ids));
        Ok(SkillUse { name: name?, mappings: mappings? })
    }

    fn mappings(
        &mut self,
        data: &Json,
        ids: &[&str],
    ) -> Result<Vec<InputMapping>, AlreadyReported> {
        let Some(given) = data.get("inputMappings") else { return Ok(Vec::new()) };
        if !matches!(given.content, JsonContent::Object(_)) {
            self.wrong_type(given, "inputMappings", "an object");
            return Err(AlreadyReported);
        }
        let mapping = |entry: &json::JsonEntry| InputMapping {
            input: entry.key.clone(),
            input_place: entry.key_span,
            source: source_of(&entry.value, ids),
            place: self.placed(&entry.value, entry.value.as_str().unwrap_or_default()),
        };
        Ok(given.entries().iter().map(mapping).collect())
    }

    fn http(&mut self, data: &Json, whole: &str) -> Result<HttpNode, AlreadyReported> {
        let (url, method) = (self.filled(data, "url", whole), self.method(data));
        let (headers, timeout) = (self.texts(data, "headers"), self.seconds(data));
        let path = self.optional_text(data, "responsePath");
        let (url, method, headers) = (url?, method?, headers?);
        let address = WorkflowTemplate::parse(&url.value);
        let starts_right = ["http://", "https://"]
            .iter()
            .any(|start| url.value.trim_start().to_ascii_lowercase().starts_with(start));
        let first_is_reference =
            address.references().next().is_some_and(|(_, span)| span.start == 0);
        if !starts_right && !first_is_reference {
            let message = format!("`{}` is not a web address", url.value);
            let help = "begin with `https://` or `http://`";
            self.findings.push(rules::INVALID_REQUEST.at(url.span, message).help(help));
        }
        for (name, text, _) in &headers {
            if name.is_empty() || !name.bytes().all(is_header_byte) {
                let message = format!("`{name}` is not a valid header name");
                let help = "use letters, digits and hyphens";
                self.findings.push(rules::INVALID_REQUEST.at(text.span, message).help(help));
            }
        }
        let body = data.get("body").map(|body| match body.as_str() {
            Some(text) => (self.placed(body, text), HttpBody::Text(WorkflowTemplate::parse(text))),
            None => (self.placed(body, ""), HttpBody::Json(json_template(body))),
        });
        let body = body.filter(|(_, body)| *body != HttpBody::Text(WorkflowTemplate::default()));
        let path = path?.filter(|path| !path.value.trim().is_empty());
        if let Some(path) = path.as_ref().filter(|_| method == "HEAD") {
            let message = "a response to `HEAD` has no body for `responsePath`";
            let help = "use `GET`, or remove the path";
            self.findings.push(rules::PART_OF_TEXT.at(path.span, message).help(help));
        }
        let response_path = path.map(|path| {
            // `$.data.items[0].name`, as people write it too.
            let plain =
                path.value.trim().trim_start_matches('$').replace('[', ".").replace(']', "");
            let segments = plain.split('.').filter(|it| !it.is_empty()).map(str::to_owned);
            (path.clone(), segments.collect())
        });
        let url = (url, address);
        Ok(HttpNode { method, url, headers, body, timeout: timeout?, response_path })
    }

    fn method(&mut self, data: &Json) -> Result<String, AlreadyReported> {
        let Some(text) = self.optional_text(data, "method")? else { return Ok("GET".to_owned()) };
        let method = text.value.trim().to_uppercase();
        if !METHODS.contains(&method.as_str()) {
            let message = format!("`{}` is not a method", text.value);
            let help = format!("the methods are {}", METHODS.join(", "));
            self.findings.push(rules::INVALID_REQUEST.at(text.span, message).help(help));
            return Err(AlreadyReported);
        }
        Ok(method)
    }

    fn code(&mut self, data: &Json, whole: &str) -> Result<CodeNode, AlreadyReported> {
        let (code, variables) = (self.filled(data, "code", whole), self.texts(data, "env"));
        let timeout = self.seconds(data);
        let memory = self.whole_number(data, "memoryLimitMb", MEMORY)?.unwrap_or(DEFAULT_MEMORY);
        Ok(CodeNode { code: code?, variables: variables?, timeout: timeout?, memory: memory << 20 })
    }

    fn seconds(&mut self, data: &Json) -> Result<Duration, AlreadyReported> {
        let seconds = self.whole_number(data, "timeoutSeconds", 1..=MAX_SECONDS)?;
        Ok(Duration::from_secs(seconds.unwrap_or(MAX_SECONDS)))
    }

    /// An object of texts, numbers and booleans, as templates.
    fn texts(
        &mut self,
        data: &Json,
        key: &str,
    ) -> Result<Vec<(String, SourceText, WorkflowTemplate)>, AlreadyReported> {
        let Some(given) = data.get(key) else { return Ok(Vec::new()) };
        if !matches!(given.content, JsonContent::Object(_)) {
            self.wrong_type(given, key, "an object");
            return Err(AlreadyReported);
        }
        let mut all = Vec::new();
        for entry in given.entries() {
            let value = match &entry.value.content {
                JsonContent::String(text) => text.clone(),
                JsonContent::Bool(_) | JsonContent::Number(_) => entry.value.to_value().to_string(),
                JsonContent::Null => continue,
                JsonContent::Array(_) | JsonContent::Object(_) => {
                    self.wrong_type(&entry.value, &entry.key, "a string");
                    return Err(AlreadyReported);
                }
            };
            let template = WorkflowTemplate::parse(&value);
            all.push((entry.key.clone(), self.placed(&entry.value, &value), template));
        }
        Ok(all)
    }

    fn number(
        &mut self,
        data: &Json,
        key: &str,
        range: std::ops::RangeInclusive<f64>,
    ) -> Result<Option<f64>, AlreadyReported> {
        let Some(given) = data.get(key) else { return Ok(None) };
        let JsonContent::Number(number) = &given.content else {
            self.wrong_type(given, key, "a number");
            return Err(AlreadyReported);
        };
        match number.as_f64().filter(|number| range.contains(number)) {
            Some(number) => Ok(Some(number)),
            None => {
                self.out_of_range(given, key, range.start(), range.end());
                Err(AlreadyReported)
            }
        }
    }

    fn whole_number(
        &mut self,
        data: &Json,
        key: &str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<Option<u64>, AlreadyReported> {
        let Some(given) = data.get(key) else { return Ok(None) };
        let JsonContent::Number(number) = &given.content else {
            self.wrong_type(given, key, "a whole number");
            return Err(AlreadyReported);
        };
        match number.as_u64().filter(|number| range.contains(number)) {
            Some(number) => Ok(Some(number)),
            None => {
                self.out_of_range(given, key, range.start(), range.end());
                Err(AlreadyReported)
            }
        }
    }

    fn out_of_range(
        &mut self,
        given: &Json,
        key: &str,
        least: &impl ToString,
        most: &impl ToString,
    ) {
        let (least, most) = (least.to_string(), most.to_string());
        let message = format!("`{key}` is {}, expected {least} to {most}", given.to_value());
        let help = format!("write a number from {least} to {most}");
        self.findings.push(rules::FIELD_RANGE.at(given.span, message).help(help));
    }

    fn flag(&mut self, data: &Json, key: &str) -> Result<bool, AlreadyReported> {
        match data.get(key).map(|given| (given, &given.content)) {
            None => Ok(false),
            Some((_, JsonContent::Bool(value))) => Ok(*value),
            Some((given, _)) => {
                self.wrong_type(given, key, "a boolean");
                Err(AlreadyReported)
            }
        }
    }

    /// A text that has to be there and hold something.
    fn filled(
        &mut self,
        data: &Json,
        key: &str,
        whole: &str,
    ) -> Result<SourceText, AlreadyReported> {
        let text = self.text(data, key, whole)?;
        if text.value.trim().is_empty() {
            let found =
                rules::FIELD_MISSING.at(text.span, format!("the `{key}` of {whole} is empty"));
            self.findings.push(found.help(format!("give it a `{key}`")));
            return Err(AlreadyReported);
        }
        Ok(text)
    }

    /// A text that has to be there.
    fn text(
        &mut self,
        object: &Json,
        key: &str,
        whole: &str,
    ) -> Result<SourceText, AlreadyReported> {
        let text = self.optional_text(object, key)?;
        if text.is_none() {
            let found = rules::FIELD_MISSING.at(object.span, format!("{whole} has no `{key}`"));
            self.findings.push(found.help(format!("add `\"{key}\": \"…\"`")));
        }
        text.ok_or(AlreadyReported)
    }

    fn optional_text(
        &mut self,
        object: &Json,
        key: &str,
    ) -> Result<Option<SourceText>, AlreadyReported> {
        match object.get(key).map(|given| (given, given.as_str())) {
            None => Ok(None),
            Some((given, Some(text))) => Ok(Some(self.placed(given, text))),
            Some((given, None)) => {
                self.wrong_type(given, key, "a string");
                Err(AlreadyReported)
            }
        }
    }

    fn wrong_type(&mut self, given: &Json, key: &str, expected: &str) {
        let message = format!("`{key}` is {}, expected {expected}", given.kind());
        self.findings
            .push(rules::FIELD_TYPE.at(given.span, message).help(format!("write {expected}")));
    }

    fn placed(&self, json: &Json, value: &str) -> SourceText {
        let written = json.span.slice(self.text);
        let verbatim = written.len() == value.len() + 2 && written[1..].starts_with(value);
        SourceText { value: value.to_owned(), span: json.span, verbatim }
    }
}

/// AFL §7.3: a node's id, a template, or the value itself. A path such as `node.output.title` is a template whose braces
/// were left out, which the reference implementation allows; any other text means itself.
fn source_of(value: &Json, ids: &[&str]) -> MappingSource {
    let Some(text) = value.as_str() else { return MappingSource::Literal(value.to_value()) };
    let template = WorkflowTemplate::parse(text);
    if template.references().next().is_some() {
        return MappingSource::Template(template);
    }
    if ids.contains(&text) {
        return MappingSource::Node(ValueReference { segments: vec![text.to_owned()] });
    }
    match ValueReference::parse(text) {
        Some(reference)
            if ids.contains(&reference.root())
                && reference.segments.get(1).is_some_and(|it| it == "output") =>
        {
            MappingSource::Node(reference)
        }
        _ => MappingSource::Literal(Value::from(text)),
    }
}

fn json_template(json: &Json) -> JsonTemplate {
    match &json.content {
        JsonContent::Null | JsonContent::Bool(_) | JsonContent::Number(_) => {
            JsonTemplate::Value(json.to_value())
        }
        JsonContent::String(text) => JsonTemplate::Text(WorkflowTemplate::parse(text)),
        JsonContent::Array(items) => JsonTemplate::List(items.iter().map(json_template).collect()),
        JsonContent::Object(entries) => JsonTemplate::Object(
            entries.iter().map(|entry| (entry.key.clone(), json_template(&entry.value))).collect(),
        ),
    }
}

/// RFC 9110 §5.6.2: a token.
fn is_header_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
