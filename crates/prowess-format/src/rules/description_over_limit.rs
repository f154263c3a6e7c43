//! `description-over-limit`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::specification::{GAIA, GIBBERISH, SKILLRT};

rule! {
    /// ## What it does
    /// Flags a description longer than its own dialect allows: 120 (skillrt), 200 (GAIA) or 256 (gibb.eri.sh) characters.
    ///
    /// ## Why is this bad?
    /// That dialect truncates or rejects longer ones; Prowess accepts up to 1,024 in every dialect, with a warning.
    ///
    /// ## Example
    /// Move details into the body.
    DESCRIPTION_OVER_LIMIT = "description-over-limit", Warning / Warning, check;
    SKILLRT.at("4.1"), GAIA.at("2.2"), GIBBERISH.at("2.2 and 9.2")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(description) = &subject.skill.description else { return };
    let limit = subject.skill.dialect.description;
    let length = description.chars().count();
    // 1,024 is the hard limit of every dialect and has its own rule.
    if length <= limit.most || limit.most >= 1024 {
        return;
    }
    let (severity, strict) = limit.severity;
    let message = format!(
        "the description has {length} characters, {} allows at most {}",
        subject.skill.dialect.title, limit.most
    );
    findings.push(
        DESCRIPTION_OVER_LIMIT
            .at(description.span, message)
            .severity(severity, strict)
            .help(format!("shorten it by {} characters ({})", length - limit.most, limit.section)),
    );
}
