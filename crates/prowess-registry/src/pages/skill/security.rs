//! Why to trust a version: the score line by line, the scan with rule, file and line, signatures and provenance.

use askama::Template;
use axum::extract::{Path, Query, State};

use super::files::severity_class;
use super::load::Loaded;
use super::overview::{TrustLineView, TrustState, VersionQuery, score, trust_lines};
use super::{Frame, Part};
use crate::app::AppState;
use crate::facts::CapabilityFacts;
use crate::pages::layout::Layout;
use crate::pages::links::web_address;
use crate::pages::permission_words::PermissionRow;
use crate::pages::response::{PageResult, page};
use crate::pages::visitor::Visitor;
use crate::pages::words::{Moment, capitalised};
use crate::provenance::Provenance;
use crate::scan_report::{StoredFinding, StoredScan};
use crate::signatures::StoredSignature;

/// The proof of a version.
#[derive(Debug, Template)]
#[template(path = "page/skill/security.html")]
pub(crate) struct SecurityPage {
    pub(crate) layout: Layout,
    pub(crate) frame: Frame,
    pub(crate) score: Option<String>,
    pub(crate) trust: Vec<TrustLineView>,
    pub(crate) scan: Option<ScanView>,
    pub(crate) signatures: Vec<SignatureView>,
    pub(crate) provenance: Option<ProvenanceView>,
    pub(crate) permissions: Vec<PermissionRow>,
    /// What an agent could be made to do, with the place: kind, text, place, address.
    pub(crate) capabilities: Vec<CapabilityView>,
    pub(crate) more_capabilities: usize,
    pub(crate) sha256: String,
    pub(crate) content_digest: String,
    /// Where a false positive is reported.
    pub(crate) report: String,
}

/// The result of a scan.
#[derive(Clone, Debug)]
pub(crate) struct ScanView {
    pub(crate) scanned: Moment,
    pub(crate) scanner: String,
    /// The class and the words of the result.
    pub(crate) verdict: (&'static str, String),
    pub(crate) findings: Vec<FindingView>,
    pub(crate) more_findings: usize,
    pub(crate) not_analysed: Vec<(String, String)>,
}

/// A finding.
#[derive(Clone, Debug)]
pub(crate) struct FindingView {
    pub(crate) rule: String,
    pub(crate) severity: String,
    /// The class of the pill.
    pub(crate) class: &'static str,
    pub(crate) message: String,
    pub(crate) place: String,
    pub(crate) address: String,
    pub(crate) excerpt: String,
}

/// A signature.
#[derive(Clone, Debug)]
pub(crate) struct SignatureView {
    pub(crate) state: TrustLineView,
    pub(crate) scheme: String,
    pub(crate) key_id: String,
    pub(crate) identity: Option<String>,
    pub(crate) file: String,
    pub(crate) made: Option<Moment>,
}

/// The CI run that published the version.
#[derive(Clone, Debug)]
pub(crate) struct ProvenanceView {
    pub(crate) lines: Vec<(&'static str, String, Option<String>)>,
}

/// What an agent could be made to do.
#[derive(Clone, Debug)]
pub(crate) struct CapabilityView {
    pub(crate) kind: String,
    pub(crate) text: String,
    pub(crate) place: String,
    pub(crate) address: String,
}

/// The proof of a version.
pub(crate) async fn get_security(
    State(state): State<AppState>,
    visitor: Visitor,
    Path((namespace, name)): Path<(String, String)>,
    Query(query): Query<VersionQuery>,
) -> PageResult {
    let loaded = Loaded::read(&state, &visitor, &namespace, &name, Some(&query.version)).await?;
    let chosen = &loaded.chosen;
    let capability = |found: &CapabilityFacts| CapabilityView {
        kind: found.kind.clone(),
        text: found.text.clone(),
        place: format!("{}:{}", found.file, found.line),
        address: loaded.links.line(&found.file, found.line),
    };
    let template = SecurityPage {
        layout: loaded.layout(&visitor, Part::Security, format!("Security of {}", loaded.id)),
        frame: loaded.frame(Part::Security),
        score: score(&loaded),
        trust: trust_lines(&loaded),
        scan: chosen.scan.as_ref().map(|scan| ScanView::of(scan, &loaded)),
        signatures: chosen
            .signatures
            .iter()
            .map(|found| SignatureView::of(found, &loaded))
            .collect(),
        provenance: chosen.provenance.as_ref().map(ProvenanceView::of),
        permissions: loaded.permissions.clone(),
        capabilities: chosen.facts.capabilities.iter().map(capability).collect(),
        more_capabilities: chosen.facts.more_capabilities,
        sha256: chosen.sha256.clone(),
        content_digest: chosen.content_digest.clone(),
        report: format!("{}/-/report?reason=false-positive", loaded.links.latest()),
    };
    page(&visitor, &template)
}

impl ScanView {
    fn of(scan: &StoredScan, loaded: &Loaded) -> Self {
        let verdict = match scan.verdict.as_str() {
            // What was not looked at is not clean.
            "ALLOW" if scan.findings.is_empty() && !scan.not_analysed.is_empty() => {
                ("none", "not everything was analysed")
            }
            "ALLOW" => ("ok", "no objections"),
            "REVIEW" => ("warn", "review before use"),
            _ => ("danger", "blocked"),
        };
        let finding = |found: &StoredFinding| FindingView {
            rule: found.rule.clone(),
            severity: found.severity.clone(),
            class: severity_class(&found.severity),
            message: capitalised(&found.message),
            place: format!("{}:{}", found.file, found.line),
            address: loaded.links.line(&found.file, found.line),
            excerpt: found.excerpt.clone(),
        };
        ScanView {
            scanned: loaded.moment(scan.scanned),
            scanner: scan.scanner.clone(),
            verdict: (verdict.0, verdict.1.to_owned()),
            findings: scan.findings.iter().map(finding).collect(),
            more_findings: scan.more_findings,
            not_analysed: scan
                .not_analysed
                .iter()
                .map(|gap| (gap.file.clone(), gap.reason.clone()))
                .collect(),
        }
    }
}

impl SignatureView {
    fn of(signature: &StoredSignature, loaded: &Loaded) -> Self {
        let whose = if signature.is_audit { "an auditor" } else { "its publisher" };
        let (state, text) = match signature.standing.as_str() {
            "trusted" => (TrustState::Passed, format!("Valid, with a key of {whose}")),
            "unknown" => (
                TrustState::NotEstablished,
                "Valid, but with a key that this registry does not know".to_owned(),
            ),
            other => (TrustState::NotEstablished, format!("Valid, but the key is {other}")),
        };
        SignatureView {
            state: TrustLineView {
                class: state.class(),
                icon: state.icon(),
                word: state.word(),
                text,
                points: String::new(),
                address: None,
            },
            scheme: signature.scheme.clone(),
            key_id: signature.key_id.clone(),
            identity: signature.identity.clone(),
            file: signature.path.clone(),
            made: signature.made.map(|made| loaded.moment(made)),
        }
    }
}

impl ProvenanceView {
    fn of(provenance: &Provenance) -> Self {
        let mut lines = vec![
            ("Issuer", provenance.issuer.clone(), None),
            ("Repository", provenance.repository.clone(), None),
            ("Workflow", provenance.workflow.clone(), None),
        ];
        if !provenance.environment.is_empty() {
            lines.push(("Environment", provenance.environment.clone(), None));
        }
        if let Some(commit) = &provenance.commit {
            lines.push(("Commit", commit.clone(), None));
        }
        if let Some(run) = &provenance.run {
            lines.push(("Run", run.clone(), web_address(run)));
        }
        ProvenanceView { lines }
    }
}
