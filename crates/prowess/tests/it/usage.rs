//! Wrong arguments and wrong files: what is said, and the exit code.

use insta::assert_snapshot;

use crate::{scene, skill};

#[test]
fn a_missing_path_is_not_found() {
    assert_snapshot!(scene().run("check nowhere"), @"
    exit 3
    --- stderr
    error: `nowhere` does not exist
    hint: check the spelling; a path is relative to the current folder
    ");
    // These take the names of installed skills too.
    assert_snapshot!(scene().home("home").run("show nowhere"), @"
    exit 3
    --- stderr
    error: `nowhere` is neither a file or folder nor an installed skill
    hint: check the spelling; a path is relative to the current folder
    hint: `prowess list` shows the installed skills
    ");
    assert!(scene().run("show ./no/where").contains("`./no/where` does not exist"));
}

#[test]
fn help_is_a_verb_too() {
    let scene = scene();
    for verb in ["check", "convert", "man"] {
        assert_eq!(scene.run(&format!("help {verb}")), scene.run(&format!("{verb} --help")));
    }
    assert_eq!(scene.run("help"), scene.run("--help"));
    assert!(scene.run("help chek").starts_with("exit 2"));
}

#[test]
fn a_folder_without_a_skill_is_not_found() {
    let scene = scene()
        .file("empty/README.md", "text")
        .file("many/one/SKILL.md", skill("one"))
        .file("other/skill.md", skill("other"));
    assert_snapshot!(scene.run("check empty"));
    assert_snapshot!(scene.run("check other"));
    assert_snapshot!(scene.run("show empty"));
    assert_snapshot!(scene.run("show many"));
}

#[test]
fn an_unknown_dialect_gets_the_closest_one() {
    let scene = scene().file("a/SKILL.md", skill("a"));
    assert_snapshot!(scene.run("check a --dialect agent-skils"));
    assert_snapshot!(scene.run("schema giaa"));
}

#[test]
fn standard_input_stands_alone() {
    let scene = scene().file("a/SKILL.md", skill("a"));
    assert_snapshot!(scene.run("check - a"));
    assert_snapshot!(scene.run("check - --fix"));
}

#[cfg(unix)]
#[test]
fn an_unreadable_file_does_not_stop_the_rest() {
    use std::os::unix::fs::PermissionsExt as _;
    let scene = scene().file("a/SKILL.md", skill("a")).file("b/SKILL.md", skill("b"));
    let path = scene.path().join("a/SKILL.md");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).expect("it is ours");
    if std::fs::read(&path).is_ok() {
        // The superuser reads everything, so there is nothing to see.
        return;
    }
    assert_snapshot!(scene.run("check ."));
}

#[test]
fn no_arguments_print_the_help() {
    let output = scene().run("");
    assert!(output.starts_with("exit 2"), "{output}");
    assert!(output.contains("Usage: prowess"), "{output}");
}

const VERBS: &[&str] = &[
    "",
    "check",
    "show",
    "convert",
    "migrate",
    "new",
    "schema",
    "render",
    "exec",
    "run",
    "models",
    "workflow",
    "workflow check",
    "workflow run",
    "workflow list",
    "prompt",
    "policy",
    "approvals",
    "explain",
    "doctor",
    "completions",
    "man",
];

/// Verbs whose examples need something that a test has not: a run that was stopped, documents.
const OTHERS: &[&str] = &[
    "agent run",
    "workflow resume",
    "kb",
    "kb new",
    "kb add",
    "kb list",
    "kb search",
    "kb remove",
    "kb info",
];

#[test]
fn help_fits_a_terminal() {
    for verb in VERBS.iter().chain(OTHERS) {
        let help = scene().stdout(&format!("{verb} --help"));
        let long: Vec<&str> = help.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(long.is_empty(), "{verb}: {long:?}");
    }
}

#[cfg(unix)]
#[test]
fn the_examples_of_every_help_run() {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_prowess"));
    let folder = program.parent().expect("the program is in a folder").to_str().expect("UTF-8");
    for verb in VERBS {
        let scene = scene().copy("examples", "examples");
        let help = scene.stdout(&format!("{verb} --help"));
        let examples: Vec<&str> = help
            .lines()
            .skip_while(|line| *line != "Examples:")
            .skip(1)
            .take_while(|line| line.starts_with("  "))
            .collect();
        assert!(!examples.is_empty(), "{verb} has no example");
        // There is no model here.
        for example in examples.into_iter().filter(|example| !example.contains("--model")) {
            // What follows is another program, or a place in somebody's home.
            let command = example.split(['|', '>']).next().unwrap_or(example);
            let output = std::process::Command::new("sh")
                .args(["-c", command])
                .env("PATH", format!("{folder}:/usr/bin:/bin"))
                .env("HOME", scene.path())
                .current_dir(scene.path())
                .output()
                .expect("the shell runs");
            let stderr = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{command}\n{stderr}");
        }
    }
}

#[test]
fn verbs_that_run_something_name_their_exit_codes() {
    let scene = scene();
    for verb in
        ["run", "agent run", "workflow check", "workflow run", "workflow resume", "workflow list"]
    {
        let help = scene.stdout(&format!("{verb} --help"));
        for part in ["Examples:", "Exit codes:", "  0  "] {
            assert!(help.contains(part), "{verb} lacks {part}");
        }
    }
    let run = scene.stdout("run --help");
    assert!(run.contains("--model ollama/") && run.contains("or the model answered"), "{run}");
}

#[test]
fn version_is_one_line() {
    assert_eq!(scene().stdout("--version"), concat!("prowess ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn words_of_other_tools_are_understood() {
    let scene = scene();
    let pairs = [
        ("add", "install"),
        ("i", "install"),
        ("uninstall", "remove"),
        ("rm", "remove"),
        ("upgrade", "update"),
        ("ls", "list"),
        ("init", "new"),
    ];
    for (other, ours) in pairs {
        let help = |verb: &str| scene.run(&format!("{verb} --help"));
        assert_eq!(help(other), help(ours), "{other}");
    }
    let help = scene.stdout("--help");
    assert!(!help.contains("uninstall"), "they are not advertised: {help}");
    let said = scene.run("unpublish");
    assert!(said.starts_with("exit 2") && said.contains("hint: `prowess yank"), "{said}");
}

#[cfg(target_os = "linux")]
#[test]
fn help_that_can_not_be_written_is_a_failure() {
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    for words in [&["--help"][..], &["--version"], &["install", "--help"]] {
        let output = scene().command(words).stdout(full()).output().expect("it starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{words:?}: {said}");
        assert!(said.contains("no space left") || said.contains("No space left"), "{said}");
    }
}

#[test]
fn a_home_that_is_not_there_stops_nothing() {
    let scene = scene()
        .inside("work")
        .file("work/.git/HEAD", "ref: refs/heads/main\n")
        .file("work/greet/SKILL.md", skill("greet"));
    let home = scene.path().join("nobody");
    let scene = scene.variable("HOME", home.to_str().expect("UTF-8"));
    let said = scene.run("install ./greet --project --allow-experimental");
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(scene.path().join("work/.prowess/skills/greet/SKILL.md").is_file());
    assert!(scene.run("list").starts_with("exit 0"));
}

#[test]
fn what_a_variable_says_is_no_fault_of_a_file() {
    let scene = scene().home("home").variable("PROWESS_REGISTRY", "foo");
    assert_snapshot!(scene.run("search greet"), @"
    exit 1
    --- stderr
    error: the variable `PROWESS_REGISTRY` is not a URL; write `https://HOST`
    hint: or give it the name of a `[registries.NAME]` of your settings
    ");
    let manifest = "name: helper\nversion: 1.0.0\ndescription: Helps\ndefault_set: office\nskill_sets:\n  office: [greet]\n";
    let scene = crate::scene()
        .home("home")
        .file("AGENT.yaml", manifest)
        .variable("PROWESS_SKILL_SET", "zz");
    assert_snapshot!(scene.run("agent tools AGENT.yaml"), @"
    exit 2
    --- stderr
    error: there is no skill set `zz`, which the selector chose
    hint: choose `office`
    hint: the variable `PROWESS_SKILL_SET` selects it
    ");
}
