//! `quiz-unknown-anchor`.

use std::collections::HashMap;

use crate::diagnostic::{Findings, rule};
use crate::document::markdown::{self, Block};
use crate::rules::Subject;
use crate::specification::SKILLLI;
use crate::text::closest;

rule! {
    /// ## What it does
    /// Flags a `goto` to a section that the body does not have.
    ///
    /// ## Why is this bad?
    /// The branch leads nowhere.
    ///
    /// ## Example
    /// Copy the heading from the body.
    QUIZ_UNKNOWN_ANCHOR = "quiz-unknown-anchor", Error / Error, check;
    SKILLLI.at("Branch Actions")
}

/// Maximum number of distinct anchors to look up.
const MAX_ANCHORS: usize = 200;

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let mut known: HashMap<&str, bool> = HashMap::new();
    for branch in subject.branches() {
        let Some(anchor) = &branch.goto else { continue };
        // A hostile file has thousands of anchors and thousands of headings.
        if known.len() == MAX_ANCHORS {
            return;
        }
        if *known
            .entry(anchor.as_str())
            .or_insert_with(|| markdown::section(subject.document.blocks(), anchor).is_some())
        {
            continue;
        }
        let headings: Vec<&str> = subject
            .document
            .blocks()
            .iter()
            .filter_map(|block| match block {
                Block::Heading { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        let help = closest(anchor.trim_start_matches('#').trim(), headings).map_or_else(
            || "copy the heading from the body, such as `## Setup Steps`".to_owned(),
            |similar| format!("did you mean `{similar}`?"),
        );
        findings.push(
            QUIZ_UNKNOWN_ANCHOR
                .at(anchor.span, format!("the body has no section `{}`", anchor.value))
                .help(help),
        );
    }
}
