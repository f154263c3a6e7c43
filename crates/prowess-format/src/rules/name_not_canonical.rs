//! `name-not-canonical`.

use crate::diagnostic::{Findings, Severity, rule};
use crate::dialect::NameStyle;
use crate::formats;
use crate::rules::Subject;
use crate::text::slug;

rule! {
    /// ## What it does
    /// Flags a name that its dialect takes, but that is not in the form that publishing and installing need. In OpenClaw, where every name goes, it is a note.
    ///
    /// ## Why is this bad?
    /// Names in the wild hold blanks, dots and upper-case letters; the skill is installed under the slug shown (R2, OC-8).
    ///
    /// ## Example
    /// `My Skill` is installed as `my-skill`.
    NAME_NOT_CANONICAL = "name-not-canonical", Warning / Warning, check
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(name) = &subject.skill.name else { return };
    let severity = match subject.skill.dialect.name {
        // Every name that this form takes is canonical.
        NameStyle::Kebab => return,
        // The field's own rule says more about a name that not even the dialect takes.
        NameStyle::UnicodeKebab if formats::check_unicode_name(name).is_err() => return,
        NameStyle::LetterFirst if formats::check_letter_first(name).is_err() => return,
        NameStyle::Dotted if formats::check_dotted(name).is_err() => return,
        NameStyle::UnicodeKebab | NameStyle::LetterFirst | NameStyle::Dotted => Severity::Warning,
        NameStyle::Free => Severity::Info,
    };
    if formats::check_name(name).is_err() {
        let message = format!("`{}` is installed and published as `{}`", name.value, slug(name));
        findings.push(
            NAME_NOT_CANONICAL
                .at(name.span, message)
                .severity(severity, severity)
                .help(format!("write `name: {}`", slug(name))),
        );
    }
}
