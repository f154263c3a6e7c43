//! `missing-front-matter`.

use crate::diagnostic::{Findings, rule};
use crate::document::FrontMatter;
use crate::rules::Subject;
use crate::span::Span;
use crate::specification::AGENT_FLOW;

rule! {
    /// ## What it does
    /// Flags a file without front matter that is read as a dialect that needs it.
    ///
    /// ## Why is this bad?
    /// Without front matter there is no name and no description.
    ///
    /// ## Example
    /// Begin the file with `---`, `name: …`, `description: …`, `---`.
    MISSING_FRONT_MATTER = "missing-front-matter", Error / Error, check;
    AGENT_FLOW.at("2")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let needs = !matches!(subject.skill.dialect.id, "prose" | "skillrt");
    if subject.document.front_matter == FrontMatter::Absent && needs {
        let message = format!("no front matter, which {} needs", subject.skill.dialect.title);
        findings.push(
            MISSING_FRONT_MATTER
                .at(Span::at(0), message)
                .help("begin the file with `---`, `name: …`, `description: …`, `---`"),
        );
    }
}
