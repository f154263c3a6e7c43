//! `prowess run` with a tool pack: the `output` block makes the result.

use prowess_testkit::Scene;
use serde_json::{Value, json};

use crate::scene;

/// A pack whose program prints a text, beside an empty repository.
fn pack(program: &str, arguments: &[&str], output: &Value) -> Scene {
    let pack = json!({
        "name": "say_word",
        "description": "Print a word.",
        "command": { "program": program, "args": arguments },
        "output": output,
    });
    scene()
        .home("home")
        .variable("PATH", "/usr/local/bin:/usr/bin:/bin")
        .file("repo/.git/HEAD", "ref: refs/heads/main\n")
        .file("packs/say_word.tool.json", pack.to_string())
        .inside("repo")
}

fn run(scene: &Scene, format: &str) -> String {
    let arguments = ["run", "../packs/say_word.tool.json", "--yes", "--format", format];
    String::from_utf8(scene.output(&arguments, "").stdout).expect("it is text")
}

fn envelope(scene: &Scene) -> Value {
    serde_json::from_str(&run(scene, "json")).expect("it is JSON")
}

#[test]
fn the_output_block_makes_the_result() {
    // TP-4
    const PRINTED: &str = r#"{"title": "Rust", "tags": ["a", "b"]}"#;
    let title = json!({ "format": "json", "extract_field": "title", "template": "<{{output}}>" });
    let scene = pack("echo", &[PRINTED], &title);
    assert_eq!(run(&scene, "text"), "<Rust>\n");
    let result = envelope(&scene);
    assert_eq!((&result["output"], &result["truncated"]), (&json!("<Rust>\n"), &json!(false)));

    // A field that is not text is JSON, for programs too.
    let tags = json!({ "format": "json", "extract_field": "tags" });
    let scene = pack("echo", &[PRINTED], &tags);
    assert_eq!(run(&scene, "text"), "[\"a\",\"b\"]\n");
    assert_eq!(envelope(&scene)["parsed"], json!(["a", "b"]));

    let short = pack("echo", &["äöüß"], &json!({ "max_chars": 3 }));
    assert_eq!(run(&short, "text"), "äöü...\n");
    assert_eq!(envelope(&short)["truncated"], true);
    // The default.
    let long = pack("seq", &["1", "1000"], &json!({}));
    assert_eq!(run(&long, "text").chars().count(), 1_000 + "...\n".len());
}

#[test]
fn whoever_watches_gets_the_result_and_never_the_output_before_it() {
    let scene = pack("seq", &["1", "3"], &json!({ "template": "[{{output}}]" }));
    let events = run(&scene, "events");
    let lines = events.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let printed: Vec<Value> = lines
        .filter(|line| line["event"] == "output")
        .map(|line| line["data"]["text"].clone())
        .collect();
    assert_eq!(printed, [json!("[1\n2\n3]\n")], "{events}");
}

#[test]
fn a_tool_that_failed_keeps_its_output() {
    // `cat` prints the one and fails about the other.
    let title = json!({ "format": "json", "extract_field": "title", "max_chars": 1 });
    let scene = pack("cat", &["whole.json", "missing"], &title)
        .file("repo/whole.json", r#"{"title": "Rust"}"#);
    let result = envelope(&scene);
    assert_eq!(result["success"], false, "{result}");
    let output = result["output"].as_str().unwrap_or_default();
    assert!(output.contains(r#"{"title": "Rust"}"#), "{result}");
}
