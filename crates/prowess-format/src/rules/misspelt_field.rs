//! `misspelt-field`.

use crate::diagnostic::{Edit, Findings, Fix, rule};
use crate::rules::Subject;
use crate::shape::Unknown;

rule! {
    /// ## What it does
    /// Flags an unknown field that looks like a known one.
    ///
    /// ## Why is this bad?
    /// A misspelt field has no effect, and nobody tells the author.
    ///
    /// ## Example
    /// `user_invocable` becomes `user-invocable`.
    MISSPELT_FIELD = "misspelt-field", Warning / Warning, check
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    // A dialect that forbids or warns about unknown fields speaks for itself.
    if subject.skill.dialect.unknown == Unknown::Warned {
        return;
    }
    for &(entry, similar) in subject.unknown_fields() {
        let Some(similar) = similar.filter(|similar| !subject.document.root.has(similar)) else {
            continue;
        };
        let fix = Fix::suggested(
            format!("rename it to `{similar}`"),
            vec![Edit::replace(entry.key_span, similar)],
        );
        findings.push(
            MISSPELT_FIELD
                .at(entry.key_span, format!("`{}` has no effect", entry.key))
                .help(format!("did you mean `{similar}`?"))
                .fix(fix),
        );
    }
}
