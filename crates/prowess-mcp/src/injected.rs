//! Commands in the text of a prompt: run where a person has approved them before, and never asked about here.

use std::sync::Arc;

use prowess_core::Problem;
use prowess_engine::{
    CancellationToken, Consent, InjectionDecision, LoadedSkill, RunError, UserGrants,
    prepare_injection,
};
use prowess_format::render::RenderedPrompt;
use prowess_policy::Mode;
use rmcp::ErrorData;

use crate::server::SkillServer;

/// The text with the outputs of its commands. One that is not approved, or that fails, ends it: the client gets no text.
pub(crate) async fn complete(
    server: &SkillServer,
    skill: &Arc<LoadedSkill>,
    rendered: RenderedPrompt,
) -> Result<String, ErrorData> {
    if rendered.commands.is_empty() {
        return Ok(rendered.text);
    }
    let (server, skill) = (server.clone(), Arc::clone(skill));
    let completed = tokio::task::spawn_blocking(move || outputs(&server, &skill, &rendered));
    completed
        .await
        .map_err(|_| ErrorData::internal_error("the text could not be completed", None))?
}

fn outputs(
    server: &SkillServer,
    skill: &Arc<LoadedSkill>,
    rendered: &RenderedPrompt,
) -> Result<String, ErrorData> {
    let settings = &server.shared.settings;
    let failed = |problem: Problem| {
        let mut lines = vec![problem.message];
        lines.extend(settings.wording.hints(&problem.remedies));
        ErrorData::invalid_request(lines.join("\n"), None)
    };
    if settings.library.disables_injected_commands().map_err(failed)? {
        return Ok(rendered.with_disabled_commands());
    }
    let refused = |error: RunError| failed(error.into());
    let engine = &server.shared.engine;
    let user = UserGrants::none();
    let prepared =
        prepare_injection(skill, rendered, Mode::Global, &user, &engine.world).map_err(refused)?;
    let ready = match prepared.decide(engine, Consent::None).map_err(refused)? {
        InjectionDecision::Ready(ready) => ready,
        InjectionDecision::Denied(denied) => return Err(refused(RunError::Denied(denied))),
        InjectionDecision::Ask(pending) => {
            let command = settings.wording.approve_commands(skill);
            let folder = engine.world.current.display();
            let commands: Vec<String> =
                pending.request().injected.iter().map(|it| format!("`{it}`")).collect();
            let message = format!(
                "the text of `{}` needs the output of {}, which a person has to approve.\n\
                 Show the user this command for a terminal in `{folder}`; a lasting yes counts here too:\n\
                 `{command}`",
                skill.name,
                commands.join(", "),
            );
            return Err(ErrorData::invalid_request(message, None));
        }
    };
    let cancel = CancellationToken::default();
    match ready.run(&cancel, &mut |_| {}) {
        Ok(outputs) => Ok(rendered.with_outputs(&outputs)),
        Err(error) => Err(failed(error.into())),
    }
}
