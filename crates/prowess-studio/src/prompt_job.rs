//! A prompt that runs as a task.

use std::sync::Arc;
use std::time::Duration;

use prowess_core::{Envelope, Event, Message, Model, ModelError, Retriever};
use prowess_engine::quiz::Quizzes;
use prowess_engine::{CommandOutputs, LoadedSkill, PromptCall, PromptContext, World, run_prompt};
use serde_json::{Map, Value};

use crate::runs::RunScope;
use crate::skills::OwnerSkills;

/// A prompt with everything that it needs, owned, so that it can run as a task.
pub(crate) struct PromptJob {
    pub(crate) skill: Arc<LoadedSkill>,
    pub(crate) values: Map<String, Value>,
    pub(crate) history: Vec<Message>,
    pub(crate) world: Arc<World>,
    pub(crate) model: Result<Arc<dyn Model>, ModelError>,
    pub(crate) retriever: Option<Arc<dyn Retriever>>,
    pub(crate) skills: OwnerSkills,
    pub(crate) time: Duration,
}

impl PromptJob {
    /// Runs the prompt. Events go to `sink`.
    pub(crate) async fn run(
        &self,
        scope: &RunScope,
        sink: &mut (dyn FnMut(&Event) + Send),
    ) -> Envelope {
        let call = PromptCall {
            skill: &self.skill,
            values: &self.values,
            arguments: None,
            history: &self.history,
            time: Some(self.time),
            // A server runs no commands because a text contains them.
            commands: CommandOutputs::NotRun,
        };
        let quizzes = Quizzes::of_user(&self.world);
        let around = PromptContext {
            world: &self.world,
            model: self.model.as_deref(),
            retriever: self.retriever.as_deref(),
            skills: &self.skills,
            quizzes: &quizzes,
            cancel: &scope.cancel,
            hooks: None,
        };
        run_prompt(&call, &around, sink).await
    }
}
