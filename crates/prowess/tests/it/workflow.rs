//! `prowess workflow`: findings with their places, runs with a model behind HTTP, and what a killed run leaves.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};

use insta::assert_snapshot;
use prowess_testkit::{Answer, Reply, Scene, Script, ScriptedProvider};
use serde_json::Value;

use crate::scene;

fn with_examples() -> Scene {
    scene().home("home").copy("examples", "examples")
}

/// A scene whose model says this, and the provider.
fn asking(script: impl Into<Script>) -> (Scene, ScriptedProvider) {
    let provider = ScriptedProvider::start(script);
    let scene = with_examples()
        .variable("OPENAI_BASE_URL", &format!("{}/v1", provider.url()))
        .variable("OPENAI_API_KEY", "sk-secret-of-the-test")
        .variable("PROWESS_MODEL", "openai/test-model");
    (scene, provider)
}

const BROKEN: &str = "{\n  \"nodes\": [\n    {\"id\": \"start\", \"type\": \"start\"},\n    {\"id\": \"a\", \"type\": \"llm\", \"data\": {\"systemPrompt\": \"Use {{b.output}}\"}},\n    {\"id\": \"b\", \"type\": \"skill\", \"data\": {\"skillName\": \"missing\"}},\n    {\"id\": \"end\", \"type\": \"end\"}\n  ],\n  \"edges\": [\n    {\"source\": \"start\", \"target\": \"a\"},\n    {\"source\": \"a\", \"target\": \"b\"},\n    {\"source\": \"b\", \"target\": \"end\"}\n  ]\n}\n";

#[test]
fn a_sound_workflow_is_ok() {
    assert_snapshot!(with_examples().run("workflow check examples/release-workflow.json"), @"
    exit 0
    --- stdout
    examples/release-workflow.json: ok (workflow, 6 nodes, 5 edges)
    ");
}

#[test]
fn a_workflow_can_be_drawn() {
    let scene = with_examples();
    assert_snapshot!(scene.run("workflow check examples/release-workflow.json --format mermaid"));
}

#[test]
fn findings_come_with_their_places() {
    let scene = scene().home("home").file("flow.json", BROKEN);
    let all: Vec<String> = ["full", "concise", "json", "sarif", "github"]
        .iter()
        .map(|format| scene.run(&format!("workflow check flow.json --format {format}")))
        .collect();
    assert_snapshot!(all.join("\n"));
    // A workflow with errors is not run, and programs get the same findings.
    let refused = scene.output(&["workflow", "run", "flow.json", "--format", "json"], "");
    assert_eq!(refused.status.code(), Some(125));
    let refused: Value = serde_json::from_slice(&refused.stdout).expect("one JSON object");
    assert_eq!(refused["findings"].as_array().map(Vec::len), Some(2), "{refused}");
}

const DOUBTFUL: &str = r#"{"nodes": [
  {"id": "start", "type": "start"},
  {"id": "ask", "type": "http", "data": {"url": "http://169.254.169.254/latest/meta-data/"}},
  {"id": "facts", "type": "knowledge", "data": {"knowledgeBaseId": "handbok"}},
  {"id": "count", "type": "code", "data": {"code": "print(len('{{start.output}}'))"}},
  {"id": "end", "type": "end"}
], "edges": [
  {"source": "start", "target": "ask"},
  {"source": "ask", "target": "facts"},
  {"source": "facts", "target": "count"},
  {"source": "count", "target": "end"}
]}
"#;

#[test]
fn what_will_go_wrong_is_said_before() {
    let scene = scene().home("home").file("flow.json", DOUBTFUL);
    scene.stdout("kb new handbook");
    assert_snapshot!(scene.run("workflow check flow.json"));
}

#[test]
fn what_is_named_has_to_be_there() {
    let scene = with_examples();
    let all: Vec<String> = [
        "workflow check missing.json",
        "workflow list",
        "workflow resume",
        "workflow resume missing",
        "workflow resume ../../x",
        "workflow run examples/release-workflow.json",
        "workflow run examples/release-workflow.json --input lag=x",
    ]
    .iter()
    .map(|arguments| format!("$ {arguments}\n{}", scene.run(arguments)))
    .collect();
    assert_snapshot!(all.join("\n"));
}

#[test]
fn a_branch_without_a_model_needs_none() {
    let scene = with_examples();
    assert_snapshot!(scene.run("workflow run examples/release-workflow.json --input log="), @"
    exit 0
    --- stdout
    There is nothing to announce in 0 commits.
    ");
}

#[test]
fn the_answer_comes_as_text_and_as_json() {
    let answer = || Reply::answer(Answer::text(["Fixed ", "a bug."]));
    let (scene, provider) = asking(Script::new([answer(), answer()]));
    assert_snapshot!(scene.run("workflow run examples/release-workflow.json --input log=abc"), @"
    exit 0
    --- stdout
    Fixed a bug.
    ");
    let request = provider.request(0).json();
    let prompt = request["messages"][1]["content"].as_str().unwrap_or_default().to_owned();
    assert!(prompt.contains("the release of 1 commits") && prompt.contains("Prowess"), "{prompt}");
    assert_eq!((&request["temperature"], &request["max_tokens"]), (&0.3.into(), &1200.into()));
    let told =
        scene.stdout("workflow run examples/release-workflow.json --input log=abc --format json");
    let mut told: Value = serde_json::from_str(&told).expect("one JSON object");
    told["run_id"] = "RUN".into();
    assert_snapshot!(format!("{told:#}"));
}

#[test]
fn without_a_model_it_says_what_to_do() {
    let told = with_examples().run("workflow run examples/release-workflow.json --input log=abc");
    assert!(told.starts_with("exit 125"), "{told}");
    assert!(
        told.contains("the node `notes` failed")
            && told.contains("prowess workflow resume release-notes-"),
        "{told}"
    );
}

const CHAIN: &str = r#"{"nodes": [
  {"id": "start", "type": "start"},
  {"id": "first", "type": "llm", "data": {"systemPrompt": "first"}},
  {"id": "second", "type": "llm", "data": {"systemPrompt": "second"}},
  {"id": "end", "type": "end"}
], "edges": [
  {"source": "start", "target": "first"},
  {"source": "first", "target": "second"},
  {"source": "second", "target": "end"}
]}"#;

#[test]
fn a_killed_run_goes_on_without_repeating_what_has_ended() {
    // The second answer stalls in its middle the first time, and comes the second time.
    let tries = AtomicUsize::new(0);
    let (scene, provider) = asking(Script::by(move |request| {
        let system = request.json()["messages"][0]["content"].clone();
        Reply::answer(match (system.as_str(), tries.load(Ordering::SeqCst)) {
            (Some("first"), _) => Answer::text(["one"]),
            (_, 0) => {
                tries.store(1, Ordering::SeqCst);
                Answer::text(["par"]).then_stall()
            }
            _ => Answer::text(["two"]),
        })
    }));
    let scene = scene.file("flow.json", CHAIN);
    let arguments = ["workflow", "run", "flow.json", "--input", "input=x", "--format", "events"];
    let mut child = scene
        .command(&arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut run = String::new();
    for line in BufReader::new(child.stdout.take().expect("a pipe")).lines() {
        let event: Value = serde_json::from_str(&line.expect("text")).expect("a line is JSON");
        if event["event"] == "workflow_start" {
            event["data"]["run_id"].as_str().unwrap_or_default().clone_into(&mut run);
        }
        if event["event"] == "token" && event["data"]["node_id"] == "second" {
            break;
        }
    }
    // While a process is at work, a run is running.
    assert_eq!(state_of(&scene, &run), "running");
    // SIGKILL: nothing can be written down after this.
    child.kill().expect("it is ours");
    child.wait().expect("it ends");
    assert_eq!(state_of(&scene, &run), "stopped");
    for arguments in ["workflow resume", "workflow resume misspelt"] {
        let told = scene.run(arguments);
        assert!(told.contains(&format!("can be resumed, the latest first: `{run}`")), "{told}");
    }
    let told = scene.stdout("workflow list");
    assert!(told.starts_with(&run) && told.contains("  stopped  "), "{told}");
    assert!(told.contains("  2 of 4 nodes  ") && told.contains("flow.json"), "{told}");
    let resumed = scene.run(&format!("workflow resume {run} --format events"));
    assert_snapshot!(resumed.replace(&run, "RUN"));
    let counted = |wanted: &str| {
        let requests = provider.requests();
        requests.iter().filter(|it| it.json()["messages"][0]["content"] == wanted).count()
    };
    assert_eq!((counted("first"), counted("second")), (1, 2));
    assert_eq!(state_of(&scene, &run), "ended");
}

fn state_of(scene: &Scene, run: &str) -> String {
    let list = scene.stdout("workflow list --format json");
    let list: Value = serde_json::from_str(&list).expect("one JSON object");
    let runs = list["runs"].as_array().expect("a list");
    let found = runs.iter().find(|it| it["run_id"] == run).expect("it is listed");
    found["state"].as_str().unwrap_or_default().to_owned()
}

const COUNTER: &str = "---\nname: counter\nversion: 1.0.0\ndescription: Counts its calls\nauthor: a\nlicense: MIT\nsecurity_tier: experimental\npermissions: [filesystem:none, network:none]\ntools:\n  - name: count\n    description: Counts\n    parameters:\n      text: {type: string, required: false}\n---\n\n# Counter\n";
const COUNTER_PYTHON: &str = "from gaia.agents.base.tools import tool\n\nCALLS = []\n\n@tool\ndef count(text: str = \"\") -> int:\n    \"\"\"Counts its calls in one process.\"\"\"\n    CALLS.append(text)\n    return len(CALLS)\n";

#[test]
fn ten_calls_of_a_python_tool_start_one_worker() {
    let mut nodes = vec![serde_json::json!({ "id": "start", "type": "start" })];
    let mut edges = Vec::new();
    let mut last = "start".to_owned();
    for number in 1..=10 {
        let id = format!("n{number}");
        nodes.push(serde_json::json!({
            "id": id, "type": "skill", "data": { "skillName": "counter/count" },
        }));
        edges.push(serde_json::json!({ "source": last, "target": id }));
        last = id;
    }
    nodes.push(serde_json::json!({ "id": "end", "type": "end" }));
    edges.push(serde_json::json!({ "source": last, "target": "end" }));
    let flow = serde_json::json!({ "nodes": nodes, "edges": edges }).to_string();
    let scene = scene()
        .home("home")
        .file("flow.json", &flow)
        .file("skills/counter/SKILL.md", COUNTER)
        .file("skills/counter/tools.py", COUNTER_PYTHON);
    // Only calls in one process count up; a worker for each call would say 1 ten times.
    assert_snapshot!(scene.run("workflow run flow.json --input input=x --yes"), @"
    exit 0
    --- stdout
    10
    ");
}
