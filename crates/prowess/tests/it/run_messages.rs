//! What `run` and `policy` say when something is missing, wrong or not what it seems.

#![cfg(target_os = "linux")]

use insta::assert_snapshot;
use prowess_testkit::Scene;
use serde_json::{Value, json};

use crate::run::{TEXT, envelope, probe};
use crate::scene;

fn json_of(scene: &Scene, arguments: &str) -> Value {
    serde_json::from_str(&scene.stdout(arguments)).expect("JSON")
}

#[test]
fn the_policy_says_what_a_run_would_end_with() {
    let scene = probe(
        "",
        &[
            ("gone", &[], "no-such-program-anywhere"),
            ("script", &[], "./nowhere.sh"),
            ("locked", &[], "./locked.sh"),
            ("outside", &[], "../esc/x.sh"),
            ("interpreter", &[], "./odd.sh"),
            ("fine", &[], "true"),
        ],
    )
    .file("skills/probe/locked.sh", "#!/bin/sh\n")
    .script("skills/probe/odd.sh", "#!/no/such/interpreter\n")
    .script("skills/esc/x.sh", "#!/bin/sh\n");
    for tool in ["gone", "script", "locked", "outside", "interpreter"] {
        let run = json_of(&scene, &format!("run ../skills/probe/{tool} --yes --format json"));
        let error = run["error"].as_str().expect("it does not run").to_owned();
        let policy = scene.stdout(&format!("policy ../skills/probe/{tool}"));
        // A refusal of the policy is a list of reasons behind the name of the tool.
        let reason = error.trim_start_matches(&format!("`probe/{tool}` does not run: "));
        assert!(policy.contains(&format!("refused, because {reason}\n")), "{error}\n{policy}");
        let told = json_of(&scene, &format!("policy ../skills/probe/{tool} --format json"));
        assert_eq!(told["tools"][0]["decision"], "deny", "{tool}");
        let obstacle = &told["tools"][0]["obstacle"];
        assert!(obstacle.is_null() || obstacle["exit_code"] == run["exit_code"], "{obstacle}");
        for hint in run["hints"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            assert!(policy.contains(&format!("    {hint}\n")), "{hint}\n{policy}");
        }
    }
    let database = probe("permissions: [\"database:write:shop\"]\n", &[("sell", &[], "true")]);
    let run = json_of(&database, "run ../skills/probe --yes --format json");
    let policy = json_of(&database, "policy ../skills/probe --format json");
    assert!(run["error"].as_str().is_some_and(|error| error.contains("`shop`")), "{run}");
    assert_eq!(policy["tools"][0]["obstacle"]["error"], run["error"]);
    assert_snapshot!(scene.run("policy ../skills/probe/locked"));
    assert_snapshot!(scene.run("run ../skills/probe/outside --yes"));
    let fine = json_of(&scene, "policy ../skills/probe/fine --format json");
    assert_eq!(fine["tools"][0]["obstacle"], Value::Null);
}

#[test]
fn a_broken_skill_tells_programs_what_is_broken() {
    let scene = probe("", &[])
        .file("broken/SKILL.md", "---\nname: broken\nversion: x\n---\n\n### a\n")
        .inside("repo");
    let checked = json_of(&scene, "check ../broken --format json");
    let findings = &checked["files"][0]["diagnostics"];
    assert!(findings.as_array().is_some_and(|list| !list.is_empty()), "{checked}");
    let hint = json!(["correct them first, or try `prowess check --fix`"]);
    let run = json_of(&scene, "run ../broken --format json");
    assert_eq!((&run["findings"], &run["hints"]), (findings, &hint));
    let events = scene.stdout("run ../broken --format events");
    let done: Value =
        serde_json::from_str(events.lines().last().unwrap_or_default()).expect("JSON");
    let envelope = &done["data"]["envelope"];
    assert_eq!((&envelope["findings"], &envelope["hints"]), (findings, &hint));
    let policy = json_of(&scene, "policy ../broken --format json");
    assert_eq!((&policy["findings"], &policy["hints"]), (findings, &hint));
}

#[test]
fn only_a_missing_program_is_called_one() {
    let scene = probe(
        "",
        &[("fails", &[], "./fails.sh"), ("sorts", &[], "./sorts.sh"), ("ends", &[], "./ends.sh")],
    )
    .script("skills/probe/fails.sh", "#!/bin/sh\necho 'cat: notes: not here' >&2\nexit 3\n")
    .script("skills/probe/sorts.sh", "#!/bin/sh\nperl /dev/null || exit 4\n")
    .script("skills/probe/ends.sh", "#!/bin/sh\nexit 127\n");
    let hints = |tool: &str| envelope(&scene, tool, "{}")["hints"].clone();
    assert_eq!(hints("fails"), Value::Null);
    let declare = "it calls `perl`, which the sandbox does not provide; declare it, as in `permissions: [\"shell:execute:perl\"]`";
    let grant = "`--allow shell:execute:perl` grants it for this run";
    assert_eq!(hints("sorts"), json!([declare, grant]));
    assert!(hints("ends")[0].as_str().is_some_and(|hint| hint.starts_with("it may have called")));
    assert_snapshot!(scene.run("run ../skills/probe/sorts --yes"));
}

#[test]
fn a_failure_says_where_it_ran() {
    let scene = probe("read_only: true\n", &[("status", &[], "git status")]).inside("skills");
    let shown = scene.run("run probe --yes");
    let place = "hint: it ran in your home directory `[SCENE]/home`, because `[SCENE]/skills` is not in a repository";
    assert!(shown.contains(place), "{shown}");
    // To a tool that sees no files every place is the same.
    let scene = claw("", "handlers/search.py:nothing", "").inside("shelf");
    let shown = scene.run("run . --yes");
    assert!(shown.starts_with("exit 1") && !shown.contains("it ran in"), "{shown}");
    let scene =
        probe("", &[("fail", &[], "ls nowhere")]).file("repo/deep/x", "").inside("repo/deep");
    let shown = scene.run("run ../../skills/probe --yes");
    let place = "hint: it ran in `[SCENE]/repo`, the root of the repository that contains `[SCENE]/repo/deep`";
    assert!(shown.contains(place), "{shown}");
    let shown = scene.inside("repo").run("run ../skills/probe --yes");
    assert!(!shown.contains("it ran in"), "{shown}");
}

#[test]
fn a_parameter_has_one_value() {
    let scene = probe("", &[("say", TEXT, "echo {{text}}")]);
    assert_snapshot!(scene.run("run ../skills/probe --yes --input text=1 --input text=2"), @"
    exit 2
    --- stderr
    error: `text` has two values: `--input text=1` and `--input text=2`
    hint: give only one of them; for a list use `--inputs` with JSON
    ");
}

#[test]
fn what_is_granted_and_not_there_can_be_made() {
    let permissions = "permissions:\n  - \"filesystem:write:./new\"\n  - \"filesystem:write:./more/**\"\n  - \"shell:execute:mkdir,touch\"\n";
    let script = "#!/bin/sh\nmkdir -p new/deep && touch new/deep/a more/b\ntouch beside\nexit 0\n";
    let tools: &[crate::run::Tool<'_>] = &[("make", &[], "./make.sh"), ("file", &[], "touch new")];
    let made = |tool: &str| {
        let scene = probe(permissions, tools).script("skills/probe/make.sh", script);
        let result = envelope(&scene, tool, "{}");
        assert_eq!(result["success"], true, "{result}");
        scene
    };
    let scene = made("make");
    assert!(scene.path().join("repo/new/deep/a").is_file());
    assert!(scene.path().join("repo/more/b").is_file());
    assert!(!scene.path().join("repo/beside").exists());
    assert!(made("file").path().join("repo/new").is_file());
    let scene = probe(permissions, tools);
    let policy = scene.run("policy ../skills/probe/file");
    for note in [
        "[SCENE]/repo/new does not exist yet: a file or folder of that name may be created\n",
        "[SCENE]/repo/more does not exist yet: that folder is created, and kept if it is not empty\n",
    ] {
        assert!(policy.contains(note), "{policy}");
    }
    let asked =
        scene.run_on_terminal(&["run", "../skills/probe/file"], "n\n").replace("\n    ", " ");
    assert!(asked.contains("[SCENE]/repo/new does not exist yet: a file or folder"), "{asked}");
    // Nothing is made on the way to what is granted.
    let scene = probe(
        "permissions: [\"filesystem:write:./far/away\"]\n",
        &[("make", &[], "touch far/away")],
    );
    let policy = scene.run("policy ../skills/probe");
    let note = "[SCENE]/repo/far/away can't be created, because [SCENE]/repo/far does not exist";
    assert!(policy.contains(note), "{policy}");
    assert_snapshot!(scene.run("run ../skills/probe --yes"));
}

#[test]
fn long_lines_fit_a_terminal_and_stay_whole_in_a_pipe() {
    let scene =
        probe("permissions: [\"network:read:*.brave.com\"]\n", &[("one", &[], "./gone.sh")]);
    for arguments in [
        ["policy", "../skills/probe"].as_slice(),
        &["doctor"],
        &["approvals", "list"],
        &["run", "../skills/probe", "--yes"],
        &["run", "../skills/probe", "--input", "text=1"],
    ] {
        let shown = scene.run_on_terminal(arguments, "");
        for line in shown.lines() {
            // A path is one word, and stays whole.
            let fits = line.chars().count() <= 80 || !line.trim_start().contains(' ');
            assert!(fits || line.contains("[SCENE]"), "{arguments:?}: {line}");
        }
    }
    let whole = scene.stdout("policy ../skills/probe");
    assert!(whole.lines().any(|line| line.chars().count() > 80), "{whole}");
}

#[test]
fn invisible_characters_are_shown_on_a_terminal() {
    let hidden = "a\u{2028}b\u{2029}c\u{85}d\u{3164}e\u{e0100}f\u{fff9}g";
    let scene = probe("read_only: true\n", &[("read", &[], "cat notes")])
        .file("repo/notes", format!("{hidden}\n"));
    let shown = scene.run_on_terminal(&["run", "../skills/probe", "--yes"], "");
    let visible = "a\\u{2028}b\\u{2029}c\\u{85}d\\u{3164}e\\u{e0100}f\\u{fff9}g";
    assert!(shown.contains(visible), "{shown:?}");
}

/// An OpenClaw skill with one action.
fn claw(front_matter: &str, handler: &str, code: &str) -> Scene {
    let text = format!(
        "---\nname: shelf\nclaw_version: 1.0.0\ndescription: Finds books\nnetwork: false\n{front_matter}actions:\n  - name: search\n    description: Searches\n    handler: {handler}\n    parameters:\n      query: {{type: string, required: false}}\n---\n\n# Shelf\n"
    );
    scene()
        .home("home")
        .variable("PATH", "/usr/local/bin:/usr/bin:/bin")
        .file("repo/.git/HEAD", "ref: refs/heads/main\n")
        .file("shelf/SKILL.md", text)
        .file("shelf/handlers/search.py", code)
        .inside("repo")
}

#[test]
fn handlers_say_what_is_wrong_with_them() {
    let raises = "def search(query=None):\n    raise ValueError('no such shelf')\n";
    let returns = "def search(query=None):\n    return {1, 2}\n";
    let half = "def search(query=None):\n    return '\\ud800'\n";
    let ends = "import os\n\ndef search(query=None):\n    os._exit(0)\n";
    for (name, handler, code) in [
        ("misspelt_file", "handlers/serch.py", ""),
        ("other_language", "handlers/search.rb", ""),
        ("no_function", "handlers/search.py:serch", "def search(query=None):\n    return 1\n"),
        ("raises", "handlers/search.py", raises),
        ("returns_a_set", "handlers/search.py", returns),
        ("returns_half_a_character", "handlers/search.py", half),
        ("ends_itself", "handlers/search.py", ends),
    ] {
        let scene = claw("", handler, code);
        assert_snapshot!(format!("handler_{name}"), scene.run("run ../shelf --yes"));
    }
}

/// Makes a wheel in a folder.
const WHEEL: &str = r#"
import sys, zipfile
folder = sys.argv[1]
info = "words_of_wisdom-1.2.0.dist-info"
with zipfile.ZipFile(f"{folder}/words_of_wisdom-1.2.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("wisdom.py", "def say(): return 'less is more'\n")
    wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: words-of-wisdom\nVersion: 1.2.0\n")
    wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(f"{info}/RECORD", f"wisdom.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")
"#;

#[test]
fn handlers_in_javascript_say_it_too() {
    let code = "exports.search = (given) => { if (given.query === 'x') throw new TypeError('no'); return { found: given.query }; };\n";
    let scene = claw("", "handlers/search.js", "").file("shelf/handlers/search.js", code);
    assert_eq!(scene.stdout("run ../shelf --yes --input query=ants"), "{\"found\":\"ants\"}\n");
    let shown = scene.run("run ../shelf --yes --input query=x");
    assert!(shown.ends_with("note: `search` raised TypeError: no\n"), "{shown}");
    let scene = claw("", "handlers/search.js:serch", "").file("shelf/handlers/search.js", code);
    assert_snapshot!(scene.run("run ../shelf --yes"), @"
    exit 1
    --- stderr
    note: `search` has no function `serch` in handlers/search.js; the functions there: search
    ");
}

#[test]
fn packages_of_handlers_are_installed() {
    let code = "import wisdom\n\ndef search(query=None):\n    return wisdom.say()\n";
    let needs = |package: &str| {
        let scene = claw(&format!("pip_requires: [{package}]\n"), "handlers/search.py", code)
            .file("wheels/.keep", "");
        let folder = scene.path().join("wheels").display().to_string();
        let made = std::process::Command::new("/usr/bin/python3")
            .args(["-I", "-c", WHEEL, &folder])
            .status();
        assert!(made.expect("Python is there").success());
        scene.variable("PIP_NO_INDEX", "1").variable("PIP_FIND_LINKS", &folder)
    };
    let scene = needs("words-of-wisdom");
    let shown = scene.run("run ../shelf --yes");
    assert!(shown.starts_with("exit 0\n--- stdout\n\"less is more\"\n"), "{shown}");
    // What an installer says over several lines is told over several lines.
    let shown = needs("words-of-folly").run("run ../shelf --yes");
    assert!(shown.starts_with("exit 125"), "{shown}");
    assert!(shown.contains("failed:\n  ") && !shown.contains("\\n"), "{shown}");
    assert!(shown.contains("\nhint: only wheels are installed"), "{shown}");
}
