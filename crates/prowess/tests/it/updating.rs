//! `prowess update` and `remove`: what changes with a new version, and what goes with an old one.

use insta::assert_snapshot;
use prowess_testkit::{Published, TestRegistry};

use crate::packages::{
    NETWORK, STORE, home, home_with, installed, key_id, manifest, release, sign, steady, trust,
};

#[test]
fn a_wider_permission_is_asked_about() {
    // Attack registry-C23.
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", NETWORK));
    assert!(scene.run("install ./greet --allow-experimental --yes").starts_with("exit 0"));
    let before = installed(&scene);
    let wider = format!("{NETWORK}  - shell:execute:git\n");
    let scene = scene.file("greet/SKILL.md", manifest("greet", "1.1.0", &wider));
    assert_snapshot!(scene.run("update greet"), @"
    exit 4
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0 -> 1.1.0, experimental
      from   [SCENE]/greet
      files  1 (151 bytes)
      may    network:read:api.example.com, shell:execute:git
      change changed SKILL.md
      ? it also requests `shell:execute:git`
    error: confirmation is needed, but this is not a terminal
    hint: read the questions with `--dry-run`, then agree with `--yes`
    hint: `--diff` prints how the texts differ from what is installed
    ");
    assert_eq!(installed(&scene), before);
    let said = scene.run("update greet --yes");
    assert!(said.contains("installed greet 1.1.0 instead of 1.0.0"), "{said}");
    // Less needs no question.
    let scene = scene.file("greet/SKILL.md", manifest("greet", "1.2.0", ""));
    assert!(scene.run("update greet").starts_with("exit 0"));
}

#[test]
fn a_lost_signature_is_refused() {
    // Attack registry-C3.
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    sign(&scene, "greet", "release");
    trust(&scene, "release", "publisher");
    assert!(scene.run("install ./greet").starts_with("exit 0"));
    let before = installed(&scene);
    std::fs::remove_file(scene.path().join("greet/SIGNATURE.json")).expect("it is there");
    let scene = scene.file("greet/SKILL.md", manifest("greet", "1.1.0", ""));
    assert_snapshot!(steady(&scene.run("update greet --yes --allow-experimental")), @"
    exit 4
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0 -> 1.1.0, experimental
      from   [SCENE]/greet
      files  1 (83 bytes)
      change only wording: changed SKILL.md
      change only wording: removed SIGNATURE.json
      ? its tier was `community` and is now `experimental`
      ! it was signed by the key `[HEX]` and is not signed now
    error: `greet` was not installed: it was signed by the key `[HEX]` and is not signed now
    hint: ask its author
    hint: allow it with `--allow-unsigned`
    ");
    assert_eq!(installed(&scene), before);
    let said = scene.run("update greet --yes --allow-experimental --allow-unsigned");
    assert!(said.starts_with("exit 0"), "{said}");
}

#[test]
fn another_signer_is_refused_until_accepted() {
    // Attack registry-C4.
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    sign(&scene, "greet", "first");
    trust(&scene, "first", "publisher");
    assert!(scene.run("install ./greet").starts_with("exit 0"));
    let before = installed(&scene);
    let scene = scene.file("greet/SKILL.md", manifest("greet", "1.1.0", ""));
    sign(&scene, "greet", "second");
    trust(&scene, "second", "publisher");
    assert_snapshot!(steady(&scene.run("update greet --yes")), @"
    exit 4
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0 -> 1.1.0, community
      from   [SCENE]/greet
      files  2 (557 bytes)
      signed ed25519 key [HEX]
      change only wording: changed SIGNATURE.json, SKILL.md
      ! it was signed by the key `[HEX]` and is now signed by the key `[HEX]`
    error: `greet` was not installed: it was signed by the key `[HEX]` and is now signed by the key `[HEX]`
    hint: ask its author; if the new key is right, trust it and accept it for this skill
    hint: trust its publisher with `prowess trust add`
    hint: accept the new key with `prowess trust accept SKILL`
    ");
    assert_eq!(installed(&scene), before);
    let id = key_id(&scene, "second");
    assert_snapshot!(steady(&scene.run(&format!("trust accept greet {id}"))), @"
    exit 0
    --- stderr
    `greet` may be signed by [HEX] from now on
    ");
    let said = scene.run("update greet");
    assert!(said.contains("installed greet 1.1.0 instead of 1.0.0"), "{said}");
}

#[test]
fn only_a_signer_that_is_offered_or_trusted_is_accepted() {
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    assert_snapshot!(scene.run("trust accept greet 00"), @"
    exit 3
    --- stderr
    error: `greet` is not installed, so it has no signer
    hint: `prowess list` shows what is installed
    ");
    sign(&scene, "greet", "first");
    trust(&scene, "first", "publisher");
    assert!(scene.run("install ./greet").starts_with("exit 0"));
    assert_snapshot!(scene.run("trust accept gret 00"), @"
    exit 3
    --- stderr
    error: `gret` is not installed, so it has no signer
    hint: did you mean `greet`?
    ");
    assert_snapshot!(scene.run("trust accept greet 00"), @"
    exit 3
    --- stderr
    error: the key `00` is not trusted, and has signed nothing that the source of `greet` offers
    hint: its source offers nothing newer
    ");
    let first = key_id(&scene, "first");
    assert_snapshot!(steady(&scene.run(&format!("trust accept greet {first}"))), @"
    exit 0
    --- stderr
    `greet` is already signed by [HEX]
    ");
    let scene = scene.file("greet/SKILL.md", manifest("greet", "1.1.0", ""));
    sign(&scene, "greet", "second");
    assert_snapshot!(steady(&scene.run("trust accept greet anything")), @"
    exit 3
    --- stderr
    error: the key `anything` is not trusted, and has signed nothing that the source of `greet` offers
    hint: its source offers 1.1.0, signed by the key `[HEX]`; accept that key once the author has confirmed it
    ");
    let accepted = scene.stdout("trust list --format json");
    let accepted: serde_json::Value = serde_json::from_str(&accepted).expect("JSON");
    assert_eq!(accepted["accepted"], serde_json::json!([]), "nothing was written down");
    // Offered, although nobody trusts it.
    let second = key_id(&scene, "second");
    assert_snapshot!(steady(&scene.run(&format!("trust accept greet {second}"))), @"
    exit 0
    --- stderr
    `greet` may be signed by [HEX] from now on
    note: the key itself is not trusted, so the skill stays experimental; `prowess trust add FILE` trusts it
    ");
    // What can't be looked at is accepted only when it is trusted.
    std::fs::remove_dir_all(scene.path().join("greet")).expect("it is there");
    assert!(scene.run("key new third").starts_with("exit 0"));
    let third = key_id(&scene, "third");
    assert_snapshot!(steady(&scene.run(&format!("trust accept greet {third}"))), @"
    exit 3
    --- stderr
    error: `[SCENE]/greet` does not exist
    hint: check the spelling; a path is relative to the current folder
    hint: if you have the key from its owner, trust it with `prowess trust add`; then the source of `greet` is not contacted
    ");
    trust(&scene, "third", "publisher");
    assert!(scene.run(&format!("trust accept greet {third}")).starts_with("exit 0"));
}

#[test]
fn all_skills_are_updated_within_their_ranges() {
    let registry = TestRegistry::start();
    registry.publish(release("greet", "1.0.0", ""));
    registry.publish(release("part", "1.0.0", ""));
    let scene = home_with(&registry);
    let said = scene.run("install greet@^1 acme/part --allow-experimental");
    assert!(said.starts_with("exit 0"), "{said}");
    assert_snapshot!(steady(&scene.run("update --all")), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    already up to date
    ");
    for version in ["1.4.0", "2.0.0"] {
        registry.publish(release("greet", version, ""));
        registry.publish(release("part", version, ""));
    }
    assert_snapshot!(steady(&scene.run("update --all --dry-run")), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0 -> 1.4.0, experimental
      from   http://[HOST] (acme)
      files  1 (83 bytes)
      change only wording: changed SKILL.md
    part 1.0.0 -> 2.0.0, experimental
      from   http://[HOST] (acme)
      files  1 (81 bytes)
      change only wording: changed SKILL.md
    note: greet 2.0.0 is available, outside of `^1`, and 1.4.0 is used; install it with `prowess install greet@2.0.0`
    note: nothing was written
    ");
    let said = scene.run("update --all");
    assert!(said.contains("installed greet 1.4.0 instead of 1.0.0"), "{said}");
    assert!(said.contains("installed part 2.0.0 instead of 1.0.0"), "{said}");
}

#[test]
fn a_version_that_was_taken_back_is_installed_where_it_is_locked() {
    // Attack registry-C22.
    let registry = TestRegistry::start();
    registry.publish(release("greet", "1.0.0", ""));
    registry.publish(release("greet", "1.1.0", ""));
    let scene = home_with(&registry);
    assert!(scene.run("install greet --allow-experimental").starts_with("exit 0"));
    registry.publish(Published { yanked: true, ..release("greet", "1.1.0", "") });
    std::fs::remove_dir_all(scene.path().join(STORE).join("skills/greet")).expect("it is there");
    assert_snapshot!(steady(&scene.run("install --frozen")), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    warning: `acme/greet` 1.1.0 was yanked by its publisher: update to another version
    installed greet 1.1.0
    ");
    let newcomer = home_with(&registry);
    let said = newcomer.run("install greet --allow-experimental");
    assert!(said.contains("installed greet 1.0.0\n"), "{said}");
    // Found to be harmful, it is not installed by anybody.
    let harmful = Some("it steals keys".to_owned());
    registry.publish(Published { revoked: harmful, ..release("greet", "1.1.0", "") });
    // Where it is installed already, it is found by asking, and after that without.
    assert!(scene.run("verify").starts_with("exit 0"), "nobody has been asked since");
    assert_snapshot!(steady(&scene.run("verify --online")), @"
    exit 1
    --- stdout
    greet 1.1.0: not as installed
      revoked: its registry has revoked it: it steals keys
    --- stderr
    using your own skills in `~/.local/share/prowess`
    hint: remove what was revoked: `prowess remove NAME`, or `prowess update NAME`
    ");
    assert!(scene.run("verify").contains("revoked: its registry has revoked it: it steals keys"));
    std::fs::remove_dir_all(scene.path().join(STORE).join("skills/greet")).expect("it is there");
    assert_snapshot!(steady(&scene.run("install --frozen")), @"
    exit 4
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `greet` was not restored: `acme/greet` 1.1.0 was revoked by http://[HOST]: it steals keys
    hint: choose another version, and remove this one where it is installed
    ");
    assert!(!scene.path().join(STORE).join("skills/greet").exists());
}

#[test]
fn what_others_need_stays_and_what_nobody_needs_goes() {
    let needs = "dependencies:\n  skills:\n    - part@^1\n";
    let registry = TestRegistry::start();
    let part = release("part", "1.0.0", "");
    registry.publish(part);
    let scene = home_with(&registry)
        .file("greet/SKILL.md", manifest("greet", "1.0.0", needs))
        .file("other/SKILL.md", manifest("other", "1.0.0", needs))
        .file("part/SKILL.md", manifest("part", "1.0.0", ""));
    // GAIA §4.3: what is experimental does not come along by itself.
    assert_snapshot!(steady(&scene.run("install ./greet --allow-experimental")), @"
    exit 4
    --- stderr
    using your own skills in `~/.local/share/prowess`
    part 1.0.0, experimental
      from   http://[HOST] (acme)
      files  1 (81 bytes)
      agent  follows its text with the agent's own rights
      ! it is a dependency, and experimental skills are only installed when requested by name
    greet 1.0.0, experimental
      from   [SCENE]/greet
      files  1 (121 bytes)
      agent  follows its text with the agent's own rights
    error: `part` was not installed: it is a dependency, and experimental skills are only installed when requested by name
    hint: install it by its own name first, then what needs it
    hint: install it without a trusted signature with `--allow-experimental`
    ");
    assert!(installed(&scene).is_empty());
    let said = scene.run("install ./greet ./other ./part --allow-experimental");
    assert!(said.starts_with("exit 0"), "{said}");
    assert_snapshot!(scene.run("remove part"), @"
    exit 4
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `part` is required by `greet`, `other`
    hint: remove those as well: `prowess remove part greet other`
    ");
    assert_snapshot!(scene.run("remove greet"), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    removed greet 1.0.0
    ");
    let said = scene.run("remove part other");
    assert!(said.starts_with("exit 0"), "{said}");
    assert_snapshot!(scene.run("remove other"), @"
    exit 3
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `other` is not installed
    hint: `prowess list` shows the installed skills
    ");
    let left: Vec<String> = installed(&scene).into_iter().map(|(path, _)| path).collect();
    assert_eq!(left, ["skill-lock.json"]);
}

#[test]
fn what_came_along_goes_along() {
    let needs = "dependencies:\n  skills:\n    - part@^1\n";
    let registry = TestRegistry::start();
    let author = home()
        .file("part/SKILL.md", manifest("part", "1.0.0", ""))
        .file("greet/SKILL.md", manifest("greet", "1.0.0", needs));
    for name in ["part", "greet"] {
        sign(&author, name, "release");
    }
    let publish = |name: &str, dependencies: Vec<(String, String)>| {
        let archive = crate::packages::packed(&author, name);
        let version = Published::new("acme", name, "1.0.0", archive);
        registry.publish(Published { dependencies, ..version });
    };
    publish("part", Vec::new());
    publish("greet", vec![("acme/part".to_owned(), "^1".to_owned())]);
    let scene = home_with(&registry);
    let public = author.stdout("key export release");
    let said = scene.run_with(&["trust", "add", "-", "--role", "publisher"], &public);
    assert!(said.starts_with("exit 0"), "{said}");
    assert_snapshot!(steady(&scene.run("install greet")), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    part 1.0.0, community
      from   http://[HOST] (acme)
      files  2 (554 bytes)
      signed ed25519 key [HEX]
      agent  follows its text with the agent's own rights
    greet 1.0.0, community
      from   http://[HOST] (acme)
      files  2 (595 bytes)
      signed ed25519 key [HEX]
      agent  follows its text with the agent's own rights
    installed part 1.0.0
    installed greet 1.0.0
    ");
    assert_snapshot!(scene.run("remove greet"), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    removed greet 1.0.0
    removed part 1.0.0, which nothing needs any more
    ");
}
