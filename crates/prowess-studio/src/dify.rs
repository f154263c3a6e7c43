//! Imports workflows: the exchange format of the specification as it is, and Dify's DSL as far as its nodes match.

use prowess_format::diagnostic::Findings;
use prowess_format::document::Document;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::problem::ApiProblem;

/// Something that an import could not carry over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Loss {
    pub(crate) node_id: Option<String>,
    /// The member of the file.
    pub(crate) path: String,
    pub(crate) message: String,
}

/// An imported workflow.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Import {
    /// The file in the exchange format.
    pub(crate) document: Value,
    pub(crate) format: &'static str,
    pub(crate) losses: Vec<Loss>,
}

/// Reads a file of either format.
pub(crate) fn import(text: &str) -> Result<Import, ApiProblem> {
    let invalid = |message: &str| ApiProblem::invalid("body", message);
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        let (workflow, found) = prowess_engine::workflow::read(text);
        let Some(workflow) = workflow else {
            let reason = found.first().map_or("", |found| found.message.as_str());
            return Err(invalid(&format!("The file is not a workflow: {reason}")));
        };
        let mut document = workflow.export();
        let about = &mut document["workflow"];
        // Some exports spell it in camel case.
        if about["graph_data"].is_null() && !about["graphData"].is_null() {
            about["graph_data"] = about["graphData"].take();
            if let Value::Object(members) = about {
                members.remove("graphData");
            }
        }
        if let Some(version) = value.get("version").filter(|version| **version != json!(1)) {
            let message = format!("Version {version} of the format is not supported, expected 1");
            return Err(ApiProblem::invalid("version", message));
        }
        let losses = unknown_nodes(&document);
        return Ok(Import { document, format: "agent-flow", losses });
    }
    let root = yaml(text).ok_or_else(|| invalid("The file is neither JSON nor YAML"))?;
    let graph = root["workflow"]["graph"].as_object();
    let Some(graph) = graph.filter(|_| root["kind"] == "app") else {
        return Err(invalid("The file is not a workflow of Dify: it has no `workflow.graph`"));
    };
    Ok(convert(&root, graph))
}

/// Nodes of types that are kept in the file and can't run.
fn unknown_nodes(document: &Value) -> Vec<Loss> {
    const KNOWN: &[&str] =
        &["start", "llm", "knowledge", "condition", "skill", "http", "code", "end"];
    let nodes = document["workflow"]["graph_data"]["nodes"].as_array();
    let unknown = nodes.into_iter().flatten().filter_map(|node| {
        let kind = node["type"].as_str().unwrap_or_default();
        let id = node["id"].as_str().map(str::to_owned);
        let path = format!("nodes.{}.type", id.as_deref().unwrap_or_default());
        let message = format!("there is no node type `{kind}`: the node is kept and can't run");
        (!KNOWN.contains(&kind)).then_some(Loss { node_id: id, path, message })
    });
    unknown.collect()
}

/// YAML as JSON, within the limits of front matter: depth, aliases, size.
fn yaml(text: &str) -> Option<Value> {
    let mut findings = Findings::default();
    let document = Document::yaml(text, &mut findings);
    let value = document.root.to_json();
    value.as_object().is_some_and(|root| !root.is_empty()).then_some(value)
}

fn convert(root: &Value, graph: &Map<String, Value>) -> Import {
    let mut losses = Vec::new();
    let list = |key: &str| graph.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let mut nodes = Vec::new();
    let mut conditions = Vec::new();
    for node in list("nodes") {
        let id = node["id"].as_str().map_or_else(|| node["id"].to_string(), str::to_owned);
        let data = &node["data"];
        let kind = data["type"].as_str().unwrap_or_default();
        let mut lose = |path: &str, message: String| {
            let path = format!("nodes.{id}.{path}");
            losses.push(Loss { node_id: Some(id.clone()), path, message });
        };
        if node["type"] == "custom-note" {
            lose("type", "notes are not carried over".to_owned());
            continue;
        }
        let converted = match kind {
            "start" => Some(start(data, &mut lose)),
            "llm" => Some(llm(data, &mut lose)),
            "knowledge-retrieval" => Some(knowledge(data, &mut lose)),
            "if-else" => {
                conditions.push(id.clone());
                Some(condition(data, &mut lose))
            }
            "http-request" => Some(http(data, &mut lose)),
            "code" => code(data, &mut lose),
            "end" | "answer" => Some(end(kind, data, &mut lose)),
            "template-transform" => {
                lose("type", "a template becomes an `llm` node, whose model repeats it".to_owned());
                let system = reference(data["template"].as_str().unwrap_or_default());
                Some(("llm", json!({ "systemPrompt": system })))
            }
            other => {
                lose("type", format!("there is no node that does what `{other}` does"));
                None
            }
        };
        let Some((kind, data)) = converted else { continue };
        let position = match &node["position"] {
            Value::Object(position) => Value::Object(position.clone()),
            _ => json!({ "x": 0, "y": 0 }),
        };
        nodes.push(json!({
            "id": id, "type": kind, "position": position,
            "label": node["data"]["title"].as_str().unwrap_or(kind), "data": data,
        }));
    }
    let is_kept = |id: &Value| nodes.iter().any(|node: &Value| node["id"] == *id);
    let mut edges = Vec::new();
    for (at, edge) in list("edges").iter().enumerate() {
        let id = edge["id"].as_str().map_or_else(|| format!("edge-{at}"), str::to_owned);
        if !is_kept(&edge["source"]) || !is_kept(&edge["target"]) {
            let message = "one of its nodes was not carried over".to_owned();
            losses.push(Loss { node_id: None, path: format!("edges.{id}"), message });
            continue;
        }
        let mut converted = json!({ "id": id, "source": edge["source"], "target": edge["target"] });
        let is_branch =
            edge["source"].as_str().is_some_and(|it| conditions.iter().any(|c| c == it));
        if is_branch {
            // Dify names the first case by an id, and the other `false`.
            let is_else = edge["sourceHandle"] == "false";
            converted["sourceHandle"] = if is_else { "false" } else { "true" }.into();
        }
        edges.push(converted);
    }
    let word = |key: &str| root["app"][key].as_str().unwrap_or_default();
    let document = json!({
        "version": 1,
        "workflow": {
            "name": word("name"), "description": word("description"),
            "graph_data": { "nodes": nodes, "edges": edges },
        },
    });
    Import { document, format: "dify", losses }
}

/// The type and the data of a node.
type ConvertedNode = (&'static str, Value);
type Lose<'l> = &'l mut dyn FnMut(&str, String);

fn start(data: &Value, lose: Lose<'_>) -> ConvertedNode {
    let variables = data["variables"].as_array().map_or(&[][..], Vec::as_slice);
    for extra in variables.iter().skip(1) {
        let name = extra["variable"].as_str().unwrap_or_default();
        lose(
            "data.variables",
            format!("a start node has one input: `{name}` needs one of its own"),
        );
    }
    let name = variables.first().and_then(|first| first["variable"].as_str()).unwrap_or("input");
    ("start", json!({ "inputVariable": name }))
}

fn llm(data: &Value, lose: Lose<'_>) -> ConvertedNode {
    let prompts = match &data["prompt_template"] {
        Value::Array(prompts) => prompts.clone(),
        Value::Object(prompt) => vec![Value::Object(prompt.clone())],
        _ => Vec::new(),
    };
    let texts: Vec<String> =
        prompts.iter().filter_map(|it| it["text"].as_str()).map(reference).collect();
    if texts.len() > 1 {
        lose("data.prompt_template", "several messages became one system prompt".to_owned());
    }
    for (member, what) in [("memory", "the memory"), ("vision", "images")] {
        if data[member]["enabled"] == true {
            lose(member, format!("{what} of an LLM node is not supported"));
        }
    }
    let mut converted = json!({ "systemPrompt": texts.join("\n\n") });
    let model = &data["model"];
    if let Some(temperature) = model["completion_params"]["temperature"].as_f64() {
        converted["temperature"] = temperature.into();
    }
    if let Some(name) = model["name"].as_str() {
        lose("data.model", format!("the model `{name}` is replaced by the default one"));
    }
    ("llm", converted)
}

fn knowledge(data: &Value, lose: Lose<'_>) -> ConvertedNode {
    let ids = data["dataset_ids"].as_array().map_or(&[][..], Vec::as_slice);
    if ids.len() > 1 {
        lose("data.dataset_ids", "only the first knowledge base is searched".to_owned());
    }
    let id = ids.first().and_then(Value::as_str).unwrap_or_default();
    lose("data.dataset_ids", "the knowledge base must be chosen again".to_owned());
    ("knowledge", json!({ "knowledgeBaseId": id }))
}

fn condition(data: &Value, lose: Lose<'_>) -> ConvertedNode {
    let cases = data["cases"].as_array().map_or(&[][..], Vec::as_slice);
    if cases.len() > 1 {
        lose("data.cases", "only the first case is carried over".to_owned());
    }
    let case = cases.first().unwrap_or(data);
    let joiner = if case["logical_operator"] == "or" { " || " } else { " && " };
    let conditions = case["conditions"].as_array().map_or(&[][..], Vec::as_slice);
    let mut parts = Vec::new();
    for condition in conditions {
        let selector = selector(&condition["variable_selector"]);
        let value = condition["value"].as_str().unwrap_or_default();
        let literal = format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"));
        let part = match condition["comparison_operator"].as_str().unwrap_or_default() {
            "contains" => format!("{selector}.includes({literal})"),
            "not contains" => format!("!{selector}.includes({literal})"),
            "is" | "=" => format!("{selector} == {literal}"),
            "is not" | "≠" => format!("{selector} != {literal}"),
            "empty" => format!("{selector} == ''"),
            "not empty" => format!("{selector} != ''"),
            ">" => format!("{selector} > {value}"),
            "<" => format!("{selector} < {value}"),
            "≥" => format!("{selector} >= {value}"),
            "≤" => format!("{selector} <= {value}"),
            other => {
                lose("data.cases", format!("the comparison `{other}` is not supported"));
                continue;
            }
        };
        parts.push(part);
    }
    let expression = if parts.is_empty() { "true".to_owned() } else { parts.join(joiner) };
    ("condition", json!({ "expression": expression }))
}

fn http(data: &Value, lose: Lose<'_>) -> ConvertedNode {
    let word = |key: &str| data[key].as_str().unwrap_or_default();
    let mut headers = Map::new();
    for line in word("headers").lines() {
        if let Some((name, value)) = line.split_once(':') {
            headers.insert(name.trim().to_owned(), reference(value.trim()).into());
        }
    }
    let mut url = reference(word("url"));
    let parameters: Vec<String> = word("params")
        .lines()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| format!("{}={}", name.trim(), reference(value.trim())))
        .collect();
    if !parameters.is_empty() {
        let separator = if url.contains('?') { '&' } else { '?' };
        url = format!("{url}{separator}{}", parameters.join("&"));
    }
    if data["authorization"]["type"].as_str().is_some_and(|kind| kind != "no-auth") {
        lose("data.authorization", "secrets are never imported: add the header again".to_owned());
    }
    let mut converted =
        json!({ "method": word("method").to_uppercase(), "url": url, "headers": headers });
    match &data["body"]["data"] {
        Value::String(body) if !body.is_empty() => converted["body"] = reference(body).into(),
        Value::Array(parts) => {
            let texts: Vec<String> =
                parts.iter().filter_map(|part| part["value"].as_str()).map(reference).collect();
            converted["body"] = texts.join("\n").into();
        }
        _ => {}
    }
    ("http", converted)
}

fn code(data: &Value, lose: Lose<'_>) -> Option<ConvertedNode> {
    if data["code_language"].as_str().is_some_and(|language| language != "python3") {
        lose("data.code_language", "only Python is supported".to_owned());
        return None;
    }
    lose(
        "data.code",
        "the program gets its input on standard input and prints its output: `main` is not called"
            .to_owned(),
    );
    Some(("code", json!({ "code": data["code"].as_str().unwrap_or_default() })))
}

fn end(kind: &str, data: &Value, lose: Lose<'_>) -> ConvertedNode {
    if kind == "answer" {
        let answer = reference(data["answer"].as_str().unwrap_or_default());
        return ("end", json!({ "outputVariable": answer }));
    }
    let outputs = data["outputs"].as_array().map_or(&[][..], Vec::as_slice);
    if outputs.len() > 1 {
        lose("data.outputs", "an end node has one output".to_owned());
    }
    let name = outputs.first().and_then(|first| first["variable"].as_str()).unwrap_or("output");
    ("end", json!({ "outputVariable": name }))
}

/// `{{#node.text#}}` to `{{node.output}}`.
fn reference(text: &str) -> String {
    let mut converted = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find("{{#") {
        let Some(end) = rest[begin..].find("#}}") else { break };
        converted.push_str(&rest[..begin]);
        let path: Vec<&str> = rest[begin + 3..begin + end].split('.').collect();
        converted.push_str(&inserted(&path));
        rest = &rest[begin + end + 3..];
    }
    converted + rest
}

fn selector(value: &Value) -> String {
    let path: Vec<&str> =
        value.as_array().map_or(&[][..], Vec::as_slice).iter().filter_map(Value::as_str).collect();
    inserted(&path)
}

/// A path as a reference. What a node says is its output, whatever Dify calls it.
fn inserted(path: &[&str]) -> String {
    match path {
        ["sys", name, ..] | [name] => format!("{{{{{name}}}}}"),
        [node, ..] => format!("{{{{{node}.output}}}}"),
        [] => String::new(),
    }
}

#[cfg(test)]
mod tests;
