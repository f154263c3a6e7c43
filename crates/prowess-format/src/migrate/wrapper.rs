//! The `tools.py` of a migrated skill: one typed function for each tool, which calls the original handler (GAIA §8.2, step 5).

use std::fmt::Write as _;

use serde_json::Value;

use crate::scaffold::KEYWORDS;
use crate::skill::{Parameter, Tool};

/// What a wrapped tool does when it is called.
pub(super) enum Call {
    /// Calls a function in a Python file of the skill.
    Python {
        /// The file, relative to the skill's directory.
        path: String,
        /// The function.
        function: String,
    },
    /// Fails with the reason why there is nothing to call.
    Missing(String),
}

/// A tool of the wrapper.
pub(super) struct Wrapped {
    /// The tool as declared in the front matter.
    pub(super) tool: Tool,
    /// The handler's parameter names, in the same order.
    pub(super) arguments: Vec<String>,
    /// What the tool calls.
    pub(super) call: Call,
}

/// Helpers that the functions of a wrapper share.
const HELPERS: &str = r#"
_DIRECTORY = Path(__file__).resolve().parent
_MODULES: dict = {}


def _handler(path: str, function: str) -> Any:
    """Load a handler file of this skill once and return one of its functions."""
    if path not in _MODULES:
        file = _DIRECTORY / path
        name = f"openclaw_{len(_MODULES)}_{file.stem}"
        spec = importlib.util.spec_from_file_location(name, file)
        if spec is None or spec.loader is None:
            raise ImportError(f"{path} is not a Python file")
        # Handlers import their neighbours; appended, their folder hides no installed module.
        if str(file.parent) not in sys.path:
            sys.path.append(str(file.parent))
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        _MODULES[path] = module
    return getattr(_MODULES[path], function)


def _call(path: str, function: str, arguments: dict) -> Any:
    """Call a handler with the given arguments."""
    given = {name: value for name, value in arguments.items() if value is not None}
    result = _handler(path, function)(**given)
    return asyncio.run(result) if inspect.iscoroutine(result) else result
"#;

const AS_DICT: &str = r#"

def _as_dict(result: Any) -> dict:
    """Return the result of a handler as a dict."""
    return result if isinstance(result, dict) else {"result": result}
"#;

/// Maximum length of a line of Python that can be wrapped.
const WIDTH: usize = 100;

/// The text of `tools.py`.
pub(super) fn tools_py(name: &str, tools: &[Wrapped]) -> String {
    let mut functions = String::new();
    for tool in tools {
        function(&mut functions, tool);
    }
    let mut text =
        format!("\"\"\"Tools of the skill {name}, which call its original handlers.\"\"\"\n\n");
    let delegates = tools.iter().any(|tool| matches!(tool.call, Call::Python { .. }));
    if delegates {
        text.push_str("import asyncio\nimport importlib.util\nimport inspect\nimport sys\nfrom pathlib import Path\n");
    }
    match (delegates, functions.contains("Optional[")) {
        (true, true) => text.push_str("from typing import Any, Optional\n\n"),
        (true, false) => text.push_str("from typing import Any\n\n"),
        (false, true) => text.push_str("from typing import Optional\n\n"),
        (false, false) => {}
    }
    text.push_str("from gaia.agents.base.tools import tool\n");
    if delegates {
        text.push_str(HELPERS);
    }
    if functions.contains("_as_dict(") {
        text.push_str(AS_DICT);
    }
    text.push_str(&functions);
    text
}

fn function(text: &mut String, wrapped: &Wrapped) {
    let tool = &wrapped.tool;
    // Python requires parameters without a default first.
    let (needed, optional): (Vec<&Parameter>, Vec<&Parameter>) =
        tool.parameters.iter().partition(|parameter| parameter.required);
    let parameters: Vec<String> = needed.into_iter().chain(optional).map(declaration).collect();
    let returns = tool.returns.as_ref().and_then(|returns| returns["type"].as_str());
    let annotation = returns.map_or("dict", annotation);
    let docstring = docstring(&tool.description, &tool.name);
    let head = bracketed(
        &format!("def {}(", tool.name.value),
        &parameters,
        &format!(") -> {annotation}:"),
        0,
    );
    let _ = write!(text, "\n\n@tool\n{head}\n    {docstring}\n");
    match &wrapped.call {
        Call::Missing(why) => {
            let _ = writeln!(text, "    raise NotImplementedError({})", quoted(why));
        }
        Call::Python { path, function } => {
            let pairs: Vec<String> = tool
                .parameters
                .iter()
                .zip(&wrapped.arguments)
                .map(|(parameter, argument)| {
                    format!("{}: {}", quoted(argument), parameter.name.value)
                })
                .collect();
            let call = format!("_call({}, {}, {{", quoted(path), quoted(function));
            let (open, close) = match returns {
                Some(_) => (format!("    return {call}"), "})"),
                None => (format!("    return _as_dict({call}"), "}))"),
            };
            let _ = writeln!(text, "{}", bracketed(&open, &pairs, close, 4));
        }
    }
}

/// Formats a list between brackets, on one line if it fits.
fn bracketed(open: &str, items: &[String], close: &str, indent: usize) -> String {
    let line = format!("{open}{}{close}", items.join(", "));
    if items.is_empty() || line.chars().count() <= WIDTH {
        return line;
    }
    let pad = " ".repeat(indent);
    let lines: String = items.iter().fold(String::new(), |mut lines, item| {
        let _ = writeln!(lines, "{pad}    {item},");
        lines
    });
    format!("{open}\n{lines}{pad}{close}")
}

/// A text as a Python literal.
fn quoted(text: &str) -> String {
    literal(&Value::from(text))
}

/// `query: str`, `limit: int = 5` or `style: Optional[str] = None`.
fn declaration(parameter: &Parameter) -> String {
    let kind = annotation(&parameter.kind);
    match &parameter.default {
        _ if parameter.required => format!("{}: {kind}", parameter.name.value),
        Some(default) if !default.is_null() => {
            format!("{}: {kind} = {}", parameter.name.value, literal(default))
        }
        _ => format!("{}: Optional[{kind}] = None", parameter.name.value),
    }
}

/// The Python type of a JSON type.
fn annotation(kind: &str) -> &'static str {
    match crate::convert::json_type(kind) {
        "integer" => "int",
        "number" => "float",
        "boolean" => "bool",
        "array" => "list",
        "object" => "dict",
        _ => "str",
    }
}

/// A JSON value as a Python literal; only three keywords differ.
fn literal(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(_) | Value::String(_) => value.to_string(),
        Value::Array(items) => {
            format!("[{}]", items.iter().map(literal).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let pairs = map
                .iter()
                .map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), literal(value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
    }
}

fn docstring(description: &str, name: &str) -> String {
    let line = description.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = if line.is_empty() { format!("Run the action {name}.") } else { line };
    format!("\"\"\"{}\"\"\"", line.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Names that the wrapper uses itself.
const TAKEN: &[&str] = &[
    "tool",
    "Any",
    "Optional",
    "Path",
    "asyncio",
    "importlib",
    "inspect",
    "sys",
    "_handler",
    "_call",
    "_as_dict",
    "_DIRECTORY",
    "_MODULES",
    "None",
    "True",
    "False",
    "NotImplementedError",
];

/// A valid Python identifier: unchanged if the name is one.
pub(super) fn identifier(name: &str, prefix: &str) -> String {
    let mut plain: String = name
        .chars()
        .map(|character| if character.is_ascii_alphanumeric() { character } else { '_' })
        .collect();
    if plain.trim_matches('_').is_empty() {
        prefix.clone_into(&mut plain);
    }
    let odd = plain.starts_with(|first: char| first.is_ascii_digit());
    if odd || KEYWORDS.contains(&plain.as_str()) || TAKEN.contains(&plain.as_str()) {
        format!("{prefix}_{plain}")
    } else {
        plain
    }
}
