//! What clients make of skills, one line per client with its reasons below.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use prowess_format::client::Outcome;

use crate::checking::FileReport;
use crate::printer::inline;

pub(crate) fn render(reports: &[FileReport], colour: bool) -> String {
    let mut out = String::new();
    for report in reports {
        for verdict in &report.verdicts {
            let style = match verdict.outcome {
                _ if !colour => Style::new(),
                Outcome::Loads => AnsiColor::Green.on_default(),
                Outcome::LoadsWithoutDescription => AnsiColor::Yellow.on_default(),
                Outcome::Dropped => AnsiColor::Red.on_default(),
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
