//! The format `json`. Its keys are stable.

use prowess_format::client::ClientVerdict;
use prowess_format::diagnostic::{Fix, FixSafety};
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::skill::check_report::{FileReport, Finding};
use crate::walk::Walked;

/// The whole result, with `fixed` if the user asked for fixes.
pub(crate) fn render(walked: &Walked, fix: bool) -> Value {
    let files: Vec<Value> = walked.reports.iter().map(file).collect();
    let mut summary = json!({
        "files": walked.files,
        "errors": walked.errors,
        "warnings": walked.warnings,
    });
    if fix {
        summary["fixed"] = json!(walked.fixed.0);
    }
    let failures: Vec<Value> = walked.failures.iter().map(failure).collect();
    let mut result = json!({ "files": files, "summary": summary });
    if !failures.is_empty() {
        result["failures"] = failures.into();
    }
    result
}

/// The result of a check that could not begin.
pub(crate) fn failed(error: &Error) -> Value {
    json!({
        "files": [],
        "summary": { "files": 0, "errors": 0, "warnings": 0 },
        "failures": [failure(error)],
    })
}

/// Something that could not be read.
fn failure(error: &Error) -> Value {
    json!({ "message": error.message, "hints": error.hints })
}

/// The findings of a file, in the shape of the whole result.
pub(crate) fn diagnostics(report: &FileReport) -> Vec<Value> {
    report.findings.iter().map(diagnostic).collect()
}

fn file(report: &FileReport) -> Value {
    let mut file = json!({
        "path": report.path,
        "dialect": report.dialect,
        "layers": report.layers,
        "kind": report.kind,
        "name": report.name,
        "version": report.version,
        "diagnostics": diagnostics(report),
    });
    if let Some(original) = &report.copy_of {
        file["copy_of"] = json!(original);
    }
    if !report.verdicts.is_empty() {
        file["clients"] = report.verdicts.iter().map(verdict).collect();
    }
    file
}

fn verdict(verdict: &ClientVerdict) -> Value {
    json!({
        "client": verdict.client.id,
        "outcome": verdict.outcome.as_str(),
        "reasons": verdict.reasons,
    })
}

/// One finding.
fn diagnostic(finding: &Finding) -> Value {
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| map.insert(key.to_owned(), value);
    put("code", json!(finding.rule.name));
    put("severity", json!(finding.severity.as_str()));
    put("message", json!(finding.message));
    put("line", json!(finding.start.line));
    put("column", json!(finding.start.column));
    put("end_line", json!(finding.end.line));
    put("end_column", json!(finding.end.column));
    put("help", json!(finding.help));
    if let Some(file) = &finding.file {
        put("file", json!(file));
    }
    if let Some(change) = &finding.fix {
        put("fix", fix(change));
    }
    Value::Object(map)
}

fn fix(fix: &Fix) -> Value {
    let edits: Vec<Value> = fix
        .edits
        .iter()
        .map(|edit| json!({ "start": edit.span.start, "end": edit.span.end, "text": edit.text }))
        .collect();
    json!({ "title": fix.title, "safe": fix.safety == FixSafety::Safe, "edits": edits })
}
