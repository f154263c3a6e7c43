//! Mentions of skills in a chat: `@skill-name text` (AFL §7.2).

use std::time::Duration;

use prowess_format::skill::Parameter;
use serde_json::{Map, Value};

/// Time limit of a skill in a chat (AFL §7.2).
pub const CHAT_LIMIT: Duration = Duration::from_mins(3);

/// Parses a message that begins with a mention into the skill and the text: `^@([a-z0-9-]+)\s+(.+)$`, where the dot
/// also matches line breaks.
pub fn parse_mention(message: &str) -> Option<(&str, &str)> {
    let rest = message.strip_prefix('@')?;
    let end = rest
        .find(|character: char| !matches!(character, 'a'..='z' | '0'..='9' | '-'))
        .filter(|end| *end > 0)?;
    let (name, text) = rest.split_at(end);
    // The whitespace is greedy, but one character must be left for the text.
    let trimmed = text.trim_start();
    if trimmed.len() == text.len() {
        return None;
    }
    if trimmed.is_empty() {
        let (last, _) = text.char_indices().next_back().filter(|(at, _)| *at > 0)?;
        return Some((name, &text[last..]));
    }
    Some((name, trimmed))
}

/// Maps a text without a parameter name to the first required input, or else to the first one, or else to none (AFL
/// §7.2, §7.3).
pub fn map_text(inputs: &[Parameter], text: &str) -> Map<String, Value> {
    let input = inputs.iter().find(|input| input.required).or_else(|| inputs.first());
    let pair = input.map(|input| (input.name.value.clone(), Value::from(text)));
    pair.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentions_are_read() {
        // AFL-7.2-1
        let check = |message: &str, expected: Option<(&str, &str)>| {
            assert_eq!(parse_mention(message), expected, "{message:?}");
        };
        check("@article-summary This is long", Some(("article-summary", "This is long")));
        check("@a  two\nlines\n", Some(("a", "two\nlines\n")));
        check("@a\n\ttext", Some(("a", "text")));
        check("@2-b x", Some(("2-b", "x")));
        check("@a", None);
        check("@a ", None);
        // Python's backtracking leaves a space for the text.
        check("@a  ", Some(("a", " ")));
        check("@A x", None);
        check("@a_b x", None);
        check(" @a x", None);
        check("@ x", None);
        check("text @a x", None);
    }

    fn inputs(front_matter: &str) -> Vec<Parameter> {
        let text = format!(
            "---\nname: x\ndescription: X\ninputs:\n{front_matter}model:\n  temperature: 1\n---\n\nx\n"
        );
        prowess_format::check(&text, prowess_format::ReadOptions::DETECT).skill.inputs
    }

    #[test]
    fn a_text_goes_to_the_first_required_input() {
        // AFL-7.2-2
        let check = |front_matter: &str, expected: &[&str]| {
            let values = map_text(&inputs(front_matter), "text");
            let names: Vec<&str> = values.keys().map(String::as_str).collect();
            assert_eq!(names, expected, "{front_matter}");
            assert!(values.values().all(|value| value == "text"));
        };
        let [style, article, other] = ["style", "article", "other"];
        let optional = |name: &str| format!("  - name: {name}\n");
        let required = |name: &str| format!("  - name: {name}\n    required: true\n");
        check(&(optional(style) + &required(article) + &required(other)), &[article]);
        check(&(optional(style) + &optional(other)), &[style]);
        check("  []\n", &[]);
    }
}
