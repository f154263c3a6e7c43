//! Over HTTP: who gets in, and that clients do not see each other.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use prowess_testkit::Scene;
use serde_json::{Value, json};

use super::{is_running, project, wait_until};

const TOKEN: &str = "a-token-of-this-test";

/// A server at a free port, which ends with the test.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(scene: &Scene) -> Self {
        let mut process = scene
            .command(&["mcp", "skills", "--http", "localhost:0"])
            .env("PROWESS_MCP_TOKEN", TOKEN)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        let errors = process.stderr.take().expect("a pipe");
        BufReader::new(errors).read_line(&mut line).expect("a line");
        let (_, rest) = line.split_once("http://").expect("the address");
        let address = rest.split('/').next().unwrap_or_default().to_owned();
        Self { process, address }
    }

    /// Sends a request with some headers, and gives the whole answer.
    fn post(&self, headers: &[(&str, &str)], body: &str) -> String {
        let mut answer = Vec::new();
        let _ = self.begin(headers, body).read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Sends a request with some headers, and gives the connection.
    fn begin(&self, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a time");
        let mut head = format!("POST /mcp HTTP/1.1\r\nContent-Length: {}\r\n", body.len());
        let usual = [
            ("Host", self.address.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("Connection", "close"),
        ];
        let is_given = |name: &str| headers.iter().any(|(given, _)| *given == name);
        let all = usual.iter().filter(|(name, _)| !is_given(name)).chain(headers);
        for (name, value) in all {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).expect("sent");
        // A server that refuses a body may stop to read it.
        let _ = stream.write_all(body.as_bytes());
        stream
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn hello() -> String {
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }).to_string()
}

fn session_of(answer: &str) -> String {
    let line = answer.lines().find(|line| line.to_ascii_lowercase().starts_with("mcp-session-id:"));
    line.and_then(|line| line.split_once(':')).expect("a session").1.trim().to_owned()
}

/// The last message in an answer.
fn message(answer: &str) -> Value {
    let data = answer.lines().filter_map(|line| line.strip_prefix("data: "));
    data.filter_map(|data| serde_json::from_str(data).ok()).next_back().unwrap_or_default()
}

#[test]
fn only_who_has_the_token_and_comes_from_here_gets_in() {
    let scene = project();
    let server = Server::start(&scene);
    let bearer = format!("Bearer {TOKEN}");
    let token = ("Authorization", bearer.as_str());
    for (headers, status) in [
        (vec![], "401"),
        (vec![("Authorization", "Bearer a-token-of-another")], "401"),
        (vec![("Authorization", TOKEN)], "401"),
        (vec![token, ("Host", "evil.example")], "403"),
        (vec![token, ("Origin", "http://evil.example")], "403"),
        (vec![token, ("Origin", "null")], "403"),
        (vec![token], "200"),
        (vec![token, ("Origin", "http://localhost:3000")], "200"),
    ] {
        let answer = server.post(&headers, &hello());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{headers:?}: {answer}");
    }
    let large = "x".repeat(17 << 20);
    assert!(server.post(&[token], &large).starts_with("HTTP/1.1 413"));
    assert!(server.post(&[token], &hello()).starts_with("HTTP/1.1 200"));
}

#[test]
fn malformed_requests_get_errors_of_the_protocol() {
    let scene = project();
    let server = Server::start(&scene);
    let bearer = format!("Bearer {TOKEN}");
    let token = ("Authorization", bearer.as_str());
    let session = session_of(&server.post(&[token], &hello()));
    let headers = [token, ("Mcp-Session-Id", session.as_str())];
    for (body, code) in
        [("{", -32700), ("", -32700), ("[]", -32600), ("7", -32600), (r#"{"id":1}"#, -32600)]
    {
        let answer = server.post(&headers, body);
        assert!(answer.starts_with("HTTP/1.1 400"), "{body}: {answer}");
        let (_, error) = answer.split_once("\r\n\r\n").expect("a body");
        let error: Value = serde_json::from_str(error).expect("JSON");
        assert_eq!((&error["error"]["code"], error.get("id")), (&json!(code), None), "{body}");
    }
    // A request that has an id gets an answer with that id, as on standard input.
    let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
    let call = r#""jsonrpc":"2.0","id":9,"method":"tools/call","params""#;
    let large = json!({ "name": "say__say", "arguments": { "text": "x".repeat(10 << 20) } });
    for (params, code) in [("7", -32602), (deep.as_str(), -32602)] {
        let answer = message(&server.post(&headers, &format!("{{{call}:{params}}}")));
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(9), &json!(code)));
    }
    let answer = message(&server.post(&headers, &format!("{{{call}:{large}}}")));
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(9), &json!(true)));
    // So does one without a session, whose headers repeat the method.
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let headers = [
        token,
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "say__say"),
    ];
    let params = format!(r#"{{"_meta":{meta},"name":"say__say","arguments":{{"text":{deep}}}}}"#);
    let answer = server.post(&headers, &format!("{{{call}:{params}}}"));
    assert!(answer.contains("are nested too deeply"), "{answer}");
    let other = server.post(&[token, ("Content-Type", "text/plain")], &hello());
    assert!(other.starts_with("HTTP/1.1 415"), "{other}");
}

#[test]
fn clients_have_sessions_of_their_own() {
    let scene = project();
    let server = Server::start(&scene);
    let bearer = format!("Bearer {TOKEN}");
    let token = ("Authorization", bearer.as_str());
    let (one, other) = (
        session_of(&server.post(&[token], &hello())),
        session_of(&server.post(&[token], &hello())),
    );
    assert_ne!(one, other);
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }).to_string();
    for session in [&one, &other] {
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let headers = [token, ("Mcp-Session-Id", session.as_str())];
        server.post(&headers, &ready.to_string());
        let answer = server.post(&headers, &list);
        assert_eq!(message(&answer)["result"]["tools"].as_array().unwrap().len(), 3, "{answer}");
    }
    let unknown = server.post(&[token, ("Mcp-Session-Id", "guessed")], &list);
    assert!(unknown.starts_with("HTTP/1.1 404"), "{unknown}");
}

#[test]
fn an_address_for_others_has_to_be_asked_for() {
    let scene = project();
    insta::assert_snapshot!(scene.run("mcp skills --http 0.0.0.0:0"), @r"
    exit 4
    --- stderr
    error: `0.0.0.0:0` can be reached from other machines
    hint: use `127.0.0.1`, or add `--expose` if that is what you want
    ");
    let wrong = scene.run("mcp skills --http example.com:80");
    assert!(wrong.starts_with("exit 2") && wrong.contains("such as `127.0.0.1:8765`"), "{wrong}");
    let scene = project().variable("PROWESS_MCP_TOKEN", "short");
    insta::assert_snapshot!(scene.run("mcp skills --http 127.0.0.1:0 --expose"), @r"
    exit 2
    --- stderr
    error: `PROWESS_MCP_TOKEN` is shorter than 16 characters
    hint: leave it unset to get a new token at each start
    ");
}

#[test]
fn a_client_without_a_session_that_goes_away_ends_its_tool() {
    let scene = project().file(
        "repo/skills/doze/SKILL.md",
        "---\nname: doze\nversion: 1.0.0\ndescription: For tests\npermissions: [\"shell:execute:sleep\"]\n---\n\n### doze\n\nDoes it.\n\n#### Command\n\n```bash\nsleep 3623\n```\n",
    );
    let server = Server::start(&scene);
    let bearer = format!("Bearer {TOKEN}");
    let headers = [
        ("Authorization", bearer.as_str()),
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", "doze__doze"),
    ];
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
    });
    let mut params = json!({ "_meta": meta, "name": "doze__doze", "arguments": {} });
    let call = |params: &Value| {
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
    };
    let asked = message(&server.post(&headers, &call(&params)));
    params["requestState"] = asked["result"]["requestState"].clone();
    params["inputResponses"] =
        json!({ "approval": { "action": "accept", "content": { "answer": "once" } } });
    // Another connection answers: requests without a session share nothing but the server.
    let connection = server.begin(&headers, &call(&params));
    wait_until("it runs", || is_running("3623"));
    drop(connection);
    wait_until("it has ended", || !is_running("3623"));
}
