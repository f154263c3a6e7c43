//! `name-not-canonical`.

use crate::diagnostic::{Findings, Severity, rule};
use crate::dialect::NameStyle;
use crate::formats;
use crate::rules::Subject;
use crate::text::slug;

rule! {
    /// ## What it does
    /// Flags a name that its dialect allows but that can't be published or installed unchanged. It is a note in OpenClaw, which allows any name.
    ///
    /// ## Why is this bad?
    /// Published names contain spaces, dots and upper-case letters; the skill is installed under the slug shown.
    ///
    /// ## Example
    /// `My Skill` is installed as `my-skill`.
    NAME_NOT_CANONICAL = "name-not-canonical", Warning / Warning, check
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(name) = &subject.skill.name else { return };
    let severity = match subject.skill.dialect.name {
        // Every name that this style allows is canonical.
        NameStyle::Kebab => return,
        // A name that the dialect does not allow has a more specific finding.
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
