//! Mentions of skills in a message: `@skill text`, `@skill key=value`, and several skills for one text (specification §7.2).

use prowess_engine::{map_text, parse_mention};
use prowess_format::skill::Parameter;
use serde_json::{Map, Value};

/// Maximum number of skills in one message.
pub(crate) const MAX_SKILLS: usize = 6;

/// The skills that a message names, and the text for them; `None` for a message to the model itself.
///
/// After the first one only names of skills count: `@translate @ada said hello` has one.
pub(crate) fn mentions(
    message: &str,
    is_skill: impl Fn(&str) -> bool,
) -> Option<(Vec<&str>, &str)> {
    let Some((first, mut text)) = parse_mention(message) else {
        return alone(message).filter(|name| is_skill(name)).map(|name| (vec![name], ""));
    };
    let mut names = vec![first];
    while names.len() < MAX_SKILLS {
        match parse_mention(text).filter(|(name, _)| is_skill(name)) {
            Some((name, rest)) => {
                names.push(name);
                text = rest;
            }
            // A last mention without a text: a skill without inputs after others.
            None => match alone(text).filter(|name| is_skill(name)) {
                Some(name) => {
                    names.push(name);
                    text = "";
                    break;
                }
                None => break,
            },
        }
    }
    Some((names, text))
}

/// A message that is one mention and nothing else. The specification's pattern wants a text after it, which a skill without
/// inputs has no use for.
fn alone(message: &str) -> Option<&str> {
    let name = message.trim_end().strip_prefix('@')?;
    let is_name = !name.is_empty()
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'));
    is_name.then_some(name)
}

/// The values for a skill: those that are given, then `key=value` of declared inputs at the start of the text, then the
/// rest of the text for the first required input that has none, else for the first one without a value.
pub(crate) fn values(
    inputs: &[Parameter],
    text: &str,
    given: &Map<String, Value>,
) -> Map<String, Value> {
    let mut values = Map::new();
    let mut rest = text;
    while let Some((name, value, after)) = pair(rest) {
        // Anything else is text: `a=b` in an article is no parameter.
        if !inputs.iter().any(|input| input.name.value == name) {
            break;
        }
        values.insert(name.to_owned(), Value::from(value));
        rest = after.trim_start();
    }
    values.extend(given.iter().map(|(key, value)| (key.clone(), value.clone())));
    if !rest.is_empty() {
        let open: Vec<Parameter> = inputs
            .iter()
            .filter(|input| !values.contains_key(&input.name.value))
            .cloned()
            .collect();
        values.extend(map_text(&open, rest));
    }
    values
}

/// `name=value` or `name="some words"` at the start of a text, with what follows.
fn pair(text: &str) -> Option<(&str, String, &str)> {
    let (name, rest) = text.split_once('=')?;
    let is_name =
        !name.is_empty() && name.chars().all(|it| it.is_alphanumeric() || matches!(it, '_' | '-'));
    if !is_name {
        return None;
    }
    let Some(quoted) = rest.strip_prefix('"') else {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        return Some((name, rest[..end].to_owned(), &rest[end..]));
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((name, value, &quoted[at + 1..])),
            '\\' => value.push(characters.next().map_or('\\', |(_, escaped)| escaped)),
            other => value.push(other),
        }
    }
    // Without a closing quote it is text.
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn inputs(list: &[(&str, bool)]) -> Vec<Parameter> {
        let input = |(name, required): &(&str, bool)| {
            let mut parameter = Parameter { required: *required, ..Parameter::default() };
            (*name).clone_into(&mut parameter.name.value);
            parameter
        };
        list.iter().map(input).collect()
    }

    #[test]
    fn one_or_several_skills_are_named() {
        // AFL-7.2-1
        let check = |message: &str, expected: Option<(Vec<&str>, &str)>| {
            assert_eq!(mentions(message, |name| name != "ada"), expected, "{message:?}");
        };
        check("@a text", Some((vec!["a"], "text")));
        check("@a\ntext\nmore", Some((vec!["a"], "text\nmore")));
        check("@a @b text", Some((vec!["a", "b"], "text")));
        check("@a @b", Some((vec!["a", "b"], "")));
        check("@a @ada said", Some((vec!["a"], "@ada said")));
        check("@a me@b text", Some((vec!["a"], "me@b text")));
        check("hello @a text", None);
        check("@A text", None);
        check("@a ", Some((vec!["a"], "")));
        check("@ada", None);
        // An unknown skill is an error, and not a message to the model.
        check("@ada hello", Some((vec!["ada"], "hello")));
        check(&("@a ".repeat(9) + "text"), Some((vec!["a"; MAX_SKILLS], "@a @a @a text")));
    }

    #[test]
    fn text_and_pairs_become_inputs() {
        // AFL-7.2-2
        let given = Map::new();
        let check = |list: &[(&str, bool)], text: &str, expected: Value| {
            assert_eq!(Value::Object(values(&inputs(list), text, &given)), expected, "{text}");
        };
        let two = [("style", false), ("article", true)];
        check(&two, "Long text", json!({"article": "Long text"}));
        check(&two, "style=short Long text", json!({"style": "short", "article": "Long text"}));
        check(
            &two,
            "style=\"very \\\"short\\\"\" Long",
            json!({"style": "very \"short\"", "article": "Long"}),
        );
        check(&two, "article=\"no end", json!({"article": "article=\"no end"}));
        check(&two, "x=1 y=2", json!({"article": "x=1 y=2"}));
        check(&two, "article=a rest", json!({"article": "a", "style": "rest"}));
        check(&[("only", false)], "text", json!({"only": "text"}));
        check(&[], "text", json!({}));
        let given = json!({"article": "given"}).as_object().expect("an object").clone();
        assert_eq!(
            Value::Object(values(&inputs(&two), "rest", &given)),
            json!({"article": "given", "style": "rest"})
        );
    }
}
