//! `prowess check`: what is found, where, and how it ends.

use insta::assert_snapshot;

use crate::{scene, skill};

#[test]
fn a_clean_file_gets_one_line() {
    let scene = scene().file("hello/SKILL.md", skill("hello"));
    assert_snapshot!(scene.run("check hello/SKILL.md"), @"
    exit 0
    --- stdout
    hello/SKILL.md: ok (structured) hello
    ");
}

#[test]
fn the_examples_of_skillrt_validate_with_the_documented_lines() {
    // SRT-A-1
    let scene = scene().copy("fixtures/skillrt/appendix-a", ".");
    assert_snapshot!(scene.run("check structured-pr-review.md"));
    assert_snapshot!(scene.run("check prose-uk-train-times.md"));
}

#[test]
fn a_broken_skill_is_shown_with_its_lines() {
    let scene = scene().file(
        "My_Skill/SKILL.md",
        "---\nname: My_Skill\ndescription: 42\nuser-invocable: yes\nallowed-tols: Read\n---\n\nText\n",
    );
    assert_snapshot!(scene.run("check My_Skill"));
}

#[test]
fn a_walk_counts_and_sorts() {
    let scene = scene()
        .file("b/SKILL.md", "no front matter\n")
        .file("a/SKILL.md", "---\nname: [\n---\n")
        .file("c/SKILL.md", skill("other"))
        .file("d.tool.json", "{}");
    assert_snapshot!(scene.run("check . --format concise --threads 2"));
}

#[test]
fn a_list_names_the_files_to_check() {
    let scene = scene()
        .file("a/SKILL.md", skill("other"))
        .file("b c/SKILL.md", "no front matter\n")
        .file("d/SKILL.md", skill("d"))
        .file("lines", "a/SKILL.md\r\n\nd/SKILL.md\nd/SKILL.md\n")
        .file("nuls", "b c/SKILL.md\0d\0d/SKILL.md\0")
        .file("missing", "a/SKILL.md\nx/SKILL.md\n")
        .file("empty", "\n");
    assert_snapshot!(scene.run("check --files-from lines --format concise"));
    assert_snapshot!(scene.run("check --files-from nuls --format concise"));
    assert_snapshot!(scene.run("check --files-from nuls a --format concise"));
    let piped = scene.run_with(&["check", "--files-from", "-"], "d/SKILL.md\n");
    assert_snapshot!(piped);
    assert_snapshot!(scene.run("check --files-from missing"));
    assert_snapshot!(scene.run("check --files-from empty"));
    assert_snapshot!(scene.run("check --files-from none"));
}

#[test]
fn a_walk_leaves_out_what_git_ignores() {
    let broken = "---\nname: [\n---\n";
    let scene = scene()
        .file(".gitignore", "vendor/\n")
        .file("vendor/x/SKILL.md", broken)
        .file("node_modules/y/SKILL.md", broken)
        .file(".git/z/SKILL.md", broken)
        .file(".claude/skills/hello/SKILL.md", skill("hello"));
    assert_snapshot!(scene.run("check ."), @"
    exit 0
    --- stdout
    .claude/skills/hello/SKILL.md: ok (structured) hello
    --- stderr
    checked 1 file: 0 errors, 0 warnings
    ");
}

#[test]
fn the_nearest_gitignore_decides() {
    let broken = "---\nname: [\n---\n";
    let scene = scene()
        .file(".git/HEAD", "")
        .file(".gitignore", "/drafts/\n*.tool.json\n")
        .file("drafts/x/SKILL.md", broken)
        .file("skills/.gitignore", "old-*\n!keep.tool.json\n")
        .file("skills/old-one/SKILL.md", broken)
        .file("skills/new-one/SKILL.md", skill("new-one"))
        .file("skills/other.tool.json", "{}")
        .file("skills/keep.tool.json", "{}");
    assert_snapshot!(scene.run("check . --format concise"));
    // The rules of the repository count below it too, but what the user names is always checked.
    assert_eq!(
        scene.stdout("check skills --format concise"),
        scene.stdout("check . --format concise")
    );
    assert!(scene.run("check drafts").contains("checked 1 file"));
    assert!(scene.run("check skills/old-one/SKILL.md").starts_with("exit 1"));
}

#[test]
fn any_number_of_threads_finds_the_same() {
    let folder = prowess_testkit::fixtures();
    let folder = folder.to_str().expect("the repository has a name in UTF-8");
    let one = scene().run(&format!("check {folder} --format concise --threads 1"));
    for threads in [0, 2, 7] {
        let many = scene().run(&format!("check {folder} --format concise --threads {threads}"));
        assert_eq!(one, many, "{threads} threads");
    }
}

#[cfg(unix)]
#[test]
fn links_to_files_are_followed_and_links_to_folders_are_not() {
    use std::os::unix::fs::symlink;
    let scene = scene().file("real/SKILL.md", skill("real")).file("linked/notes.txt", "");
    let link = |to: &str, from: &str| symlink(to, scene.path().join(from)).expect("a link");
    link("../real/SKILL.md", "linked/SKILL.md");
    link("..", "real/loop");
    link("nowhere", "linked/AGENT.yaml");
    assert_snapshot!(scene.run("check . --format concise"));
}

#[test]
fn other_spellings_are_checked_on_request() {
    // OC-7
    let scene = scene()
        .file("a/skill.md", skill("a"))
        .file("b/Skill.md", skill("b"))
        .file("c/skills.md", skill("c"))
        .file("d/SKILLS.md", skill("d"))
        .file("e/SKILL.md", skill("e"));
    assert_snapshot!(scene.run("check ."));
    assert_snapshot!(scene.run("check . --all-spellings"));
}

#[test]
fn two_skills_of_one_folder_need_two_names() {
    // AFL-4-2
    let scene = scene()
        .file("one/SKILL.md", skill("review"))
        .file("two/SKILL.md", skill("Review"))
        .file("elsewhere/three/SKILL.md", skill("review"));
    assert_snapshot!(scene.run("check . --dialect agent-flow --format concise"));
}

#[test]
fn a_skill_file_gets_the_verdict_of_its_directory() {
    let scene = scene().file("elsewhere/SKILL.md", skill("hello"));
    let directory = scene.run("check elsewhere --format concise");
    assert_snapshot!(directory);
    for path in ["elsewhere/SKILL.md", "./elsewhere/SKILL.md", "elsewhere/../elsewhere/SKILL.md"] {
        let file = scene.run(&format!("check {path} --format concise"));
        assert!(file.starts_with("exit 1"), "{path}: {file}");
        let message =
            "error[name-directory-mismatch] the name is `hello`, the directory is `elsewhere`";
        assert!(directory.contains(message) && file.contains(message), "{path}: {file}");
    }
}

#[test]
fn a_text_and_a_file_with_a_name_of_its_own_have_no_directory_to_match() {
    let scene = scene().file("elsewhere/hello.md", skill("hello"));
    assert!(scene.run("check elsewhere/hello.md").starts_with("exit 0"));
    assert!(scene.run_with(&["check", "-"], &skill("hello")).starts_with("exit 0"));
}

#[test]
fn the_name_of_the_current_folder_counts() {
    let scene = scene().file("SKILL.md", skill("hello"));
    for path in [".", "SKILL.md", "./SKILL.md"] {
        let output = scene.run(&format!("check {path} --format concise"));
        assert!(output.contains("error[name-directory-mismatch]"), "{path}: {output}");
    }
}

#[test]
fn standard_input_is_a_skill() {
    let scene = scene();
    assert_snapshot!(scene.run_with(&["check", "-"], &skill("hello")), @"
    exit 0
    --- stdout
    <stdin>: ok (structured) hello
    ");
    assert_snapshot!(scene.run_with(&["check", "-", "--format", "concise"], "---\nname: x\n"));
}

#[test]
fn strict_counts_the_specification() {
    let scene = scene().file(
        "hello/SKILL.md",
        "---\nname: hello\ndescription: Does one thing well\ncolour: red\n---\n\nText\n",
    );
    let arguments = "check hello --dialect agent-skills --format concise";
    assert_snapshot!(scene.run(arguments));
    assert_snapshot!(scene.run(&format!("{arguments} --strict")));
}

#[test]
fn notes_wait_for_verbose() {
    let scene = scene().file("hello/SKILL.md", "---\ndescription: Does one thing\n---\n\nText\n");
    assert_snapshot!(scene.run("check hello --format concise --dialect agent-flow"));
    assert_snapshot!(scene.run("check hello --format concise --dialect agent-flow --verbose"));
}

#[test]
fn quiet_leaves_only_findings() {
    let scene = scene().file("a/SKILL.md", skill("a")).file("b/SKILL.md", skill("c"));
    assert_snapshot!(scene.run("check a --quiet"), @"exit 0");
    assert_snapshot!(scene.run("check . --quiet --format concise"));
}

#[test]
fn deceptive_characters_are_made_visible() {
    let scene = scene().file(
        "hello/SKILL.md",
        "---\nname: hello\ndescription: \"safe \u{202e}evil\u{202c} \u{200b}text\"\nmetadata:\n  a: \u{1b}[31mred\n---\n\nText\n",
    );
    for format in ["full", "concise", "github", "json", "sarif"] {
        let output = scene.run(&format!("check hello --format {format}"));
        let bad = ['\u{202e}', '\u{202c}', '\u{200b}', '\u{1b}'];
        assert!(!output.contains(bad), "{format}: {output}");
        assert!(output.contains("hidden-characters"), "{format}: {output}");
    }
    assert_snapshot!(scene.run("check hello"));
}

#[test]
fn a_file_that_is_not_utf8_is_reported() {
    let scene =
        scene().file("hello/SKILL.md", b"---\nname: hello\ndescription: caf\xe9\n---\n\nText\n");
    assert_snapshot!(scene.run("check hello --format concise"));
}

#[test]
fn a_file_that_is_not_text_gets_one_finding() {
    let scene = scene()
        .file("logo.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\xff\xfe")
        .file("zeros/SKILL.md", [0_u8; 64])
        .file("agent/AGENT.yaml", b"name: x\0\xff")
        .file("wide/SKILL.md", b"\xff\xfe-\0-\0-\0\n\0");
    assert_snapshot!(scene.run("check logo.png"), @"
    exit 1
    --- stdout
    error[not-text]: this is not a text file: it begins like a PNG image
     --> logo.png:1:1
      |
    1 |
      | ^
      |
      = help: pass a SKILL.md; if this is UTF-16 text, save it as UTF-8
    ");
    assert_snapshot!(scene.run("check zeros agent wide --for codex --format concise"));
    for verb in ["show", "render", "convert --to gaia"] {
        let output = scene.run(&format!("{verb} logo.png"));
        assert!(output.starts_with("exit 1") && output.contains("not-text"), "{verb}: {output}");
    }
}

#[test]
fn the_column_is_that_of_the_source() {
    let hidden = "---\nname: hello\ndescription: \"\u{200b}\u{200b} x\"\nallowed-tols: Read\ncolour: [\u{200b} x\n---\n\nText\n";
    let long =
        format!("---\nname: hello\ndescription: \"{}\u{200b}\"\n---\n\nText\n", "x".repeat(5000));
    let scene = scene().file("hello/SKILL.md", hidden).file("long/hello/SKILL.md", long);
    for path in ["hello", "long/hello"] {
        let concise = scene.stdout(&format!("check {path} --format concise"));
        let full = scene.stdout(&format!("check {path}"));
        let places =
            concise.lines().filter_map(|line| line.split_once(": ")).map(|(place, _)| place);
        for place in places.filter(|place| place.ends_with(|end: char| end.is_ascii_digit())) {
            assert!(full.contains(&format!("--> {place}\n")), "{place}: {full}");
        }
        assert!(concise.contains(":3:"), "{concise}");
    }
}

#[test]
fn the_same_bad_file_gives_the_same_findings() {
    // NEG-3
    let scene = scene().copy("fixtures/neg", "neg");
    assert_eq!(
        scene.run("check neg --format json"),
        scene.run("check neg --format json --threads 1")
    );
}

#[test]
fn the_order_of_arguments_does_not_matter() {
    let scene = scene().file("b/SKILL.md", skill("x")).file("a/SKILL.md", skill("y"));
    let one = scene.run("check a b ./a a/SKILL.md --format concise");
    assert_eq!(one, scene.run("check b a/SKILL.md a --format concise"));
    assert_snapshot!(one);
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let scene = scene().copy("fixtures/neg", "neg");
    let output = std::process::Command::new("sh")
        .args(["-c", "\"$0\" check neg | head -n 1", env!("CARGO_BIN_EXE_prowess")])
        .current_dir(scene.path())
        .output()
        .expect("the shell runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!stderr.contains("panicked") && !stderr.contains("pipe"), "{stderr}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_a_failure() {
    let scene = scene().file("a/SKILL.md", skill("b"));
    let output = std::process::Command::new("sh")
        .args(["-c", "\"$0\" check a > /dev/full", env!("CARGO_BIN_EXE_prowess")])
        .current_dir(scene.path())
        .output()
        .expect("the shell runs");
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("cannot write to standard output"), "{stderr}");
}

#[cfg(unix)]
#[test]
fn links_out_of_the_skill_are_not_its_files() {
    let quiz = "---\nname: hello\ndescription: Asks first\nquiz:\n  - title: T\n    questions:\n      - question: Q\n        options:\n          - label: a\n            correct: true\n          - label: b\n        on-correct:\n          load-reference: references/notes.md\n---\n\nText\n";
    let scene = scene().file("hello/SKILL.md", quiz).file("outside/notes.md", "secret\n");
    std::os::unix::fs::symlink("../outside", scene.path().join("hello/references"))
        .expect("a link can be made");
    let output = scene.run("check hello --format concise");
    assert!(output.contains("quiz-missing-reference"), "{output}");
}

#[test]
fn clients_say_what_they_make_of_a_skill() {
    let scene = scene().file("hello/SKILL.md", "---\nname: hello\n---\n\nText\n");
    assert_snapshot!(
        scene.run(
            "check hello --for claude-code,codex,gemini,openclaw,agent-skills --format concise"
        )
    );
    assert_snapshot!(scene.run("check hello --for codex --format json"));
    assert_snapshot!(scene.run("check hello --for codx"));
}

#[test]
fn agent_manifests_are_checked() {
    // GAIA-9.1-1
    let scene = scene()
        .copy("fixtures/agent-manifest/9.1/gaia-agent", "good")
        .copy("fixtures/agent-manifest/invalid/GAIA-9.1-1/range-unreadable", "bad");
    assert_snapshot!(scene.run("check good/AGENT.yaml"), @"
    exit 0
    --- stdout
    good/AGENT.yaml: ok (structured) gaia-agent@0.24.0
    ");
    assert_snapshot!(scene.run("check . --format concise"));
}

#[test]
fn python_tools_are_compared_with_their_functions() {
    let scene = scene()
        .copy("fixtures/gaia/2.1/web-search/SKILL.md", "web-search/SKILL.md")
        .file("web-search/tools.py", "def other():\n    pass\n");
    assert_snapshot!(scene.run("check web-search"));
}

#[test]
fn a_client_that_drops_the_skill_fails_the_check() {
    let text = "---\nname: desk\ndescription: Tidy: a desk\n---\n\nKeep it.\n";
    let scene = scene().file("desk/SKILL.md", text);
    insta::assert_snapshot!(scene.run("check desk --format concise --for codex"), @"
    exit 1
    --- stdout
    desk/SKILL.md:3:14: warning[repaired-yaml] a value with a special character must be quoted
    desk/SKILL.md: Codex: is dropped
      the front matter is not valid YAML (line 3), and Codex skips such a file: run `prowess check --fix`
    --- stderr
    checked 1 file: 0 errors, 1 warning
    ");
    insta::assert_snapshot!(scene.run("check desk --format concise --for gemini"), @"
    exit 0
    --- stdout
    desk/SKILL.md:3:14: warning[repaired-yaml] a value with a special character must be quoted
    desk/SKILL.md: Gemini CLI: loads
      the front matter is not valid YAML (line 3), and Gemini CLI reads it line by line: run `prowess check --fix`
    desk/SKILL.md: ok (structured) desk
    --- stderr
    checked 1 file: 0 errors, 1 warning
    ");
}

#[test]
fn a_borrowed_field_brings_no_duties() {
    // `permissions` is GAIA's, whose other fields this file does not owe.
    let text = "---\nname: notes\nversion: 1.0.0\ndescription: Lists notes. Use when asked for notes.\nauthor: me\npermissions: [\"shell:execute:ls\"]\nmodes: [Global]\nread_only: true\n---\n\n### list\n\nLists notes.\n\n#### Parameters\n\nNone.\n\n#### Command\n\n```bash\nls\n```\n";
    let scene = scene().file("notes/SKILL.md", text);
    assert_snapshot!(scene.run("check --strict notes"), @"
    exit 0
    --- stdout
    notes/SKILL.md: ok (structured) notes@1.0.0
    --- stderr
    checked 1 file: 0 errors, 0 warnings
    ");
}
