//! `name-directory-mismatch`.

use crate::diagnostic::{Findings, rule};
use crate::formats;
use crate::rules::Subject;
use crate::specification::{AGENT_FLOW, AGENT_SKILLS, GAIA, GIBBERISH};
use crate::text::slug;
use unicode_normalization::UnicodeNormalization;

rule! {
    /// ## What it does
    /// Flags a name that differs from the directory of the skill.
    ///
    /// ## Why is this bad?
    /// Agents find skills by directory and call them by name; most dialects require the two to be equal.
    ///
    /// ## Example
    /// Rename one of the two.
    NAME_DIRECTORY_MISMATCH = "name-directory-mismatch", Error / Error, check;
    AGENT_SKILLS.at("Frontmatter"), GIBBERISH.at("1.2"), AGENT_FLOW.at("4"), GAIA.at("2.3")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let (Some(name), Some(directory), Some((severity, strict))) =
        (&subject.skill.name, subject.place.directory, subject.skill.dialect.directory)
    else {
        return;
    };
    // Compare compatibility forms: macOS decomposes file names.
    if name.value == directory || name.nfkc().eq(directory.nfkc()) {
        return;
    }
    // A name that only differs in its form has its own finding.
    if formats::check_name(name).is_err() && slug(name) == directory {
        return;
    }
    let message = format!("the name is `{}`, the directory is `{directory}`", name.value);
    findings.push(NAME_DIRECTORY_MISMATCH.at(name.span, message).severity(severity, strict).help(
        format!("rename the directory to `{}`, or the skill to `{}`", slug(name), slug(directory)),
    ));
}
