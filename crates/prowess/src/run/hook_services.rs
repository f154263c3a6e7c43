//! What hooks of skills need beside the sandbox: the settings, the configured model, and an agent that reads.

use std::sync::Arc;

use prowess_agent::SkillReader;
use prowess_engine::quiz::Quizzes;
use prowess_engine::{HookServices, PromptHookModel};
use prowess_library::Library;

use crate::error::Error;

/// The services for hooks. Those of type `prompt` and `agent` ask the model that is named here, unless they name another one.
pub(crate) fn hook_services(
    library: &Arc<Library>,
    model: Option<&str>,
) -> Result<HookServices, Error> {
    let world = library.world();
    let (variables, folder) = (world.environment.clone(), world.state.config.clone());
    let chosen = model.map(str::to_owned);
    let open = move |name: Option<&str>| {
        prowess_models::choose(name.or(chosen.as_deref()), &variables, &folder).map(Arc::from)
    };
    let services = library.hook_services()?;
    let reader = SkillReader::new(Quizzes::of_user(world), open.clone());
    Ok(HookServices {
        model: Some(Arc::new(PromptHookModel::new(open))),
        agent: Some(Arc::new(reader)),
        ..services
    })
}
