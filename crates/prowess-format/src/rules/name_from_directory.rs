//! `name-from-directory`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::skill::Kind;
use crate::text::slug;

rule! {
    /// ## What it does
    /// Notes that the skill has no name of its own.
    ///
    /// ## Why is this bad?
    /// The directory name counts instead; renaming the directory then renames the skill (R3).
    ///
    /// ## Example
    /// Add `name: …`.
    NAME_FROM_DIRECTORY = "name-from-directory", Info / Warning, check
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    if subject.skill.name.is_some() || subject.skill.kind == Kind::Prose || !subject.has_front_matter() {
        return;
    }
    let help = match subject.place.directory {
        Some(directory) => format!("add `name: {}`", slug(directory)),
        None => "add `name: …`".to_owned(),
    };
    findings.push(NAME_FROM_DIRECTORY.at(subject.document.opening, "the skill has no name, so its directory's name counts").help(help));
}
