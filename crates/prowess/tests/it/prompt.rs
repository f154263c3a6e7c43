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

#[test]
fn a_model_gets_the_start_of_a_description_that_is_too_long() {
    // GIB-9.2-1: the warnings are those of `check`.
    let long = "ü".repeat(300);
    let skill = |description: &str, text: &str| {
        format!(
            "---\nname: state\nversion: 1.0.0\ndescription: {description}\ncolour: red\n---\n\n### show_state\n\n{text}\n\n#### Command\n\n```bash\ngit status\n```\n"
        )
    };
    let scene = scene()
        .file("own/state/SKILL.md", skill("Show the state", &long))
        .file("inherited/state/SKILL.md", skill(&long, ""));
    for folder in ["own", "inherited"] {
        let prompt = scene.stdout(&format!("prompt {folder}/state"));
        let line = prompt.lines().last().unwrap_or_default();
        assert_eq!(line, format!("- show_state: {}", "ü".repeat(256)), "{folder}");
    }
    let warnings = scene.run("check inherited/state --format concise");
    for rule in ["unknown-field", "missing-parameters-section", "description-over-limit"] {
        assert!(warnings.contains(&format!("warning[{rule}]")), "{warnings}");
    }
    assert!(warnings.starts_with("exit 0"), "{warnings}");
}
