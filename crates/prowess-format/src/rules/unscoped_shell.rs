//! `unscoped-shell`.

use crate::diagnostic::{Findings, rule};
use crate::permission::{Domain, Level};
use crate::rules::Subject;
use crate::specification::GAIA;

rule! {
    /// ## What it does
    /// Flags `shell:execute` without a list of programs.
    ///
    /// ## Why is this bad?
    /// The grant covers every program on the machine.
    ///
    /// ## Example
    /// `shell:execute` becomes `shell:execute:git,npm`.
    UNSCOPED_SHELL = "unscoped-shell", Warning / Warning, check;
    GAIA.at("3.2")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for permission in subject.skill.permissions.iter().filter(|permission| {
        permission.domain == Domain::Shell && permission.level == Level::Execute
    }) {
        if permission.scope.as_deref().is_none_or(|scope| scope.trim() == "*") {
            findings.push(
                UNSCOPED_SHELL
                    .at(permission.span, "`shell:execute` covers every program on the machine")
                    .help("name the programs: `shell:execute:git,npm`"),
            );
        }
    }
}
