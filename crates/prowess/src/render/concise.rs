//! The format `concise`: `path:line:column: severity[code] message`.

use std::fmt::Write as _;

use anstyle::Style;

use super::path_of;
use crate::skill::check_report::FileReport;
use crate::terminal::printer::{inline, severity_style};

pub(crate) fn render(reports: &[FileReport], colour: bool) -> String {
    let mut out = String::new();
    for report in reports {
        for finding in &report.findings {
            let path = path_of(report, finding);
            let style = if colour { severity_style(finding.severity) } else { Style::new() };
            let _ = writeln!(
                out,
                "{}:{}:{}: {style}{}[{}]{style:#} {}",
                inline(&path),
                finding.start.line,
                finding.start.column,
                finding.severity.as_str(),
                finding.rule.name,
                inline(&finding.message),
            );
        }
    }
    out
}
