//! Splits the text that a user typed after a skill's name into arguments.

/// Splits like a shell: spaces separate, quotes group, a backslash escapes the next character.
///
/// An apostrophe in prose opens a quote that never closes; such a text is split at spaces only.
pub(super) fn split(text: &str) -> Vec<String> {
    split_quoted(text).unwrap_or_else(|| text.split_whitespace().map(str::to_owned).collect())
}

fn split_quoted(text: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (Some(open), _) if open == character => quote = None,
            (None, _) if character.is_whitespace() => words.extend(word.take()),
            (None, '\\') => word.get_or_insert_default().push(characters.next().unwrap_or('\\')),
            // Inside double quotes a backslash escapes only special characters.
            (Some('"'), '\\') if matches!(characters.peek(), Some('"' | '\\')) => {
                word.get_or_insert_default().extend(characters.next());
            }
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}
