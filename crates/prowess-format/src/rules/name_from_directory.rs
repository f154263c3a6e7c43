//! `name-from-directory`.

use crate::diagnostic::{Findings, Severity, rule};
use crate::rules::Subject;
use crate::shape::Need;
use crate::skill::SkillKind;
use crate::specification::AGENT_SKILLS;
use crate::text::slug;

rule! {
    /// ## What it does
    /// Notes that the skill has no `name`.
    ///
    /// ## Why is this bad?
    /// The directory name is used instead, so renaming the directory renames the skill. Most specifications require the field.
    ///
    /// ## Example
    /// Add `name: …`.
    NAME_FROM_DIRECTORY = "name-from-directory", Info / Error, check;
    AGENT_SKILLS.at("Frontmatter")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    if subject.skill.name.is_some()
        || subject.skill.kind == SkillKind::Prose
        || !subject.has_front_matter()
    {
        return;
    }
    // An invalid name, and a missing one if the dialect requires it, have already been reported.
    let requires = |need: Need| need == Need::Required;
    if subject.document.root.has("name")
        || subject
            .skill
            .dialect
            .fields
            .iter()
            .any(|field| field.name == "name" && requires(field.need))
    {
        return;
    }
    let diagnostic = match subject.place.directory {
        Some(directory) => NAME_FROM_DIRECTORY
            .at(
                subject.document.opening,
                format!("the skill has no name, so `{directory}` is used"),
            )
            .help(format!("add `name: {}`", slug(directory))),
        None => NAME_FROM_DIRECTORY
            .at(subject.document.opening, "the skill has no name and is not in a directory")
            .severity(Severity::Warning, Severity::Error)
            .help("add `name: …`"),
    };
    findings.push(diagnostic);
}
