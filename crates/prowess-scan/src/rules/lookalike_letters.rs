//! `lookalike-letters`.

use crate::findings::Findings;
use crate::hidden;
use crate::rule::scan_rule;
use crate::severity::Severity;
use crate::subject::Subject;

scan_rule! {
    /// ## What it does
    /// Flags words in which letters of two alphabets look alike.
    ///
    /// ## Why is this bad?
    /// Such a word passes filters that look for it, and is another name than the one that a person reads.
    ///
    /// ## Example
    /// `Ignоre` with a Cyrillic `о`.
    LOOKALIKE_LETTERS = "lookalike-letters", Medium, Concealment, check;
    matching: &[
        ("SKILL.md", "Ignоre this.\n"),
    ],
    clean: &[
        ("SKILL.md", "Привет, world. α-particle.\n"),
    ],
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for document in subject.documents.iter().filter(|document| document.origin.is_none()) {
        let words = hidden::mixed_words(&document.text);
        let severity = if words.len() >= 3 && document.kind == crate::input::FileKind::Markdown {
            Severity::High
        } else {
            Severity::Medium
        };
        for range in words {
            findings.add(
                &LOOKALIKE_LETTERS,
                severity,
                &document.path,
                range,
                "mixes letters that look alike in one word",
            );
        }
    }
}
