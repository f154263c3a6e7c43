//! Detects that a server silently truncated a conversation, as Ollama does.

use prowess_core::{Message, ModelRequest, Usage};

/// Maximum average number of bytes per token of any tokenizer. English has about four, code three, Chinese three per
/// character; runs of spaces may have more, so they are counted once.
const MAX_BYTES_PER_TOKEN: u64 = 8;
/// Below this size a conversation fits everywhere, and an estimate is unreliable.
const MIN_BYTES: u64 = 4096;

/// Returns a warning if the provider counted far fewer tokens than were sent.
pub fn looks_truncated(request: &ModelRequest, usage: &Usage) -> Option<String> {
    let mut bytes = request.system.as_deref().map_or(0, weight);
    for message in &request.messages {
        bytes += match message {
            Message::User(text) => weight(text),
            Message::Assistant { text, .. } => weight(text),
            Message::ToolResult { content, .. } => weight(content),
        };
    }
    let fewest = bytes / MAX_BYTES_PER_TOKEN;
    // A server that does not count tokens reports zero.
    if bytes < MIN_BYTES || usage.input == 0 || usage.input >= fewest {
        return None;
    }
    Some(format!(
        "the model seems to have read only a part: {} tokens were counted, and {bytes} bytes make \
         at least {fewest}; give the server a longer context (Ollama: `OLLAMA_CONTEXT_LENGTH`)",
        usage.input
    ))
}

/// The size of a text in bytes, with repeated characters counted once: tokenizers have tokens for rulers and
/// indentation.
fn weight(text: &str) -> u64 {
    let mut before = None;
    let mut weight = 0;
    for character in text.chars() {
        if before != Some(character) {
            weight += character.len_utf8() as u64;
        }
        before = Some(character);
    }
    weight
}

#[cfg(test)]
mod tests {
    use prowess_core::{Message, ModelRequest, Usage};

    use super::looks_truncated;

    #[test]
    fn a_warning_needs_a_count_that_can_not_be() {
        // 20,000 bytes of English, about 4,500 tokens.
        let long = "the quick brown fox ".repeat(1000);
        let blank = " ".repeat(100_000);
        for (text, input, warned) in [
            (long.as_str(), 4500, false),
            (&long, 2500, false),
            (&long, 2048, true),
            (&long, 0, false),
            ("short", 1, false),
            (&blank, 500, false),
        ] {
            let request = ModelRequest {
                messages: vec![Message::User(text.to_owned())],
                ..ModelRequest::default()
            };
            let warning = looks_truncated(&request, &Usage { input, output: 1 });
            assert_eq!(warning.is_some(), warned, "{} bytes, {input} tokens", text.len());
        }
    }

    #[test]
    fn the_warning_says_what_to_do() {
        let request = ModelRequest {
            system: Some("word ".repeat(2000)),
            messages: vec![Message::ToolResult { id: "1".to_owned(), content: "x y".repeat(2000) }],
            ..ModelRequest::default()
        };
        let warning = looks_truncated(&request, &Usage { input: 1000, output: 1 });
        insta::assert_snapshot!(warning.expect("16,000 bytes are more than 1,000 tokens"));
    }
}
