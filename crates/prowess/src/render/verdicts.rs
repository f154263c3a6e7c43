//! The verdicts of clients, one line per client with its reasons below.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use prowess_format::client::{ClientOutcome, ClientVerdict};
use prowess_format::rules;
use prowess_format::span::Position;

use crate::skill::check_report::{FileReport, Finding};
use crate::terminal::printer::inline;

pub(crate) fn render(reports: &[FileReport], colour: bool) -> String {
    let mut out = String::new();
    for report in reports {
        for verdict in &report.verdicts {
            let style = match verdict.outcome {
                _ if !colour => Style::new(),
                ClientOutcome::Loads => AnsiColor::Green.on_default(),
                ClientOutcome::LoadsWithoutDescription => AnsiColor::Yellow.on_default(),
                ClientOutcome::Dropped => AnsiColor::Red.on_default(),
            };
            let _ = writeln!(
                out,
                "{}: {}: {style}{}{style:#}",
                inline(&report.path),
                verdict.client.title,
                verdict.outcome.phrase(),
            );
            for reason in &verdict.reasons {
                let _ = writeln!(out, "  {}", inline(reason));
            }
        }
    }
    out
}

/// The bad verdicts as findings, for formats that only know findings. They are about the whole file, so their position is
/// its start.
pub(crate) fn findings(report: &FileReport) -> Vec<Finding> {
    report.verdicts.iter().filter_map(finding).collect()
}

fn finding(verdict: &ClientVerdict) -> Option<Finding> {
    let code = match verdict.outcome {
        ClientOutcome::Loads => return None,
        ClientOutcome::LoadsWithoutDescription => "hidden-description",
        ClientOutcome::Dropped => "dropped-by-client",
    };
    let rule = rules::by_name(code).expect("the rule is in the list of rules");
    let start = Position { line: 1, column: 1 };
    Some(Finding {
        rule,
        severity: rule.severity,
        message: format!(
            "for {} the skill {}: {}",
            verdict.client.title,
            verdict.outcome.phrase(),
            verdict.reasons.join("; ")
        ),
        help: None,
        fix: None,
        file: None,
        start,
        end: start,
        edits: Vec::new(),
        excerpt: None,
    })
}
