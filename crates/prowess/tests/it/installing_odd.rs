//! `prowess install` of what people really publish: versions and names that are none, files with errors, places where some
//! of the skills can't be had.

use insta::assert_snapshot;
use prowess_testkit::Scene;
use serde_json::Value;

use crate::packages::{STORE, home, installed, manifest, packed, sign, steady, trust};

/// What was said by an installation of things that nobody has signed.
fn install(scene: &Scene, words: &str) -> String {
    steady(&scene.run(&format!("install --allow-experimental {words}")))
}

/// The version that a lock file has for a skill.
fn locked_version(scene: &Scene, name: &str) -> Value {
    let lock: Value =
        serde_json::from_str(&scene.text(&format!("{STORE}/skill-lock.json"))).expect("JSON");
    lock["skills"][name]["version"].clone()
}

#[track_caller]
fn check_version(written: &str, locked: &str, said: &str) {
    let scene = home().file("greet/SKILL.md", manifest("greet", written, ""));
    let told = install(&scene, "./greet");
    assert!(told.starts_with("exit 0"), "{told}");
    assert!(told.contains(said), "{written}: {told}");
    assert_eq!(locked_version(&scene, "greet"), locked, "{written}");
    // It is read the same way the next time.
    for verb in ["verify", "update greet", "install --frozen", "lock --check"] {
        let told = scene.run(verb);
        assert!(told.starts_with("exit 0"), "{verb}: {told}");
    }
    assert_eq!(
        scene.text(&format!("{STORE}/skills/greet/SKILL.md")),
        manifest("greet", written, ""),
        "files stay as they came"
    );
}

#[test]
fn versions_count_as_what_they_evidently_mean() {
    check_version("\"1.0\"", "1.0.0", "greet 1.0.0 (written `1.0`), experimental");
    check_version("1", "1.0.0", "greet 1.0.0 (written `1`), experimental");
    check_version("v1.2", "1.2.0", "greet 1.2.0 (written `v1.2`), experimental");
    check_version(
        "2024.11.3.1",
        "0.0.0",
        "warning: `greet`: its version `2024.11.3.1` is not of the form `1.2.3`, so it is treated as a skill without a version",
    );
}

#[test]
fn an_author_writes_a_version_as_it_should_be() {
    let scene = home().file("greet/SKILL.md", manifest("greet", "'1.0'", ""));
    assert_snapshot!(scene.run("pack greet"), @"
    exit 1
    --- stderr
    error: `greet` can't be packed: its version `1.0` is not of the form `1.2.3`
    hint: write it with three numbers
    ");
}

#[test]
fn a_range_is_never_guessed_at() {
    let needs = "requirements:\n  skills:\n    - name: part\n      version: newest\n";
    let scene = home()
        .file("greet/SKILL.md", manifest("greet", "1.0.0", needs))
        .file("part/SKILL.md", manifest("part", "1.0.0", ""));
    assert_snapshot!(install(&scene, "./greet ./part --yes"), @"
    exit 1
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `greet` needs `part`, which can't be understood: `newest` is not a version comparison
    hint: its author must write it differently
    ");
}

#[test]
fn a_skill_without_a_version_shows_none() {
    const TEXT: &str =
        "---\nname: greet\ndescription: Greets people\n---\n\n# Greet\n\nSay hello.\n";
    let scene = home().file("greet/SKILL.md", TEXT);
    assert_snapshot!(install(&scene, "./greet"), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet (no version), experimental
      from   [SCENE]/greet
      files  1 (68 bytes)
      agent  follows its text with the agent's own rights
    installed greet
    ");
    let scene = scene.file("greet/SKILL.md", TEXT.replace("hello", "goodbye"));
    assert_snapshot!(scene.run("update greet"), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet (no version), with other files, experimental
      from   [SCENE]/greet
      files  1 (70 bytes)
      change only wording: changed SKILL.md
    installed greet with other files, only its wording changed
    ");
    std::fs::remove_file(scene.path().join(STORE).join("skills/greet/SKILL.md"))
        .expect("it is there");
    assert_snapshot!(scene.run("update greet"), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet (no version), installed again, experimental
      from   [SCENE]/greet
      files  1 (70 bytes)
    installed greet again
    ");
    assert_snapshot!(scene.run("verify"), @"
    exit 0
    --- stdout
    greet: as installed, experimental, not signed
    --- stderr
    using your own skills in `~/.local/share/prowess`
    ");
    assert_snapshot!(scene.run("list"), @"
    exit 0
    --- stdout
    greet  -  experimental  ok  ~/.local/share/prowess/skills/greet
    --- stderr
    looking everywhere; to install and update, this folder uses your own skills in `~/.local/share/prowess`
    ");
    assert_snapshot!(scene.run("remove greet"), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    removed greet
    ");
}

/// A skill whose name is none, in a folder whose name is one.
fn azure() -> Scene {
    home()
        .file("skills/azure-cli/SKILL.md", manifest("Azure CLI", "1.0.0", ""))
        .file("skills/greet/SKILL.md", manifest("greet", "1.0.0", ""))
}

#[test]
fn a_name_that_is_none_is_replaced_by_one_that_the_user_gives() {
    let scene = azure();
    assert_snapshot!(install(&scene, "./skills/azure-cli"), @"
    exit 1
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `Azure CLI` can't be installed: `Azure CLI` is not a valid skill name, expected lower case letters and digits with single hyphens between them, at most 64 (did you mean `azure-cli`?)
    hint: give it a name that can be installed: `--as azure-cli`
    ");
    assert!(installed(&scene).is_empty());
    let words = [
        "install",
        "--allow-experimental",
        "./skills",
        "--skill",
        "Azure CLI",
        "--as",
        "azure-cli",
    ];
    assert_snapshot!(scene.run_with(&words, ""), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    warning: `azure-cli`: it declares the name `Azure CLI`; agents that require the name of its folder may not load it
    azure-cli 1.0.0, which calls itself `Azure CLI`, experimental
      from   [SCENE]/skills/azure-cli
      files  1 (91 bytes)
      agent  follows its text with the agent's own rights
    installed azure-cli 1.0.0
    ");
    assert_eq!(
        scene.text(&format!("{STORE}/skills/azure-cli/SKILL.md")),
        manifest("Azure CLI", "1.0.0", ""),
        "files stay as they came"
    );
    // Every other verb knows it by that name.
    assert_snapshot!(scene.run("list"), @"
    exit 0
    --- stdout
    azure-cli  1.0.0  experimental  ok  ~/.local/share/prowess/skills/azure-cli
    --- stderr
    looking everywhere; to install and update, this folder uses your own skills in `~/.local/share/prowess`
    ");
    assert_snapshot!(scene.run("verify azure-cli"), @"
    exit 0
    --- stdout
    azure-cli 1.0.0: as installed, experimental, not signed
    --- stderr
    using your own skills in `~/.local/share/prowess`
    ");
    for verb in ["show azure-cli", "info azure-cli", "lock --check", "policy azure-cli"] {
        let said = scene.run(verb);
        assert!(said.starts_with("exit 0"), "{verb}: {said}");
    }
    // An update looks for it by its own name.
    let scene = scene.file("skills/azure-cli/SKILL.md", manifest("Azure CLI", "1.1.0", ""));
    let said = scene.run("update azure-cli");
    assert!(said.contains("installed azure-cli 1.1.0 instead of 1.0.0"), "{said}");
    std::fs::remove_dir_all(scene.path().join(STORE).join("skills/azure-cli"))
        .expect("it is there");
    let said = scene.run("install --frozen");
    assert!(said.contains("installed azure-cli 1.1.0"), "{said}");
    assert!(scene.run("verify").starts_with("exit 0"));
    let said = scene.run("remove azure-cli");
    assert!(said.contains("removed azure-cli 1.1.0"), "{said}");
    assert_eq!(installed(&scene).len(), 1, "only the lock file is left");
}

#[test]
fn names_are_not_given_to_skills_that_have_one() {
    let scene = azure();
    assert_snapshot!(install(&scene, "./skills/greet --as other"), @"
    exit 2
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `greet` can't be installed: it is named `greet`, which is valid: only a skill whose own name is invalid can be given another one
    hint: install it under its own name
    ");
    assert_snapshot!(install(&scene, "./skills/greet ./skills/azure-cli --as other"), @"
    exit 2
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `--as` gives one skill a name, and several are named
    hint: install them one by one
    ");
    assert_snapshot!(install(&scene, "some-name --as other"), @"
    exit 2
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `some-name` is a name in a registry, so it can't be installed as `other`
    hint: run it without `--as`
    ");
    assert_snapshot!(install(&scene, "./skills/azure-cli --as Other_Name"), @"
    exit 2
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `Other_Name` is not a valid skill name, expected lower case letters and digits with single hyphens between them, at most 64 (did you mean `other-name`?)
    ");
    assert!(installed(&scene).is_empty());
}

#[test]
fn a_signature_is_not_for_another_name() {
    // R49: a signature is about a name. It is made for `azure-cli`, and the files call themselves `Azure CLI`.
    let scene = home().file("azure-cli/SKILL.md", manifest("azure-cli", "1.0.0", ""));
    sign(&scene, "azure-cli", "release");
    trust(&scene, "release", "publisher");
    let scene = scene.file("azure-cli/SKILL.md", manifest("Azure CLI", "1.0.0", ""));
    let said = install(&scene, "./azure-cli --as azure-cli");
    assert!(said.starts_with("exit 4"), "{said}");
    assert!(installed(&scene).is_empty());
}

#[test]
fn an_archive_without_a_name_says_what_to_do() {
    let scene = azure();
    let status = std::process::Command::new("tar")
        .args([
            "--create",
            "--gzip",
            "--file",
            "azure.tar.gz",
            "-C",
            "skills/azure-cli",
            "SKILL.md",
        ])
        .current_dir(scene.path())
        .status()
        .expect("tar runs");
    assert!(status.success());
    assert_snapshot!(install(&scene, "azure.tar.gz --as azure-cli"), @"
    exit 1
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `[SCENE]/azure.tar.gz`: the skill can't be installed: `Azure CLI` is not a valid skill name, expected lower case letters and digits with single hyphens between them, at most 64 (did you mean `azure-cli`?)
    hint: unpack it, and install the folder under another name
    ");
}

/// A place with six skills, four of which can't be had.
fn mixed() -> Scene {
    let needs = "requirements:\n  skills:\n    - name: hollow\n      version: '>=1'\n";
    let ungrantable = "permissions:\n  - network:read:https://host.example/x\n";
    home()
        .file("all/azure-cli/SKILL.md", manifest("Azure CLI", "1.0.0", ""))
        .file("all/first/SKILL.md", manifest("first", "1.0", ""))
        .file("all/hollow/SKILL.md", "")
        .file("all/needs/SKILL.md", manifest("needs", "1.0.0", needs))
        .file("all/path/SKILL.md", manifest("path", "1.0.0", ungrantable))
        .file("all/second/SKILL.md", manifest("second", "1.0.0", ""))
}

#[test]
fn all_that_can_not_be_had_is_named_at_once() {
    let scene = mixed();
    assert_snapshot!(install(&scene, "./all --all --yes"), @"
    exit 1
    --- stderr
    using your own skills in `~/.local/share/prowess`
    Azure CLI
      ! `Azure CLI` is not a valid skill name, expected lower case letters and digits with single hyphens between them, at most 64 (did you mean `azure-cli`?)
        hint: install it by itself
        hint: choose it with `--skill 'Azure CLI'`
        hint: give it a name that can be installed: `--as azure-cli`
    hollow
      ! its `SKILL.md` is empty
        hint: ask its author to fix it
    path
      ! `network:read:https://host.example/x` can't be granted: `https://host.example/x` is a URL: write the host alone, such as `api.example.com`
    needs
      ! `needs` needs `hollow`, which can't be installed
        hint: ask its author to fix it
    error: 4 of 6 skills can't be installed: `Azure CLI`, `hollow`, `path`, `needs`
    hint: `--skip-broken` installs the other 2
    ");
    assert!(installed(&scene).is_empty());
    let said = install(&scene, "./all --all --format json");
    let json = said.split("--- stderr").next().and_then(|said| said.split_once("--- stdout\n"));
    let json: Value = serde_json::from_str(json.expect("an object").1).expect("JSON");
    assert_eq!(json["installed"], false);
    assert_eq!(json["left_out"].as_array().map(Vec::len), Some(4));
    assert_snapshot!(install(&scene, "./all --all --skip-broken"), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    warning: `Azure CLI` is left out: `Azure CLI` is not a valid skill name, expected lower case letters and digits with single hyphens between them, at most 64 (did you mean `azure-cli`?)
    warning: `hollow` is left out: its `SKILL.md` is empty
    warning: `path` is left out: `network:read:https://host.example/x` can't be granted: `https://host.example/x` is a URL: write the host alone, such as `api.example.com`
    warning: `needs` is left out: `needs` needs `hollow`, which can't be installed
    first 1.0.0 (written `1.0`), experimental
      from   [SCENE]/all/first
      files  1 (81 bytes)
      agent  follows its text with the agent's own rights
    second 1.0.0, experimental
      from   [SCENE]/all/second
      files  1 (85 bytes)
      agent  follows its text with the agent's own rights
    installed first 1.0.0
    installed second 1.0.0
    ");
    assert_eq!(locked_version(&scene, "first"), "1.0.0");
    assert_eq!(locked_version(&scene, "second"), "1.0.0");
    assert_eq!(locked_version(&scene, "needs"), Value::Null);
}

#[test]
fn nothing_is_left_out_when_nothing_is_left() {
    let scene = home().file("all/a/SKILL.md", "").file("all/b/SKILL.md", "\n \n");
    assert_snapshot!(install(&scene, "./all --all --skip-broken"), @"
    exit 1
    --- stderr
    using your own skills in `~/.local/share/prowess`
    a
      ! its `SKILL.md` is empty
        hint: ask its author to fix it
    b
      ! its `SKILL.md` is empty
        hint: ask its author to fix it
    error: 2 of 2 skills can't be installed: `a`, `b`
    ");
}

#[test]
fn several_refusals_are_one_error() {
    let scene = home()
        .file("all/a/SKILL.md", manifest("a", "1.0.0", ""))
        .file("all/b/SKILL.md", manifest("b", "1.0.0", ""));
    assert_snapshot!(scene.run("install ./all --all"), @"
    exit 4
    --- stderr
    using your own skills in `~/.local/share/prowess`
    a 1.0.0, experimental
      from   [SCENE]/all/a
      files  1 (75 bytes)
      agent  follows its text with the agent's own rights
      ! it is experimental: no one you trust has signed it
    b 1.0.0, experimental
      from   [SCENE]/all/b
      files  1 (75 bytes)
      agent  follows its text with the agent's own rights
      ! it is experimental: no one you trust has signed it
    error: nothing was installed
      `a`: it is experimental: no one you trust has signed it
      `b`: it is experimental: no one you trust has signed it
    hint: read it first, and check what it may do
    hint: install it without a trusted signature with `--allow-experimental`
    hint: trust its publisher with `prowess trust add`
    ");
}

/// What installing a single file without leave for questions says; its exit code is part of it.
fn errors(text: &str) -> String {
    let scene = home().file("greet/SKILL.md", text);
    let said = install(&scene, "./greet");
    assert!(installed(&scene).is_empty(), "{said}");
    said
}

#[test]
fn errors_are_asked_about_once() {
    const TEXT: &str =
        "---\nname: greet\nmetadata:\n  version: 1.0.0\n---\n\n# Greet\n\nSay hello.\n";
    assert_snapshot!(errors(TEXT), @"
    exit 4
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0, experimental
      from   [SCENE]/greet
      files  1 (68 bytes)
      agent  follows its text with the agent's own rights
      ? it has 1 error, so agents may not load it: `description` is missing (`prowess check [SCENE]/greet` shows all)
    error: confirmation is needed, but this is not a terminal
    hint: read the questions with `--dry-run`, then agree with `--yes`
    ");
    assert_snapshot!(errors("# Greet\n\nSay hello.\n"), @"
    exit 4
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet (no version), experimental
      from   [SCENE]/greet
      files  1 (20 bytes)
      agent  follows its text with the agent's own rights
      ? it has no front matter, so agents may not load it
    error: confirmation is needed, but this is not a terminal
    hint: read the questions with `--dry-run`, then agree with `--yes`
    ");
    let scene = home().file("greet/SKILL.md", TEXT);
    assert!(install(&scene, "./greet --yes").starts_with("exit 0"));
    // The user has agreed to that, and an update changes nothing about it.
    let scene = scene.file("greet/SKILL.md", TEXT.replace("1.0.0", "1.1.0"));
    let said = scene.run("update greet");
    assert!(said.contains("installed greet 1.1.0"), "{said}");
    // An update from a good one to a bad one is news.
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    assert!(install(&scene, "./greet").starts_with("exit 0"));
    let scene = scene.file("greet/SKILL.md", TEXT.replace("1.0.0", "1.1.0"));
    let said = scene.run("update greet");
    assert!(said.starts_with("exit 4"), "{said}");
}

#[test]
fn what_holds_no_skill_is_refused() {
    assert_snapshot!(errors(""), @"
    exit 1
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `greet` can't be installed: its `SKILL.md` is empty
    hint: ask its author to fix it
    ");
    assert_snapshot!(errors("---\n- a\n- list\n---\n\n# Greet\n"), @"
    exit 1
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `greet` can't be installed: its `SKILL.md` can't be read: the front matter is a list, not a map
    hint: ask its author to fix it
    ");
    let scene = home().file("greet/SKILL.md", [0x93, 0xf1, 0x07]);
    assert_snapshot!(install(&scene, "./greet --yes"), @"
    exit 1
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `greet` can't be installed: its `SKILL.md` can't be read: byte 0 is not UTF-8
    hint: ask its author to fix it
    ");
    assert!(installed(&scene).is_empty());
}

#[test]
fn an_empty_file_is_listed_as_broken() {
    let scene = home().file("home/.claude/skills/greet/SKILL.md", "\n");
    assert_snapshot!(scene.run("list"), @"
    exit 4
    --- stdout
    greet  -  -  broken  ~/.claude/skills/greet
      broken: SKILL.md:1: the file is empty
    --- stderr
    looking everywhere; to install and update, this folder uses your own skills in `~/.local/share/prowess`
    hint: `prowess check FOLDER` shows everything that is wrong with a broken skill
    ");
}

#[test]
fn kinds_of_places_are_told_apart() {
    // Attack registry-A8: what somebody sent does not replace what the user works on.
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    assert!(install(&scene, "./greet").starts_with("exit 0"));
    let _ = packed(&scene, "greet");
    assert_snapshot!(install(&scene, "packed.tar.gz"), @"
    exit 4
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0, installed again, experimental
      from   [SCENE]/packed.tar.gz
      files  1 (83 bytes)
      ! it was installed from the folder [SCENE]/greet, but this one is from the file [SCENE]/packed.tar.gz
    error: `greet` was not installed: it was installed from the folder [SCENE]/greet, but this one is from the file [SCENE]/packed.tar.gz
    hint: uninstall the installed one first
    hint: allow it with `--replace-owner`
    ");
    let said = install(&scene, "packed.tar.gz --replace-owner");
    assert!(said.starts_with("exit 0"), "{said}");
    // A folder that was moved is still the user's.
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    assert!(install(&scene, "./greet").starts_with("exit 0"));
    let scene = scene.file("moved/greet/SKILL.md", manifest("greet", "1.1.0", ""));
    let said = install(&scene, "./moved/greet");
    assert!(said.starts_with("exit 0"), "{said}");
}

#[test]
fn who_needs_a_skill_and_where_it_lies_is_told() {
    let needs = "requirements:\n  skills:\n    - name: mid\n      version: '>=1'\n";
    let scene = home()
        .file("deps/top/SKILL.md", manifest("top", "1.0.0", needs))
        .file("deps/mid/SKILL.md", manifest("mid", "1.0.0", ""));
    assert_snapshot!(install(&scene, "./deps --skill top"), @"
    exit 3
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `top` needs `mid`, which is neither installed nor among the skills that were given, and there is no registry to look it up in
    hint: `./deps` contains it as well
    hint: choose it with `--skill mid`
    ");
    assert_snapshot!(install(&scene, "./deps/top"), @"
    exit 3
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `top` needs `mid`, which is neither installed nor among the skills that were given, and there is no registry to look it up in
    hint: install `mid` first, or together with it
    ");
    assert!(install(&scene, "./deps --skill top --skill mid").starts_with("exit 0"));
}

#[test]
fn what_looks_like_a_file_is_never_asked_for_in_the_network() {
    let scene = home().file("notes.txt", "Notes.\n").file("pack/greet.tool.json", "{}");
    assert_snapshot!(install(&scene, "notes.txt"), @"
    exit 1
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `[SCENE]/notes.txt`: this is neither an archive nor a `SKILL.md`, which begins with `---`
    ");
    assert_snapshot!(install(&scene, "missing.zip"), @"
    exit 3
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `missing.zip` does not exist
    hint: check the spelling; a path is relative to the current folder, and a domain is written `https://missing.zip`
    ");
    assert_snapshot!(install(&scene, "SKILL.md"), @"
    exit 3
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `SKILL.md` does not exist
    hint: check the spelling; a path is relative to the current folder, and a domain is written `https://SKILL.md`
    ");
    assert_snapshot!(install(&scene, "./pack"), @"
    exit 3
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `[SCENE]/pack` contains the tool pack `greet.tool.json` but no `SKILL.md`
    hint: only skills with a `SKILL.md` can be installed: convert the tool pack first
    ");
}

#[test]
fn archives_of_other_kinds_are_called_by_their_names() {
    let mut tar = vec![0; 512];
    tar[257..262].copy_from_slice(b"ustar");
    let scene = home()
        .file("a.tar", tar)
        .file("a.tar.xz", *b"\xfd7zXZ\0 and more")
        .file("a.7z", *b"7z\xbc\xaf\x27\x1c");
    assert_snapshot!(install(&scene, "a.tar"), @"
    exit 1
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `[SCENE]/a.tar`: this is an uncompressed tar archive, but only `.tar.gz` and `.zip` are supported
    hint: unpack it and install the folder, or ask for a `.tar.gz`
    ");
    assert_snapshot!(install(&scene, "a.tar.xz"), @"
    exit 1
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `[SCENE]/a.tar.xz`: this is compressed with xz, but only `.tar.gz` and `.zip` are supported
    hint: unpack it and install the folder, or ask for a `.tar.gz`
    ");
    assert_snapshot!(install(&scene, "a.7z"), @"
    exit 1
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `[SCENE]/a.7z`: this is a 7z archive, but only `.tar.gz` and `.zip` are supported
    hint: unpack it and install the folder, or ask for a `.tar.gz`
    ");
}

#[test]
fn packages_for_python_are_shown_before() {
    let python = "requirements:\n  dependencies:\n    - requests>=2\n    - numpy\n";
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", python));
    assert_snapshot!(install(&scene, "./greet --dry-run"), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0, experimental
      from   [SCENE]/greet
      files  1 (143 bytes)
      python requests>=2, numpy
      agent  follows its text with the agent's own rights
    note: nothing was written
    ");
}

#[test]
fn a_manifest_with_a_wrong_name_is_to_be_renamed() {
    let scene = crate::machine().file("work/low/skill.md", crate::skill("low"));
    let refused = scene.run("install ./low --allow-experimental --yes");
    assert!(refused.starts_with("exit 3"), "{refused}");
    assert!(refused.contains("contains `skill.md` but no `SKILL.md`"), "{refused}");
    assert!(refused.contains("hint: rename it to `SKILL.md`"), "{refused}");
}
