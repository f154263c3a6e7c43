//! What each kind of node does.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use insta::assert_snapshot;
use prowess_core::Message;
use prowess_engine::{ApprovalReply, ApprovalRequest, Approver, Consent};
use prowess_policy::Remember;
use serde_json::{Value, json};

use super::scene::{Parrot, Say, Scene, graph, said};

const SUMMARY: &str = "inputs:\n  - name: style\n    default: short\n  - name: article\n    required: true\nmodel:\n  temperature: 0.3\n  max_tokens: 1000\n";

/// A node between a start and an end.
fn lone(kind: &str, data: &Value) -> Value {
    graph(&format!("start:start x:{kind} end:end"), "start>x x>end", &json!({ "x": data }))
}

#[test]
fn mappings_are_nodes_templates_or_the_value_itself() {
    let scene = Scene::new().prompt("article-summary", SUMMARY, "In a {{style}} tone: {{article}}");
    let check = |mappings: Value, expected: &str| {
        let data = json!({ "skillName": "article-summary", "inputMappings": mappings });
        let model = Parrot::echo();
        scene.run(&lone("skill", &data), &json!({ "input": "Käse" }), &model);
        assert_eq!(said(&model.asked()[0]), expected, "{mappings}");
    };
    // AFL-7.3-1
    check(json!({ "article": "start" }), "In a short tone: Käse");
    check(json!({ "article": "start", "style": "concise" }), "In a concise tone: Käse");
    check(
        json!({ "article": "{{start.output}}!", "style": "start.output" }),
        "In a Käse tone: Käse!",
    );
    check(json!({ "article": "[{{input}}]", "style": 7 }), "In a 7 tone: [Käse]");
    // What is inserted is not looked at again.
    check(json!({ "article": "{ {start} }", "style": "{{}}" }), "In a {{}} tone: { {start} }");
}

#[test]
fn without_mappings_the_first_required_input_gets_what_comes_in() {
    // AFL-7.3-2
    let scene = Scene::new().prompt("required", SUMMARY, "{{style}}: {{article}}").prompt(
        "optional",
        "inputs:\n  - name: one\n  - name: two\nmodel:\n  temperature: 1\n",
        "{{one}}/{{two}}",
    );
    for (skill, expected) in [("required", "short: x"), ("optional", "x/")] {
        let model = Parrot::echo();
        let flow = lone("skill", &json!({ "skillName": skill }));
        scene.run(&flow, &json!({ "input": "x" }), &model);
        assert_eq!(said(&model.asked()[0]), expected);
    }
}

#[test]
fn a_question_with_a_skill_has_its_body_and_settings() {
    // AFL-7.3-3
    let scene = Scene::new().prompt("tone", SUMMARY, "Be {{style}} about {{article}}.").prompt(
        "plain",
        "inputs:\n  - name: topic\n    required: true\nknowledge_base: docs\n",
        "About {{topic}}.",
    );
    let ask = |data: Value| {
        let model = Parrot::echo();
        scene.run(&lone("llm", &data), &json!({ "input": "tea" }), &model);
        let asked = model.asked().remove(0);
        (
            asked.system.clone().unwrap_or_default(),
            asked.temperature,
            asked.max_tokens,
            said(&asked).to_owned(),
        )
    };
    let told = ask(json!({ "skillName": "tone", "systemPrompt": "not this", "temperature": 1.5 }));
    assert_eq!(told, ("Be short about tea.".to_owned(), Some(0.3), Some(1000), "tea".to_owned()));
    let mapped = ask(
        json!({ "skillName": "tone", "inputMappings": { "article": "start", "style": "brief" } }),
    );
    assert_eq!(mapped.0, "Be brief about tea.");
    // Without a temperature of its own the node's counts; the knowledge base is asked too.
    let plain = ask(json!({ "skillName": "plain", "temperature": 1.5 }));
    assert_eq!(plain.0, "About tea.\n\nContext:\n[1] Tea is green.\n\n[2] About: tea");
    assert_eq!((plain.1, plain.2), (Some(1.5), Some(2000)));
    let none = ask(json!({}));
    assert_eq!(
        (none.0.as_str(), none.1, none.2),
        ("You are a helpful assistant.", Some(0.7), None)
    );
}

#[test]
fn a_question_may_go_on_with_a_conversation() {
    let mut scene = Scene::new();
    scene.history = vec![Message::User("earlier".to_owned())];
    for (inherits, expected) in [(true, 2), (false, 1)] {
        let model = Parrot::echo();
        let flow = lone("llm", &json!({ "inheritChatHistory": inherits }));
        scene.run(&flow, &json!({ "input": "now" }), &model);
        assert_eq!(model.asked()[0].messages.len(), expected);
    }
}

#[test]
fn a_model_of_the_node_is_asked_or_said_to_be_missing() {
    let flow = lone("llm", &json!({ "model": "none/none" }));
    let told = Scene::new().run(&flow, &json!({ "input": "x" }), &Parrot::echo());
    assert_eq!(told.error(), "the node `x` failed: there is no such model");
    assert_eq!(told.ended.exit_code, 125);
}

#[test]
fn tokens_and_thoughts_of_a_skill_carry_the_node() {
    let scene = Scene::new().prompt("article-summary", SUMMARY, "{{article}}");
    let flow = lone("skill", &json!({ "skillName": "article-summary" }));
    let told =
        scene.run(&flow, &json!({ "input": "x" }), &Parrot::new(|_| Say::Text("Hi".to_owned())));
    assert_snapshot!(told.lines.join("\n").replace(&told.run, "RUN"));
}

#[test]
fn knowledge_is_numbered_and_cited() {
    let scene = Scene::new();
    let told = scene.run(
        &lone("knowledge", &json!({ "knowledgeBaseId": "docs" })),
        &json!({ "input": "x" }),
        &Parrot::echo(),
    );
    assert_eq!(told.output(), "[1] Tea is green.\n\n[2] About: x");
    let inside: Vec<&String> = told
        .lines
        .iter()
        .filter(|line| line.starts_with("thought") || line.starts_with("citation"))
        .collect();
    assert_snapshot!(inside.iter().map(|line| line.as_str()).collect::<Vec<_>>().join("\n"));
    let flow = lone("knowledge", &json!({ "knowledgeBaseId": "other" }));
    let told = scene.run(&flow, &json!({ "input": "x" }), &Parrot::echo());
    assert_eq!(
        told.error(),
        "the node `x` failed: the knowledge base `other` was not searched: there is no such base"
    );
    assert_eq!(told.ended.remedies[0].to_string(), "make one");
}

const TOOLS: &str = "---\nname: counter\nversion: 1.0.0\ndescription: Counts\npermissions:\n  - shell:execute:wc\n  - shell:execute:echo\n---\n\n### say\n\nSays it.\n\n#### Parameters\n\n| Name | Type | Required | Description |\n|---|---|---|---|\n| text | string | yes | Some text |\n\n#### Command\n\n```bash\necho {{text}}\n```\n\n### fail\n\nFails.\n\n#### Command\n\n```bash\nwc /nowhere\n```\n";

#[derive(Default)]
struct Yes {
    commands: Vec<Vec<String>>,
}

impl Approver for Yes {
    fn ask(&mut self, asked: &ApprovalRequest) -> ApprovalReply {
        self.commands.push(asked.command.clone());
        ApprovalReply::Yes(Remember::Once)
    }
}

#[test]
fn a_tool_runs_as_a_node_once_it_is_approved() {
    let scene = Scene::new().skill("counter", TOOLS);
    let flow = lone(
        "skill",
        &json!({ "skillName": "counter/say", "inputMappings": { "text": "{{start.output}} $(id)" } }),
    );
    let inputs = json!({ "input": "a; b" });
    let refused = scene.run(&flow, &inputs, &Parrot::echo());
    assert!(
        refused.error().starts_with("the node `x` failed: `counter/say` needs your approval"),
        "{}",
        refused.error()
    );
    assert_eq!(refused.ended.exit_code, 125);
    let mut approver = Yes::default();
    let told = scene.run_asking(&flow, &inputs, &Parrot::echo(), &mut approver);
    assert_eq!(told.output(), "a; b $(id)");
    // The exact command was shown, with the value of the node before.
    assert_eq!(approver.commands, [["echo", "a; b $(id)"]]);
    let mut scene = scene;
    scene.consent = Consent::InAdvance;
    let told = scene.run(&flow, &inputs, &Parrot::echo());
    assert_eq!(told.output(), "a; b $(id)");
    // The events of the tool carry the node.
    assert!(
        told.lines
            .iter()
            .any(|line| line.starts_with("started {\"node_id\":\"x\",\"skill\":\"counter\"")),
        "{:?}",
        told.lines
    );
    assert!(
        told.lines.iter().any(|line| line.starts_with("output {\"node_id\":\"x\"")),
        "{:?}",
        told.lines
    );
    assert!(!told.lines.iter().any(|line| line.starts_with("done")), "{:?}", told.lines);
    let told = scene.run(
        &lone("skill", &json!({ "skillName": "counter/fail" })),
        &inputs,
        &Parrot::echo(),
    );
    assert!(
        told.error().starts_with("the node `x` failed: Command failed with exit code 1"),
        "{}",
        told.error()
    );
}

/// Asks a model whether somebody is being asked at the same time.
#[test]
fn a_question_waits_until_nothing_else_runs() {
    let scene = Scene::new().skill("counter", TOOLS);
    let flow = graph(
        "start:start tool:skill a:llm end:end",
        "start>tool start>a tool>end a>end",
        &json!({ "tool": { "skillName": "counter/say", "inputMappings": { "text": "x" } } }),
    );
    let mut approver = Yes::default();
    let told = scene.run_asking(&flow, &json!({ "input": "x" }), &Parrot::echo(), &mut approver);
    assert_eq!(approver.commands.len(), 1);
    let at =
        |wanted: &str| told.lines.iter().position(|line| line.starts_with(wanted)).expect(wanted);
    assert!(at("node_complete {\"node_id\":\"a\"") < at("node_start {\"node_id\":\"tool\""));
}

#[test]
fn code_computes_an_output_and_reaches_nothing() {
    let scene = Scene::new();
    std::fs::write(scene.root.join("repo/secret"), "secret").expect("it can be written");
    let check = |code: &str| {
        let data = json!({ "code": code, "env": { "WHO": "{{start.output}}", "N": 3 }, "timeoutSeconds": 20, "memoryLimitMb": 128 });
        let told = scene.run(&lone("code", &data), &json!({ "input": "tea" }), &Parrot::echo());
        match told.ended.result {
            Ok(output) => output.to_string(),
            Err(error) => error,
        }
    };
    let secret = scene.root.join("repo/secret");
    let told = [
        check("import sys; print(sys.stdin.read().upper())"),
        check(
            "import os, json; print(json.dumps({'who': os.environ['WHO'], 'n': int(os.environ['N'])}))",
        ),
        check("print('grün')"),
        check(&format!("print(open({:?}).read())", secret.display().to_string())),
        check("import socket; socket.create_connection(('127.0.0.1', 80))"),
        check(
            "import os; print(sorted(name for name in os.environ if name not in ('WHO', 'N', 'LC_CTYPE')))",
        ),
        check("import subprocess; subprocess.run(['/bin/sh', '-c', 'true'])"),
        check("1 / 0"),
        check("raise SystemExit(3)"),
    ];
    assert_snapshot!(told.join("\n").replace(&*scene.root.to_string_lossy(), "ROOT"));
}

#[test]
fn code_has_limits() {
    let scene = Scene::new();
    let check = |code: &str, limits: Value| {
        let mut data = json!({ "code": code });
        for (key, value) in limits.as_object().expect("an object") {
            data[key] = value.clone();
        }
        scene
            .run(&lone("code", &data), &json!({ "input": "x" }), &Parrot::echo())
            .error()
            .to_owned()
    };
    let slow = check("while True: pass", json!({ "timeoutSeconds": 1 }));
    assert_eq!(slow, "the node `x` failed: Command timed out after 1 s");
    let large = check("x = 'x' * (400 << 20)", json!({ "memoryLimitMb": 64 }));
    assert!(large.contains("memory") || large.contains("MemoryError"), "{large}");
    let loud = check("while True: print('x' * 1000)", json!({}));
    assert_eq!(loud, "the node `x` failed: Command exceeded its output limit");
}

/// Answers so many requests and gives what it was sent.
fn server(answers: &'static [&'static str]) -> (u16, std::thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("it is bound").port();
    let thread = std::thread::spawn(move || {
        let mut seen = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().expect("somebody comes");
            let mut request = Vec::new();
            let mut piece = [0; 4096];
            loop {
                let length = stream.read(&mut piece).expect("it can be read");
                request.extend_from_slice(&piece[..length]);
                let text = String::from_utf8_lossy(&request).into_owned();
                let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                let wanted = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                if body.len() >= wanted.map_or(0, |it| it.parse().expect("a length")) {
                    break;
                }
            }
            stream.write_all(answer.as_bytes()).expect("it can be written");
            seen.push(String::from_utf8_lossy(&request).into_owned());
        }
        seen
    });
    (port, thread)
}

#[test]
fn http_sends_what_the_templates_say() {
    let (port, seen) = server(&[
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 31\r\n\r\n{\"items\": [{\"name\": \"oolong\"}]}",
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
    ]);
    let scene = Scene::new();
    let check = |data: Value| {
        let told =
            scene.run(&lone("http", &data), &json!({ "input": "a \"b\"&c" }), &Parrot::echo());
        told.ended.result.map_or_else(|error| error, |output| output.to_string())
    };
    let url = |path: &str| format!("http://api.test:{port}{path}");
    let told = [
        check(json!({
            "method": "post", "url": url("/find"), "headers": { "X-Key": "k-{{input}}" },
            "body": { "q": "{{start.output}}", "text": "<{{input}}>", "n": 1 }, "responsePath": "$.items[0].name",
        })),
        check(json!({ "url": url("/plain?q={{input}}") })),
        check(json!({ "url": url("/text"), "responsePath": "a" })),
        check(json!({ "url": url("/missing") })),
        check(json!({ "url": url("/empty"), "responsePath": "a.b" })),
        check(json!({ "url": "http://inside.test/" })),
        check(json!({ "url": "http://169.254.169.254/latest/meta-data" })),
    ];
    let seen = seen.join().expect("the server ends");
    let all = format!("{}\n\n{}\n{}", told.join("\n"), seen[0], seen[1]);
    assert_snapshot!(all.replace(&port.to_string(), "PORT").replace('\r', ""));
}
