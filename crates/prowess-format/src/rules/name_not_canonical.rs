//! `name-not-canonical`.

use crate::diagnostic::{Findings, rule};
use crate::dialect::NameStyle;
use crate::formats;
use crate::rules::Subject;
use crate::text::slug;

rule! {
    /// ## What it does
    /// Notes that a name is not in the form that publishing and installing need.
    ///
    /// ## Why is this bad?
    /// Names in the wild hold blanks, dots and upper-case letters; the skill is installed under the slug shown (R2, OC-8).
    ///
    /// ## Example
    /// `My Skill` is installed as `my-skill`.
    NAME_NOT_CANONICAL = "name-not-canonical", Info / Info, check
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(name) = &subject.skill.name else { return };
    if formats::check_name(name).is_err() && subject.skill.dialect.name != NameStyle::Kebab {
        let message = format!("`{}` is installed and published as `{}`", name.value, slug(name));
        findings.push(NAME_NOT_CANONICAL.at(name.span, message).help(format!("write `name: {}`", slug(name))));
    }
}
