//! `privileged-container`.

use super::code_phrases::CONTAINER;
use super::simple::code;
use crate::findings::Findings;
use crate::rule::scan_rule;
use crate::severity::Severity;
use crate::subject::Subject;

scan_rule! {
    /// ## What it does
    /// Flags containers that get the whole machine: privileged ones with the host's files, the socket of Docker, or the namespaces of the first process.
    ///
    /// ## Why is this bad?
    /// Whoever is inside is root outside.
    ///
    /// ## Example
    /// `docker run --privileged -v /:/host \u{2026}`
    PRIVILEGED_CONTAINER = "privileged-container", High, Permissions, check;
    matching: &[
        ("SKILL.md", "```bash\ndocker run -d --privileged -v /var/run/docker.sock:/var/run/docker.sock agent\n```\n"),
    ],
    clean: &[
        ("SKILL.md", "```bash\ndocker run --rm -v $PWD:/work image\n```\n"),
    ],
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    code(
        subject,
        findings,
        &PRIVILEGED_CONTAINER,
        &CONTAINER,
        Severity::High,
        "gives a container the whole machine",
    );
}
