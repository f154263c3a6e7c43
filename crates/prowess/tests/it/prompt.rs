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

#[test]
fn of_many_paths_each_skill_is_listed_once_and_the_rest_is_left_out() {
    let scene = scene().copy("examples", "examples").file("notes/todo.txt", "Nothing\n");
    // What a shell makes of `examples/*`, and a skill once more by its file.
    let mut paths: Vec<String> = std::fs::read_dir(scene.path().join("examples"))
        .expect("it is there")
        .map(|entry| format!("examples/{}", entry.expect("it is read").file_name().display()))
        .collect();
    paths.sort();
    paths.extend(["examples/word-count/SKILL.md".to_owned(), "./examples/word-count".to_owned()]);
    paths.push("notes".to_owned());
    assert_snapshot!(scene.run(&format!("prompt {}", paths.join(" "))));
    // Alone it was meant.
    assert!(scene.run("prompt notes").starts_with("exit 3"));
}
