//! Tools, prompts and resources that the protocol's official test suite calls. They are served only where a test asks for
//! it, and touch nothing: each answer is a constant, or made of what the caller sent.

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientCapabilities, ClientResult,
    ContentBlock, ElicitRequest, ElicitRequestParams, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, InputRequests, InputRequiredResult, InputResponses, ProgressNotificationParam,
    Prompt, PromptArgument, ReadResourceRequestParams, ReadResourceResult, Resource,
    ResourceTemplate, ServerCapabilities, ServerRequest, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use crate::files;
use crate::server::SkillServer;

/// A picture of one point.
const PICTURE: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/// A sound without any sample.
const SOUND: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=";

/// What the fixtures need beside the usual capabilities.
pub(crate) fn capabilities(capabilities: &mut ServerCapabilities) {
    capabilities.completions = Some(serde_json::Map::new());
    capabilities.logging = Some(serde_json::Map::new());
}

/// The names of the tools; each takes any arguments.
const TOOLS: &[&str] = &[
    "test_simple_text",
    "test_image_content",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_error_handling",
    "test_tool_with_progress",
    "test_tool_with_logging",
    "test_logging_tool",
    "test_sampling",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_streaming_elicitation",
    "test_missing_capability",
    "test_trigger_tool_change",
    "test_trigger_prompt_change",
    "test_reconnection",
    "test_input_required_result_elicitation",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_request_state",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_capabilities",
];

/// The tools.
pub(crate) fn tools() -> Vec<Tool> {
    let any = || object(json!({ "type": "object", "properties": {} }));
    let mut tools: Vec<Tool> =
        TOOLS.iter().map(|name| Tool::new(*name, "For the test suite", any())).collect();
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "type": "object",
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    });
    tools.push(Tool::new("json_schema_2020_12_tool", "For the test suite", object(schema)));
    let headers = json!({
        "type": "object",
        "properties": { "region": { "type": "string", "x-mcp-header": "Region" } },
    });
    tools.push(Tool::new("test_custom_headers", "For the test suite", object(headers)));
    tools
}

/// The prompts.
pub(crate) fn prompts() -> Vec<Prompt> {
    let prompts: [(&str, &[&str]); 5] = [
        ("test_simple_prompt", &[]),
        ("test_prompt_with_arguments", &["arg1", "arg2"]),
        ("test_prompt_with_embedded_resource", &["resourceUri"]),
        ("test_prompt_with_image", &[]),
        ("test_input_required_result_prompt", &[]),
    ];
    let prompt = |(name, arguments): (&str, &[&str])| {
        let argument = |name: &&str| {
            let argument = PromptArgument::new(*name).with_description("For the test suite");
            argument.with_required(true)
        };
        Prompt::new(
            name,
            Some("For the test suite"),
            Some(arguments.iter().map(argument).collect()),
        )
    };
    prompts.map(prompt).into()
}

/// The resources.
pub(crate) fn resources() -> Vec<Resource> {
    ["static-text", "static-binary", "watched-resource"]
        .map(|name| Resource::new(format!("test://{name}"), name).with_mime_type("text/plain"))
        .into()
}

/// The templates of resources.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![ResourceTemplate::new("test://template/{id}/data", "template")]
}

/// The contents of a resource of the suite.
pub(crate) fn read(request: &ReadResourceRequestParams) -> Option<ReadResourceResult> {
    let uri = request.uri.as_str();
    let contents = match uri.strip_prefix("test://")? {
        "static-text" | "watched-resource" => {
            json!({ "uri": uri, "mimeType": "text/plain", "text": "A constant text." })
        }
        "static-binary" => json!({ "uri": uri, "mimeType": "image/png", "blob": PICTURE }),
        path => {
            let id = path.strip_prefix("template/")?.strip_suffix("/data")?;
            let text =
                json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            json!({ "uri": uri, "mimeType": "application/json", "text": text.to_string() })
        }
    };
    Some(ReadResourceResult::new(vec![serde_json::from_value(contents).ok()?]))
}

/// The prompt of a name of the suite.
pub(crate) fn prompt(
    request: &GetPromptRequestParams,
    _context: &RequestContext<RoleServer>,
) -> Option<Result<GetPromptResponse, ErrorData>> {
    let text = |text: String| json!({ "type": "text", "text": text });
    let argument = |name: &str| {
        let value = request.arguments.as_ref().and_then(|all| all.get(name));
        value.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let contents = match request.name.as_str() {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.".to_owned())],
        "test_prompt_with_arguments" => {
            let (one, two) = (argument("arg1"), argument("arg2"));
            vec![text(format!("Prompt with arguments: arg1='{one}', arg2='{two}'"))]
        }
        "test_prompt_with_embedded_resource" => {
            let resource = json!({
                "uri": argument("resourceUri"), "mimeType": "text/plain",
                "text": "Embedded resource content for testing.",
            });
            let embedded = json!({ "type": "resource", "resource": resource });
            vec![embedded, text("Please process the embedded resource above.".to_owned())]
        }
        "test_prompt_with_image" => {
            let image = json!({ "type": "image", "data": PICTURE, "mimeType": "image/png" });
            vec![image, text("Please analyze the image above.".to_owned())]
        }
        "test_input_required_result_prompt" => {
            match answer(request.input_responses.as_ref(), "user_context") {
                Some(_) => vec![text("With context".to_owned())],
                None => {
                    let questions = questions(&[form("user_context", "context", "string")]);
                    return Some(Ok(InputRequiredResult::from_input_requests(questions).into()));
                }
            }
        }
        _ => return None,
    };
    let messages: Vec<Value> =
        contents.into_iter().map(|it| json!({ "role": "user", "content": it })).collect();
    let messages = serde_json::from_value(json!(messages)).unwrap_or_default();
    Some(Ok(GetPromptResult::new(messages).into()))
}

/// Calls a tool of the suite; `None` if it is none.
pub(crate) async fn call(
    server: &SkillServer,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Option<Result<CallToolResponse, ErrorData>> {
    let name = request.name.as_ref();
    if !TOOLS.contains(&name) && !matches!(name, "json_schema_2020_12_tool" | "test_custom_headers")
    {
        return None;
    }
    if let Some(blocks) = constant(name) {
        let blocks: Vec<ContentBlock> = serde_json::from_value(blocks).unwrap_or_default();
        return Some(Ok(CallToolResult::success(blocks).into()));
    }
    if name.starts_with("test_input_required_result_") {
        return Some(unfinished(name, request, context));
    }
    Some(match name {
        "test_error_handling" => {
            let text = ContentBlock::text("This tool intentionally returns an error for testing");
            Ok(CallToolResult::error(vec![text]).into())
        }
        "test_tool_with_progress" => {
            tell_progress(context).await;
            Ok(done("Done"))
        }
        "test_missing_capability" => {
            let needed: ClientCapabilities =
                serde_json::from_value(json!({ "sampling": {} })).unwrap_or_default();
            let capabilities = context.client_capabilities();
            if capabilities.is_some_and(|capabilities| capabilities.sampling.is_some()) {
                Ok(done("The client can sample"))
            } else {
                Err(ErrorData::missing_required_client_capability(needed))
            }
        }
        "test_trigger_tool_change" => {
            server.shared.changes.send_modify(|changes| changes.tools += 1);
            Ok(done("Changed"))
        }
        "test_trigger_prompt_change" => {
            server.shared.changes.send_modify(|changes| changes.prompts += 1);
            Ok(done("Changed"))
        }
        "test_streaming_elicitation" => {
            let questions = questions(&[form("user_name", "name", "string")]);
            Ok(InputRequiredResult::from_input_requests(questions).into())
        }
        "test_elicitation"
        | "test_elicitation_sep1034_defaults"
        | "test_elicitation_sep1330_enums" => ask(name, context).await,
        _ => Ok(done("Done")),
    })
}

/// The contents of tools that always answer the same.
fn constant(name: &str) -> Option<Value> {
    let picture = json!({ "type": "image", "data": PICTURE, "mimeType": "image/png" });
    let resource = |uri: &str, mime: &str, text: &str| json!({ "type": "resource", "resource": { "uri": uri, "mimeType": mime, "text": text } });
    Some(match name {
        "test_simple_text" => {
            json!([{ "type": "text", "text": "This is a simple text response for testing." }])
        }
        "test_image_content" => json!([picture]),
        "test_audio_content" => {
            json!([{ "type": "audio", "data": SOUND, "mimeType": "audio/wav" }])
        }
        "test_embedded_resource" => json!([resource(
            "test://embedded-resource",
            "text/plain",
            "This is an embedded resource content."
        )]),
        "test_multiple_content_types" => json!([
            { "type": "text", "text": "Multiple content types test:" },
            picture,
            resource("test://mixed-content-resource", "application/json", "{\"test\":\"data\",\"value\":123}"),
        ]),
        _ => return None,
    })
}

async fn tell_progress(context: &RequestContext<RoleServer>) {
    let Some(token) = context.meta.get_progress_token() else { return };
    for progress in [0.0, 50.0, 100.0] {
        let note = ProgressNotificationParam::new(token.clone(), progress).with_total(100.0);
        let _ = context.peer.notify_progress(note).await;
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
}

/// Asks a client of before 2026-07-28 while its call waits.
async fn ask(
    name: &str,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let titled = |names: [&str; 3]| names.map(|it| json!({ "const": it, "title": it }));
    let schema = match name {
        "test_elicitation_sep1034_defaults" => json!({ "type": "object", "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
            "verified": { "type": "boolean", "default": true },
        } }),
        "test_elicitation_sep1330_enums" => json!({ "type": "object", "properties": {
            "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
            "titledSingle": { "type": "string", "oneOf": titled(["value1", "value2", "value3"]) },
            "legacyEnum": { "type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"] },
            "untitledMulti": { "type": "array", "items": { "type": "string", "enum": ["option1", "option2", "option3"] } },
            "titledMulti": { "type": "array", "items": { "anyOf": titled(["value1", "value2", "value3"]) } },
        } }),
        _ => json!({ "type": "object", "properties": {
            "username": { "type": "string" }, "email": { "type": "string" },
        }, "required": ["username", "email"] }),
    };
    let requested_schema = serde_json::from_value(schema)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let form = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: "Please answer".to_owned(),
        requested_schema,
    };
    let asked = context.peer.send_request(ServerRequest::ElicitRequest(ElicitRequest::new(form)));
    match asked.await {
        Ok(ClientResult::ElicitResult(result)) => {
            let text = format!("action={:?}, content={:?}", result.action, result.content);
            Ok(done(&text))
        }
        Ok(_) | Err(_) => {
            let text = ContentBlock::text("The client did not answer");
            Ok(CallToolResult::error(vec![text]).into())
        }
    }
}

/// The tools whose first result is a question.
fn unfinished(
    name: &str,
    request: &CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let name = name.trim_start_matches("test_input_required_result_");
    let answers = request.input_responses.as_ref();
    let state = request.request_state.as_deref();
    if let Some(state) = state
        && !is_own_state(state)
    {
        return Err(ErrorData::invalid_params("the request state is not one of this server", None));
    }
    let sampling = (
        "capital",
        json!({ "method": "sampling/createMessage", "params": {
        "messages": [{ "role": "user", "content": { "type": "text", "text": "Hello" } }], "maxTokens": 100,
    } }),
    );
    let roots = ("client_roots", json!({ "method": "roots/list", "params": {} }));
    let (asked, next) = match (name, state) {
        ("elicitation", _) => (vec![form("user_name", "name", "string")], None),
        ("sampling", _) => (vec![("capital_question", sampling.1)], None),
        ("list_roots", _) => (vec![roots], None),
        ("request_state" | "tampered_state", _) => {
            (vec![form("confirm", "ok", "boolean")], Some(own_state("first")))
        }
        ("multiple_inputs", _) => {
            let all = vec![form("user_name", "name", "string"), ("greeting", sampling.1), roots];
            (all, Some(own_state("first")))
        }
        ("multi_round", None) => (vec![form("step1", "name", "string")], Some(own_state("first"))),
        ("multi_round", Some(_)) => {
            (vec![form("step2", "color", "string")], Some(own_state("second")))
        }
        _ => {
            let known = context.client_capabilities().unwrap_or_default();
            let mut asked = Vec::new();
            asked.extend(known.sampling.is_some().then_some(sampling));
            asked.extend(known.elicitation.is_some().then(|| form("user_name", "name", "string")));
            (asked, None)
        }
    };
    let is_answered = asked.iter().all(|(key, question)| is_answer(answers, key, question));
    let is_last = name != "multi_round" || answer(answers, "step2").is_some();
    if is_answered && is_last && !asked.is_empty() {
        return Ok(done(&format!("Hello, {}! state-ok", said(answers))));
    }
    Ok(InputRequiredResult::new(Some(questions(&asked)), next).into())
}

/// Whether a question has an answer that fits it.
fn is_answer(answers: Option<&InputResponses>, key: &str, question: &Value) -> bool {
    let Some(answer) = answer(answers, key) else { return false };
    match question["method"].as_str() {
        Some("elicitation/create") => {
            let wanted = question["params"]["requestedSchema"]["required"][0].as_str();
            let kind = &question["params"]["requestedSchema"]["properties"]
                [wanted.unwrap_or_default()]["type"];
            let given = &answer["content"][wanted.unwrap_or_default()];
            let fits = if kind == "boolean" { given.is_boolean() } else { given.is_string() };
            answer["action"] != "accept" || fits
        }
        _ => answer.is_object(),
    }
}

fn said(answers: Option<&InputResponses>) -> String {
    let name = answer(answers, "user_name").and_then(|it| it["content"]["name"].as_str());
    name.unwrap_or("you").to_owned()
}

fn answer<'a>(answers: Option<&'a InputResponses>, key: &str) -> Option<&'a Value> {
    answers.and_then(|answers| answers.get(key))
}

fn form(key: &'static str, field: &str, kind: &str) -> (&'static str, Value) {
    let schema = json!({
        "type": "object", "properties": { field: { "type": kind } }, "required": [field],
    });
    let params = json!({ "mode": "form", "message": "Please answer", "requestedSchema": schema });
    (key, json!({ "method": "elicitation/create", "params": params }))
}

fn questions(asked: &[(&str, Value)]) -> InputRequests {
    let question = |(key, value): &(&str, Value)| {
        Some(((*key).to_owned(), serde_json::from_value(value.clone()).ok()?))
    };
    asked.iter().filter_map(question).collect()
}

/// A state with a digest. It protects nothing: the fixtures have nothing to protect.
fn own_state(round: &str) -> String {
    format!("{round}:{}", files::digest(round.as_bytes()))
}

fn is_own_state(state: &str) -> bool {
    state.split_once(':').is_some_and(|(round, _)| own_state(round) == state)
}

fn done(text: &str) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

fn object(value: Value) -> serde_json::Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => serde_json::Map::new(),
    }
}
