//! `misspelt-field`.

use crate::diagnostic::{Edit, Findings, Fix, Severity, rule};
use crate::rules::{self, Subject};
use crate::shape::UnknownFields;

rule! {
    /// ## What it does
    /// Flags an unknown field that looks like a known one.
    ///
    /// ## Why is this bad?
    /// A misspelt field silently has no effect.
    ///
    /// ## Example
    /// `user_invocable` becomes `user-invocable`.
    MISSPELT_FIELD = "misspelt-field", Warning / Warning, check
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    // A dialect that forbids or warns about unknown fields has its own finding.
    if subject.skill.dialect.unknown == UnknownFields::Warned {
        return;
    }
    // A standard that forbids other fields forbids this one.
    let strict = match subject.skill.dialect.unknown {
        UnknownFields::Forbidden => Severity::Error,
        UnknownFields::Kept | UnknownFields::Warned => Severity::Warning,
    };
    for &(entry, similar) in subject.unknown_fields() {
        let Some(similar) = similar.filter(|similar| !subject.document.root.has(similar)) else {
            continue;
        };
        // If the right field is missing, that is reported at the same position with the same help.
        if findings.has_at(&rules::MISSING_FIELD, entry.key_span) {
            continue;
        }
        let fix = Fix::suggested(
            format!("rename it to `{similar}`"),
            vec![Edit::replace(entry.key_span, similar)],
        );
        findings.push(
            MISSPELT_FIELD
                .at(entry.key_span, format!("`{}` has no effect", entry.key))
                .severity(Severity::Warning, strict)
                .help(format!("did you mean `{similar}`?"))
                .fix(fix),
        );
    }
}
