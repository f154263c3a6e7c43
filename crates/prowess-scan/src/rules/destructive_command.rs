//! `destructive-command`.

use super::code_phrases::{FORK_BOMB, RANSOM};
use super::simple::code;
use crate::fact::FactKind;
use crate::findings::Findings;
use crate::rule::scan_rule;
use crate::severity::Severity;
use crate::subject::Subject;

scan_rule! {
    /// ## What it does
    /// Flags commands that delete a whole home or system folder, overwrite a disk, or delete logs and histories.
    ///
    /// ## Why is this bad?
    /// Nothing brings it back, and deleted logs hide what happened before.
    ///
    /// ## Example
    /// `rm -rf ~`
    DESTRUCTIVE_COMMAND = "destructive-command", High, Harm, check;
    matching: &[
        ("SKILL.md", "```bash\nrm -rf ~/*\n```\n"),
        ("SKILL.md", "```bash\nrm -rf /var/log/audit/*\n```\n"),
    ],
    clean: &[
        ("SKILL.md", "```bash\nrm -rf node_modules /tmp/build\n```\n"),
    ],
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let message = "encrypts files and deletes the originals";
    code(subject, findings, &DESTRUCTIVE_COMMAND, &RANSOM, Severity::High, message);
    let message = "starts programs until the machine stops";
    code(subject, findings, &DESTRUCTIVE_COMMAND, &FORK_BOMB, Severity::High, message);
    for fact in subject.facts {
        if let FactKind::Destroy { what } = &fact.kind {
            subject.report_fact(findings, &DESTRUCTIVE_COMMAND, Severity::High, fact, *what);
        }
    }
}
