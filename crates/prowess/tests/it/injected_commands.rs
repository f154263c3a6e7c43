//! Commands in the text of a skill: marked, disabled, or run in the sandbox after one question about all of them.

#![cfg(target_os = "linux")]

use insta::assert_snapshot;
use prowess_testkit::{Answer, Scene, ScriptedProvider};
use serde_json::Value;

use crate::scene;

/// A project with a skill whose text has these lines.
fn project(front_matter: &str, body: &str) -> Scene {
    let text = format!(
        "---\nname: report\ndescription: Reports what has changed\nargument-hint: \"[topic]\"\n{front_matter}---\n\n{body}\n"
    );
    scene()
        .home("home")
        .variable("PATH", "/usr/local/bin:/usr/bin:/bin")
        .file("repo/.git/HEAD", "ref: refs/heads/main\n")
        .file("repo/sub/notes.txt", "one\ntwo\n")
        .file("skills/report/SKILL.md", text)
        .inside("repo/sub")
}

const RENDER: &[&str] = &["render", "../../skills/report", "--run-commands", "--yes"];

/// Exit code, text and messages of a rendering with commands.
fn rendered(scene: &Scene, more: &[&str]) -> String {
    scene.run_with(&[RENDER, more].concat(), "")
}

/// SKL-L2-7
#[test]
fn a_command_is_marked_until_it_may_run() {
    let scene = project("", "Lines: !`wc -l < notes.txt`\n\n```!\nls\necho done\n```\n\nEnd.");
    assert_snapshot!(scene.run("render ../../skills/report"), @r#"
    exit 0
    --- stdout
    Lines: [not run: `wc -l < notes.txt`]

    [not run:
    ```
    ls
    echo done
    ```
    ]

    End.
    --- stderr
    note: not run, its output belongs in the text: wc -l < notes.txt
    note: not run, its output belongs in the text: ls
      echo done
    "#);
    assert_snapshot!(rendered(&scene, &[]), @r#"
    exit 0
    --- stdout
    Lines: 2

    notes.txt
    done

    End.
    "#);
    // Without a terminal and without `--yes` nobody is asked, and nothing is printed.
    assert_snapshot!(scene.run("render ../../skills/report --run-commands"), @r#"
    exit 125
    --- stderr
    error: `report/injected:bash` needs your approval: you have not approved it yet; `shell:execute:bash` needs your consent; `filesystem:write:./**` needs your consent
    hint: run it in a terminal to be asked, or approve this run with `--yes`
    "#);
}

#[test]
fn one_question_is_about_all_commands_and_its_answer_is_remembered() {
    let scene = project("", "A: !`echo first`\n\nB: !`git --version | head -c 3`");
    let arguments = ["render", "../../skills/report", "--run-commands"];
    let asked = scene.run_on_terminal(&arguments, "y\n");
    assert!(asked.starts_with("exit 0"), "{asked}");
    assert_eq!(asked.matches("Run it?").count(), 1, "{asked}");
    for expected in
        ["report/injected:bash", "echo first", "git --version | head -c 3", "may run `git`"]
    {
        assert!(asked.contains(expected), "{expected}: {asked}");
    }
    let again = scene.run_with(&arguments, "");
    assert!(again.starts_with("exit 0"), "{again}");
    assert!(again.contains("A: first\n\nB: git"), "{again}");
    // The same approval does not run other commands of the machine.
    assert!(scene.run("exec ../../skills/report -- echo x").starts_with("exit 125"));
    assert!(scene.run_on_terminal(&arguments[..2], "").contains("[not run: `echo first`]"));
}

#[test]
fn an_output_is_never_expanded() {
    let scene = project("", "!`cat words.txt`\n\n$0")
        .file("repo/sub/words.txt", "!`id` $0 $ARGUMENTS ${CLAUDE_SKILL_DIR}\n");
    let text = rendered(&scene, &["--arguments", "tea"]);
    assert!(text.contains("!`id` $0 $ARGUMENTS ${CLAUDE_SKILL_DIR}\n\ntea\n"), "{text}");
}

#[test]
fn a_failure_ends_the_whole_invocation() {
    // The command, and whether its failure is a result.
    let rows = [
        ("grep -c nothing notes.txt", true),
        ("cat notes.txt | grep nothing", true),
        ("diff notes.txt /dev/null", true),
        ("test -f nothing", true),
        ("false || true", true),
        ("grep x nowhere.txt", false),
        ("false", false),
        ("exit 3", false),
        ("no-such-program-at-all", false),
    ];
    for (command, is_result) in rows {
        let scene = project("", &format!("Before.\n\n!`{command}`\n\nAfter."));
        let shown = rendered(&scene, &[]);
        assert_eq!(shown.starts_with("exit 0"), is_result, "{command}: {shown}");
        assert_eq!(shown.contains("Before."), is_result, "{command}: {shown}");
    }
    let scene = project("", "!`echo why >&2; exit 3`");
    assert_snapshot!(rendered(&scene, &[]), @r#"
    exit 125
    --- stderr
    error: the command `echo why >&2; exit 3` in the skill's text failed: exit code 3
    hint: it printed: why
    hint: the text was not rendered; a command that may fail ends with `|| true`
    "#);
}

#[test]
fn errors_and_the_folder_are_as_documented() {
    // Standard error is merged in order, and the working directory is that of the user.
    let scene = project("", "!`echo one; echo two >&2; echo three; pwd`");
    let text = rendered(&scene, &[]);
    assert!(text.contains("one\ntwo\nthree\n[SCENE]/repo/sub"), "{text}");
    let scene = project("", "!`cat ${CLAUDE_SKILL_DIR}/extra.txt`")
        .file("skills/report/extra.txt", "from the skill\n");
    assert!(rendered(&scene, &[]).contains("from the skill"));
}

#[test]
fn commands_have_the_sandbox_of_the_skill() {
    // `allowed-tools` opens nothing: neither the network, nor files outside, nor programs.
    let allowed = "allowed-tools: Bash(*) Read Write\n";
    let scene = project(allowed, "!`cat ../../home/secret.txt || echo hidden`")
        .file("home/secret.txt", "do not show");
    let text = rendered(&scene, &[]);
    assert!(text.contains("hidden") && !text.contains("do not show"), "{text}");
    let scene = project(&format!("{allowed}read_only: true\n"), "!`touch made || echo refused`");
    assert!(rendered(&scene, &[]).contains("refused"));
    assert!(!scene.path().join("repo/sub/made").exists());
}

#[test]
fn an_argument_never_becomes_a_command_by_an_earlier_answer() {
    let scene = project("", "!`echo $ARGUMENTS`");
    let arguments = ["render", "../../skills/report", "--run-commands", "--arguments"];
    let run = |value: &str| scene.run_with(&[&arguments[..], &[value]].concat(), "");
    let asked = scene.run_on_terminal(&[&arguments[..], &["tea"]].concat(), "y\n");
    assert!(asked.starts_with("exit 0"), "{asked}");
    assert!(run("green tea").contains("green tea"));
    let refused = run("tea; touch made");
    assert!(refused.starts_with("exit 125"), "{refused}");
    assert!(!scene.path().join("repo/sub/made").exists());
}

#[test]
fn what_the_skill_or_the_user_disables_does_not_run() {
    let scene = project("disallowed-tools: Bash(git *)\n", "!`ls && git status`");
    assert_snapshot!(rendered(&scene, &[]), @r#"
    exit 125
    --- stderr
    error: the command `ls && git status` in the skill's text is denied by its own `disallowed-tools: Bash(git *)`
    "#);
    let scene = project("shell: powershell\n", "!`Get-ChildItem`");
    assert_snapshot!(rendered(&scene, &[]), @r#"
    exit 125
    --- stderr
    error: the skill's commands are for PowerShell (`shell: powershell`), which is not supported here; only bash is
    "#);
    let scene = project("", "Branch: !`git branch`\n\n```!\nls\n```")
        .file("home/.config/prowess/config.toml", "disable_skill_shell_execution = true\n");
    assert_snapshot!(rendered(&scene, &[]), @r#"
    exit 0
    --- stdout
    Branch: [shell command execution disabled by policy]

    [shell command execution disabled by policy]
    --- stderr
    note: commands in the text are disabled in `config.toml`
    "#);
    assert_snapshot!(scene.run("render ../../skills/report"), @r#"
    exit 0
    --- stdout
    Branch: [shell command execution disabled by policy]

    [shell command execution disabled by policy]
    --- stderr
    note: commands in the text are disabled in `config.toml`
    "#);
    let scene =
        scene.file("home/.config/prowess/config.toml", "disable_skill_shell_execution = 1\n");
    assert_snapshot!(rendered(&scene, &[]), @r#"
    exit 2
    --- stderr
    error: `[SCENE]/home/.config/prowess/config.toml` is not valid: `disable_skill_shell_execution` expects `true` or `false`
    "#);
}

#[test]
fn a_prompt_runs_its_commands_before_the_model_is_asked() {
    let provider = ScriptedProvider::start(Answer::text(["Fine."]));
    let text = "---\nname: summary\ndescription: Summarises notes\nargument-hint: \"[topic]\"\nwhen_to_use: On request\ninputs:\n  - name: topic\n    type: text\n    required: true\n---\n\nAbout {{topic}}: !`cat notes.txt`\n";
    let scene = project("", "Text.")
        .file("skills/summary/SKILL.md", text)
        .variable("OPENAI_BASE_URL", &format!("{}/v1", provider.url()))
        .variable("OPENAI_API_KEY", "sk-secret-of-the-test")
        .variable("PROWESS_MODEL", "openai/test-model");
    // Refused without an approval: no model is asked about half a text.
    let refused = scene.run("run ../../skills/summary --input topic=tea");
    assert!(refused.starts_with("exit 125"), "{refused}");
    let answered = scene.run("run ../../skills/summary --input topic=tea --yes");
    assert!(answered.starts_with("exit 0"), "{answered}");
    let body = provider.request(0).json();
    assert_eq!(body["messages"][1]["content"], "About tea: one\ntwo");
}

/// SKL-L2-8
#[test]
fn a_fork_is_a_task_for_an_agent_with_its_tools() {
    let rows = [
        ("", "general-purpose", true, Some("all"), true),
        ("agent: Explore\n", "Explore", true, Some("all"), false),
        ("agent: Plan\nbackground: false\n", "Plan", false, Some("all"), false),
        ("agent: my-reviewer\n", "my-reviewer", true, None, false),
    ];
    for (fields, agent, background, tools, writes) in rows {
        let scene = project(&format!("context: fork\n{fields}"), "Research $ARGUMENTS.");
        let arguments = ["render", "../../skills/report", "--arguments", "tea", "--format", "json"];
        let output = scene.output(&arguments, "");
        let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(json["text"], "Research tea.", "{fields}");
        assert_eq!(json["fork"], agent, "{fields}");
        let subagent = &json["subagent"];
        assert_eq!(subagent["agent"], agent, "{fields}");
        assert_eq!(subagent["background"], background, "{fields}");
        assert_eq!(subagent["type"]["tools"].as_str(), tools, "{fields}");
        let without = subagent["type"]["without_tools"].as_array().cloned().unwrap_or_default();
        if tools.is_some() {
            assert_eq!(without.is_empty(), writes, "{fields}: {subagent}");
        }
    }
}
