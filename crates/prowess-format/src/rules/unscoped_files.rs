//! `unscoped-files`.

use crate::diagnostic::{Findings, rule};
use crate::permission::{Domain, Level};
use crate::rules::Subject;

/// Scopes that say in characters what no scope says.
const EVERYTHING: &[&str] = &["*", "/", "/**"];

rule! {
    /// ## What it does
    /// Flags a `filesystem` permission whose scope is the whole machine, such as `filesystem:write:/**`.
    ///
    /// ## Why is this bad?
    /// It is the same as no scope. An experimental skill gets the working directory instead, as if `./**` were written, and a
    /// skill of another tier asks for every file of its user.
    ///
    /// ## Example
    /// `filesystem:write:/**` becomes `filesystem:write:./**`.
    UNSCOPED_FILES = "unscoped-files", Warning / Warning, check
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
                "`{scope}` is every file, and {read_as} unless somebody vouches for the skill"
            );
            let help = format!("name the files: `filesystem:{level}:./**`");
            findings.push(UNSCOPED_FILES.at(permission.span, message).help(help));
        }
    }
}
