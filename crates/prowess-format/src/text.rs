//! Small things about text that several modules need: shortening, similarity, names, visible forms.

/// The first `most` characters of a one-line rendering of `text`, with an ellipsis where something was cut.
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

/// The candidate closest to `word`, when it is close enough to be a likely slip.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['_', ' '], "-");
    let wanted = plain(word);
    let most = match wanted.chars().count() {
        0..=2 => 0,
        3..=5 => 1,
        _ => 2,
    };
    candidates
        .into_iter()
        .map(|candidate| (distance(&wanted, &plain(candidate), most), candidate))
        .filter(|(distance, candidate)| *distance <= most && *candidate != word)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// How many single-character edits (insert, delete, replace, swap neighbours) lead from one word to the other; more than `most` is not told apart.
fn distance(a: &str, b: &str, most: usize) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().abs_diff(b.len()) > most || a.len() > 64 || b.len() > 64 {
        return most + 1;
    }
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    for (row, cells) in rows.iter_mut().enumerate() {
        cells[0] = row;
    }
    for column in 0..=b.len() {
        rows[0][column] = column;
    }
    for row in 1..=a.len() {
        for column in 1..=b.len() {
            let replace = rows[row - 1][column - 1] + usize::from(a[row - 1] != b[column - 1]);
            let mut best = replace.min(rows[row - 1][column] + 1).min(rows[row][column - 1] + 1);
            if row > 1 && column > 1 && a[row - 1] == b[column - 2] && a[row - 2] == b[column - 1] {
                best = best.min(rows[row - 2][column - 2] + 1);
            }
            rows[row][column] = best;
        }
    }
    rows[a.len()][b.len()]
}

/// A skill name from any text (AFL §4, "Normalization"): lower case, blanks to hyphens, other characters dropped, hyphens collapsed and trimmed.
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

/// The slug of a name that may hold underscores and dots: like [`normalize_name`], but separators become hyphens (OC-8).
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

/// Whether a character is invisible or changes the direction of text: shown as an escape wherever a person reads.
pub fn is_deceptive(character: char) -> bool {
    matches!(
        character,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{00ad}' | '\u{061c}' | '\u{180e}' | '\u{e0000}'..='\u{e007f}'
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
