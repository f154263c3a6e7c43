//! Line wrapping for a terminal, with an indent for continuation lines.

use unicode_width::UnicodeWidthStr as _;

/// Wraps a line between words; continuation lines are indented by `indent` columns.
///
/// Without a width, as in a pipe, nothing is wrapped. A word that is longer than a line stays whole, because paths and
/// commands are meant to be copied.
pub(crate) fn wrap(line: &str, indent: usize, width: Option<usize>) -> String {
    let Some(width) = width.filter(|width| columns(line) > *width) else { return line.to_owned() };
    let text = line.trim_start_matches(' ');
    let mut wrapped = line[..line.len() - text.len()].to_owned();
    let mut column = wrapped.len();
    let mut is_first = true;
    // Several spaces in a row are layout; they belong to the word after them.
    for word in words(text) {
        let length = columns(word);
        if !is_first && column + length > width {
            wrapped.push('\n');
            wrapped.push_str(&" ".repeat(indent));
            let word = word.trim_start_matches(' ');
            wrapped.push_str(word);
            column = indent + columns(word);
        } else {
            wrapped.push_str(word);
            column += length;
        }
        is_first = false;
    }
    wrapped
}

/// The words of a text, each with the spaces before it.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut in_word = false;
    for (at, character) in text.char_indices() {
        if character == ' ' && in_word {
            words.push(&text[start..at]);
            start = at;
        }
        in_word = character != ' ';
    }
    words.push(&text[start..]);
    words
}

/// The width of a text in columns, without escape sequences for colours.
fn columns(text: &str) -> usize {
    anstream::adapter::strip_str(text).map(str::width).sum()
}

#[cfg(test)]
mod tests {
    use super::wrap;

    fn check(line: &str, indent: usize, width: usize, expected: &str) {
        assert_eq!(wrap(line, indent, Some(width)), expected);
        assert_eq!(wrap(line, indent, None), line, "a pipe gets the line");
    }

    #[test]
    fn wraps_between_words() {
        check("one two three", 2, 13, "one two three");
        check("one two three", 2, 12, "one two\n  three");
        check("  + one two three", 4, 11, "  + one two\n    three");
        check("a name      with layout", 12, 20, "a name      with\n            layout");
        check("one averyveryverylongword two", 1, 8, "one\n averyveryverylongword\n two");
        check("   ", 1, 2, "   ");
        check("", 1, 2, "");
    }

    #[test]
    fn counts_wide_characters_twice_and_colours_not_at_all() {
        // Wide characters take two columns, and colours none.
        check("日本 日本", 0, 8, "日本\n日本");
        check("\u{1b}[1mbold\u{1b}[0m word", 0, 9, "\u{1b}[1mbold\u{1b}[0m word");
    }
}
