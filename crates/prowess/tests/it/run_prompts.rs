//! `prowess run` on prompt skills, with a provider over real HTTP.

#![cfg(target_os = "linux")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

use insta::assert_snapshot;
use prowess_testkit::{Answer, Reply, Scene, Script, ScriptedProvider};
use serde_json::{Value, json};

use crate::scene;

const SUMMARY: &str = "---\nname: article-summary\ndescription: Compress long articles into key points.\ninputs:\n  - name: article\n    type: textarea\n    required: true\n  - name: style\n    default: concise\nmodel:\n  temperature: 0.3\n  max_tokens: 1000\n---\n\nSummarise in a {{style}} tone:\n\n{{article}}\n";

/// A skill of this text, and a provider that says this.
fn asking(text: &str, script: impl Into<Script>) -> (Scene, ScriptedProvider) {
    let provider = ScriptedProvider::start(script);
    let scene = scene()
        .home("home")
        .file("article-summary/SKILL.md", text)
        .file("paper.md", "Cheese is\nmade of milk.\n")
        .variable("OPENAI_BASE_URL", &format!("{}/v1", provider.url()))
        .variable("OPENAI_API_KEY", "sk-secret-of-the-test")
        .variable("PROWESS_MODEL", "openai/test-model");
    (scene, provider)
}

#[test]
fn an_answer_comes_as_text() {
    let answer = Answer::text(["Milk ", "becomes", " cheese."]).usage(20, 4);
    let (scene, provider) = asking(SUMMARY, answer);
    assert_snapshot!(scene.run("run article-summary --input article=@paper.md"), @"
    exit 0
    --- stdout
    Milk becomes cheese.
    ");
    let request = provider.request(0);
    let body = request.json();
    // AFL-3.2-2
    assert_eq!(body["model"], "test-model");
    assert_eq!(body["temperature"], 0.3);
    let most = body.get("max_tokens").or_else(|| body.get("max_completion_tokens"));
    assert_eq!(most, Some(&json!(1000)));
    assert_eq!(
        body["messages"],
        json!([
            { "role": "system", "content": "You are a helpful AI assistant." },
            { "role": "user", "content": "Summarise in a concise tone:\n\nCheese is\nmade of milk.\n" },
        ])
    );
}

#[test]
fn events_and_envelope_are_for_programs() {
    let answer = || Reply::answer(Answer::text(["Milk ", "becomes cheese."]).usage(20, 4));
    let (scene, _provider) = asking(SUMMARY, Script::new([answer(), answer()]));
    // AFL-8-1, AFL-8-3
    let events = scene.stdout("run article-summary --input article=x --format events");
    let first: Value = serde_json::from_str(events.lines().next().unwrap_or("")).expect("JSON");
    let events = events.replace(first["run_id"].as_str().expect("an id"), "[RUN]");
    assert_snapshot!(events, @r#"
    {"event":"thought","data":{"type":"validation","status":"start"},"run_id":"[RUN]","sequence":0}
    {"event":"thought","data":{"type":"validation","status":"complete","message":"All required inputs provided"},"run_id":"[RUN]","sequence":1}
    {"event":"thought","data":{"type":"substitution","status":"start"},"run_id":"[RUN]","sequence":2}
    {"event":"thought","data":{"type":"substitution","status":"complete","message":"Variables substituted"},"run_id":"[RUN]","sequence":3}
    {"event":"thought","data":{"type":"generation","status":"start"},"run_id":"[RUN]","sequence":4}
    {"event":"token","data":{"content":"Milk "},"run_id":"[RUN]","sequence":5}
    {"event":"token","data":{"content":"becomes cheese."},"run_id":"[RUN]","sequence":6}
    {"event":"done","data":{"status":"success","message":"Skill execution completed successfully"},"run_id":"[RUN]","sequence":7}
    "#);
    let text = scene.stdout("run article-summary --input article=x --format json");
    let mut envelope: Value = serde_json::from_str(&text).expect("JSON");
    envelope["duration_ms"] = 0.into();
    assert_snapshot!(format!("{envelope:#}"), @r#"
    {
      "success": true,
      "exit_code": 0,
      "output": "Milk becomes cheese.",
      "truncated": false,
      "duration_ms": 0,
      "outcome": "success",
      "model": "openai/test-model",
      "usage": {
        "input_tokens": 20,
        "output_tokens": 4
      },
      "stop": "done"
    }
    "#);
}

#[test]
fn what_is_wrong_is_said_before_a_model_is_asked() {
    let (scene, provider) = asking(SUMMARY, Answer::text(["no"]));
    assert_snapshot!(scene.run("run article-summary"));
    assert_snapshot!(scene.run("run article-summary --input article=x --output home"));
    assert_snapshot!(scene.run("run article-summary --input article=x --output no/where.txt"));
    assert_snapshot!(scene.run("run article-summary --input article=x --model nonsense"));
    let file = "---\nname: article-summary\nversion: 1.0.0\ndescription: X\nruntime:\n  type: markdown-skill\noutputs:\n  type: file\n---\n\nWrite.\n";
    let scene = scene.file("article-summary/SKILL.md", file);
    assert_snapshot!(scene.run("run article-summary"));
    assert!(provider.requests().is_empty());
    let scene = scene.variable("PROWESS_MODEL", "").file("article-summary/SKILL.md", SUMMARY);
    assert_snapshot!(scene.run("run article-summary --input article=x"));
    let tool = "---\nname: t\nversion: 1.0.0\ndescription: T\n---\n\n### go\n\nGoes.\n\n#### Command\n\n```bash\ntrue\n```\n";
    let scene = scene.file("t/SKILL.md", tool);
    assert_snapshot!(scene.run("run t --model openai/x --yes"));
}

#[test]
fn an_answer_is_written_as_a_whole_or_not_at_all() {
    let script = Script::new([
        Reply::answer(Answer::text(["Milk"])),
        Reply::answer(Answer::text(["half"]).then_hang_up()),
    ]);
    let (scene, _provider) = asking(SUMMARY, script);
    let run = "run article-summary --input article=x --output answer.txt";
    assert_snapshot!(scene.run(run), @"
    exit 0
    --- stderr
    note: wrote `answer.txt`
    ");
    assert_eq!(scene.text("answer.txt"), "Milk\n");
    let failed = scene.run(run);
    assert!(failed.starts_with("exit 1\n--- stderr\nerror: "), "{failed}");
    assert_eq!(scene.text("answer.txt"), "Milk\n");
}

#[test]
fn only_regular_files_are_replaced() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let answers = (0..2).map(|_| Reply::answer(Answer::text(["Milk"])));
    let (scene, provider) = asking(SUMMARY, Script::new(answers));
    let scene = scene.file("private.txt", "old").file("target.txt", "old");
    let path = |name: &str| scene.path().join(name);
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(path("private.txt"), mode).expect("it is ours");
    symlink("target.txt", path("link")).expect("it can be linked");
    let fifo = Command::new("mkfifo").arg(path("pipe")).status();
    assert!(fifo.expect("mkfifo is there").success());
    let run = |output: &str| {
        scene.run(&format!("run article-summary --input article=x --output {output}"))
    };
    assert_snapshot!(run("pipe"));
    assert_snapshot!(run("-"));
    assert!(provider.requests().is_empty());
    assert!(run("private.txt").starts_with("exit 0"));
    let mode = std::fs::metadata(path("private.txt")).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(run("link").starts_with("exit 0"));
    assert!(path("link").is_symlink());
    assert_eq!(scene.text("target.txt"), "Milk\n");
}

#[test]
fn a_provider_that_fails_is_told_without_its_key() {
    let error = json!({ "error": { "message": "key sk-secret-of-the-test is wrong" } });
    let (scene, _provider) = asking(SUMMARY, Reply::json(401, &error));
    let told = scene.run("run article-summary --input article=x");
    assert!(!told.contains("sk-secret"), "{told}");
    assert!(told.starts_with("exit 1\n--- stderr\nerror: "), "{told}");
}

#[test]
fn control_characters_of_a_model_do_not_reach_the_terminal() {
    let (scene, _provider) = asking(SUMMARY, Answer::text(["red \u{1b}[31m", "\u{202e}txt"]));
    let shown = scene.run_on_terminal(&["run", "article-summary", "--input", "article=x"], "");
    assert!(!shown.contains("\u{1b}[31m") && !shown.contains('\u{202e}'), "{shown:?}");
    assert!(shown.contains("\\u{1b}[31m") || shown.contains("[31m"), "{shown:?}");
}

#[test]
fn an_interrupt_reaches_the_provider() {
    let answer = Answer::text(["Milk "]).gate("never").then("cheese");
    let (scene, provider) = asking(SUMMARY, answer);
    let mut child = scene
        .command(&["run", "article-summary", "--input", "article=x"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut out = child.stdout.take().expect("it is piped");
    let mut first = [0; 5];
    out.read_exact(&mut first).expect("it has begun to answer");
    assert_eq!(&first, b"Milk ");
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill is there").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert_eq!(provider.ending(0), prowess_testkit::Ending::ClientLeft);
}

#[test]
fn nobody_who_reads_ends_the_conversation() {
    let endless = (0..2000).fold(Answer::text(["line\n"]), |answer, _| answer.then("line\n"));
    let (scene, provider) = asking(SUMMARY, endless.gate("never"));
    let mut child = scene
        .command(&["run", "article-summary", "--input", "article=x"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut reader = BufReader::new(child.stdout.take().expect("it is piped"));
    let mut line = String::new();
    reader.read_line(&mut line).expect("a line");
    drop(reader);
    assert_eq!(child.wait().expect("it ends").code(), Some(141));
    assert_eq!(provider.ending(0), prowess_testkit::Ending::ClientLeft);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_the_conversation() {
    let (scene, provider) = asking(SUMMARY, Answer::text(["line\n"]).gate("never"));
    for format in ["text", "events"] {
        let full = std::fs::File::options().write(true).open("/dev/full").expect("it is there");
        let output = scene
            .command(&["run", "article-summary", "--input", "article=x", "--format", format])
            .stdout(full)
            .output()
            .expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("cannot write to standard output"), "{said}");
    }
    assert_eq!(provider.ending(0), prowess_testkit::Ending::ClientLeft);
}

#[test]
fn a_newer_runtime_is_not_here() {
    // SRT-4.3-2
    let text = "---\nname: article-summary\nversion: 1.0.0\ndescription: X\nruntime:\n  type: markdown-skill\n  min-version: \"99.0.0\"\n---\n\nHello\n";
    let (scene, provider) = asking(text, Answer::text(["no"]));
    assert_snapshot!(scene.run("run article-summary"));
    assert!(provider.requests().is_empty());
}

#[test]
fn answers_from_a_knowledge_base_have_footnotes() {
    let answer = Answer::text(["In the garden [1]."]);
    let (scene, provider) = asking(SUMMARY, answer);
    let scene = scene.copy("examples/handbook-answers", "handbook-answers");
    scene.stdout("kb new handbook");
    scene.stdout("kb add handbook handbook-answers/handbook");
    assert_snapshot!(scene.run_with(
        &["run", "handbook-answers", "--input", "question=May I bring my dog to the library?"],
        ""
    ));
    let body = provider.request(0).json();
    let system = body["messages"][0]["content"].as_str().expect("a system prompt");
    // AFL-6-2
    let (start, context) = system.split_once("\n\nContext:\n[1] ").expect("a context");
    assert!(start.starts_with("You are a helpful AI assistant.\n\nAnswer the user's request"));
    let first = context.split("\n\n[2] ").next().expect("a passage");
    assert!(first.contains("Dogs are welcome in the garden"), "{first}");
    // The bytes of the footnote are those of the document.
    let events = scene.stdout("kb search handbook dogs --top 1 --format json");
    assert!(events.contains("Dogs are welcome"), "{events}");
}

#[test]
fn a_base_that_is_missing_or_silent_is_a_warning() {
    let answers = (0..2).map(|_| Reply::answer(Answer::text(["I do not know."])));
    let (scene, _provider) = asking(SUMMARY, Script::new(answers));
    let text = SUMMARY
        .replace("name: article-summary", "name: asks")
        .replace("model:\n", "knowledge_base: handbook\nmodel:\n");
    let scene = scene.file("asks/SKILL.md", text.replace("Summarise in a {{style}} tone:\n\n", ""));
    assert_snapshot!(scene.run("run asks --input article=zzzqqq"));
    scene.stdout("kb new handbook");
    scene.stdout("kb add handbook paper.md");
    assert_snapshot!(scene.run("run asks --input article=zzzqqq"));
}

#[test]
fn a_name_that_is_no_input_is_refused_everywhere() {
    let (scene, provider) = asking(SUMMARY, Answer::text(["x"]));
    let scene =
        scene.copy("examples/release-workflow.json", "flow.json").copy("examples", "skills");
    let told: Vec<String> = [
        "run article-summary --input article=x --input stile=y",
        "render article-summary --input article=x --input stile=y",
        "workflow run flow.json --input log=x --input lag=y",
    ]
    .iter()
    .map(|arguments| format!("$ {arguments}\n{}", scene.run(arguments)))
    .collect();
    assert_snapshot!(told.join("\n"));
    assert_eq!(provider.requests().len(), 0);
}

#[test]
fn a_required_input_may_be_empty() {
    let (scene, provider) = asking(SUMMARY, Answer::text(["There is nothing to summarise."]));
    assert!(scene.run("run article-summary --input article=").starts_with("exit 0"));
    let body = provider.request(0).json();
    let prompt = body["messages"][1]["content"].as_str().unwrap_or_default().trim_end().to_owned();
    assert_eq!(prompt, "Summarise in a concise tone:");
}

#[test]
fn a_text_for_an_agent_is_not_run() {
    let scene = scene().home("home").copy("examples/commit-messages", "commit-messages");
    assert_snapshot!(scene.run("run commit-messages"));
}
