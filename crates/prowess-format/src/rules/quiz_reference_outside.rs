//! `quiz-reference-outside`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::rules::is_inside;
use crate::specification::SKILLLI;

rule! {
    /// ## What it does
    /// Flags a `load-reference` that leaves the skill directory.
    ///
    /// ## Why is this bad?
    /// A skill must not read files outside its own directory.
    ///
    /// ## Example
    /// `references/guide.md`
    QUIZ_REFERENCE_OUTSIDE = "quiz-reference-outside", Error / Error, check;
    SKILLLI.at("Branch Actions")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for branch in subject.branches() {
        if let Some(reference) =
            branch.load_reference.as_ref().filter(|reference| !is_inside(reference))
        {
            findings.push(
                QUIZ_REFERENCE_OUTSIDE
                    .at(reference.span, format!("`{}` leaves the skill directory", reference.value))
                    .help("name a file of the skill, such as `references/guide.md`"),
            );
        }
    }
}
