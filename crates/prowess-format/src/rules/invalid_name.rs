//! `invalid-name`.

use crate::diagnostic::{Findings, Severity, rule};
use crate::dialect::NameStyle;
use crate::formats;
use crate::rules::Subject;
use crate::specification::{AGENT_FLOW, AGENT_SKILLS, GAIA, GIBBERISH};
use crate::text::shorten;

rule! {
    /// ## What it does
    /// Flags a name that its dialect does not allow.
    ///
    /// ## Why is this bad?
    /// The name becomes a directory, a command and a part of URLs.
    ///
    /// ## Example
    /// `My_Skill` becomes `my-skill`.
    INVALID_NAME = "invalid-name", Error / Error, check;
    GIBBERISH.at("1.2"), AGENT_FLOW.at("4"), GAIA.at("2.3"), AGENT_SKILLS.at("Frontmatter")
}

/// Flags a canonical name that only GAIA §2.3 rejects, because it begins with a digit (R2). The
/// tables of fields check the rest.
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
            "`{}` is not a valid name for {}: {problem}",
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
