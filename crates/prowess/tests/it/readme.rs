//! The commands that the README shows give what it shows.

#![cfg(target_os = "linux")]

use prowess_testkit::{Answer, Scene, ScriptedProvider, repository};

use crate::scene;

/// What the README calls a broken file.
const BROKEN: &str = "---\nname: broken\ndescription: Make a summary: short and plain\n---\n\n# Broken\n\nMake it.\n";
/// An OpenClaw skill, for the command that migrates one.
const OPENCLAW: &str = "---\nclaw_version: 1\nname: my-openclaw-skill\ndescription: Shouts\nactions:\n  - name: shout\n    description: Shouts a word\n    handler: handlers/shout.py\n---\n\n# Shouter\n";

/// A command and the lines below it.
struct Example<'r> {
    command: &'r str,
    expected: Vec<&'r str>,
}

fn examples(readme: &str) -> Vec<Example<'_>> {
    let mut examples: Vec<Example<'_>> = Vec::new();
    let blocks = readme.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
    for line in blocks.flat_map(str::lines) {
        match (line.strip_prefix("$ "), examples.last_mut()) {
            (Some(command), _) => examples.push(Example { command, expected: Vec::new() }),
            (None, Some(example)) => example.expected.push(line),
            (None, None) => panic!("`{line}` belongs to no command"),
        }
    }
    examples
}

/// The words of a command line; quotes hold words together, and nothing else means anything.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for character in command.chars() {
        match character {
            '"' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            other => words.last_mut().expect("there is one").push(other),
        }
    }
    words
}

/// Whether what is shown is what is said, where `…` stands for any lines.
fn check(scene: &Scene, example: &Example<'_>) {
    // A pipe and a redirection are the shell's; what goes into them is ours.
    let ours = example.command.split(['|', '>']).next().unwrap_or_default().trim();
    let is_whole = ours == example.command;
    let words = words(ours.strip_prefix("prowess ").expect("a command of ours"));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = scene.output(&words, "");
    assert!(output.status.code().is_some_and(|code| code <= 1), "{}: {output:?}", example.command);
    let texts = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).expect("text"));
    let shown = texts.concat().replace(&format!("{}/", scene.path().display()), "");
    if !is_whole {
        assert!(shown.contains(example.expected.first().unwrap_or(&"")), "{}", example.command);
        return;
    }
    let mut rest = shown.as_str();
    let mut may_skip = false;
    for line in &example.expected {
        if *line == "…" {
            may_skip = true;
            continue;
        }
        let found = rest.lines().position(|shown| shown.trim_end() == line.trim_end());
        let Some(at) = found.filter(|at| may_skip || *at == 0) else {
            panic!("{}\n  misses: {line}\n  of:\n{shown}", example.command)
        };
        let after = rest.split_inclusive('\n').take(at + 1).map(str::len).sum::<usize>();
        rest = &rest[after..];
        may_skip = false;
    }
    let is_said = example.expected.is_empty() || may_skip || rest.trim().is_empty();
    assert!(is_said, "{}\n  does not say: {rest}", example.command);
}

#[test]
fn the_readme_shows_what_happens() {
    let readme = std::fs::read_to_string(repository().join("README.md")).expect("it is there");
    // What a model says is its own business.
    let answer = "Dogs are welcome in the garden, and guide dogs everywhere [1].";
    let provider = ScriptedProvider::start(Answer::text([answer]));
    let scene = scene()
        .home("home")
        .variable("OLLAMA_HOST", provider.url())
        .variable("PATH", "/usr/local/bin:/usr/bin:/bin")
        .copy("examples", "examples")
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file("broken/SKILL.md", BROKEN)
        .file("release.pub", "ed25519 5RVHBZfWZSZGuj6cztgXSWiDYszQIQ6sgLaK48fgDtE=\n")
        .file("my-openclaw-skill/SKILL.md", OPENCLAW)
        .file("my-openclaw-skill/handlers/shout.py", "def shout():\n    return 'HEY'\n");
    let examples = examples(&readme);
    assert!(examples.len() > 10, "the tour is there");
    for example in &examples {
        check(&scene, example);
    }
}
