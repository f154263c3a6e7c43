//! `invalid-hook`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::specification::{CLAUDE_CODE_HOOKS, SKILLLI};

rule! {
    /// ## What it does
    /// Flags a hook that no host can run: an unknown type, no handlers, or a handler without its command or prompt.
    ///
    /// ## Why is this bad?
    /// A hook that never runs gives a false sense of security.
    ///
    /// ## Example
    /// `type: command` needs `command: …`.
    INVALID_HOOK = "invalid-hook", Error / Error, check;
    CLAUDE_CODE_HOOKS.whole(), SKILLLI.at("Hooks Block")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for handler in subject.skill.hooks.iter().flat_map(|hook| &hook.handlers) {
        let wanted = if *handler.kind == "command" { "command" } else { "prompt" };
        if handler.action.is_none() {
            findings.push(
                INVALID_HOOK
                    .at(
                        handler.kind.span,
                        format!("a hook of type `{}` needs `{wanted}`", handler.kind.value),
                    )
                    .help(format!("add `{wanted}: …`")),
            );
        }
    }
}
