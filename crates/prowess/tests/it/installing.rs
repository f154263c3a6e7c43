//! `prowess install` from everywhere, through the real binary.

use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;
use prowess_testkit::{Published, Reply, Scene, Script, ScriptedProvider, TestRegistry};
use serde_json::Value;

use crate::packages::{
    DANGEROUS, NETWORK, STORE, home, home_with, installed, manifest, packed, release, sign, steady,
    trust,
};

#[test]
fn what_nobody_vouches_for_is_refused_and_nothing_is_written() {
    // GAIA-4.3-1.
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", DANGEROUS));
    assert_snapshot!(scene.run("install ./greet"), @"
    exit 4
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0, experimental
      from   [SCENE]/greet
      files  1 (118 bytes)
      may    shell:execute:git
      agent  follows its text with the agent's own rights
      ? it requests `shell:execute:git`
      ! it is experimental: no one you trust has signed it
    error: `greet` was not installed: it is experimental: no one you trust has signed it
    hint: read it first, and check what it may do
    hint: install it without a trusted signature with `--allow-experimental`
    hint: trust its publisher with `prowess trust add`
    ");
    assert!(installed(&scene).is_empty());
    let said = scene.run("install ./greet --yes");
    assert!(said.starts_with("exit 4"), "a yes is no leave: {said}");
    assert!(installed(&scene).is_empty());
    assert_snapshot!(scene.run("install ./greet --allow-experimental --yes"), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0, experimental
      from   [SCENE]/greet
      files  1 (118 bytes)
      may    shell:execute:git
      agent  follows its text with the agent's own rights
      ? it requests `shell:execute:git`
    installed greet 1.0.0
    ");
    assert_eq!(
        scene.text(&format!("{STORE}/skills/greet/SKILL.md")),
        manifest("greet", "1.0.0", DANGEROUS)
    );
}

#[test]
fn the_lock_says_what_is_installed() {
    // GAIA-7.3-1.
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", NETWORK));
    let _ = scene.run("install ./greet --allow-experimental --yes");
    assert_snapshot!(steady(&scene.run("lock")), @r#"
    exit 0
    --- stdout
    {
      "version": 1,
      "skills": {
        "greet": {
          "version": "1.0.0",
          "integrity": "[DIGEST]",
          "security_tier": "experimental",
          "installed_at": "[TIME]",
          "dependencies_hash": "[DIGEST]",
          "files": {
            "SKILL.md": "[HEX]"
          },
          "source": {
            "type": "folder",
            "path": "[SCENE]/greet"
          },
          "unsigned": true,
          "explicit": true,
          "permissions": [
            "network:read:api.example.com"
          ]
        }
      }
    }
    --- stderr
    using your own skills in `~/.local/share/prowess`
    "#);
}

/// A repository with two skills.
fn repository(scene: Scene) -> Scene {
    let scene = scene
        .file("repository/skills/greet/SKILL.md", manifest("greet", "1.0.0", ""))
        .file("repository/skills/part/SKILL.md", manifest("part", "2.0.0", ""));
    let git = |words: &[&str]| {
        let status = Command::new("git")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@host.example"])
            .args(["-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main"])
            .args(words)
            .current_dir(scene.path().join("repository"))
            .env("HOME", scene.path().join("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .status()
            .expect("git runs");
        assert!(status.success(), "{words:?}");
    };
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message=x"]);
    scene
}

/// Installs a reference into an empty home, and says what was said.
#[track_caller]
fn check_installs(scene: &Scene, reference: &str) -> String {
    let said = scene.run(&format!("install {reference} --allow-experimental"));
    assert!(said.starts_with("exit 0"), "{said}");
    let file = scene.text(&format!("{STORE}/skills/greet/SKILL.md"));
    assert_eq!(file, manifest("greet", "1.0.0", ""));
    let verified = scene.run("verify");
    assert!(verified.starts_with("exit 0"), "{verified}");
    steady(&said)
}

#[test]
fn skills_come_from_folders_and_archives() {
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    assert_snapshot!(check_installs(&scene, "./greet"), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0, experimental
      from   [SCENE]/greet
      files  1 (83 bytes)
      agent  follows its text with the agent's own rights
    installed greet 1.0.0
    ");
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    let _ = packed(&scene, "greet");
    assert_snapshot!(check_installs(&scene, "packed.tar.gz"), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0, experimental
      from   [SCENE]/packed.tar.gz
      files  1 (83 bytes)
      agent  follows its text with the agent's own rights
    installed greet 1.0.0
    ");
}

#[test]
fn skills_come_from_repositories() {
    let scene = repository(home());
    let url = format!("file://{}/repository", scene.path().display());
    let several = scene.run(&format!("install {url}"));
    assert_snapshot!(several, @"
    exit 2
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `file://[SCENE]/repository` contains 2 skills: `greet`, `part`
    hint: choose it with `--skill NAME`
    hint: install all of them with `--all`
    ");
    assert_snapshot!(check_installs(&scene, &format!("{url} --skill greet")), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0, experimental
      from   file://[SCENE]/repository#[HEX]:skills/greet
      files  1 (83 bytes)
      agent  follows its text with the agent's own rights
    installed greet 1.0.0
    ");
    assert!(!scene.path().join(STORE).join("skills/part").exists());
    let said = scene.run(&format!("install {url}#main:skills/part --allow-experimental"));
    assert!(said.contains("installed part 2.0.0"), "{said}");
    assert_snapshot!(scene.run(&format!("install {url} --skill nobody")), @"
    exit 3
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `file://[SCENE]/repository` contains no skill `nobody`, only: `greet`, `part`
    ");
}

#[test]
fn skills_come_from_domains() {
    let page = Reply::bytes(200, "text/markdown", manifest("greet", "1.0.0", ""));
    let script = Script::new([]).page("/.well-known/skills/default/skill.md", page);
    let domain = ScriptedProvider::start(script);
    let scene = home();
    assert_snapshot!(check_installs(&scene, domain.url()), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0, experimental
      from   http://[HOST]/.well-known/skills/default/skill.md
      files  1 (83 bytes)
      agent  follows its text with the agent's own rights
    installed greet 1.0.0
    ");
}

#[test]
fn skills_come_from_registries_by_name_range_and_namespace() {
    let registry = TestRegistry::start();
    for version in ["0.9.0", "1.0.0", "2.0.0"] {
        registry.publish(release("greet", version, ""));
    }
    assert_snapshot!(check_installs(&home_with(&registry), "greet@^1"), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0, experimental
      from   http://[HOST] (acme)
      files  1 (83 bytes)
      agent  follows its text with the agent's own rights
    installed greet 1.0.0
    ");
    // SRT-8-2.
    let scene = home_with(&registry);
    assert_snapshot!(check_installs(&scene, "acme/greet@1.0.0"), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0, experimental
      from   http://[HOST] (acme)
      files  1 (83 bytes)
      agent  follows its text with the agent's own rights
    installed greet 1.0.0
    ");
    let said = scene.run("install greet@>=2 --allow-experimental");
    assert!(said.contains("installed greet 2.0.0 instead of 1.0.0"), "{said}");
    assert_snapshot!(steady(&scene.run("install greet@^7")), @"
    exit 1
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: no version of `acme/greet` matches `^7`
      the command line requires `acme/greet ^7`
      `acme/greet` exists as 0.9.0, 1.0.0 and 2.0.0
    hint: request a range that matches one of the versions
    ");
    assert_snapshot!(steady(&scene.run("install nobody")), @"
    exit 3
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: http://[HOST] has no skill `nobody`
    hint: check the spelling; a private skill needs a token
    ");
}

#[test]
fn names_of_a_registry_lead_nowhere() {
    // NEG-5.
    let registry = TestRegistry::start();
    for needed in ["../../evil", "acme/../evil", "/etc/evil"] {
        let version = release("greet", "1.0.0", "");
        registry.publish(Published {
            dependencies: vec![(needed.to_owned(), "*".to_owned())],
            ..version
        });
        let scene = home_with(&registry);
        let said = scene.run("install greet --allow-experimental");
        assert!(said.starts_with("exit 1"), "{said}");
        assert!(said.contains("is not a valid skill name"), "{said}");
        assert!(installed(&scene).is_empty());
    }
    let scene = home_with(&registry);
    assert!(scene.run("install acme/../greet").starts_with("exit 2"));
}

#[test]
fn a_skill_for_newer_programs_is_refused() {
    // SKL-L3-6.
    let more = "tags: [a]\ncategory: x\nmin-skillli-version: 99.0.0\n";
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", more));
    assert_snapshot!(scene.run("install ./greet --allow-experimental"), @"
    exit 1
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `greet` can't be installed: it requires client version 99.0.0, but this program supports the features of version 1.0.0
    hint: install a newer version of this program, or an older version of the skill
    ");
    assert!(installed(&scene).is_empty());
}

#[test]
fn looking_writes_nothing() {
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", DANGEROUS));
    assert_snapshot!(scene.run("install ./greet --allow-experimental --dry-run"), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0, experimental
      from   [SCENE]/greet
      files  1 (118 bytes)
      may    shell:execute:git
      agent  follows its text with the agent's own rights
      ? it requests `shell:execute:git`
    note: nothing was written
    ");
    assert!(installed(&scene).is_empty());
    assert_snapshot!(
        steady(&scene.run("install ./greet --allow-experimental --dry-run --format json")),
        @r#"
        exit 0
        --- stdout
        {
          "installed": false,
          "scope": "user",
          "scope_reason": "no_project_lock",
          "store": "[SCENE]/home/.local/share/prowess",
          "skills": [
            {
              "name": "greet",
              "version": "1.0.0",
              "replaces": null,
              "security_tier": "experimental",
              "source": "[SCENE]/greet",
              "integrity": "[DIGEST]",
              "signers": [],
              "permissions": [
                "shell:execute:git"
              ],
              "capabilities": [],
              "difference": null,
              "python_packages": [],
              "questions": [
                "it requests `shell:execute:git`"
              ],
              "refusals": []
            }
          ],
          "unchanged": [],
          "left_out": [],
          "newer": [],
          "placed": [],
          "destinations": [],
          "failures": [],
          "warnings": []
        }
        "#
    );
    assert!(installed(&scene).is_empty());
}

#[test]
fn without_a_terminal_questions_need_a_yes_beforehand() {
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", DANGEROUS));
    assert_snapshot!(scene.run("install ./greet --allow-experimental"), @"
    exit 4
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0, experimental
      from   [SCENE]/greet
      files  1 (118 bytes)
      may    shell:execute:git
      agent  follows its text with the agent's own rights
      ? it requests `shell:execute:git`
    error: confirmation is needed, but this is not a terminal
    hint: read the questions with `--dry-run`, then agree with `--yes`
    ");
    assert!(installed(&scene).is_empty());
    let said = scene.run("install ./greet --allow-experimental --yes --format json");
    let json = said.strip_prefix("exit 0\n--- stdout\n").unwrap_or_else(|| panic!("{said}"));
    let json: Value = serde_json::from_str(json).expect("nothing but JSON is said");
    assert_eq!(json["installed"], true);
    assert_eq!(json["skills"][0]["name"], "greet");
}

#[cfg(target_os = "linux")]
#[test]
fn on_a_terminal_only_a_yes_installs() {
    let words = ["install", "./greet", "--allow-experimental"];
    for no in ["n\n", "\n", "\u{4}", "yess\n"] {
        let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", DANGEROUS));
        let said = scene.run_on_terminal(&words, no);
        assert!(said.starts_with("exit 4"), "{no:?}: {said}");
        assert!(said.contains("because you did not agree"), "{said}");
        assert!(installed(&scene).is_empty(), "{no:?}");
    }
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", DANGEROUS));
    assert_snapshot!(scene.run_on_terminal(&words, "y\n"), @"
    exit 0
    --- terminal
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0, experimental
      from   [SCENE]/greet
      files  1 (118 bytes)
      may    shell:execute:git
      agent  follows its text with the agent's own rights
      ? it requests `shell:execute:git`
    Install it? [y]es / [N]o: installed greet 1.0.0
    ");
    assert!(!installed(&scene).is_empty());
}

#[test]
fn recipes_are_told_and_never_run() {
    let more = "metadata:\n  openclaw:\n    install:\n      - kind: brew\n        formula: gh\n      - kind: node\n        package: \"x; touch run\"\n";
    let scene = home()
        .file("greet/SKILL.md", manifest("greet", "1.0.0", more))
        .script("bin/brew", "#!/bin/sh\ntouch run\n")
        .script("bin/npm", "#!/bin/sh\ntouch run\n");
    let path = format!("{}/bin:{}", scene.path().display(), std::env::var("PATH").expect("a PATH"));
    let scene = scene.variable("PATH", &path);
    assert_snapshot!(scene.run("install ./greet --allow-experimental --yes"), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0, experimental
      from   [SCENE]/greet
      files  1 (208 bytes)
      agent  follows its text with the agent's own rights
      ? install command: brew install gh (SKILL.md:8)
      ? install command: npm install --global 'x; touch run' (SKILL.md:10)
    installed greet 1.0.0
    note: `greet` may need one of these, which you run yourself: `brew install gh`, `npm install --global 'x; touch run'`
    ");
    assert!(!scene.path().join("run").exists());
}

#[test]
fn the_lock_gives_the_same_bytes_or_nothing() {
    // GAIA-7.3-2.
    let scene = home()
        .file("greet/SKILL.md", manifest("greet", "1.0.0", ""))
        .file("greet/scripts/hello.sh", "echo hello\n");
    assert!(scene.run("install ./greet --allow-experimental --yes").starts_with("exit 0"));
    let before = installed(&scene);
    std::fs::remove_dir_all(scene.path().join(STORE).join("skills/greet")).expect("it is there");
    assert_snapshot!(scene.run("install --frozen"), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    installed greet 1.0.0
    ");
    assert_eq!(installed(&scene), before);
    assert_snapshot!(scene.run("install --frozen"), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    already up to date
    ");
    let scene = scene.file("greet/scripts/hello.sh", "echo bye\n");
    std::fs::remove_dir_all(scene.path().join(STORE).join("skills/greet")).expect("it is there");
    assert_snapshot!(steady(&scene.run("install --frozen")), @"
    exit 4
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `greet` does not match the lock file: its digest is [DIGEST], expected [DIGEST]
    hint: find out who changed it
    hint: `prowess update greet` installs the current version
    ");
    assert!(!scene.path().join(STORE).join("skills/greet").exists());
}

#[test]
fn without_a_lock_nothing_is_frozen() {
    assert_snapshot!(home().run("install --frozen"), @"
    exit 3
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: there is no lock file `[SCENE]/home/.local/share/prowess/skill-lock.json`
    hint: name what to install, such as `prowess install ./greet`
    ");
    assert_snapshot!(home().run("install --frozen --project"), @"
    exit 3
    --- stderr
    using the project's skills in `[SCENE]/.prowess`
    error: there is no lock file `[SCENE]/.prowess/skill-lock.json`
    hint: name what to install, such as `prowess install ./greet`
    ");
    assert!(home().run("install --frozen ./greet").starts_with("exit 2"));
}

#[test]
fn a_lock_that_leads_elsewhere_is_refused() {
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    assert!(scene.run("install ./greet --allow-experimental").starts_with("exit 0"));
    let lock = scene.text(&format!("{STORE}/skill-lock.json"));
    let poisoned = lock.replace("\"greet\": {", "\"../../../greet\": {");
    let scene = scene.file(&format!("{STORE}/skill-lock.json"), &poisoned);
    let before = scene.files();
    assert_snapshot!(scene.run("install"), @"
    exit 1
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: the lock file `[SCENE]/home/.local/share/prowess/skill-lock.json` can't be used: `skills.../../../greet` is not a valid skill name: `../../../greet` is not a valid skill name, expected lower case letters and digits with single hyphens between them, at most 64 (did you mean `greet`?)
    hint: move that file away and install the skills again; their files are kept until then
    hint: `prowess list` shows the installed skills
    ");
    for verb in ["update --all", "remove greet", "verify", "lock", "lock --check"] {
        assert!(scene.run(verb).starts_with("exit 1"), "{verb}");
    }
    assert_eq!(scene.files(), before);
}

#[test]
fn two_at_once_both_succeed() {
    let scene = home()
        .file("one/SKILL.md", manifest("one", "1.0.0", ""))
        .file("two/SKILL.md", manifest("two", "1.0.0", ""));
    for _ in 0..5 {
        let start = |name: &str| {
            let folder = format!("./{name}");
            let mut command = scene.command(&["install", &folder, "--allow-experimental"]);
            command.stderr(std::process::Stdio::piped()).spawn().expect("it starts")
        };
        for child in [start("one"), start("two")] {
            let output = child.wait_with_output().expect("it ends");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{said}");
        }
        let said = scene.run("verify one two");
        assert!(said.starts_with("exit 0"), "{said}");
        assert!(scene.run("remove one two").starts_with("exit 0"));
    }
}

#[cfg(target_os = "linux")]
#[test]
fn killed_at_any_time_the_old_or_the_new_is_there() {
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    assert!(scene.run("install ./greet --allow-experimental").starts_with("exit 0"));
    let many = |scene: Scene, text: &str| {
        (0..200).fold(scene, |scene, at| scene.file(&format!("greet/data/{at}.txt"), text))
    };
    let mut scene = scene;
    for (at, version) in ["1.1.0", "1.2.0", "1.3.0"].into_iter().enumerate() {
        scene = many(scene.file("greet/SKILL.md", manifest("greet", version, "")), version);
        let mut child = scene.command(&["update", "greet"]);
        let mut child = child.stderr(std::process::Stdio::null()).spawn().expect("it starts");
        // Killed once it has begun to write, each time a little later; whatever it got done, the result is whole.
        let staging = scene.path().join(STORE).join("staging");
        while child.try_wait().expect("it is ours").is_none() && count(&staging) <= at * 90 {
            std::hint::spin_loop();
        }
        child.kill().expect("it is ours");
        child.wait().expect("it ends");
        let said = scene.run("verify");
        assert!(said.starts_with("exit 0"), "{said}");
    }
    let said = scene.run("update greet");
    assert!(said.starts_with("exit 0"), "{said}");
    let new = scene.text(&format!("{STORE}/skills/greet/data/7.txt"));
    assert_eq!(new, "1.3.0");
    assert_eq!(count(&scene.path().join(STORE).join("staging")), 0, "nothing is left behind");
}

/// How many files and folders there are below a folder that somebody else may be changing.
fn count(folder: &Path) -> usize {
    let Ok(entries) = std::fs::read_dir(folder) else { return 0 };
    entries.flatten().map(|entry| 1 + count(&entry.path())).sum()
}

/// Runs a script of a shell that may mount what it likes, where only it sees it. `None` where the system forbids that.
#[cfg(target_os = "linux")]
pub(crate) fn run_with_mounts(scene: &Scene, script: &str) -> Option<String> {
    let unshared = |script: &str| {
        let template = scene.command(&[]);
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]);
        command.arg(template.get_program()).current_dir(scene.path());
        for (name, value) in template.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command.output().ok()
    };
    unshared("mount -t tmpfs tmpfs home").filter(|output| output.status.success())?;
    let output = unshared(script)?;
    let text = [output.stdout, output.stderr].concat();
    let place = scene.path().display().to_string();
    Some(String::from_utf8_lossy(&text).replace(&place, "[SCENE]"))
}

#[cfg(target_os = "linux")]
#[test]
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn a_full_or_read_only_disk_changes_nothing() {
    let scene = home()
        .file("greet/SKILL.md", manifest("greet", "1.0.0", ""))
        .file("large/SKILL.md", manifest("large", "1.0.0", ""))
        .file("large/data.bin", vec![7; 300 << 10]);
    let script = "exec 2>&1; mount -t tmpfs -o size=128k tmpfs home
        $1 install ./greet --allow-experimental --quiet; echo greet $?
        $1 install ./large --allow-experimental --quiet; echo large $?
        $1 verify; echo verify $?
        find home -type f | sort
        mount -o remount,ro home
        $1 install ./large --allow-experimental --quiet; echo large $?
        $1 remove greet --quiet; echo remove $?
        $1 verify; echo verify $?
        $1 list; echo list $?
        $1 info greet --quiet > /dev/null; echo info $?
        $1 lock --check; echo lock $?
        $1 install --frozen; echo frozen $?
        find home -type f | sort";
    let Some(said) = run_with_mounts(&scene, script) else {
        eprintln!("SKIPPED a full disk: this system gives nobody mounts of their own");
        return;
    };
    assert_snapshot!(steady(&said), @"
    greet 0
    error: cannot write below `[SCENE]/home/.local/share/prowess/staging`: No space left on device (os error 28); free some space and try again
    large 1
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0: as installed, experimental, not signed
    verify 0
    home/.local/share/prowess/skill-lock.json
    home/.local/share/prowess/skills/greet/SKILL.md
    home/.local/share/prowess/store.lock
    error: cannot prepare a change in `[SCENE]/home/.local/share/prowess/staging`: Read-only file system (os error 30); make it writable and try again
    large 1
    error: cannot lock `[SCENE]/home/.local/share/prowess`: Read-only file system (os error 30); make it writable and try again
    remove 1
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0: as installed, experimental, not signed
    verify 0
    looking everywhere; to install and update, this folder uses your own skills in `~/.local/share/prowess`
    greet  1.0.0  experimental  ok  ~/.local/share/prowess/skills/greet
    list 0
    info 0
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0: as installed, experimental, not signed
    lock 0
    using your own skills in `~/.local/share/prowess`
    already up to date
    frozen 0
    home/.local/share/prowess/skill-lock.json
    home/.local/share/prowess/skills/greet/SKILL.md
    home/.local/share/prowess/store.lock
    ");
}

#[test]
fn a_signed_skill_of_a_root_installs_without_a_question() {
    // GAIA-4.1-1.
    let scene = home().file(
        "greet/SKILL.md",
        manifest("greet", "1.0.0", &format!("security_tier: verified\n{DANGEROUS}")),
    );
    sign(&scene, "greet", "release");
    trust(&scene, "release", "root");
    assert_snapshot!(steady(&scene.run("install ./greet")), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0, verified
      from   [SCENE]/greet
      files  2 (616 bytes)
      signed ed25519 key [HEX]
      may    shell:execute:git
      agent  follows its text with the agent's own rights
    installed greet 1.0.0
    ");
    assert_snapshot!(steady(&scene.run("verify")), @"
    exit 0
    --- stdout
    greet 1.0.0: as installed, verified, signed by [HEX], trusted as root
    --- stderr
    using your own skills in `~/.local/share/prowess`
    ");
}

/// A fetch that a signal ends leaves no repository behind, which may have a gigabyte.
#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_fetch_leaves_nothing_behind() {
    use std::os::unix::process::ExitStatusExt as _;
    // A git that says that it has begun, and then waits until somebody lets it go.
    let git = "#!/bin/sh\n: > pack\necho begun > \"$BEGUN\"\ncat \"$HELD\" > /dev/null\n";
    let scene = home().script("bin/git", git).file("temporary/.keep", "");
    let path = |name: &str| scene.path().join(name);
    for pipe in ["begun", "held"] {
        let made = std::process::Command::new("mkfifo").arg(path(pipe)).status();
        assert!(made.expect("mkfifo is there").success());
    }
    let search_path = format!("{}:/usr/bin:/bin", path("bin").display());
    for signal in [rustix::process::Signal::INT, rustix::process::Signal::TERM] {
        let mut child = scene
            .command(&["install", "file:///nowhere/repository", "--dry-run"])
            .env("PATH", &search_path)
            .env("TMPDIR", path("temporary"))
            .env("BEGUN", path("begun"))
            .env("HELD", path("held"))
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("it starts");
        assert_eq!(std::fs::read_to_string(path("begun")).expect("git begins"), "begun\n");
        assert!(count(&path("temporary")) > 1, "there is something to leave");
        let id = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
        rustix::process::kill_process(id.expect("an id"), signal).expect("it is ours");
        let status = child.wait().expect("it ends");
        // Git is let go.
        drop(std::fs::OpenOptions::new().write(true).open(path("held")).expect("git waits"));
        assert_eq!(status.signal(), Some(signal.as_raw()), "it ends by the signal");
        assert_eq!(count(&path("temporary")), 1, "{signal:?}");
    }
}
