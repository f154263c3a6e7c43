//! A call of a prompt skill: a model answers, and its words are progress.

use std::sync::Arc;
use std::time::Duration;

use prowess_core::Event;
use prowess_engine::{CommandOutputs, PromptCall, PromptContext, run_prompt};
use rmcp::model::CallToolResult;

use crate::call::{ToolCall, failure};

/// Runs a prompt skill on the configured model.
pub(crate) async fn run(call: &ToolCall<'_>) -> CallToolResult {
    let shared = &call.server.shared;
    let library = Arc::clone(&shared.settings.library);
    let retriever = shared.settings.retriever.clone();
    let (skill, values) = (Arc::clone(&call.tool.skill), call.values.clone());
    let beside = skill.directory.as_deref().and_then(std::path::Path::parent);
    let own = library.world().state.skills();
    let skills = library
        .in_folders(beside.map(std::path::Path::to_owned).into_iter().chain([own]).collect());
    let seconds = skill.skill.timeout_secs.as_ref();
    let time = seconds.and_then(|secs| u64::try_from(secs.value).ok()).map(Duration::from_secs);
    let quizzes = shared.engine.quizzes.clone();
    let spawned = shared.service.spawn(&call.owner, |run, mut sink| async move {
        let model = library.models().open(None);
        let around = PromptContext {
            world: library.world(),
            model: model.as_deref(),
            retriever: retriever.as_deref(),
            skills: skills.as_ref(),
            quizzes: &quizzes,
            cancel: run.cancel(),
            hooks: None,
        };
        let asked = PromptCall {
            skill: &skill,
            values: &values,
            arguments: None,
            history: &[],
            time,
            commands: CommandOutputs::NotRun,
        };
        run_prompt(&asked, &around, &mut |event: &Event| sink.send(event)).await
    });
    match spawned {
        Ok(run) => call.result(call.follow(run).await),
        Err(problem) => failure(call.problem_text(&problem)),
    }
}
