//! Events and envelopes as JSON. Other programs read it, so its keys are stable.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use crate::agent_event::AgentEvent;
use crate::decoder::Utf8Decoder;
use crate::envelope::{AgentSummary, Envelope};
use crate::event::{CitedSource, Event, StandardStream, Thought};
use crate::frame::RunId;
use crate::model::Usage;
use crate::problem::Remedy;
use crate::run_changes::{ChangedFile, ChangesState, RunChanges};
use crate::workflow_event::WorkflowEvent;

/// Writes an envelope as in GIB §4.3 and §4.4. `truncated` is always present (R29); our own keys follow those of the
/// specification.
pub fn envelope(envelope: &Envelope) -> Value {
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| drop(object.insert(key.to_owned(), value));
    put("success", envelope.is_success().into());
    put("exit_code", envelope.exit_code.into());
    put("output", envelope.output.clone().into());
    if let Some(parsed) = &envelope.parsed {
        put("parsed", parsed.clone());
    }
    if let Some(error) = &envelope.error {
        put("error", error.clone().into());
    }
    put("truncated", (envelope.left_out > 0).into());
    let millis = u64::try_from(envelope.duration.as_millis()).unwrap_or(u64::MAX);
    put("duration_ms", millis.into());
    put("outcome", envelope.outcome.as_str().into());
    if !envelope.is_utf8 {
        // NEG-8: the output is kept, and marked as lossy.
        put("encoding", "lossy".into());
    }
    if !envelope.warnings.is_empty() {
        put("warnings", envelope.warnings.clone().into());
    }
    if let Some(run) = &envelope.changes {
        if run.state != ChangesState::None {
            put("run", run.run.clone().into());
        }
        put("changes", changes(run));
        put("changes_applied", (run.state == ChangesState::Applied).into());
    }
    if !envelope.context.is_empty() {
        put("context", envelope.context.clone().into());
    }
    if !envelope.remedies.is_empty() {
        put("hints", hints(&envelope.remedies));
        put("remedies", envelope.remedies.iter().map(Remedy::to_json).collect());
    }
    if let Some(answer) = &envelope.answer {
        if !answer.model.is_empty() {
            put("model", answer.model.clone().into());
        }
        if let Some(Usage { input, output }) = answer.usage {
            put("usage", json!({ "input_tokens": input, "output_tokens": output }));
        }
        if let Some(stop) = &answer.stop {
            put("stop", stop.as_str().into());
        }
        if !answer.sources.is_empty() {
            put("sources", answer.sources.iter().map(source).collect());
        }
        if let Some(AgentSummary { turns, calls, failed, invalid, refused, transcript }) =
            &answer.agent
        {
            put("turns", (*turns).into());
            let counts = json!({
                "total": calls, "failed": failed, "invalid": invalid, "refused": refused,
            });
            put("tool_calls", counts);
            put("transcript", transcript.clone().into());
        }
    }
    Value::Object(object)
}

/// Writes the changes of a run: all of them are applied, or none. Names that are not UTF-8 are lossy.
pub fn changes(run: &RunChanges) -> Value {
    let is_applied = run.state == ChangesState::Applied;
    let change = |file: &ChangedFile| {
        let mut object = json!({
            "path": file.path.to_string_lossy(),
            "kind": file.kind,
            "bytes": file.bytes,
            "applied": is_applied,
        });
        if let Some(reason) = &file.reason {
            object["reason"] = reason.as_str().into();
        }
        if !is_applied {
            object["decision"] = file.decision.as_str().into();
        }
        object
    };
    run.changes.iter().map(change).collect()
}

/// Writes events as JSON objects `{"event", "data"}`. It holds back incomplete characters, so that none is split.
///
/// If the run is known, each object also has `run_id` and `sequence`, which counts the objects of the run from zero. The
/// run of a workflow is known from its first event on.
#[derive(Debug, Default)]
pub struct EventWriter {
    run: Option<String>,
    sequence: u64,
    decoders: [Utf8Decoder; 2],
    /// One writer per node of a workflow, or per call of an agent, because several run at the same time.
    nodes: HashMap<String, EventWriter>,
}

impl EventWriter {
    /// Creates a writer for the events of a run.
    pub fn of_run(run: RunId) -> Self {
        Self { run: Some(run.to_string()), ..Self::default() }
    }

    /// Writes an event: usually one object, none while a character is incomplete.
    pub fn write(&mut self, event: &Event) -> Vec<Value> {
        if let Event::Workflow(WorkflowEvent::Start { run, .. }) = event {
            self.run = Some(run.clone());
        }
        let mut objects = self.objects(event);
        if let Some(run) = &self.run {
            for object in &mut objects {
                object["run_id"] = run.as_str().into();
                object["sequence"] = self.sequence.into();
                self.sequence += 1;
            }
        }
        objects
    }

    fn objects(&mut self, event: &Event) -> Vec<Value> {
        match event {
            Event::Output { stream, bytes } => {
                let decoded = self.decoder(*stream).push(bytes);
                if decoded.text.is_empty() {
                    return Vec::new();
                }
                vec![output(*stream, &decoded.text, decoded.is_lossy)]
            }
            Event::Done(envelope) => {
                let mut objects: Vec<Value> = [StandardStream::Stdout, StandardStream::Stderr]
                    .into_iter()
                    .filter_map(|stream| {
                        let half = self.decoder(stream).finish()?;
                        Some(output(stream, &half.to_string(), true))
                    })
                    .collect();
                objects.push(done(envelope));
                objects
            }
            Event::Thought(thought) => vec![self::thought(thought)],
            Event::Token { content } => vec![object("token", json!({ "content": content }))],
            Event::Citation { sources } => {
                let sources: Vec<Value> = sources.iter().map(source).collect();
                vec![object("citation", json!({ "sources": sources }))]
            }
            Event::Started { skill, tool, command } => {
                let data = json!({ "skill": skill, "tool": tool, "command": command });
                vec![object("started", data)]
            }
            Event::Warning { message } => vec![object("warning", json!({ "message": message }))],
            Event::Error { message } => vec![object("error", json!({ "message": message }))],
            Event::Workflow(event) => self.workflow(event),
            Event::Agent(event) => self.agent(event),
        }
    }

    /// Writes an event of a workflow, with the names and keys of the reference implementation and a few more.
    fn workflow(&mut self, event: &WorkflowEvent) -> Vec<Value> {
        let written = match event {
            WorkflowEvent::Start { run, name } => {
                object("workflow_start", json!({ "run_id": run, "workflow_name": name }))
            }
            WorkflowEvent::NodeStart { node, kind } => {
                object("node_start", json!({ "node_id": node, "node_type": kind }))
            }
            WorkflowEvent::Inside { node, event } => {
                return self.inside("node_id", node, event);
            }
            WorkflowEvent::NodeComplete { node, output, restored } => {
                self.nodes.remove(node);
                let mut data = json!({ "node_id": node, "output": output });
                if *restored {
                    data["restored"] = true.into();
                }
                object("node_complete", data)
            }
            WorkflowEvent::NodeError { node, error, remedies } => {
                self.nodes.remove(node);
                object(
                    "node_error",
                    with_remedies(json!({ "node_id": node, "error": error }), remedies),
                )
            }
            WorkflowEvent::NodeSkipped { node } => {
                object("node_skipped", json!({ "node_id": node }))
            }
            WorkflowEvent::Complete { run, output, outputs } => object(
                "workflow_complete",
                json!({ "run_id": run, "final_output": output, "outputs": outputs }),
            ),
            WorkflowEvent::Error { run, error, remedies } => object(
                "workflow_error",
                with_remedies(json!({ "run_id": run, "error": error }), remedies),
            ),
        };
        vec![written]
    }

    /// Writes an event of an agent.
    fn agent(&mut self, event: &AgentEvent) -> Vec<Value> {
        let written = match event {
            AgentEvent::Start { agent, model, skills, transcript } => object(
                "agent_start",
                json!({ "agent": agent, "model": model, "skills": skills, "transcript": transcript }),
            ),
            AgentEvent::Turn { number } => object("turn_start", json!({ "turn": number })),
            AgentEvent::ToolCall { call, name, skill, tool, arguments } => object(
                "tool_call",
                json!({
                    "call_id": call, "name": name, "skill": skill, "tool": tool, "arguments": arguments,
                }),
            ),
            AgentEvent::Inside { call, event } => return self.inside("call_id", call, event),
            AgentEvent::ToolResult { call, status, content, left_out, duration } => {
                self.nodes.remove(call);
                object(
                    "tool_result",
                    json!({
                        "call_id": call, "status": status.as_str(), "content": content,
                        "truncated": *left_out > 0,
                        "duration_ms": u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
                    }),
                )
            }
            AgentEvent::Usage { turn, usage, total, is_estimated } => object(
                "usage",
                json!({
                    "turn": turn,
                    "input_tokens": usage.input, "output_tokens": usage.output,
                    "total_input_tokens": total.input, "total_output_tokens": total.output,
                    "estimated": is_estimated,
                }),
            ),
        };
        vec![written]
    }

    /// Writes an event of a part of the run, with the id of the part first in its data.
    fn inside(&mut self, key: &str, part: &str, event: &Event) -> Vec<Value> {
        let mut objects = self.nodes.entry(part.to_owned()).or_default().objects(event);
        for object in &mut objects {
            if let Value::Object(data) = object["data"].take() {
                let id = (key.to_owned(), Value::from(part));
                object["data"] = Value::Object([id].into_iter().chain(data).collect());
            }
        }
        objects
    }

    fn decoder(&mut self, stream: StandardStream) -> &mut Utf8Decoder {
        match stream {
            StandardStream::Stdout => &mut self.decoders[0],
            StandardStream::Stderr => &mut self.decoders[1],
        }
    }
}

fn with_remedies(mut data: Value, remedies: &[Remedy]) -> Value {
    if !remedies.is_empty() {
        data["hints"] = hints(remedies);
        data["remedies"] = remedies.iter().map(Remedy::to_json).collect();
    }
    data
}

/// Remedies as phrases that fit every interface.
fn hints(remedies: &[Remedy]) -> Value {
    remedies.iter().map(|remedy| Value::from(remedy.to_string())).collect()
}

fn object(event: &str, data: impl Into<Value>) -> Value {
    let data = data.into();
    json!({ "event": event, "data": data })
}

fn output(stream: StandardStream, text: &str, is_lossy: bool) -> Value {
    let mut data = json!({ "stream": stream.as_str(), "text": text });
    if is_lossy {
        data["encoding"] = "lossy".into();
    }
    object("output", data)
}

fn thought(thought: &Thought) -> Value {
    let mut data = Map::new();
    data.insert("type".to_owned(), thought.kind.into());
    data.insert("status".to_owned(), thought.status.into());
    if let Some(message) = &thought.message {
        data.insert("message".to_owned(), message.clone().into());
    }
    data.extend(thought.details.iter().map(|(key, value)| ((*key).to_owned(), value.clone())));
    object("thought", Value::Object(data))
}

fn source(source: &CitedSource) -> Value {
    // The keys of AFL §8 come first.
    let mut object = json!({
        "doc_id": source.doc_id,
        "chunk_index": source.chunk_index,
        "score": source.score,
        "text": source.text,
        "start": source.range.start,
        "end": source.range.end,
        "injected": source.injected,
    });
    if let Some(pages) = &source.pages {
        object["page"] = (*pages.start()).into();
        if pages.start() != pages.end() {
            object["last_page"] = (*pages.end()).into();
        }
    }
    object
}

/// Writes the data of `done`. AFL §8 requires a status and a message; for a tool and an agent the envelope is added.
fn done(done: &Envelope) -> Value {
    let status = if done.is_success() { "success" } else { "error" };
    let message = done.error.as_deref().unwrap_or("Skill execution completed successfully");
    let mut data = json!({ "status": status, "message": message });
    // AFL §8 has no envelope; tools and agents are not part of it.
    if done.answer.as_ref().is_none_or(|answer| answer.agent.is_some()) {
        data["envelope"] = envelope(done);
    }
    object("done", data)
}
