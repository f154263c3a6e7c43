//! Which handlers an event concerns.

use std::time::Duration;

use prowess_format::hook_events::{HookEvent, MatchedField, hook_event};
use prowess_format::skill::{Hook, HookHandler};
use serde_json::{Map, Value};

use crate::matcher::Matcher;

/// The most handlers that one event starts for one skill.
pub const MAX_HANDLERS: usize = 32;

/// How a call of a tool looks to a hook: its name, and its input under that name.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolView {
    /// The name.
    pub name: String,
    /// The input.
    pub input: Value,
}

/// Decides whether a call matches the `if` of a handler; `None` when nobody can tell, and then the handler runs.
pub type ConditionCheck<'c> = dyn Fn(&str, &ToolView) -> Option<bool> + 'c;

/// The hooks of a skill, with compiled matchers.
#[derive(Clone, Debug, Default)]
pub struct HookSet {
    groups: Vec<Group>,
}

#[derive(Clone, Debug)]
struct Group {
    event: &'static HookEvent,
    matcher: Matcher,
    handlers: Vec<HookHandler>,
}

/// A handler that an event concerns.
#[derive(Clone, Debug, PartialEq)]
pub struct Selected<'s> {
    /// The handler.
    pub handler: &'s HookHandler,
    /// Its number in the skill, which stays the same.
    pub number: usize,
    /// Under which of its names the tool matched.
    pub view: usize,
}

/// A group of handlers of which nobody can tell whether the event concerns it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectedProblem {
    /// Why.
    pub message: String,
}

/// The handlers that an event concerns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection<'s> {
    /// Those to run.
    pub handlers: Vec<Selected<'s>>,
    /// Handlers that can't run, with the reason.
    pub problems: Vec<SelectedProblem>,
}

impl HookSet {
    /// The hooks of a skill. Those on unknown events are left out.
    pub fn of(hooks: &[Hook]) -> Self {
        let group = |hook: &Hook| {
            let event = hook_event(&hook.event)?;
            let matcher = Matcher::of(event, hook.matcher.as_deref());
            Some(Group { event, matcher, handlers: hook.handlers.clone() })
        };
        Self { groups: hooks.iter().filter_map(group).collect() }
    }

    /// Whether any handler is bound to an event.
    pub fn concerns(&self, event: &str) -> bool {
        self.groups.iter().any(|group| group.event.name == event && !group.handlers.is_empty())
    }

    /// Whether there are no handlers at all.
    pub fn is_empty(&self) -> bool {
        self.groups.iter().all(|group| group.handlers.is_empty())
    }

    /// All handlers with their events, in order.
    pub fn handlers(&self) -> impl Iterator<Item = (&'static HookEvent, &HookHandler)> {
        self.groups
            .iter()
            .flat_map(|group| group.handlers.iter().map(|handler| (group.event, handler)))
    }

    /// The handlers that an event concerns, each action once. `views` are the names of the tool, the usual one first; other
    /// events have none. `fields` are those of the input.
    pub fn select(
        &self,
        event: &HookEvent,
        views: &[ToolView],
        fields: &Map<String, Value>,
        condition: &ConditionCheck<'_>,
    ) -> Selection<'_> {
        let mut selection = Selection::default();
        let mut number = 0;
        for group in &self.groups {
            let first = number;
            number += group.handlers.len();
            if group.event.name != event.name {
                continue;
            }
            let matching = match group.matching(views, fields) {
                Ok(matching) => matching,
                Err(message) => {
                    selection.problems.push(SelectedProblem { message: message.to_owned() });
                    continue;
                }
            };
            for (at, handler) in group.handlers.iter().enumerate() {
                if !event.handlers.contain(&handler.kind) {
                    continue;
                }
                let fits = |view: &usize| match (&handler.condition, views.get(*view)) {
                    (None, _) => true,
                    (Some(rule), Some(view)) => condition(rule, view).unwrap_or(true),
                    // On events that are not about a tool, a handler with a condition never runs.
                    (Some(_), None) => false,
                };
                let Some(view) = matching.iter().copied().find(fits) else { continue };
                let is_known = |known: &Selected<'_>| {
                    known.view == view && is_same_action(known.handler, handler)
                };
                if selection.handlers.iter().any(is_known) {
                    continue;
                }
                if selection.handlers.len() == MAX_HANDLERS {
                    let message = format!(
                        "more than {MAX_HANDLERS} hooks are bound to `{}` for this",
                        event.name
                    );
                    selection.problems.push(SelectedProblem { message });
                    return selection;
                }
                selection.handlers.push(Selected { handler, number: first + at, view });
            }
        }
        selection
    }
}

impl Group {
    /// The views that match; for events that are not about a tool, the first stands for all.
    fn matching(
        &self,
        views: &[ToolView],
        fields: &Map<String, Value>,
    ) -> Result<Vec<usize>, &str> {
        let field = match self.event.matched {
            MatchedField::None => return Ok(vec![0]),
            MatchedField::Tool => {
                let mut matching = Vec::new();
                for (at, view) in views.iter().enumerate() {
                    if self.matcher.matches(&view.name)? {
                        matching.push(at);
                    }
                }
                return Ok(matching);
            }
            MatchedField::Field(field) | MatchedField::NarrowField(field) => field,
        };
        let value = fields.get(field).and_then(Value::as_str).unwrap_or_default();
        // A file is matched by its name.
        let value = if field == "file_path" { value.rsplit('/').next() } else { Some(value) };
        let is_match = self.matcher.matches(value.unwrap_or_default())?;
        Ok(if is_match { vec![0] } else { Vec::new() })
    }
}

/// Whether two handlers do the same: then one of them is enough.
fn is_same_action(one: &HookHandler, other: &HookHandler) -> bool {
    let text =
        |text: &prowess_format::skill::OptionalText| text.as_ref().map(|text| text.value.clone());
    one.kind.value == other.kind.value
        && text(&one.action) == text(&other.action)
        && one.arguments == other.arguments
        && one.shell == other.shell
        && one.headers == other.headers
        && text(&one.server) == text(&other.server)
        && one.input == other.input
        && one.model == other.model
}

/// How long a handler may take.
pub fn timeout(handler: &HookHandler, event: &HookEvent) -> Duration {
    /// `SessionEnd` never waits longer, whatever a handler declares.
    const END: Duration = Duration::from_mins(1);
    let declared = handler.timeout.and_then(|seconds| u64::try_from(seconds).ok());
    let usual = || match (handler.kind.as_str(), event.name) {
        ("prompt", _) => Duration::from_secs(30),
        ("agent", _) => Duration::from_mins(1),
        (_, "UserPromptSubmit") => Duration::from_secs(30),
        (_, "MessageDisplay") => Duration::from_secs(10),
        (_, "SessionEnd") => Duration::from_millis(1500),
        _ => Duration::from_mins(10),
    };
    let time = declared.map_or_else(usual, Duration::from_secs);
    if event.name == "SessionEnd" { time.min(END) } else { time }
}
