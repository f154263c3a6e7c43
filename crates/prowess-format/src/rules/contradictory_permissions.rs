//! `contradictory-permissions`.

use crate::diagnostic::{Findings, rule};
use crate::permission::Level;
use crate::rules::Subject;
use crate::specification::GAIA;

rule! {
    /// ## What it does
    /// Flags `domain:none` together with a grant of the same domain.
    ///
    /// ## Why is this bad?
    /// The two contradict each other.
    ///
    /// ## Example
    /// Keep one of them.
    CONTRADICTORY_PERMISSIONS = "contradictory-permissions", Warning / Error, check;
    GAIA.at("3.1")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let permissions = &subject.skill.permissions;
    for none in permissions.iter().filter(|permission| permission.level == Level::None) {
        if let Some(grant) = permissions
            .iter()
            .find(|grant| grant.domain == none.domain && grant.level != Level::None)
        {
            findings.push(
                CONTRADICTORY_PERMISSIONS
                    .at(none.span, format!("`{}` contradicts `{}`", none.value, grant.value))
                    .help("keep one of the two"),
            );
        }
    }
}
