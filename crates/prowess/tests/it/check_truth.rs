//! `prowess check` says what agents make of a file: no "ok" for one that they drop, settings of a project, and what is walked.

use insta::assert_snapshot;

use crate::{scene, skill};

#[test]
fn a_file_that_is_no_skill_is_called_that() {
    let scene = scene().file("accounts", "root:x:0:0:root:/root:/bin/sh\n").file("run.sh", "ls\n");
    assert_snapshot!(scene.run("check accounts --format concise"), @"
    exit 1
    --- stdout
    accounts:1:1: error[not-a-skill] `accounts` is not a skill
    ");
    assert!(scene.run("check run.sh").starts_with("exit 1"));
}

#[test]
fn files_that_clients_drop_are_not_plain_ok() {
    let fields = "name: desk\ndescription: Tidy a desk\n";
    for (text, code) in [
        (String::new(), "missing-front-matter"),
        ("Text\n".to_owned(), "missing-front-matter"),
        (format!("----\n{fields}----\nText\n"), "misplaced-front-matter"),
        ("+++\nname = \"desk\"\n+++\nText\n".to_owned(), "misplaced-front-matter"),
        (format!("```yaml\n---\n{fields}---\n```\nText\n"), "misplaced-front-matter"),
        (format!("# Desk\n\n---\n{fields}---\nText\n"), "misplaced-front-matter"),
        (format!("{fields}\nText\n"), "misplaced-front-matter"),
        (format!("\n\n---\n{fields}---\nText\n"), "blank-lines-before-fence"),
        ("---\ndescription: Tidy a desk\n---\nText\n".to_owned(), "dropped-by-client"),
    ] {
        let scene = scene().file("desk/SKILL.md", &text);
        let usual = scene.run("check desk --format concise");
        let warning = usual.contains(&format!("warning[{code}]")) && usual.contains("drop");
        assert!(usual.starts_with("exit 0") && warning, "{text:?}: {usual}");
        let codex = scene.run("check desk --for codex --format concise");
        let is_dropped = !text.starts_with("---\n");
        assert_eq!(codex.starts_with("exit 1"), is_dropped, "{text:?}: {codex}");
        let strict = scene.run("check desk --strict --format concise");
        assert!(strict.starts_with("exit 1"), "{text:?}: {strict}");
    }
}

#[test]
fn a_misspelt_main_file_is_found_and_should_be_renamed() {
    let scene = scene()
        .file("a/skill.md", skill("a"))
        .file("b/Skill.MD", skill("b"))
        .file("c/SKILL.md", skill("c"))
        .file("c/skill.md", "Notes\n");
    assert_snapshot!(scene.run("check . --format concise"), @"
    exit 0
    --- stdout
    a/skill.md:1:1: warning[wrong-file-name] the file is called `skill.md`, and most clients only look for `SKILL.md`
    b/Skill.MD:1:1: warning[wrong-file-name] the file is called `Skill.MD`, and most clients only look for `SKILL.md`
    --- stderr
    checked 3 files: 0 errors, 2 warnings
    ");
    assert!(scene.run("check a --strict").starts_with("exit 1"));
}

#[cfg(unix)]
#[test]
fn a_link_without_a_target_is_a_finding() {
    let scene = scene().file("desk/notes.md", "");
    std::os::unix::fs::symlink("../gone/SKILL.md", scene.path().join("desk/SKILL.md"))
        .expect("a link");
    for path in ["desk", "desk/SKILL.md"] {
        let output = scene.run(&format!("check {path} --format concise"));
        let message = "error[dangling-link] `SKILL.md` is a symbolic link to `../gone/SKILL.md`, which does not exist";
        assert!(output.starts_with("exit 1") && output.contains(message), "{output}");
    }
}

#[test]
fn references_of_the_body_are_compared_with_the_files() {
    let body = "[a](references/none.md) [b](references/Guide.md) [c](.notes/x.md) [d](../x.md) [e](scripts/run.py)\n";
    let scene = scene()
        .file("desk/SKILL.md", format!("{}\n{body}", skill("desk")))
        .file("desk/references/guide.md", "")
        .file("desk/.notes/x.md", "")
        .file("desk/scripts/run.py", "")
        .file("x.md", "");
    assert_snapshot!(scene.run("check desk --format concise"), @"
    exit 0
    --- stdout
    desk/SKILL.md:10:1: warning[missing-file] `references/none.md` does not exist
    desk/SKILL.md:10:25: warning[wrong-case-path] `references/Guide.md` is called `references/guide.md`
    desk/SKILL.md:10:50: warning[unpackaged-file] `.notes/x.md` is not packed with the skill: hidden files are left out
    desk/SKILL.md:10:67: warning[unpackaged-file] `../x.md` is not packed with the skill: it is outside the skill's folder
    desk/SKILL.md: ok (structured) desk
    --- stderr
    checked 1 file: 0 errors, 4 warnings
    ");
    assert!(scene.run("check --fix desk").contains("fixed 1 problem"));
    let fixed = std::fs::read_to_string(scene.path().join("desk/SKILL.md")).expect("the file");
    assert!(fixed.contains("[b](references/guide.md)"), "{fixed}");
}

#[test]
fn a_project_disables_rules_everywhere_or_for_some_files() {
    let text = format!("{}\n[a](none.md) [b](../x.md)\n", skill("desk"));
    let scene = scene()
        .file("skills/desk/SKILL.md", &text)
        .file("old/desk/SKILL.md", text.replace("well", "badly"))
        .file(
            "prowess.toml",
            "[check]\ndisable = [\"unpackaged-file\"]\n\n[check.per-file-disable]\n\"old/**\" = [\"missing-file\"]\n",
        );
    assert_snapshot!(scene.run("check --format concise"), @"
    exit 0
    --- stdout
    skills/desk/SKILL.md:10:1: warning[missing-file] `none.md` does not exist
    --- stderr
    checked 2 files: 0 errors, 1 warning
    ");
    // The nearest file counts, whatever the user names.
    for path in ["old", "old/desk", "old/desk/SKILL.md"] {
        let output = scene.run(&format!("check {path} --format concise"));
        assert!(!output.contains("missing-file"), "{path}: {output}");
    }
    for (settings, message) in [
        ("[check]\ndisable = [\"long-skil\"]\n", "did you mean `long-skill`?"),
        ("[check]\ndisabel = []\n", "did you mean `check.disable`?"),
        ("[check\n", "not valid TOML (line 1)"),
    ] {
        std::fs::write(scene.path().join("prowess.toml"), settings).expect("a file");
        let output = scene.run("check --format concise");
        assert!(output.starts_with("exit 1") && output.contains(message), "{output}");
        assert!(scene.stdout("check --format json").contains("\"failures\""));
    }
}

#[test]
fn a_file_allows_rules_by_a_comment() {
    let body = "[a](none.md)\n\n<!-- prowess: allow missing-file -->\n";
    let scene = scene().file("desk/SKILL.md", format!("{}\n{body}", skill("desk"))).file(
        "table/SKILL.md",
        "---\n# prowess: allow missing-file, emty-body\nname: table\ndescription: x\n---\n",
    );
    assert_snapshot!(scene.run("check desk --format concise"), @"
    exit 0
    --- stdout
    desk/SKILL.md: ok (structured) desk
    --- stderr
    checked 1 file: 0 errors, 0 warnings
    ");
    let output = scene.run("check table --format concise");
    assert!(
        output.contains(
            "warning[unknown-rule] no rule is called `emty-body` (did you mean `empty-body`?)"
        ),
        "{output}"
    );
}

#[test]
fn unsafe_fixes_are_applied_on_request() {
    let text = "---\nname: \"desk\"\"\ndescription: Tidy a desk\n---\n\nText\n";
    let scene = scene().file("desk/SKILL.md", text);
    let read = || std::fs::read_to_string(scene.path().join("desk/SKILL.md")).expect("the file");
    scene.run("check --fix desk");
    assert_eq!(read(), text);
    let output = scene.run("check --unsafe-fixes desk");
    assert!(output.starts_with("exit 0") && output.contains("fixed 1 problem"), "{output}");
    assert_eq!(read(), text.replace("\"desk\"\"", "\"desk\""));
}

#[test]
fn json_is_printed_whatever_happens() {
    let scene = scene().file("empty/notes.txt", "");
    for (arguments, code) in
        [("nowhere", 3), ("empty", 3), ("- other", 2), ("--files-from none", 3)]
    {
        let output = scene.run(&format!("check {arguments} --format json"));
        assert!(output.starts_with(&format!("exit {code}")), "{output}");
        let printed = scene.stdout(&format!("check {arguments} --format json"));
        let object: serde_json::Value = serde_json::from_str(&printed).expect("an object");
        assert_eq!(object["summary"]["files"], 0, "{printed}");
        assert!(object["failures"][0]["message"].is_string(), "{printed}");
    }
}

#[test]
fn a_strict_verdict_does_not_depend_on_other_files() {
    let scene = scene().file("a/desk/SKILL.md", skill("desk")).file("a/b/SKILL.md", skill("b"));
    let alone = scene.run("check a/desk --strict --format concise");
    assert!(alone.starts_with("exit 0"), "{alone}");
    let flow = "---\nname: ﬁles\ndescription: Lists\ninputs:\n  - name: topic\n    label: Topic\n    type: text\n---\n\nAbout {{topic}}\n";
    let scene = scene
        .file("flow/one/SKILL.md", flow)
        .file("flow/two/SKILL.md", flow.replace("ﬁles", "FILES"));
    // Names are compared in their compatibility form, as Agent Flow asks.
    assert!(scene.run("check flow --format concise").contains("name-not-unique"));
    let plain = scene.file("plain/x/SKILL.md", skill("x")).file("plain/y/SKILL.md", skill("x"));
    assert!(!plain.run("check plain --strict --format concise").contains("name-not-unique"));
}

#[test]
fn mirrored_copies_are_reported_once() {
    let text = format!("{}\n[a](none.md)\n", skill("desk"));
    let scene = scene()
        .file(".agents/skills/desk/SKILL.md", &text)
        .file(".claude/skills/desk/SKILL.md", &text)
        .file(".codex/skills/desk/SKILL.md", &text);
    assert_snapshot!(scene.run("check . --format concise"), @"
    exit 0
    --- stdout
    .agents/skills/desk/SKILL.md:10:1: warning[missing-file] `none.md` does not exist
    --- stderr
    note: 2 identical copies have the same findings, which are reported once
    checked 3 files: 0 errors, 1 warning
    ");
    let printed = scene.stdout("check . --format json");
    let object: serde_json::Value = serde_json::from_str(&printed).expect("an object");
    assert_eq!(object["files"][2]["copy_of"], ".agents/skills/desk/SKILL.md");
}

/// An index of version 2 with these paths, as git writes it.
fn index(paths: &[&str]) -> Vec<u8> {
    let mut bytes = b"DIRC".to_vec();
    bytes.extend(2_u32.to_be_bytes());
    bytes.extend(u32::try_from(paths.len()).expect("few").to_be_bytes());
    for path in paths {
        let start = bytes.len();
        bytes.extend([0; 24]);
        bytes.extend(0o100_644_u32.to_be_bytes());
        bytes.extend([0; 12 + 20]);
        bytes.extend(u16::try_from(path.len()).expect("short").to_be_bytes());
        bytes.extend(path.as_bytes());
        let length = bytes.len() - start;
        bytes.resize(start + (length + 8) / 8 * 8, 0);
    }
    bytes.extend([0; 20]);
    bytes
}

#[test]
fn tracked_files_that_gitignore_names_are_checked() {
    let scene = scene()
        .file(".gitignore", "vendor/\nlocal\n")
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(".git/index", index(&["local/desk/SKILL.md", "vendor/a/SKILL.md"]))
        .file("vendor/a/SKILL.md", "---\nname: [\n---\n")
        .file("vendor/b/SKILL.md", "---\nname: [\n---\n")
        .file("local/desk/SKILL.md", skill("desk"))
        .file("local/other/SKILL.md", skill("wrong"));
    let output = scene.run("check . --format concise");
    assert!(output.contains("vendor/a/SKILL.md") && output.contains("checked 2 files"), "{output}");
    assert!(!output.contains("vendor/b") && !output.contains("local/other"), "{output}");
    let below = scene.run("check vendor --format concise");
    assert!(below.contains("vendor/a/SKILL.md"), "{below}");
}
