//! A client that says exactly what a test wants, over the standard streams of the server.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use prowess_testkit::Scene;
use serde_json::{Value, json};

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// One server with one client.
pub(crate) struct Session {
    server: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// Messages that answered no request, in order.
    pub(crate) others: Vec<Value>,
    /// How questions are answered: the result of `elicitation/create`.
    pub(crate) answer: Value,
    number: u64,
}

impl Session {
    /// Starts a server without saying anything.
    pub(crate) fn start(scene: &Scene, arguments: &[&str]) -> Self {
        let all: Vec<&str> = ["mcp"].iter().chain(arguments).copied().collect();
        let mut server = scene
            .command(&all)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let output = BufReader::new(server.stdout.take().expect("a pipe"));
        let (sender, messages) = mpsc::channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).expect("only messages are on stdout");
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let input = server.stdin.take();
        let answer = json!({ "action": "decline" });
        Self { server, input, messages, others: Vec::new(), answer, number: 0 }
    }

    /// Starts a server and greets it as clients before 2026-07-28 do.
    pub(crate) fn greeted(scene: &Scene, arguments: &[&str], capabilities: &Value) -> Self {
        let mut session = Self::start(scene, arguments);
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": { "name": "test", "version": "1" },
        });
        let answer = session.request("initialize", &hello);
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
        session.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        session
    }

    /// Sends a line, whatever it is.
    pub(crate) fn line(&mut self, line: &str) {
        let input = self.input.as_mut().expect("open");
        input.write_all(line.as_bytes()).and_then(|()| input.write_all(b"\n")).expect("sent");
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.line(&message.to_string());
    }

    /// Sends a request and does not wait; gives its number.
    pub(crate) fn begin(&mut self, method: &str, params: &Value) -> u64 {
        self.number += 1;
        let number = self.number;
        self.send(&json!({ "jsonrpc": "2.0", "id": number, "method": method, "params": params }));
        number
    }

    /// Sends a request and waits for its answer. Questions in between are answered.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> Value {
        let number = self.begin(method, params);
        self.wait(|message| message["id"] == number && message.get("method").is_none())
    }

    /// Calls a tool and gives its text and whether it is an error.
    pub(crate) fn call(&mut self, tool: &str, values: &Value) -> (String, bool) {
        let params = json!({ "name": tool, "arguments": values });
        let answer = self.request("tools/call", &params);
        let text = answer["result"]["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("a result: {answer}")).to_owned();
        (text, answer["result"]["isError"] == true)
    }

    /// Waits for a message. Others are kept.
    pub(crate) fn wait(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let message = self.messages.recv_timeout(left).unwrap_or_else(|error| {
                panic!("{error}; before it came {:?}", self.others);
            });
            if message["method"] == "elicitation/create" {
                let answer =
                    json!({ "jsonrpc": "2.0", "id": message["id"], "result": self.answer });
                self.send(&answer);
            }
            if is_wanted(&message) {
                return message;
            }
            self.others.push(message);
        }
    }

    /// The names of the tools, sorted.
    pub(crate) fn tools(&mut self) -> Vec<String> {
        let answer = self.request("tools/list", &json!({}));
        let tools = answer["result"]["tools"].as_array().expect("a list");
        tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned()).collect()
    }

    /// Goes away, and gives how the server ended and what it said on standard error.
    pub(crate) fn leave(mut self) -> (ExitStatus, String) {
        drop(self.input.take());
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.server.try_wait().expect("a child") {
                break status;
            }
            assert!(Instant::now() < until, "the server does not end");
            std::thread::sleep(Duration::from_millis(10));
        };
        let mut said = String::new();
        let errors = self.server.stderr.take().expect("a pipe");
        errors.take(1 << 20).read_to_string(&mut said).expect("text");
        (status, said)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
