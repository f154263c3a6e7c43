//! `refused-command`.

use prowess_policy::binaries;

use crate::fact::FactKind;
use crate::findings::Findings;
use crate::rule::scan_rule;
use crate::severity::Severity;
use crate::subject::Subject;

scan_rule! {
    /// ## What it does
    /// Flags command lines that Prowess refuses to run: those that delete what belongs to others, print a credential, publish in the user's name, or start a program through an option. They are in the table of refused commands, which runs use too.
    ///
    /// ## Why is this bad?
    /// A grant for a program such as `gh` covers everything that the user's account can do. The run of such a tool ends with a refusal, unless its user grants the program by name.
    ///
    /// ## Example
    /// `gh api -X DELETE repos/owner/name`; `gh issue list` is not refused.
    REFUSED_COMMAND = "refused-command", Medium, Permissions, check;
    matching: &[
        ("SKILL.md", "```bash\ngh api -XDELETE repos/owner/name\n```\n"),
        ("scripts/a.py", "import subprocess\nsubprocess.run(['git', 'push', '--force', 'origin', 'main'])\n"),
    ],
    clean: &[
        ("SKILL.md", "```bash\ngh issue list\ngit push origin main\n```\n"),
    ],
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for fact in subject.facts {
        if let FactKind::Refused(refused) = &fact.kind {
            let message = format!("starts {refused}");
            subject.report_fact(findings, &REFUSED_COMMAND, Severity::Medium, fact, message);
        }
    }
    // The commands of declared tools are what a run starts.
    for command in &subject.manifest.commands {
        for refused in binaries::refused_in_script(command) {
            let document = subject.documents.iter().find(|document| document.path == "SKILL.md");
            let at = document.and_then(|document| document.text.find(command.as_str()));
            let range = at.map_or(0..0, |at| at..at + command.len());
            let message = format!("declares a tool that starts {refused}");
            findings.add(&REFUSED_COMMAND, Severity::High, "SKILL.md", range, message);
        }
    }
}
