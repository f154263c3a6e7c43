//! Calling functions: arguments, results, exceptions, output, time.

use std::time::Duration;

use prowess_core::{Event, RunOutcome, StandardStream};
use serde_json::{Value, json};

use super::scene::{IMPORT, Scene};

#[test]
fn the_minimal_example_of_the_specification_greets() {
    // GAIA-A-1
    let fixture =
        |name: &str| prowess_testkit::fixture(&format!("gaia/appendix-a/hello-world/{name}"));
    let scene =
        Scene::files(&[("SKILL.md", &fixture("SKILL.md")), ("tools.py", &fixture("tools.py"))]);
    let (envelope, events) = scene.call("greet", &json!({"name": "x"})).expect("it starts");
    assert_eq!(envelope.parsed, Some(json!({"message": "Hello, x!"})), "{envelope:#?}");
    assert_eq!((envelope.outcome, envelope.exit_code), (RunOutcome::Success, 0));
    let [Event::Started { command, .. }, Event::Output { stream, bytes }, Event::Done(_)] =
        events.as_slice()
    else {
        panic!("{events:?}");
    };
    assert_eq!(command, &["python3", "tools.py:greet", r#"{"name":"x"}"#]);
    assert_eq!(
        (*stream, String::from_utf8_lossy(bytes).as_ref()),
        (StandardStream::Stdout, "{\"message\":\"Hello, x!\"}\n")
    );
}

#[test]
fn results_are_what_was_returned() {
    let cases = [
        ("return None", Value::Null),
        (
            "return {'a': [1, 2.5, True, None, 'ä\\u2028\\0']}",
            json!({"a": [1, 2.5, true, null, "ä\u{2028}\0"]}),
        ),
        ("return (1, 2)", json!([1, 2])),
        ("return {1: 'a'}", json!({"1": "a"})),
        ("return '%s'", json!("%s")),
        ("return 'x' * 3_000_000", json!("x".repeat(3_000_000))),
        ("async def later():\n    return 7\nreturn later()", json!(7)),
    ];
    for (body, expected) in cases {
        let returned = Scene::body(body).returned();
        assert!(
            returned == expected,
            "{body}: {}",
            returned.to_string().chars().take(200).collect::<String>()
        );
    }
}

#[test]
fn what_goes_wrong_is_told() {
    let cases = [
        ("raise ValueError('too small')", "`go` raised ValueError: too small"),
        ("raise KeyError('x')", "`go` raised KeyError: 'x'"),
        (
            "import json\njson.loads('{')",
            "`go` raised json.decoder.JSONDecodeError: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        ),
        ("raise SystemExit(3)", "`go` raised SystemExit: 3"),
        ("exit(3)", "`go` raised SystemExit: 3"),
        ("raise KeyboardInterrupt", "`go` raised KeyboardInterrupt"),
        (
            "class E(Exception):\n    def __str__(self): raise RuntimeError\nraise E",
            "`go` raised tools.go.<locals>.E",
        ),
        (
            "return object",
            "`go` returned a value that is not JSON: a value of type `type`: Object of type type is not JSON serializable",
        ),
        (
            "return {1, 2}",
            "`go` returned a value that is not JSON: a value of type `set`: Object of type set is not JSON serializable",
        ),
        (
            "return float('nan')",
            "`go` returned a value that is not JSON: a value of type `float`: Out of range float values are not JSON compliant",
        ),
        (
            "return '\\udc00'",
            "`go` returned a value that is not JSON: a value of type `str`: 'utf-8' codec can't encode character '\\udc00' in position 1: surrogates not allowed",
        ),
        (
            "a = []\na.append(a)\nreturn a",
            "`go` returned a value that is not JSON: a value of type `list`: Circular reference detected",
        ),
        (
            "a = []\nfor _ in range(300): a = [a]\nreturn a",
            "`go` returned a value that is not JSON: a value that is nested too deeply",
        ),
        ("import os\nos._exit(3)", "the tool ended its process with exit code 3"),
        ("import os\nos._exit(0)", "the tool ended its process with exit code 0"),
        (
            "import os, signal\nos.kill(os.getpid(), signal.SIGUSR1)",
            "Command failed with exit code 138 (signal 10)",
        ),
    ];
    for (body, expected) in cases {
        let envelope = Scene::body(body).go();
        assert_eq!(envelope.error.as_deref(), Some(expected), "{body}: {envelope:#?}");
        assert_eq!((envelope.outcome, envelope.parsed), (RunOutcome::Failed, None), "{body}");
        assert_ne!(envelope.exit_code, 0, "{body}");
    }
}

#[test]
fn a_traceback_shows_the_tool_and_not_the_worker() {
    let scene = Scene::body("def inner():\n    return 1 / 0\nreturn inner()");
    let envelope = scene.go();
    // Newer versions of Python point at the place.
    let says = |line: &&str| !line.trim().trim_matches(['^', '~']).is_empty();
    let lines = envelope.output.lines().filter(says);
    // The file is named as its author knows it.
    let shown = lines.collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(shown.replace(&scene.root.display().to_string(), "[SCENE]"), @r#"
    Traceback (most recent call last):
      File "[SCENE]/probe/tools.py", line 8, in go
        return inner()
      File "[SCENE]/probe/tools.py", line 7, in inner
        return 1 / 0
    ZeroDivisionError: division by zero
    "#);
}

#[test]
fn output_is_talk_and_comes_before_the_result() {
    // `print` writes a line and its end separately, and what another descriptor gets may come in between.
    let body = "import os, sys\nsys.stdout.write('one\\n')\nsys.stderr.write('two\\n')\nos.write(1, b'three\\n')\nsys.stdout.write('four')\nreturn {'ok': True}";
    let (envelope, events) = Scene::body(body).call("go", &Value::Null).expect("it starts");
    let pieces: Vec<(StandardStream, String)> = events
        .iter()
        .filter_map(|event| match event {
            Event::Output { stream, bytes } => {
                Some((*stream, String::from_utf8_lossy(bytes).into_owned()))
            }
            _ => None,
        })
        .collect();
    let (last, talk) = pieces.split_last().expect("there is output");
    assert_eq!(last, &(StandardStream::Stdout, "{\"ok\":true}\n".to_owned()));
    let talk: String = talk
        .iter()
        .map(|(stream, text)| {
            assert_eq!(*stream, StandardStream::Stderr);
            text.as_str()
        })
        .collect();
    for word in ["one\n", "two\n", "three\n", "four"] {
        assert!(talk.contains(word), "{talk}");
    }
    assert_eq!(envelope.parsed, Some(json!({"ok": true})));
}

#[test]
fn arguments_come_as_they_were_given_and_declared() {
    let python = format!(
        "{IMPORT}\n@tool(atomic=True)\ndef go(a: str, /, text: str = 'own', *, n: int = 1, **rest) -> list:\n    \"\"\"Goes.\"\"\"\n    return [a, text, n, rest]\n"
    );
    let skill = "---\nname: probe\nversion: 1.0.0\ndescription: d\nauthor: a\nlicense: MIT\nsecurity_tier: experimental\npermissions: [filesystem:none]\ntools:\n  - name: go\n    description: Goes\n    parameters:\n      a: {type: string, required: true}\n      text: {type: string, required: false, default: declared}\n      n: {type: integer, required: false}\n---\n\n# Probe\n";
    let scene = Scene::files(&[("SKILL.md", skill), ("tools.py", &python)]);
    let returned = |values: Value| scene.call("go", &values).expect("it starts").0.parsed;
    assert_eq!(returned(json!({"a": "x"})), Some(json!(["x", "declared", 1, {}])));
    let strange = "ä\u{1f600}\0\"\\\n$(id)";
    assert_eq!(
        returned(json!({"a": strange, "text": "", "n": 2})),
        Some(json!([strange, "", 2, {}]))
    );
    let long = "x".repeat(1 << 20);
    assert_eq!(returned(json!({"a": long, "text": null})), Some(json!([long, "declared", 1, {}])));
}

#[test]
fn supporting_modules_and_files_are_found() {
    // GAIA §7.1: `lib/`.
    let scene = Scene::body(
        "import os, pathlib\nfrom lib.words import WORD\nimport helper\nhere = pathlib.Path(__file__).parent\nreal = pathlib.Path(os.environ['GIBBERISH_SKILL_DIR'])\nreturn [WORD, helper.value(), (here / 'data/a.txt').read_text(), (real / 'data/a.txt').read_text()]",
    );
    scene.write("probe/lib/words.py", "WORD = 'word'\n");
    scene.write("probe/helper.py", "def value(): return 5\n");
    scene.write("probe/data/a.txt", "data");
    std::os::unix::fs::symlink("a.txt", scene.root.join("probe/data/link.txt")).expect("a link");
    assert_eq!(scene.returned(), json!(["word", 5, "data", "data"]));
}

#[test]
fn time_ends_the_worker() {
    let body = "import signal, sys\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('up')\nwhile True: signal.pause()";
    let mut scene = Scene::body(body);
    scene.patience = Some((Duration::from_secs(3), Duration::from_millis(300)));
    let envelope = scene.go();
    assert_eq!(
        (envelope.outcome, envelope.exit_code),
        (RunOutcome::TimedOut, 124),
        "{envelope:#?}"
    );
    assert_eq!(envelope.error.as_deref(), Some("Command timed out after 3 s"));
    assert_eq!(envelope.output, "up\n");
}

#[test]
fn a_call_can_be_cancelled() {
    let scene = Scene::body("import signal\nprint('up', flush=True)\nsignal.pause()");
    let cancel = scene.cancel.clone();
    std::thread::scope(|scope| {
        let call = scope.spawn(|| scene.go());
        cancel.cancel();
        let envelope = call.join().expect("it ends");
        assert_eq!(envelope.outcome, RunOutcome::Cancelled, "{envelope:#?}");
    });
}

#[cfg(target_os = "linux")]
#[test]
fn what_a_function_writes_can_be_staged() {
    use prowess_core::ChangesState;
    use prowess_engine::{PythonWorkers, Writes};

    let python = format!(
        "{IMPORT}
def write(name):
    try:
        open(name, 'w').write('x')
    except OSError as error:
        return type(error).__name__
write('imported')
@tool
def go(text: str = \"\"):
    \"\"\"Goes.\"\"\"
    if text == 'fail':
        write('failed')
        raise ValueError('no')
    return write('called')
"
    );
    let mut scene = Scene::module("permissions: [\"filesystem:write:./**\"]\n", &["go"], &python);
    // Workers that stay would keep the layer of an earlier call.
    scene.workers = PythonWorkers::new(2);
    scene.writes = Writes::USUAL;
    let there = |name: &str| scene.root.join("repo").join(name).exists();
    // Importing for a list of tools is no call.
    let mut registry = prowess_engine::ToolRegistry::default();
    scene.load(&mut registry).expect("loaded");
    assert!(!there("imported"));
    let (envelope, _) = scene.call("go", &json!({"text": "fail"})).expect("it starts");
    assert_eq!(envelope.outcome, RunOutcome::Failed);
    let changes = envelope.changes.expect("staged");
    assert_eq!((changes.state, changes.changes.len()), (ChangesState::Pending, 2));
    assert!(!there("failed") && !there("imported"));
    let (envelope, _) = scene.call("go", &Value::Null).expect("it starts");
    assert_eq!((envelope.outcome, envelope.parsed), (RunOutcome::Success, Some(Value::Null)));
    assert_eq!(envelope.changes.expect("staged").state, ChangesState::Applied);
    assert!(there("called") && there("imported") && !there("failed"));
}
