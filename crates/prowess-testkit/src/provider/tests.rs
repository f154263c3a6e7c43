use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::json;

use super::{Answer, Ending, Reply, Script, ScriptedProvider};

fn ask(provider: &ScriptedProvider, path: &str, body: &str) -> TcpStream {
    let address = provider.url().trim_start_matches("http://");
    let mut connection = TcpStream::connect(address).expect("the provider listens");
    let length = body.len();
    write!(connection, "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n{body}")
        .expect("the request is taken");
    connection
}

/// The data of the reply's events, or its whole text if there are none.
fn said(mut connection: TcpStream) -> String {
    let mut text = String::new();
    connection.read_to_string(&mut text).expect("the reply is UTF-8");
    let (head, body) = text.split_once("\r\n\r\n").expect("a reply has a head");
    let status = head.split(' ').nth(1).expect("a reply has a status");
    // Chunk sizes are on lines of their own.
    let lines =
        body.lines().filter(|line| !line.is_empty() && u32::from_str_radix(line, 16).is_err());
    format!("{status}\n{}", lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn the_same_answer_is_written_in_both_dialects() {
    let answer = Answer::text(["Hel", "lo"]).call("c1", "look", ["{\"a\"", ":1}"]).usage(7, 3);
    let script = Script::by(move |_| Reply::answer(answer.clone()));
    let provider = ScriptedProvider::start(script);
    let asked = json!({ "stream_options": { "include_usage": true } }).to_string();
    insta::assert_snapshot!(said(ask(&provider, "/v1/chat/completions", &asked)));
    insta::assert_snapshot!(said(ask(&provider, "/v1/messages", "{}")));
    assert_eq!(provider.ending(1), Ending::Sent);
    assert_eq!(provider.request(0).json()["stream_options"]["include_usage"], true);
}

#[test]
fn usage_is_for_those_who_ask() {
    let provider = ScriptedProvider::start(Answer::text(["a"]).usage(7, 3));
    assert!(!said(ask(&provider, "/v1/chat/completions", "{}")).contains("usage"));
}

#[test]
fn pages_come_before_replies_and_replies_end() {
    let script = Script::new([Reply::json(429, &json!({})).header("retry-after", "1")])
        .page("/v1/models", Reply::json(200, &json!({ "data": [] })));
    let provider = ScriptedProvider::start(script);
    assert_eq!(said(ask(&provider, "/v1/models?all=1", "")), "200\n{\"data\":[]}");
    assert!(said(ask(&provider, "/v1/chat/completions", "")).starts_with("429"));
    assert!(said(ask(&provider, "/v1/chat/completions", "")).starts_with("404"));
}

#[test]
fn an_answer_waits_at_a_gate_and_tells_when_the_client_leaves() {
    let provider = ScriptedProvider::start(vec![
        Answer::text(["before"]).gate("middle").then("after"),
        Answer::text(["before"]).then_stall(),
    ]);
    let mut open = ask(&provider, "/v1/chat/completions", "{}");
    let mut seen = String::new();
    while !seen.contains("before") {
        let mut byte = [0];
        open.read_exact(&mut byte).expect("the first part comes before the gate");
        seen.push(char::from(byte[0]));
    }
    provider.open("middle");
    let mut rest = String::new();
    open.read_to_string(&mut rest).expect("the rest comes");
    assert!(rest.contains("after"), "{rest}");
    assert_eq!(provider.ending(0), Ending::Sent);
    drop(ask(&provider, "/v1/chat/completions", "{}"));
    assert_eq!(provider.ending(1), Ending::ClientLeft);
}

#[test]
fn pieces_are_as_small_as_wanted() {
    let reply = Reply::bytes(200, "text/plain", "grün").split_every(1);
    let provider = ScriptedProvider::start(reply);
    let mut text = Vec::new();
    ask(&provider, "/", "").read_to_end(&mut text).expect("the reply comes");
    let chunks = text.windows(3).filter(|three| three == b"1\r\n").count();
    assert_eq!(chunks, "grün".len());
}

#[test]
fn lines_may_end_with_carriage_returns() {
    let provider = ScriptedProvider::start(Reply::answer(Answer::text(["a"])).crlf());
    let mut text = String::new();
    ask(&provider, "/v1/messages", "{}").read_to_string(&mut text).expect("the reply comes");
    assert!(text.contains("event: message_start\r\ndata: "), "{text}");
}
