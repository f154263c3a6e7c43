//! Text utilities: shortening, similarity, names, visible forms.

use unicode_normalization::UnicodeNormalization as _;

/// The first `most` characters of a one-line rendering of `text`, with an ellipsis if it was
/// truncated.
pub fn shorten(text: &str, most: usize) -> String {
    let mut short = String::new();
    for (count, character) in text.chars().enumerate() {
        if count == most {
            short.push('…');
            break;
        }
        short.push(if character.is_whitespace() { ' ' } else { character });
    }
    short
}

/// The candidate closest to `word`, if it is close enough to be a likely typo. Ignores case, `_`
/// and spaces.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let mut wanted = [0; LONGEST_WORD];
    let wanted = plain_bytes(word, &mut wanted)?;
    let most = match wanted.len() {
        0..=2 => 0,
        3..=7 => 1,
        _ => 2,
    };
    let wanted_letters = letters(wanted);
    let mut best: Option<(usize, &'a str)> = None;
    for candidate in candidates {
        if candidate.len().abs_diff(wanted.len()) > most || candidate == word {
            continue;
        }
        let mut bytes = [0; LONGEST_WORD];
        let Some(bytes) = plain_bytes(candidate, &mut bytes) else { continue };
        // An edit changes at most two letters of the set, which excludes nearly all candidates at
        // once.
        if (letters(bytes) ^ wanted_letters).count_ones() as usize > 2 * most {
            continue;
        }
        let distance = distance(wanted, bytes, most);
        if distance <= most && best.is_none_or(|(known, _)| distance < known) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The bytes of a word, as a bit set of 64 in which several bytes share a bit.
fn letters(word: &[u8]) -> u64 {
    word.iter().fold(0, |set, byte| set | 1 << (byte & 63))
}

/// Maximum length of words to compare: keys and codes are short.
const LONGEST_WORD: usize = 64;

/// The word in lower case with hyphens, in a buffer on the stack: this runs for every unknown field of every file.
fn plain_bytes<'b>(word: &str, buffer: &'b mut [u8; LONGEST_WORD]) -> Option<&'b [u8]> {
    let bytes = word.as_bytes();
    let target = buffer.get_mut(..bytes.len())?;
    for (slot, byte) in target.iter_mut().zip(bytes) {
        *slot = match byte {
            b'_' | b' ' => b'-',
            other => other.to_ascii_lowercase(),
        };
    }
    Some(target)
}

/// The edit distance of two words in bytes (insert, delete, replace, swap neighbours), up to
/// `most`.
fn distance(a: &[u8], b: &[u8], most: usize) -> usize {
    if a == b {
        return 0;
    }
    if most == 0 {
        return 1;
    }
    let mut rows = [[0_usize; LONGEST_WORD + 1]; 3];
    for (column, cell) in rows[0].iter_mut().enumerate() {
        *cell = column;
    }
    for row in 1..=a.len() {
        let [above, current, two_above] = match row % 3 {
            1 => [0, 1, 2],
            2 => [1, 2, 0],
            _ => [2, 0, 1],
        };
        rows[current][0] = row;
        let mut smallest = row;
        for column in 1..=b.len() {
            let replace = rows[above][column - 1] + usize::from(a[row - 1] != b[column - 1]);
            let mut best = replace.min(rows[above][column] + 1).min(rows[current][column - 1] + 1);
            if row > 1 && column > 1 && a[row - 1] == b[column - 2] && a[row - 2] == b[column - 1] {
                best = best.min(rows[two_above][column - 2] + 1);
            }
            rows[current][column] = best;
            smallest = smallest.min(best);
        }
        if smallest > most {
            return most + 1;
        }
    }
    rows[a.len() % 3][b.len()]
}

/// A skill name from any text (AFL §4, "Normalization"): lower case, spaces to hyphens, other
/// characters dropped, hyphens collapsed and trimmed.
pub fn normalize_name(text: &str) -> String {
    let mut name = String::new();
    for character in text.to_lowercase().chars() {
        let next = match character {
            'a'..='z' | '0'..='9' => character,
            '-' => '-',
            _ if character.is_whitespace() => '-',
            _ => continue,
        };
        if next == '-' && name.ends_with('-') {
            continue;
        }
        name.push(next);
    }
    let name = name.trim_matches('-');
    if name.is_empty() { "skill".to_owned() } else { name.to_owned() }
}

/// A form of a name that is equal for names that look alike: compatibility characters composed (NFKC), in lower case.
pub fn comparable_name(name: &str) -> String {
    name.nfkc().flat_map(char::to_lowercase).collect()
}

/// The slug of a name that may contain underscores and dots: like [`normalize_name`], but
/// separators become hyphens (OC-8).
pub fn slug(text: &str) -> String {
    let spaced: String = text
        .chars()
        .map(
            |character| {
                if matches!(character, '_' | '.' | '/' | ':' | '|') { ' ' } else { character }
            },
        )
        .collect();
    let name = normalize_name(&spaced);
    let cut: String = name.chars().take(64).collect();
    cut.trim_end_matches('-').to_owned()
}

/// A message that nothing has this name, with a suggestion.
pub fn no_such(noun: &str, name: &str, known: &[String]) -> String {
    let name = shorten(name, 60);
    match closest(&name, known.iter().map(String::as_str)) {
        Some(similar) => format!("no {noun} is called `{name}` (did you mean `{similar}`?)"),
        None if known.is_empty() => format!("no {noun} is called `{name}`; there are none"),
        None => {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            format!("no {noun} is called `{name}`, expected {}", alternatives(&known))
        }
    }
}

/// A list in words: `` `a`, `b` or `c` ``.
pub fn alternatives(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => format!("`{one}`"),
        [init @ .., last] => format!(
            "{} or `{last}`",
            init.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
        ),
    }
}

/// A list in words without quotes: `a, b and c`.
pub fn enumeration(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [init @ .., last] => format!("{} and {last}", init.join(", ")),
    }
}

/// Whether a character is invisible, breaks the line or changes the direction of text. It is
/// escaped in all output for people.
pub fn is_deceptive(character: char) -> bool {
    matches!(
        character,
        // Zero-width characters, and changes of direction.
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{00ad}' | '\u{061c}' | '\u{180e}' | '\u{e0000}'..='\u{e007f}'
        // Unusual line breaks.
        | '\u{2028}' | '\u{2029}'
        // Invisible letters and marks: fillers, joiners, annotations, selectors other than those of
        // emoji.
        | '\u{034f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{3164}' | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0080}'..='\u{e0fff}'
    ) || (character.is_control() && !matches!(character, '\n' | '\t' | '\r'))
}

/// The text with every deceptive character as `\u{…}`: safe for a terminal.
pub fn visible(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.chars().any(is_deceptive) {
        return text.into();
    }
    text.chars()
        .map(|character| {
            if is_deceptive(character) {
                character.escape_unicode().to_string()
            } else {
                character.to_string()
            }
        })
        .collect::<String>()
        .into()
}

/// Like [`visible`], with line breaks escaped too, and everything that looks like a space and is none. A file name may
/// contain them.
pub fn visible_line(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.contains(|character| matches!(character, '\n' | '\r') || is_false_space(character)) {
        return visible(text);
    }
    let mut line = String::with_capacity(text.len());
    for character in visible(text).chars() {
        match character {
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            other if is_false_space(other) => line.extend(other.escape_unicode()),
            other => line.push(other),
        }
    }
    line.into()
}

/// Whether a character looks like a space: two names that differ in it look the same.
fn is_false_space(character: char) -> bool {
    matches!(
        character,
        '\u{a0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{2800}' | '\u{3000}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn false_spaces_are_visible_in_lines() {
        // Finding 20: two names that look the same.
        assert_eq!(visible_line("a\u{a0}b\u{2800}c d\n"), "a\\u{a0}b\\u{2800}c d\\n");
        assert_eq!(visible_line("plain text"), "plain text");
        assert_eq!(visible("Ça va\u{a0}?"), "Ça va\u{a0}?", "texts of several lines keep them");
    }
}
