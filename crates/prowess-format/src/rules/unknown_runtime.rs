//! `unknown-runtime`.

use crate::diagnostic::{Findings, rule};
use crate::dialect;
use crate::rules::Subject;
use crate::specification::SKILLRT;
use crate::text::alternatives;

rule! {
    /// ## What it does
    /// Flags a runtime family that is not registered.
    ///
    /// ## Why is this bad?
    /// Prowess can't run it.
    ///
    /// ## Example
    /// `type: markdown-skill`
    UNKNOWN_RUNTIME = "unknown-runtime", Warning / Warning, check;
    SKILLRT.at("4.3")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(kind) = subject.skill.runtime.as_ref().and_then(|runtime| runtime.kind.as_ref())
    else {
        return;
    };
    if !dialect::RUNTIMES.contains(&kind.as_str()) {
        findings.push(
            UNKNOWN_RUNTIME
                .at(kind.span, format!("there is no runtime `{}`", kind.value))
                .help(format!("write {}", alternatives(dialect::RUNTIMES))),
        );
    }
}
