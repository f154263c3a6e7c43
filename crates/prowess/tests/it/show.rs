//! `prowess show`: the model in words and as JSON.

use insta::assert_snapshot;
use serde_json::Value;

use crate::{scene, skill};

#[test]
fn commands_are_shown_with_the_defaults_that_count() {
    let scene = scene().copy("fixtures/gibberish/8.1/git", "git");
    assert_snapshot!(scene.run("show git"));
}

#[test]
fn json_has_every_key() {
    let scene = scene().file("hello/SKILL.md", skill("hello"));
    assert_snapshot!(scene.run("show hello --format json"));
}

#[test]
fn json_holds_tools_and_permissions() {
    let scene = scene().copy("fixtures/gaia/2.1/web-search", "web-search");
    assert_snapshot!(scene.run("show web-search --format json"));
}

#[test]
fn unknown_fields_are_shown() {
    // SRT-CLI-2
    let scene = scene().file(
        "hello/SKILL.md",
        "---\nname: hello\nversion: 1.0.0\ndescription: Does one thing\nx-team: blue\nx-map: {a: [1, 2]}\n---\n\nText\n",
    );
    let output = scene.run("show hello");
    assert!(output.contains("x-team: blue"), "{output}");
    assert!(output.contains("x-map: {\"a\":[1,2]}"), "{output}");
}

#[test]
fn files_beside_the_skill_are_its_resources() {
    // GIB-1.1-2
    let scene = scene()
        .file("hello/SKILL.md", skill("hello"))
        .file("hello/scripts/run.sh", "")
        .file("hello/assets/deep/logo.svg", "")
        .file("hello/references/notes.md", "")
        .file("hello/elsewhere/secret.txt", "");
    let value: Value =
        serde_json::from_str(&scene.stdout("show hello --format json")).expect("JSON");
    assert_eq!(
        value["resources"],
        serde_json::json!(["assets/deep/logo.svg", "references/notes.md", "scripts/run.sh"])
    );
    assert!(scene.run("show hello").contains("scripts/run.sh"));
}

#[test]
fn the_name_falls_back_to_the_directory() {
    let scene = scene().file("hello/SKILL.md", "---\ndescription: Does one thing\n---\n\nText\n");
    let value: Value =
        serde_json::from_str(&scene.stdout("show hello --format json")).expect("JSON");
    assert_eq!(value["name"], "hello");
}

#[test]
fn broken_front_matter_is_shown_as_check_shows_it() {
    let scene = scene().file("hello/SKILL.md", "---\n- a\n- list\n---\n\nText\n");
    assert_snapshot!(scene.run("show hello --format json"));
}

#[test]
fn every_spelling_is_found_in_a_folder() {
    // OC-7
    for name in ["SKILL.md", "skill.md", "Skill.md", "skills.md", "SKILLS.md"] {
        let scene = scene().file(&format!("hello/{name}"), skill("hello"));
        assert!(scene.run("show hello").starts_with("exit 0"), "{name}");
    }
}

#[test]
fn agent_manifests_are_shown() {
    // GAIA-9.1-2
    let scene = scene().copy("fixtures/agent-manifest/9.3/notes-agent", "agent");
    assert_snapshot!(scene.run("show agent"));
    assert_snapshot!(scene.run("show agent/gaia-agent.yaml --format json"));
}

#[test]
fn prose_from_elsewhere_is_shown_behind_a_warning() {
    // SRT-9-2
    use std::io::{Read as _, Seek as _, Write as _};
    use std::process::Stdio;
    let prose = "# Tidy up\n\nDelete everything.\n";
    let scene = scene().file("tidy/SKILL.md", prose);
    let warning = "warning: this text comes from standard input, which is not trusted";
    // Both streams into one file, so that their order can be seen.
    let shown = |arguments: &[&str]| {
        let mut file = tempfile::tempfile().expect("a temporary file");
        let copy = || Stdio::from(file.try_clone().expect("a descriptor can be copied"));
        let mut command = scene.command(arguments);
        let command = command.stdin(Stdio::piped()).stdout(copy()).stderr(copy());
        let mut child = command.spawn().expect("it starts");
        let mut input = child.stdin.take().expect("it is a pipe");
        input.write_all(prose.as_bytes()).expect("it reads");
        drop(input);
        assert!(child.wait().expect("it ends").success());
        let mut text = String::new();
        file.rewind().and_then(|()| file.read_to_string(&mut text)).expect("it is text");
        text
    };
    for arguments in [
        ["show", "-"].as_slice(),
        &["show", "-", "--verbose"],
        &["show", "-", "--format", "json"],
        &["render", "-"],
    ] {
        let text = shown(arguments);
        assert!(text.starts_with(warning), "{text}");
    }
    // A file of the user's, and one that says what it can do, need none.
    assert!(!shown(&["show", "tidy", "--verbose"]).contains("warning"));
    let declared = scene.run_with(&["show", "-"], &skill("hello"));
    assert!(!declared.contains("warning"), "{declared}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_download_is_known_by_its_mark() {
    let scene = scene().file("tidy/SKILL.md", "# Tidy up\n\nDelete everything.\n");
    let mark = "https://example.com/tidy\u{1b}[2K";
    let marked = rustix::fs::setxattr(
        scene.path().join("tidy/SKILL.md"),
        "user.xdg.origin.url",
        mark.as_bytes(),
        rustix::fs::XattrFlags::empty(),
    );
    let shown = scene.run("show tidy");
    // A file system that keeps no marks has nothing to tell.
    let expected = marked.is_ok();
    let told = shown.contains("warning: this text comes from `https://example.com/tidy\\u{1b}[2K`");
    assert_eq!(told, expected, "{shown}");
}

#[test]
fn programs_are_told_why_nothing_is_shown() {
    let scene = scene()
        .file("list/SKILL.md", "---\n- a\n---\n")
        .file("binary/SKILL.md", [0x7f, b'E', b'L', b'F', 0, 1, 2, 0xff].repeat(300))
        .file("folder/other", "");
    for (path, code, has_findings) in
        [("list", 1, true), ("binary", 1, true), ("folder", 3, false), ("nothing", 3, false)]
    {
        let output = scene.output(&["show", path, "--format", "json"], "");
        let told: serde_json::Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(output.status.code(), Some(code), "{path}: {told}");
        assert!(told["error"].as_str().is_some_and(|error| error.contains(path)), "{told}");
        let findings = told["findings"].as_array().expect("a list");
        assert_eq!(!findings.is_empty(), has_findings, "{path}: {told}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn long_descriptions_fit_a_terminal() {
    let description = "one two three four five six seven eight nine ten ".repeat(4);
    let text = format!("---\nname: long\ndescription: {}\n---\n\n# Long\n", description.trim());
    let scene = scene().file("long/SKILL.md", text);
    let shown = scene.run_on_terminal(&["show", "long"], "");
    assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    assert!(shown.contains("\n                  "), "what goes on stands below: {shown}");
    assert!(scene.stdout("show long").lines().any(|line| line.len() > 80), "a pipe gets the line");
}
