//! What the scanner says about a skill that somebody wants to install.

use std::collections::BTreeSet;
use std::fmt;

use prowess_format::text::visible_line;
use prowess_package::tree::Tree;
use prowess_scan::{
    FileMode, Finding, KnownBad, RULES, ScanFile, ScanReport, ScanTier, Verdict, scan_update,
    scan_with,
};

/// Rules whose verdict to block the user has overruled, each by its name. A set of the rules of this program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AllowedRules(u128);

impl AllowedRules {
    /// No rule.
    pub const NONE: Self = Self(0);
    /// Every rule, for plans that are never carried out.
    pub const ALL: Self = Self(u128::MAX);

    /// Adds a rule; the result is `false` if there is none of that name.
    pub fn insert(&mut self, name: &str) -> bool {
        let Some(at) = position(name) else { return false };
        self.0 |= 1 << at;
        true
    }

    /// Whether a rule is in the set.
    pub fn contains(self, name: &str) -> bool {
        position(name).is_some_and(|at| self.0 & (1 << at) != 0)
    }
}

/// The number of a rule; the rules after the first 128 can't be allowed.
fn position(name: &str) -> Option<usize> {
    RULES.iter().position(|rule| rule.rule.name == name).filter(|at| *at < 128)
}

/// The findings of one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspicion {
    /// The rule.
    pub rule: &'static str,
    /// What it found first.
    pub message: String,
    /// Where that is.
    pub file: String,
    /// The line of that file, from one.
    pub line: usize,
    /// How many more places there are.
    pub more: usize,
}

impl fmt::Display for Suspicion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { rule, message, file, line, more } = self;
        write!(formatter, "{message} ({}:{line}, {rule}", visible_line(file))?;
        match more {
            0 => formatter.write_str(")"),
            1 => formatter.write_str(", and 1 more)"),
            more => write!(formatter, ", and {more} more)"),
        }
    }
}

/// What stands against a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suspicions {
    /// What blocks it, one for each rule.
    pub blocking: Vec<Suspicion>,
    /// What a person has to look at, one for each rule.
    pub suspicious: Vec<Suspicion>,
}

impl Suspicions {
    /// Scans the files of a skill. The tier is always that of the community: nobody is cleared by a signature, and nobody is
    /// let through because the user takes experimental skills.
    pub fn of(tree: &Tree, known_bad: &KnownBad) -> Self {
        Self::from_report(&scan_with(&scan_files(tree), known_bad), tree)
    }

    /// Scans an update, which is also compared with the installed version.
    pub fn of_update(installed: &Tree, tree: &Tree, known_bad: &KnownBad) -> Self {
        let report = scan_update(&scan_files(installed), &scan_files(tree), known_bad);
        Self::from_report(&report, tree)
    }

    fn from_report(report: &ScanReport, tree: &Tree) -> Self {
        let mut suspicions = Self::default();
        for finding in &report.findings {
            let list = match Verdict::of(finding.severity, ScanTier::Community) {
                Verdict::Block => &mut suspicions.blocking,
                Verdict::Review => &mut suspicions.suspicious,
                Verdict::Allow => continue,
            };
            match list.iter_mut().find(|known| known.rule == finding.rule.rule.name) {
                Some(known) => known.more += 1,
                None => list.push(Suspicion {
                    rule: finding.rule.rule.name,
                    message: finding.message.clone(),
                    file: finding.file.clone(),
                    line: line(finding, tree),
                    more: 0,
                }),
            }
        }
        suspicions
    }

    /// The rules that block it and that the user has allowed.
    pub(crate) fn allowed(&self, rules: AllowedRules) -> BTreeSet<String> {
        let allowed = self.blocking.iter().filter(|found| rules.contains(found.rule));
        allowed.map(|found| found.rule.to_owned()).collect()
    }
}

/// The files of a skill as the scanner takes them.
fn scan_files(tree: &Tree) -> Vec<ScanFile<'_>> {
    tree.files()
        .map(|(path, file)| ScanFile {
            path: path.as_str(),
            bytes: &file.bytes,
            mode: if file.executable { FileMode::Executable } else { FileMode::Plain },
        })
        .collect()
}

fn line(finding: &Finding, tree: &Tree) -> usize {
    let bytes = tree.get(&finding.file).map_or(&[][..], |file| file.bytes.as_slice());
    let before = &bytes[..finding.range.start.min(bytes.len())];
    before.split(|byte| *byte == b'\n').count()
}
