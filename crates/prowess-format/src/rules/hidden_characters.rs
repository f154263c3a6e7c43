//! `hidden-characters`.

use crate::diagnostic::{Edit, Findings, Fix, rule};
use crate::rules::Subject;
use crate::span::Span;
use crate::text::is_deceptive;

rule! {
    /// ## What it does
    /// Flags invisible or direction-changing characters in a name, a description or a key.
    ///
    /// ## Why is this bad?
    /// A person reads something else than a program.
    ///
    /// ## Example
    /// Remove them; `prowess check --fix` does it, except for escape sequences.
    HIDDEN_CHARACTERS = "hidden-characters", Warning / Warning, check
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let text = subject.document.text;
    for field in [&subject.skill.name, &subject.skill.description].into_iter().flatten() {
        let source = field.span.slice(text);
        // Most texts are plain ASCII or contain a few dashes and quotes: only those are decoded.
        let odd = field
            .value
            .bytes()
            .enumerate()
            .filter(|(_, byte)| (*byte < 0x20 || *byte >= 0x7f) && (*byte & 0xc0) != 0x80);
        let hidden = odd.filter_map(|(at, _)| {
            field.value[at..].chars().next().filter(|_| is_hidden(&field.value, at))
        });
        let names = names_of(hidden);
        if names.is_empty() {
            continue;
        }
        let message = format!("invisible characters: {names}");
        let edits = removals(source, field.span);
        // Characters written as escapes, such as `\\e`, can't be removed byte by byte.
        let diagnostic = match edits.first() {
            Some(first) => HIDDEN_CHARACTERS
                .at(first.span, message)
                .fix(Fix::safe("remove the invisible characters", edits)),
            None => HIDDEN_CHARACTERS.at(field.span, message),
        };
        findings.push(diagnostic.help("remove them"));
    }
    // A key that begins with a no-break space looks nested and is not.
    for entry in subject.document.root.entries.iter().filter(|entry| !entry.key.is_ascii()) {
        let odd = |character: &char| {
            is_deceptive(*character) || (character.is_whitespace() && !character.is_ascii())
        };
        let names = names_of(entry.key.chars().filter(odd));
        if !names.is_empty() {
            findings.push(
                HIDDEN_CHARACTERS
                    .at(
                        entry.key_span,
                        format!(
                            "the key `{}` contains invisible characters: {names}",
                            entry.key.trim()
                        ),
                    )
                    .help("indent with plain spaces"),
            );
        }
    }
}

/// Whether the character at an offset is invisible and has no business there. Joiners belong into emoji such as families and
/// into words of scripts that are written with them.
fn is_hidden(text: &str, at: usize) -> bool {
    let Some(character) = text[at..].chars().next().filter(|character| is_deceptive(*character))
    else {
        return false;
    };
    let before = text[..at].chars().next_back();
    let after = text[at + character.len_utf8()..].chars().next();
    let joins_words = before.is_some_and(uses_joiners) && after.is_some_and(uses_joiners);
    match character {
        '\u{200d}' => {
            let joins_emoji = before.is_some_and(is_emoji) && after.is_some_and(is_emoji);
            !joins_emoji && !joins_words
        }
        '\u{200c}' => !joins_words,
        // The tags of a flag of a region follow a black flag.
        '\u{e0020}'..='\u{e007f}' => {
            let flag = text[..at].trim_end_matches(|tag| matches!(tag, '\u{e0020}'..='\u{e007f}'));
            !flag.ends_with('\u{1f3f4}')
        }
        _ => true,
    }
}

/// Whether a character is an emoji, or a mark that follows one.
fn is_emoji(character: char) -> bool {
    matches!(character, '\u{fe0f}' | '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// Whether a letter is of a script in which joiners are a part of the spelling: Arabic and the scripts of India.
fn uses_joiners(character: char) -> bool {
    matches!(character, '\u{600}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefe}')
}

fn names_of(characters: impl Iterator<Item = char>) -> String {
    characters
        .take(4)
        .map(|character| format!("U+{:04X}", u32::from(character)))
        .collect::<Vec<_>>()
        .join(", ")
}

fn removals(source: &str, span: Span) -> Vec<Edit> {
    let hidden = source
        .char_indices()
        .filter(|(at, character)| is_hidden(source, *at) && !character.is_control());
    hidden
        .map(|(at, character)| {
            Edit::replace(Span::new(at, at + character.len_utf8()).shift(span.start as usize), "")
        })
        .collect()
}
