//! Placeholders in commands, headers, prompts and arguments of tools. One pass each: what is put in is not looked at again.

use prowess_format::skill::HookHandler;
use serde_json::Value;

/// The program and the arguments of a command without a shell: placeholders are replaced in each as plain text.
///
/// `None` for a command that a shell runs. `folders` are names and values such as `CLAUDE_PROJECT_DIR`.
pub fn exec_words(handler: &HookHandler, folders: &[(&str, &str)]) -> Option<Vec<String>> {
    let arguments = handler.arguments.as_ref()?;
    let command = handler.action.as_ref()?.as_str();
    let replaced = |text: &str| {
        replace(text, |name| {
            let known = folders.iter().find(|(known, _)| *known == name);
            known.map(|(_, value)| (*value).to_owned())
        })
    };
    Some(
        std::iter::once(command)
            .chain(arguments.iter().map(String::as_str))
            .map(replaced)
            .collect(),
    )
}

/// The value of a header: `$NAME` and `${NAME}` become variables, those that are not allowed become empty.
pub fn header_value(
    text: &str,
    allowed: &[String],
    variable: impl Fn(&str) -> Option<String>,
) -> String {
    let value = |name: &str| {
        let is_allowed = allowed.iter().any(|known| known == name);
        is_allowed.then(|| variable(name)).flatten().unwrap_or_default()
    };
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let braced = after.strip_prefix('{').and_then(|inner| {
            let end = inner.find('}')?;
            is_name(&inner[..end]).then(|| (&inner[..end], end + 2))
        });
        let plain = || {
            let end = after
                .find(|it: char| !(it.is_ascii_alphanumeric() || it == '_'))
                .unwrap_or(after.len());
            is_name(&after[..end]).then(|| (&after[..end], end))
        };
        match braced.or_else(plain) {
            Some((name, length)) => {
                out.push_str(&value(name));
                rest = &after[length..];
            }
            None => {
                out.push('$');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    // A variable with a line break would be another header.
    out.chars().filter(|it| !it.is_control()).collect()
}

fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(|it| it.is_ascii_alphabetic() || it == '_')
        && characters.all(|it| it.is_ascii_alphanumeric() || it == '_')
}

/// The text for a model: `$ARGUMENTS` becomes the input, which is appended where the prompt has no place for it. A
/// backslash takes the meaning from a `$`.
pub fn prompt_text(prompt: &str, input: &str) -> String {
    const PLACE: &str = "$ARGUMENTS";
    let mut out = String::with_capacity(prompt.len() + input.len());
    let mut has_place = false;
    let mut rest = prompt;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        if let Some(before) = before.strip_suffix('\\') {
            out.push_str(before);
            out.push('$');
            rest = &from[1..];
        } else if let Some(after) = from.strip_prefix(PLACE) {
            out.push_str(before);
            out.push_str(input);
            has_place = true;
            rest = after;
        } else {
            out.push_str(before);
            out.push('$');
            rest = &from[1..];
        }
    }
    out.push_str(rest);
    if !has_place {
        out.push_str("\n\n");
        out.push_str(input);
    }
    out
}

/// The arguments of a tool of a server: `${path}` in texts becomes a value of the hook's input.
pub fn tool_arguments(arguments: &Value, input: &Value) -> Value {
    match arguments {
        Value::String(text) => Value::String(replace(text, |path| {
            let found = path.split('.').try_fold(input, |value, key| match value {
                Value::Array(items) => items.get(key.parse::<usize>().ok()?),
                other => other.get(key),
            });
            Some(match found {
                Some(Value::String(text)) => text.clone(),
                None | Some(Value::Null) => String::new(),
                Some(other) => other.to_string(),
            })
        })),
        Value::Array(items) => items.iter().map(|item| tool_arguments(item, input)).collect(),
        Value::Object(map) => Value::Object(
            map.iter().map(|(key, value)| (key.clone(), tool_arguments(value, input))).collect(),
        ),
        other => other.clone(),
    }
}

/// Replaces `${name}` where a value is known; everything else stays.
fn replace(text: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        out.push_str(&rest[..at]);
        let inner = &rest[at + 2..];
        let Some(end) = inner.find('}') else {
            rest = &rest[at..];
            break;
        };
        match value(&inner[..end]) {
            Some(value) => out.push_str(&value),
            None => out.push_str(&rest[at..at + end + 3]),
        }
        rest = &inner[end + 1..];
    }
    out.push_str(rest);
    out
}
