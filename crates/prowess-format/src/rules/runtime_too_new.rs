//! `runtime-too-new`.

use crate::diagnostic::{Findings, rule};
use crate::eligibility::{UNDERSTOOD_RUNTIME, newer_runtime};
use crate::rules::Subject;
use crate::specification::SKILLRT;

rule! {
    /// ## What it does
    /// Flags a `runtime.min-version` newer than Prowess supports.
    ///
    /// ## Why is this bad?
    /// Running the skill is refused.
    ///
    /// ## Example
    /// Lower the version, or update Prowess.
    RUNTIME_TOO_NEW = "runtime-too-new", Warning / Warning, check;
    SKILLRT.at("4.3 and 10")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(wanted) = newer_runtime(subject.skill) else { return };
    findings.push(
        RUNTIME_TOO_NEW
            .at(
                wanted.span,
                format!(
                    "the skill requires runtime version {}, but only {UNDERSTOOD_RUNTIME} is supported",
                    wanted.value
                ),
            )
            .help("update Prowess, or lower `min-version`"),
    );
}
