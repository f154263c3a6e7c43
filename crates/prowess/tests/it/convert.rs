//! `prowess convert`: what is written, what is lost, and what is never touched.

use insta::assert_snapshot;

use crate::{scene, skill};

#[test]
fn the_main_file_goes_to_standard_output() {
    let scene = scene().copy("fixtures/gibberish/8.1/git", "git");
    assert_snapshot!(scene.run("convert git --to agent-skills"));
    assert_snapshot!(scene.files(), @"git/SKILL.md");
}

#[test]
fn the_same_dialect_gives_the_same_bytes() {
    let scene = scene().copy("examples/git-insights", "git-insights");
    let text = scene.text("git-insights/SKILL.md");
    assert_eq!(scene.stdout("convert git-insights --to gibberish"), text);
}

#[test]
fn a_folder_gets_all_files() {
    let scene = scene()
        .copy("examples/git-insights", "git-insights")
        .file("git-insights/SKILL.md.lock", "never content");
    assert_snapshot!(scene.run("convert git-insights --to tool-pack --output out/packs"));
    assert_snapshot!(scene.files());
    assert_eq!(
        scene.bytes("out/packs/scripts/hot-files.sh"),
        scene.bytes("git-insights/scripts/hot-files.sh")
    );
}

#[test]
fn a_dry_run_writes_nothing() {
    let scene = scene().copy("examples/git-insights", "git-insights");
    let before = scene.files();
    assert_snapshot!(scene.run("convert git-insights --to tool-pack --output out --dry-run"));
    assert_eq!(scene.files(), before);
}

#[test]
fn nothing_is_replaced_unasked() {
    let scene = scene()
        .copy("fixtures/gibberish/8.1/git", "git")
        .file("out/SKILL.md", "mine")
        .file("out/notes.txt", "mine too");
    assert_snapshot!(scene.run("convert git --to agent-skills --output out --quiet"), @"
    exit 1
    --- stderr
    error: `out/SKILL.md` exists already
    hint: choose another folder, or add `--force` to replace it
    ");
    assert_eq!(scene.text("out/SKILL.md"), "mine");
    assert_snapshot!(scene.run("convert git --to agent-skills --output out --quiet --force"), @"
    exit 0
    --- stdout
    out/SKILL.md
    ");
    assert!(scene.text("out/SKILL.md").starts_with("---\nname: git\n"));
    assert_eq!(scene.text("out/notes.txt"), "mine too");
    assert_snapshot!(scene.files(), @"
    git/SKILL.md
    out/SKILL.md
    out/notes.txt
    ");
}

#[test]
fn a_skill_with_errors_is_not_converted() {
    let scene = scene().file("hello/SKILL.md", "---\nname: hello\n---\n\nText\n");
    assert_snapshot!(scene.run("convert hello --to gaia --output out"));
    assert_snapshot!(scene.files(), @"hello/SKILL.md");
}

#[test]
fn what_has_no_tools_is_no_tool_pack() {
    let scene = scene().file("hello/SKILL.md", skill("hello"));
    assert_snapshot!(scene.run("convert hello --to tool-pack"));
}

#[test]
fn a_manifest_is_no_skill() {
    let scene = scene().copy("fixtures/agent-manifest/9.1/gaia-agent", "agent");
    assert_snapshot!(scene.run("convert agent --to gaia"), @"
    exit 1
    --- stderr
    error: `agent/AGENT.yaml` is an agent manifest, not a skill
    hint: `prowess check` and `prowess show` read manifests too
    ");
}

#[cfg(unix)]
#[test]
fn links_do_not_come_along() {
    let scene = scene().file("hello/SKILL.md", skill("hello")).file("secret.txt", "secret");
    std::os::unix::fs::symlink("../secret.txt", scene.path().join("hello/notes.txt"))
        .expect("a link can be made");
    let _ = scene.run("convert hello --to claude-code --output out");
    assert_snapshot!(scene.files(), @"
    hello/SKILL.md
    hello/notes.txt
    out/SKILL.md
    secret.txt
    ");
}
