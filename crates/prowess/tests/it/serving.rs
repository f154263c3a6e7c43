//! `prowess serve`: the real program, its first start, and what is left when it is killed.

#![cfg(target_os = "linux")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use prowess_testkit::{Answer, Reply, Scene, Script, ScriptedProvider};
use serde_json::{Value, json};

use crate::scene;

const PASSWORD: &str = "a long password";

/// A studio of its own process. Dropping it kills it.
struct Serving {
    child: Child,
    address: String,
    lines: BufReader<ChildStdout>,
}

impl Serving {
    fn start(scene: &Scene) -> Self {
        Self::start_in(scene, "data", &[])
    }

    fn start_in(scene: &Scene, data: &str, more: &[&str]) -> Self {
        let arguments = ["serve", "--data", data, "--listen", "127.0.0.1:0"];
        let mut child = scene
            .command(&[&arguments, more].concat())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        lines.read_line(&mut line).expect("a line");
        let address = line.trim().strip_prefix("listening on http://").map(str::to_owned);
        let address = address.unwrap_or_else(|| panic!("{line:?}"));
        Self { child, address, lines }
    }

    fn send(&self, method: &str, path: &str, token: &str, body: &Value) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        let body = body.to_string();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("it is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let status = answer.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status");
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (status, body.to_owned())
    }

    fn upload(&self, base: &str, name: &str, token: &str, text: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        let body = format!(
            "--l\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n{text}\r\n--l--\r\n"
        );
        let head = format!(
            "POST /api/v1/knowledge/{base}/upload HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\
             authorization: Bearer {token}\r\ncontent-type: multipart/form-data; boundary=l\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).expect("it is sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    fn json(&self, method: &str, path: &str, token: &str, body: &Value) -> Value {
        let (status, text) = self.send(method, path, token, body);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {status} {text}"))
    }

    fn log_in(&self) -> String {
        let body = json!({ "username": "ada", "password": PASSWORD });
        // A request without a valid token would be refused if the route needed one.
        let tokens = self.json("POST", "/api/v1/auth/login", "none", &body);
        tokens["access_token"].as_str().unwrap_or_else(|| panic!("{tokens}")).to_owned()
    }

    fn kill(mut self) {
        self.child.kill().expect("SIGKILL");
        self.child.wait().expect("it has ended");
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder with settings for a scripted model, and the user `ada`.
fn studio(provider: &ScriptedProvider) -> Scene {
    let config = format!(
        "model = \"test/small\"\n[providers.test]\nkind = \"openai\"\nbase_url = \"{}/v1\"\n",
        provider.url()
    );
    let scene = scene().home("home").file("home/.config/prowess/config.toml", config);
    let added = scene.run_with(
        &["serve", "user", "add", "ada", "--admin", "--data", "data", "--password-stdin"],
        PASSWORD,
    );
    assert!(added.contains("added `ada` (admin)"), "{added}");
    scene
}

#[test]
fn the_first_start_prints_a_link_that_works_once() {
    let scene = scene().home("home");
    let mut serving = Serving::start(&scene);
    let mut line = String::new();
    serving.lines.read_line(&mut line).expect("a line");
    let token = line.split_once("/setup#").and_then(|(_, rest)| rest.split(' ').next());
    let token = token.unwrap_or_else(|| panic!("{line}"));
    let body = json!({ "token": token, "username": "ada", "password": PASSWORD });
    let set_up = || serving.send("POST", "/api/v1/auth/setup", "none", &body).0;
    assert_eq!(set_up(), 201);
    assert_ne!(set_up(), 201);
    let me = serving.json("GET", "/api/v1/auth/me", &serving.log_in(), &json!({}));
    assert_eq!((&me["username"], &me["role"]), (&json!("ada"), &json!("admin")));
    // SIGTERM ends it without an error.
    let id = i32::try_from(serving.child.id()).expect("a process");
    let id = rustix::process::Pid::from_raw(id).expect("a process");
    rustix::process::kill_process(id, rustix::process::Signal::TERM).expect("a signal");
    assert!(serving.child.wait().expect("it ends").success());
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    let provider = ScriptedProvider::start(Script::by(|request| {
        let text = request.json().to_string();
        if text.contains("Second") {
            Reply::answer(Answer::text(["half"]).gate("never"))
        } else {
            Reply::answer(Answer::text(["first done"]))
        }
    }));
    let scene = studio(&provider);
    let serving = Serving::start(&scene);
    let token = serving.log_in();
    let content = "---\ndescription: x\n---\nHello\n";
    let create = json!({ "name": "kept", "content": content });
    assert_eq!(serving.send("POST", "/api/v1/skills", &token, &create).0, 201);
    let (_, events) =
        serving.send("POST", "/api/v1/skills/kept/run", &token, &json!({ "inputs": {} }));
    assert!(events.contains("first done"), "{events}");
    let base = json!({ "name": "facts" });
    assert_eq!(serving.send("POST", "/api/v1/knowledge", &token, &base).0, 201);
    let uploaded = serving.upload("facts", "kept.md", &token, "The keeper is Belmiro Quint.");
    assert!(uploaded.contains("\"added\""), "{uploaded}");
    let node = |id: &str, kind: &str, data: Value| json!({ "id": id, "type": kind, "data": data });
    let edge = |source: &str, target: &str| json!({ "source": source, "target": target });
    let graph = json!({
        "nodes": [
            node("start", "start", json!({ "inputVariable": "x" })),
            node("one", "llm", json!({ "systemPrompt": "First" })),
            node("two", "llm", json!({ "systemPrompt": "Second" })),
            node("end", "end", json!({})),
        ],
        "edges": [edge("start", "one"), edge("one", "two"), edge("two", "end")],
    });
    let workflow = json!({ "name": "W", "graph_data": graph });
    let workflow = serving.json("POST", "/api/v1/workflows", &token, &workflow);
    let id = workflow["id"].as_str().expect("an id");
    // Its answer is never read: it goes on by itself.
    let body = json!({ "input": "x" }).to_string();
    let mut stream = TcpStream::connect(&serving.address).expect("it listens");
    let head = format!(
        "POST /api/v1/workflows/{id}/execute HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("it is sent");
    // The second node asks the model, so the first one was recorded: runs are 0, 1 and 2.
    provider.request(2);
    serving.kill();

    let serving = Serving::start(&scene);
    let token = serving.log_in();
    assert_eq!(serving.json("GET", "/api/v1/skills/kept", &token, &json!({}))["prompt"], "Hello\n");
    let runs = serving.json("GET", "/api/v1/runs", &token, &json!({}));
    let statuses: Vec<&str> = runs["runs"]
        .as_array()
        .expect("runs")
        .iter()
        .filter_map(|run| run["status"].as_str())
        .collect();
    assert_eq!(statuses, ["interrupted", "success"]);
    let path = "/api/v1/knowledge/facts/search?query=keeper";
    let found = serving.json("GET", path, &token, &json!({}));
    assert_eq!(found["results"][0]["doc_id"], "kept.md", "{found}");
    let path = "/api/v1/knowledge/facts/documents/kept.md/file";
    let (_, file) = serving.send("GET", path, &token, &json!({}));
    assert!(file.contains("Belmiro Quint"), "{file}");
    let path = format!("/api/v1/workflows/{id}/executions");
    let executions = serving.json("GET", &path, &token, &json!({}));
    let execution = &executions["executions"][0];
    assert_eq!(
        (&execution["status"], &execution["can_resume"]),
        (&json!("interrupted"), &json!(true))
    );
    provider.open("never");
    let path = format!("/api/v1/executions/{}/resume", execution["id"].as_str().expect("an id"));
    let (status, events) = serving.send("POST", &path, &token, &json!({}));
    assert_eq!(status, 200, "{events}");
    assert!(events.contains("workflow_complete"), "{events}");
    // The first node was not run again: its request and the skill's are the only ones with its text.
    assert_eq!(provider.requests().len(), 4);
}

#[test]
fn a_backup_is_restored_elsewhere() {
    let provider = ScriptedProvider::start(Answer::text(["never"]));
    let scene = studio(&provider);
    let serving = Serving::start(&scene);
    let token = serving.log_in();
    let create = json!({ "name": "kept", "content": "---\ndescription: x\n---\nHello\n" });
    assert_eq!(serving.send("POST", "/api/v1/skills", &token, &create).0, 201);
    // While the server runs.
    let written = scene.run("serve backup copy --data data");
    assert!(written.contains("to `copy`"), "{written}");
    assert!(scene.run("serve backup copy --data data").contains("`copy` exists already"));
    serving.kill();
    std::fs::rename(scene.path().join("data"), scene.path().join("lost")).expect("it is moved");
    let restored = scene.run("serve restore copy --data data");
    assert!(restored.contains("from `copy`"), "{restored}");
    let serving = Serving::start(&scene);
    let token = serving.log_in();
    assert_eq!(serving.json("GET", "/api/v1/skills/kept", &token, &json!({}))["prompt"], "Hello\n");
}

#[test]
fn another_server_continues_what_a_killed_one_was_running() {
    let Some(postgres) = prowess_testkit::postgres::PrivatePostgres::start() else { return };
    let provider = ScriptedProvider::start(Script::by(|_| {
        Reply::answer(Answer::text(["half"]).gate("go").then(" whole"))
    }));
    let config = format!(
        "model = \"test/small\"\n[providers.test]\nkind = \"openai\"\nbase_url = \"{}/v1\"\n",
        provider.url()
    );
    let scene = scene().home("home").file("home/.config/prowess/config.toml", config);
    let url = postgres.url();
    let shared = ["--database", url.as_str()];
    let add = ["serve", "user", "add", "ada", "--admin", "--data", "one", "--password-stdin"];
    scene.run_with(&[&add[..], &shared].concat(), PASSWORD);
    let (one, two) =
        (Serving::start_in(&scene, "one", &shared), Serving::start_in(&scene, "two", &shared));
    let token = one.log_in();
    let create = json!({ "name": "kept", "content": "---\ndescription: x\n---\nHello\n" });
    assert_eq!(one.send("POST", "/api/v1/skills", &token, &create).0, 201);
    // The file is where the specification says, on the server that wrote it.
    assert!(scene.path().join("one/skills/kept/SKILL.md").is_file());
    let body = json!({ "inputs": {}, "on_disconnect": "continue" }).to_string();
    let mut stream = TcpStream::connect(&one.address).expect("it listens");
    let head = format!(
        "POST /api/v1/skills/kept/run HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("it is sent");
    let mut told = BufReader::new(stream);
    let mut id = String::new();
    loop {
        let mut line = String::new();
        assert!(told.read_line(&mut line).expect("a line") > 0, "it ends too early");
        if let Some(value) = line.strip_prefix("x-run-id: ") {
            value.trim().clone_into(&mut id);
        }
        if line.contains("half") {
            break;
        }
    }
    // Its record is written while it already works.
    let path = format!("/api/v1/runs/{id}");
    while two.send("GET", &path, &token, &json!({})).0 != 200 {
        std::thread::yield_now();
    }
    one.kill();
    // The second request to the model is the other server's.
    provider.request(1);
    provider.open("go");
    let (status, events) =
        two.send("GET", &format!("/api/v1/runs/{id}/events"), &token, &json!({}));
    assert_eq!(status, 200, "{events}");
    assert!(events.contains("event: restart") && events.contains(" whole"), "{events}");
    assert!(events.contains("\"status\":\"success\""), "{events}");
    let run = two.json("GET", &format!("/api/v1/runs/{id}"), &token, &json!({}));
    assert_eq!((&run["status"], &run["output"]), (&json!("success"), &json!("half whole")));
}
