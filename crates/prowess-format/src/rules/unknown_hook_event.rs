//! `unknown-hook-event`.

use crate::diagnostic::{Findings, rule};
use crate::dialect;
use crate::rules::Subject;
use crate::specification::{CLAUDE_CODE_HOOKS, SKILLLI};
use crate::text::closest;

rule! {
    /// ## What it does
    /// Flags a hook on an unknown event.
    ///
    /// ## Why is this bad?
    /// The hook never runs.
    ///
    /// ## Example
    /// `PreToolUse`, `PostToolUse` or `Stop`
    UNKNOWN_HOOK_EVENT = "unknown-hook-event", Warning / Warning, check;
    CLAUDE_CODE_HOOKS.whole(), SKILLLI.at("Hooks Block")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for hook in &subject.skill.hooks {
        if !dialect::HOOK_EVENTS.contains(&hook.event.as_str()) {
            let help = closest(&hook.event, dialect::HOOK_EVENTS.iter().copied()).map_or_else(
                || "write `PreToolUse`, `PostToolUse` or `Stop`".to_owned(),
                |similar| format!("did you mean `{similar}`?"),
            );
            findings.push(
                UNKNOWN_HOOK_EVENT
                    .at(hook.event.span, format!("`{}` is not a hook event", hook.event.value))
                    .help(help),
            );
        }
    }
}
