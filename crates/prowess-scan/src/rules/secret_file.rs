//! `secret-file`.

use crate::fact::FactKind;
use crate::findings::Findings;
use crate::rule::scan_rule;
use crate::severity::Severity;
use crate::subject::Subject;

scan_rule! {
    /// ## What it does
    /// Flags code that reads files in which keys, passwords and sessions are kept: private keys, credentials of clouds and forges, browsers' stores, wallets, key rings, settings of other agents.
    ///
    /// ## Why is this bad?
    /// A skill that needs a credential asks for it by name. One that reads the store gets all of them.
    ///
    /// ## Example
    /// `cat ~/.ssh/id_rsa`
    SECRET_FILE = "secret-file", High, Exfiltration, check;
    matching: &[
        ("SKILL.md", "```bash\ncat ~/.ssh/id_rsa\n```\n"),
        ("scripts/a.py", "open('/home/x/.aws/credentials').read()\n"),
    ],
    clean: &[
        ("SKILL.md", "```bash\ncat ~/.ssh/id_ed25519.pub\nssh -i ~/.ssh/id_rsa host\n```\n"),
    ],
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for fact in subject.facts {
        if let FactKind::ReadSecret { path } = &fact.kind {
            let message = format!("reads a file with secrets (`{path}`)");
            subject.report_fact(findings, &SECRET_FILE, Severity::High, fact, message);
        }
    }
}
