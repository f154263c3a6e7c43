//! Generates the answer of a prompt skill: streaming, limits, and validation of JSON answers (SRT §4.5).

use std::future::{Future, poll_fn};
use std::time::{Duration, Instant};

use prowess_format::skill::Skill;
use serde_json::Value;

use super::{Failure, Invalid, Sink, wanted_schema};
use crate::model::{looks_truncated, unmet};
use crate::outputs;
use crate::run::CancellationToken;
use prowess_core::AnswerDetails;
use prowess_core::{CitedSource, Event};
use prowess_core::{
    Message, Model, ModelDelta, ModelError, ModelErrorKind, ModelRequest, ModelStream, StopReason,
};

/// Maximum size of an answer.
const MAX_ANSWER: usize = 8 << 20;
/// Maximum number of validation errors that are reported to the model.
const MAX_MISTAKES: usize = 5;

/// An answer with its details.
pub(super) struct Generated {
    pub(crate) text: String,
    /// The answer as JSON, if it has to be JSON.
    pub(crate) parsed: Option<Value>,
    pub(crate) answer: AnswerDetails,
}

/// Why a run ended early.
pub(crate) enum Halt {
    Model(ModelError),
    TimedOut(Duration),
    Cancelled,
}

/// A deadline and a cancellation token.
pub(crate) struct Deadline<'p> {
    pub(crate) cancel: &'p CancellationToken,
    /// The deadline, and the time limit it was computed from.
    pub(crate) until: Option<(Instant, Duration)>,
}

impl Deadline<'_> {
    /// Awaits a future until the deadline or a cancellation.
    pub(crate) async fn bound<T>(&self, wanted: impl Future<Output = T>) -> Result<T, Halt> {
        let too_late = async {
            match self.until {
                Some((until, time)) => {
                    tokio::time::sleep_until(until.into()).await;
                    time
                }
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = self.cancel.cancelled() => Err(Halt::Cancelled),
            time = too_late => Err(Halt::TimedOut(time)),
            value = wanted => Ok(value),
        }
    }
}

/// Warns about requirements that the model does not meet (GAIA §2.1). Unknown facts give no warning.
pub(super) async fn warn_of_requirements(
    model: &dyn Model,
    skill: &Skill,
    patience: &Deadline<'_>,
    sink: &mut Sink<'_>,
) -> Result<(), Halt> {
    let wanted = &skill.requirements;
    if wanted.model.is_none() && wanted.context.is_none() {
        return Ok(());
    }
    if let Ok(facts) = patience.bound(model.facts()).await? {
        for message in unmet(wanted, &facts) {
            sink(&Event::Warning { message: format!("`{}`: {message}", model.name()) });
        }
    }
    Ok(())
}

/// Asks the model, and asks again if the answer is not the required JSON.
pub(super) async fn generate(
    model: &dyn Model,
    mut request: ModelRequest,
    skill: &Skill,
    sources: Vec<CitedSource>,
    patience: &Deadline<'_>,
    sink: &mut Sink<'_>,
) -> Result<Generated, Failure> {
    let mut answer =
        AnswerDetails { model: model.name().to_owned(), sources, ..AnswerDetails::default() };
    let kind = skill.outputs.as_ref().and_then(|outputs| outputs.kind.as_ref());
    if wanted_schema(skill).is_none() && kind.is_none_or(|kind| kind.as_str() != "json") {
        let text = stream(model, &request, &mut answer, patience, sink, true).await?;
        return Ok(Generated { text, parsed: None, answer });
    }
    // The deltas are held back: an answer that is shown and then discarded would be worse than a late one.
    let mut is_repaired = false;
    loop {
        let text = stream(model, &request, &mut answer, patience, sink, false).await?;
        let mistakes = match read_json(&text, wanted_schema(skill)) {
            Ok(value) => {
                sink(&Event::Token { content: text.clone() });
                return Ok(Generated { text, parsed: Some(value), answer });
            }
            Err(mistakes) => mistakes,
        };
        if is_repaired {
            let error = format!("the output is not what the skill declares: {mistakes}");
            return Err(Failure::Invalid(Box::new(Invalid { error, answer, text })));
        }
        is_repaired = true;
        let message =
            format!("the answer was not what the skill declares, asking again: {mistakes}");
        sink(&Event::Warning { message });
        request.messages.push(Message::Assistant { text, calls: Vec::new() });
        request.messages.push(Message::User(repair(&mistakes)));
    }
}

fn repair(mistakes: &str) -> String {
    format!(
        "Your answer can't be used: {mistakes}.\n\nAnswer again with the corrected JSON value and nothing else: no explanation, no code fence."
    )
}

/// Parses the JSON of an answer. Models often wrap it in a code fence; text around it is ignored.
fn read_json(text: &str, schema: Option<&Value>) -> Result<Value, String> {
    let value: Value = serde_json::from_str(unfenced(text))
        .map_err(|error| format!("it is not JSON ({error})"))?;
    match schema {
        None => Ok(value),
        Some(schema) => {
            let mistakes = outputs::mistakes(&value, schema, MAX_MISTAKES);
            if mistakes.is_empty() { Ok(value) } else { Err(mistakes.join("; ")) }
        }
    }
}

/// The content of the only code fence; the whole text if there is none or several.
fn unfenced(text: &str) -> &str {
    let text = text.trim();
    let mut parts = text.split("```");
    let (Some(_), Some(block), Some(_), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return text;
    };
    let inner =
        block.split_once('\n').filter(|(info, _)| matches!(info.trim(), "" | "json" | "JSON"));
    inner.map_or(text, |(_, inner)| inner.trim())
}

/// Streams one answer of the model. Its deltas are reported as they arrive, if `aloud`.
pub(crate) async fn stream(
    model: &dyn Model,
    request: &ModelRequest,
    answer: &mut AnswerDetails,
    patience: &Deadline<'_>,
    sink: &mut Sink<'_>,
    aloud: bool,
) -> Result<String, Halt> {
    let pieces = patience.bound(model.answer(request)).await?.map_err(Halt::Model)?;
    // The deadline is set up once for the whole answer: registering for cancellation takes a lock, which is too
    // expensive per token.
    patience.bound(read(pieces, request, answer, patience.cancel, sink, aloud)).await?
}

/// Reads the deltas of an answer. Available ones are read without waiting in between, so cancellation is checked after
/// each.
async fn read(
    mut pieces: ModelStream,
    request: &ModelRequest,
    answer: &mut AnswerDetails,
    cancel: &CancellationToken,
    sink: &mut Sink<'_>,
    aloud: bool,
) -> Result<String, Halt> {
    let mut text = String::new();
    let (before, mut counted) = (answer.usage.unwrap_or_default(), None);
    loop {
        let piece = match poll_fn(|context| pieces.as_mut().poll_next(context)).await {
            _ if cancel.is_cancelled() => return Err(Halt::Cancelled),
            Some(piece) => piece.map_err(Halt::Model)?,
            None => {
                let message = "the model stopped in the middle of its answer";
                return Err(Halt::Model(ModelError::new(ModelErrorKind::Protocol, message)));
            }
        };
        match piece {
            ModelDelta::Text(content) => {
                if text.len() + content.len() > MAX_ANSWER {
                    let message = format!("the answer is longer than {} MiB", MAX_ANSWER >> 20);
                    return Err(Halt::Model(ModelError::new(ModelErrorKind::Provider, message)));
                }
                text.push_str(&content);
                if aloud && !content.is_empty() {
                    sink(&Event::Token { content });
                }
            }
            // No tools were offered.
            ModelDelta::ToolCall(_) => {}
            ModelDelta::Usage(usage) => {
                // Usage is a running total, even if it is sent several times.
                counted = Some(usage);
                answer.usage = Some(before + usage);
            }
            ModelDelta::End(stop) => {
                if text.trim().is_empty() {
                    let message = "the model returned an empty answer".to_owned();
                    sink(&Event::Warning { message });
                }
                warn_of(&stop, request, sink);
                let truncated = counted.and_then(|usage| looks_truncated(request, &usage));
                if let Some(message) = truncated {
                    sink(&Event::Warning { message });
                }
                answer.stop = Some(stop);
                return Ok(text);
            }
        }
    }
}

fn warn_of(stop: &StopReason, request: &ModelRequest, sink: &mut Sink<'_>) {
    let message = match stop {
        StopReason::Length => match request.max_tokens {
            Some(most) => format!(
                "the answer was truncated: it reached {most} tokens (`model.max_tokens` of the skill), or the context is full"
            ),
            None => "the answer was truncated: the context is full".to_owned(),
        },
        StopReason::Filtered => "the provider withheld a part of the answer".to_owned(),
        StopReason::Done | StopReason::ToolCalls | StopReason::Other(_) => return,
    };
    sink(&Event::Warning { message });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_is_read_also_out_of_a_fence() {
        for text in
            ["{\"a\": 1}", " {\"a\": 1}\n", "```json\n{\"a\": 1}\n```", "```\n{\"a\": 1}\n```\n"]
        {
            assert_eq!(read_json(text, None), Ok(json!({"a": 1})), "{text}");
        }
        for text in
            ["", "Here it is: {}", "```python\n{}\n```", "{\"a\": 1} {}", "```\n1\n``` ```\n2\n```"]
        {
            assert!(read_json(text, None).is_err(), "{text}");
        }
        let schema = json!({"type": "object", "required": ["b"]});
        let mistakes = read_json("{\"a\": 1}", Some(&schema)).expect_err("b is missing");
        assert!(mistakes.contains("\"b\" is a required property"), "{mistakes}");
    }
}
