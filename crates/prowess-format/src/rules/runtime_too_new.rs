//! `runtime-too-new`.

use crate::diagnostic::{Findings, rule};
use crate::eligibility::{UNDERSTOOD_RUNTIME, newer_runtime};
use crate::rules::Subject;

rule! {
    /// ## What it does
    /// Flags a `runtime.min-version` above what Prowess understands.
    ///
    /// ## Why is this bad?
    /// Running the skill is refused (SRT §4.3, §10).
    ///
    /// ## Example
    /// Lower the version, or update Prowess.
    RUNTIME_TOO_NEW = "runtime-too-new", Warning / Warning, check
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(wanted) = newer_runtime(subject.skill) else { return };
    findings.push(
        RUNTIME_TOO_NEW
            .at(
                wanted.span,
                format!(
                    "the skill wants a runtime of version {}, {UNDERSTOOD_RUNTIME} is understood",
                    wanted.value
                ),
            )
            .help("update Prowess, or lower `min-version`"),
    );
}
