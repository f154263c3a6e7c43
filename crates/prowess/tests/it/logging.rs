//! The log: what it says, and what it never says.

use prowess_testkit::{Answer, ScriptedProvider};

use crate::run::{TEXT, probe};
use crate::scene;

/// Values that appear in no log, whatever its level.
const CANARY: &str = "canary-7f3a9c51";

#[test]
fn nothing_is_logged_unless_somebody_asks_for_it() {
    let scene = probe("", &[("say", TEXT, "echo {{text}}")]);
    let output = scene.output(&["run", "../skills/probe/say", "--yes", "--input", "text=hi"], "");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_log_has_the_steps_of_a_run_with_its_id_and_no_values() {
    let front_matter = "permissions: [\"env:read:SECRET_WORD\"]\n";
    let scene = probe(front_matter, &[("say", TEXT, "echo {{text}}")])
        .variable("SECRET_WORD", &format!("{CANARY}-environment"))
        .variable("OPENAI_API_KEY", &format!("{CANARY}-key"));
    let text = format!("text={CANARY}-input");
    let arguments = ["run", "../skills/probe/say", "--yes", "--input", &text, "--format", "events"];
    let output = scene.output(&[&["--log", "trace=log.txt"][..], &arguments].concat(), "");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains(CANARY), "the tool says what it was given");
    let log = scene.text("repo/log.txt");
    for span in ["resolve", "prepare", "decide", "sandbox"] {
        assert!(log.contains(&format!(":{span}")), "no `{span}` in {log}");
    }
    let first: serde_json::Value =
        serde_json::from_str(said.lines().next().unwrap_or("")).expect("JSON");
    let run = format!("run{{run_id={}}}", first["run_id"].as_str().expect("an id"));
    assert!(log.lines().all(|line| line.contains(&run)), "{log}");
    assert!(!log.contains(CANARY), "{log}");
}

#[test]
fn prompts_answers_and_keys_are_not_logged() {
    let provider = ScriptedProvider::start(Answer::text([format!("{CANARY}-answer").as_str()]));
    let skill = format!(
        "---\nname: asks\ndescription: Asks\ninputs:\n  - name: topic\n    type: string\n    required: true\nmodel:\n  temperature: 0.5\n---\n\nSay {CANARY}-body about {{{{topic}}}}.\n"
    );
    let scene = scene()
        .home("home")
        .file("asks/SKILL.md", skill)
        .variable("OPENAI_BASE_URL", &format!("{}/v1", provider.url()))
        .variable("OPENAI_API_KEY", &format!("{CANARY}-key"))
        .variable("PROWESS_MODEL", "openai/test-model")
        .variable("PROWESS_LOG", "trace");
    let topic = format!("topic={CANARY}-input");
    let output = scene.output(&["run", "asks", "--input", &topic], "");
    let log = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{log}");
    assert!(provider.request(0).json().to_string().contains(CANARY), "the model is asked");
    assert!(log.contains("model_request{model=openai/test-model attempt=1}"), "{log}");
    assert!(!log.contains(CANARY), "{log}");
}

#[test]
fn a_level_that_does_not_exist_is_a_mistake() {
    let scene = scene().home("home").variable("PROWESS_LOG", "loud");
    let output = scene.output(&["list"], "");
    assert_eq!(output.status.code(), Some(2));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("`PROWESS_LOG` is invalid: expected `off`"), "{said}");
}
