//! `prowess prompt`.

use insta::assert_snapshot;

use crate::scene;

#[test]
fn tools_are_listed_for_every_reader() {
    let scene = scene()
        .copy("examples/git-insights", "git-insights")
        .copy("examples/word-count", "word-count")
        .copy("examples/release-notes", "release-notes");
    // GIB-7.1-1
    assert_snapshot!(scene.run_with(
        &["prompt", "git-insights", "word-count", "--native", "typer=Type text at cursor"],
        ""
    ));
    for format in ["openai", "anthropic", "json"] {
        assert_snapshot!(scene.run(&format!("prompt word-count --format {format}")));
    }
    assert_snapshot!(scene.run("prompt release-notes"));
    assert_snapshot!(scene.run("prompt word-count --native typer"));
    assert_snapshot!(scene.run("prompt nowhere"));
}
