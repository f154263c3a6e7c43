//! What a call has changed: named in its result, and accepted by the person in front of the client where that is needed.

use std::fmt::Write as _;

use prowess_core::{
    ChangeDecision, ChangedFile, ChangesState, Envelope, RunChanges, RunOutcome, wire,
};
use prowess_engine::changes;
use prowess_format::text::visible;
use rmcp::model::{
    ClientResult, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, MetaObject, ServerRequest,
};
use rmcp::service::PeerRequestOptions;
use serde_json::{Value, json};

use crate::approval;
use crate::call::{PATIENCE, ToolCall};

/// The key of a result's changes among its metadata.
const META_KEY: &str = "prowess/changes";
/// Maximum number of changes that a text names; the metadata has all of them.
const MAX_NAMED: usize = 50;
/// The field of the form.
const ANSWER: &str = "apply";

/// Asks about changes that need a decision, if the client can ask while it waits for the result. Otherwise they wait, and
/// the result says where.
pub(crate) async fn offer(call: &ToolCall<'_>, mut envelope: Envelope) -> Envelope {
    let Some(run) = envelope.changes.as_deref().filter(|run| can_be_accepted(run)) else {
        return envelope;
    };
    let is_asked = envelope.outcome == RunOutcome::Refused
        && approval::can_ask(call.context.client_capabilities().as_ref())
        && !call.is_stateless();
    let Some(form) = is_asked.then(|| form(run)).flatten() else { return envelope };
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(form));
    let asked = async {
        let options = PeerRequestOptions::with_timeout(PATIENCE);
        let handle = call.context.peer.send_request_with_option(request, options).await?;
        handle.await_response().await
    };
    let answer = tokio::select! {
        answer = asked => answer,
        () = call.context.ct.cancelled() => return envelope,
    };
    let is_yes = matches!(answer, Ok(ClientResult::ElicitResult(result)) if is_yes(&result));
    if !is_yes {
        return envelope;
    }
    let state = call.server.shared.engine.world.state.clone();
    let kept = envelope.clone();
    let accepted = tokio::task::spawn_blocking(move || {
        let refused = changes::accept(&state, &mut envelope, &|_| true).err();
        if let Some(error) = refused {
            envelope.error = Some(format!("the changes were not applied: {error}"));
        }
        envelope
    });
    accepted.await.unwrap_or(kept)
}

/// Whether a person's yes would apply the changes.
fn can_be_accepted(run: &RunChanges) -> bool {
    let is_final = |file: &ChangedFile| {
        matches!(file.decision, ChangeDecision::Refuse | ChangeDecision::Conflict)
    };
    run.state == ChangesState::Pending && !run.changes.iter().any(is_final)
}

/// The question, with every change that needs a decision and its reason. More than a person reads are not asked about.
fn form(run: &RunChanges) -> Option<ElicitRequestParams> {
    let asked: Vec<&ChangedFile> =
        run.changes.iter().filter(|file| file.decision == ChangeDecision::Ask).collect();
    if asked.is_empty() || asked.len() > MAX_NAMED {
        return None;
    }
    let lines: Vec<String> = asked.iter().map(|file| line(file)).collect();
    let others = match run.changes.len() - asked.len() {
        0 => String::new(),
        1 => "\n\nand one ordinary change".to_owned(),
        others => format!("\n\nand {others} ordinary changes"),
    };
    let message = format!(
        "The tool has ended. Nothing is written yet, because some of its changes need your decision:\n\n{}{others}",
        lines.join("\n")
    );
    let choices = json!([
        { "const": "apply", "title": "Apply all of them" },
        { "const": "no", "title": "Apply nothing" },
    ]);
    let schema = json!({
        "type": "object",
        "properties": { ANSWER: { "type": "string", "title": "Apply the changes?", "oneOf": choices } },
        "required": [ANSWER],
    });
    let requested_schema: ElicitationSchema = serde_json::from_value(schema).ok()?;
    Some(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// Only a clear yes is a yes.
fn is_yes(result: &ElicitResult) -> bool {
    let answer = result.content.as_ref().and_then(|content| content.get(ANSWER));
    result.action == ElicitationAction::Accept && answer.and_then(Value::as_str) == Some("apply")
}

/// The changes of a run in a text for the model; `None` if there are none.
pub(crate) fn text(run: &RunChanges) -> Option<String> {
    if run.changes.is_empty() {
        return None;
    }
    let what = match run.state {
        ChangesState::Applied => "changed",
        ChangesState::None | ChangesState::Pending | ChangesState::Undone => "not applied",
    };
    let mut text = format!("{what} (run {}):", run.run);
    for file in run.changes.iter().take(MAX_NAMED) {
        text.push('\n');
        text.push_str(&line(file));
    }
    let more = run.changes.len().saturating_sub(MAX_NAMED);
    if more > 0 {
        let _ = write!(text, "\nand {more} more");
    }
    Some(text)
}

/// The changes of a run as metadata of its result.
pub(crate) fn meta(run: &RunChanges) -> MetaObject {
    let value = json!({
        "run": run.run,
        "state": run.state.as_str(),
        "changes": wire::changes(run),
    });
    MetaObject([(META_KEY.to_owned(), value)].into_iter().collect())
}

fn line(file: &ChangedFile) -> String {
    let path = file.path.display().to_string();
    let reason = file.reason.as_ref().map_or_else(String::new, |reason| format!(" ({reason})"));
    visible(&format!("- {} {path}{reason}", file.kind)).into_owned()
}
