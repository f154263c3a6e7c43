//! Commands in the text of a prompt: run where a person has approved them before, and never asked about here.

use std::sync::Arc;

use prowess_core::Problem;
use prowess_engine::{
    CancellationToken, Consent, InjectionDecision, LoadedSkill, RunError, UserGrants,
    prepare_injection,
};
use prowess_format::render::RenderedPrompt;

use crate::server::SkillServer;

/// The replacements of the commands in a text.
pub(crate) enum Outputs {
    /// The user's settings disable them.
    Disabled,
    /// One output for each.
    Of(Vec<String>),
}

/// The outputs of the commands in a text. One that is not approved, or that fails, ends it with the reason. `stop` ends what
/// runs.
pub(crate) async fn outputs(
    server: &SkillServer,
    skill: &Arc<LoadedSkill>,
    rendered: &Arc<RenderedPrompt>,
    stop: &tokio_util::sync::CancellationToken,
) -> Result<Outputs, String> {
    if rendered.commands.is_empty() {
        return Ok(Outputs::Of(Vec::new()));
    }
    let (server, skill, rendered) = (server.clone(), Arc::clone(skill), Arc::clone(rendered));
    let cancel = CancellationToken::default();
    let token = cancel.clone();
    let mut running = tokio::task::spawn_blocking(move || run(&server, &skill, &rendered, &token));
    let ended = tokio::select! {
        ended = &mut running => ended,
        () = stop.cancelled() => {
            cancel.cancel();
            running.await
        }
    };
    ended.unwrap_or_else(|_| {
        Err("the commands in the text could not be run (internal error)".to_owned())
    })
}

fn run(
    server: &SkillServer,
    skill: &Arc<LoadedSkill>,
    rendered: &RenderedPrompt,
    cancel: &CancellationToken,
) -> Result<Outputs, String> {
    let settings = &server.shared.settings;
    let failed = |problem: Problem| {
        let mut lines = vec![problem.message];
        lines.extend(settings.wording.hints(&problem.remedies));
        lines.join("\n")
    };
    if settings.library.disables_injected_commands().map_err(failed)? {
        return Ok(Outputs::Disabled);
    }
    let refused = |error: RunError| failed(error.into());
    let engine = &server.shared.engine;
    let user = UserGrants::none();
    let prepared =
        prepare_injection(skill, rendered, settings.mode, &user, &engine.world).map_err(refused)?;
    let ready = match prepared.decide(engine, Consent::None).map_err(refused)? {
        InjectionDecision::Ready(ready) => ready,
        InjectionDecision::Denied(denied) => return Err(refused(RunError::Denied(denied))),
        InjectionDecision::Ask(pending) => {
            let command = settings.wording.approve_commands(skill, settings.mode);
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
            return Err(message);
        }
    };
    ready.run(cancel, &mut |_| {}).map(Outputs::Of).map_err(|error| failed(error.into()))
}
