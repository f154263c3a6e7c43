//! `missing-front-matter`.

use crate::client;
use crate::diagnostic::{Findings, Severity, rule};
use crate::document::{Form, FrontMatter};
use crate::rules::{self, Subject};
use crate::span::Span;
use crate::specification::{AGENT_FLOW, SKILLRT};

rule! {
    /// ## What it does
    /// Flags a file without front matter.
    ///
    /// ## Why is this bad?
    /// Without front matter there is no name and no description. skillrt calls such a file prose and accepts it, but most clients drop it without a word. A dialect that needs front matter makes it an error, and so does `--strict`, unless the dialect is `prose` or `skillrt`.
    ///
    /// ## Example
    /// Begin the file with `---`, `name: …`, `description: …`, `---`.
    MISSING_FRONT_MATTER = "missing-front-matter", Error / Error, check;
    AGENT_FLOW.at("2"), SKILLRT.at("3.1")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let document = subject.document;
    if document.front_matter != FrontMatter::Absent || document.form != Form::Markdown {
        return;
    }
    let accepts_prose = matches!(subject.skill.dialect.id, "prose" | "skillrt");
    let found = if accepts_prose {
        // A fence that is not quite one has been reported, and so has a file in another encoding. A user who names the
        // dialect asks for prose.
        let told = [&rules::MISPLACED_FRONT_MATTER, &rules::INVALID_UTF8];
        if subject.named_dialect || told.iter().any(|rule| findings.has(rule)) {
            return;
        }
        let what =
            if document.text.trim().is_empty() { "the file is empty" } else { "no front matter" };
        let message = format!("{what}: {} drop this file", client::that_drop_prose());
        MISSING_FRONT_MATTER.at(Span::at(0), message).severity(Severity::Warning, Severity::Error)
    } else {
        let message = format!("no front matter, which {} needs", subject.skill.dialect.title);
        MISSING_FRONT_MATTER.at(Span::at(0), message)
    };
    findings.push(found.help("begin the file with `---`, `name: …`, `description: …`, `---`"));
}
