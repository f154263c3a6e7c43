//! `prowess run` with functions of a `tools.py`, through the real binary.

use insta::assert_snapshot;
use prowess_testkit::Scene;

use crate::scene;

fn with(example: &str) -> Scene {
    scene()
        .home("home")
        .variable("PATH", "/usr/local/bin:/usr/bin:/bin")
        .file("repo/.git/HEAD", "ref: refs/heads/main\n")
        .copy(&format!("examples/{example}"), example)
        .inside("repo")
}

#[test]
fn the_example_greets() {
    let scene = with("greeting");
    assert_snapshot!(scene.run("check --strict ../greeting"), @"
    exit 0
    --- stdout
    ../greeting/SKILL.md: ok (structured) greeting@1.0.0
    --- stderr
    checked 1 file: 0 errors, 0 warnings
    ");
    assert_snapshot!(scene.run("run ../greeting --input name=Ada --yes"), @r#"
    exit 0
    --- stdout
    {"message":"Hello, Ada!","language":"en"}
    "#);
    assert_snapshot!(scene.run("run ../greeting --input name=Ada --input language=xx --yes"), @r#"
    exit 1
    --- stderr
    Traceback (most recent call last):
      File "[SCENE]/greeting/tools.py", line 11, in greet
        raise ValueError(f"no greeting is known in {language}, only in {known}")
    ValueError: no greeting is known in xx, only in en, de, fr, pl
    note: `greet` raised ValueError: no greeting is known in xx, only in en, de, fr, pl
    "#);
    assert_snapshot!(scene.run("run ../greeting/greet --yes"), @"
    exit 2
    --- stderr
    error: greet: the required parameter `name` is missing
    hint: give `--input name=…`
    ");
    assert_snapshot!(scene.run("run ../greeting --input name=Ada"), @"
    exit 125
    --- stderr
    error: `greeting/greet` needs your approval: you have not approved it yet
    hint: run it in a terminal to be asked, or approve this run with `--yes`
    ");
}

#[test]
fn a_migrated_skill_runs() {
    let skill = "---\nclaw_version: 1\nname: shouter\ndescription: Shouts\nnetwork: false\nactions:\n  - name: shout\n    description: Shouts a word\n    handler: handlers/shout.py\n    parameters:\n      word: {type: string, required: true}\n---\n\n# Shouter\n";
    let scene = scene()
        .home("home")
        .variable("PATH", "/usr/local/bin:/usr/bin:/bin")
        .file("shouter/SKILL.md", skill)
        .file("shouter/handlers/shout.py", "def shout(word):\n    return word.upper() + '!'\n");
    scene.run("migrate shouter/SKILL.md --output new");
    assert_snapshot!(scene.run("run new/shouter --input word=hey --yes"), @r#"
    exit 0
    --- stdout
    {"result":"HEY!"}
    "#);
}
