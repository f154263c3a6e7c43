//! `undeclared-capability`.

use std::collections::BTreeSet;

use prowess_format::permission::{Domain, Level};

use crate::fact::{Capability, Fact, FactKind};
use crate::findings::Findings;
use crate::input::FileKind;
use crate::rule::scan_rule;
use crate::severity::Severity;
use crate::subject::Subject;

scan_rule! {
    /// ## What it does
    /// Flags code that does what the skill did not declare: it uses the network although `permissions` has no network, starts programs without `shell`, writes without `filesystem:write`, or does what the description rules out. Something declared that no code uses is a note.
    ///
    /// ## Why is this bad?
    /// The declaration is what people agree to.
    ///
    /// ## Example
    /// `permissions: [filesystem:read]`, and a script that sends requests.
    UNDECLARED_CAPABILITY = "undeclared-capability", High, Permissions, check;
    matching: &[
        (
            "SKILL.md",
            "---\nname: x\ndescription: Works fully offline\n---\n\nText.\n\u{0}scripts/a.py\u{0}import requests\nrequests.get('https://api.example/x')\n",
        ),
    ],
    clean: &[
        ("SKILL.md", "Text.\n"),
    ],
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let uses: Vec<(&Fact, Capability)> = subject
        .facts
        .iter()
        .filter_map(|fact| match &fact.kind {
            FactKind::Use { capability, .. } if is_code(subject, fact) => Some((fact, *capability)),
            _ => None,
        })
        .collect();
    let description = subject.manifest.description.as_str();
    let rules_out_network = [
        "without any network",
        "no network access",
        "without network",
        "no data leaves",
        "fully offline",
        "works offline",
        "no external api",
        "without any external",
    ]
    .iter()
    .any(|words| description.contains(words));
    if rules_out_network
        && let Some((fact, _)) =
            uses.iter().find(|(_, capability)| *capability == Capability::Network)
    {
        subject.report_fact(
            findings,
            &UNDECLARED_CAPABILITY,
            Severity::High,
            fact,
            "uses the network, which the description rules out",
        );
    }
    let Some(permissions) = &subject.manifest.permissions else { return };
    let mut reported: BTreeSet<Capability> = BTreeSet::new();
    for (fact, capability) in &uses {
        let (domain, levels, words): (Domain, &[Level], &str) = match capability {
            Capability::Network => (
                Domain::Network,
                &[Level::Read, Level::Write],
                "uses the network, which `permissions` does not declare",
            ),
            Capability::Execute => (
                Domain::Shell,
                &[Level::Execute],
                "starts programs, which `permissions` does not declare",
            ),
            Capability::WriteFile => (
                Domain::Filesystem,
                &[Level::Write],
                "writes files, which `permissions` does not declare",
            ),
            // Every script reads its own files.
            Capability::ReadFile => continue,
        };
        let is_declared = permissions
            .iter()
            .any(|permission| permission.domain == domain && levels.contains(&permission.level));
        if !is_declared && reported.insert(*capability) {
            subject.report_fact(findings, &UNDECLARED_CAPABILITY, Severity::High, fact, words);
        }
    }
    let has_code = subject.documents.iter().any(|document| document.kind.is_code());
    for permission in
        permissions.iter().filter(|permission| has_code && permission.level != Level::None)
    {
        let wanted = match permission.domain {
            Domain::Network => Capability::Network,
            Domain::Shell => Capability::Execute,
            _ => continue,
        };
        if !uses.iter().any(|(_, capability)| *capability == wanted) {
            findings.add(
                &UNDECLARED_CAPABILITY,
                Severity::Info,
                "SKILL.md",
                0..0,
                format!("declares `{}`, which no code uses", permission.domain.as_str()),
            );
        }
    }
}

/// Whether a fact is one of a file of code, and not of an example in a text.
fn is_code(subject: &Subject<'_>, fact: &Fact) -> bool {
    let document = &subject.documents[fact.document];
    document.origin.is_none()
        && matches!(document.kind, FileKind::Python | FileKind::JavaScript | FileKind::Shell)
}
