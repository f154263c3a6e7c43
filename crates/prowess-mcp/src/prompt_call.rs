//! A call of a prompt skill: a model answers, and its words are progress.
//!
//! What surrounds the prompt is decided about first: its hooks as any call is, and the commands in its text by what a
//! person has approved before.

use std::sync::Arc;
use std::time::Duration;

use prowess_core::{Event, Problem};
use prowess_engine::service::new_run_id;
use prowess_engine::{
    CommandOutputs, Consent, HookFacts, HookSession, PromptCall, PromptContext, ReadyRun,
    UserGrants, has_prompt_hooks, prepare_hooks, render_call, run_prompt,
};
use rmcp::ErrorData;
use rmcp::model::{CallToolRequestParams, CallToolResponse, CallToolResult};

use crate::call::{Decided, ToolCall, failure};
use crate::injected::{self, Outputs};

/// Runs a prompt skill on the configured model, between its hooks.
pub(crate) async fn run(
    call: &ToolCall<'_>,
    request: &CallToolRequestParams,
) -> Result<CallToolResponse, ErrorData> {
    let folder = call.server.shared.engine.world.working_directory.clone();
    let hooks = if has_prompt_hooks(&call.tool.skill.skill) {
        let decided = match &request.request_state {
            Some(state) => call.answered(state, request, None, &folder)?,
            None => decide_hooks(call).await,
        };
        match decided {
            Decided::Run(ready) => match session(call, *ready) {
                Ok(session) => Some(session),
                Err(problem) => return Ok(failure(call.problem_text(&problem)).into()),
            },
            Decided::Unfinished(question) => return Ok(CallToolResponse::InputRequired(*question)),
            Decided::Refused(text) => return Ok(failure(text).into()),
        }
    } else {
        None
    };
    Ok(answer(call, hooks).await.into())
}

/// Whether the hooks around the prompt may run. A person is asked where that is needed and possible.
async fn decide_hooks(call: &ToolCall<'_>) -> Decided {
    let engine = call.server.shared.engine.clone();
    let skill = Arc::clone(&call.tool.skill);
    let folder = engine.world.working_directory.clone();
    let mode = call.server.shared.settings.mode;
    let deciding = tokio::task::spawn_blocking(move || {
        let user = UserGrants::none().with_earlier(&engine.approvals.load()?);
        let prepared = prepare_hooks(&skill, mode, &user, &engine.world)?;
        prepared.map(|prepared| prepared.decide(&engine, Consent::None)).transpose()
    });
    match deciding.await {
        Ok(Ok(Some(decided))) => call.settle(decided, None, &folder).await,
        Ok(Err(error)) => Decided::Refused(call.error_text(&error)),
        Ok(Ok(None)) | Err(_) => {
            Decided::Refused("the hooks of the prompt could not be prepared".to_owned())
        }
    }
}

/// A session of its own for the hooks of one call.
fn session(call: &ToolCall<'_>, ready: ReadyRun) -> Result<HookSession, Problem> {
    let facts = HookFacts { session_id: new_run_id()?.to_string(), ..HookFacts::default() };
    let session = HookSession::new(&call.server.shared.engine, facts);
    session.register(ready);
    Ok(session)
}

async fn answer(call: &ToolCall<'_>, hooks: Option<HookSession>) -> CallToolResult {
    let shared = &call.server.shared;
    let library = Arc::clone(&shared.settings.library);
    let retriever = shared.settings.retriever.clone();
    let (skill, values) = (Arc::clone(&call.tool.skill), call.values.clone());
    let seconds = skill.skill.timeout_secs.as_ref();
    let time = seconds.and_then(|secs| u64::try_from(secs.value).ok()).map(Duration::from_secs);
    let asked = PromptCall {
        skill: &skill,
        values: &values,
        arguments: None,
        history: &[],
        time,
        commands: CommandOutputs::NotRun,
    };
    let outputs = match outputs(call, &asked).await {
        Ok(outputs) => outputs,
        Err(why) => return failure(why),
    };
    let beside = skill.directory.as_deref().and_then(std::path::Path::parent);
    let own = library.world().state.skills();
    let skills = library
        .in_folders(beside.map(std::path::Path::to_owned).into_iter().chain([own]).collect());
    let quizzes = shared.engine.quizzes.clone();
    let (skill, values) = (Arc::clone(&skill), values.clone());
    let spawned = shared.service.spawn(&call.owner, |run, mut sink| async move {
        let model = library.models().open(None);
        let around = PromptContext {
            world: library.world(),
            model: model.as_deref(),
            retriever: retriever.as_deref(),
            skills: skills.as_ref(),
            quizzes: &quizzes,
            cancel: run.cancel(),
            hooks: hooks.as_ref(),
        };
        let asked = PromptCall {
            skill: &skill,
            values: &values,
            arguments: None,
            history: &[],
            time,
            commands: match &outputs {
                Outputs::Disabled => CommandOutputs::Disabled,
                Outputs::Of(outputs) => CommandOutputs::Given(outputs),
            },
        };
        run_prompt(&asked, &around, &mut |event: &Event| sink.send(event)).await
    });
    match spawned {
        Ok(run) => call.result(call.follow(run).await),
        Err(problem) => failure(call.problem_text(&problem)),
    }
}

/// The outputs of the commands in the text. Where there is no model, or the inputs are wrong, that is reported by the run
/// itself, and no command runs.
async fn outputs(call: &ToolCall<'_>, asked: &PromptCall<'_>) -> Result<Outputs, String> {
    let shared = &call.server.shared;
    let nothing = Outputs::Of(Vec::new());
    let Ok(rendered) = render_call(asked, &shared.engine.world) else { return Ok(nothing) };
    if rendered.commands.is_empty() || shared.settings.library.models().open(None).is_err() {
        return Ok(nothing);
    }
    let rendered = Arc::new(rendered);
    injected::outputs(call.server, &call.tool.skill, &rendered, &call.context.ct).await
}
