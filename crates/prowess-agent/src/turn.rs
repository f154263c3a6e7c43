//! One request to the model: its text streams as it comes, its calls are collected.

use std::pin::Pin;

use futures_util::Stream;
use futures_util::future::poll_fn;
use prowess_core::{
    Event, Message, Model, ModelDelta, ModelError, ModelErrorKind, ModelRequest, ModelStream,
    StopReason, ToolCall, Usage,
};
use prowess_format::tokens::estimated_tokens;

use crate::ending::Ending;
use crate::patience::Patience;
use crate::reporter::Reporter;

/// The answer of a model.
#[derive(Debug)]
pub(crate) struct TurnAnswer {
    pub(crate) text: String,
    pub(crate) calls: Vec<ToolCall>,
    pub(crate) usage: Usage,
    /// Whether the provider said nothing about tokens.
    pub(crate) is_estimated: bool,
    pub(crate) stop: StopReason,
}

/// Who hears the text of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Audience {
    /// The user.
    User,
    /// Nobody: it is an answer to the agent.
    Nobody,
}

/// Sends the conversation and reads the answer. When the work has to end, the request is dropped, which closes its
/// connection.
pub(crate) async fn ask(
    model: &dyn Model,
    request: &ModelRequest,
    patience: &Patience,
    reporter: &Reporter<'_>,
    audience: Audience,
) -> Result<TurnAnswer, Ending> {
    let mut stream = patience.bound(model.answer(request)).await??;
    let (mut text, mut calls, mut usage) = (String::new(), Vec::new(), None);
    let stop = loop {
        match patience.bound(next(&mut stream)).await? {
            Some(Ok(ModelDelta::Text(piece))) => {
                text.push_str(&piece);
                if audience == Audience::User {
                    reporter.tell(&Event::Token { content: piece });
                }
            }
            Some(Ok(ModelDelta::ToolCall(call))) => calls.push(call),
            Some(Ok(ModelDelta::Usage(counted))) => usage = Some(counted),
            Some(Ok(ModelDelta::End(stop))) => break stop,
            Some(Err(error)) => return Err(error.into()),
            None => {
                let message = "the answer of the model broke off";
                return Err(ModelError::new(ModelErrorKind::Protocol, message).into());
            }
        }
    };
    // Some servers count nothing, and say so with zeros.
    let usage = usage.filter(|usage: &Usage| usage.input + usage.output > 0);
    let is_estimated = usage.is_none();
    let usage = usage.unwrap_or_else(|| Usage {
        input: estimate(request),
        output: tokens(&text) + calls.iter().map(call_tokens).sum::<u64>(),
    });
    Ok(TurnAnswer { text, calls, usage, is_estimated, stop })
}

async fn next(stream: &mut ModelStream) -> Option<Result<ModelDelta, ModelError>> {
    poll_fn(|context| Pin::new(&mut *stream).poll_next(context)).await
}

/// The estimated tokens of a request.
pub(crate) fn estimate(request: &ModelRequest) -> u64 {
    let messages = request.messages.iter().map(|message| match message {
        Message::User(text) => tokens(text),
        Message::Assistant { text, calls } => {
            tokens(text) + calls.iter().map(call_tokens).sum::<u64>()
        }
        Message::ToolResult { content, .. } => tokens(content),
    });
    let tools = request.tools.iter().map(|tool| {
        tokens(&tool.name) + tokens(&tool.description) + tokens(&tool.parameters.to_string())
    });
    request.system.as_deref().map_or(0, tokens) + messages.sum::<u64>() + tools.sum::<u64>()
}

fn call_tokens(call: &ToolCall) -> u64 {
    tokens(&call.name) + tokens(&call.arguments)
}

fn tokens(text: &str) -> u64 {
    estimated_tokens(text) as u64
}
