//! `unscoped-files`.

use crate::diagnostic::{Findings, rule};
use crate::permission::{Domain, Level};
use crate::rules::Subject;
use crate::specification::GAIA;

/// Scopes that are equivalent to no scope.
const EVERYTHING: &[&str] = &["*", "/", "/**"];

rule! {
    /// ## What it does
    /// Flags a `filesystem` permission whose scope is the whole machine, such as `filesystem:write:/**`.
    ///
    /// ## Why is this bad?
    /// It is equivalent to no scope. An experimental skill gets the working directory instead, as with `./**`; a skill of another tier requests every file of the user.
    ///
    /// ## Example
    /// `filesystem:write:/**` becomes `filesystem:write:./**`.
    UNSCOPED_FILES = "unscoped-files", Warning / Warning, check;
    GAIA.at("3.2")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let permissions = subject.skill.permissions.iter().filter(|permission| {
        permission.domain == Domain::Filesystem && permission.level != Level::None
    });
    for permission in permissions {
        let scope = permission.scope.as_deref().map(str::trim);
        if let Some(scope) = scope.filter(|scope| EVERYTHING.contains(scope)) {
            let (level, read_as) = (permission.level.as_str(), "is read as `./**`");
            let message = format!(
                "`{scope}` covers every file; it {read_as} unless the skill is signed by a trusted publisher"
            );
            let help = format!("name the files: `filesystem:{level}:./**`");
            findings.push(UNSCOPED_FILES.at(permission.span, message).help(help));
        }
    }
}
