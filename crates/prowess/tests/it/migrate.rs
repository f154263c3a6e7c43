//! `prowess migrate`: OpenClaw skills to GAIA.

use insta::assert_snapshot;

use crate::{scene, skill};

#[test]
fn the_new_skill_goes_to_standard_output_and_the_report_to_standard_error() {
    // GAIA-8.2-5
    let scene = scene().copy("fixtures/openclaw/batch/good-section-8", "good-section-8");
    assert_snapshot!(scene.run("migrate good-section-8"));
}

#[test]
fn a_folder_gets_the_wrapper_and_the_handlers() {
    // GAIA-8.2-4
    let scene = scene().copy("fixtures/openclaw/batch/good-section-8", "old");
    assert_snapshot!(scene.run("migrate old/SKILL.md --validate --output good-section-8"));
    assert_snapshot!(scene.files());
    let wrapper = scene.text("good-section-8/tools.py");
    for part in ["def search(query: str", "def fetch(url: str", "handlers/search.py"] {
        assert!(wrapper.contains(part), "{part}\n{wrapper}");
    }
}

#[test]
fn one_bad_skill_does_not_stop_the_rest() {
    // GAIA-8.2-6
    let scene = scene().copy("fixtures/openclaw/batch", "old");
    assert_snapshot!(scene.run("migrate old --batch --output new --validate"));
    assert_snapshot!(scene.files());
    assert!(scene.run("check new --dialect gaia").starts_with("exit 0"));
}

#[test]
fn a_dry_run_writes_nothing() {
    let scene = scene().copy("fixtures/openclaw/batch", "old");
    let before = scene.files();
    assert!(scene.run("migrate old --batch --output new --dry-run").contains("migrated 2 of 4"));
    assert_eq!(scene.files(), before);
}

#[test]
fn a_batch_needs_a_place_unless_it_is_a_dry_run() {
    let scene = scene().copy("fixtures/openclaw/batch", "old");
    let before = scene.files();
    assert_snapshot!(scene.run("migrate old --batch"), @"
    exit 2
    --- stderr
    error: `--batch` needs a folder to write to
    hint: add `--output DIR`, or `--dry-run` to print the report and write nothing
    ");
    for arguments in ["migrate old --batch --dry-run", "migrate old --batch --dry-run --validate"] {
        assert!(scene.run(arguments).contains("migrated 2 of 4"), "{arguments}");
    }
    assert_eq!(scene.files(), before);
}

#[test]
fn a_migrated_skill_lies_in_a_folder_of_its_name() {
    let scene = scene().file("old/SKILL.md", skill("hello"));
    assert!(scene.run("migrate old --output new").contains("wrote new/hello/SKILL.md"));
    assert!(scene.run("migrate old --output other/hello").contains("wrote other/hello/SKILL.md"));
}

#[test]
fn a_gaia_skill_is_there_already() {
    let scene = scene().copy("fixtures/gaia/2.1/web-search", "web-search");
    assert_snapshot!(scene.run("migrate web-search"), @"
    exit 1
    --- stderr
    error: `web-search/SKILL.md` is already a GAIA skill
    hint: `--dialect openclaw` reads it as an OpenClaw skill anyway
    ");
}

#[test]
fn nothing_is_replaced_unasked() {
    let scene = scene().file("old/a/SKILL.md", skill("a")).file("new/a/SKILL.md", "mine");
    assert!(scene.run("migrate old --batch --output new").starts_with("exit 1"));
    assert_eq!(scene.text("new/a/SKILL.md"), "mine");
}

#[test]
fn tools_of_another_dialect_are_not_dropped_without_a_word() {
    let scene = scene().copy("examples/git-insights", "git-insights");
    insta::assert_snapshot!(scene.run("migrate git-insights --output migrated"), @"
    exit 1
    --- stderr
    error: `git-insights/SKILL.md` is written in gibberish, not for OpenClaw
    hint: convert it instead: `prowess convert PATH --to gaia`
    ");
    assert!(!scene.files().contains("migrated"), "nothing is written");
}
