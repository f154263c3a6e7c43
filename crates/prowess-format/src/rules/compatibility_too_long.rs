//! `compatibility-too-long`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::specification::AGENT_SKILLS;

rule! {
    /// ## What it does
    /// Flags a `compatibility` of more than 500 characters.
    ///
    /// ## Why is this bad?
    /// The open standard allows 500.
    ///
    /// ## Example
    /// State the requirement briefly and explain it in the body.
    COMPATIBILITY_TOO_LONG = "compatibility-too-long", Error / Error, check;
    AGENT_SKILLS.at("Frontmatter")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    if !subject.skill.has_layer("agent-skills") {
        return;
    }
    let length: usize = subject.skill.compatibility.iter().map(|text| text.chars().count()).sum();
    if let Some(first) = subject.skill.compatibility.first().filter(|_| length > 500) {
        findings.push(
            COMPATIBILITY_TOO_LONG
                .at(
                    first.span,
                    format!("`compatibility` has {length} characters, at most 500 are allowed"),
                )
                .help(format!("shorten it by {} characters", length - 500)),
        );
    }
}
