//! `hidden-characters`.

use crate::diagnostic::{Edit, Findings, Fix, rule};
use crate::rules::Subject;
use crate::span::Span;
use crate::text::is_deceptive;

rule! {
    /// ## What it does
    /// Flags invisible or direction-changing characters in a name or a description.
    ///
    /// ## Why is this bad?
    /// What a person reads differs from what a program sees.
    ///
    /// ## Example
    /// Remove them; `prowess check --fix` does it.
    HIDDEN_CHARACTERS = "hidden-characters", Warning / Warning, check
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for field in [&subject.skill.name, &subject.skill.description].into_iter().flatten() {
        let source = field.span.slice(subject.document.text);
        if source.is_ascii() {
            continue;
        }
        let hidden = source.char_indices().filter(|(_, character)| is_deceptive(*character) && !character.is_control());
        let edits: Vec<Edit> = hidden.map(|(at, character)| Edit::replace(Span::new(at, at + character.len_utf8()).shift(field.span.start as usize), "")).collect();
        let Some(first) = edits.first() else { continue };
        let names: Vec<String> = source.chars().filter(|character| is_deceptive(*character) && !character.is_control()).take(4).map(|character| format!("U+{:04X}", u32::from(character))).collect();
        let message = format!("invisible characters: {}", names.join(", "));
        findings.push(HIDDEN_CHARACTERS.at(first.span, message).help("remove them").fix(Fix::safe("remove the invisible characters", edits)));
    }
}
