//! The format `full`: findings with their source lines, the position underlined, and help.

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use prowess_format::diagnostic::{FixSafety, Severity};

use super::path_of;
use crate::skill::check_report::{FileReport, Finding};
use crate::terminal::printer::inline;

pub(crate) fn render(reports: &[FileReport], colour: bool) -> String {
    let renderer = if colour { Renderer::styled() } else { Renderer::plain() };
    let renderer = renderer.decor_style(DecorStyle::Ascii).term_width(WIDTH);
    let mut out = String::new();
    for report in reports {
        for finding in &report.findings {
            out.push_str(&one(report, finding, &renderer));
            out.push_str("\n\n");
        }
    }
    out
}

/// Long lines are cut around the position, so that an excerpt fits into a terminal.
const WIDTH: usize = 100;

fn one(report: &FileReport, finding: &Finding, renderer: &Renderer) -> String {
    let level = match finding.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Info => Level::INFO,
    };
    let path = path_of(report, finding);
    let path = inline(&path);
    let title = level.primary_title(inline(&finding.message)).id(finding.rule.name);
    let mut elements: Vec<annotate_snippets::Element<'_>> = Vec::new();
    if let Some(excerpt) = &finding.excerpt {
        let mark = AnnotationKind::Primary.span(excerpt.mark.clone());
        elements.push(
            Snippet::source(excerpt.line.as_str())
                .line_start(finding.start.line)
                .path(path.as_ref())
                .annotation(mark)
                .into(),
        );
    }
    if let Some(help) = &finding.help {
        elements.push(Level::HELP.message(inline(help)).into());
    }
    if let Some(fix) = &finding.fix {
        let change = inline(&fix.title);
        let fix = match fix.safety {
            FixSafety::Safe => format!("`prowess check --fix` can {change}"),
            FixSafety::Suggested => format!("a likely fix is to {change}"),
        };
        elements.push(Level::NOTE.message(fix).into());
    }
    let text = renderer.render(&[title.elements(elements)]);
    let Some(excerpt) = &finding.excerpt else { return text };
    // The excerpt may contain escapes and start in the middle of its line, so the column that the renderer counts may be
    // wrong. It is replaced with that of the source.
    let counted = excerpt.line[..excerpt.mark.start].chars().count() + 1;
    let place = |column: usize| format!("{path}:{}:{column}", finding.start.line);
    match text.split_once(ARROW) {
        Some((before, after)) if counted != finding.start.column => {
            let after = after.replacen(&place(counted), &place(finding.start.column), 1);
            format!("{before}{ARROW}{after}")
        }
        _ => text,
    }
}

/// The text of the renderer before the position.
const ARROW: &str = "--> ";
