//! Wrong arguments and values of `prowess run`: told as such, with code 2, before anybody is asked.

#![cfg(target_os = "linux")]

use insta::assert_snapshot;
use prowess_testkit::Scene;
use serde_json::Value;

use crate::run::probe;

const TEXT: &[(&str, &str, &str)] = &[("text", "string", "no")];

fn say() -> Scene {
    probe("", &[("say", TEXT, "echo {{text}}")])
}

/// The exit code and what programs are told.
fn check(scene: &Scene, arguments: &[&str]) -> (i32, Value) {
    let mut all = vec!["run"];
    all.extend(arguments);
    all.extend(["--format", "json"]);
    let output = scene.output(&all, "");
    let envelope: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let code = output.status.code().expect("it ends");
    assert_eq!(envelope["exit_code"], code, "{arguments:?}");
    (code, envelope)
}

#[test]
fn a_credential_that_binds_nothing_is_a_wrong_argument() {
    let scene = say().variable("MY_TOKEN", "0123456789abcdef");
    for binding in [
        "MY_TOKEN",
        "=x",
        "MY_TOKEN=localhost:22443",
        "MY_TOKEN=*",
        "MY_TOKEN=*.example.com",
        "MY_TOKEN=93.184.216.34",
    ] {
        let (code, envelope) =
            check(&scene, &["../skills/probe", "--yes", "--credential", binding]);
        assert_eq!((code, &envelope["outcome"]), (2, &"invalid_parameter".into()), "{binding}");
    }
    let twice = ["MY_TOKEN=a.example.com", "MY_TOKEN=b.example.com"];
    let (code, _) =
        check(&scene, &["../skills/probe", "--credential", twice[0], "--credential", twice[1]]);
    assert_eq!(code, 2, "bound twice");
    // What is wrong with the skill or the machine is not.
    let (code, _) = check(&scene, &["../skills/probe", "--credential", "MY_TOKEN=api.example.com"]);
    assert_eq!(code, 125, "no grant for the host");
}

#[test]
fn a_file_that_is_no_value_is_a_wrong_argument() {
    let scene = say()
        .file("repo/zero", b"a\0b")
        .file("repo/bytes", [0xff, 0xfe])
        .file("repo/long", "x".repeat(300_000));
    std::fs::File::create_new(scene.path().join("repo/large"))
        .and_then(|file| file.set_len((16 << 20) + 1))
        .expect("a file full of nothing");
    let mut told = String::new();
    for file in ["zero", "bytes", "long", "large"] {
        let input = format!("text=@{file}");
        let (code, envelope) = check(&scene, &["../skills/probe", "--input", &input, "--yes"]);
        assert_eq!((code, &envelope["outcome"]), (2, &"invalid_parameter".into()), "{file}");
        told.push_str(envelope["error"].as_str().expect("words"));
        told.push('\n');
    }
    assert_snapshot!(told, @"
    say: the parameter `text` contains a NUL byte, which program arguments can't contain
    `bytes` is not UTF-8
    say: the parameter `text` has 300000 bytes, but a program accepts at most 131071 in one argument: pass it in a file
    `large` is larger than 16 MiB
    ");
    // The longest that a program can be handed.
    let scene = scene.file("repo/most", "x".repeat(131_071));
    let (code, envelope) = check(&scene, &["../skills/probe", "--input", "text=@most", "--yes"]);
    assert_eq!((code, &envelope["success"]), (0, &true.into()), "{envelope}");
}

#[test]
fn a_value_is_given_once() {
    let scene = say();
    let arguments =
        ["run", "../skills/probe", "--input", "text=1", "--inputs", "{\"text\": \"2\"}", "--yes"];
    assert_snapshot!(scene.run_with(&arguments, ""), @"
    exit 2
    --- stderr
    error: `text` has two values: `--input text=1` and one in `--inputs`
    hint: give only one of them
    ");
    let twice = "{\"text\": \"1\", \"text\": \"2\"}";
    assert_snapshot!(scene.run_with(&["run", "../skills/probe", "--inputs", twice, "--yes"], ""), @"
    exit 2
    --- stderr
    error: `text` has two values in `--inputs`
    hint: give only one of them
    ");
}

#[test]
fn what_is_not_there_is_called_so() {
    let scene = say();
    for path in ["../skills/nothing", "../skills/probe/nothing"] {
        let (code, envelope) = check(&scene, &[path]);
        assert_eq!((code, &envelope["outcome"]), (3, &"not_found".into()), "{path}");
    }
}

#[test]
fn every_program_that_is_missing_is_named() {
    let scene = probe("", &[("sorts", &[], "./sort.sh")]).script(
        "skills/probe/sort.sh",
        "#!/bin/sh\necho b | perl\necho a | curl -V\necho c | perl\nprowess-nowhere\n",
    );
    let (_, envelope) = check(&scene, &["../skills/probe", "--yes"]);
    assert_eq!(
        envelope["hints"][0],
        "it calls `perl` and `curl`, which the sandbox does not provide; declare it, as in `permissions: [\"shell:execute:perl,curl\"]`",
        "{envelope}"
    );
    assert_eq!(
        envelope["hints"][2],
        "it calls `prowess-nowhere`, which is not on PATH: install it, and declare it"
    );
}
