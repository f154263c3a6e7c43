//! Changes of runs for people: lists, diffs, reasons.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use prowess_core::{ChangeDecision, ChangedFile};

use crate::terminal::printer::inline;

/// Maximum number of lines of a diff that is shown before a question.
const MAX_DIFF_LINES: usize = 2000;

/// One line for each change: what becomes of it, the kind, the path, the reason.
pub(crate) fn list(changes: &[ChangedFile]) -> String {
    changes.iter().fold(String::new(), |mut text, file| {
        let mark = match file.decision {
            ChangeDecision::Apply => "+",
            ChangeDecision::Ask => "?",
            ChangeDecision::Refuse | ChangeDecision::Conflict => "!",
        };
        let path = file.path.display().to_string();
        let _ = write!(text, "  {mark} {:7}  {}", file.kind, inline(&path));
        if let Some(reason) = &file.reason {
            let _ = write!(text, " ({})", inline(reason));
        }
        text.push('\n');
        text
    })
}

/// A diff in colours, made safe for a terminal.
pub(crate) fn diff(diff: &str, colour: bool) -> String {
    let style = |wanted: Style| if colour { wanted } else { Style::new() };
    let (bold, red, green) = (
        style(Style::new().bold()),
        style(AnsiColor::Red.on_default()),
        style(AnsiColor::Green.on_default()),
    );
    let mut page = String::from("\n");
    for line in diff.lines().take(MAX_DIFF_LINES) {
        let style = match line.as_bytes() {
            [b'd', b'i', b'f', b'f', ..] | [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => bold,
            [b'+', ..] => green,
            [b'-', ..] => red,
            _ => Style::new(),
        };
        let _ = writeln!(page, "{style}{}{style:#}", inline(line));
    }
    let left = diff.lines().count().saturating_sub(MAX_DIFF_LINES);
    if left > 0 {
        let _ = writeln!(page, "({left} more lines; `prowess runs diff` shows all of them)");
    }
    page.push('\n');
    page
}

/// Why nothing was applied.
pub(crate) fn not_applied(file: &ChangedFile) -> String {
    let path = file.path.display().to_string();
    let path = inline(&path);
    let reason = file.reason.as_deref().unwrap_or("it was not approved");
    match file.decision {
        ChangeDecision::Conflict => {
            format!("its changes were not applied: `{path}` is in conflict, because {reason}")
        }
        ChangeDecision::Refuse => {
            format!("its changes were not applied: `{path}` is never applied, because {reason}")
        }
        ChangeDecision::Ask | ChangeDecision::Apply => {
            format!("its changes were not applied: `{path}` needs your decision, because {reason}")
        }
    }
}
