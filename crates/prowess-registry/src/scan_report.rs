//! The result of a scan, as it is stored and shown: every finding with its rule, file and line.

use prowess_package::tree::Tree;
use prowess_scan::{FileMode, ScanFile, ScanReport, ScanTier, Severity, Verdict, scan};
use serde::{Deserialize, Serialize};

/// Maximum number of findings that are stored.
const MAX_FINDINGS: usize = 200;
/// Maximum length of an excerpt, in characters.
const MAX_EXCERPT_CHARACTERS: usize = 160;

/// The result of a scan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredScan {
    /// The version of the scanner, which is that of this program.
    pub scanner: String,
    /// When, in seconds since 1970.
    pub scanned: i64,
    /// What it means for a skill that nobody vouches for: `ALLOW`, `REVIEW` or `BLOCK`.
    pub verdict: String,
    /// What it means for the tier `community`.
    pub community_verdict: String,
    /// The findings, the worst first.
    pub findings: Vec<StoredFinding>,
    /// Findings beyond those that are stored.
    pub more_findings: usize,
    /// What was not analysed. While there is something, a scan without findings is not a clean one.
    pub not_analysed: Vec<StoredGap>,
}

/// A finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredFinding {
    /// The identifier of the rule.
    pub rule: String,
    /// `info`, `low`, `medium`, `high` or `critical`.
    pub severity: String,
    /// What is at stake.
    pub category: String,
    /// What was found.
    pub message: String,
    /// The file.
    pub file: String,
    /// The line, from one.
    pub line: usize,
    /// The line's text; secrets are masked.
    pub excerpt: String,
}

/// A part that was not analysed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StoredGap {
    /// The file.
    pub file: String,
    /// Why.
    pub reason: String,
}

/// What a scan means for publishing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScanDecision {
    /// The version becomes visible.
    Publish,
    /// The version is refused, because of these findings.
    Refuse(Vec<StoredFinding>),
}

/// Scans the files of a skill.
pub fn scan_tree(tree: &Tree, now: i64) -> (StoredScan, ScanDecision) {
    let files: Vec<ScanFile<'_>> = tree
        .files()
        .map(|(path, file)| ScanFile {
            path: path.as_str(),
            bytes: &file.bytes,
            mode: if file.executable { FileMode::Executable } else { FileMode::Plain },
        })
        .collect();
    let report = scan(&files);
    let stored = StoredScan::of(&report, tree, now);
    let decision = decide(&report, &stored);
    (stored, decision)
}

/// Critical findings are refused at every tier, and so is a secret (attack registry-E7): once it is published, it is known.
fn decide(report: &ScanReport, stored: &StoredScan) -> ScanDecision {
    let has_secret = report.findings.iter().any(is_secret);
    let blocks = report.verdict(ScanTier::Experimental) == Verdict::Block;
    if !blocks && !has_secret {
        return ScanDecision::Publish;
    }
    let refused = stored.findings.iter().filter(|finding| {
        finding.severity == Severity::Critical.as_str() || finding.category == SECRET
    });
    ScanDecision::Refuse(refused.cloned().collect())
}

/// The category of secrets.
const SECRET: &str = "secret";

fn is_secret(finding: &prowess_scan::Finding) -> bool {
    finding.rule.category.as_str() == SECRET && finding.severity >= Severity::High
}

impl StoredScan {
    fn of(report: &ScanReport, tree: &Tree, now: i64) -> Self {
        let mut found: Vec<&prowess_scan::Finding> = report.findings.iter().collect();
        found.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
        let findings = found.iter().take(MAX_FINDINGS).map(|finding| {
            let text = tree.get(&finding.file).map_or(&[][..], |file| &file.bytes);
            let (line, excerpt) = place(text, finding.range.start);
            let is_secret = finding.rule.category.as_str() == SECRET;
            StoredFinding {
                rule: finding.rule.rule.name.to_owned(),
                severity: finding.severity.as_str().to_owned(),
                category: finding.rule.category.as_str().to_owned(),
                message: finding.message.clone(),
                file: finding.file.clone(),
                line,
                excerpt: if is_secret { "(masked)".to_owned() } else { excerpt },
            }
        });
        let gaps = report
            .not_analysed
            .iter()
            .take(MAX_FINDINGS)
            .map(|gap| StoredGap { file: gap.file.clone(), reason: gap.reason.clone() });
        Self {
            scanner: env!("CARGO_PKG_VERSION").to_owned(),
            scanned: now,
            verdict: report.verdict(ScanTier::Experimental).as_str().to_owned(),
            community_verdict: report.verdict(ScanTier::Community).as_str().to_owned(),
            findings: findings.collect(),
            more_findings: report.findings.len().saturating_sub(MAX_FINDINGS),
            not_analysed: gaps.collect(),
        }
    }

    /// Whether the automated scan allows the tier `community` (GAIA §4.4).
    pub fn allows_community(&self) -> bool {
        self.community_verdict == Verdict::Allow.as_str()
    }
}

/// The line of a byte, from one, and its text.
fn place(bytes: &[u8], at: usize) -> (usize, String) {
    let at = at.min(bytes.len());
    let line = bytes[..at].split(|byte| *byte == b'\n').count();
    let start = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |found| found + 1);
    let end =
        bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| at + end);
    let text = String::from_utf8_lossy(&bytes[start..end]);
    let excerpt: String = text.trim().chars().take(MAX_EXCERPT_CHARACTERS).collect();
    (line, prowess_format::text::visible(&excerpt).into_owned())
}
