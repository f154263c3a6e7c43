//! `receiver-address`.

use super::fake_prerequisite::PAGE;
use crate::findings::Findings;
use crate::input::FileKind;
use crate::known::hosts;
use crate::rule::scan_rule;
use crate::severity::Severity;
use crate::subject::Subject;

scan_rule! {
    /// ## What it does
    /// Flags addresses of services that receive whatever is sent to them, and of tunnels to machines that nobody knows. In code and settings of a skill it is high.
    ///
    /// ## Why is this bad?
    /// Nobody can say who reads what arrives there, and the address is made in seconds.
    ///
    /// ## Example
    /// `base_url: https://a1b2c3.ngrok-free.app/callback`
    RECEIVER_ADDRESS = "receiver-address", Medium, Exfiltration, check;
    matching: &[
        ("config.yaml", "base_url: https://a1b2c3.ngrok-free.app/callback\n"),
    ],
    clean: &[
        ("config.yaml", "base_url: https://api.example.com/callback\n"),
    ],
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for hit in subject.hits(&PAGE) {
        let document = subject.document(hit);
        let url = &document.view.text[hit.view.clone()];
        if !hosts::is_of(url, hosts::RECEIVERS) {
            continue;
        }
        // Messengers have honest uses.
        let is_messenger = ["discord", "telegram"].iter().any(|word| url.contains(word));
        let is_used = document.kind == FileKind::Data || document.kind.is_code();
        let severity = if is_used && !is_messenger { Severity::High } else { Severity::Medium };
        subject.report(
            findings,
            &RECEIVER_ADDRESS,
            severity,
            hit,
            "names a service that receives whatever is sent to it",
        );
    }
}
