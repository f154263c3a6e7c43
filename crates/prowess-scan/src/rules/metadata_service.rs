//! `metadata-service`.

use super::code_phrases::METADATA;
use super::simple::code;
use crate::findings::Findings;
use crate::rule::scan_rule;
use crate::severity::Severity;
use crate::subject::Subject;

scan_rule! {
    /// ## What it does
    /// Flags requests for credentials to the metadata service of a cloud, and addresses of this machine that are written so that filters don't recognise them.
    ///
    /// ## Why is this bad?
    /// The service hands the rights of the machine to whoever asks from it.
    ///
    /// ## Example
    /// `curl http://169.254.169.254/latest/meta-data/iam/security-credentials/`
    METADATA_SERVICE = "metadata-service", High, Exfiltration, check;
    matching: &[
        ("SKILL.md", "```bash\ncurl http://169.254.169.254/latest/meta-data/iam/security-credentials/\n```\n"),
    ],
    clean: &[
        ("SKILL.md", "Block 169.254.169.254 in the proxy.\n"),
    ],
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    code(
        subject,
        findings,
        &METADATA_SERVICE,
        &METADATA,
        Severity::High,
        "asks the metadata service of a cloud for credentials",
    );
}
