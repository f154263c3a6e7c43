//! `unknown-field`.

use crate::diagnostic::{Findings, Severity, rule};
use crate::rules::{self, Subject};
use crate::shape::UnknownFields;
use crate::specification::{AGENT_SKILLS, GIBBERISH};

rule! {
    /// ## What it does
    /// Flags a field that no dialect of the file defines.
    ///
    /// ## Why is this bad?
    /// The open standard forbids it, gibb.eri.sh warns about it, others ignore it: either way it has no effect.
    ///
    /// ## Example
    /// Put it under `metadata`.
    UNKNOWN_FIELD = "unknown-field", Warning / Warning, check;
    GIBBERISH.at("9.2"), AGENT_SKILLS.at("Frontmatter")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let has_metadata = subject.skill.dialect.fields.iter().any(|field| field.name == "metadata");
    for &(entry, similar) in subject.unknown_fields() {
        // A misspelt field has its own finding.
        let told = [&rules::MISSPELT_FIELD, &rules::MISSING_FIELD];
        if told.iter().any(|rule| findings.has_at(rule, entry.key_span)) {
            continue;
        }
        let (severity, strict) = match subject.skill.dialect.unknown {
            UnknownFields::Kept => continue,
            UnknownFields::Warned => (Severity::Warning, Severity::Warning),
            // Don't report extensions of other tools if the dialect was detected.
            UnknownFields::Forbidden => (
                if subject.named_dialect { Severity::Warning } else { Severity::Info },
                Severity::Error,
            ),
        };
        let message = format!("`{}` is not a field of {}", entry.key, subject.skill.dialect.title);
        let help = match similar {
            Some(similar) => format!("did you mean `{similar}`?"),
            None if has_metadata => "remove it, or put it under `metadata`".to_owned(),
            None => "remove it; this dialect has no place for it".to_owned(),
        };
        findings
            .push(UNKNOWN_FIELD.at(entry.key_span, message).severity(severity, strict).help(help));
    }
}
