//! `hidden-unicode`.

use crate::findings::Findings;
use crate::hidden::{self, Hidden};
use crate::rule::scan_rule;
use crate::severity::Severity;
use crate::subject::Subject;

scan_rule! {
    /// ## What it does
    /// Flags characters that nobody sees: tag characters and variation selectors that spell a text, zero-width characters that carry data or cut words apart, and characters that turn the direction of what is shown. No context lowers it.
    ///
    /// ## Why is this bad?
    /// A person reads something else than a model. Hidden text is the plainest sign that somebody has something to hide.
    ///
    /// ## Example
    /// Characters U+E0049 U+E0067 \u{2026}, which a model reads as `Ig\u{2026}`. Remove them.
    HIDDEN_UNICODE = "hidden-unicode", Critical, Concealment, check;
    matching: &[
        ("SKILL.md", "Weather\u{e0069}\u{e0067}\u{e006e}\u{e006f}\u{e0072}\u{e0065}\n"),
        ("SKILL.md", "t\u{200b}u\u{200b}r\u{200b}n off\n"),
        ("SKILL.md", "a \u{202e}sudo rm\u{202c} b\n"),
    ],
    clean: &[
        ("SKILL.md", "An emoji ❤️ and a family 👨\u{200d}👩\u{200d}👧.\n"),
    ],
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for document in subject.documents.iter().filter(|document| document.origin.is_none()) {
        let mut in_words = 0;
        for (hidden, range) in hidden::find(&document.text) {
            let (severity, message) = match &hidden {
                Hidden::Tags(_) => {
                    (Severity::Critical, "hides a text in tag characters".to_owned())
                }
                Hidden::Data(_) => {
                    (Severity::Critical, "hides data in characters that nobody sees".to_owned())
                }
                Hidden::Direction(character) => (
                    Severity::High,
                    format!(
                        "turns the direction of what is shown (U+{:04X})",
                        u32::from(*character)
                    ),
                ),
                Hidden::InWord(character) => {
                    in_words += 1;
                    // One may be left over from a page that was copied.
                    let severity = if in_words > 2 { Severity::High } else { Severity::Medium };
                    (
                        severity,
                        format!(
                            "has invisible characters inside words (U+{:04X})",
                            u32::from(*character)
                        ),
                    )
                }
            };
            findings.add(&HIDDEN_UNICODE, severity, &document.path, range, message);
        }
    }
}
