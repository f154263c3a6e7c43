//! `missing-file`.

use crate::diagnostic::{Findings, Severity, rule};
use crate::rules::{FileState, Subject};
use crate::specification::AGENT_SKILLS;
use crate::text::shorten;

rule! {
    /// ## What it does
    /// Flags a relative link in the body to a file that does not exist, and a code span such as `scripts/run.py` that names one.
    ///
    /// ## Why is this bad?
    /// An agent that follows the text fails to read or run the file. A code span is only a note if the skill has no such folder at all: the text may tell the agent to create it.
    ///
    /// ## Example
    /// `[the guide](reference/guide.md)` becomes `[the guide](references/guide.md)`.
    MISSING_FILE = "missing-file", Warning / Warning, check;
    AGENT_SKILLS.at("File references")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for (mention, state) in subject.mentions() {
        if *state != FileState::Missing {
            continue;
        }
        let folder = mention.path.split('/').next().unwrap_or_default();
        let is_expected =
            mention.is_link || subject.place.files.is_some_and(|files| files.exists(folder));
        let severity = if is_expected { Severity::Warning } else { Severity::Info };
        findings.push(
            MISSING_FILE
                .at(mention.span, format!("`{}` does not exist", shorten(&mention.path, 80)))
                .severity(severity, severity)
                .help("correct the path, or add the file; it is relative to the skill's folder"),
        );
    }
}
