//! The format `sarif`: SARIF 2.1.0, for code-scanning services and editors.

use prowess_format::diagnostic::{Rule, Severity};
use prowess_format::span::Position;
use serde_json::{Value, json};

use super::{path_of, verdicts};
use crate::commands::explain;
use crate::skill::check_report::{FileReport, Finding};

pub(crate) fn render(reports: &[FileReport]) -> Value {
    let verdicts: Vec<Vec<Finding>> = reports.iter().map(verdicts::findings).collect();
    let findings: Vec<(&FileReport, &Finding)> = reports
        .iter()
        .zip(&verdicts)
        .flat_map(|(report, verdicts)| {
            report.findings.iter().chain(verdicts).map(move |finding| (report, finding))
        })
        .collect();
    let mut rules: Vec<&'static Rule> = findings.iter().map(|(_, finding)| finding.rule).collect();
    rules.sort_by_key(|rule| rule.name);
    rules.dedup();
    let results: Vec<Value> =
        findings.iter().map(|(report, finding)| result(report, finding, &rules)).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "prowess",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(|rule| descriptor(rule)).collect::<Vec<_>>(),
            }},
            // Columns count characters, not UTF-16 units.
            "columnKind": "unicodeCodePoints",
            "results": results,
        }],
    })
}

fn descriptor(rule: &Rule) -> Value {
    let page = explain::text(rule);
    json!({
        "id": rule.name,
        "shortDescription": { "text": rule.summary() },
        "help": { "text": page, "markdown": page },
        "defaultConfiguration": { "level": level(rule.severity) },
    })
}

fn result(report: &FileReport, finding: &Finding, rules: &[&'static Rule]) -> Value {
    let path = path_of(report, finding);
    let text = match &finding.help {
        Some(help) => format!("{}; {help}", finding.message),
        None => finding.message.clone(),
    };
    let mut result = json!({
        "ruleId": finding.rule.name,
        "ruleIndex": rules.iter().position(|rule| *rule == finding.rule),
        "level": level(finding.severity),
        "message": { "text": text },
        "locations": [{ "physicalLocation": {
            "artifactLocation": artifact(&path),
            "region": region(finding.start, finding.end),
        }}],
    });
    if let Some(fix) = &finding.fix {
        let replacements: Vec<Value> = fix
            .edits
            .iter()
            .zip(&finding.edits)
            .map(|(edit, (start, end))| {
                json!({
                    "deletedRegion": region(*start, *end),
                    "insertedContent": { "text": edit.text },
                })
            })
            .collect();
        result["fixes"] = json!([{
            "description": { "text": fix.title },
            "artifactChanges": [{
                "artifactLocation": artifact(&path),
                "replacements": replacements,
            }],
        }]);
    }
    result
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

fn region(start: Position, end: Position) -> Value {
    json!({
        "startLine": start.line,
        "startColumn": start.column,
        "endLine": end.line,
        "endColumn": end.column,
    })
}

fn artifact(path: &str) -> Value {
    json!({ "uri": uri(path) })
}

/// A path as a URI reference (RFC 3986): relative paths stay relative, reserved characters are percent-encoded.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len() + 8);
    if path.starts_with('/') {
        uri.push_str("file://");
    }
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/@!$&'()*+,;=".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            use std::fmt::Write as _;
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}
