//! `prowess key`, `sign` and `trust`: making keys, signing skills, and deciding whose word counts.

use insta::assert_snapshot;
use serde_json::Value;

use crate::packages::{NETWORK, STORE, home, installed, key_id, manifest, sign, steady, trust};

#[cfg(unix)]
#[test]
fn a_key_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let scene = home();
    let said = scene.run("key new release");
    let public = scene.stdout("key export release");
    assert!(said.contains(&format!("--- stdout\n{public}")), "{said}");
    let folder = scene.path().join(STORE).join("keys");
    let file = folder.join("release.key");
    let mode = |path: &std::path::Path| {
        std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777
    };
    assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
    let secret = scene.bytes(&format!("{STORE}/keys/release.key"));
    assert_snapshot!(scene.run("key new release"), @"
    exit 1
    --- stderr
    error: the key `release` already exists (`[SCENE]/home/.local/share/prowess/keys/release.key`); choose another name, or move that file
    ");
    assert_eq!(scene.bytes(&format!("{STORE}/keys/release.key")), secret);
    // Whoever else could read it may have signed with it too.
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).expect("it is ours");
    let scene = scene.file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    assert_snapshot!(scene.run("sign greet --key release"), @"
    exit 4
    --- stderr
    error: others can read `[SCENE]/home/.local/share/prowess/keys/release.key`; run `chmod 600 [SCENE]/home/.local/share/prowess/keys/release.key`, and make a new key if others could have read this one
    ");
    assert!(!scene.path().join("greet/SIGNATURE.json").exists());
}

#[test]
fn a_passphrase_comes_from_a_variable_where_nobody_can_be_asked() {
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    assert_snapshot!(scene.run("key new release --passphrase"), @"
    exit 4
    --- stderr
    error: a passphrase is needed, but this is not a terminal
    hint: set the variable PROWESS_PASSPHRASE, or run it in a terminal
    ");
    assert!(!scene.path().join(STORE).join("keys/release.key").exists());
    let scene = scene.variable("PROWESS_PASSPHRASE", "open sesame");
    assert!(scene.run("key new release --passphrase").starts_with("exit 0"));
    let key = scene.text(&format!("{STORE}/keys/release.key"));
    assert!(!key.contains("sesame"), "{key}");
    assert_snapshot!(steady(&scene.run("key list")), @"
    exit 0
    --- stdout
    release  ed25519 [HEX], with a passphrase
    ");
    assert!(scene.run("sign greet --key release").starts_with("exit 0"));
    let scene = scene.variable("PROWESS_PASSPHRASE", "shut sesame");
    let said = scene.run("sign greet --key release");
    assert_snapshot!(said, @"
    exit 1
    --- stderr
    error: the passphrase of the key `release` is wrong, or its file was changed
    ");
    assert!(!said.contains("sesame"), "{said}");
}

#[test]
fn a_publisher_makes_a_skill_community_and_an_auditor_verified() {
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    sign(&scene, "greet", "release");
    assert_snapshot!(steady(&scene.run("install ./greet")), @"
    exit 4
    --- stderr
    using your own skills in `~/.local/share/prowess`
    warning: `greet`: the signature `SIGNATURE.json` holds, and its key `[HEX]` is not in the trust store
    greet 1.0.0, experimental
      from   [SCENE]/greet
      files  2 (557 bytes)
      signed ed25519 key [HEX]
      agent  follows its text with the agent's own rights
      ! it is experimental: no one you trust has signed it
    error: `greet` was not installed: it is experimental: no one you trust has signed it
    hint: read it first, and check what it may do
    hint: install it without a trusted signature with `--allow-experimental`
    hint: trust its publisher with `prowess trust add`
    ");
    trust(&scene, "release", "publisher");
    let tier = |said: &str| -> String {
        let json = said.split_once("--- stdout\n").map_or("", |(_, json)| json);
        let json: Value = serde_json::from_str(json).unwrap_or_else(|_| panic!("{said}"));
        json["skills"][0]["security_tier"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(tier(&scene.run("install ./greet --dry-run --format json")), "community");
    assert!(scene.run("key new audit").starts_with("exit 0"));
    assert!(scene.run("sign greet --key audit --audit").starts_with("exit 0"));
    trust(&scene, "audit", "auditor");
    assert_eq!(tier(&scene.run("install ./greet --dry-run --format json")), "verified");
}

#[test]
fn a_signature_of_other_tools_counts_too() {
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    assert!(scene.run("key new release --kind p256").starts_with("exit 0"));
    sign(&scene, "greet", "release");
    let bundle: Value = serde_json::from_str(&scene.text("greet/skill.oms.sig")).expect("JSON");
    assert!(bundle["dsseEnvelope"]["payload"].is_string(), "{bundle}");
    assert!(!scene.path().join("greet/SIGNATURE.json").exists());
    let pem = scene.stdout("key export release --pem");
    assert!(pem.starts_with("-----BEGIN PUBLIC KEY-----\n"), "{pem}");
    let said = scene.run_with(&["trust", "add", "-", "--role", "root"], &pem);
    assert!(said.starts_with("exit 0"), "{said}");
    // A signature by P-256 is written with as many bytes as its numbers happen to need.
    let size: u64 = ["SKILL.md", "skill.oms.sig"]
        .map(|file| scene.bytes(&format!("greet/{file}")).len() as u64)
        .iter()
        .sum();
    let installed = scene.run("install ./greet").replace(&format!("({size} bytes)"), "([SIZE])");
    assert_snapshot!(steady(&installed), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0, verified
      from   [SCENE]/greet
      files  2 ([SIZE])
      signed oms key [HEX]
      agent  follows its text with the agent's own rights
    installed greet 1.0.0
    ");
}

#[test]
fn a_changed_file_makes_a_signature_worse_than_none() {
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    sign(&scene, "greet", "release");
    let scene = scene.file("greet/SKILL.md", manifest("greet", "1.0.0", NETWORK));
    assert_snapshot!(scene.run("install ./greet --allow-experimental --allow-unsigned --yes"), @"
    exit 4
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `greet` can't be installed: the signature `SIGNATURE.json` is invalid: files changed after signing: `SKILL.md` has changed
    hint: do not use it; ask its author for a version with a valid signature
    ");
    assert!(installed(&scene).is_empty());
}

#[test]
fn what_can_not_be_signed_says_why() {
    let scene = home()
        .file("plain/SKILL.md", crate::skill("plain"))
        .file("greet/SKILL.md", manifest("greet", "1.0.0", ""))
        .file("notes.txt", "nothing\n");
    assert_snapshot!(scene.run("sign greet --key release"), @"
    exit 3
    --- stderr
    error: there is no key `release` in `[SCENE]/home/.local/share/prowess/keys`; create one with `prowess key new release`
    ");
    assert!(scene.run("key new release").starts_with("exit 0"));
    assert_snapshot!(scene.run("sign plain --key release"), @"
    exit 1
    --- stderr
    error: `plain` can't be signed: it has no version
    hint: a signature is for one version: add `version: 1.0.0` under `metadata:` in its front matter
    ");
    assert_snapshot!(scene.run("sign nowhere --key release"), @"
    exit 3
    --- stderr
    error: `nowhere` is not a folder
    hint: name the folder that holds the SKILL.md
    ");
    assert_snapshot!(scene.run("trust add notes.txt"), @"
    exit 1
    --- stderr
    error: `notes.txt`: this is not a public key; expected a line of `prowess key export`, the base64 of an Ed25519 key, a minisign key, a public key or certificate in PEM, the output of `gpg --armor --export`, or a Sigstore identity as JSON
    ");
    assert_snapshot!(scene.run("trust add nowhere.pub"), @"
    exit 3
    --- stderr
    error: `nowhere.pub` does not exist
    hint: check the spelling; a path is relative to the current folder
    ");
    assert_snapshot!(scene.run("trust remove 00112233"), @"
    exit 3
    --- stderr
    error: the key `00112233` is not trusted
    hint: `prowess trust list` shows the trusted keys
    ");
    assert_snapshot!(scene.run("trust list"), @"
    exit 0
    --- stderr
    note: no key is trusted, so every skill is experimental
    ");
}

#[test]
fn a_key_counts_for_the_names_it_was_given() {
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    sign(&scene, "greet", "release");
    let public = scene.stdout("key export release");
    let add = |names: &str| {
        let words = ["trust", "add", "-", "--names", names, "--label", "Ada"];
        steady(&scene.run_with(&words, &public))
    };
    assert_snapshot!(add("web-*"), @"
    exit 0
    --- stderr
    added ed25519 key [HEX] as publisher
    ");
    assert!(scene.run("install ./greet").starts_with("exit 4"));
    assert_snapshot!(add("gr*"), @"
    exit 0
    --- stderr
    changed ed25519 key [HEX]: names web-* -> gr*
    ");
    assert!(scene.run("install ./greet").starts_with("exit 0"));
    assert_snapshot!(steady(&scene.run("trust list")), @"
    exit 0
    --- stdout
    [HEX]
      ed25519 key, publisher for gr*, Ada
    ");
    // A stolen key: what was here before is told, and nothing new is believed.
    let id = key_id(&scene, "release");
    assert!(scene.run(&format!("trust remove {id} --revoked now")).starts_with("exit 0"));
    let scene = scene.file("greet/SKILL.md", manifest("greet", "1.1.0", ""));
    sign(&scene, "greet", "release");
    assert_snapshot!(steady(&scene.run("update greet")), @"
    exit 4
    --- stderr
    using your own skills in `~/.local/share/prowess`
    error: `greet` can't be installed: the signature `SIGNATURE.json` is invalid: the key `[HEX]` was revoked at [TIME]
    hint: do not use it; ask its author for a version with a valid signature
    ");
}

/// The words of a skill that calls itself experimental, as a new one of GAIA does.
const EXPERIMENTAL: &str = "security_tier: experimental\n";

#[test]
fn a_skill_that_calls_itself_experimental_is_told_from_one_that_nobody_signed() {
    // R19: the lower of the two counts, and whoever has just trusted the key is told which one that was.
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", EXPERIMENTAL));
    assert!(scene.run("key new release").starts_with("exit 0"));
    assert_snapshot!(steady(&scene.run("sign greet --key release")), @"
    exit 0
    --- stderr
    warning: it declares itself experimental (line 5 of its SKILL.md), and no signature raises that
    hint: write `security_tier: community`, or remove the line, and sign again
    signed greet 1.0.0 with the key [HEX] (`greet/SIGNATURE.json`)
    note: others can trust it: send them the output of `prowess key export release` for `prowess trust add`
    ");
    trust(&scene, "release", "publisher");
    assert_snapshot!(steady(&scene.run("install ./greet")), @"
    exit 4
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0, experimental
      from   [SCENE]/greet
      files  2 (585 bytes)
      signed ed25519 key [HEX]
      agent  follows its text with the agent's own rights
      ! it is signed by someone you trust, but declares itself experimental (line 5 of its SKILL.md)
    error: `greet` was not installed: it is signed by someone you trust, but declares itself experimental (line 5 of its SKILL.md)
    hint: its author writes `security_tier: community` and signs it again
    hint: install it without a trusted signature with `--allow-experimental`
    ");
    assert!(scene.run("install ./greet --allow-experimental").starts_with("exit 0"));
}

#[test]
fn a_claim_below_the_proof_is_shown() {
    let scene =
        home().file("greet/SKILL.md", manifest("greet", "1.0.0", "security_tier: community\n"));
    sign(&scene, "greet", "release");
    trust(&scene, "release", "root");
    assert_snapshot!(steady(&scene.run("install ./greet --dry-run")), @"
    exit 0
    --- stderr
    using your own skills in `~/.local/share/prowess`
    greet 1.0.0, community
      from   [SCENE]/greet
      files  2 (582 bytes)
      signed ed25519 key [HEX]
      tier   its signatures prove verified, but it declares itself community (line 5 of its SKILL.md)
      agent  follows its text with the agent's own rights
    note: nothing was written
    ");
}

#[test]
fn adding_a_key_again_neither_loosens_it_nor_takes_a_revocation_back() {
    // Attack registry-C15: a script that sets a machine up is run once more after a theft.
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    assert!(scene.run("key new release").starts_with("exit 0"));
    let public = scene.stdout("key export release");
    let add = |more: &[&str]| {
        let words = [&["trust", "add", "-"], more].concat();
        steady(&scene.run_with(&words, &public))
    };
    let limited = [
        ["--role", "root"],
        ["--names", "gr*"],
        ["--not-before", "2026-01-01T00:00:00Z"],
        ["--not-after", "2126-01-01T00:00:00Z"],
    ];
    assert_snapshot!(add(limited.as_flattened()), @"
    exit 0
    --- stderr
    added ed25519 key [HEX] as root
    ");
    let before = scene.stdout("trust list");
    assert_snapshot!(add(&[]), @"
    exit 0
    --- stderr
    ed25519 key [HEX] is already trusted as root
    ");
    assert_eq!(scene.stdout("trust list"), before);
    assert_snapshot!(before.replace(&key_id(&scene, "release"), "[KEY]"), @"
    [KEY]
      ed25519 key, root for gr*, from 2026-01-01T00:00:00Z, until 2126-01-01T00:00:00Z
    ");
    assert_snapshot!(add(&["--role", "publisher", "--names", "*", "--label", "Ada"]), @"
    exit 0
    --- stderr
    changed ed25519 key [HEX]: role root -> publisher, names gr* -> *, label none -> Ada
    ");
    assert_snapshot!(add(&["--not-before", "2127-01-01T00:00:00Z"]), @"
    exit 2
    --- stderr
    error: the key would never be valid: `--not-before` [TIME] is after `--not-after` [TIME]
    hint: swap the two times, or drop one of them
    ");
    let id = key_id(&scene, "release");
    assert!(scene.run(&format!("trust remove {id} --revoked now")).starts_with("exit 0"));
    assert_snapshot!(add(&[]), @"
    exit 4
    --- stderr
    error: the key [HEX] was revoked at [TIME]
    hint: ask its owner for a new key; if it was never stolen, run `prowess trust remove` and add it again
    ");
    assert!(scene.stdout("trust list").contains("revoked at"), "it stays revoked");
    // Only whoever says so forgets it.
    assert_snapshot!(steady(&scene.run(&format!("trust remove {id}"))), @"
    exit 0
    --- stderr
    removed [HEX], including its revocation at [TIME]
    ");
    assert!(add(&[]).starts_with("exit 0"));
}

#[test]
fn a_key_that_counts_at_other_times_is_listed_with_them() {
    let scene = home();
    for (key, option, time) in [
        ("old", "--not-after", "2020-01-01T00:00:00Z"),
        ("new", "--not-before", "2120-01-01T00:00:00Z"),
    ] {
        assert!(scene.run(&format!("key new {key}")).starts_with("exit 0"));
        let public = scene.stdout(&format!("key export {key}"));
        let said = scene.run_with(&["trust", "add", "-", "--label", key, option, time], &public);
        assert!(said.starts_with("exit 0"), "{said}");
    }
    let list = scene.stdout("trust list");
    let list =
        list.replace(&key_id(&scene, "old"), "[OLD]").replace(&key_id(&scene, "new"), "[NEW]");
    assert_snapshot!(list, @"
    [OLD]
      ed25519 key, publisher for *, old, until 2020-01-01T00:00:00Z (expired)
    [NEW]
      ed25519 key, publisher for *, new, from 2120-01-01T00:00:00Z (not yet)
    ");
}

#[test]
fn what_was_accepted_is_listed_and_can_be_taken_back() {
    // Attack registry-C4.
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    sign(&scene, "greet", "release");
    trust(&scene, "release", "publisher");
    assert!(scene.run("install ./greet").starts_with("exit 0"));
    let scene = scene.file("greet/SKILL.md", manifest("greet", "1.1.0", ""));
    sign(&scene, "greet", "other");
    let id = key_id(&scene, "other");
    let accept = format!("trust accept greet {id}");
    assert_snapshot!(steady(&scene.run(&accept)), @"
    exit 0
    --- stderr
    `greet` may be signed by [HEX] from now on
    note: the key itself is not trusted, so the skill stays experimental; `prowess trust add FILE` trusts it
    ");
    assert!(scene.run("update greet").starts_with("exit 4"), "nobody trusts the key yet");
    trust(&scene, "other", "publisher");
    assert!(scene.run("update greet --dry-run").starts_with("exit 0"));
    assert_snapshot!(steady(&scene.run("trust list")), @"
    exit 0
    --- stdout
    [HEX]
      ed25519 key, publisher for *
    [HEX]
      ed25519 key, publisher for *
    [HEX]
      accepted for greet at [TIME]
    ");
    let back = format!("trust remove {id} --accepted-for greet");
    assert_snapshot!(steady(&scene.run(&back)), @"
    exit 0
    --- stderr
    `greet` may no longer be signed by [HEX]
    ");
    assert_snapshot!(steady(&scene.run(&back)), @"
    exit 3
    --- stderr
    error: `[HEX]` was not accepted for `greet`
    hint: `prowess trust list` shows the accepted signers
    ");
    assert!(scene.run("update greet --dry-run").starts_with("exit 4"));
    // With the key goes what was accepted of it.
    assert!(scene.run(&accept).starts_with("exit 0"));
    assert_snapshot!(steady(&scene.run(&format!("trust remove {id}"))), @"
    exit 0
    --- stderr
    removed [HEX]
    `greet` may no longer be signed by [HEX]
    ");
    assert!(!scene.stdout("trust list").contains("accepted"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_signal_at_the_question_for_a_passphrase_leaves_the_terminal_as_it_was() {
    let scene = home();
    let ended = scene.interrupted(&["key", "new", "release", "--passphrase"], "New passphrase: ");
    let expected = prowess_testkit::Interrupted {
        shows_at_question: false,
        shows_afterwards: true,
        signal: Some(2), // SIGINT, so that a shell knows
    };
    assert_eq!(ended, expected);
    assert!(!scene.path().join(STORE).join("keys/release.key").exists());
}

#[test]
fn a_key_is_removed_when_somebody_agrees() {
    let scene = home();
    assert!(scene.run("key new release").starts_with("exit 0"));
    assert_snapshot!(scene.run("key remove release"), @"
    exit 4
    --- stderr
    error: refusing to delete the key `release` without confirmation (not a terminal)
    hint: `--yes` deletes it without confirmation
    ");
    assert!(scene.stdout("key list").starts_with("release "), "it is still there");
    assert_snapshot!(steady(&scene.run("key remove release --yes")), @"
    exit 0
    --- stderr
    deleted the key `release` ([HEX])
    note: it is still trusted where it was added; `prowess trust remove [HEX]` undoes that
    ");
    assert_eq!(scene.stdout("key list"), "");
    assert!(scene.run("key remove release --yes").starts_with("exit 3"));
}

#[test]
fn nobody_audits_themselves() {
    // GAIA §4.4.
    let scene = home().file("greet/SKILL.md", manifest("greet", "1.0.0", ""));
    sign(&scene, "greet", "release");
    assert_snapshot!(steady(&scene.run("sign greet --key release --audit")), @"
    exit 1
    --- stderr
    error: `greet` can't be signed: the key [HEX] has signed it as its publisher
    hint: a publisher can't be the auditor: use another person's key
    ");
    assert!(!scene.path().join("greet/AUDIT.json").exists());
    let scene = scene.file("greet/notes.txt", "changed\n");
    assert!(scene.run("key new audit").starts_with("exit 0"));
    assert_snapshot!(steady(&scene.run("sign greet --key audit --audit")), @"
    exit 1
    --- stderr
    error: `greet` can't be signed: the signature `SIGNATURE.json` is invalid: files changed after signing: `notes.txt` was not signed
    hint: its publisher must sign it again before you do
    ");
}

#[test]
fn the_version_goes_where_the_dialect_has_it() {
    let scene = home().file("greet/SKILL.md", crate::skill("greet"));
    assert!(scene.run("key new release").starts_with("exit 0"));
    assert!(scene.run("sign greet --key release").contains("under `metadata:`"));
    // What the hint says is right.
    let front = "---\nname: greet\ndescription: Greets people when they arrive\n";
    let below = format!("{front}metadata:\n  version: 1.0.0\n---\n\n# Greet\n");
    let scene = scene.file("greet/SKILL.md", below);
    assert!(scene.run("sign greet --key release").starts_with("exit 0"));
    assert!(scene.run("check greet --strict --dialect agent-skills").starts_with("exit 0"));
}
