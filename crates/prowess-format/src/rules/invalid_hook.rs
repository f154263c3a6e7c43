//! `invalid-hook`.

use crate::diagnostic::{Findings, Severity, rule};
use crate::hook_events::{HookEvent, SupportedHandlers, hook_event};
use crate::rules::Subject;
use crate::skill::{Hook, HookHandler};
use crate::span::Span;
use crate::specification::{CLAUDE_CODE_HOOKS, SKILLLI};

rule! {
    /// ## What it does
    /// Flags a hook that no host can run: an unknown type, no handlers, or a handler without its command, URL, tool or prompt.
    ///
    /// What has no effect is flagged as well: a type that the event does not support, an `if` on an event that is not about a tool, and `async` on anything but a command.
    ///
    /// ## Why is this bad?
    /// A hook that never runs gives a false sense of security.
    ///
    /// ## Example
    /// `type: command` needs `command: …`, and `type: mcp_tool` needs `server: …` and `tool: …`.
    INVALID_HOOK = "invalid-hook", Error / Error, check;
    CLAUDE_CODE_HOOKS.whole(), SKILLLI.at("Hooks Block")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for hook in &subject.skill.hooks {
        for handler in &hook.handlers {
            lacks(handler, findings);
            if let Some(event) = hook_event(&hook.event) {
                has_no_effect(hook, event, handler, findings);
            }
        }
    }
}

/// Reports the fields that a type needs.
fn lacks(handler: &HookHandler, findings: &mut Findings) {
    let kind = handler.kind.as_str();
    let mut wanted = Vec::new();
    if kind == "mcp_tool" && handler.server.is_none() {
        wanted.push("server");
    }
    if handler.action.is_none() {
        wanted.push(HookHandler::action_field(kind));
    }
    for field in wanted {
        findings.push(
            INVALID_HOOK
                .at(handler.kind.span, format!("a hook of type `{kind}` needs `{field}`"))
                .help(format!("add `{field}: …`")),
        );
    }
    let Some(url) = handler.action.as_ref().filter(|_| kind == "http") else { return };
    if !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme)) {
        findings.push(
            INVALID_HOOK
                .at(url.span, format!("`{}` is not the URL of a server", url.value))
                .help("write an address that begins with `https://`"),
        );
    }
}

/// Reports what hosts ignore.
fn has_no_effect(hook: &Hook, event: &HookEvent, handler: &HookHandler, findings: &mut Findings) {
    let mut warn = |span: Span, message: String, help: String| {
        findings.push(
            INVALID_HOOK
                .at(span, message)
                .severity(Severity::Warning, Severity::Warning)
                .help(help),
        );
    };
    let (name, kind) = (hook.event.as_str(), handler.kind.as_str());
    if SupportedHandlers::All.contain(kind) && !event.handlers.contain(kind) {
        warn(
            handler.kind.span,
            format!("a hook of type `{kind}` never runs on `{name}`"),
            "write a hook of type `command`".to_owned(),
        );
    }
    if let Some(condition) = handler.condition.as_ref().filter(|_| !event.is_about_tool()) {
        warn(
            condition.span,
            format!("a hook with `if` never runs on `{name}`, which is not about a tool"),
            "remove `if`".to_owned(),
        );
    }
    if kind != "command" && (handler.is_async || handler.async_rewake) {
        warn(
            handler.kind.span,
            format!("a hook of type `{kind}` can't run in the background"),
            "remove `async`, or write a hook of type `command`".to_owned(),
        );
    }
}
