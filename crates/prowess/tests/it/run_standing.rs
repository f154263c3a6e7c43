//! Where users are: relative values of path parameters, `--cwd`, and files with keys beside them.

#![cfg(target_os = "linux")]

use prowess_testkit::Scene;

use crate::run::probe;

const FILE: &[(&str, &str, &str)] = &[("file", "string", "yes")];
const NAMES: &[(&str, &str, &str)] =
    &[("out_dir", "string", "no"), ("title", "string", "no"), ("log_path", "string", "no")];

/// A tool that reads a file, beside files of one name in three folders.
fn reader() -> Scene {
    probe(
        "read_only: true\n",
        &[
            ("show", FILE, "cat {{file}}"),
            ("say", NAMES, "echo {{out_dir}} {{title}} {{log_path}}"),
            ("where", &[], "pwd"),
        ],
    )
    .file("repo/a.txt", "at the root\n")
    .file("repo/sub/a.txt", "in sub\n")
    .file("elsewhere/a.txt", "elsewhere\n")
    .file("home/a.txt", "at home\n")
}

#[test]
fn a_relative_path_is_relative_to_where_the_user_is() {
    let scene = reader().inside("repo/sub");
    let run = "run ../../skills/probe/show --yes --input";
    assert_eq!(scene.stdout(&format!("{run} file=a.txt")), "in sub\n");
    assert_eq!(scene.stdout(&format!("{run} file=../a.txt")), "at the root\n");
    let absolute = scene.path().join("repo/a.txt");
    assert_eq!(scene.stdout(&format!("{run} file={}", absolute.display())), "at the root\n");
    // Outside of the working directory the file is given to the tool for reading.
    assert_eq!(scene.stdout(&format!("{run} file=../../elsewhere/a.txt")), "elsewhere\n");
    let scene = scene.inside("elsewhere");
    assert_eq!(scene.stdout("run ../skills/probe/show --yes --input file=a.txt"), "elsewhere\n");
}

#[test]
fn only_path_parameters_are_resolved() {
    let scene = reader().inside("repo/sub");
    let said = scene.stdout(
        "run ../../skills/probe/say --yes --input out_dir=out --input title=out --input log_path=https://a.com/x",
    );
    assert_eq!(said, "sub/out out https://a.com/x\n");
}

#[test]
fn the_working_directory_can_be_chosen() {
    let scene = reader().inside("elsewhere");
    let shown = scene.run("run ../skills/probe/where --yes");
    assert!(shown.contains("[SCENE]/home\n") || shown.contains("/home\n"), "{shown}");
    assert!(shown.contains("`--cwd .` makes them work here"), "{shown}");
    let shown = scene.run("run ../skills/probe/where --yes --cwd .");
    assert!(shown.contains("/elsewhere\n"), "{shown}");
    assert!(!shown.contains("--cwd"), "{shown}");
    // Values are relative to the chosen folder too.
    let shown = scene.stdout("run ../skills/probe/show --yes --cwd ../repo/sub --input file=a.txt");
    assert_eq!(shown, "in sub\n");
    let policy = scene.stdout("policy ../skills/probe/where --cwd ../repo/sub");
    assert!(policy.contains("the working directory is "), "{policy}");
    assert!(policy.contains("/repo/sub\n"), "{policy}");
    for folder in ["missing", "a.txt"] {
        let refused = scene.run(&format!("run ../skills/probe/where --yes --cwd {folder}"));
        assert!(refused.starts_with("exit 2\n"), "{refused}");
    }
    // Inside a repository its root stays the working directory, and nothing is hinted at.
    let inside = reader().inside("repo/sub").run("run ../../skills/probe/where --yes");
    assert!(inside.contains("/repo\n") && !inside.contains("--cwd"), "{inside}");
}

#[test]
fn files_with_keys_are_empty_in_an_opened_folder() {
    for front_matter in ["read_only: true\n", ""] {
        let scene = probe(front_matter, &[("show", &[], "./show.sh")])
            .script(
                "skills/probe/show.sh",
                "#!/bin/sh\nfor f in .env .env.local sub/.env .env.example; do\nwhile read -r line; do echo \"$f $line\"; done < $f\ndone\n",
            )
            .file("repo/.env", "KEY=1\n")
            .file("repo/.env.local", "KEY=2\n")
            .file("repo/sub/.env", "KEY=3\n")
            .file("repo/.env.example", "KEY=\n");
        assert_eq!(scene.stdout("run ../skills/probe --yes"), ".env.example KEY=\n");
        assert_eq!(scene.text("repo/.env"), "KEY=1\n");
        let told = scene.stdout("policy ../skills/probe");
        assert!(told.contains("- may not read .env, .env.local, sub/.env, because"), "{told}");
        let named = ["run", "../skills/probe", "--allow", "filesystem:read:./.env"];
        assert!(scene.run_with(&named, "").starts_with("exit 125"), "a person is asked");
        let shown = scene.run_on_terminal(&named, "o\n");
        assert!(shown.contains(" .env KEY=1\n"), "{shown}");
        assert!(!shown.contains("KEY=2") && !shown.contains("KEY=3"), "{shown}");
    }
}

#[test]
fn a_folder_with_keys_stays_writable() {
    let scene = probe("", &[("make", &[], "./make.sh")])
        .script("skills/probe/make.sh", "#!/bin/sh\necho made > new\necho stolen > .env\n")
        .file("repo/.env", "KEY=1\n");
    // The tool fails, so its changes are applied only if asked.
    let shown = scene.run("run ../skills/probe --yes --keep-changes");
    assert!(!shown.starts_with("exit 0"), "{shown}");
    assert_eq!(scene.text("repo/new"), "made\n");
    assert_eq!(scene.text("repo/.env"), "KEY=1\n");
}

/// A working directory around the home would grant everything that the user has.
#[test]
fn a_folder_around_the_home_is_no_working_directory() {
    let scene = reader().inside("elsewhere");
    for arguments in [
        "run ../skills/probe/where --yes --cwd /",
        "policy ../skills/probe/where --cwd /",
        "exec ../skills/probe --yes --cwd .. -- pwd",
    ] {
        let refused = scene.run(arguments);
        assert!(!refused.starts_with("exit 0"), "{refused}");
        assert!(
            refused.contains("can't be the working directory, because your home is in it"),
            "{refused}"
        );
    }
}
