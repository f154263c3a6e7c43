//! Commands in the text of a skill: the question about all of them, and their outputs.

use std::sync::Arc;

use prowess_core::Event;
use prowess_engine::{
    CancellationToken, Consent, Engine, InjectionError, LoadedSkill, RunError, UserGrants, World,
    prepare_injection,
};
use prowess_format::render::RenderedPrompt;
use prowess_policy::Mode;

use crate::error::{Error, ErrorKind};
use crate::run::tool_run;
use crate::terminal::approval_prompt::TerminalApprover;
use crate::terminal::printer::Printer;

/// The commands of a text, and who is asked about them.
pub(crate) struct InjectedCommands<'c> {
    pub(crate) skill: &'c Arc<LoadedSkill>,
    pub(crate) rendered: &'c RenderedPrompt,
    pub(crate) mode: Mode,
    pub(crate) consent: Consent,
    pub(crate) user: UserGrants,
    pub(crate) world: &'c Arc<World>,
}

impl InjectedCommands<'_> {
    /// Asks where that is needed, and runs the commands one after the other. The first that fails ends it.
    pub(crate) fn outputs(
        &self,
        cancel: &CancellationToken,
        printer: &mut Printer,
    ) -> Result<Vec<String>, Error> {
        if self.rendered.commands.is_empty() {
            return Ok(Vec::new());
        }
        let refused = |error: RunError| tool_run::not_run(&error);
        let Self { skill, rendered, mode, user, world, .. } = self;
        let prepared = prepare_injection(skill, rendered, *mode, user, world).map_err(refused)?;
        let engine = Engine::new(Arc::clone(world));
        let decision = prepared.decide(&engine, self.consent).map_err(refused)?;
        let mut approver = TerminalApprover { printer };
        let ready = decision.answered(&mut approver).map_err(refused)?;
        let ended = ready.run(cancel, &mut |event| {
            if let Event::Warning { message } = event {
                printer.warning(message);
            }
        });
        ended.map_err(|error| match error {
            InjectionError::Refused(error) => refused(error),
            InjectionError::Failed(failed) => {
                let error = Error::failed(failed.to_string());
                let error = Error { kind: ErrorKind::NotRun(tool_run::REFUSED), ..error };
                let error = match failed.shown_output() {
                    Some(output) => error.hint(format!("it printed: {output}")),
                    None => error,
                };
                error.hint("the text was not rendered; a command that may fail ends with `|| true`")
            }
        })
    }
}
