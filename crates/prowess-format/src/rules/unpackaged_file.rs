//! `unpackaged-file`.

use crate::diagnostic::{Findings, rule};
use crate::rules::{FileState, Subject};
use crate::specification::AGENT_SKILLS;
use crate::text::shorten;

rule! {
    /// ## What it does
    /// Flags a reference in the body to a file that is not packed with the skill: outside its folder, hidden, or left by an editor or a version control system.
    ///
    /// ## Why is this bad?
    /// The file is there for the author and missing for everybody who installs the skill.
    ///
    /// ## Example
    /// Move `../shared/guide.md` to `references/guide.md`.
    UNPACKAGED_FILE = "unpackaged-file", Warning / Warning, check;
    AGENT_SKILLS.at("File references")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for (mention, state) in subject.mentions() {
        if let FileState::LeftOut(why) = state {
            let path = shorten(&mention.path, 80);
            findings.push(
                UNPACKAGED_FILE
                    .at(mention.span, format!("`{path}` is not packed with the skill: {why}"))
                    .help("move the file into the skill's folder, under a name that is not hidden"),
            );
        }
    }
}
