//! Finds what a conversion lost by comparing the facets of the source with those of the written
//! text.

use serde_json::{Map, Value};

use super::Loss;
use super::carry::Kept;
use super::facets::{facets, is_nothing};
use super::nouns::words;
use crate::dialect::Dialect;
use crate::skill::Skill;
use crate::template;
use crate::text::shorten;

/// Whether a value equals the default.
type IsDefault = fn(&Value) -> bool;

/// The defaults of facets: an explicit default that the target can't express is not a loss.
const DEFAULTS: &[(&str, IsDefault)] = &[
    ("read_only", is_false),
    ("always_ask", is_false),
    ("network", is_false),
    ("invocation.disable_model_invocation", is_false),
    ("invocation.mode", is_false),
    ("invocation.background", is_false),
    ("openclaw.always", is_false),
    ("invocation.user_invocable", |value| value == &Value::Bool(true)),
    ("invocation.command_arg_mode", |value| value == "raw"),
    ("runtime.type", |value| value == "markdown-skill"),
    ("modes", |value| {
        value.as_array().is_some_and(|modes| modes.iter().all(|mode| mode == "Global"))
    }),
    ("timeout_secs", |value| value == 30),
    ("license", |value| value == "UNLICENSED"),
    ("version", |value| value == "0.0.0"),
    ("security_tier", |value| value == "experimental"),
];

fn is_false(value: &Value) -> bool {
    value == &Value::Bool(false)
}

/// Lists everything that `before` declares and that is missing or different in `after`. What is
/// kept in the file for another reader is only a note, except for tools: a tool that can't be
/// called is a loss.
pub(super) fn losses(
    before: &Skill,
    after: &Skill,
    to: &Dialect,
    kept: &[Kept],
    notes: &mut Vec<String>,
) -> Vec<Loss> {
    let written: Vec<(&str, Value)> = facets(after);
    let mut losses = Vec::new();
    let mut elsewhere: Vec<(&str, Vec<&str>)> = Vec::new();
    for (facet, value) in facets(before) {
        let now =
            written.iter().find(|(name, _)| *name == facet).map_or(&Value::Null, |(_, now)| now);
        let mut found = Vec::new();
        compare(facet, &value, now, to, &mut found);
        let place = kept.iter().find(|kept| kept.facet == facet).map(|kept| kept.place.as_str());
        match place {
            Some(place) if !found.is_empty() && facet != "tools" => {
                let (one, many) = words(facet);
                let word = if value.is_array() { many } else { one };
                match elsewhere.iter_mut().find(|(known, _)| *known == place) {
                    Some((_, facets)) => facets.push(word),
                    None => elsewhere.push((place, vec![word])),
                }
            }
            Some(place) => {
                losses.extend(found.into_iter().map(|loss| Loss {
                    detail: format!("{}; declared {place}", loss.detail),
                    ..loss
                }));
            }
            None => losses.extend(found),
        }
    }
    notes.extend(
        elsewhere.into_iter().map(|(place, facets)| format!("kept {place}: {}", facets.join(", "))),
    );
    losses
}

fn compare(facet: &'static str, before: &Value, now: &Value, to: &Dialect, losses: &mut Vec<Loss>) {
    match facet {
        "body" => losses.extend(body(before, now, to)),
        "permissions" => permissions(before, now, to, losses),
        "tools" | "inputs" | "hooks" | "requirements.skills" => {
            named(facet, before, now, to, losses);
        }
        "metadata" | "extra" | "openclaw.extra" | "sampling" => {
            entries(facet, before, now, to, losses);
        }
        _ if is_nothing(now) => {
            let default = DEFAULTS.iter().any(|(name, is)| *name == facet && is(before));
            if !default {
                losses.push(gone(facet, before, to));
            }
        }
        _ => match (before, now) {
            // A list in one dialect is one line in another (R42 to R44).
            (Value::Array(items), Value::Array(left)) if joined(items) == joined(left) => {}
            (Value::Array(items), Value::Array(left)) => {
                let missing: Vec<&Value> =
                    items.iter().filter(|item| !left.contains(item)).collect();
                if !missing.is_empty() {
                    losses.push(Loss {
                        field: facet.to_owned(),
                        detail: format!("{} can't be carried", shown_list(&missing)),
                    });
                }
            }
            _ if same(before, now) => {}
            _ => losses.push(Loss {
                field: facet.to_owned(),
                detail: format!("{} is written as {}", shown(before), shown(now)),
            }),
        },
    }
}

fn joined(items: &[Value]) -> String {
    items.iter().map(as_text).collect::<Vec<_>>().join(", ")
}

/// Whether two values are equal, comparing numbers by value.
fn same(before: &Value, now: &Value) -> bool {
    match (before.as_f64(), now.as_f64()) {
        (Some(before), Some(now)) => (before - now).abs() < f64::EPSILON,
        _ => before == now,
    }
}

/// Reports a facet that the target lacks: "2 tools can't be carried: agent-flow has no tools".
fn gone(facet: &'static str, value: &Value, to: &Dialect) -> Loss {
    let (one, many) = words(facet);
    let reason = match (facet, to.id) {
        ("tools", "gaia") => "tools of gaia are Python functions".to_owned(),
        ("tools", "openclaw") => "tools of openclaw are handler files".to_owned(),
        ("tools", "gibberish" | "tool-pack") => format!("tools of {} are commands", to.id),
        _ if value.is_array() => format!("{} has no {many}", to.id),
        _ => format!("{} has no {one}", to.id),
    };
    let detail = match value.as_array().map_or(1, Vec::len) {
        1 => format!("the {one} can't be carried: {reason}"),
        count => format!("{count} {many} can't be carried: {reason}"),
    };
    Loss { field: facet.to_owned(), detail }
}

/// Formats a value for a sentence, shortened.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("`{}`", shorten(text, 60)),
        other => format!("`{}`", shorten(&other.to_string(), 60)),
    }
}

fn shown_list(values: &[&Value]) -> String {
    let mut words: Vec<String> = values.iter().take(5).map(|value| shown(value)).collect();
    if values.len() > words.len() {
        words.push(format!("{} more", values.len() - words.len()));
    }
    words.join(", ")
}

/// Compares permissions; one that grants nothing equals no permission (GAIA §3: no implicit
/// grants).
fn permissions(before: &Value, now: &Value, to: &Dialect, losses: &mut Vec<Loss>) {
    let grants = |value: &Value| -> Vec<Value> {
        let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
        let grants =
            items.iter().filter(|item| item.as_str().is_some_and(|text| !text.ends_with(":none")));
        grants.cloned().collect()
    };
    let (before, now) = (grants(before), grants(now));
    let missing: Vec<&Value> = before.iter().filter(|grant| !now.contains(grant)).collect();
    if missing.is_empty() {
        return;
    }
    losses.push(if now.is_empty() && !to.fields.iter().any(|field| field.name == "permissions") {
        gone("permissions", &Value::Array(missing.into_iter().cloned().collect()), to)
    } else {
        Loss {
            field: "permissions".to_owned(),
            detail: format!(
                "{} can't be expressed in {}, so it is not granted",
                shown_list(&missing),
                to.id
            ),
        }
    });
}

/// Compares named things: which are gone, and what changed in the others.
fn named(facet: &'static str, before: &Value, now: &Value, to: &Dialect, losses: &mut Vec<Loss>) {
    let empty = Vec::new();
    let before = before.as_array().unwrap_or(&empty);
    let now = now.as_array().unwrap_or(&empty);
    let name = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
    let (mut missing, mut taken) = (Vec::new(), Vec::new());
    for thing in before {
        let at = now.iter().enumerate().position(|(at, other)| {
            !taken.contains(&at)
                && (name(other) == name(thing)
                    || (facet == "tools"
                        && name(other) == super::carry::command_tool_name(&name(thing))))
        });
        let Some(at) = at else {
            missing.push(&thing["name"]);
            continue;
        };
        taken.push(at);
        let (one, _) = words(facet);
        let path = format!("{facet}.{}", name(thing));
        parts(&path, &format!("the {one} `{}`", name(thing)), thing, &now[at], losses);
    }
    if !missing.is_empty() && now.is_empty() {
        losses.push(gone(facet, &Value::Array(missing.into_iter().cloned().collect()), to));
    } else if !missing.is_empty() {
        let detail = format!("{} can't be carried", shown_list(&missing));
        losses.push(Loss { field: facet.to_owned(), detail });
    }
}

/// Compares the parts of one named thing.
fn parts(path: &str, owner: &str, before: &Value, now: &Value, losses: &mut Vec<Loss>) {
    let (Value::Object(before), Value::Object(now)) = (before, now) else { return };
    for (key, value) in before {
        let other = now.get(key).unwrap_or(&Value::Null);
        let field = format!("{path}.{key}");
        match (key.as_str(), value) {
            ("parameters", Value::Array(parameters)) => {
                for parameter in parameters {
                    let name = parameter["name"].as_str().unwrap_or_default();
                    let found = other.as_array().and_then(|others| {
                        others.iter().find(|other| other["name"] == parameter["name"])
                    });
                    let path = format!("{field}.{name}");
                    match found {
                        Some(found) => parts(
                            &path,
                            &format!("the parameter `{name}` of {owner}"),
                            parameter,
                            found,
                            losses,
                        ),
                        None => losses.push(Loss {
                            field: path,
                            detail: format!("{owner} loses its parameter `{name}`"),
                        }),
                    }
                }
            }
            ("extra", Value::Object(more)) => {
                let left = other.as_object().cloned().unwrap_or_default();
                for (key, value) in more.iter().filter(|(key, value)| left.get(*key) != Some(value))
                {
                    losses.push(Loss {
                        field: format!("{path}.{key}"),
                        detail: format!(
                            "{owner} loses `{key}: {}`",
                            shorten(&value.to_string(), 40)
                        ),
                    });
                }
            }
            // `text`, `textarea` and `string` are one type with different widgets (R13).
            ("type", _) if plain_type(value) == plain_type(other) => {}
            // A default that became text along with its type is unchanged.
            ("default", _) if as_text(value) == as_text(other) => {}
            ("required", Value::Bool(false)) => {}
            _ if same(value, other) => {}
            _ if is_nothing(other) => losses.push(Loss {
                field,
                detail: format!("{owner} loses its {}: {}", key.replace('_', " "), shown(value)),
            }),
            _ => losses.push(Loss {
                field,
                detail: format!(
                    "{owner} changes its {} from {} to {}",
                    key.replace('_', " "),
                    shown(value),
                    shown(other)
                ),
            }),
        }
    }
}

fn plain_type(value: &Value) -> &str {
    match value.as_str().unwrap_or_default() {
        "text" | "textarea" => "string",
        other => other,
    }
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn entries(facet: &'static str, before: &Value, now: &Value, to: &Dialect, losses: &mut Vec<Loss>) {
    let empty = Map::new();
    let before = before.as_object().unwrap_or(&empty);
    let now = now.as_object().unwrap_or(&empty);
    for (key, value) in before {
        let field = if facet == "extra" { key.clone() } else { format!("{facet}.{key}") };
        match now.get(key) {
            Some(other) if same(value, other) => {}
            Some(other) => losses.push(Loss {
                field,
                detail: format!("{} is written as {}", shown(value), shown(other)),
            }),
            None => losses.push(Loss {
                field,
                detail: format!("`{key}` can't be carried: {} has no place for it", to.id),
            }),
        }
    }
}

/// Checks that the body is still there, ignoring surrounding text and the spacing of placeholders.
fn body(before: &Value, now: &Value, to: &Dialect) -> Option<Loss> {
    let plain = |value: &Value| {
        let text = value.as_str().unwrap_or_default().replace("\r\n", "\n");
        template::tighten(&text).trim().to_owned()
    };
    let (before, now) = (plain(before), plain(now));
    let loss = |detail: String| Some(Loss { field: "body".to_owned(), detail });
    if now.contains(&before) {
        None
    } else if now.is_empty() {
        loss(format!("the text of the body can't be carried: {} has no body", to.id))
    } else {
        loss("the body was changed".to_owned())
    }
}
