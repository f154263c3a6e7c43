//! `version-not-semver`.

use crate::diagnostic::{Findings, Severity, rule};
use crate::formats;
use crate::rules::{self, Subject};

rule! {
    /// ## What it does
    /// Notes a version that is not SemVer in a dialect that does not require it. It is a warning if it is not a version at all.
    ///
    /// ## Why is this bad?
    /// Version ranges compare the normalised form.
    ///
    /// ## Example
    /// `v2.1` is treated as `2.1.0`.
    VERSION_NOT_SEMVER = "version-not-semver", Info / Info, check
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(version) = subject.skill.version.as_ref().filter(|_| {
        matches!(
            subject.skill.dialect.id,
            "openclaw" | "tool-pack" | "agent-skills" | "claude-code" | "agent-flow"
        )
    }) else {
        return;
    };
    // A layer that requires SemVer has already reported it.
    if semver::Version::parse(version).is_ok()
        || findings.has_at(&rules::INVALID_VERSION, version.span)
    {
        return;
    }
    let (severity, message) = match formats::normal_version(version) {
        Some(normal) => (Severity::Info, format!("`{}` is treated as `{normal}`", version.value)),
        None => (
            Severity::Warning,
            format!("`{}` is not a version and is treated as `0.0.0`", version.value),
        ),
    };
    findings.push(
        VERSION_NOT_SEMVER
            .at(version.span, message)
            .severity(severity, severity)
            .help("write a SemVer version such as `1.0.0`"),
    );
}
