//! `runtime-too-new`.

use crate::diagnostic::{Findings, rule};
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

/// The version of the skillrt specification that Prowess understands.
const UNDERSTOOD: semver::Version = semver::Version::new(0, 1, 0);

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(wanted) =
        subject.skill.runtime.as_ref().and_then(|runtime| runtime.min_version.as_ref())
    else {
        return;
    };
    if semver::Version::parse(wanted).is_ok_and(|wanted| wanted > UNDERSTOOD) {
        findings.push(
            RUNTIME_TOO_NEW
                .at(
                    wanted.span,
                    format!(
                        "the skill wants a runtime of version {}, {UNDERSTOOD} is understood",
                        wanted.value
                    ),
                )
                .help("update Prowess, or lower `min-version`"),
        );
    }
}
