//! `quiz-unknown-anchor`.

use crate::diagnostic::{Findings, rule};
use crate::document::markdown::{self, Block};
use crate::rules::Subject;
use crate::text::closest;

rule! {
    /// ## What it does
    /// Flags a `goto` to a section that the body does not have.
    ///
    /// ## Why is this bad?
    /// The branch leads nowhere (SKL layer 4).
    ///
    /// ## Example
    /// Write the heading as it stands in the body.
    QUIZ_UNKNOWN_ANCHOR = "quiz-unknown-anchor", Error / Error, check
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for branch in subject.branches() {
        let Some(anchor) = &branch.goto else { continue };
        if markdown::section(subject.document.blocks(), anchor).is_some() {
            continue;
        }
        let headings: Vec<&str> = subject.document.blocks().iter().filter_map(|block| match block {
            Block::Heading { text, .. } => Some(text.as_str()),
            _ => None,
        }).collect();
        let help = closest(anchor.trim_start_matches('#').trim(), headings).map_or_else(|| "write the heading as it stands in the body, such as `## Setup Steps`".to_owned(), |similar| format!("did you mean `{similar}`?"));
        findings.push(QUIZ_UNKNOWN_ANCHOR.at(anchor.span, format!("the body has no section `{}`", anchor.value)).help(help));
    }
}
