//! `no-tools`.

use crate::diagnostic::{Findings, Severity, rule};
use crate::rules::Subject;
use crate::span::Span;
use crate::specification::{GAIA, GIBBERISH};

rule! {
    /// ## What it does
    /// Flags a skill of a tool dialect that defines no tool.
    ///
    /// ## Why is this bad?
    /// gibb.eri.sh and GAIA require at least one.
    ///
    /// ## Example
    /// Add a `### tool_name` section with `#### Command`, or declare `tools:`.
    NO_TOOLS = "no-tools", Error / Error, check;
    GIBBERISH.at("9.1"), GAIA.at("2.2")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let skill = subject.skill;
    let (rule_severity, help) = match skill.dialect.id {
        "gibberish" => (
            (Severity::Error, Severity::Error),
            "add a `### tool_name` section with `#### Command`",
        ),
        // Today's implementation also loads instruction skills (GAIX-2); the specification requires
        // a tool.
        "gaia" if !subject.document.root.has("metadata") => {
            ((Severity::Warning, Severity::Error), "declare one under `tools:`")
        }
        "openclaw" if subject.document.root.has("actions") => {
            ((Severity::Warning, Severity::Warning), "add an action, or remove `actions`")
        }
        _ => return,
    };
    if skill.tools.is_empty() && subject.has_front_matter() {
        let (severity, strict) = rule_severity;
        findings.push(
            NO_TOOLS
                .at(Span::at(subject.document.body.start as usize), "no tool is defined")
                .severity(severity, strict)
                .help(help),
        );
    }
}
