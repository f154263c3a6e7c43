//! Hooks of skills around the tools that we run: through the real binary, in real sandboxes.

#![cfg(target_os = "linux")]

use std::fmt::Write as _;

use insta::assert_snapshot;
use prowess_testkit::{Answer, Reply, Scene, Script, ScriptedProvider};
use serde_json::{Value, json};

use crate::run::{Tool, envelope, envelope_with, probe};

const TEXT: &[(&str, &str, &str)] = &[("text", "string", "no")];
const SAY: &[Tool<'_>] = &[("say", TEXT, "echo {{text}}")];
const MAKE: &[Tool<'_>] = &[("make", &[], "touch made")];

/// Front matter with one group of hooks. A handler is YAML in one line.
fn hooks(event: &str, matcher: &str, handlers: &[&str]) -> String {
    let mut text = format!("hooks:\n  {event}:\n    - matcher: '{matcher}'\n      hooks:\n");
    for handler in handlers {
        let _ = writeln!(text, "        - {handler}");
    }
    text
}

/// A hook that runs a script of the skill, which is one line of shell.
const CHECK: &str = "{type: command, command: ./check.sh}";

fn with_check(event: &str, tools: &[Tool<'_>], line: &str) -> Scene {
    let script = format!("#!/bin/sh\n{line}\n");
    probe(&hooks(event, "*", &[CHECK]), tools).script("skills/probe/check.sh", script)
}

/// A line that answers with JSON.
fn answering(specific: &Value) -> String {
    let mut specific = specific.clone();
    if specific.get("hookEventName").is_none() {
        specific["hookEventName"] = "PreToolUse".into();
    }
    format!("cat > /dev/null; echo '{}'", json!({ "hookSpecificOutput": specific }))
}

fn lenient(scene: Scene) -> Scene {
    scene.file("home/.config/prowess/config.toml", "[hooks]\nstrict = false\n")
}

/// SKL-L2-9
#[test]
fn a_hook_that_denies_keeps_the_tool_from_running() {
    let scene = with_check("PreToolUse", MAKE, "echo 'not on a Friday' >&2; exit 2");
    assert_snapshot!(scene.run("run ../skills/probe --yes"), @"
    exit 125
    --- stderr
    error: `probe/make` was not run: the hook `./check.sh` of `probe`: not on a Friday
    ");
    assert!(!scene.path().join("repo/made").exists());
    // Also against JSON that allows: exit code 2 is exit code 2.
    let allow = answering(&json!({"permissionDecision": "allow"}));
    let scene = with_check("PreToolUse", MAKE, &format!("{allow}; echo no >&2; exit 2"));
    let result = envelope(&scene, "make", "{}");
    assert_eq!((&result["exit_code"], &result["outcome"]), (&json!(125), &json!("refused")));
    assert!(!scene.path().join("repo/made").exists());
    let deny = answering(
        &json!({"permissionDecision": "deny", "permissionDecisionReason": "use \u{202e}bun"}),
    );
    let scene = with_check("PreToolUse", MAKE, &deny);
    let said = scene.run("run ../skills/probe --yes");
    assert!(said.contains("use \\u{202e}bun"), "{said}");
}

#[test]
fn a_word_of_a_hook_approves_nothing() {
    let line = format!("touch ran; {}", answering(&json!({"permissionDecision": "allow"})));
    let scene = with_check("PreToolUse", MAKE, &line);
    let said = scene.run("run ../skills/probe");
    assert!(said.starts_with("exit 125"), "{said}");
    assert!(said.contains("needs your approval"), "{said}");
    // A hook is a program of the skill: it does not run before the yes, either.
    assert!(!scene.path().join("repo/ran").exists());
    assert!(scene.run("run ../skills/probe --yes").starts_with("exit 0"));
    assert!(scene.path().join("repo/ran").exists());
    assert!(scene.path().join("repo/made").exists());
}

#[test]
fn the_question_shows_the_hooks_and_one_yes_is_enough() {
    let front_matter = "hooks:\n  PreToolUse:\n    - matcher: Bash\n      hooks:\n        - {type: command, command: ./check.sh, timeout: 5}\n        - {type: prompt, prompt: \"Is this safe? $ARGUMENTS\"}\n  PostToolUse:\n    - hooks:\n        - {type: command, command: \"echo \\u202edone; date\"}\n";
    let scene = probe(front_matter, MAKE).script("skills/probe/check.sh", "#!/bin/sh\n");
    let asked = scene.run_on_terminal(&["run", "../skills/probe"], "n\n");
    assert_snapshot!(asked);
    let scene = with_check("PreToolUse", MAKE, "exit 0");
    assert!(scene.run_on_terminal(&["run", "../skills/probe"], "y\n").starts_with("exit 0"));
    assert_eq!(scene.run("run ../skills/probe"), "exit 0\n", "the approval holds for both");
    // Another hook is another skill: the yes was for these files.
    let scene = scene.script("skills/probe/check.sh", "#!/bin/sh\nexit 2\n");
    let said = scene.run("run ../skills/probe");
    assert!(said.starts_with("exit 125") && said.contains("approval"), "{said}");
}

#[test]
fn a_hook_that_asks_wants_a_person() {
    let ask =
        answering(&json!({"permissionDecision": "ask", "permissionDecisionReason": "it is late"}));
    let scene = with_check("PreToolUse", MAKE, &ask);
    // A yes in advance was given before the hook was heard.
    assert_snapshot!(scene.run("run ../skills/probe --yes"), @"
    exit 125
    --- stderr
    error: `probe/make` needs your approval: asks because of the hook `./check.sh` of `probe`: it is late
    hint: run it in a terminal to be asked: `--yes` does not approve this
    ");
    assert!(!scene.path().join("repo/made").exists());
    let asked = scene.run_on_terminal(&["run", "../skills/probe", "--yes"], "y\n");
    assert!(asked.starts_with("exit 0"), "{asked}");
    assert!(asked.contains("Run it this time?") && asked.contains("it is late"), "{asked}");
    assert!(scene.path().join("repo/made").exists());
    let asked = scene.run_on_terminal(&["run", "../skills/probe", "--yes"], "n\n");
    assert!(asked.starts_with("exit 125"), "{asked}");
}

#[test]
fn a_hook_that_defers_puts_the_call_off() {
    let scene = with_check("PreToolUse", MAKE, &answering(&json!({"permissionDecision": "defer"})));
    assert_snapshot!(scene.run("run ../skills/probe --yes"), @"
    exit 125
    --- stderr
    error: `probe/make` was not run: the hook `./check.sh` of `probe` puts it off
    hint: run it again when what the hook waits for has happened
    ");
    assert!(!scene.path().join("repo/made").exists());
}

#[test]
fn a_hook_may_change_the_input_which_is_checked_and_said() {
    let change = |matcher: &str, input: Value| {
        let line = answering(&json!({ "updatedInput": input }));
        probe(&hooks("PreToolUse", matcher, &[CHECK]), SAY)
            .script("skills/probe/check.sh", format!("#!/bin/sh\n{line}\n"))
    };
    let scene = change("probe__say", json!({"text": "two"}));
    assert_snapshot!(scene.run("run ../skills/probe --input text=one --yes"), @"
    exit 0
    --- stdout
    two
    --- stderr
    warning: a hook has changed the call: echo two
    ");
    // The name that it has in Claude Code.
    let scene = change("mcp__prowess__.*", json!({"text": "three"}));
    assert_eq!(envelope(&scene, "say", r#"{"text": "one"}"#)["output"], "three\n");
    // Values are held to their types again.
    let scene = change("probe__say", json!({"txt": "two"}));
    let result = envelope(&scene, "say", r#"{"text": "one"}"#);
    assert_eq!(result["success"], false, "{result}");
    let scene = change("Bash", json!({"command": "echo evil"}));
    let said = scene.run("run ../skills/probe --input text=one --yes");
    assert_snapshot!(said, @"
    exit 125
    --- stderr
    error: `probe/say` was not run: a hook requested a different input, which can't be used: a command line can't be turned into inputs: match `probe__say` instead of `Bash`
    ");
    // A command line of the user's can be changed as one, and is decided about again.
    let scene = change("Bash", json!({"command": "echo 'b c'"}));
    let said = scene.run("exec ../skills/probe --yes -- echo a");
    assert!(said.contains("b c\n"), "{said}");
    let scene = change("Bash", json!({"command": "no-such-program"}));
    let said = scene.run("exec ../skills/probe --yes -- echo a");
    assert!(said.starts_with("exit 127"), "{said}");
    let scene = change("Bash", json!({"command": "echo $(id)"}));
    assert!(scene.run("exec ../skills/probe --yes -- echo a").starts_with("exit 125"));
}

#[test]
fn a_broken_gate_is_closed_unless_the_user_opens_it() {
    // What a hook does, and what is said about it.
    let rows = [
        (r"{type: command, command: 'sleep infinity', timeout: 1}", "it timed out after 1 s"),
        (r"{type: command, command: ./missing.sh}", "a program was not found"),
        (r"{type: command, command: no-such-program}", "a program was not found"),
        (r"{type: command, command: no-such-program, args: []}", "was not found"),
        (r"{type: command, command: 'kill -9 $$'}", "it was ended by signal 9"),
        (r"{type: command, command: 'echo {oops'}", "its output starts like JSON but is not valid"),
        (r"{type: http, url: 'https://example.com/x'}", "it needs `network:write:example.com`"),
        (r"{type: agent, prompt: look}", "no model"),
        (r"{type: mcp_tool, server: s, tool: t}", "it needs `mcp:connect:s`"),
        (r"{type: prompt, prompt: look}", "no model"),
    ];
    for (handler, why) in rows {
        let scene = probe(&hooks("PreToolUse", "*", &[handler]), MAKE);
        let said = scene.run("run ../skills/probe --yes");
        assert!(said.starts_with("exit 125"), "{handler}: {said}");
        assert!(said.contains(why), "{handler}: {said}");
        assert!(said.contains("[hooks] strict = false"), "{handler}: {said}");
        assert!(!scene.path().join("repo/made").exists(), "{handler}");
        let scene = lenient(scene);
        let said = scene.run("run ../skills/probe --yes");
        assert!(said.starts_with("exit 0"), "{handler}: {said}");
        assert!(said.contains(why), "{handler}: {said}");
        assert!(scene.path().join("repo/made").exists(), "{handler}");
    }
    // A code that blocks nothing blocks nothing, in both ways.
    let scene = with_check("PreToolUse", MAKE, "echo oh >&2; exit 1");
    assert_snapshot!(scene.run("run ../skills/probe --yes"), @"
    exit 0
    --- stderr
    warning: the hook `./check.sh` of `probe`: it failed with exit code 1: oh
    ");
    // A setting that is none is said.
    let scene = scene.file("home/.config/prowess/config.toml", "[hooks]\nstrikt = false\n");
    assert_snapshot!(scene.run("run ../skills/probe --yes"), @"
    exit 2
    --- stderr
    error: `[SCENE]/home/.config/prowess/config.toml` is not valid: line 2: `hooks.strikt` is not a setting; did you mean `strict`?
    ");
}

#[test]
fn matchers_and_conditions_choose() {
    // Matcher, the condition of the hook, whether it runs around `git status`.
    let rows = [
        ("*", "", true),
        ("", "", true),
        ("Bash", "", true),
        ("Edit|Bash", "", true),
        ("Edit, Bash", "", true),
        ("^Ba", "", true),
        ("probe__status", "", true),
        ("mcp__prowess__probe__.*", "", true),
        ("Edit|Write", "", false),
        ("bash", "", false),
        ("*", "Bash(git *)", true),
        ("*", "Bash(npm *)", false),
        ("Bash", "Bash(git status)", true),
        ("*", "mcp__prowess__probe__status", true),
        ("Bash", "mcp__prowess__probe__status", false),
        // What nobody can read narrows nothing.
        ("*", "Bash(", true),
    ];
    for (matcher, condition, runs) in rows {
        let condition =
            if condition.is_empty() { String::new() } else { format!(", if: '{condition}'") };
        let handler = format!("{{type: command, command: ./check.sh{condition}}}");
        let tools: &[Tool<'_>] = &[("status", &[], "git status")];
        let scene = probe(&hooks("PreToolUse", matcher, &[&handler]), tools)
            .script("skills/probe/check.sh", "#!/bin/sh\ncat > /dev/null\necho stop >&2; exit 2\n");
        let result = envelope(&scene, "status", "{}");
        assert_eq!(result["exit_code"] == 125, runs, "{matcher} {condition} {result}");
    }
    let scene = probe(&hooks("PreToolUse", "(?!Edit).*", &[CHECK]), MAKE);
    let said = scene.run("run ../skills/probe --yes");
    assert!(said.starts_with("exit 125") && said.contains("look-around"), "{said}");
}

#[test]
fn a_hook_is_told_what_is_documented() {
    let front_matter = format!(
        "effort: high\nhooks:\n{}{}",
        "  PreToolUse:\n    - matcher: Bash\n      hooks: [{type: command, command: cat > pre.json}]\n",
        "  PostToolUse:\n    - matcher: 'probe__'\n      hooks: []\n    - matcher: '^probe__say$'\n      hooks: [{type: command, command: 'cat > post.json; env > env.txt; pwd >> env.txt'}]\n",
    );
    let scene = probe(&front_matter, SAY).variable("AWS_SECRET_ACCESS_KEY", "hidden-from-hooks");
    let result = envelope(&scene, "say", r#"{"text": "hello"}"#);
    assert_eq!(result["output"], "hello\n", "{result}");
    let told = |file: &str| -> Value {
        serde_json::from_slice(&scene.bytes(file)).expect("JSON on standard input")
    };
    let repository = scene.path().join("repo").canonicalize().expect("it is there");
    let repository = repository.display().to_string();
    let mut pre = told("repo/pre.json");
    for key in ["session_id", "tool_use_id"] {
        assert!(pre[key].as_str().is_some_and(|id| id.len() > 10), "{pre}");
        pre[key] = "[ID]".into();
    }
    assert_eq!(
        pre,
        json!({
            "session_id": "[ID]",
            "transcript_path": "",
            "cwd": repository,
            "permission_mode": "default",
            "effort": {"level": "high"},
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": "echo hello"},
            "tool_use_id": "[ID]",
        })
    );
    let post = told("repo/post.json");
    assert_eq!(post["hook_event_name"], "PostToolUse");
    assert_eq!(post["tool_name"], "probe__say");
    assert_eq!(post["tool_input"], json!({"text": "hello"}));
    assert_eq!(post["tool_response"]["output"], "hello\n");
    assert!(post["duration_ms"].is_u64());
    let environment = scene.text("repo/env.txt");
    assert!(environment.contains(&format!("CLAUDE_PROJECT_DIR={repository}\n")), "{environment}");
    assert!(environment.contains("CLAUDE_SKILL_DIR="), "{environment}");
    assert!(environment.contains("CLAUDE_EFFORT=high\n"), "{environment}");
    assert!(environment.ends_with(&format!("{repository}\n")), "{environment}");
    assert!(!environment.contains("hidden-from-hooks"), "{environment}");
}

/// SKL-L2-9
#[test]
fn hooks_after_a_tool_speak_to_the_agent() {
    let line = format!(
        "cat > /dev/null; echo '{}'",
        json!({"decision": "block", "reason": "format it", "systemMessage": "looked at it",
               "hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "it is generated"}})
    );
    let scene = with_check("PostToolUse", SAY, &line);
    assert_snapshot!(scene.run("run ../skills/probe --input text=x --yes"), @"
    exit 0
    --- stdout
    x
    --- stderr
    warning: the hook `./check.sh` of `probe`: format it
    warning: looked at it
    ");
    let result = envelope(&scene, "say", r#"{"text": "x"}"#);
    assert_eq!(result["context"], json!(["format it", "it is generated"]));
    assert_eq!(result["success"], true);
    // The output that an agent gets to see.
    let new = json!({"hookEventName": "PostToolUse",
        "updatedToolOutput": {"stdout": "[redacted]", "stderr": "", "interrupted": false, "isImage": false}});
    let scene = with_check("PostToolUse", SAY, &answering(&new));
    let result = envelope(&scene, "say", r#"{"text": "x"}"#);
    assert_eq!(result["output"], "[redacted]");
    // One of another shape is ignored, and said.
    let odd = json!({"hookEventName": "PostToolUse", "updatedToolOutput": {"out": 1}});
    let scene = with_check("PostToolUse", SAY, &answering(&odd));
    let result = envelope(&scene, "say", r#"{"text": "x"}"#);
    assert_eq!(result["output"], "x\n");
    assert!(
        result["warnings"][0].as_str().is_some_and(|it| it.contains("can't be used")),
        "{result}"
    );
}

#[test]
fn a_failure_has_an_event_of_its_own() {
    let both = format!(
        "hooks:\n{}{}",
        "  PostToolUse:\n    - hooks: [{type: command, command: touch post}]\n",
        "  PostToolUseFailure:\n    - hooks: [{type: command, command: cat > failure.json}]\n",
    );
    let scene = probe(&both, &[("fail", &[], "ls no-such-file")]);
    let result = envelope(&scene, "fail", "{}");
    assert_eq!(result["exit_code"], 2, "{result}");
    assert!(!scene.path().join("repo/post").exists());
    let told: Value = serde_json::from_slice(&scene.bytes("repo/failure.json")).expect("JSON");
    let error = told["error"].as_str().unwrap_or_default();
    assert!(error.starts_with("Exit code 2\n") && error.contains("no-such-file"), "{told}");
    assert_eq!(told["is_interrupt"], false);
    // What did not start did not fail.
    let missing = probe(&both, &[("fail", &[], "no-such-program")]);
    assert_eq!(envelope(&missing, "fail", "{}")["exit_code"], 127);
    assert!(!missing.path().join("repo/failure.json").exists());
}

#[test]
fn hooks_have_the_skills_grants_and_no_more() {
    // The working directory may be written to; the home, the skill and other skills may not.
    let line = "cat ../outside.txt > seen 2>&1; echo x > ../outside.txt; echo x > $HOME/x; \
                echo x > $CLAUDE_SKILL_DIR/SKILL.md; cat ~/.ssh/id_rsa >> seen 2>&1; \
                (exec 3<>/dev/tcp/127.0.0.1/9) 2>> seen; exit 0";
    let scene = with_check("PreToolUse", MAKE, line)
        .file("outside.txt", "private")
        .file("home/.ssh/id_rsa", "secret-key-of-the-user");
    let said = scene.run("run ../skills/probe --yes");
    assert!(said.starts_with("exit 0"), "{said}");
    assert_eq!(scene.text("outside.txt"), "private");
    assert!(!scene.path().join("home/x").exists());
    assert!(scene.text("skills/probe/SKILL.md").contains("name: probe"));
    let seen = scene.text("repo/seen");
    assert!(!seen.contains("private") && !seen.contains("secret-key"), "{seen}");
    // A skill that only reads has hooks that only read.
    let read_only = format!(
        "read_only: true\n{}",
        hooks("PreToolUse", "*", &["{type: command, command: 'touch x && exit 2'}"])
    );
    let scene = probe(&read_only, SAY);
    let result = envelope(&scene, "say", r#"{"text": "x"}"#);
    assert_eq!(result["success"], true, "{result}");
    assert!(!scene.path().join("repo/x").exists());
}

#[test]
fn hooks_run_at_the_same_time_and_each_action_once() {
    // Each waits for the other: one after the other, neither would end.
    let wait = |own: &str, other: &str| {
        format!(
            "{{type: command, timeout: 20, command: 'mkfifo {own} 2>/dev/null; touch {own}.up; while [ ! -e {other}.up ]; do :; done'}}"
        )
    };
    let (one, two) = (wait("a", "b"), wait("b", "a"));
    let scene = probe(&hooks("PreToolUse", "*", &[&one, &two]), MAKE);
    // Staged writes are not seen by others.
    let result = envelope_with(&scene, "make", "{}", &["--live"]);
    assert_eq!(result["success"], true, "{result}");
    let count = "{type: command, command: 'echo x >> count'}";
    let twice = format!(
        "{}    - matcher: Bash\n      hooks:\n        - {count}\n",
        hooks("PreToolUse", "*", &[count, count])
    );
    let scene = probe(&twice, MAKE);
    assert_eq!(envelope(&scene, "make", "{}")["success"], true);
    assert_eq!(scene.text("repo/count"), "x\n");
}

#[test]
fn a_hook_in_the_background_keeps_nobody_waiting_and_ends_with_the_run() {
    // It sees what the tool does while it runs, so the tool was not kept waiting.
    let handler = "{type: command, async: true, command: 'while [ ! -e made ]; do :; done; touch seen; echo \"{\\\"systemMessage\\\": \\\"tests pass\\\"}\"'}";
    let scene = probe(&hooks("PreToolUse", "*", &[handler]), MAKE);
    let said = scene.run("run ../skills/probe --yes --live");
    assert!(said.starts_with("exit 0") && said.contains("tests pass"), "{said}");
    assert!(scene.path().join("repo/seen").exists());
    // Its decision comes too late to be one.
    let handler = "{type: command, async: true, command: 'echo no >&2; exit 2'}";
    let scene = probe(&hooks("PreToolUse", "*", &[handler]), MAKE);
    assert!(scene.run("run ../skills/probe --yes").starts_with("exit 0"));
    // One that never ends does not outlive the run.
    let handler = "{type: command, async: true, command: 'while :; do touch alive; done'}";
    let scene = probe(&hooks("PreToolUse", "*", &[handler]), MAKE);
    assert!(scene.run("run ../skills/probe --yes").starts_with("exit 0"));
}

#[test]
fn a_prompt_is_put_to_the_configured_model() {
    let handler = "{type: prompt, model: haiku, prompt: 'Is this safe? $ARGUMENTS'}";
    let asking = |answer: &str| {
        let provider = ScriptedProvider::start(Answer::text([answer]));
        let scene = probe(&hooks("PreToolUse", "*", &[handler]), MAKE)
            .variable("OPENAI_BASE_URL", &format!("{}/v1", provider.url()))
            .variable("OPENAI_API_KEY", "sk-secret-of-the-test")
            .variable("PROWESS_MODEL", "openai/test-model");
        (scene, provider)
    };
    let (scene, provider) = asking(r#"{"ok": false, "reason": "it touches files"}"#);
    assert_snapshot!(scene.run("run ../skills/probe --yes"), @"
    exit 125
    --- stderr
    error: `probe/make` was not run: the hook `prompt` of `probe`: it touches files
    ");
    let body = provider.request(0).json();
    assert_eq!(body["model"], "test-model", "an alias of another client is the configured model");
    let told = body["messages"][1]["content"].as_str().unwrap_or_default().to_owned();
    assert!(told.starts_with("Is this safe? {") && told.contains("touch made"), "{told}");
    let (scene, _provider) = asking(r#"{"ok": true}"#);
    assert!(scene.run("run ../skills/probe --yes").starts_with("exit 0"));
    let (scene, _provider) = asking("certainly");
    let said = scene.run("run ../skills/probe --yes");
    assert!(said.starts_with("exit 125") && said.contains("did not answer with"), "{said}");
}

/// A scene whose skill has one hook before its tool, and a model that answers in turn.
fn with_model(handler: &str, answers: Vec<Answer>) -> (Scene, ScriptedProvider) {
    let provider = ScriptedProvider::start(Script::new(answers.into_iter().map(Reply::answer)));
    let scene = probe(&hooks("PreToolUse", "*", &[handler]), MAKE)
        .variable("OPENAI_BASE_URL", &format!("{}/v1", provider.url()))
        .variable("OPENAI_API_KEY", "sk-secret-of-the-test")
        .variable("PROWESS_MODEL", "openai/test-model");
    (scene, provider)
}

#[test]
fn an_agent_reads_the_files_of_the_skill_before_it_decides() {
    let handler = "{type: agent, prompt: 'Do the rules allow this? $ARGUMENTS'}";
    let read = |path: &str| {
        let arguments = json!({ "skill": "probe", "path": path }).to_string();
        Answer::text([]).call("call_1", "read_skill_file", [arguments.as_str()])
    };
    let denies = Answer::text([r#"{"ok": false, "reason": "rule 1 forbids it"}"#]);
    let (scene, provider) = with_model(handler, vec![read("references/rules.md"), denies]);
    let scene = scene.file("skills/probe/references/rules.md", "1. Nothing is made.\n");
    assert_snapshot!(scene.run("run ../skills/probe --yes"), @"
    exit 125
    --- stderr
    error: `probe/make` was not run: the hook `agent` of `probe`: rule 1 forbids it
    ");
    assert!(!scene.path().join("repo/made").exists());
    let told = provider.request(1).json()["messages"].to_string();
    assert!(told.contains("1. Nothing is made.") && told.contains("touch made"), "{told}");
    // It reaches no other file, and can do nothing else.
    let outside = read("../../home/secret.txt");
    let other = Answer::text([]).call("call_2", "exec", [r#"{"command": "touch made"}"#]);
    let allows = Answer::text([r#"{"ok": true}"#]);
    let (scene, provider) = with_model(handler, vec![outside, other, allows]);
    let scene = scene.file("home/secret.txt", "do not show");
    assert!(scene.run("run ../skills/probe --yes").starts_with("exit 0"));
    let told = provider.request(2).json()["messages"].to_string();
    assert!(!told.contains("do not show") && told.contains("the only tool is"), "{told}");
    // An agent that never comes to an end decides nothing.
    let endless = (0..20).map(|_| read("references/rules.md")).collect();
    let (scene, _provider) = with_model(handler, endless);
    let said = scene.run("run ../skills/probe --yes");
    assert!(said.starts_with("exit 125") && said.contains("no answer in 10 turns"), "{said}");
}

#[test]
fn a_tool_of_a_server_decides_where_the_user_has_approved_the_server() {
    let handler = r#"{type: mcp_tool, server: gate, tool: say, input: {text: '{"decision": "block", "reason": "not ${tool_input.command}"}'}}"#;
    let permission = "permissions: ['mcp:connect:gate']\n";
    let front_matter = format!("{permission}{}", hooks("PostToolUse", "Bash", &[handler]));
    let server =
        json!({ "mcpServers": { "gate": { "command": "python3", "args": ["server.py"] } } });
    let scene = probe(&front_matter, SAY)
        .file("repo/.mcp.json", server.to_string())
        .file("repo/server.py", include_str!("mcp_tools/server.py"));
    // A hook asks nobody: without an approval of the server it has no answer.
    let result = envelope(&scene, "say", r#"{"text": "tea"}"#);
    assert_eq!(result["context"], Value::Null, "{result}");
    assert!(result["warnings"].to_string().contains("approv"), "{result}");
    let asked = scene.run_on_terminal(&["mcp", "servers", "gate", "--connect"], "y\n");
    assert!(asked.starts_with("exit 0"), "{asked}");
    let result = envelope(&scene, "say", r#"{"text": "tea"}"#);
    assert_eq!(result["context"], json!(["not echo tea"]), "{result}");
}

#[test]
fn everything_a_hook_says_is_bounded_and_visible() {
    let line = "head -c 20000 /dev/zero | tr '\\0' x >&2; printf '\\033[31m' >&2; exit 2";
    let scene = with_check("PreToolUse", MAKE, line);
    let said = scene.run("run ../skills/probe --yes");
    assert!(said.starts_with("exit 125") && said.len() < 3_000, "{} bytes", said.len());
    let scene = with_check("PreToolUse", MAKE, "printf 'a\\033[31mb\\nc' >&2; exit 2");
    let said = scene.run("run ../skills/probe --yes");
    assert!(said.contains("a\\u{1b}[31mb\\nc"), "{said}");
    // Half an answer is none.
    let scene = with_check("PreToolUse", MAKE, "head -c 2000000 /dev/zero | tr '\\0' x");
    let said = scene.run("run ../skills/probe --yes");
    assert!(said.starts_with("exit 125") && said.contains("more than 1 MiB"), "{said}");
    let context = "cat > /dev/null; printf '{\"hookSpecificOutput\": {\"hookEventName\": \"PostToolUse\", \"additionalContext\": \"'; head -c 12000 /dev/zero | tr '\\0' x; printf '\"}}'";
    let scene = with_check("PostToolUse", SAY, context);
    let result = envelope(&scene, "say", r#"{"text": "x"}"#);
    let context = result["context"][0].as_str().unwrap_or_default().to_owned();
    assert!(context.ends_with("\n[2000 more characters were cut]"), "{}", context.len());
}

/// A prompt skill with a hook, and what the model answers in turn.
fn prompt_skill(event: &str, line: &str, answers: &[&'static str]) -> (Scene, ScriptedProvider) {
    let replies: Vec<Reply> =
        answers.iter().map(|answer| Reply::answer(Answer::text([*answer]))).collect();
    let provider = ScriptedProvider::start(Script::new(replies));
    let text = format!(
        "---\nname: summary\ndescription: Sums up.\ninputs:\n  - name: text\n    required: true\n{}---\n\nSum up {{{{text}}}}.\n",
        hooks(event, "*", &[CHECK])
    );
    let scene = probe("", SAY)
        .file("skills/summary/SKILL.md", text)
        .script("skills/summary/check.sh", format!("#!/bin/sh\n{line}\n"))
        .variable("OPENAI_BASE_URL", &format!("{}/v1", provider.url()))
        .variable("OPENAI_API_KEY", "sk-secret-of-the-test")
        .variable("PROWESS_MODEL", "openai/test-model");
    (scene, provider)
}

/// SKL-L2-9
#[test]
fn hooks_surround_a_prompt() {
    let run = "run ../skills/summary --input text=it --yes";
    // Before the model is asked, a hook may add to the prompt, or refuse it.
    let (scene, provider) =
        prompt_skill("UserPromptSubmit", "echo 'The branch is main.'", &["Short."]);
    assert!(scene.run(run).starts_with("exit 0"), "{}", scene.run(run));
    let body = provider.request(0).json();
    assert_eq!(body["messages"][1]["content"], "Sum up it.\n\nThe branch is main.");
    let (scene, provider) = prompt_skill("UserPromptSubmit", "echo 'not today' >&2; exit 2", &[]);
    let said = scene.run(run);
    assert!(said.starts_with("exit 125") && said.contains("not today"), "{said}");
    assert!(provider.requests().is_empty());
    // After the answer, a hook may keep the model working: it is told why.
    let line = "grep -q '\"stop_hook_active\":true' && exit 0; echo 'name the author' >&2; exit 2";
    let (scene, provider) = prompt_skill("Stop", line, &["Short.", "Short, by Ada."]);
    let said = scene.run(run);
    assert!(said.starts_with("exit 0") && said.contains("Short, by Ada."), "{said}");
    let messages = provider.request(1).json()["messages"].clone();
    assert_eq!(messages[2]["content"], "Short.");
    assert_eq!(messages[3]["content"], "name the author");
    // Without an approval nothing of it runs.
    let said = scene.run("run ../skills/summary --input text=it");
    assert!(said.starts_with("exit 125") && said.contains("approval"), "{said}");
}

#[test]
fn a_stop_hook_that_never_agrees_does_not_keep_a_model_forever() {
    let answers = ["again"; 12];
    let (scene, provider) = prompt_skill("Stop", "echo more >&2; exit 2", &answers);
    let said = scene.run("run ../skills/summary --input text=it --yes");
    assert!(said.starts_with("exit 0"), "{said}");
    assert_eq!(provider.requests().len(), 9, "the first answer, and eight more");
}
