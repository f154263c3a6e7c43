//! What hooks of skills need on this machine: the user's setting, the configured model, and MCP servers.

use std::sync::Arc;
use std::time::Instant;

use prowess_core::{Model, ModelError, Problem, ProblemKind};
use prowess_engine::{
    ApprovalStore as _, Consent, FileApprovals, HookFailure, HookServices, HookTools, LoadedSkill,
    NoApprover, PromptHookModel, ServerToolCall, ServerToolText, Strictness, UserGrants, World,
};
use prowess_settings::{CONFIG_FILE, parse_config, read_config};

use crate::library::Library;
use crate::servers::ServerConversation;

impl Library {
    /// What hooks need, as the settings say: `[hooks] strict` is on unless it is turned off.
    pub fn hook_services(&self) -> Result<HookServices, Problem> {
        let world = self.world();
        let path = world.state.config.join(CONFIG_FILE);
        let failed = |why: String| {
            let message = format!("`{}` is not valid: {why}", path.display());
            Problem::new("invalid-settings", ProblemKind::InvalidInput, message)
        };
        let table = match read_config(&path).map_err(failed)? {
            Some(text) => parse_config(&text).map_err(failed)?,
            None => toml::Table::new(),
        };
        let strict = table.get("hooks").and_then(|hooks| hooks.get("strict"));
        let strictness = match strict.map(|value| (value, value.as_bool())) {
            None | Some((_, Some(true))) => Strictness::Strict,
            Some((_, Some(false))) => Strictness::Lenient,
            Some((_, None)) => {
                return Err(failed("`hooks.strict` is not `true` or `false`".to_owned()));
            }
        };
        let (variables, folder) = (world.environment.clone(), world.state.config.clone());
        // Each is opened anew: a connection belongs to the thread that waits for the answer.
        let open = move |name: Option<&str>| -> Result<Arc<dyn Model>, ModelError> {
            prowess_models::choose(name, &variables, &folder).map(Arc::from)
        };
        let model = Some(Arc::new(PromptHookModel::new(open)) as _);
        let tools = Some(Arc::new(ConfiguredServers { world: Arc::clone(world) }) as _);
        Ok(HookServices { strictness, model, tools, ..HookServices::default() })
    }
}

/// The MCP servers of the user's agents. A hook asks nobody, so the user has to have approved the server before.
struct ConfiguredServers {
    world: Arc<World>,
}

impl HookTools for ConfiguredServers {
    fn call(
        &self,
        _skill: &Arc<LoadedSkill>,
        call: &ServerToolCall<'_>,
    ) -> Result<ServerToolText, HookFailure> {
        let arguments = match &call.arguments {
            serde_json::Value::Object(arguments) => arguments.clone(),
            _ => serde_json::Map::new(),
        };
        let approvals = FileApprovals::of(&self.world.state).load();
        let approvals = approvals.map_err(|error| HookFailure::Failed(error.to_string()))?;
        let conversation = ServerConversation {
            world: &self.world,
            grants: UserGrants::none().with_earlier(&approvals),
            consent: Consent::None,
            time: Some(call.time),
            cancel: call.cancel,
        };
        let started = Instant::now();
        let library = Library::open(Arc::clone(&self.world));
        let answer = library.call_server_tool(
            call.server,
            (call.tool, arguments),
            conversation,
            &mut NoApprover,
        );
        match answer {
            Ok(answer) => Ok(ServerToolText { text: answer.text, is_error: answer.is_error }),
            Err(_) if started.elapsed() >= call.time => Err(HookFailure::TimedOut),
            Err(problem) => Err(HookFailure::Failed(problem.message)),
        }
    }
}
