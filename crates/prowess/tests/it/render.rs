//! `prowess render`: prompts and command lines, and what is wrong with their inputs.

use insta::assert_snapshot;

use crate::scene;

const PROMPT: &str = "---\nname: poem\ndescription: Writes a poem\ninputs:\n  - name: topic\n    type: text\n    required: true\n  - name: lines\n    type: text\n    default: \"4\"\n---\n\nWrite {{lines}} lines about {{topic}}.\n";

#[test]
fn inputs_fill_a_prompt() {
    let scene = scene().file("poem/SKILL.md", PROMPT).file("topic.txt", "green tea");
    assert_snapshot!(scene.run("render poem --input topic=@topic.txt"), @"
    exit 0
    --- stdout
    Write 4 lines about green tea.
    ");
    assert_snapshot!(scene.run("render poem --input topic=@@home"), @"
    exit 0
    --- stdout
    Write 4 lines about @home.
    ");
    let from_stdin = ["render", "poem", "--inputs", "-", "--input", "lines=2"];
    assert_snapshot!(scene.run_with(&from_stdin, "{\"topic\": \"rain\", \"lines\": \"9\"}"), @"
    exit 2
    --- stderr
    error: `lines` has two values: `--input lines=2` and one in `--inputs`
    hint: give only one of them
    ");
}

#[test]
fn wrong_inputs_are_named() {
    let scene = scene().file("poem/SKILL.md", PROMPT).file("bytes.txt", b"\xff\xfe");
    for arguments in [
        "render poem",
        "render poem --input topci=tea",
        "render poem --input tea=green --input lines=5",
        "render poem --input topic",
        "render poem --input topic=x --input colour=red",
        "render poem --inputs [1]",
        "render poem --inputs {",
        "render poem --inputs @nowhere.json",
        "render poem --input topic=@bytes.txt",
    ] {
        let name = arguments.replace(|character: char| !character.is_alphanumeric(), "_");
        assert_snapshot!(format!("wrong_inputs_{name}"), scene.run(arguments));
    }
}

#[test]
fn a_command_tool_gives_its_arguments() {
    // GIB-3.4-1
    let scene = scene().copy("fixtures/gibberish/8.1/git", "git");
    assert_snapshot!(scene.run("render git/git_log --input count=5"), @"
    exit 0
    --- stdout
    git log --oneline -n 5
    ");
    assert_snapshot!(scene.run("render git/git_diff --inputs {\"staged\":true} --format json"));
    assert_snapshot!(scene.run("render git/SKILL.md/git_log"));
    assert_snapshot!(scene.run("render git"));
    assert_snapshot!(scene.run("render git/git_lug"));
    assert_snapshot!(scene.run("render git/git_log --input count=many"));
    assert_snapshot!(scene.run("render git/git_log --input cuont=5"));
}

#[test]
fn arguments_are_quoted_for_a_shell() {
    let text = "---\nname: say\nversion: 1.0.0\ndescription: Says it\n---\n\n### say\n\nSays it.\n\n#### Parameters\n\n| Name | Type | Required | Description |\n|---|---|---|---|\n| text | string | yes | What |\n\n#### Command\n\n```bash\necho {{text}}\n```\n";
    let scene = scene().file("say/SKILL.md", text);
    assert_snapshot!(
        scene.run_with(&["render", "say/say", "--input", "text=it's; rm -rf $HOME"], "")
    );
    assert_snapshot!(scene.run_with(&["render", "say", "--input", "text=--help"], ""));
}

#[test]
fn arguments_stand_where_the_body_says() {
    let text = "---\nname: fix-issue\ndescription: Fixes an issue\nargument-hint: \"[number]\"\n---\n\nFix issue $1 now.\n\n!`git status $1`\n";
    let scene = scene().file("fix-issue/SKILL.md", text);
    assert_snapshot!(scene.run_with(&["render", "fix-issue", "--arguments", "42 fast"], ""));
    assert_snapshot!(
        scene.run_with(&["render", "fix-issue", "--arguments", "42", "--format", "json"], "")
    );
}

#[test]
fn a_python_tool_has_no_command_line() {
    let scene = scene().copy("fixtures/gaia/2.1/web-search", "web-search");
    assert_snapshot!(scene.run("render web-search/search_web"), @"
    exit 1
    --- stderr
    error: `search_web` is a Python function, which has no command line
    hint: `prowess show` lists its parameters
    ");
}
