//! `--offline`: what was fetched once is installed again without a network.

use std::process::Command;

use insta::assert_snapshot;
use prowess_testkit::{Reply, Scene, Script, ScriptedProvider, TestRegistry};

use crate::packages::{STORE, home, installed, manifest, packed, release, steady};

/// Takes the files away and restores them from the lock file without a network.
#[track_caller]
fn check_restored(scene: &Scene) {
    let before = installed(scene);
    assert!(!before.is_empty());
    let skills = scene.path().join(STORE).join("skills/greet");
    std::fs::remove_dir_all(&skills).expect("it is there");
    let said = scene.run("install --frozen --offline");
    assert!(said.starts_with("exit 0"), "{said}");
    assert_eq!(installed(scene), before);
    // The cache can be deleted at any time. Then there is no way without a network, and nothing is half done.
    std::fs::remove_dir_all(&skills).expect("it is there");
    std::fs::remove_dir_all(scene.path().join("home/.cache/prowess/archives")).expect("a cache");
    let said = scene.run("install --frozen --offline");
    assert!(said.starts_with("exit 1") && said.contains("while offline"), "{said}");
    assert!(!skills.exists());
}

#[test]
fn archives_of_registries_and_addresses_are_kept() {
    let registry = TestRegistry::start();
    registry.publish(release("greet", "1.0.0", ""));
    let scene = home().variable("PROWESS_REGISTRY", registry.url());
    let said = scene.run("install acme/greet --allow-experimental");
    assert!(said.starts_with("exit 0"), "{said}");
    // Nobody answers any more.
    drop(registry);
    check_restored(&scene);

    let author = home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    let archive = packed(&author, "greet");
    let page = Reply::bytes(200, "application/gzip", archive);
    let server = ScriptedProvider::start(Script::new([]).page("/greet.tar.gz", page));
    let scene = home();
    let said = scene.run(&format!("install {}/greet.tar.gz --allow-experimental", server.url()));
    assert!(said.starts_with("exit 0"), "{said}");
    drop(server);
    check_restored(&scene);
}

#[test]
fn skills_of_domains_and_repositories_are_kept() {
    let page = Reply::bytes(200, "text/markdown", manifest("greet", "1.0.0", ""));
    let script = Script::new([]).page("/.well-known/skills/default/skill.md", page);
    let domain = ScriptedProvider::start(script);
    let scene = home();
    let said = scene.run(&format!("install {} --allow-experimental", domain.url()));
    assert!(said.starts_with("exit 0"), "{said}");
    drop(domain);
    check_restored(&scene);

    let scene = home().file("repository/greet/SKILL.md", manifest("greet", "1.0.0", ""));
    let repository = scene.path().join("repository");
    let git = |words: &[&str]| {
        let status = Command::new("git")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@host.example"])
            .args(["-c", "commit.gpgsign=false", "-c", "init.defaultBranch=main"])
            .args(words)
            .current_dir(&repository)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .status();
        assert!(status.expect("git runs").success(), "{words:?}");
    };
    git(&["init", "--quiet"]);
    git(&["add", "--all"]);
    git(&["commit", "--quiet", "--message=x"]);
    let said = scene.run(&format!("install file://{} --allow-experimental", repository.display()));
    assert!(said.starts_with("exit 0"), "{said}");
    std::fs::rename(&repository, scene.path().join("moved")).expect("it can be moved");
    check_restored(&scene);
}

#[test]
fn an_older_index_is_refused() {
    // Attack registry-C17: a mirror hides that a version was taken back, or a newer one.
    let registry = TestRegistry::start();
    registry.publish(release("greet", "1.0.0", ""));
    registry.publish(release("greet", "1.1.0", ""));
    registry.number(2, None);
    let scene = home().variable("PROWESS_REGISTRY", registry.url());
    assert!(scene.run("install acme/greet@1.0.0 --allow-experimental").starts_with("exit 0"));
    registry.forget("acme", "greet", "1.1.0");
    let before = installed(&scene);
    assert_snapshot!(steady(&scene.run("update --all")), @"
    exit 4
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `greet` was not updated: http://[HOST] answers with an older index of `acme/greet` than before: version 1.1.0 is gone
    hint: somebody may be hiding newer versions, or that one was taken back; ask whoever runs the registry. If it was set back on purpose, delete `registry-index` in the cache folder
    ");
    registry.publish(release("greet", "1.1.0", ""));
    registry.number(1, None);
    assert_snapshot!(steady(&scene.run("install acme/greet")), @"
    exit 4
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: http://[HOST] answers with an older index of `acme/greet` than before: the index went backwards (1, last seen 2)
    hint: somebody may be hiding newer versions, or that one was taken back; ask whoever runs the registry. If it was set back on purpose, delete `registry-index` in the cache folder
    ");
    assert_eq!(installed(&scene), before);
    registry.number(3, Some(1));
    // The freeze: an index that nobody renews.
    let said = scene.run("install acme/greet");
    assert!(said.starts_with("exit 4"), "{said}");
    assert!(said.contains("answers with an outdated index of `acme/greet`: it expired"), "{said}");
    assert!(
        scene.run("install acme/greet --offline").starts_with("exit 0"),
        "what is known counts"
    );
    assert_eq!(installed(&scene), before);
}
