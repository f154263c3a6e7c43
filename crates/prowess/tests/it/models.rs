//! `prowess models`: what is configured, what is found, and whether it answers.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use prowess_testkit::{Answer, Reply, Scene, Script, ScriptedProvider};
use serde_json::{Value, json};

use crate::scene;

const KEY: &str = "sk-test-5d41402abc4b2a76";
const CONFIG: &str = "home/.config/prowess/config.toml";

/// Settings that keep tests away from servers that really run here: nobody listens on port 1.
fn config(rest: &str) -> String {
    let mut config = rest.to_owned();
    for name in ["ollama", "llamacpp", "lmstudio", "lemonade", "vllm"] {
        if !config.contains(&format!("[providers.{name}]")) {
            let _ = write!(config, "[providers.{name}]\nbase_url = \"http://127.0.0.1:1/v1\"\n");
        }
    }
    config
}

fn with(rest: &str) -> Scene {
    scene().home("home").file(CONFIG, config(rest))
}

/// What is said, with ports and times taken out. No word of it may hold the key.
fn check(scene: &Scene, arguments: &str, provider: Option<&ScriptedProvider>) -> String {
    let mut said = scene.run(arguments);
    assert!(!said.contains(KEY), "the key is in {said}");
    if let Some(provider) = provider {
        said = said.replace(provider.url(), "http://[HOST]");
    }
    let is_json = arguments.contains("json");
    for line in said.lines().filter(|_| !is_json) {
        let width = line.chars().count();
        assert!(width <= 80 || line.contains("[SCENE]"), "{width} columns: {line}");
    }
    let words = said.split_inclusive(char::is_whitespace).collect::<Vec<_>>();
    let timed = words.iter().enumerate().map(|(at, word)| {
        let is_time = words.get(at + 1).is_some_and(|next| next.trim() == "ms");
        if is_time { "[TIME] " } else { word }
    });
    timed.collect()
}

fn list(names: &[&str]) -> Reply {
    let data: Vec<Value> = names.iter().map(|name| json!({ "id": name })).collect();
    Reply::json(200, &json!({ "object": "list", "data": data }))
}

#[test]
fn nothing_is_configured() {
    insta::assert_snapshot!(check(&with(""), "models", None));
}

#[test]
fn what_is_configured_and_what_is_found() {
    let provider = ScriptedProvider::start(
        Script::new([]).page("/v1/models", list(&["llama3.2:3b", "qwen3:8b"])),
    );
    let rest = "model = \"ollama/llama3.2:3b\"\n\
        [providers.work]\nkind = \"anthropic\"\nbase_url = \"https://llm.example.com\"\n\
        key_file = \"work.key\"\n";
    let scene = with(rest)
        .file("home/.config/prowess/work.key", KEY)
        .variable("OPENAI_API_KEY", KEY)
        .variable("OLLAMA_HOST", provider.url());
    let file = scene.path().join("home/.config/prowess/work.key");
    let mode = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode));
    mode(0o600).expect("it is ours");
    insta::assert_snapshot!(check(&scene, "models", Some(&provider)));
    mode(0o644).expect("it is ours");
    insta::assert_snapshot!(check(&scene, "models --format json", Some(&provider)));
}

#[test]
fn servers_of_the_users_own_on_this_machine_are_asked_too() {
    let script = Script::new([]).page("/v1/models", list(&["mine:7b"]));
    let provider = ScriptedProvider::start(script);
    let url = provider.url();
    let home = format!("[providers.home]\nkind = \"openai\"\nbase_url = \"{url}\"\n");
    let scene = with(&home);
    let said = check(&scene, "models", Some(&provider));
    // The next step names a model that is there, and not one of a server that is not.
    assert!(said.contains("models   home/mine:7b\n"), "{said}");
    assert!(said.contains("note: choose one with `--model home/mine:7b`"), "{said}");
    insta::assert_snapshot!(check(&scene, "models --test", Some(&provider)));
    // The usual variable with an address of this machine is the same.
    let scene = with("").variable("OPENAI_BASE_URL", url);
    let said = check(&scene, "models", Some(&provider));
    assert!(said.contains("models   openai/mine:7b\n"), "{said}");
}

#[test]
fn a_test_without_a_model_is_a_wrong_argument() {
    insta::assert_snapshot!(check(&with(""), "models --test", None));
}

#[test]
fn many_models_are_cut_for_people_and_not_for_programs() {
    let names: Vec<String> = (0..23).map(|number| format!("m{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let provider = ScriptedProvider::start(Script::new([]).page("/v1/models", list(&names)));
    let scene = with("").variable("OLLAMA_HOST", provider.url());
    let text = scene.stdout("models");
    assert!(text.contains("ollama/m19\n           and 3 more, see `--format json`\n"), "{text}");
    let json: Value = serde_json::from_str(&scene.stdout("models --format json")).expect("JSON");
    let ollama = json["providers"].as_array().expect("a list").iter();
    let ollama = ollama.clone().find(|provider| provider["name"] == "ollama").expect("ollama");
    assert_eq!(ollama["models"].as_array().map(Vec::len), Some(23));
    assert_eq!(ollama["running"], true);
}

#[test]
fn a_choice_that_makes_no_sense_is_told() {
    let scene = with("").variable("PROWESS_MODEL", "opnai/gpt");
    insta::assert_snapshot!(check(&scene, "models", None));
}

#[test]
fn settings_that_make_no_sense_end_it() {
    let scene = scene().home("home").file(CONFIG, "[providers.a]\nkey = \"sk-in-the-file\"\n");
    let said = check(&scene, "models", None);
    assert!(!said.contains("sk-in-the-file"), "{said}");
    insta::assert_snapshot!(said);
}

#[test]
fn a_model_that_answers_passes() {
    for dialect in ["openai", "anthropic"] {
        let answer = Answer::text(["yes"]).usage(14, 1);
        let entry = json!({ "data": [{ "id": "m", "max_model_len": 8192 }] });
        let script = Script::by(move |_| Reply::answer(answer.clone()))
            .page("/v1/models", Reply::json(200, &entry));
        let provider = ScriptedProvider::start(script);
        let scene = with("")
            .variable("OPENAI_BASE_URL", provider.url())
            .variable("OPENAI_API_KEY", KEY)
            .variable("ANTHROPIC_BASE_URL", provider.url())
            .variable("ANTHROPIC_API_KEY", KEY);
        let said = check(&scene, &format!("models --test {dialect}/m"), Some(&provider));
        insta::allow_duplicates! {
            insta::assert_snapshot!(said.replace(dialect, "[DIALECT]"));
        }
        assert_eq!(provider.request(0).json()["max_tokens"], 1);
        let json = scene.stdout(&format!("models --test {dialect}/m --format json"));
        let json: Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(json["model"], format!("{dialect}/m"));
        assert_eq!(json["usage"], json!({ "input": 14, "output": 1 }));
        assert_eq!(json["context"], 8192);
        assert!(json["first_token_ms"].as_f64().is_some_and(|time| time > 0.0), "{json}");
    }
}

#[test]
fn the_chosen_model_is_tested_when_none_is_named() {
    let provider = ScriptedProvider::start(Answer::text(["yes"]));
    let scene = with("model = \"ollama/small\"\n").variable("OLLAMA_HOST", provider.url());
    assert!(scene.stdout("models --test").starts_with("ollama/small answers\n"));
    assert_eq!(provider.request(0).json()["model"], "small");
}

#[test]
fn a_model_that_does_not_answer_fails() {
    let unknown = json!({ "error": { "message": "model \"m\" not found, try pulling it first" } });
    let wrong = json!({ "error": { "message": format!("wrong key {KEY}") } });
    let mut told = String::new();
    for (model, reply) in [
        ("ollama/m", Reply::json(404, &unknown)),
        // An Ollama by another name, at an address that its own program would not ask.
        ("mine/m", Reply::json(404, &unknown)),
        ("openai/m", Reply::json(401, &wrong)),
        ("openai/m", Reply::bytes(200, "text/html", "<h1>hello</h1>")),
        ("nobody/m", Reply::json(200, &json!({}))),
    ] {
        let provider = ScriptedProvider::start(reply);
        let url = provider.url();
        let mine = format!("[providers.mine]\nkind = \"openai\"\nbase_url = \"{url}\"\n");
        let scene = with(if model.starts_with("mine/") { &mine } else { "" })
            .variable("OLLAMA_HOST", provider.url())
            .variable("OPENAI_BASE_URL", provider.url())
            .variable("OPENAI_API_KEY", KEY);
        told.push_str(&check(&scene, &format!("models --test {model}"), Some(&provider)));
        told.push('\n');
    }
    insta::assert_snapshot!(told);
}
