//! `file-too-large`.

use crate::diagnostic::{Findings, rule};
use crate::dialect;
use crate::rules::Subject;
use crate::span::Span;
use crate::specification::AGENT_FLOW;

rule! {
    /// ## What it does
    /// Flags a SKILL.md of more than 51,200 bytes if its dialect limits the size, and of more than 16 MiB in any dialect.
    ///
    /// ## Why is this bad?
    /// Agent Flow Lite refuses to store larger files.
    ///
    /// ## Example
    /// Move long material into other files of the skill.
    FILE_TOO_LARGE = "file-too-large", Warning / Error, check;
    AGENT_FLOW.at("2")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let size = subject.document.text.len();
    if subject.skill.dialect.id == "agent-flow" && size > dialect::AGENT_FLOW_MAX_BYTES {
        let message =
            format!("{size} bytes, at most {} can be stored", dialect::AGENT_FLOW_MAX_BYTES);
        findings.push(
            FILE_TOO_LARGE
                .at(Span::at(0), message)
                .help("move long material into other files of the skill"),
        );
    }
}
