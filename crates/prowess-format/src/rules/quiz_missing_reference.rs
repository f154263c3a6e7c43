//! `quiz-missing-reference`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::rules::is_inside;
use crate::specification::SKILLLI;

rule! {
    /// ## What it does
    /// Flags a `load-reference` to a file that does not exist.
    ///
    /// ## Why is this bad?
    /// The answer leads nowhere.
    ///
    /// ## Example
    /// Add the file, or fix the path.
    QUIZ_MISSING_REFERENCE = "quiz-missing-reference", Warning / Error, check;
    SKILLLI.at("Branch Actions")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(files) = subject.place.files else { return };
    for branch in subject.branches() {
        if let Some(reference) = branch
            .load_reference
            .as_ref()
            .filter(|reference| is_inside(reference) && !files.exists(reference))
        {
            findings.push(
                QUIZ_MISSING_REFERENCE
                    .at(reference.span, format!("`{}` does not exist", reference.value))
                    .help("add the file, or fix the path"),
            );
        }
    }
}
