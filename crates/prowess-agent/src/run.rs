//! The loop: the model answers, its calls are made, it gets their results, until it answers without a call.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use futures_util::future::join_all;
use prowess_core::{
    AgentEvent, AgentSummary, AnswerDetails, BoxFuture, CallStatus, Envelope, Event, Message,
    Model, ModelRequest, Problem, Retriever, StopReason, ToolCall, Usage,
};
use prowess_engine::manifest::Catalogue;
use prowess_engine::service::{self, ExecutionService, Owner};
use prowess_engine::{
    CancellationToken, Consent, Engine, EventVerdict, HookFacts, HookSession, LoadedSkill,
    PreToolDecision, SkillResolver, ToolUse, unmet_by,
};
use prowess_format::render::RenderedPrompt;
use prowess_format::subagent::{AgentTools, agent_type};
use serde_json::{Map, Value, json};

use crate::agent::{Agent, AgentTask};
use crate::call::{self, Begun, CallResult};
use crate::desk::ApprovalDesk;
use crate::ending::{self, EndFacts, Ending};
use crate::limits::{AgentLimits, MAX_CALLS, USUAL_ANSWER};
use crate::native_tools::{self, ForkedTask, NativeContext, NativeResult, NativeTool};
use crate::patience::Patience;
use crate::repetition::{Repetition, Verdict};
use crate::reporter::{Reporter, Sink};
use crate::roster::{Entry, Reach, Roster, Target};
use crate::system_prompt;
use crate::transcript::{Transcript, TranscriptEntry};
use crate::turn::{self, Audience, TurnAnswer};
use crate::wrapping::wrapped;

/// What an agent works with.
pub struct AgentContext<'c> {
    /// For tools, which work in the root of the project.
    pub engine: Engine,
    /// For scripts, which work in the current folder; the reason if they can't.
    pub script_engine: Result<Engine, String>,
    /// Where calls wait for their turn and run.
    pub service: ExecutionService,
    /// Whose runs they are.
    pub owner: Owner,
    /// The model.
    pub model: Arc<dyn Model>,
    /// Where prompt skills look up passages.
    pub retriever: Option<Arc<dyn Retriever>>,
    /// Finds the skills that prompt skills depend on.
    pub skills: Arc<dyn SkillResolver>,
    /// What the user said before anything was asked.
    pub consent: Consent,
    /// Who is asked.
    pub desk: Box<dyn ApprovalDesk + 'c>,
    /// Where everything is recorded.
    pub transcript: Option<Box<dyn Transcript + 'c>>,
    /// What may be used up.
    pub limits: AgentLimits,
    /// Whether the user's settings disable commands in the texts of skills.
    pub disables_injection: bool,
    /// Ends it early.
    pub cancel: CancellationToken,
}

/// Lets an agent work on a task. Events end with [`Event::Done`], whatever happens, unless the future is dropped: then the
/// request to the model is closed and running tools are cancelled.
pub async fn run_agent(
    agent: &Agent,
    task: &AgentTask,
    context: AgentContext<'_>,
    sink: &mut Sink<'_>,
) -> Envelope {
    let started = Instant::now();
    let reporter = Reporter::new(sink);
    let patience = Patience::new(context.cancel.clone(), context.limits.time);
    let (seconds, cancel) = (context.limits.time.as_secs(), context.cancel.clone());
    let mut session = Session::new(agent, context, &patience, &reporter);
    let ended = session.work(task).await;
    session.end_hooks().await;
    let facts = EndFacts { details: session.details(), cancel_code: cancel.exit_code(), seconds };
    let mut envelope = match ended {
        Ok(answer) => ending::answered(answer.text, answer.stop, facts),
        Err(ending) => ending::unanswered(ending, std::mem::take(&mut session.last_text), facts),
    };
    session.record_end(&envelope);
    envelope.warnings = reporter.warnings();
    envelope.duration = started.elapsed();
    if let Some(error) = &envelope.error {
        reporter.tell(&Event::Error { message: error.clone() });
    }
    reporter.tell(&Event::Done(Box::new(envelope.clone())));
    envelope
}

/// Whether a type of agent has no tools that change something. One of an unknown type has those of the conversation.
fn only_reads(agent: &str) -> bool {
    agent_type(agent).is_some_and(|known| match known.tools {
        AgentTools::All => false,
        AgentTools::ReadOnly => true,
        AgentTools::Only(tools) => !tools.contains(&"Bash"),
    })
}

/// A conversation with the model, and what it can reach in it.
pub(crate) struct Conversation {
    system: String,
    messages: Vec<Message>,
    loaded: BTreeSet<String>,
    audience: Audience,
    /// Whether tools that can change something are out of reach.
    only_reads: bool,
}

/// The work on one task.
struct Session<'c, 's> {
    agent: &'s Agent,
    context: AgentContext<'c>,
    patience: &'s Patience,
    reporter: &'s Reporter<'s>,
    catalogue: Catalogue,
    roster: Arc<Roster>,
    repetition: Repetition,
    summary: AgentSummary,
    total: Usage,
    hooks: HookSession,
    /// The skills whose quizzes are passed.
    open: BTreeSet<String>,
    session_id: String,
    /// The skill whose task is being worked on in a conversation of its own.
    fork: Option<String>,
    /// The ids of all calls.
    ids: HashSet<String>,
    last_text: String,
    has_warned_of_estimates: bool,
}

impl<'c, 's> Session<'c, 's> {
    fn new(
        agent: &'s Agent,
        context: AgentContext<'c>,
        patience: &'s Patience,
        reporter: &'s Reporter<'s>,
    ) -> Self {
        let skills = || agent.skills.iter().chain(&agent.own).map(Arc::clone);
        let names = |tools: &[NativeTool]| {
            tools.iter().map(|tool| (tool.name().to_owned(), String::new())).collect()
        };
        // The names of the loop's own tools are taken before those of skills.
        let menu = Catalogue::new(agent.skills.iter().map(Arc::clone), agent.mode, Vec::new());
        let native = NativeTool::of(&menu);
        let with_own = Catalogue::new(skills(), agent.mode, names(&native));
        let mut catalogue = menu.with_gates(&context.engine.quizzes);
        catalogue.offer = with_own.offer;
        let roster = Arc::new(Roster::new(agent, &catalogue, &native));
        let transcript = context.transcript.as_ref().and_then(|transcript| transcript.place());
        let session_id = service::new_run_id().map(|id| id.to_string()).unwrap_or_default();
        let transcript_path = transcript.clone().unwrap_or_default();
        let facts =
            HookFacts { session_id: session_id.clone(), transcript_path, ..HookFacts::default() };
        let hooks = HookSession::new(&context.engine, facts);
        Self {
            agent,
            context,
            patience,
            reporter,
            catalogue,
            roster,
            repetition: Repetition::default(),
            summary: AgentSummary { transcript, ..AgentSummary::default() },
            total: Usage::default(),
            hooks,
            open: BTreeSet::new(),
            session_id,
            fork: None,
            ids: HashSet::new(),
            last_text: String::new(),
            has_warned_of_estimates: false,
        }
    }

    async fn work(&mut self, task: &AgentTask) -> Result<TurnAnswer, Ending> {
        let prompt = system_prompt::of(self.agent, &self.catalogue);
        for cut in prompt.cuts {
            self.reporter.warn(cut);
        }
        let skills: Vec<String> =
            self.catalogue.for_model.iter().map(|skill| skill.name.clone()).collect();
        let model = self.context.model.name().to_owned();
        self.record(&TranscriptEntry::Start {
            agent: &self.agent.name,
            model: &model,
            skills: &skills,
            system: &prompt.text,
        })?;
        self.reporter.agent(AgentEvent::Start {
            agent: self.agent.name.clone(),
            model,
            skills: skills.clone(),
            transcript: self.summary.transcript.clone(),
        });
        self.warn_of_model().await?;
        for message in &task.history {
            if let Message::Assistant { calls, .. } = message {
                self.ids.extend(calls.iter().map(|call| call.id.clone()));
            }
        }
        self.find_open().await?;
        let loaded = self.reload(&task.loaded).await?;
        let messages = task.history.clone();
        let audience = Audience::User;
        let mut dialogue =
            Conversation { system: prompt.text, messages, loaded, audience, only_reads: false };
        let text = system_prompt::task(task);
        self.greet_hooks(&mut dialogue, &task.text, !task.history.is_empty()).await?;
        self.say(&mut dialogue, text)?;
        self.converse(&mut dialogue).await
    }

    /// Adds a message of the user to the conversation.
    fn say(&mut self, dialogue: &mut Conversation, text: String) -> Result<(), Ending> {
        self.record(&TranscriptEntry::User { text: &text })?;
        dialogue.messages.push(Message::User(text));
        Ok(())
    }

    /// Finds out which gates are open. It reads the files of skills that have one.
    async fn find_open(&mut self) -> Result<(), Ending> {
        let gated: Vec<Arc<LoadedSkill>> =
            self.catalogue.for_model.iter().filter(|it| it.skill.is_gated()).cloned().collect();
        if gated.is_empty() {
            return Ok(());
        }
        let quizzes = self.context.engine.quizzes.clone();
        let looking = tokio::task::spawn_blocking(move || {
            let open = gated.iter().filter(|skill| quizzes.is_open(skill));
            open.map(|skill| skill.name.clone()).collect::<BTreeSet<String>>()
        });
        self.open = self.patience.bound(looking).await?.unwrap_or_default();
        Ok(())
    }

    /// The skills of an earlier conversation that are still loaded: with their hooks, and with their gates open.
    async fn reload(&mut self, names: &[String]) -> Result<BTreeSet<String>, Ending> {
        let mut loaded = BTreeSet::new();
        let skills = self.catalogue.for_model.clone();
        for skill in skills.iter().filter(|skill| names.contains(&skill.name)) {
            if skill.skill.is_gated() && !self.open.contains(&skill.name) {
                continue;
            }
            match self.register_hooks(skill).await? {
                None => {
                    loaded.insert(skill.name.clone());
                }
                Some(result) => {
                    self.reporter
                        .warn(format!("`{}` is not loaded again: {}", skill.name, result.plain));
                }
            }
        }
        Ok(loaded)
    }

    /// Registers the hooks of a skill; gives the reason why it can't be loaded if they are refused.
    async fn register_hooks(
        &mut self,
        skill: &Arc<LoadedSkill>,
    ) -> Result<Option<CallResult>, Ending> {
        if skill.skill.hooks.is_empty() || self.hooks.has_hooks_of(&skill.name) {
            return Ok(None);
        }
        let hooks = self.hooks.clone();
        let result =
            self.context.register_hooks(skill, self.agent.mode, &hooks, self.patience).await?;
        Ok(result)
    }

    /// Tells hooks about the start and the task. Only those of an earlier conversation are there by now.
    async fn greet_hooks(
        &mut self,
        dialogue: &mut Conversation,
        task: &str,
        is_resumed: bool,
    ) -> Result<(), Ending> {
        let source = if is_resumed { "resume" } else { "startup" };
        let started = self.fire("SessionStart", json!({ "source": source })).await?;
        let prompted = self.fire("UserPromptSubmit", json!({ "prompt": task })).await?;
        if let Some(blocked) = prompted.blocks.first().or(prompted.stop.as_ref()) {
            let message = format!("{} refuses the task: {}", blocked.hook, blocked.reason);
            let kind = prowess_core::ProblemKind::Refused;
            return Err(Ending::Problem(Problem::new("denied-by-hook", kind, message)));
        }
        for context in started.context.into_iter().chain(prompted.context) {
            self.say(dialogue, wrapped("hook_output", &[], &context))?;
        }
        Ok(())
    }

    /// Tells hooks about an event, and the user what they say.
    async fn fire(&mut self, event: &'static str, fields: Value) -> Result<EventVerdict, Ending> {
        if !self.hooks.concerns(event) {
            return Ok(EventVerdict::default());
        }
        let (hooks, cancel) = (self.hooks.clone(), self.context.cancel.clone());
        let firing = tokio::task::spawn_blocking(move || hooks.fire(event, &fields, &cancel));
        let verdict = self.patience.bound(firing).await?.unwrap_or_default();
        for message in &verdict.messages {
            self.reporter.warn(message.clone());
        }
        Ok(verdict)
    }

    /// Tells hooks about the end; whatever they answer, it has ended.
    async fn end_hooks(&mut self) {
        if self.patience.is_over().is_none() {
            // Nobody is left to hear it.
            let _ = self.fire("SessionEnd", json!({ "reason": "other" })).await;
        }
    }

    /// Asks `Stop` hooks about the last word; gives what the model is told if it has to go on.
    async fn stopped(&mut self, text: &str) -> Result<Option<String>, Ending> {
        if !self.hooks.concerns("Stop") {
            return Ok(None);
        }
        let (hooks, cancel) = (self.hooks.clone(), self.context.cancel.clone());
        let last = text.to_owned();
        let asking = tokio::task::spawn_blocking(move || hooks.stop(&last, &cancel));
        let Ok(stop) = self.patience.bound(asking).await? else { return Ok(None) };
        for message in &stop.verdict.messages {
            self.reporter.warn(message.clone());
        }
        let said = stop
            .verdict
            .blocks
            .iter()
            .map(|blocked| format!("{}: {}", blocked.hook, blocked.reason));
        let said: Vec<String> = said.chain(stop.verdict.context).collect();
        Ok(stop.goes_on.then(|| wrapped("hook_output", &[("event", "Stop")], &said.join("\n"))))
    }

    /// Adds what commands in the background have said.
    fn hear_background(&mut self, dialogue: &mut Conversation) -> Result<(), Ending> {
        for verdict in self.hooks.take_background() {
            for message in verdict.messages {
                self.reporter.warn(message);
            }
            for context in verdict.context {
                self.say(dialogue, wrapped("hook_output", &[], &context))?;
            }
        }
        Ok(())
    }

    /// Goes on until the model answers without a call.
    ///
    /// The future is boxed, because a call may begin a conversation of its own.
    fn converse<'a>(
        &'a mut self,
        dialogue: &'a mut Conversation,
    ) -> BoxFuture<'a, Result<TurnAnswer, Ending>> {
        Box::pin(self.exchange(dialogue))
    }

    async fn exchange(&mut self, dialogue: &mut Conversation) -> Result<TurnAnswer, Ending> {
        loop {
            self.hear_background(dialogue)?;
            let mut answer = self.turn(dialogue).await?;
            self.name_calls(&mut answer.calls);
            if dialogue.audience == Audience::User {
                self.last_text.clone_from(&answer.text);
            }
            self.record(&TranscriptEntry::Assistant {
                turn: self.summary.turns,
                text: &answer.text,
                calls: &answer.calls,
                stop: answer.stop.as_str(),
                usage: answer.usage,
            })?;
            dialogue.messages.push(Message::Assistant {
                text: answer.text.clone(),
                calls: answer.calls.clone(),
            });
            if answer.stop == StopReason::Filtered {
                return Err(Ending::Filtered);
            }
            if answer.calls.is_empty() {
                if answer.stop == StopReason::Length {
                    self.reporter.warn("the answer was cut off at the model's limit of tokens");
                }
                if dialogue.audience == Audience::User
                    && let Some(said) = self.stopped(&answer.text).await?
                {
                    self.end_line(dialogue, &answer.text);
                    self.say(dialogue, said)?;
                    continue;
                }
                return Ok(answer);
            }
            self.end_line(dialogue, &answer.text);
            self.calls(dialogue, &answer.calls).await?;
        }
    }

    /// What the model says next begins on a new line.
    fn end_line(&self, dialogue: &Conversation, text: &str) {
        if dialogue.audience == Audience::User && !text.is_empty() && !text.ends_with('\n') {
            self.reporter.tell(&Event::Token { content: "\n".to_owned() });
        }
    }

    fn reach<'r>(&'r self, dialogue: &'r Conversation) -> Reach<'r> {
        Reach { loaded: &dialogue.loaded, open: &self.open, only_reads: dialogue.only_reads }
    }

    /// One request to the model, within the budget.
    async fn turn(&mut self, dialogue: &Conversation) -> Result<TurnAnswer, Ending> {
        let limits = self.context.limits;
        if self.summary.turns >= limits.turns {
            return Err(Ending::OutOfTurns(limits.turns));
        }
        let (tools, too_many) = self.roster.offered(self.reach(dialogue));
        if too_many > 0 && self.summary.turns == 0 {
            let all = self.roster.len();
            self.reporter.warn(format!(
                "{too_many} of {all} tools are not offered: models take {} at most",
                all - too_many
            ));
        }
        let mut request = ModelRequest {
            system: Some(dialogue.system.clone()),
            messages: dialogue.messages.clone(),
            tools,
            ..ModelRequest::default()
        };
        let used = self.total.input + self.total.output;
        let room = limits.tokens.saturating_sub(used).saturating_sub(turn::estimate(&request));
        if room == 0 {
            return Err(Ending::OutOfTokens { limit: limits.tokens, used });
        }
        if room < USUAL_ANSWER {
            request.max_tokens = u32::try_from(room).ok();
        }
        self.summary.turns += 1;
        let number = self.summary.turns;
        self.reporter.agent(AgentEvent::Turn { number });
        let model = Arc::clone(&self.context.model);
        let answer =
            turn::ask(model.as_ref(), &request, self.patience, self.reporter, dialogue.audience)
                .await?;
        self.total = self.total + answer.usage;
        if answer.is_estimated && !self.has_warned_of_estimates {
            self.has_warned_of_estimates = true;
            self.reporter.warn("the provider does not report tokens; they are estimated");
        }
        self.reporter.agent(AgentEvent::Usage {
            turn: number,
            usage: answer.usage,
            total: self.total,
            is_estimated: answer.is_estimated,
        });
        Ok(answer)
    }

    /// Gives every call an id of its own: some servers repeat them, or give none.
    fn name_calls(&mut self, calls: &mut [ToolCall]) {
        for (number, call) in calls.iter_mut().enumerate() {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            let is_usable =
                !call.id.is_empty() && call.id.len() <= 64 && call.id.chars().all(is_plain);
            if !is_usable || !self.ids.insert(call.id.clone()) {
                let mut more = 0;
                call.id = loop {
                    let id = format!("call_{}_{}", self.summary.turns, number + more);
                    if self.ids.insert(id.clone()) {
                        break id;
                    }
                    more += 1;
                };
            }
        }
    }

    /// Makes the calls of a turn, and adds their results to the conversation.
    ///
    /// Neighbours that can't change anything run at the same time; any other call waits for those before it, and those
    /// after it wait for it. People are asked about one call at a time, in the order of the calls.
    async fn calls(
        &mut self,
        dialogue: &mut Conversation,
        calls: &[ToolCall],
    ) -> Result<(), Ending> {
        let mut results: Vec<Option<CallResult>> = vec![None; calls.len()];
        let mut ended = Ok(());
        let mut at = 0;
        while at < calls.len() && ended.is_ok() {
            let end = at + self.group(dialogue, &calls[at..]);
            ended = self.run_group(dialogue, calls, at..end, &mut results).await;
            at = end;
        }
        let mut has_valid = false;
        for (call, result) in calls.iter().zip(results) {
            let result = match result {
                Some(result) => result,
                None => {
                    let result = CallResult::stopped();
                    self.record_result(call, &result)?;
                    result
                }
            };
            has_valid |= result.status != CallStatus::Invalid;
            let content = result.for_model;
            dialogue.messages.push(Message::ToolResult { id: call.id.clone(), content });
        }
        ended?;
        match self.repetition.turn(has_valid) {
            Some(turns) => Err(Ending::Confused(turns)),
            None => Ok(()),
        }
    }

    /// How many of the next calls run at the same time.
    fn group(&self, dialogue: &Conversation, calls: &[ToolCall]) -> usize {
        let only_reads = |call: &ToolCall| {
            self.roster.find(&call.name, self.reach(dialogue)).is_ok_and(|entry| {
                match &entry.target {
                    Target::Tool(tool) => tool.only_reads,
                    Target::Prompt(_) => true,
                    // What it loads may be called next.
                    Target::Native(_) => false,
                }
            })
        };
        let most = self.context.limits.parallel.max(1);
        calls.iter().take(most).take_while(|call| only_reads(call)).count().max(1)
    }

    async fn run_group(
        &mut self,
        dialogue: &mut Conversation,
        calls: &[ToolCall],
        group: Range<usize>,
        results: &mut [Option<CallResult>],
    ) -> Result<(), Ending> {
        let mut running = Vec::new();
        let mut ended = Ok(());
        for number in group {
            let call = &calls[number];
            if let Some(halt) = self.patience.is_over() {
                ended = Err(halt.into());
                break;
            }
            let started = Instant::now();
            match self.begin(dialogue, call, number).await {
                Ok(Begun::Running(run)) => running.push((number, started, run)),
                Ok(Begun::Ended(result)) => {
                    self.finish(call, &result, started)?;
                    results[number] = Some(result);
                }
                Err(ending) => {
                    let result = CallResult::stopped();
                    self.finish(call, &result, started)?;
                    results[number] = Some(result);
                    ended = Err(ending);
                    break;
                }
            }
        }
        let (patience, reporter) = (self.patience, self.reporter);
        let following = running.into_iter().map(|(number, started, run)| async move {
            let envelope = call::follow(run, &calls[number].id, patience, reporter).await;
            (number, started, envelope)
        });
        for (number, started, envelope) in join_all(following).await {
            let call = &calls[number];
            let result = CallResult::of_run(&call.name, &envelope);
            self.finish(call, &result, started)?;
            results[number] = Some(result);
        }
        ended?;
        // What has ended because of the halt has a result by now.
        self.patience.is_over().map_or(Ok(()), |halt| Err(halt.into()))
    }

    /// Checks a call, and starts what it means.
    async fn begin(
        &mut self,
        dialogue: &mut Conversation,
        call: &ToolCall,
        number: usize,
    ) -> Result<Begun, Ending> {
        let parsed = call::arguments(&call.arguments);
        let entry: Result<Entry, String> =
            self.roster.find(&call.name, self.reach(dialogue)).cloned();
        let (skill, tool) =
            entry.as_ref().map_or((None, None), |entry: &Entry| entry.target.skill_and_tool());
        let shown = parsed
            .as_ref()
            .map_or_else(|_| Value::from(call.arguments.as_str()), |it| Value::Object(it.clone()));
        self.reporter.agent(AgentEvent::ToolCall {
            call: call.id.clone(),
            name: call.name.clone(),
            skill,
            tool,
            arguments: shown.clone(),
        });
        self.summary.calls += 1;
        let invalid =
            |message: String| Ok(Begun::Ended(CallResult::of_loop(CallStatus::Invalid, message)));
        match self.repetition.before(&call.name, &shown) {
            Verdict::Make => {}
            Verdict::Skip(times) => {
                return invalid(format!(
                    "this call of `{}` has failed {times} times with these arguments and was not made again: change \
                     something, or go on without it",
                    call.name
                ));
            }
            Verdict::Stop(times) => {
                return Err(Ending::Stuck { name: call.name.clone(), times });
            }
        }
        if number >= MAX_CALLS {
            return invalid(format!(
                "a turn has at most {MAX_CALLS} calls: make the others in the next one"
            ));
        }
        let entry = match entry {
            Ok(entry) => entry,
            Err(message) => return invalid(message),
        };
        let values = match parsed {
            Ok(values) => values,
            Err(message) => return invalid(format!("{}: {message}", entry.name())),
        };
        self.make(dialogue, call, &entry, values).await
    }

    async fn make(
        &mut self,
        dialogue: &mut Conversation,
        call: &ToolCall,
        entry: &Entry,
        values: Map<String, Value>,
    ) -> Result<Begun, Ending> {
        match &entry.target {
            Target::Tool(tool) => {
                let hooks = self.hooks.clone();
                Ok(self.context.begin_tool(tool, values, &hooks, self.patience).await?)
            }
            Target::Prompt(skill) => {
                if let Some(refused) = self.register_hooks(skill).await? {
                    return Ok(Begun::Ended(refused));
                }
                let (hooks, mode) = (self.hooks.clone(), self.agent.mode);
                let commands = self.context.prompt_commands(
                    skill,
                    &values,
                    mode,
                    self.patience,
                    self.reporter,
                );
                Ok(match commands.await? {
                    Ok(commands) => self.context.begin_prompt(skill, values, &hooks, commands),
                    Err(refused) => Begun::Ended(refused),
                })
            }
            Target::Native(tool) => {
                if let Some(refused) = self.ask_about_native(*tool, call, &values).await? {
                    return Ok(Begun::Ended(refused));
                }
                let (tool, loaded) = (*tool, dialogue.loaded.clone());
                let quizzes = self.context.engine.quizzes.clone();
                let skills: Vec<Arc<LoadedSkill>> = self.catalogue.for_model.clone();
                let session_id = self.session_id.clone();
                let world = Arc::clone(&self.context.engine.world);
                let calling = tokio::task::spawn_blocking(move || {
                    let context = NativeContext {
                        skills: &skills,
                        loaded: &loaded,
                        quizzes: &quizzes,
                        session_id: &session_id,
                        project_dir: &world.working_directory.to_string_lossy(),
                    };
                    native_tools::call(tool, &values, &context)
                });
                let Ok(mut result) = self.patience.bound(calling).await? else {
                    let message = "the file could not be read (internal error)";
                    return Ok(Begun::Ended(CallResult::of_loop(CallStatus::Failed, message)));
                };
                for warning in std::mem::take(&mut result.warnings) {
                    self.reporter.warn(warning);
                }
                if let Some(skill) = result.loaded.clone() {
                    if let Some(refused) = self.register_hooks(&skill).await? {
                        return Ok(Begun::Ended(refused));
                    }
                    if let Some(rendered) = result.injection.take() {
                        result = match self.inject(&skill, *rendered).await? {
                            Ok(result) => result,
                            Err(refused) => return Ok(Begun::Ended(refused)),
                        };
                    }
                    if let Some(forked) = result.fork {
                        return self.fork(dialogue, &skill, forked).await.map(Begun::Ended);
                    }
                    dialogue.loaded.insert(skill.name.clone());
                }
                self.open.extend(result.opened);
                Ok(Begun::Ended(result.result))
            }
        }
    }

    /// Runs the commands in the text of a skill, and gives what the model gets.
    async fn inject(
        &mut self,
        skill: &Arc<LoadedSkill>,
        rendered: RenderedPrompt,
    ) -> Result<Result<NativeResult, CallResult>, Ending> {
        let (fork, mode) = (rendered.fork.clone(), self.agent.mode);
        let text = self.context.inject(skill, rendered, mode, self.patience, self.reporter).await?;
        let text = match text {
            Ok(text) => text,
            Err(refused) => return Ok(Err(refused)),
        };
        let (skill, quizzes) = (Arc::clone(skill), self.context.engine.quizzes.clone());
        let reading = tokio::task::spawn_blocking(move || {
            native_tools::disclosed(&skill, &text, fork, &quizzes)
        });
        Ok(self.patience.bound(reading).await?.map_err(|_| {
            let message = "the files of the skill could not be read (internal error)";
            CallResult::of_loop(CallStatus::Failed, message)
        }))
    }

    /// Works on the task of a skill in a conversation of its own: without the history, with the tools of its type of agent,
    /// on the same budget. Its last word is the result.
    async fn fork(
        &mut self,
        dialogue: &Conversation,
        skill: &Arc<LoadedSkill>,
        forked: ForkedTask,
    ) -> Result<CallResult, Ending> {
        if self.fork.is_some() {
            let message = format!(
                "`{}` works in a conversation of its own, and this is one already",
                skill.name
            );
            return Ok(CallResult::of_loop(CallStatus::Refused, message));
        }
        self.fork = Some(skill.name.clone());
        let mut own = Conversation {
            system: dialogue.system.clone(),
            messages: Vec::new(),
            loaded: BTreeSet::from([skill.name.clone()]),
            audience: Audience::Nobody,
            only_reads: only_reads(&forked.agent),
        };
        let ended = match self.say(&mut own, forked.task) {
            Ok(()) => self.converse(&mut own).await,
            Err(ending) => Err(ending),
        };
        self.fork = None;
        let answer = ended?;
        Ok(CallResult::of_agent(&forked.agent, &answer.text))
    }

    /// Asks the hooks of loaded skills about a call of the loop's own tools, under the names of Claude Code. Nothing but a
    /// refusal means anything: there is no program to approve and no input to replace.
    async fn ask_about_native(
        &mut self,
        tool: NativeTool,
        call: &ToolCall,
        values: &Map<String, Value>,
    ) -> Result<Option<CallResult>, Ending> {
        if !self.hooks.concerns("PreToolUse") {
            return Ok(None);
        }
        let value = |key: &str| values.get(key).cloned().unwrap_or_default();
        let tool_use = match tool {
            NativeTool::LoadSkill => {
                ToolUse::new(call.id.clone(), "Skill", json!({ "skill": value("name") }))
            }
            NativeTool::ReadSkillFile => {
                ToolUse::new(call.id.clone(), "Read", json!({ "file_path": value("path") }))
            }
            NativeTool::QuizNext | NativeTool::QuizAnswer => return Ok(None),
        };
        let (hooks, cancel) = (self.hooks.clone(), self.context.cancel.clone());
        let asking = tokio::task::spawn_blocking(move || hooks.pre_tool(&tool_use, &cancel));
        let Ok(verdict) = self.patience.bound(asking).await? else {
            let message = "the hooks before the call could not be run (internal error)";
            return Ok(Some(CallResult::of_loop(CallStatus::Refused, message)));
        };
        for message in &verdict.messages {
            self.reporter.warn(message.clone());
        }
        let blocked = match (verdict.stop, verdict.decision) {
            (Some(blocked), _) => blocked,
            (None, PreToolDecision::Proceed) => return Ok(None),
            (
                None,
                PreToolDecision::Ask(blocked)
                | PreToolDecision::Defer(blocked)
                | PreToolDecision::Deny(blocked),
            ) => blocked,
        };
        let message = format!("`{}` was not run: {}: {}", call.name, blocked.hook, blocked.reason);
        let message = prowess_format::text::visible(&message).into_owned();
        Ok(Some(CallResult::of_loop(CallStatus::Refused, message)))
    }

    /// Counts, reports and records the result of a call.
    fn finish(
        &mut self,
        call: &ToolCall,
        result: &CallResult,
        started: Instant,
    ) -> Result<(), Ending> {
        match result.status {
            CallStatus::Success | CallStatus::Cancelled => {}
            CallStatus::Failed => self.summary.failed += 1,
            CallStatus::Invalid => self.summary.invalid += 1,
            CallStatus::Refused => self.summary.refused += 1,
        }
        let arguments = call::arguments(&call.arguments)
            .map_or_else(|_| Value::from(call.arguments.as_str()), Value::Object);
        let is_success = result.status == CallStatus::Success;
        self.repetition.after(&call.name, &arguments, is_success);
        self.reporter.agent(AgentEvent::ToolResult {
            call: call.id.clone(),
            status: result.status,
            content: result.plain.clone(),
            left_out: result.left_out,
            duration: started.elapsed(),
        });
        self.record_result(call, result)
    }

    fn record_result(&mut self, call: &ToolCall, result: &CallResult) -> Result<(), Ending> {
        self.record(&TranscriptEntry::ToolResult {
            call: &call.id,
            name: &call.name,
            status: result.status.as_str(),
            content: &result.for_model,
        })
    }

    /// Compares the model with what the agent and its skills need. What a provider says about a model is often missing or
    /// wrong, so these are warnings.
    async fn warn_of_model(&mut self) -> Result<(), Ending> {
        let needs =
            |it: &prowess_format::skill::Requirements| it.model.is_some() || it.context.is_some();
        let skills = || self.agent.skills.iter().filter(|skill| needs(&skill.skill.requirements));
        if !needs(&self.agent.needs) && skills().next().is_none() {
            return Ok(());
        }
        let model = Arc::clone(&self.context.model);
        let Ok(facts) = self.patience.bound(model.facts()).await? else { return Ok(()) };
        let mut warnings = unmet_by("the agent", &self.agent.needs, &facts);
        for skill in skills() {
            let who = format!("`{}`", skill.name);
            warnings.extend(unmet_by(&who, &skill.skill.requirements, &facts));
        }
        for warning in warnings {
            self.reporter.warn(format!("`{}`: {warning}", model.name()));
        }
        Ok(())
    }

    fn record(&mut self, entry: &TranscriptEntry<'_>) -> Result<(), Ending> {
        let at = self.context.engine.clock.now();
        let fork = self.fork.as_deref();
        match &mut self.context.transcript {
            Some(transcript) => transcript.record(at, fork, entry).map_err(Ending::Transcript),
            None => Ok(()),
        }
    }

    /// Records the end. The result is known; that it can't be written is only worth a warning.
    fn record_end(&mut self, envelope: &Envelope) {
        self.fork = None;
        let entry = TranscriptEntry::End {
            outcome: envelope.outcome.as_str(),
            exit_code: envelope.exit_code,
            error: envelope.error.as_deref(),
            turns: self.summary.turns,
            usage: self.total,
        };
        if let Err(Ending::Transcript(Problem { message, .. })) = self.record(&entry) {
            self.reporter.warn(message);
        }
    }

    fn details(&self) -> AnswerDetails {
        AnswerDetails {
            model: self.context.model.name().to_owned(),
            usage: Some(self.total),
            agent: Some(self.summary.clone()),
            ..AnswerDetails::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AgentContext, run_agent};
    use crate::agent::{Agent, AgentTask};
    use prowess_core::Event;

    fn is_send<T: Send>(_: T) {}

    /// Never called: it shows that an agent can be a task of a server.
    #[expect(dead_code, reason = "it only has to compile")]
    fn an_agent_can_be_a_task(
        agent: &Agent,
        task: &AgentTask,
        context: AgentContext<'static>,
        sink: &mut (dyn FnMut(&Event) + Send + 'static),
    ) {
        is_send(run_agent(agent, task, context, sink));
    }
}
