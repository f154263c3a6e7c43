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
    assert_snapshot!(scene.run("convert git-insights --to tool-pack --output out"));
    assert_snapshot!(scene.files());
    assert_eq!(
        scene.bytes("out/git-insights/scripts/hot-files.sh"),
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
        .file("out/git/SKILL.md", "mine")
        .file("out/git/notes.txt", "mine too");
    assert_snapshot!(scene.run("convert git --to agent-skills --output out --quiet"), @"
    exit 1
    --- stderr
    error: `out/git/SKILL.md` already exists
    hint: choose another folder, or add `--force` to replace it
    ");
    assert_eq!(scene.text("out/git/SKILL.md"), "mine");
    assert_snapshot!(scene.run("convert git --to agent-skills --output out --quiet --force"), @"
    exit 0
    --- stdout
    out/git/SKILL.md
    ");
    assert!(scene.text("out/git/SKILL.md").starts_with("---\nname: git\n"));
    assert_eq!(scene.text("out/git/notes.txt"), "mine too");
    assert_snapshot!(scene.files(), @"
    git/SKILL.md
    out/git/SKILL.md
    out/git/notes.txt
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
    out/hello/SKILL.md
    secret.txt
    ");
}

#[test]
fn a_converted_skill_lies_in_a_folder_of_its_name() {
    let scene = scene().file("old/SKILL.md", skill("hello"));
    for (output, written) in [
        ("out", "out/hello/SKILL.md"),
        ("other/hello", "other/hello/SKILL.md"),
        (".", "hello/SKILL.md"),
    ] {
        let told = scene.stdout(&format!("convert old --to claude-code --output {output}"));
        assert_eq!(told, format!("{written}\n"));
        let folder = written.trim_end_matches("/SKILL.md");
        assert!(scene.run(&format!("check {folder}")).starts_with("exit 0"), "{output}");
    }
    // A name that is no safe part of a path becomes one.
    let odd = "---\nname: ../../My Skill\ndescription: Does it\n---\n\nText\n";
    let scene = scene.file("odd/SKILL.md", odd);
    let arguments = "convert odd --dialect openclaw --to openclaw --output out";
    assert_eq!(scene.stdout(arguments), "out/my-skill/SKILL.md\n");
}

#[test]
fn a_file_in_the_way_is_named() {
    let scene = scene().file("hello/SKILL.md", skill("hello")).file("out", "mine");
    let arguments = "convert hello --to claude-code --output out";
    assert_snapshot!(scene.run(arguments), @"
    exit 1
    --- stderr
    error: `out` is a file, not a folder
    hint: name another folder, or move the file away
    ");
    for more in ["--dry-run", "--force"] {
        assert_eq!(scene.run(&format!("{arguments} {more}")), scene.run(arguments));
    }
    assert_eq!(scene.text("out"), "mine");
}

/// A tool pack that echoes, with more fields.
fn pack(name: &str, more: &str) -> String {
    format!(
        "{{\"name\": \"{name}\", \"description\": \"Says {name}.\", \"command\": {{\"program\": \"echo\", \"args\": [\"{name}\"]}}{more}}}"
    )
}

#[test]
fn tool_packs_of_one_folder_become_one_skill() {
    // TP-5
    let scene = scene().copy("examples/git-insights", "git-insights");
    let _ = scene.run("convert git-insights --to tool-pack --output packs");
    assert_snapshot!(scene.run("convert packs/git-insights --to gibberish --output back"));
    assert!(scene.run("check back --dialect gibberish").starts_with("exit 0"));
    let commands = |path: &str| {
        let shown: serde_json::Value =
            serde_json::from_str(&scene.stdout(&format!("show {path} --format json")))
                .expect("JSON");
        let mut tools: Vec<String> = shown["tools"]
            .as_array()
            .expect("a list")
            .iter()
            // Which quotes a word with blanks has is nobody's business.
            .map(|tool| {
                format!("{} {}", tool["name"], tool["command"]).replace(['"', '\'', '\\'], "")
            })
            .collect();
        tools.sort();
        tools
    };
    assert_eq!(commands("back/git-insights"), commands("git-insights"));
}

#[test]
fn joined_packs_take_the_careful_policy() {
    let policy = |policy: &str| format!(", \"policy\": {{{policy}}}");
    let careful =
        policy("\"read_only\": false, \"confirm_before_run\": true, \"timeout_secs\": 60");
    let scene = scene()
        .file("desk/one.tool.json", pack("one", ", \"version\": \"1.0.0\""))
        .file("desk/two.tool.json", pack("two", &careful));
    assert_snapshot!(scene.run("convert desk --to gibberish"));
}

#[test]
fn packs_that_disagree_stay_apart() {
    let online = ", \"policy\": {\"requires_network\": true}";
    for (name, one, two) in [
        ("network", pack("one", ""), pack("two", online)),
        ("modes", pack("one", ""), pack("two", ", \"modes\": [\"Dev\"]")),
        ("tool", pack("one", ""), pack("one", "")),
        ("error", pack("one", ""), "{}".to_owned()),
    ] {
        let scene = scene().file("desk/one.tool.json", one).file("desk/two.tool.json", two);
        let output = scene.run("convert desk --to gibberish --output out");
        assert_snapshot!(format!("packs_that_disagree_{name}"), output);
        assert!(!scene.files().contains("out"), "{name}");
    }
}

#[test]
fn packs_stay_packs_byte_for_byte() {
    let scene = scene()
        .file("desk/one.tool.json", pack("one", ""))
        .file("desk/two.tool.json", pack("two", ""));
    let _ = scene.run("convert desk --to tool-pack --output out");
    for file in ["desk/one.tool.json", "desk/two.tool.json"] {
        assert_eq!(scene.text(&format!("out/{file}")), scene.text(file));
    }
    assert_snapshot!(scene.run("show desk"), @"
    exit 3
    --- stderr
    error: `desk` holds several tool packs and no SKILL.md
    hint: name one, such as `desk/one.tool.json`
    hint: or join them: `prowess convert desk --to gibberish --output DIR`
    ");
}

#[test]
fn nothing_is_made_of_nothing() {
    insta::allow_duplicates! {
        for text in ["", "\n\n", "\u{feff}"] {
            let scene = scene().file("empty/SKILL.md", text);
            assert_snapshot!(scene.run("convert empty --to agent-skills --output out"), @"
            exit 1
            --- stderr
            error: `empty/SKILL.md` can't be written as agent-skills
            hint: nothing is written: there is no description, and no text to take one from
            ");
            assert_snapshot!(scene.files(), @"empty/SKILL.md");
        }
    }
}
