//! `prowess run`: real tools behind real walls, through the real binary.

use std::fmt::Write as _;

use insta::assert_snapshot;
use prowess_testkit::Scene;
use serde_json::{Value, json};

use crate::scene;

/// A tool: name, parameters (name, type, required), command.
pub(crate) type Tool<'t> = (&'t str, &'t [(&'t str, &'t str, &'t str)], &'t str);

pub(crate) fn skill(front_matter: &str, tools: &[Tool<'_>]) -> String {
    let mut text =
        format!("---\nname: probe\nversion: 1.0.0\ndescription: Looks around\n{front_matter}---\n");
    for (name, parameters, command) in tools {
        let _ = write!(text, "\n### {name}\n\nDoes it.\n\n#### Parameters\n\n");
        if parameters.is_empty() {
            text.push_str("None.\n");
        } else {
            text.push_str("| Name | Type | Required | Description |\n|---|---|---|---|\n");
        }
        for (name, kind, required) in *parameters {
            let _ = writeln!(text, "| {name} | {kind} | {required} | Something |");
        }
        let _ = write!(text, "\n#### Command\n\n```bash\n{command}\n```\n");
    }
    text
}

/// A skill beside an empty repository, with a home of its own.
pub(crate) fn probe(front_matter: &str, tools: &[Tool<'_>]) -> Scene {
    scene()
        .home("home")
        .variable("PATH", "/usr/local/bin:/usr/bin:/bin")
        .file("repo/.git/HEAD", "ref: refs/heads/main\n")
        .file("skills/probe/SKILL.md", skill(front_matter, tools))
        .inside("repo")
}

/// The envelope of a run that was said yes to in advance.
pub(crate) fn envelope(scene: &Scene, tool: &str, inputs: &str) -> Value {
    envelope_with(scene, tool, inputs, &[])
}

/// The same with further options.
pub(crate) fn envelope_with(scene: &Scene, tool: &str, inputs: &str, options: &[&str]) -> Value {
    let path = format!("../skills/probe/{tool}");
    let arguments = ["run", &path, "--inputs", inputs, "--yes", "--format", "json"];
    let arguments = [&arguments, options].concat();
    let output = scene.output(&arguments, "");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}", String::from_utf8_lossy(&output.stderr));
    })
}

pub(crate) const TEXT: &[(&str, &str, &str)] = &[("text", "string", "no")];

#[test]
fn no_shell_is_started() {
    // GIB-3.5-1
    let scene = probe(
        "",
        &[("say", TEXT, "echo a | b && c > d; $HOME `id` * {{text}}"), ("find", &[], "ls /bin/sh")],
    );
    let said = envelope(&scene, "say", "{\"text\": \"; touch owned; $(touch owned)\"}");
    assert_eq!(said["output"], "a | b && c > d; $HOME `id` * ; touch owned; $(touch owned)\n");
    assert!(!scene.path().join("repo/owned").exists());
    // There is no shell that could be started: it is not even in view.
    let looked = envelope(&scene, "find", "{}");
    assert_eq!(looked["success"], false);
    assert!(looked["output"].as_str().is_some_and(|text| text.contains("No such file")));
}

#[test]
fn both_streams_and_the_code_are_reported() {
    // GIB-4.1-1, GIB-4.3-1
    let script = "#!/bin/sh\necho one\necho two >&2\nexit 3\n";
    let scene = probe("", &[("both", &[], "./both.sh")]).script("skills/probe/both.sh", script);
    let result = envelope(&scene, "both", "{}");
    assert_eq!(result["exit_code"], 3);
    assert_eq!(result["error"], "Command failed with exit code 3");
    assert_eq!(result["truncated"], false);
    let output = result["output"].as_str().unwrap_or_default();
    assert!(output.contains("one\n") && output.contains("two\n"), "{output}");
    assert_snapshot!(scene.run("run ../skills/probe/both --yes"), @"
    exit 3
    --- stdout
    one
    --- stderr
    two
    note: command failed with exit code 3
    ");
}

#[test]
fn long_output_keeps_its_ends() {
    // GIB-4.2-1
    let scene = probe("", &[("count", &[], "seq 1 3000"), ("read", TEXT, "cat {{text}}")])
        .file("repo/full", "x".repeat(4096))
        .file("repo/more", "x".repeat(4097))
        .file("repo/wide", format!("a{}", "é".repeat(3000)));
    let counted = envelope(&scene, "count", "{}");
    let output = counted["output"].as_str().unwrap_or_default();
    let total = (1..=3000).map(|number: u32| number.to_string().len() + 1).sum::<usize>();
    assert_eq!(counted["truncated"], true);
    assert!(output.starts_with("1\n2\n3\n"), "{output}");
    assert!(output.ends_with("2999\n3000\n"), "{output}");
    let marker = format!("\n... [truncated {} bytes] ...\n", total - 4096);
    assert!(output.contains(&marker), "{marker} {output}");
    // GIB-4.2-2
    let full = envelope(&scene, "read", "{\"text\": \"full\"}");
    assert_eq!(full["truncated"], false);
    assert_eq!(full["output"], "x".repeat(4096));
    assert_eq!(envelope(&scene, "read", "{\"text\": \"more\"}")["truncated"], true);
    // GIB-4.2-3
    let wide = envelope(&scene, "read", "{\"text\": \"wide\"}");
    assert_eq!(wide["truncated"], true);
    assert_eq!(wide.get("encoding"), None, "no character was split");
    assert!(!wide["output"].as_str().unwrap_or_default().contains('\u{fffd}'));
}

#[test]
fn a_gibibyte_takes_little_memory() {
    // GIB-4.2-4: far below what it prints, an address space has no room for it.
    let scene = probe("timeout: 300\n", &[("flood", &[], "head -c 1073741824 /dev/zero")]);
    let program = scene.command(&[]).get_program().to_string_lossy().into_owned();
    let line =
        format!("ulimit -v 393216; exec {program} run ../skills/probe/flood --yes --format json");
    let mut command = std::process::Command::new("/bin/sh");
    command.args(["-c", &line]).current_dir(scene.path().join("repo"));
    let home = scene.path().join("home");
    let output = command.env("HOME", home).output().expect("the shell runs");
    let result: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error} {}", String::from_utf8_lossy(&output.stderr)));
    assert_eq!(result["success"], true, "{result}");
    assert_eq!(result["truncated"], true);
    let text = result["output"].as_str().unwrap_or_default();
    assert!(text.contains("... [truncated 1073737728 bytes] ..."));
}

#[test]
fn json_on_standard_output_is_parsed() {
    // GIB-4.4-1
    let script = "#!/bin/sh\necho working >&2\necho '{\"status\": \"ok\", \"count\": 5}'\n";
    let scene = probe("", &[("ask", &[], "./ask.sh")]).script("skills/probe/ask.sh", script);
    assert_eq!(envelope(&scene, "ask", "{}")["parsed"], json!({ "status": "ok", "count": 5 }));
}

#[test]
fn commands_work_in_the_repository_or_at_home() {
    // GIB-5.1-1
    let tools: &[Tool<'_>] = &[("where", &[], "pwd")];
    let root = |scene: &Scene, name: &str| {
        format!("{}\n", scene.path().canonicalize().expect("it is there").join(name).display())
    };
    let scene = probe("", tools).file("repo/deep/down/x", "").inside("repo/deep/down");
    let path = "run ../../../skills/probe --yes";
    assert_eq!(scene.stdout(path), root(&scene, "repo"));
    // Writing anywhere at home is more than `--yes` answers.
    let scene = scene.inside("skills");
    assert!(
        scene.run("run probe --yes").starts_with("exit 125"),
        "{}",
        scene.run("run probe --yes")
    );
    let scene = probe("read_only: true\n", tools).inside("skills");
    assert_eq!(scene.stdout("run probe --yes"), root(&scene, "home"));
}

#[test]
fn secrets_stay_outside() {
    // GIB-5.2-1, GIB-5.2-2, GIB-5.2-3, NEG-6
    let scene = probe("", &[("show", &[], "env")])
        .variable("GITHUB_TOKEN", "ghp_secret")
        .variable("OPENAI_API_KEY", "sk-secret")
        .variable("AWS_SECRET_ACCESS_KEY", "aws-secret")
        .variable("database_password", "db-secret")
        .variable("LD_LIBRARY_PATH", "/tmp/evil")
        .variable("EDITOR", "vi")
        .variable("LANG", "C.UTF-8")
        .variable("TERM", "xterm")
        .variable("USER", "anna");
    let output = scene.stdout("run ../skills/probe --yes --mode dev");
    let mut lines: Vec<&str> = output.lines().filter(|line| !line.starts_with("LC_")).collect();
    lines.sort_unstable();
    let folder = scene.path().canonicalize().expect("it is there").join("skills/probe");
    assert_eq!(
        lines,
        [
            "GIBBERISH_MODE=Dev",
            &format!("GIBBERISH_SKILL_DIR={}", folder.display()),
            "GIBBERISH_SKILL_NAME=probe",
            "HOME=/home/skill",
            "LANG=C.UTF-8",
            "PATH=/usr/bin",
            "PROWESS_MODE=Dev",
            &format!("PROWESS_SKILL_DIR={}", folder.display()),
            "PROWESS_SKILL_NAME=probe",
            "TERM=xterm",
            "USER=anna",
        ]
    );
}

#[test]
fn what_is_not_granted_is_not_there() {
    // SRT-9-1, GAIA-3.1-2
    let dial = "import socket; socket.create_connection((\"127.0.0.1\", 9))";
    let scene = probe(
        "",
        &[("read", TEXT, "cat {{text}}"), ("dial", &[], &format!("python3 -c '{dial}'"))],
    )
    .file("secret/key", "s3cret");
    let key = scene.path().join("secret/key");
    let inputs = json!({ "text": key }).to_string();
    for inputs in [inputs.as_str(), "{\"text\": \"/etc/shadow\"}", "{\"text\": \"../secret/key\"}"]
    {
        let result = envelope(&scene, "read", inputs);
        let output = result["output"].as_str().unwrap_or_default();
        assert!(output.contains("No such file or directory"), "{output}");
    }
    // The network was not asked for, so there is none: not even a socket.
    let result = envelope(&scene, "dial", "{}");
    let output = result["output"].as_str().unwrap_or_default();
    assert!(output.contains("PermissionError"), "{output}");
}

#[test]
fn declared_folders_are_open_and_others_are_not() {
    // GAIA-3.2-1, GAIA-3.2-2
    let permissions = "permissions:\n  - \"filesystem:read:~/.gaia/data/**\"\n  - \"filesystem:write:./output/**\"\n";
    let scene =
        probe(permissions, &[("read", TEXT, "cat {{text}}"), ("make", TEXT, "touch {{text}}")])
            .file("home/.gaia/data/deep/a.txt", "inside\n")
            .file("home/.gaia/key", "outside\n")
            .file("repo/README.md", "outside too\n")
            .file("repo/output/old", "");
    let at = |path: &str| json!({ "text": scene.path().join(path) }).to_string();
    assert_eq!(envelope(&scene, "read", &at("home/.gaia/data/deep/a.txt"))["output"], "inside\n");
    for path in ["home/.gaia/key", "home/.gaia/data/../key", "repo/README.md"] {
        assert_eq!(envelope(&scene, "read", &at(path))["success"], false, "{path}");
    }
    assert_eq!(envelope(&scene, "make", "{\"text\": \"output/new\"}")["success"], true);
    assert!(scene.path().join("repo/output/new").exists());
    for path in ["repo/made", "home/.gaia/data/made", "skills/probe/made"] {
        assert_eq!(envelope(&scene, "make", &at(path))["success"], false, "{path}");
        assert!(!scene.path().join(path).exists(), "{path}");
    }
}

#[test]
fn patterns_open_what_matches() {
    let permissions = "permissions:\n  - \"filesystem:read:./data/*.csv\"\n  - \"filesystem:write:./out/*.md\"\n  - \"filesystem:write:./report.txt\"\n";
    let scene = probe(
        permissions,
        &[("read", TEXT, "cat {{text}}"), ("copy", TEXT, "cp data/a.csv {{text}}")],
    )
    .file("repo/data/a.csv", "1,2\n")
    .file("repo/data/b.json", "{}\n")
    .file("repo/out/old.md", "");
    let read = |text: &str| envelope(&scene, "read", &json!({ "text": text }).to_string());
    assert_eq!(read("data/a.csv")["output"], "1,2\n");
    assert_eq!(read("data/b.json")["success"], false);
    let copy = |text: &str| {
        let _ = envelope(&scene, "copy", &json!({ "text": text }).to_string());
        scene.path().join("repo").join(text).exists()
    };
    for (path, kept) in [
        ("out/new.md", true),
        ("out/new.sh", false),
        ("report.txt", true),
        ("report.md", false),
        ("data/c.csv", false),
    ] {
        assert_eq!(copy(path), kept, "{path}");
    }
}

#[test]
fn a_map_of_permissions_is_enforced_like_a_list() {
    // SRT-4.7-1
    let permissions =
        "permissions:\n  network: []\n  filesystem: [\"./data/**\"]\n  env: [COLOUR]\n";
    let dial = "import socket; socket.create_connection((\"127.0.0.1\", 9))";
    let scene = probe(
        permissions,
        &[
            ("read", TEXT, "cat {{text}}"),
            ("make", TEXT, "touch {{text}}"),
            ("show", &[], "env"),
            ("dial", &[], &format!("python3 -c '{dial}'")),
        ],
    )
    .file("repo/data/a", "inside\n")
    .file("repo/README.md", "outside\n")
    .variable("COLOUR", "red")
    .variable("SHAPE", "round");
    assert_eq!(envelope(&scene, "read", "{\"text\": \"data/a\"}")["output"], "inside\n");
    assert_eq!(envelope(&scene, "read", "{\"text\": \"README.md\"}")["success"], false);
    // R15: such a glob means reading and writing.
    assert_eq!(envelope(&scene, "make", "{\"text\": \"data/b\"}")["success"], true);
    assert_eq!(envelope(&scene, "make", "{\"text\": \"b\"}")["success"], false);
    let shown = envelope(&scene, "show", "{}");
    let shown = shown["output"].as_str().unwrap_or_default();
    assert!(shown.contains("COLOUR=red\n") && !shown.contains("SHAPE"), "{shown}");
    let dialled = envelope(&scene, "dial", "{}");
    assert!(dialled["output"].as_str().is_some_and(|text| text.contains("PermissionError")));
}

#[test]
fn only_declared_programs_can_be_started() {
    // GAIA-3.2-4
    let script = "#!/bin/sh\ngit --version && perl -e 'print \"perl\\n\"' && seq 1 1\n\
                  python3 -V; /usr/bin/python3 -V; curl -V; node -v\necho end\n";
    let scene = probe("permissions: [\"shell:execute:git,perl\"]\n", &[("try", &[], "./try.sh")])
        .script("skills/probe/try.sh", script);
    let result = envelope(&scene, "try", "{}");
    let output = result["output"].as_str().unwrap_or_default();
    assert!(output.contains("git version") && output.contains("perl\n1\n"), "{output}");
    assert_eq!(output.matches("not found").count(), 4, "{output}");
    assert!(output.contains("end\n"), "{output}");
}

#[test]
fn git_reads_and_commits_but_leaves_no_traps() {
    let git = |scene: &Scene, arguments: &[&str]| {
        let status = std::process::Command::new("git")
            .args(arguments)
            .current_dir(scene.path().join("repo"))
            .env("HOME", scene.path())
            .output()
            .expect("git is there");
        assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
    };
    let name = "-c user.name=Anna -c user.email=anna@example.com";
    let scene = probe(
        "",
        &[
            ("save", TEXT, &format!("git {name} commit --all --message {{{{text}}}}")),
            ("log", &[], "git log --format=%s"),
            ("set", &[], "git config core.hooksPath /tmp"),
        ],
    );
    std::fs::remove_dir_all(scene.path().join("repo/.git")).expect("it is ours");
    git(&scene, &["init", "--quiet"]);
    let scene = scene.file("repo/a.txt", "one\n");
    git(&scene, &["add", "."]);
    git(&scene, &["-c", "user.name=A", "-c", "user.email=a@b.c", "commit", "-qm", "first"]);
    let scene = scene.file("repo/a.txt", "two\n");
    let saved = envelope(&scene, "save", "{\"text\": \"second\"}");
    assert_eq!(saved["success"], true, "{saved}");
    assert_eq!(envelope(&scene, "log", "{}")["output"], "second\nfirst\n");
    assert_eq!(envelope(&scene, "set", "{}")["success"], false);
    assert!(!scene.text("repo/.git/config").contains("hooksPath"));
}

#[test]
fn four_errors_are_told_apart() {
    // GIB-9.3-1
    let scene = probe(
        "timeout: 1\n",
        &[
            ("gone", &[], "no-such-program-anywhere"),
            ("locked", &[], "./locked.sh"),
            ("slow", &[], "sleep 60"),
            ("needs", &[("text", "string", "yes")], "echo {{text}}"),
        ],
    )
    .file("skills/probe/locked.sh", "#!/bin/sh\n");
    let mut seen = Vec::new();
    for tool in ["gone", "locked", "slow", "needs"] {
        let result = envelope(&scene, tool, "{}");
        assert_eq!(result["success"], false);
        seen.push((result["outcome"].clone(), result["exit_code"].clone()));
    }
    let expected =
        [("not_found", 127), ("not_executable", 126), ("timeout", 124), ("missing_parameter", 2)];
    assert_eq!(seen, expected.map(|(outcome, code)| (json!(outcome), json!(code))));
    for tool in ["gone", "locked", "slow", "needs"] {
        let shown = scene.run(&format!("run ../skills/probe/{tool} --yes"));
        assert_snapshot!(format!("four_errors_{tool}"), shown);
    }
}

#[test]
fn wrong_values_start_nothing() {
    // SRT-4.4-1
    let text = "---\nname: probe\nclaw_version: 1.0.0\ndescription: Looks around\nnetwork: false\nactions:\n  - name: make\n    description: Makes\n    handler: make.py\n    parameters:\n      name: {type: string, required: false}\n      count: {type: number, required: false}\n      flag: {type: boolean, required: false}\n      page: {type: url, required: false}\n      file: {type: file, required: false}\n      data: {type: json, required: false}\n---\n\n# Probe\n";
    let handler = "def make(**given):\n    return given\n";
    let scene = probe("", &[])
        .file("skills/probe/SKILL.md", text)
        .file("skills/probe/make.py", handler)
        .file("repo/there.txt", "");
    for (inputs, problem) in [
        ("{\"name\": 5}", "the parameter `name` is an integer, expected string"),
        ("{\"count\": \"five\"}", "the parameter `count` is a string, expected number"),
        ("{\"flag\": \"yes\"}", "the parameter `flag` is a string, expected boolean"),
        ("{\"page\": \"not a url\"}", "the parameter `page` is `not a url`, expected"),
        ("{\"file\": \"gone.txt\"}", "the parameter `file` is `gone.txt`, which can't be read"),
        ("{\"file\": \".git\"}", "the parameter `file` is `.git`, which can't be read"),
        ("{\"colour\": \"red\"}", "`colour`"),
    ] {
        let result = envelope(&scene, "make", inputs);
        let error = result["error"].as_str().unwrap_or_default();
        assert!(error.contains(problem), "{inputs}: {error}");
        assert_eq!(result["exit_code"], 2, "{inputs}");
        assert_eq!(result["outcome"], "invalid_parameter", "{inputs}");
        assert_eq!(result["duration_ms"], 0, "nothing has been started");
    }
    let inputs = json!({
        "name": "a", "count": 1.5, "flag": true, "page": "https://example.com/a", "file": "there.txt",
        "data": { "any": [1] },
    });
    assert_eq!(envelope(&scene, "make", &inputs.to_string())["parsed"], inputs);
}

#[test]
fn types_of_commands_are_checked_too() {
    // GIB-3.3-2
    let parameters: &[(&str, &str, &str)] = &[("count", "integer", "no")];
    let scene = probe("", &[("make", parameters, "touch made {{count}}")]);
    let result = envelope(&scene, "make", "{\"count\": {\"a\": 1}}");
    assert_eq!(result["error"], "make: the parameter `count` is an object, expected integer");
    assert!(!scene.path().join("repo/made").exists());
}

#[test]
fn a_missing_tool_is_told_before_anything_happens() {
    // SRT-4.6-1
    let scene = probe(
        "dependencies:\n  tools: [git, no-such-program-anywhere]\n",
        &[("make", &[], "touch made")],
    );
    assert_snapshot!(scene.run("run ../skills/probe --yes"), @"
    exit 127
    --- stderr
    error: `probe` can't run here: the program `no-such-program-anywhere` is not on PATH
    hint: install or set what is missing; nothing has been started
    ");
    assert!(!scene.path().join("repo/made").exists());
}

#[test]
fn a_value_that_looks_like_an_option_is_pointed_at() {
    // NEG-12
    let scene = probe("", &[("list", TEXT, "ls {{text}}")]);
    let shown = scene.run("run ../skills/probe --yes --input text=--version");
    assert!(
        shown.contains(
            "warning: the value of `text` is `--version`, which the program may take for an option"
        ),
        "{shown}"
    );
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_skill_is_refused() {
    // NEG-15
    let scene = probe("", &[("read", &[], "cat notes")]).file("secret", "s3cret");
    let link = scene.path().join("skills/probe/notes");
    std::os::unix::fs::symlink(scene.path().join("secret"), link).expect("a link can be made");
    assert_snapshot!(scene.run("run ../skills/probe --yes"), @"
    exit 125
    --- stderr
    error: can't compute the skill's digest: `[SCENE]/skills/probe/notes` is a symbolic link that does not point to a file of the skill
    ");
}

#[cfg(unix)]
#[test]
fn a_file_with_a_second_name_outside_is_told() {
    let scene = probe("", &[("make", &[], "touch made")]).file("cache/a", "");
    let (outside, inside) = (scene.path().join("cache/a"), scene.path().join("repo/a"));
    std::fs::hard_link(outside, inside).expect("a second name can be given");
    // Staged writes go to a copy.
    assert_snapshot!(scene.run("run ../skills/probe --yes --live"));
    assert!(scene.path().join("repo/made").exists());
}

#[test]
fn without_a_terminal_nothing_is_approved() {
    let scene = probe("", &[("make", &[], "touch made")]);
    assert_snapshot!(scene.run("run ../skills/probe"), @"
    exit 125
    --- stderr
    error: `probe/make` needs your approval: you have not approved it yet; `shell:execute:touch` needs your consent; `filesystem:write:./**` needs your consent
    hint: run it in a terminal to be asked, or approve this run with `--yes`
    ");
    assert_snapshot!(scene.run("run ../skills/probe --format json"));
    assert!(!scene.path().join("repo/made").exists());
}

#[test]
fn what_is_wide_and_from_nobody_is_not_answered_in_advance() {
    let scene = probe("network: true\n", &[("make", &[], "touch made")]);
    assert_snapshot!(scene.run("run ../skills/probe --yes"), @"
    exit 125
    --- stderr
    error: `probe/make` needs your approval: you have not approved it yet; `shell:execute:touch` needs your consent; `filesystem:write:./**` needs your consent; it requests the network without naming hosts
    hint: run it in a terminal to be asked: `--yes` does not approve this
    ");
}

#[cfg(target_os = "linux")]
#[test]
fn the_question_shows_everything() {
    // GIB-6.3-1
    let scene = probe("", &[("say", TEXT, "echo {{text}}")]);
    // A name that would write over the line, and text that would run backwards.
    let text = "text=\u{202e}evil\u{1b}[2K it's";
    let arguments = ["run", "../skills/probe", "--input", text];
    assert_snapshot!(scene.run_on_terminal(&arguments, "n\n"));
    assert_snapshot!(scene.run("approvals list"), @"
    exit 0
    --- stderr
    note: nothing is approved
    ");
}

#[cfg(target_os = "linux")]
#[test]
fn an_answer_is_remembered_until_something_changes() {
    // GIB-6.3-2, GIB-6.3-3
    let scene = probe("", &[("say", &[], "./say.sh"), ("list", &[], "ls")])
        .script("skills/probe/say.sh", "#!/bin/sh\necho hello\n");
    let say = ["run", "../skills/probe/say"];
    let asked = |shown: &str| shown.contains("Run it?");
    let first = scene.run_on_terminal(&say, "y\n");
    assert!(asked(&first) && first.ends_with("hello\n"), "{first}");
    // Approved: not asked again, also where nobody could be.
    assert_eq!(scene.run("run ../skills/probe/say"), "exit 0\n--- stdout\nhello\n");
    assert!(asked(&scene.run_on_terminal(&["run", "../skills/probe/list"], "\n")));
    let list = scene.stdout("approvals list");
    assert!(list.starts_with("probe/say\n  approved  2"), "{list}");
    assert!(list.contains("\n  may       shell:execute:./say.sh\n"), "{list}");
    let stored: Value =
        serde_json::from_str(&scene.stdout("approvals list --format json")).expect("JSON");
    assert_eq!(stored["approvals"][0]["tool"], "say");
    let scene = scene.script("skills/probe/say.sh", "#!/bin/sh\necho bye\n");
    let again = scene.run_on_terminal(&say, "y\n");
    let change = "asks again, because `say.sh` has changed since you approved it on 2";
    assert!(again.contains(change), "{again}");
    assert_eq!(scene.stdout("run ../skills/probe/say"), "bye\n");
    assert_snapshot!(scene.run("approvals revoke probe/list"), @"
    exit 3
    --- stderr
    error: nothing is approved for `probe/list`
    hint: `prowess approvals list` shows the approvals
    ");
    assert_eq!(scene.run("approvals revoke probe"), "exit 0\n--- stderr\nrevoked 2 approvals\n");
    assert!(scene.run("run ../skills/probe/say").starts_with("exit 125"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_gets_no_control_characters() {
    let scene = probe("read_only: true\n", &[("read", &[], "cat notes")])
        .file("repo/notes", "a\u{1b}]52;c;ZXZpbA==\u{7}b\u{202e}c\n");
    let shown = scene.run_on_terminal(&["run", "../skills/probe", "--yes"], "");
    assert!(!shown.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{shown:?}");
    assert!(shown.contains("]52;c;"), "{shown}");
    // A pipe gets the bytes.
    assert_eq!(scene.stdout("run ../skills/probe --yes"), "a\u{1b}]52;c;ZXZpbA==\u{7}b\u{202e}c\n");
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupt_reaches_the_tool_as_a_request() {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::process::Stdio;
    // GIB §5.3: SIGTERM first, so that it can clean up.
    let script =
        "#!/bin/sh\ntrap 'echo bye; exit 7' TERM\necho ready\nwhile :; do sleep 0.1; done\n";
    let scene = probe("permissions: [\"shell:execute:sleep\"]\n", &[("wait", &[], "./wait.sh")])
        .script("skills/probe/wait.sh", script);
    let mut command = scene.command(&["run", "../skills/probe", "--yes"]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut output = BufReader::new(child.stdout.take().expect("it is a pipe"));
    let mut line = String::new();
    output.read_line(&mut line).expect("the tool says something");
    assert_eq!(line, "ready\n");
    let pid = child.id().to_string();
    let kill = std::process::Command::new("kill").args(["-INT", &pid]).status();
    assert!(kill.expect("there is `kill`").success());
    let mut rest = String::new();
    output.read_to_string(&mut rest).expect("it is text");
    assert_eq!(rest, "bye\n");
    assert_eq!(child.wait().expect("it ends").code(), Some(7));
}

#[test]
fn events_are_lines_of_json() {
    let scene = probe("", &[("say", TEXT, "echo {{text}}"), ("fail", &[], "ls nowhere")]);
    let events = |arguments: &str| -> Vec<Value> {
        let output = scene.stdout(arguments);
        output.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let run = "run ../skills/probe/say --yes --format events --input text=hi";
    let mut lines = events(run);
    lines[2]["data"]["envelope"]["duration_ms"] = json!(0);
    let run_id = lines[0]["run_id"].clone();
    assert_eq!(run_id.as_str().map(str::len), Some(32));
    for (number, line) in lines.iter_mut().enumerate() {
        let line = line.as_object_mut().expect("an object");
        assert_eq!(line.remove("run_id").as_ref(), Some(&run_id), "one run has one id");
        assert_eq!(line.remove("sequence"), Some(json!(number)));
    }
    assert_eq!(
        lines,
        [
            json!({ "event": "started", "data": { "skill": "probe", "tool": "say", "command": ["echo", "hi"] } }),
            json!({ "event": "output", "data": { "stream": "stdout", "text": "hi\n" } }),
            json!({ "event": "done", "data": {
                "status": "success",
                "message": "Skill execution completed successfully",
                "envelope": {
                    "success": true, "exit_code": 0, "output": "hi\n", "truncated": false,
                    "duration_ms": 0, "outcome": "success", "changes": [], "changes_applied": false,
                },
            } }),
        ]
    );
    let failed = events("run ../skills/probe/fail --yes --format events");
    assert_ne!(failed[0]["run_id"], run_id, "another run has another id");
    let names: Vec<&str> = failed.iter().filter_map(|line| line["event"].as_str()).collect();
    // Output may come in any number of pieces.
    assert_eq!(names[..2], ["started", "output"]);
    assert_eq!(names[names.len() - 2..], ["error", "done"]);
    // Also what does not start ends with `done`.
    let refused = events("run ../skills/probe/say --format events");
    let names: Vec<&str> = refused.iter().filter_map(|line| line["event"].as_str()).collect();
    assert_eq!(names, ["error", "done"]);
    assert_eq!(refused[1]["data"]["envelope"]["exit_code"], 125);
}

#[test]
fn handlers_run_as_they_are_and_never_trusted() {
    // GAIA-8.3-1
    let scene = scene()
        .home("home")
        .variable("PATH", "/usr/local/bin:/usr/bin:/bin")
        .copy("fixtures/openclaw/section-8", "skills");
    let run = |path: &str| -> Value {
        let path = format!("skills/{path}");
        let arguments = ["run", &path, "--input", "query=a", "--yes", "--format", "json"];
        let output = scene.output(&arguments, "");
        serde_json::from_slice(&output.stdout).expect("JSON")
    };
    for path in ["shelf-offline/search", "handler-without-function", "tier-claimed/search"] {
        let result = run(path);
        assert_eq!(result["parsed"], json!({ "hits": ["ants", "cats"] }), "{result}");
    }
    // What its author claims counts for nothing.
    let policy = scene.stdout("policy skills/tier-claimed/search");
    assert!(
        policy
            .contains("tier experimental: it is a local file; its claim to be verified is ignored")
    );
    // A handler may print, and fail.
    let talk = "import os\n\ndef search(query, limit=5):\n    print('looking')\n    os.write(1, b'raw')\n    if query == 'boom':\n        raise ValueError('no such shelf')\n    return [query, sorted(os.listdir('.'))]\n";
    let scene = scene.file("skills/shelf-offline/handlers/search.py", talk).file("home/letter", "");
    let result = |query: &str| -> Value {
        let input = format!("query={query}");
        let path = "skills/shelf-offline/search";
        let arguments = ["run", path, "--input", &input, "--yes", "--format", "json"];
        serde_json::from_slice(&scene.output(&arguments, "").stdout).expect("JSON")
    };
    let fine = result("x");
    assert_eq!(fine["parsed"], json!(["x", []]), "prints are talk, and the home is not in view");
    assert!(fine["output"].as_str().is_some_and(|text| text.contains("looking")), "{fine}");
    let failed = result("boom");
    assert_eq!(failed["success"], false);
    assert!(failed["output"].as_str().is_some_and(|text| text.contains("no such shelf")));
}

#[test]
fn what_can_not_be_run_says_what_to_do() {
    let scene = probe("", &[("one", &[], "true"), ("two", &[], "true")])
        .copy("examples", "examples")
        .file("broken/SKILL.md", "---\nname: broken\nversion: x\n---\n\n### a\n");
    for arguments in [
        "run ../skills/probe",
        "run ../skills/probe/three",
        "run ../nowhere",
        "run ../examples/release-notes",
        "run ../broken",
        "run ../skills/probe/one --mode sleeping",
    ] {
        let name = arguments.replace(|character: char| !character.is_alphanumeric(), "_");
        assert_snapshot!(name, scene.run(arguments));
    }
}

#[test]
fn the_policy_is_explained_line_by_line() {
    let scene = probe(
        "read_only: true\npermissions: [\"network:read:*.brave.com\"]\n",
        &[("one", &[], "true"), ("two", &[], "git status")],
    );
    assert_snapshot!(scene.run("policy ../skills/probe"));
    assert_snapshot!(scene.run("policy ../skills/probe/two --format json"));
    assert_snapshot!(scene.run("policy ../skills/probe/tow"));
}
