//! `name-from-directory`.

use crate::diagnostic::{Findings, Severity, rule};
use crate::rules::Subject;
use crate::shape::Need;
use crate::skill::Kind;
use crate::text::slug;

rule! {
    /// ## What it does
    /// Notes that the skill has no name of its own.
    ///
    /// ## Why is this bad?
    /// The directory name counts instead; renaming the directory then renames the skill (R3). Most specifications call the field required.
    ///
    /// ## Example
    /// Add `name: …`.
    NAME_FROM_DIRECTORY = "name-from-directory", Info / Error, check
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    if subject.skill.name.is_some()
        || subject.skill.kind == Kind::Prose
        || !subject.has_front_matter()
    {
        return;
    }
    // A name of the wrong form, and an absent one where the dialect insists, are reported already.
    let insists = |need: Need| need == Need::Required;
    if subject.document.root.has("name")
        || subject
            .skill
            .dialect
            .fields
            .iter()
            .any(|field| field.name == "name" && insists(field.need))
    {
        return;
    }
    let diagnostic = match subject.place.directory {
        Some(directory) => NAME_FROM_DIRECTORY
            .at(subject.document.opening, format!("the skill has no name, so `{directory}` counts"))
            .help(format!("add `name: {}`", slug(directory))),
        None => NAME_FROM_DIRECTORY
            .at(
                subject.document.opening,
                "the skill has no name, and no directory to take one from",
            )
            .severity(Severity::Warning, Severity::Error)
            .help("add `name: …`"),
    };
    findings.push(diagnostic);
}
