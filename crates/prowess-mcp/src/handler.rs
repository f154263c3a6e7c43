//! The requests of clients, each answered from the catalog of the moment.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prowess_engine::quiz::Quizzes;
use prowess_engine::service::{Owner, new_run_id};
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult,
    GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, ServerCapabilities,
    ServerConfig, SubscriptionFilter, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;
use tokio::sync::watch::Receiver;

use crate::call::ToolCall;
use crate::catalog::Catalog;
use crate::injected::Outputs;
use crate::server::{Changes, SkillServer};
use crate::skills_extension::{self, EXTENSION, TTL_MS};
use crate::{files, fixtures, injected, lines, paging, prompts, quiz, uri, watch};

/// The server's instructions, which clients pass to the model.
const INSTRUCTIONS: &str = "Each tool belongs to a skill: `SKILL__TOOL`. Read `skill://SKILL/SKILL.md` before using the \
    tools of a skill. A call that a person has to approve is refused with the command that asks them.";

/// The methods that are served in every version of the protocol.
const SERVED: &[&str] = &[
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "server/discover",
    "subscriptions/listen",
    "tools/call",
    "tools/list",
];

/// One client's view of the server.
#[derive(Clone)]
pub(crate) struct Handler {
    pub(crate) server: SkillServer,
    /// The owner under which runs are counted.
    owner: Owner,
    /// The transport; a client may answer questions of its own transport only.
    door: &'static str,
    /// The value of `${CLAUDE_SESSION_ID}` for this client.
    session_id: Arc<str>,
    /// The changes up to the connection of the client, and a receiver of later ones.
    changes: (Changes, Receiver<Changes>),
}

impl Handler {
    /// A client that came through a door, by a name that no other connection has.
    pub(crate) fn new(server: SkillServer, door: &'static str, owner: &str) -> Self {
        // Subscribed here: a change before the client's first message would be told to nobody.
        let mut changes = server.shared.changes.subscribe();
        let known = *changes.borrow_and_update();
        // Without random numbers a name that is unique in this process has to do.
        let session_id = new_run_id().map_or_else(|_| owner.to_owned(), |id| id.to_string());
        Self {
            server,
            owner: Owner::new(owner),
            door,
            session_id: session_id.into(),
            changes: (known, changes),
        }
    }

    fn catalog(&self) -> Arc<Catalog> {
        self.server.catalog()
    }

    fn has_fixtures(&self) -> bool {
        self.server.shared.settings.with_fixtures
    }
}

fn cursor(request: Option<&PaginatedRequestParams>) -> Option<&str> {
    request.and_then(|request| request.cursor.as_deref())
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .build();
        let extension = (EXTENSION.to_owned(), skills_extension::capability());
        capabilities.extensions = Some([extension].into_iter().collect());
        if self.has_fixtures() {
            fixtures::capabilities(&mut capabilities);
        }
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("prowess", env!("CARGO_PKG_VERSION"));
        let quizzes = if self.catalog().has_quiz() { quiz::INSTRUCTIONS } else { "" };
        info.instructions = Some(format!("{INSTRUCTIONS}{quizzes}"));
        info
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let catalog = self.catalog();
        let (mut tools, next_cursor) =
            paging::page(&catalog.definitions, cursor(request.as_ref()), paging::PAGE)?;
        if self.has_fixtures() {
            tools.extend(fixtures::tools());
        }
        Ok(ListToolsResult {
            tools,
            next_cursor,
            ttl_ms: Some(TTL_MS),
            cache_scope: Some(CacheScope::Private),
            ..ListToolsResult::default()
        })
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let fixture = || fixtures::tools().into_iter().find(|tool| tool.name == name);
        let catalog = self.catalog();
        let of_quiz = || {
            let tools = quiz::definitions().into_iter();
            tools.filter(|_| catalog.has_quiz()).find(|tool| tool.name == name)
        };
        let served = catalog.tools.get(name).map(|tool| tool.definition.clone()).or_else(of_quiz);
        served.or_else(|| self.has_fixtures().then(fixture).flatten())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.has_fixtures()
            && let Some(result) = fixtures::call(&self.server, &request, &context).await
        {
            return result;
        }
        if quiz::is_tool(&request.name) && self.catalog().has_quiz() {
            return Ok(quiz::call(&self.server, &request).await.into());
        }
        let Some(tool) = self.catalog().tools.get(request.name.as_ref()).cloned() else {
            let message = format!("there is no tool `{}`", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        let values = request.arguments.clone().unwrap_or_default();
        let call = ToolCall {
            server: &self.server,
            tool,
            values,
            owner: self.owner.clone(),
            door: self.door,
            context: &context,
        };
        call.run(&request).await
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let catalog = self.catalog();
        let (mut prompts, next_cursor) =
            paging::page(&catalog.prompts, cursor(request.as_ref()), paging::PAGE)?;
        if self.has_fixtures() {
            prompts.extend(fixtures::prompts());
        }
        Ok(ListPromptsResult {
            prompts,
            next_cursor,
            ttl_ms: Some(TTL_MS),
            cache_scope: Some(CacheScope::Private),
            ..ListPromptsResult::default()
        })
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if self.has_fixtures()
            && let Some(result) = fixtures::prompt(&request, &context)
        {
            return result;
        }
        let catalog = self.catalog();
        let is_listed = catalog.prompts.iter().any(|prompt| prompt.name == request.name);
        let Some(skill) = catalog.skills.get(&request.name).filter(|_| is_listed) else {
            let message = format!("there is no prompt `{}`", request.name);
            return Err(ErrorData::invalid_params(message, None));
        };
        if let Some(closed) = quiz::closed(&self.server, skill).await {
            return Err(ErrorData::invalid_params(closed, None));
        }
        let arguments = request.arguments.unwrap_or_default();
        let world = &self.server.shared.engine.world;
        let rendered = prompts::render(skill, arguments, &self.session_id, world)?;
        let rendered = Arc::new(rendered);
        let outputs = injected::outputs(&self.server, skill, &rendered, &context.ct).await;
        let text = match outputs.map_err(|why| ErrorData::invalid_request(why, None))? {
            Outputs::Disabled => rendered.with_disabled_commands(),
            Outputs::Of(outputs) => rendered.with_outputs(&outputs),
        };
        Ok(prompts::result(skill, text).into())
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let catalog = self.catalog();
        let (names, next_cursor) =
            paging::page(&catalog.documents, cursor(request.as_ref()), paging::PAGE)?;
        let mut resources: Vec<Resource> = names
            .iter()
            .filter_map(|name| {
                let skill = catalog.skills.get(name)?;
                let main = files::main_name(skill)?;
                let resource = Resource::new(uri::of_folder(name, main), name.clone())
                    .with_mime_type(files::media_type(main))
                    .with_description(skill.skill.description_or(name).to_owned());
                Some(resource)
            })
            .collect();
        if self.has_fixtures() {
            resources.extend(fixtures::resources());
        }
        Ok(ListResourcesResult {
            resources,
            next_cursor,
            ttl_ms: Some(TTL_MS),
            cache_scope: Some(CacheScope::Private),
            ..ListResourcesResult::default()
        })
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<rmcp::model::ListResourceTemplatesResult, ErrorData> {
        let template = rmcp::model::ResourceTemplate::new("skill://{skill}/{+path}", "skill-file")
            .with_description("A file of a skill");
        let mut resource_templates = vec![template];
        if self.has_fixtures() {
            resource_templates.extend(fixtures::templates());
        }
        Ok(rmcp::model::ListResourceTemplatesResult {
            resource_templates,
            ttl_ms: Some(TTL_MS),
            cache_scope: Some(CacheScope::Private),
            ..Default::default()
        })
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if self.has_fixtures()
            && let Some(result) = fixtures::read(&request)
        {
            return Ok(result.into());
        }
        let catalog = self.catalog();
        let wanted = request.uri.clone();
        let quizzes = self.server.shared.engine.quizzes.clone();
        let read = tokio::task::spawn_blocking(move || contents(&catalog, &quizzes, &wanted));
        match read.await.ok().flatten() {
            Some(Err(withheld)) => {
                let data = json!({ "uri": request.uri });
                Err(ErrorData::resource_not_found(withheld, Some(data)))
            }
            Some(Ok(contents)) => {
                let mut result = ReadResourceResult::new(vec![contents]);
                result.ttl_ms = Some(TTL_MS);
                result.cache_scope = Some(CacheScope::Private);
                Ok(result.into())
            }
            None => {
                let data = json!({ "uri": request.uri });
                Err(ErrorData::resource_not_found("there is no resource at this URI", Some(data)))
            }
        }
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        if request.method == lines::MALFORMED {
            return Err(lines::malformed(request.params.as_ref()));
        }
        // The SDK takes a request whose parameters it can't read for one of an extension.
        if SERVED.contains(&request.method.as_str()) {
            return Err(lines::invalid_params(&request.method));
        }
        if !skills_extension::is_method(&request.method) {
            let code = rmcp::model::ErrorCode::METHOD_NOT_FOUND;
            let message = format!("there is no method `{}`", request.method);
            return Err(ErrorData::new(code, message, None));
        }
        let catalog = self.catalog();
        let quizzes = self.server.shared.engine.quizzes.clone();
        let answered = tokio::task::spawn_blocking(move || {
            skills_extension::answer(&catalog, &quizzes, &request.method, request.params.as_ref())
        });
        let answer = answered
            .await
            .map_err(|_| ErrorData::internal_error("the skills could not be read", None))?;
        answer.map(CustomResult::new)
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        let mut accepted = requested.clone();
        accepted.resource_subscriptions = None;
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        watch::tell_subscriber(&self.server, &context).await;
        Ok(())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        let (known, changes) = self.changes.clone();
        tokio::spawn(watch::tell_session(known, changes, context.peer));
    }
}

/// The contents of a file of a skill, as text where it is text; or why they are withheld.
fn contents(
    catalog: &Catalog,
    quizzes: &Quizzes,
    wanted: &str,
) -> Option<Result<ResourceContents, String>> {
    let (name, path) = uri::parse(wanted)?;
    let skill = skills_extension::document(catalog, &name)?;
    let directory = skill.directory.as_deref()?;
    let mut bytes = files::read(directory, &path).ok()?;
    if quizzes.closed_below(directory, &path).is_some() {
        return None;
    }
    if let Some(served) = files::withheld(skill, quizzes) {
        // Whether there is such a file is withheld as well.
        if path.len() != 1 || files::main_name(skill) != path.first().map(String::as_str) {
            return Some(Err(quiz::files_withheld(&skill.name)));
        }
        bytes = Some(served.into_bytes());
    }
    let bytes = bytes?;
    let media_type = files::media_type(path.last()?);
    let contents = match String::from_utf8(bytes) {
        Ok(text) => ResourceContents::text(text, wanted).with_mime_type(media_type),
        Err(error) => {
            let known = if media_type.starts_with("text/") {
                "application/octet-stream"
            } else {
                media_type
            };
            ResourceContents::blob(STANDARD.encode(error.as_bytes()), wanted).with_mime_type(known)
        }
    };
    Some(Ok(contents))
}
