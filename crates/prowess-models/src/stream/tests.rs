//! Time is controlled by the test: it advances only when every task waits for it.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream as _;
use http_body::{Body, Frame};
use prowess_core::{ModelDelta, ModelError, ModelErrorKind};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::{AnswerStream, Key, ProviderKind, StreamSettings};
use prowess_settings::KeySource;

/// A body that a test fills.
struct Pipe(mpsc::UnboundedReceiver<Bytes>);

impl Body for Pipe {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(cx).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}

fn answer() -> (mpsc::UnboundedSender<Bytes>, AnswerStream<Pipe>) {
    answer_with(Key::read(&KeySource::None, "scripted", &[]).expect("no key is needed"))
}

fn answer_with(key: Key) -> (mpsc::UnboundedSender<Bytes>, AnswerStream<Pipe>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let reading = StreamSettings {
        provider: "scripted".to_owned(),
        kind: ProviderKind::OpenAi,
        key,
        first_token: Instant::now() + Duration::from_secs(100),
        first_token_limit: Duration::from_secs(100),
        stall: Duration::from_secs(10),
    };
    let broken = |why| ModelError::new(ModelErrorKind::Unreachable, why);
    (sender, AnswerStream::new(Pipe(receiver), reading, broken))
}

fn text(text: &str) -> Bytes {
    format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n").into()
}

async fn next(stream: &mut AnswerStream<Pipe>) -> Option<Result<ModelDelta, ModelError>> {
    let mut stream = Pin::new(stream);
    poll_fn(|cx| stream.as_mut().poll_next(cx)).await
}

async fn pause(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn comments_do_not_extend_the_first_token_timeout() {
    let (sender, mut stream) = answer();
    let pings = async {
        while sender.send(": ping\n\n".into()).is_ok() {
            pause(9).await;
        }
    };
    let begun = Instant::now();
    tokio::select! {
        () = pings => panic!("the stream was dropped"),
        result = stream.begin() => {
            let error = result.expect_err("there is no token");
            assert_eq!(error.kind, ModelErrorKind::TimedOut);
            assert_eq!(error.message, "`scripted` sent no token within 100s");
        }
    }
    assert_eq!(begun.elapsed().as_secs(), 100);
}

#[tokio::test(start_paused = true)]
async fn comments_extend_the_timeout_after_the_first_token() {
    let (sender, mut stream) = answer();
    sender.send(text("a")).expect("the stream listens");
    stream.begin().await.expect("a token came");
    assert_eq!(next(&mut stream).await, Some(Ok(ModelDelta::Text("a".to_owned()))));
    let talk = async {
        for _ in 0..3 {
            pause(9).await;
            sender.send(": ping\n\n".into()).expect("the stream listens");
        }
        pause(9).await;
        sender.send(text("b")).expect("the stream listens");
    };
    let (piece, ()) = tokio::join!(next(&mut stream), talk);
    assert_eq!(piece, Some(Ok(ModelDelta::Text("b".to_owned()))));
    let silent = Instant::now();
    let error = next(&mut stream).await.expect("an error").expect_err("silence is one");
    assert_eq!(error.message, "`scripted` sent nothing for 10s");
    assert_eq!(silent.elapsed().as_secs(), 10);
    assert_eq!(next(&mut stream).await, None);
}

#[tokio::test(start_paused = true)]
async fn deltas_before_an_error_are_returned_first() {
    let (sender, mut stream) = answer();
    let mut packet = text("a").to_vec();
    packet.extend_from_slice(b"data: {\"error\":{\"message\":\"broken\"}}\n\n");
    sender.send(packet.into()).expect("the stream listens");
    stream.begin().await.expect("a token came with the error");
    assert_eq!(next(&mut stream).await, Some(Ok(ModelDelta::Text("a".to_owned()))));
    let error = next(&mut stream).await.expect("an error").expect_err("it broke");
    assert_eq!(error.message, "the provider aborted its answer: broken");
    assert_eq!(next(&mut stream).await, None);
}

#[tokio::test(start_paused = true)]
async fn data_after_the_end_is_ignored() {
    let (sender, mut stream) = answer();
    let mut packet = text("a").to_vec();
    packet.extend_from_slice(b"data: [DONE]\n\n");
    packet.extend_from_slice(&text("b"));
    sender.send(packet.into()).expect("the stream listens");
    assert_eq!(next(&mut stream).await, Some(Ok(ModelDelta::Text("a".to_owned()))));
    assert!(matches!(next(&mut stream).await, Some(Ok(ModelDelta::End(_)))));
    assert_eq!(next(&mut stream).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_key_in_the_answer_is_redacted() {
    const KEY: &str = "sk-verysecret12345";
    /// The text of an answer that is sent in these pieces and then ends, with or without an error.
    async fn shown(pieces: &[&str], end: &'static str) -> String {
        let source = KeySource::Variable { name: "THE_KEY".to_owned(), is_needed: true };
        let variables = [("THE_KEY".to_owned(), KEY.to_owned())];
        let key = Key::read(&source, "scripted", &variables).expect("the key is there");
        let (sender, mut stream) = answer_with(key);
        for piece in pieces {
            sender.send(text(piece)).expect("sent");
        }
        sender.send(end.into()).expect("sent");
        drop(sender);
        let mut shown = String::new();
        while let Some(piece) = next(&mut stream).await {
            match piece {
                Ok(ModelDelta::Text(text)) => shown.push_str(&text),
                Ok(ModelDelta::End(_)) => shown.push_str(" END"),
                Ok(other) => panic!("nothing else was sent: {other:?}"),
                Err(_) => shown.push_str(" ERROR"),
            }
        }
        shown
    }
    const DONE: &str =
        "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let cut: Vec<&str> = KEY.split("").filter(|piece| !piece.is_empty()).collect();
    for (pieces, end, expected) in [
        (vec!["it is ", KEY, "!"], DONE, "it is [redacted: THE_KEY]! END"),
        (cut, DONE, "[redacted: THE_KEY] END"),
        // Text that only looked like the key is returned, before the end and before an error.
        (vec!["sk-very", "known é"], DONE, "sk-veryknown é END"),
        (vec!["sk-verys"], DONE, "sk-verys END"),
        (vec!["sk-verys"], "data: no JSON\n\n", "sk-verys ERROR"),
    ] {
        assert_eq!(shown(&pieces, end).await, expected, "{pieces:?}");
    }
}
