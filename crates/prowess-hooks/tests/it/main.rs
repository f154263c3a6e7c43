//! Hooks without running any: matchers, what handlers are told, and what their answers come to, row by row of the reference.

mod answers;
mod inputs;
mod matchers;
mod placeholders;
mod selecting;
mod verdicts;

use prowess_format::hook_events::{HookEvent, hook_event};

/// An event by its name.
fn event(name: &str) -> &'static HookEvent {
    hook_event(name).unwrap_or_else(|| panic!("`{name}` is an event"))
}
