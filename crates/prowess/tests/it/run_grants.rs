//! What users grant a skill themselves: for one run, or remembered until it changes.

#![cfg(target_os = "linux")]

use insta::assert_snapshot;
use prowess_testkit::Scene;
use serde_json::Value;

use crate::run::probe;

/// A tool whose script starts `git`, which the skill does not declare.
fn needs_git() -> Scene {
    probe("read_only: true\n", &[("ask", &[], "./ask.sh"), ("say", &[], "echo hello")])
        .script("skills/probe/ask.sh", "#!/bin/sh\ngit --version\n")
}

fn grants(scene: &Scene) -> Value {
    let list: Value =
        serde_json::from_str(&scene.stdout("approvals list --format json")).expect("JSON");
    list["grants"].clone()
}

#[test]
fn a_grant_is_for_one_run() {
    let scene = needs_git();
    let refused = scene.run("run ../skills/probe/ask --yes");
    assert!(refused.starts_with("exit 127"), "{refused}");
    let granted = scene.stdout("run ../skills/probe/ask --yes --allow shell:execute:git");
    assert!(granted.starts_with("git version"), "{granted}");
    let again = scene.run("run ../skills/probe/ask --yes");
    assert!(again.starts_with("exit 127"), "{again}");
    assert_eq!(grants(&scene), serde_json::json!([]));
}

#[test]
fn a_remembered_grant_counts_until_the_skill_changes() {
    let scene = needs_git();
    let before = scene.text("skills/probe/SKILL.md");
    scene.stdout("run ../skills/probe/ask --yes --allow shell:execute:git --remember");
    let again = scene.stdout("run ../skills/probe/ask --yes");
    assert!(again.starts_with("git version"), "{again}");
    assert_eq!(scene.text("skills/probe/SKILL.md"), before, "the skill is left alone");
    let listed = grants(&scene);
    assert_eq!(listed[0]["grants"], serde_json::json!(["shell:execute:git"]));
    assert_eq!(listed[0]["files"], "same");
    let scene = scene.file("skills/probe/notes.md", "new\n");
    let changed = scene.run("run ../skills/probe/ask --yes");
    assert!(changed.starts_with("exit 127"), "{changed}");
    assert_eq!(grants(&scene)[0]["files"], "changed");
    let list = scene.run("approvals list");
    assert!(list.contains("its files have changed, so it is not used"), "{list}");
}

#[test]
fn a_remembered_grant_can_be_revoked() {
    let scene = needs_git();
    scene.stdout("run ../skills/probe/ask --yes --allow shell:execute:git --remember");
    assert_snapshot!(scene.run("approvals revoke probe"), @"
    exit 0
    --- stderr
    revoked 1 grant of yours
    ");
    assert!(scene.run("run ../skills/probe/ask --yes").starts_with("exit 127"));
    assert!(scene.run("approvals revoke probe").starts_with("exit 3"));
}

#[test]
fn a_refused_run_remembers_nothing() {
    let scene = needs_git();
    let arguments = ["run", "../skills/probe/ask", "--allow", "shell:execute:git", "--remember"];
    let declined = scene.run_on_terminal(&arguments, "n\n");
    assert!(declined.contains("granted by you until the skill changes"), "{declined}");
    assert_eq!(grants(&scene), serde_json::json!([]));
    assert!(scene.run("run ../skills/probe/ask --remember").starts_with("exit 2"), "alone");
}

#[test]
fn an_approved_tool_does_not_ask_again_for_an_own_grant() {
    let scene = needs_git();
    scene.run_on_terminal(&["run", "../skills/probe/ask"], "y\n");
    let granted = scene.stdout("run ../skills/probe/ask --allow shell:execute:git");
    assert!(granted.starts_with("git version"), "{granted}");
    // Remembered, it counts with the approval, and without asking.
    scene.stdout("run ../skills/probe/ask --allow shell:execute:git --remember");
    let again = scene.stdout("run ../skills/probe/ask");
    assert!(again.starts_with("git version"), "{again}");
    // What needs a person still asks, and nobody is there.
    let secret = scene.run("run ../skills/probe/ask --yes --allow filesystem:read:~/.ssh");
    assert!(secret.starts_with("exit 125"), "{secret}");
    assert!(secret.contains("`--yes` does not approve this"), "{secret}");
}

#[test]
fn wrong_and_impossible_permissions_are_told_apart() {
    let scene = needs_git();
    for (permission, code, expected) in [
        ("network:wirte:a.com", 2, "at column 9 (`wirte`)"),
        ("network:wirte:a.com", 2, "hint: did you mean `--allow network:write:a.com`?"),
        ("network:read:https://a.com/x", 2, "hint: did you mean `--allow network:read:a.com`?"),
        ("nonsense", 2, "is not of the form `domain:level`"),
        ("network:none", 2, "grants nothing"),
        ("network:read:169.254.169.254", 125, "no skill may access"),
        ("network:read:localhost", 125, "your own machine"),
        ("env:read:LD_PRELOAD", 125, "no skill may request it"),
        ("filesystem:write:~/.bashrc", 125, "no tool may change"),
        ("filesystem:write:/etc/cron.d", 125, "no tool may change"),
        ("filesystem:read:~/.local/share/prowess", 125, "it belongs to prowess"),
    ] {
        let shown = scene.run(&format!("run ../skills/probe/say --yes --allow {permission}"));
        assert!(shown.starts_with(&format!("exit {code}\n")), "{permission}: {shown}");
        assert!(shown.contains(expected), "{permission}: {shown}");
    }
    let policy = scene.run("policy ../skills/probe/say --allow network:wirte:a.com");
    assert!(policy.starts_with("exit 2\n"), "{policy}");
}

#[test]
fn the_policy_explains_own_grants() {
    let scene = needs_git();
    let shown = scene.stdout("policy ../skills/probe/say --allow filesystem:write:./out");
    assert!(
        shown.contains("  + may write files at ./out, granted by you for this run\n"),
        "{shown}"
    );
    let shown = scene.stdout("policy ../skills/probe/say");
    assert!(!shown.contains("granted by you"), "{shown}");
}

#[test]
fn own_write_access_is_where_the_user_is() {
    let scene = probe(
        "permissions: [\"filesystem:read:./**\", \"shell:execute:touch\"]\n",
        &[("make", &[], "touch sub/out/made")],
    )
    .file("repo/sub/out/kept", "")
    .inside("repo/sub");
    let refused = scene.run("run ../../skills/probe --yes");
    assert!(refused.starts_with("exit 1\n"), "{refused}");
    let made = scene.run("run ../../skills/probe --yes --allow filesystem:write:./out");
    assert!(made.starts_with("exit 0\n"), "{made}");
    assert!(scene.path().join("repo/sub/out/made").exists());
}

#[test]
fn exec_takes_own_grants_and_folders() {
    let scene = probe("permissions: [\"filesystem:read:./**\"]\n", &[("say", &[], "echo hello")])
        .file("repo/sub/out/kept", "")
        .inside("repo/sub");
    let refused = scene.run("exec ../../skills/probe --yes -- touch out/made");
    assert!(refused.starts_with("exit 1\n"), "{refused}");
    let allowed =
        scene.run("exec ../../skills/probe --yes --allow filesystem:write:./out -- touch out/made");
    assert!(allowed.starts_with("exit 0\n"), "{allowed}");
    assert!(scene.path().join("repo/sub/out/made").exists());
    let shown = scene.stdout("exec ../../skills/probe --yes --cwd out -- ls");
    assert_eq!(shown, "kept\nmade\n");
    let wrong = scene.run("exec ../../skills/probe --yes --allow shel:execute:git -- ls");
    assert!(wrong.starts_with("exit 2\n"), "{wrong}");
    assert!(wrong.contains("did you mean `--allow shell:execute:git`?"), "{wrong}");
}
