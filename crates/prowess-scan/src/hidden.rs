//! Characters that nobody sees, and what they spell.

use std::ops::Range;

/// Whether a character takes no place, turns the direction of a text, or is otherwise not seen.
pub(crate) fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// What hidden characters are used for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hidden {
    /// Tag characters that spell a text (U+E0020 to U+E007E).
    Tags(String),
    /// Characters whose order is data: variation selectors, or long runs of two kinds of zero-width ones.
    Data(String),
    /// Characters that turn the direction of what is shown.
    Direction(char),
    /// Zero-width characters inside words of letters that need none.
    InWord(char),
}

/// The fewest hidden characters in a row that are data.
const DATA_RUN: usize = 8;
/// The fewest visible letters that tags have to spell.
const TAG_RUN: usize = 3;

/// Finds hidden characters, each with its place.
pub(crate) fn find(text: &str) -> Vec<(Hidden, Range<usize>)> {
    let mut found: Vec<(Hidden, Range<usize>)> = Vec::new();
    if text.is_ascii() {
        return found;
    }
    let has_right_to_left = text.chars().any(is_right_to_left);
    let mut characters = text.char_indices().peekable();
    let mut before: Option<char> = None;
    while let Some((at, character)) = characters.next() {
        if !is_invisible(character) {
            before = Some(character);
            continue;
        }
        let mut run = vec![character];
        let mut end = at + character.len_utf8();
        while let Some((next_at, next)) =
            characters.peek().copied().filter(|(_, next)| is_invisible(*next))
        {
            run.push(next);
            end = next_at + next.len_utf8();
            characters.next();
        }
        let after = characters.peek().map(|(_, next)| *next);
        if let Some(hidden) = judge(&run, before, after, has_right_to_left) {
            let is_text = matches!(hidden, Hidden::Tags(_) | Hidden::Data(_));
            if found.len() < MAX_FOUND || is_text && found.len() < MAX_TEXTS {
                found.push((hidden, at..end));
            }
        }
        before = None;
    }
    found
}

/// How many places are reported, and how many of those that spell a text.
const MAX_FOUND: usize = 64;
const MAX_TEXTS: usize = 1_000;

fn judge(
    run: &[char],
    before: Option<char>,
    after: Option<char>,
    has_right_to_left: bool,
) -> Option<Hidden> {
    let tags: String = run.iter().filter_map(|character| tag(*character)).collect();
    // The tags of a flag of a region follow a black flag, and are few.
    let is_flag = before == Some('\u{1f3f4}') && tags.len() <= 8;
    if tags.len() >= TAG_RUN && !is_flag {
        return Some(Hidden::Tags(tags));
    }
    let selectors: Vec<u8> = run.iter().filter_map(|character| selector(*character)).collect();
    if selectors.len() >= DATA_RUN / 2 {
        return Some(Hidden::Data(String::from_utf8_lossy(&selectors).into_owned()));
    }
    let zero_width = run.iter().filter(|character| matches!(character, '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}'));
    let zero_width: Vec<char> = zero_width.copied().collect();
    if zero_width.len() >= DATA_RUN
        && zero_width.iter().any(|character| *character != zero_width[0])
    {
        return Some(Hidden::Data(bits(&zero_width)));
    }
    if !has_right_to_left
        && let Some(direction) = run.iter().find(|character| {
            matches!(
                character,
                '\u{202a}' | '\u{202b}' | '\u{202d}' | '\u{202e}' | '\u{2066}'..='\u{2068}'
            )
        })
    {
        return Some(Hidden::Direction(*direction));
    }
    let is_letter = |character: Option<char>| {
        character.is_some_and(|character| character.is_ascii_alphabetic())
    };
    let inside = run.iter().find(|character| {
        matches!(
            character,
            '\u{200b}' | '\u{200c}' | '\u{200d}' | '\u{2060}'
                ..='\u{2064}' | '\u{feff}' | '\u{34f}' | '\u{180e}'
        )
    });
    inside
        .filter(|_| is_letter(before) && is_letter(after))
        .map(|character| Hidden::InWord(*character))
}

fn tag(character: char) -> Option<char> {
    let code = u32::from(character).checked_sub(0xe0000)?;
    char::from_u32(code).filter(|plain| (' '..='~').contains(plain))
}

/// The byte that a variation selector stands for, as smuggled data is encoded. The two selectors of ordinary emoji are
/// none.
fn selector(character: char) -> Option<u8> {
    match u32::from(character) {
        code @ 0xfe00..=0xfe0d => u8::try_from(code - 0xfe00).ok(),
        code @ 0xe0100..=0xe01ef => u8::try_from(code - 0xe0100 + 16).ok(),
        _ => None,
    }
}

/// The bytes of two kinds of characters that are zeros and ones, in the reading that has letters.
fn bits(characters: &[char]) -> String {
    let zero = characters[0];
    for is_first_zero in [true, false] {
        let bytes: Vec<u8> = characters
            .chunks_exact(8)
            .map(|byte| {
                byte.iter()
                    .fold(0, |byte, bit| byte << 1 | u8::from((*bit == zero) != is_first_zero))
            })
            .collect();
        if !bytes.is_empty() && bytes.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ') {
            return String::from_utf8_lossy(&bytes).into_owned();
        }
    }
    String::new()
}

fn is_right_to_left(character: char) -> bool {
    matches!(character, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}')
}

/// The words of a text in which letters of two alphabets look alike, each with its place.
pub(crate) fn mixed_words(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if text.is_ascii() {
        return found;
    }
    let mut start = None;
    let (mut latin, mut foreign, mut other) = (0, 0, 0);
    for (at, character) in text.char_indices().chain(std::iter::once((text.len(), ' '))) {
        if character.is_alphanumeric() {
            start.get_or_insert(at);
            if character.is_ascii_alphabetic() {
                latin += 1;
            } else if crate::confusables::is_foreign_lookalike(character) {
                foreign += 1;
            } else if !character.is_ascii() {
                other += 1;
            }
            continue;
        }
        if let Some(start) = start.take()
            && latin >= 2
            && foreign >= 1
            && other == 0
            && found.len() < MAX_FOUND
        {
            found.push(start..at);
        }
        (latin, foreign, other) = (0, 0, 0);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_emoji_hide_nothing() {
        assert_eq!(
            find(
                "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} ok \u{2764}\u{fe0f}"
            ),
            []
        );
    }

    #[test]
    fn tags_are_read() {
        let hidden: String =
            "hi you".chars().filter_map(|c| char::from_u32(0xe0000 + u32::from(c))).collect();
        let text = format!("a{hidden}b");
        assert_eq!(find(&text), [(Hidden::Tags("hi you".to_owned()), 1..1 + hidden.len())]);
    }

    #[test]
    fn one_foreign_letter_makes_a_mixed_word() {
        assert_eq!(mixed_words("an Ignоre и пример").len(), 1);
    }
}
