//! Server-sent events: `id: N`, `event: <type>`, `data: <json>` (specification §8).

use bytes::{BufMut as _, Bytes, BytesMut};
use prowess_core::wire::EventWriter;
use prowess_core::{Event, WorkflowEvent};
use serde_json::{Value, json};

/// A frame. The data is compact JSON, which has no line breaks, and its characters are not escaped.
pub(crate) fn frame(id: u64, event: &str, data: &Value) -> Bytes {
    let mut bytes = BytesMut::with_capacity(128);
    head(&mut bytes, id, event);
    write_json(&mut bytes, data);
    bytes.put_slice(b"\n\n");
    bytes.freeze()
}

/// The frame of a token, which is nearly every event of a run: written without a JSON tree.
fn token(id: u64, content: &str) -> Bytes {
    let mut bytes = BytesMut::with_capacity(64 + content.len());
    head(&mut bytes, id, "token");
    bytes.put_slice(b"{\"content\":");
    write_json(&mut bytes, &content);
    bytes.put_slice(b"}\n\n");
    bytes.freeze()
}

fn head(bytes: &mut BytesMut, id: u64, event: &str) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = id;
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(rest % 10).expect("a digit");
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    bytes.put_slice(b"id: ");
    bytes.put_slice(&digits[at..]);
    bytes.put_slice(b"\nevent: ");
    bytes.put_slice(event.as_bytes());
    bytes.put_slice(b"\ndata: ");
}

fn write_json(bytes: &mut BytesMut, value: &impl serde::Serialize) {
    serde_json::to_writer(bytes.writer(), value)
        .expect("texts and trees are JSON, and memory has room");
}

/// Writes the events of one run as frames, numbered from 1.
#[derive(Debug, Default)]
pub(crate) struct RunFrames {
    writer: EventWriter,
    last: u64,
    /// The id of a workflow's execution, which the specification's clients look for in its events.
    execution: Option<String>,
}

impl RunFrames {
    /// Frames that follow a number of others.
    pub(crate) fn after(last: u64) -> Self {
        Self { last, ..Self::default() }
    }

    /// Writes an event: usually one frame, none while a character is incomplete.
    pub(crate) fn write(&mut self, event: &Event, mut put: impl FnMut(Bytes)) {
        if let Event::Token { content } = event {
            self.last += 1;
            return put(token(self.last, content));
        }
        if let Event::Workflow(WorkflowEvent::Start { run, .. }) = event {
            self.execution = Some(run.clone());
        }
        for mut object in self.writer.write(event) {
            let data = object["data"].take();
            let name = object["event"].as_str().unwrap_or_default().to_owned();
            let data = self.with_execution(&name, data);
            put(self.custom(&name, &data));
        }
    }

    /// Adds the id of the execution to the events of the whole workflow.
    fn with_execution(&self, name: &str, data: Value) -> Value {
        match (&self.execution, data) {
            (Some(execution), Value::Object(mut members)) if name.starts_with("workflow_") => {
                let mut first = serde_json::Map::new();
                first.insert("execution_id".to_owned(), json!(execution));
                first.append(&mut members);
                Value::Object(first)
            }
            (_, data) => data,
        }
    }

    /// Writes an event of the studio's own.
    pub(crate) fn custom(&mut self, name: &str, data: &Value) -> Bytes {
        self.last += 1;
        frame(self.last, name, data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prowess_core::{CitedSource, Envelope, Thought};

    fn frames(events: &[Event]) -> String {
        let mut frames = RunFrames::default();
        let mut text = String::new();
        for event in events {
            frames.write(event, |bytes| text.push_str(std::str::from_utf8(&bytes).expect("UTF-8")));
        }
        text
    }

    #[test]
    fn frames_are_those_of_the_specification() {
        // AFL-8-1
        let thought = |status, message: Option<&str>| {
            Event::Thought(Thought {
                kind: "validation",
                status,
                message: message.map(str::to_owned),
                details: Vec::new(),
            })
        };
        let source = CitedSource {
            doc_id: "a.md".to_owned(),
            chunk_index: 0,
            score: 0.5,
            text: "zwölf".to_owned(),
            range: 0..6,
            pages: None,
            injected: true,
        };
        let answered = Envelope::answered(prowess_core::AnswerDetails::default());
        let text = frames(&[
            thought("start", None),
            thought("complete", Some("All required inputs provided")),
            Event::Citation { sources: vec![source] },
            Event::Token { content: "Grüße\n\"🙂\" </script>".to_owned() },
            Event::Error { message: "broken".to_owned() },
            Event::Done(Box::new(answered)),
        ]);
        assert_eq!(
            text,
            "id: 1\nevent: thought\ndata: {\"type\":\"validation\",\"status\":\"start\"}\n\n\
             id: 2\nevent: thought\ndata: {\"type\":\"validation\",\"status\":\"complete\",\"message\":\"All required inputs provided\"}\n\n\
             id: 3\nevent: citation\ndata: {\"sources\":[{\"doc_id\":\"a.md\",\"chunk_index\":0,\"score\":0.5,\"text\":\"zwölf\",\"start\":0,\"end\":6,\"injected\":true}]}\n\n\
             id: 4\nevent: token\ndata: {\"content\":\"Grüße\\n\\\"🙂\\\" </script>\"}\n\n\
             id: 5\nevent: error\ndata: {\"message\":\"broken\"}\n\n\
             id: 6\nevent: done\ndata: {\"status\":\"success\",\"message\":\"Skill execution completed successfully\"}\n\n"
        );
    }

    #[test]
    fn a_workflow_names_its_execution() {
        let text = frames(&[
            Event::Workflow(WorkflowEvent::Start { run: "run-1".to_owned(), name: None }),
            Event::Workflow(WorkflowEvent::Inside {
                node: "a".to_owned(),
                event: Box::new(Event::Token { content: "x".to_owned() }),
            }),
        ]);
        assert_eq!(
            text,
            "id: 1\nevent: workflow_start\ndata: {\"execution_id\":\"run-1\",\"run_id\":\"run-1\",\"workflow_name\":null}\n\n\
             id: 2\nevent: token\ndata: {\"node_id\":\"a\",\"content\":\"x\"}\n\n"
        );
    }
}
