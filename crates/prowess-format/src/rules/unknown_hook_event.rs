//! `unknown-hook-event`.

use crate::diagnostic::{Findings, rule};
use crate::hook_events::{HOOK_EVENTS, hook_event};
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
        if hook_event(&hook.event).is_none() {
            let names = HOOK_EVENTS.iter().map(|event| event.name);
            let help = closest(&hook.event, names).map_or_else(
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
