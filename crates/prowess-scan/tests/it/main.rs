//! The scanner as its callers see it.

mod development_set;
mod evasion;
mod laws;
mod samples;

use prowess_scan::{FileMode, ScanFile, ScanReport, scan};

/// Scans files that are given as path and content.
fn scanned(files: &[(&str, &str)]) -> ScanReport {
    let files: Vec<ScanFile<'_>> = files
        .iter()
        .map(|(path, text)| ScanFile { path, bytes: text.as_bytes(), mode: FileMode::Plain })
        .collect();
    scan(&files)
}

/// The names of the rules that found something, each once.
fn rules(report: &ScanReport) -> Vec<&'static str> {
    let mut names: Vec<&str> = report.findings.iter().map(|found| found.rule.rule.name).collect();
    names.sort_unstable();
    names.dedup();
    names
}
