//! The format `github`: workflow commands, which become annotations on GitHub.

use std::fmt::Write as _;

use prowess_format::diagnostic::Severity;
use prowess_format::text::visible;

use super::{path_of, verdicts};
use crate::skill::check_report::FileReport;

pub(crate) fn render(reports: &[FileReport]) -> String {
    let mut out = String::new();
    for report in reports {
        let verdicts = verdicts::findings(report);
        for finding in report.findings.iter().chain(&verdicts) {
            let command = match finding.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Info => "notice",
            };
            let message = match &finding.help {
                Some(help) => format!("{}\nhelp: {help}", finding.message),
                None => finding.message.clone(),
            };
            let _ = writeln!(
                out,
                "::{command} file={},line={},col={},endLine={},endColumn={},title={}::{}",
                property(&path_of(report, finding)),
                finding.start.line,
                finding.start.column,
                finding.end.line,
                finding.end.column,
                property(finding.rule.name),
                data(&message),
            );
        }
    }
    out
}

/// Escapes the message, in which a line break would end the command.
fn data(text: &str) -> String {
    visible(text).replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes a property, which a colon or a comma would end as well.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
