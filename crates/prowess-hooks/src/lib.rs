//! Which hooks of a skill an event concerns, what they are told, and what their answers come to.
//!
//! Pure: an event and the hooks of skills go in, handlers to run come out ([`HookSet::select`]); what running them has given goes
//! in, and a [`HookAnswer`] each and one verdict for all come out. Starting programs, requests and models belong to the crates
//! that call it. The rules are those of Claude Code's hook reference; `docs/design/hooks.md` lists where we differ.

mod answer;
mod input;
mod matcher;
mod select;
mod substitute;
mod verdict;

pub use answer::{HandlerResult, HookAnswer, HookFault, HookPermission, answer, background_answer};
pub use input::{HookFacts, hook_input};
pub use matcher::{MAX_MATCHER_BYTES, Matcher};
pub use select::{
    ConditionCheck, HookSet, MAX_HANDLERS, Selected, SelectedProblem, Selection, ToolView, timeout,
};
pub use substitute::{exec_words, header_value, prompt_text, tool_arguments};
pub use verdict::{
    Blocked, EventVerdict, MAX_STOP_BLOCKS, PreToolDecision, PreToolVerdict, StopBlocks,
    Strictness, event_verdict, pre_tool_verdict,
};

/// The most characters of a text that a hook may answer with.
pub const MAX_OUTPUT_CHARS: usize = 10_000; // "JSON output" of the hook reference

/// Cuts a text to [`MAX_OUTPUT_CHARS`], and says so.
pub fn capped(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(MAX_OUTPUT_CHARS) else { return text.to_owned() };
    let more = text[end..].chars().count();
    format!("{}\n[{more} more characters were cut]", &text[..end])
}
