//! `world-writable`.

use crate::fact::FactKind;
use crate::findings::Findings;
use crate::rule::scan_rule;
use crate::severity::Severity;
use crate::subject::Subject;

scan_rule! {
    /// ## What it does
    /// Flags commands that let everybody write to a file or folder, or that make a program run as its owner.
    ///
    /// ## Why is this bad?
    /// Any other program can put something there that is used later. Together with a change of owner it is a way to more rights.
    ///
    /// ## Example
    /// `chmod 777 /opt/shared`
    WORLD_WRITABLE = "world-writable", Medium, Permissions, check;
    matching: &[
        ("SKILL.md", "```bash\nchmod 777 /opt/shared\n```\n"),
    ],
    clean: &[
        ("SKILL.md", "```bash\nchmod 755 scripts/run.sh\n```\n"),
    ],
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for fact in subject.facts {
        if fact.kind == FactKind::WorldWritable {
            let message = "lets everybody write, or makes a program run as its owner";
            let document = &subject.documents[fact.document];
            // A folder of the system is shared by more than one program.
            let end = (fact.range.end + 80).min(document.text.len());
            let text = document.text.get(fact.range.start..end).unwrap_or_default();
            let is_system = [
                "/opt", "/usr", "/etc", "/var", "/srv", "/tmp/.", "/home", "sudo", "+s", "u+s",
                "4755",
            ]
            .iter()
            .any(|word| text.contains(word));
            let severity = if is_system { Severity::High } else { Severity::Medium };
            subject.report_fact(findings, &WORLD_WRITABLE, severity, fact, message);
        }
    }
}
