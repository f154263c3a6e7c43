//! `wrong-case-path`.

use crate::diagnostic::{Edit, Findings, Fix, rule};
use crate::rules::{FileState, Subject};
use crate::span::Span;
use crate::specification::AGENT_SKILLS;
use crate::text::shorten;

rule! {
    /// ## What it does
    /// Flags a reference in the body whose upper and lower case differs from the file's name.
    ///
    /// ## Why is this bad?
    /// It works on macOS and Windows, and fails on Linux.
    ///
    /// ## Example
    /// `references/Guide.md` becomes `references/guide.md`; `prowess check --fix` does it.
    WRONG_CASE_PATH = "wrong-case-path", Warning / Warning, check;
    AGENT_SKILLS.at("File references")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for (mention, state) in subject.mentions() {
        let FileState::OtherCase(actual) = state else { continue };
        let message = format!("`{}` is called `{actual}`", shorten(&mention.path, 80));
        let mut found = WRONG_CASE_PATH.at(mention.span, message).help(format!("write `{actual}`"));
        // A path with escapes is not found as it is written, and has no fix.
        let source = mention.span.slice(subject.document.text);
        if let [(at, _)] = source.match_indices(&mention.path).collect::<Vec<_>>()[..] {
            let start = mention.span.start as usize + at;
            let edit = Edit::replace(Span::new(start, start + mention.path.len()), actual.clone());
            found = found.fix(Fix::safe("use the name of the file", vec![edit]));
        }
        findings.push(found);
    }
}
