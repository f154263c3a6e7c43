//! Scripts of skills of instructions, and command lines that run as a skill would.

#![cfg(target_os = "linux")]

use std::os::unix::fs::symlink;

use prowess_testkit::Scene;
use prowess_testkit::archives::{zip, zipped};
use serde_json::{Value, json};

use crate::scene;

/// A machine with a project and a skill of the open standard; `front_matter` is more of it.
fn forms(front_matter: &str) -> Scene {
    let text = format!(
        "---\nname: forms\ndescription: Reads forms. Use when a PDF has forms.\n{front_matter}---\n\nRun it.\n"
    );
    scene()
        .home("home")
        .variable("PATH", "/usr/local/bin:/usr/bin:/bin")
        .file("repo/.git/HEAD", "ref: refs/heads/main\n")
        .file("repo/sub/notes.txt", "one\nerror: two\n")
        .file("skills/forms/SKILL.md", text)
        .inside("repo/sub")
}

/// The exit code and the envelope.
fn envelope(scene: &Scene, arguments: &[&str]) -> (i32, Value) {
    let (verb, rest) = arguments.split_first().expect("a verb");
    let mut all = vec![*verb, "--format", "json"];
    all.extend(rest);
    let output = scene.output(&all, "");
    let envelope: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{arguments:?}: {error}: {}", String::from_utf8_lossy(&output.stderr))
    });
    let code = output.status.code().expect("it ends");
    assert_eq!(envelope["exit_code"], code, "{arguments:?}: {envelope}");
    (code, envelope)
}

fn run(scene: &Scene, script: &str, arguments: &[&str]) -> (i32, Value) {
    let path = format!("../../skills/forms/{script}");
    let mut all = vec!["run", &path, "--yes", "--"];
    all.extend(arguments);
    envelope(scene, &all)
}

fn warnings(envelope: &Value) -> String {
    let all = envelope["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str);
    all.collect::<Vec<_>>().join("\n")
}

#[test]
fn each_language_gets_its_interpreter_and_its_arguments() {
    let python = "import sys\nprint('|'.join(sys.argv[1:]))\n";
    let shell = "printf '%s|%s|%s\\n' \"$@\"\n";
    let node = "console.log(process.argv.slice(2).join('|'))\n";
    let perl = "print join('|', @ARGV), \"\\n\";\n";
    let unbuffered = "import sys\nassert sys.stdout.write_through\nprint('|'.join(sys.argv[1:]))\n";
    let cases = [
        ("scripts/a.py", python.to_owned()),
        ("scripts/b.sh", shell.to_owned()),
        ("scripts/c.bash", shell.to_owned()),
        ("scripts/d", format!("#!/bin/sh\n{shell}")),
        ("scripts/e", format!("#!/usr/bin/env -S python3 -u\n{unbuffered}")),
        ("scripts/f.txt.py", format!("#!/usr/bin/env python3\r\n{}", python.replace('\n', "\r\n"))),
        ("scripts/g.pl", perl.to_owned()),
        ("tool.mjs", node.to_owned()),
        ("deep/er/h.cjs", format!("#!/opt/nowhere/bin/node\n{node}")),
    ];
    let scene = cases
        .iter()
        .fold(forms(""), |scene, (path, text)| scene.file(&format!("skills/forms/{path}"), text));
    for (path, _) in &cases {
        let (code, envelope) = run(&scene, path, &["a b", "; touch owned", "--yes"]);
        assert_eq!((code, &envelope["output"]), (0, &json!("a b|; touch owned|--yes\n")), "{path}");
    }
    assert!(!scene.path().join("repo/sub/owned").exists());
}

#[test]
fn a_python_script_imports_its_neighbours_and_works_where_the_user_is() {
    let text = "import os, subprocess, neighbour\n\
        print(neighbour.VALUE, os.path.basename(os.getcwd()))\n\
        print(open(os.path.join(os.environ['PROWESS_SKILL_DIR'], 'data.txt')).read())\n\
        print(subprocess.run(['sort'], input='b\\na\\n', text=True, capture_output=True).stdout)\n\
        open('made.txt', 'w').write('x')\n\
        try:\n    open(os.path.join(os.path.dirname(__file__), 'x'), 'w')\n\
        except OSError as error:\n    print(type(error).__name__)\n\
        try:\n    subprocess.run(['curl', '-V'])\n\
        except OSError as error:\n    print(type(error).__name__)\n";
    let scene = forms("")
        .file("skills/forms/scripts/main.py", text)
        .file("skills/forms/scripts/neighbour.py", "VALUE = 7\n")
        .file("skills/forms/data.txt", "data");
    let (code, envelope) = run(&scene, "scripts/main.py", &[]);
    let said = envelope["output"].as_str().expect("text");
    assert_eq!(code, 0, "{envelope}");
    assert_eq!(said, "7 sub\ndata\na\nb\n\nOSError\nFileNotFoundError\n", "{envelope}");
    assert_eq!(scene.text("repo/sub/made.txt"), "x");
    assert!(!scene.path().join("skills/forms/scripts/__pycache__").exists());
}

#[test]
fn a_shell_script_has_base_utilities_and_nothing_with_a_reach_of_its_own() {
    let text = "#!/bin/bash\nset -eu\n\
        if grep -q error \"$1\"; then echo \"errors: $(grep -c error \"$1\")\"; else echo none; fi\n\
        sed 's/one/1/' \"$1\" | sort -r | head -n 1 | awk '{print $1}' | tr a-z A-Z\n\
        find . -name '*.txt' | xargs wc -l | cut -d. -f2-\n\
        tar -cf t.tar notes.txt && gzip t.tar && gunzip -c t.tar.gz | tar -tf - && rm t.tar.gz\n\
        date >/dev/null; mktemp >/dev/null; diff \"$1\" \"$1\"; bash -c 'echo inner'\n\
        for program in curl git ssh python3 perl node; do type \"$program\" 2>/dev/null && exit 9; done\n\
        exit 0\n";
    let scene = forms("").file("skills/forms/scripts/look.sh", text);
    let (code, envelope) = run(&scene, "scripts/look.sh", &["notes.txt"]);
    assert_eq!(
        (code, &envelope["output"]),
        (0, &json!("errors: 1\nERROR:\n/notes.txt\nnotes.txt\ninner\n")),
        "{envelope}"
    );
}

#[test]
fn a_command_tool_that_is_a_shell_script_has_base_utilities_too() {
    let scene =
        crate::run::probe("", &[("look", &[], "./look.sh"), ("plain", &[], "ls /bin/sort")])
            .script("skills/probe/look.sh", "#!/bin/sh\nprintf 'b\\na\\n' | sort | paste -sd,\n");
    assert_eq!(crate::run::envelope(&scene, "look", "{}")["output"], "a,b\n");
    // One program of the system is still one program.
    assert_eq!(crate::run::envelope(&scene, "plain", "{}")["success"], false);
}

#[test]
fn all_missing_programs_are_told_at_once_even_if_the_script_succeeds() {
    let text = "#!/bin/bash\n. \"$(dirname \"$0\")/lib.sh\"\nhelper\n\
        if git status >/dev/null 2>&1; then echo clean; else echo dirty; fi\n\
        frobnicate 2>/dev/null\n\
        command -v curl >/dev/null && curl -s https://example.com\n\
        tool=node; $tool --version\nexit 0\n";
    let scene = forms("")
        .file("skills/forms/scripts/all.sh", text)
        .file("skills/forms/scripts/lib.sh", "helper() { perl -e 1 2>/dev/null; }\n");
    let (code, envelope) = run(&scene, "scripts/all.sh", &[]);
    assert_eq!((code, &envelope["success"]), (0, &json!(true)), "{envelope}");
    assert_eq!(
        warnings(&envelope),
        "`scripts/all.sh` calls `git`, `curl` and `perl`, which the sandbox does not provide; declare or grant `shell:execute:git,curl,perl`\n\
         `scripts/all.sh` calls `frobnicate`, which is not on this machine\n\
         it looked for `node`, which the sandbox does not provide"
    );
    let policy = scene.stdout("policy ../../skills/forms/scripts/all.sh");
    assert!(policy.contains("calls `git`, `curl` and `perl`"), "{policy}");
    let asked = scene.run_on_terminal(&["run", "../../skills/forms/scripts/all.sh"], "n\n");
    assert!(asked.contains("`frobnicate`"), "{asked}");
}

#[test]
fn programs_that_a_python_script_starts_are_told_too() {
    let text = "import subprocess, os, sys\n\
        if len(sys.argv) > 9:\n    subprocess.run(['git', 'log'])\n    os.system('curl x | sort')\n\
        print(subprocess.run(['python3', '-c', 'print(6*7)'], capture_output=True, text=True).stdout)\n";
    let scene = forms("").file("skills/forms/scripts/a.py", text);
    let (code, envelope) = run(&scene, "scripts/a.py", &[]);
    assert_eq!((code, &envelope["output"]), (0, &json!("42\n\n")), "{envelope}");
    let told = "`scripts/a.py` calls `git` and `curl`, which the sandbox does not provide; declare or grant `shell:execute:git,curl`";
    assert_eq!(warnings(&envelope), told);
    let policy = scene.stdout("policy ../../skills/forms/scripts/a.py");
    assert!(policy.contains(told), "{policy}");
}

#[test]
fn a_declared_program_is_there_and_not_told() {
    let scene = forms("permissions: [\"shell:execute:perl\", \"filesystem:read:./**\"]\n")
        .file("skills/forms/scripts/p.sh", "perl -e 'print 6*7'\n");
    let (code, envelope) = run(&scene, "scripts/p.sh", &[]);
    assert_eq!((code, &envelope["output"]), (0, &json!("42")), "{envelope}");
    assert_eq!(warnings(&envelope), "");
}

#[test]
fn files_that_are_no_scripts_are_refused_with_the_reason() {
    let scene = forms("")
        .file("skills/forms/scripts/empty.sh", "")
        .file("skills/forms/scripts/crlf.sh", "#!/bin/sh\r\necho hi\r\n")
        .file("skills/forms/scripts/data.csv", "a,b\n")
        .file("skills/forms/scripts/plain", "echo hi\n")
        .file("skills/forms/scripts/relative.py", "#!./python\n")
        .file("skills/forms/scripts/gone", "#!/usr/bin/env no-such-interpreter\n")
        .file("skills/forms/scripts/ok.sh", "echo ok\n")
        .file("skills/x.sh", "echo outside\n");
    for (path, code, reason) in [
        ("scripts/empty.sh", 126, "the file is empty"),
        ("scripts/crlf.sh", 126, "Windows line endings"),
        ("scripts/data.csv", 126, "neither a `#!` line nor"),
        ("scripts/plain", 126, "neither a `#!` line nor"),
        ("scripts/relative.py", 126, "neither a name nor an absolute path"),
        ("scripts/gone", 127, "`no-such-interpreter` was not found"),
        ("scripts/nope.sh", 3, "no script `scripts/nope.sh`"),
        ("scripts", 2, "is a folder"),
        ("../x.sh", 125, "outside the folder"),
        ("scripts/../../x.sh", 125, "outside the folder"),
    ] {
        let (found, envelope) = run(&scene, path, &[]);
        let error = envelope["error"].as_str().unwrap_or_default();
        assert!(found == code && error.contains(reason), "{path}: {found} {envelope}");
    }
    let (_, envelope) = run(&scene, "scripts/okk.sh", &[]);
    assert_eq!(envelope["hints"], json!(["did you mean `scripts/ok.sh`?"]), "{envelope}");
}

#[test]
fn a_link_out_of_the_skill_is_refused() {
    let scene = forms("")
        .file("skills/other.sh", "echo outside\n")
        .file("skills/forms/scripts/ok.sh", "echo ok\n");
    let link = scene.path().join("skills/forms/scripts/link.sh");
    symlink("../../other.sh", link).expect("a link");
    let (code, envelope) = run(&scene, "scripts/link.sh", &[]);
    assert_eq!(code, 125, "{envelope}");
    assert!(envelope["error"].as_str().is_some_and(|it| it.contains("outside")), "{envelope}");
    let inside = scene.path().join("skills/forms/scripts/inside.sh");
    symlink("ok.sh", inside).expect("a link");
    std::fs::remove_file(scene.path().join("skills/forms/scripts/link.sh")).expect("it is there");
    assert_eq!(run(&scene, "scripts/inside.sh", &[]).1["output"], "ok\n");
}

#[test]
fn a_binary_runs_if_it_is_executable() {
    let bytes = std::fs::read("/bin/echo").expect("every machine has one");
    let scene =
        forms("").script("skills/forms/bin/say", &bytes).file("skills/forms/bin/locked", &bytes);
    assert_eq!(run(&scene, "bin/say", &["a b"]).1["output"], "a b\n");
    assert_eq!(run(&scene, "bin/locked", &[]).0, 126);
}

#[test]
fn arguments_are_for_scripts() {
    let scene = crate::run::probe("", &[("say", crate::run::TEXT, "echo {{text}}")])
        .file("skills/probe/x.sh", "echo \"$#\"\n");
    let (code, envelope) = envelope(&scene, &["run", "../skills/probe/say", "--yes", "--", "a"]);
    assert_eq!((code, &envelope["outcome"]), (2, &json!("invalid_parameter")));
    let inputs =
        ["run", "../skills/probe/x.sh", "--yes", "--inputs", "{\"arguments\": [\"a\", 2]}"];
    assert_eq!(self::envelope(&scene, &inputs).1["output"], "2\n");
    let (code, _) = self::envelope(&scene, &[&inputs[..], &["--", "b"]].concat());
    assert_eq!(code, 2, "twice");
    let wrong = ["run", "../skills/probe/x.sh", "--yes", "--input", "count=1"];
    assert_eq!(self::envelope(&scene, &wrong).0, 2);
}

#[test]
fn the_script_file_itself_can_be_named() {
    let scene = forms("").file("skills/forms/scripts/ok.sh", "pwd | sed 's|.*/||'\n");
    let scene = scene.inside("skills/forms/scripts");
    assert_eq!(envelope(&scene, &["run", "ok.sh", "--yes"]).1["output"], "scripts\n");
    let whole = scene.path().join("skills/forms/scripts/ok.sh");
    let whole = whole.to_str().expect("UTF-8");
    assert_eq!(envelope(&scene, &["run", whole, "--yes"]).0, 0);
}

#[test]
fn installed_skills_have_scripts() {
    let scene = forms("").file("skills/forms/scripts/ok.sh", "echo installed\n");
    let installed = scene.run("install ../../skills/forms --yes --allow-experimental");
    assert!(installed.contains("exit 0"), "{installed}");
    std::fs::remove_dir_all(scene.path().join("skills")).expect("it is ours");
    let (code, envelope) = envelope(&scene, &["run", "forms/scripts/ok.sh", "--yes"]);
    let told = (code, envelope["output"].as_str(), envelope["error"].as_str());
    // A local folder that was installed keeps its origin, so `--yes` is enough.
    assert_eq!(told, (0, Some("installed\n"), None), "{envelope}");
    let (code, envelope) = self::envelope(&scene, &["run", "forms/scripts/no.sh", "--yes"]);
    assert_eq!(code, 3, "{envelope}");
    assert_eq!(self::envelope(&scene, &["exec", "forms", "--yes", "--", "ls"]).0, 0);
}

#[test]
fn an_approval_is_void_when_any_file_changes() {
    let scene = forms("permissions: [\"filesystem:read:./**\"]\n")
        .file("skills/forms/scripts/ok.sh", ". ./lib.sh 2>/dev/null; echo ok\n")
        .file("skills/forms/scripts/lib.sh", "x=1\n");
    let script = ["run", "../../skills/forms/scripts/ok.sh"];
    let first = scene.run_on_terminal(&script, "y\n");
    assert!(first.contains("bash scripts/ok.sh"), "{first}");
    assert_eq!(envelope(&scene, &script).0, 0, "it was approved");
    let scene = scene.file("skills/forms/scripts/lib.sh", "x=2\n");
    let (code, envelope) = envelope(&scene, &script);
    let error = envelope["error"].as_str().unwrap_or_default();
    assert!(code == 125 && error.contains("lib.sh"), "{envelope}");
}

#[test]
fn an_approval_of_the_whole_skill_covers_its_scripts() {
    let scene = forms("permissions: [\"filesystem:read:./**\"]\n")
        .file("skills/forms/scripts/a.sh", "echo a\n")
        .file("skills/forms/scripts/b.sh", "echo b\n")
        .file("skills/forms/scripts/c.py", "print('c')\n");
    scene.run_on_terminal(&["run", "../../skills/forms/scripts/a.sh"], "a\n");
    assert_eq!(envelope(&scene, &["run", "../../skills/forms/scripts/b.sh"]).0, 0);
    // Another interpreter is another program.
    assert_eq!(envelope(&scene, &["run", "../../skills/forms/scripts/c.py"]).0, 125);
}

#[test]
fn a_skill_that_forbids_programs_runs_none() {
    let scene =
        forms("permissions: [\"shell:none\"]\n").file("skills/forms/scripts/a.sh", "echo\n");
    assert_eq!(run(&scene, "scripts/a.sh", &[]).0, 125);
    assert_eq!(envelope(&scene, &["exec", "../../skills/forms", "--yes", "--", "ls"]).0, 125);
}

#[test]
fn exec_runs_a_command_line_where_the_user_is() {
    let scene = forms("").file("skills/forms/scripts/ok.sh", "echo \"$1\"; pwd | sed 's|.*/||'\n");
    let exec = |words: &[&str]| {
        let start = ["exec", "../../skills/forms", "--yes", "--"];
        let (code, envelope) = envelope(&scene, &[&start[..], words].concat());
        (code, envelope["output"].as_str().unwrap_or_default().to_owned(), envelope)
    };
    assert_eq!(exec(&["ls"]).1, "notes.txt\n");
    assert_eq!(exec(&["scripts/ok.sh", "a b"]).1, "a b\nsub\n");
    assert_eq!(exec(&["./scripts/ok.sh", "x"]).1, "x\nsub\n");
    assert_eq!(exec(&["sh", "-c", "cat notes.txt | wc -l; exit 7"]).0, 7);
    assert_eq!(exec(&["echo", "$HOME", ";", "*"]).1, "$HOME ; *\n");
    assert_eq!(exec(&["no-such-program"]).0, 127);
    assert_eq!(exec(&["scripts/none.sh"]).0, 3);
    assert_eq!(exec(&["../x.sh"]).0, 125);
    assert_eq!(exec(&[""]).0, 125);
    let (code, _, told) = exec(&["sh", "-c", "git log || true"]);
    assert_eq!(code, 0);
    assert!(warnings(&told).contains("`exec:sh` calls `git`"), "{told}");
    let (_, _, secret) = exec(&["cat", "/etc/shadow"]);
    assert_eq!(secret["success"], false);
    let shown = scene.run("exec ../../skills/forms --yes -- bash scripts/ok.sh");
    assert!(shown.contains("hint: write `[SCENE]/skills/forms/scripts/ok.sh`"), "{shown}");
}

#[test]
fn exec_is_refused_with_125_when_nobody_can_be_asked() {
    let scene = forms("");
    let (code, envelope) = envelope(&scene, &["exec", "../../skills/forms", "--", "ls"]);
    assert_eq!((code, &envelope["outcome"]), (125, &json!("refused")));
    assert_eq!(envelope["remedies"][0]["action"], "approve");
    let asked = scene.run_on_terminal(&["exec", "../../skills/forms", "--", "ls"], "y\n");
    assert!(asked.contains("notes.txt"), "{asked}");
    // The answer is for this program, whatever its arguments are.
    let again = ["exec", "../../skills/forms", "--", "ls", "-a"];
    assert_eq!(self::envelope(&scene, &again).0, 0);
    let other = ["exec", "../../skills/forms", "--", "cat", "notes.txt"];
    assert_eq!(self::envelope(&scene, &other).0, 125);
}

#[test]
fn exec_needs_a_command_and_a_folder_without_the_home() {
    let scene = forms("");
    assert!(scene.run("exec ../../skills/forms").contains("exit 2"));
    assert!(scene.run("exec ../../skills/none -- ls").contains("exit 3"));
    let above = scene.inside("");
    let (code, envelope) = envelope(&above, &["exec", "skills/forms", "--yes", "--", "ls"]);
    let error = envelope["error"].as_str().unwrap_or_default();
    assert!(code == 125 && error.contains("your home is in it"), "{envelope}");
}

#[test]
fn events_of_a_script_are_those_of_a_tool() {
    let scene = forms("").file("skills/forms/scripts/ok.sh", "echo ok\n");
    let events = scene.stdout("run ../../skills/forms/scripts/ok.sh --yes --format events -- a");
    let first: Value = serde_json::from_str(events.lines().next().expect("a line")).expect("JSON");
    assert!(first.to_string().contains("scripts/ok.sh"), "{first}");
    let last: Value = serde_json::from_str(events.lines().last().expect("a line")).expect("JSON");
    assert_eq!(last["data"]["envelope"]["output"], "ok\n");
}

#[test]
fn scripts_are_shown_and_named_in_hints() {
    let scene = forms("")
        .file("skills/forms/scripts/a.py", "print(1)\n")
        .file("skills/forms/scripts/b", "#!/usr/bin/env bash\n")
        .file("skills/forms/scripts/data.csv", "a,b\n")
        .file("skills/forms/scripts/__init__.py", "")
        .file("skills/forms/node_modules/x/y.js", "1\n")
        .file("skills/forms/lib/c.ts", "1\n")
        .file("skills/forms/references/notes.md", "#!/bin/sh\n");
    let shown: Value =
        serde_json::from_str(&scene.stdout("show ../../skills/forms --format json")).expect("JSON");
    assert_eq!(
        shown["scripts"],
        json!([
            { "path": "lib/c.ts", "kind": "typescript", "interpreter": "bun" },
            { "path": "scripts/a.py", "kind": "python", "interpreter": "python3" },
            { "path": "scripts/b", "kind": "shell", "interpreter": "bash" },
        ])
    );
    let text = scene.stdout("show ../../skills/forms");
    assert!(text.contains("\nscripts\n  lib/c.ts (typescript, bun)\n"), "{text}");
    let hint = scene.run("run ../../skills/forms");
    assert!(hint.contains("its scripts are `lib/c.ts`, `scripts/a.py`, `scripts/b`"), "{hint}");
    let policy: Value =
        serde_json::from_str(&scene.stdout("policy ../../skills/forms/scripts/a.py --format json"))
            .expect("JSON");
    assert_eq!(policy["tools"][0]["tool"], "scripts/a.py");
    assert_eq!(policy["tools"][0]["decision"], "ask");
}

#[test]
fn inline_packages_that_cannot_be_used_are_refused() {
    let block = |lines: &str| format!("# /// script\n{lines}# ///\nprint('ok')\n");
    let scene = forms("")
        .file("skills/forms/none.py", block("# dependencies = []\n# requires-python = \">=3.8\"\n"))
        .file(
            "skills/forms/url.py",
            block("# dependencies = [\"a @ https://example.com/a.whl\"]\n"),
        )
        .file("skills/forms/future.py", block("# requires-python = \">=9\"\n"))
        .file("skills/forms/broken.py", block("# dependencies = [\n"));
    let (code, envelope) = run(&scene, "none.py", &[]);
    assert_eq!((code, &envelope["output"]), (0, &json!("ok\n")), "{envelope}");
    for (script, reason) in
        [("url.py", "URL"), ("future.py", "needs Python >=9"), ("broken.py", "inline metadata")]
    {
        let (code, envelope) = run(&scene, script, &[]);
        let error = envelope["error"].as_str().unwrap_or_default();
        assert!(code == 125 && error.contains(reason), "{script}: {envelope}");
    }
}

#[test]
fn inline_packages_are_installed_for_the_script() {
    let text = "#!/usr/bin/env -S uv run --script\n# /// script\n# dependencies = [\"tinypkg>=1\"]\n# ///\n\
        import neighbour, tinypkg\nprint(tinypkg.VALUE + neighbour.VALUE)\n";
    let about = "Metadata-Version: 2.1\nName: tinypkg\nVersion: 1.0\n";
    let wheel = "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n";
    let record = "tinypkg.py,,\ntinypkg-1.0.dist-info/METADATA,,\ntinypkg-1.0.dist-info/WHEEL,,\ntinypkg-1.0.dist-info/RECORD,,\n";
    let archive = zip(&[
        zipped("tinypkg.py", b"VALUE = 40\n"),
        zipped("tinypkg-1.0.dist-info/METADATA", about.as_bytes()),
        zipped("tinypkg-1.0.dist-info/WHEEL", wheel.as_bytes()),
        zipped("tinypkg-1.0.dist-info/RECORD", record.as_bytes()),
    ]);
    let scene = forms("")
        .file("wheels/tinypkg-1.0-py3-none-any.whl", archive)
        .file("skills/forms/scripts/neighbour.py", "VALUE = 2\n")
        .file("skills/forms/scripts/main.py", text);
    let wheels = scene.path().join("wheels").display().to_string();
    let scene = scene.variable("PIP_NO_INDEX", "1").variable("PIP_FIND_LINKS", &wheels);
    for run in ["first", "second"] {
        let (code, envelope) = self::run(&scene, "scripts/main.py", &[]);
        assert_eq!((code, &envelope["output"]), (0, &json!("42\n")), "{run}: {envelope}");
    }
}
