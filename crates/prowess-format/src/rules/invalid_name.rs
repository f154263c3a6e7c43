//! `invalid-name`.

use crate::diagnostic::{Findings, Severity, rule};
use crate::dialect::NameStyle;
use crate::formats;
use crate::rules::Subject;
use crate::text::shorten;

rule! {
    /// ## What it does
    /// Flags a name outside the form its dialect allows.
    ///
    /// ## Why is this bad?
    /// The name becomes a directory, a command and a part of URLs (GIB §1.2, AFL §4, GAIA §2.3, SKL layer 1).
    ///
    /// ## Example
    /// `My_Skill` becomes `my-skill`.
    INVALID_NAME = "invalid-name", Error / Error, check
}

/// The tables of fields find most of it. Here: a canonical name that only GAIA §2.3 does not take, because it begins with a digit (R2).
fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(name) = subject
        .skill
        .name
        .as_ref()
        .filter(|_| subject.skill.dialect.name == NameStyle::LetterFirst)
    else {
        return;
    };
    if formats::check_name(name).is_ok()
        && let Err(problem) = formats::check_letter_first(name)
    {
        let message = format!(
            "`{}` is not a name for {}: {problem}",
            shorten(name, 64),
            subject.skill.dialect.title
        );
        findings.push(
            INVALID_NAME
                .at(name.span, message)
                .severity(Severity::Warning, Severity::Error)
                .help("begin it with a letter"),
        );
    }
}
