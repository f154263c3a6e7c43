//! A session: the hooks of the skills that are in use, and the events that they are told about.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use prowess_format::hook_events::{HookEvent, hook_event};
use prowess_format::skill::HookHandler;
use prowess_format::text::visible_line;
use prowess_format::tool_pattern::ToolPattern;
use prowess_hooks::{
    Blocked, EventVerdict, HandlerResult, HookAnswer, HookFacts, HookSet, PreToolVerdict,
    StopBlocks, ToolView, answer, background_answer, event_verdict, hook_input, pre_tool_verdict,
};
use prowess_policy::Allowed;
use prowess_policy::tool_rules::{self, RuleEffect, ToolFolders};
use serde_json::{Map, Value, json};

use super::call::ToolUse;
use super::handler;
use super::prepared;
use super::services::HookServices;
use crate::decision::{Engine, ReadyRun};
use crate::prepare::PreparedCall;
use crate::run::CancellationToken;

/// The most handlers that run at the same time.
const MAX_PARALLEL: usize = 16;
/// The most skills whose hooks one session has.
const MAX_SKILLS: usize = 64;
/// The most commands in the background.
const MAX_BACKGROUND: usize = 16;
/// The most answers from the background that nobody has asked for.
const MAX_ANSWERS: usize = 100;

/// The hooks of the skills that a session uses. Clones are the same session; when the last one is dropped, what still runs in
/// the background is killed.
#[derive(Clone, Debug)]
pub struct HookSession {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    services: HookServices,
    state: Mutex<State>,
    /// Answers of commands in the background.
    answers: Arc<Mutex<Vec<EventVerdict>>>,
}

#[derive(Debug, Default)]
struct State {
    facts: HookFacts,
    registered: Vec<Arc<Registered>>,
    stops: StopBlocks,
    background: Vec<Background>,
}

#[derive(Debug)]
struct Background {
    cancel: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

/// The hooks of one skill, which were decided about.
#[derive(Debug)]
pub(super) struct Registered {
    pub(super) prepared: PreparedCall,
    pub(super) allowed: Allowed,
    hooks: HookSet,
    /// The handlers that run once and have.
    spent: Mutex<BTreeSet<usize>>,
}

/// What `Stop` hooks have come to.
#[derive(Clone, Debug, PartialEq)]
pub struct StopVerdict {
    /// Whether the agent has to go on.
    pub goes_on: bool,
    /// Why, and everything else that the hooks said.
    pub verdict: EventVerdict,
}

/// What a handler answered, and the call as it was told about it.
pub(super) struct HandlerAnswer {
    pub(super) hook: String,
    pub(super) answer: HookAnswer,
    pub(super) view: usize,
}

impl HookSession {
    /// A session without hooks. `facts` are what its events say about it; an empty `cwd` is the engine's.
    pub fn new(engine: &Engine, facts: HookFacts) -> Self {
        let mut facts = facts;
        if facts.cwd.is_empty() {
            facts.cwd = engine.world.working_directory.to_string_lossy().into_owned();
        }
        if facts.permission_mode.is_empty() {
            "default".clone_into(&mut facts.permission_mode);
        }
        let state = State { facts, ..State::default() };
        let inner = Inner {
            services: engine.hooks.clone(),
            state: Mutex::new(state),
            answers: Arc::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Registers the hooks of a skill, decided about after [`prepare_hooks`](super::prepare_hooks). They stay for the rest of
    /// the session. A skill whose hooks are there already is not registered again, and neither is a run of anything else.
    pub fn register(&self, ready: ReadyRun) -> bool {
        match ready.into_parts() {
            Some((prepared, allowed)) if prepared.call.tool.name.value == super::HOOKS_TOOL => {
                self.add(prepared, allowed)
            }
            _ => false,
        }
    }

    pub(super) fn add(&self, prepared: PreparedCall, allowed: Allowed) -> bool {
        let hooks = HookSet::of(&prepared.call.skill.skill.hooks);
        let mut state = self.state();
        let is_same = |known: &Arc<Registered>| {
            known.prepared.call.skill.place() == prepared.call.skill.place()
                && known.allowed.digest() == allowed.digest()
        };
        if state.registered.iter().any(is_same) || state.registered.len() == MAX_SKILLS {
            return false;
        }
        let spent = Mutex::default();
        state.registered.push(Arc::new(Registered { prepared, allowed, hooks, spent }));
        true
    }

    /// Whether the hooks of a skill are registered.
    pub fn has_hooks_of(&self, skill: &str) -> bool {
        self.state().registered.iter().any(|known| known.prepared.call.skill.name == skill)
    }

    /// Whether any hook is bound to an event.
    pub fn concerns(&self, event: &str) -> bool {
        self.state().registered.iter().any(|known| known.hooks.concerns(event))
    }

    /// Changes what events say about the session, such as the prompt that is being worked on.
    pub fn update(&self, change: impl FnOnce(&mut HookFacts)) {
        change(&mut self.state().facts);
    }

    /// `PreToolUse`. It blocks until all hooks have answered.
    ///
    /// An input that a hook wants in place of the tool's is in [`PreToolVerdict::updated_input`] with the number of its view:
    /// the caller validates it and decides about the call again.
    pub fn pre_tool(&self, tool_use: &ToolUse, cancel: &CancellationToken) -> PreToolVerdict {
        let answers =
            self.answers("PreToolUse", &tool_use.views, cancel, &|view| tool_use.fields(view));
        let views: Vec<usize> = answers.iter().map(|answer| answer.view).collect();
        let mut verdict = pre_tool_verdict(&named(answers), self.inner.services.strictness);
        // Whose input it is was known by the number of the handler; which name it is for is what a caller needs.
        if let Some((handler, _)) = &mut verdict.updated_input {
            *handler = views.get(*handler).copied().unwrap_or(0);
        }
        verdict
    }

    /// `PostToolUse`, after a tool has succeeded. `response` is its result under a name.
    pub fn post_tool(
        &self,
        tool_use: &ToolUse,
        response: &dyn Fn(&ToolView) -> Value,
        took: Duration,
        cancel: &CancellationToken,
    ) -> EventVerdict {
        event_verdict(&named(self.answers_after(tool_use, response, took, cancel)))
    }

    pub(super) fn answers_after(
        &self,
        tool_use: &ToolUse,
        response: &dyn Fn(&ToolView) -> Value,
        took: Duration,
        cancel: &CancellationToken,
    ) -> Vec<HandlerAnswer> {
        self.answers("PostToolUse", &tool_use.views, cancel, &|view| {
            let mut fields = tool_use.fields(view);
            if let Some(view) = tool_use.views.get(view) {
                fields.insert("tool_response".to_owned(), response(view));
            }
            fields.insert("duration_ms".to_owned(), super::call::millis(took).into());
            fields
        })
    }

    /// `PostToolUseFailure`, after a tool has started and failed.
    pub fn post_tool_failure(
        &self,
        tool_use: &ToolUse,
        error: &str,
        is_interrupt: bool,
        took: Duration,
        cancel: &CancellationToken,
    ) -> EventVerdict {
        let answers = self.answers("PostToolUseFailure", &tool_use.views, cancel, &|view| {
            let mut fields = tool_use.fields(view);
            fields.insert("error".to_owned(), error.into());
            fields.insert("is_interrupt".to_owned(), is_interrupt.into());
            fields.insert("duration_ms".to_owned(), super::call::millis(took).into());
            fields
        });
        event_verdict(&named(answers))
    }

    /// `Stop`: the agent has said its last word, and hooks may keep it working, but not forever.
    pub fn stop(&self, last_message: &str, cancel: &CancellationToken) -> StopVerdict {
        let is_active = self.state().stops.is_active();
        let fields = json!({
            "stop_hook_active": is_active,
            "last_assistant_message": last_message,
            "background_tasks": [],
            "session_crons": [],
        });
        let verdict = self.fire("Stop", &fields, cancel);
        let goes_on = self.state().stops.goes_on(&verdict);
        StopVerdict { goes_on, verdict }
    }

    /// Any other event, with its own fields: `SessionStart` with `source`, `UserPromptSubmit` with `prompt`, and so on.
    pub fn fire(&self, event: &str, fields: &Value, cancel: &CancellationToken) -> EventVerdict {
        let fields = fields.as_object().cloned().unwrap_or_default();
        let answers = self.answers(event, &[], cancel, &|_| fields.clone());
        event_verdict(&named(answers))
    }

    /// What commands in the background have said since the last call: context and messages only.
    pub fn take_background(&self) -> Vec<EventVerdict> {
        std::mem::take(&mut *lock(&self.inner.answers))
    }

    /// Waits for commands in the background, at most for a time, and kills the others.
    pub(super) fn settle(&self, patience: Duration) {
        let background = std::mem::take(&mut self.state().background);
        let until = std::time::Instant::now() + patience;
        for mut one in background {
            let Some(thread) = one.thread.take() else { continue };
            let (ended, waiting) = std::sync::mpsc::channel();
            let joined = std::thread::spawn(move || {
                // A thread that panicked has ended, too.
                let _ = thread.join();
                // The other end may have given up.
                let _ = ended.send(());
            });
            let left = until.saturating_duration_since(std::time::Instant::now());
            if waiting.recv_timeout(left).is_err() {
                one.cancel.kill();
            }
            let _ = joined.join();
        }
    }

    /// Runs the handlers that an event concerns, at the same time, and waits for them.
    fn answers(
        &self,
        event: &str,
        views: &[ToolView],
        cancel: &CancellationToken,
        fields: &dyn Fn(usize) -> Map<String, Value>,
    ) -> Vec<HandlerAnswer> {
        let Some(event) = hook_event(event) else { return Vec::new() };
        let (registered, facts) = {
            let state = self.state();
            let concerned = state.registered.iter().filter(|it| it.hooks.concerns(event.name));
            (concerned.cloned().collect::<Vec<_>>(), state.facts.clone())
        };
        let mut answers = Vec::new();
        let mut waiting = Vec::new();
        let first = fields(0);
        for one in registered {
            let skill = &one.prepared.call.skill.name;
            let condition = |rule: &str, view: &ToolView| matches_rule(rule, view, &one);
            let selection = one.hooks.select(event, views, &first, &condition);
            for problem in selection.problems {
                let hook = format!("a hook of `{}`", visible_line(skill));
                let result = HandlerResult::Broken { why: problem.message };
                answers.push(HandlerAnswer {
                    hook,
                    answer: answer(event, false, &result),
                    view: 0,
                });
            }
            for selected in selection.handlers {
                if selected.handler.once && !lock(&one.spent).insert(selected.number) {
                    continue;
                }
                let input = hook_input(event, &facts, &fields(selected.view));
                let task = Task {
                    registered: Arc::clone(&one),
                    event,
                    handler: selected.handler.clone(),
                    input,
                    view: selected.view,
                };
                if task.is_background() {
                    answers.extend(self.start_in_background(task));
                } else {
                    waiting.push(task);
                }
            }
        }
        let services = &self.inner.services;
        for tasks in waiting.chunks(MAX_PARALLEL) {
            let run = |task: &Task| task.run(services, &cancel.child());
            if let [task] = tasks {
                answers.push(run(task));
                continue;
            }
            std::thread::scope(|scope| {
                let threads: Vec<_> =
                    tasks.iter().map(|task| (task, scope.spawn(|| run(task)))).collect();
                for (task, thread) in threads {
                    answers.push(thread.join().unwrap_or_else(|_| task.panicked()));
                }
            });
        }
        answers
    }

    /// Starts a command that nobody waits for.
    fn start_in_background(&self, task: Task) -> Option<HandlerAnswer> {
        let mut state = self.state();
        state.background.retain(|one| one.thread.as_ref().is_some_and(|it| !it.is_finished()));
        if state.background.len() >= MAX_BACKGROUND {
            let why = format!("{MAX_BACKGROUND} hooks are running in the background already");
            return Some(task.broken(why));
        }
        let cancel = CancellationToken::default();
        let (token, services) = (cancel.clone(), self.inner.services.clone());
        let answers = Arc::clone(&self.inner.answers);
        let view = task.view;
        let hook = task.name();
        let thread = std::thread::Builder::new().name("prowess-hook".to_owned()).spawn(move || {
            let ended = handler::run(
                &task.registered,
                task.event,
                &task.handler,
                &task.input,
                &services,
                &token,
            );
            let answer = match &ended.result {
                // It wakes the agent: what it says is the agent's to know.
                HandlerResult::Exited { code: 2, stdout, stderr } if task.handler.async_rewake => {
                    let said = if stderr.trim().is_empty() { stdout } else { stderr };
                    let context = Some(prowess_hooks::capped(said.trim()));
                    HookAnswer { context, ..HookAnswer::default() }
                }
                result => background_answer(task.event, result),
            };
            let mut verdict = event_verdict(&[(task.name(), answer)]);
            verdict.messages.extend(ended.warnings);
            let mut answers = lock(&answers);
            if answers.len() < MAX_ANSWERS && verdict != EventVerdict::default() {
                answers.push(verdict);
            }
        });
        match thread {
            Ok(thread) => {
                state.background.push(Background { cancel, thread: Some(thread) });
                None
            }
            Err(error) => {
                let result = HandlerResult::Broken { why: format!("it can't be started: {error}") };
                let event = hook_event("SessionEnd")?;
                Some(HandlerAnswer { hook, answer: answer(event, false, &result), view })
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.inner.state)
    }
}

impl Drop for Inner {
    /// What runs in the background ends with the session.
    fn drop(&mut self) {
        let background = std::mem::take(&mut lock(&self.state).background);
        for one in &background {
            one.cancel.kill();
        }
        for thread in background.into_iter().filter_map(|one| one.thread) {
            // It was killed, so it ends.
            let _ = thread.join();
        }
    }
}

/// A handler with its input.
struct Task {
    registered: Arc<Registered>,
    event: &'static HookEvent,
    handler: HookHandler,
    input: Value,
    view: usize,
}

impl Task {
    fn is_background(&self) -> bool {
        *self.handler.kind == "command" && (self.handler.is_async || self.handler.async_rewake)
    }

    fn name(&self) -> String {
        prepared::name(&self.registered.prepared.call.skill.name, &self.handler)
    }

    fn run(&self, services: &HookServices, cancel: &CancellationToken) -> HandlerAnswer {
        let _span = tracing::info_span!("hook", event = self.event.name).entered();
        let ended = handler::run(
            &self.registered,
            self.event,
            &self.handler,
            &self.input,
            services,
            cancel,
        );
        let mut answer = answer(self.event, self.handler.continue_on_block, &ended.result);
        if !ended.warnings.is_empty() {
            let told = answer.system_message.take().into_iter().chain(ended.warnings);
            answer.system_message = Some(told.collect::<Vec<_>>().join("; "));
        }
        HandlerAnswer { hook: self.name(), answer, view: self.view }
    }

    fn broken(&self, why: String) -> HandlerAnswer {
        let answer = answer(self.event, false, &HandlerResult::Broken { why });
        HandlerAnswer { hook: self.name(), answer, view: self.view }
    }

    fn panicked(&self) -> HandlerAnswer {
        self.broken("its thread panicked (internal error)".to_owned())
    }
}

/// Whether a call matches the `if` of a handler. What nobody can read narrows nothing.
fn matches_rule(rule: &str, view: &ToolView, registered: &Registered) -> Option<bool> {
    let pattern: ToolPattern = rule.parse().ok()?;
    let text = |path: &std::path::Path| path.to_string_lossy().into_owned();
    let world = &registered.prepared.world;
    let directory = registered.prepared.call.skill.directory.as_deref().map(text);
    let (working, home) = (text(&world.working_directory), text(&world.home));
    let pattern = pattern.with_folders(directory.as_deref(), Some(&working));
    let folders = ToolFolders { working: &working, project: &working, home: Some(&home) };
    let call = tool_rules::ToolUse { tool: &view.name, input: &view.input, folders };
    Some(tool_rules::matches(&pattern, RuleEffect::Restrict, &call))
}

fn named(answers: Vec<HandlerAnswer>) -> Vec<(String, HookAnswer)> {
    answers.into_iter().map(|one| (one.hook, one.answer)).collect()
}

/// What a hook said, in one line that a terminal can show.
pub(super) fn because(blocked: &Blocked) -> String {
    let reason = prowess_format::text::shorten(&visible_line(&blocked.reason), super::MAX_REASON);
    format!("{}: {reason}", blocked.hook)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
