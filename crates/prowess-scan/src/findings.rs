//! What the scanner finds, and what it did not analyse.

use std::ops::Range;

use crate::rule::ScanRule;
use crate::severity::{Category, ScanTier, Severity, Verdict};

/// One finding.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The rule.
    pub rule: &'static ScanRule,
    /// How bad it is here.
    pub severity: Severity,
    /// A phrase without a full stop. It has no text of the skill in it that could mislead.
    pub message: String,
    /// The file.
    pub file: String,
    /// The bytes of that file.
    pub range: Range<usize>,
}

impl Finding {
    /// What the finding means for a tier. What could not be analysed is reviewed at every tier (GAIX-10).
    pub fn verdict(&self, tier: ScanTier) -> Verdict {
        let verdict = Verdict::of(self.severity, tier);
        let is_unknown =
            self.rule.category == Category::Completeness && self.severity >= Severity::High;
        if is_unknown { verdict.max(Verdict::Review) } else { verdict }
    }
}

/// A part of the skill that was not analysed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NotAnalysed {
    /// The file.
    pub file: String,
    /// Why.
    pub reason: String,
}

/// The result of a scan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScanReport {
    /// The name that the skill gives itself.
    pub name: Option<String>,
    /// The findings, by file and place.
    pub findings: Vec<Finding>,
    /// What was not analysed.
    pub not_analysed: Vec<NotAnalysed>,
}

impl ScanReport {
    /// What the findings mean for a tier.
    pub fn verdict(&self, tier: ScanTier) -> Verdict {
        let verdicts = self.findings.iter().map(|finding| finding.verdict(tier));
        verdicts.max().unwrap_or(Verdict::Allow).max(Verdict::least(tier))
    }
}

/// The most findings of one rule in one file, and of a skill.
const MAX_PER_RULE: usize = 16;
const MAX_FINDINGS: usize = 1_000;

/// The findings so far.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    found: Vec<Finding>,
    pub(crate) not_analysed: Vec<NotAnalysed>,
}

impl Findings {
    /// Adds a finding. The worst of several of one rule at one place counts.
    pub(crate) fn add(
        &mut self,
        rule: &'static ScanRule,
        severity: Severity,
        file: &str,
        range: Range<usize>,
        message: impl Into<String>,
    ) {
        let overlaps = |other: &Range<usize>| {
            other.start < range.end.max(range.start + 1)
                && range.start < other.end.max(other.start + 1)
        };
        let mut same = 0;
        for known in &mut self.found {
            if known.rule == rule && known.file == file {
                same += 1;
                if overlaps(&known.range) {
                    if severity > known.severity {
                        known.severity = severity;
                        known.message = message.into();
                        known.range = range;
                    }
                    return;
                }
            }
        }
        // A worse finding is never left out because there are many others.
        let worst = self.found.iter().map(|known| known.severity).max();
        if (same >= MAX_PER_RULE || self.found.len() >= MAX_FINDINGS) && worst >= Some(severity) {
            return;
        }
        self.found.push(Finding {
            rule,
            severity,
            message: message.into(),
            file: file.to_owned(),
            range,
        });
    }

    /// Notes that something was not analysed.
    pub(crate) fn skip(&mut self, file: &str, reason: impl Into<String>) {
        let note = NotAnalysed { file: file.to_owned(), reason: reason.into() };
        if self.not_analysed.len() < MAX_FINDINGS && !self.not_analysed.contains(&note) {
            self.not_analysed.push(note);
        }
    }

    pub(crate) fn finish(mut self, name: Option<String>) -> ScanReport {
        self.found.sort_by(|a, b| {
            (&a.file, a.range.start, a.range.end, a.rule.rule.name).cmp(&(
                &b.file,
                b.range.start,
                b.range.end,
                b.rule.rule.name,
            ))
        });
        self.not_analysed.sort();
        ScanReport { name, findings: self.found, not_analysed: self.not_analysed }
    }
}
