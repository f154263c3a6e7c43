//! Questions to the person in front of a client: asked through the client, never answered by a model.

use prowess_core::RunId;
use prowess_engine::{ApprovalReply, ApprovalRequest};
use prowess_policy::Remember;
use rmcp::model::{
    ClientCapabilities, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, InputRequest, InputRequiredResult,
};
use serde_json::{Map, Value, json};

use crate::files;

/// The key of the question among those of a request, and of the answer among the answers.
pub(crate) const QUESTION: &str = "approval";
/// The field of the form.
const ANSWER: &str = "answer";

/// Whether a client can show a form to its user. A capability without details means forms.
pub(crate) fn can_ask(capabilities: Option<&ClientCapabilities>) -> bool {
    capabilities
        .and_then(|capabilities| capabilities.elicitation.as_ref())
        .is_some_and(|elicitation| elicitation.form.is_some() || elicitation.url.is_none())
}

/// The form: the question of the terminal, and its answers.
pub(crate) fn form(request: &ApprovalRequest, page: String) -> Option<ElicitRequestParams> {
    let choices: &[(&str, &str)] = if request.can_be_remembered {
        &[
            ("once", "Run it once"),
            ("tool", "Run it, from now on without asking"),
            ("skill", "Run it and all other tools of this skill, from now on"),
            ("no", "Don't run it"),
        ]
    } else {
        &[("once", "Run it this time"), ("no", "Don't run it")]
    };
    let titled: Vec<Value> =
        choices.iter().map(|(name, title)| json!({ "const": name, "title": title })).collect();
    let schema = json!({
        "type": "object",
        "properties": { ANSWER: { "type": "string", "title": "Run it?", "oneOf": titled } },
        "required": [ANSWER],
    });
    let requested_schema: ElicitationSchema = serde_json::from_value(schema).ok()?;
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message: page, requested_schema })
}

/// The question as the unfinished result of a call. The client repeats the call with the answer and the state.
pub(crate) fn unfinished(form: ElicitRequestParams, state: String) -> InputRequiredResult {
    let question = InputRequest::Elicitation(ElicitRequest::new(form));
    let questions = [(QUESTION.to_owned(), question)].into_iter().collect();
    InputRequiredResult::new(Some(questions), Some(state))
}

/// The person's answer. Only an explicit yes approves.
pub(crate) fn reply(result: &ElicitResult, can_be_remembered: bool) -> ApprovalReply {
    if result.action != ElicitationAction::Accept {
        return ApprovalReply::No;
    }
    let answer = result.content.as_ref().and_then(|content| content.get(ANSWER));
    match (answer.and_then(Value::as_str), can_be_remembered) {
        (Some("once"), _) => ApprovalReply::Yes(Remember::Once),
        (Some("tool"), true) => ApprovalReply::Yes(Remember::Tool),
        (Some("skill"), true) => ApprovalReply::Yes(Remember::Skill),
        _ => ApprovalReply::No,
    }
}

/// The state that a client sends back with an answer: the waiting run and a digest of its call.
pub(crate) fn state(id: RunId, tool: &str, values: &Map<String, Value>) -> String {
    format!("{id}:{}", call_digest(tool, values))
}

/// The run that a state names, if it belongs to the call.
pub(crate) fn run_of(state: &str, tool: &str, values: &Map<String, Value>) -> Option<RunId> {
    let (id, digest) = state.split_once(':')?;
    (digest == call_digest(tool, values)).then(|| id.parse().ok()).flatten()
}

fn call_digest(tool: &str, values: &Map<String, Value>) -> String {
    files::digest(json!([tool, values]).to_string().as_bytes())
}
