//! `prowess verify` on skills that are not installed, and what packing and converting leave out.

use std::ffi::OsString;
use std::process::Command;

use insta::assert_snapshot;
use prowess_testkit::Scene;
use serde_json::Value;

use crate::packages::{STORE, home, installed, manifest, sign, steady, trust};

fn greet() -> Scene {
    home().file("greet/SKILL.md", manifest("greet", "1.0.0", "")).file("greet/notes.md", "Notes.\n")
}

#[test]
fn a_signed_folder_says_who_when_and_what() {
    let scene = greet();
    assert_snapshot!(scene.run("verify ./greet"), @"
    exit 0
    --- stdout
    greet 1.0.0: not signed
      from       [SCENE]/greet
    ");
    sign(&scene, "greet", "release");
    assert_snapshot!(steady(&scene.run("verify ./greet")), @"
    exit 0
    --- stdout
    greet 1.0.0: the signature holds
      from       [SCENE]/greet
      signed by  your key `release` ([HEX]), which is not in the trust store
      signature  SIGNATURE.json (ed25519)
      when       [TIME] (a note in the file, which is not signed)
      covers     2 files
    ");
    trust(&scene, "release", "publisher");
    assert_snapshot!(steady(&scene.run("verify greet --require-signature")), @"
    exit 0
    --- stdout
    greet 1.0.0: the signature holds
      from       [SCENE]/greet
      signed by  the key [HEX], trusted as publisher
      signature  SIGNATURE.json (ed25519)
      when       [TIME] (a note in the file, which is not signed)
      covers     2 files
    ");
    let json = scene.run("verify greet --format json");
    assert_snapshot!(steady(&json), @r#"
    exit 0
    --- stdout
    {
      "ok": true,
      "skills": [
        {
          "name": "greet",
          "version": "1.0.0",
          "reference": "./greet",
          "source": "[SCENE]/greet",
          "source_kind": "folder",
          "security_tier": "community",
          "files": 3,
          "drift": [],
          "signatures": [
            {
              "file": "SIGNATURE.json",
              "scheme": "ed25519",
              "purpose": "release",
              "key": "[HEX]",
              "identity": null,
              "trusted_as": "publisher",
              "own_key": null,
              "time": "[TIME]",
              "time_source": "note",
              "covered": 2
            }
          ],
          "invalid_signatures": [],
          "uncovered": [],
          "warnings": []
        }
      ]
    }
    "#);
    // Other files of the folder change nothing, as long as they are none of the skill.
    let scene = scene.file("greet/.DS_Store", "x").file("greet/greet-0.9.0.tar.gz", "old");
    assert!(scene.run("verify ./greet").starts_with("exit 0"));
}

#[test]
fn what_is_not_as_it_was_signed_is_an_error() {
    let scene = greet();
    sign(&scene, "greet", "release");
    let cases: [(&str, &str); 3] = [
        ("greet/notes.md", "`notes.md` has changed"),
        ("greet/more.md", "`more.md` was not signed"),
        ("greet/SKILL.md", "`SKILL.md` has changed"),
    ];
    for (path, why) in cases {
        let before = scene.path().join(path).exists().then(|| scene.text(path));
        let text = before.clone().unwrap_or_default() + "more\n";
        std::fs::write(scene.path().join(path), text).expect("written");
        let said = scene.run("verify ./greet");
        assert!(said.starts_with("exit 1") && said.contains(why), "{said}");
        let said = scene.run("verify ./greet --format json");
        assert!(said.starts_with("exit 1") && said.contains("invalid_signatures"), "{said}");
        match before {
            Some(before) => std::fs::write(scene.path().join(path), before).expect("written"),
            None => std::fs::remove_file(scene.path().join(path)).expect("removed"),
        }
    }
    std::fs::remove_file(scene.path().join("greet/notes.md")).expect("removed");
    assert_snapshot!(steady(&scene.run("verify ./greet")), @"
    exit 1
    --- stdout
    greet 1.0.0: a signature does not hold
      from       [SCENE]/greet
      invalid    the signature `SIGNATURE.json` is invalid: files changed after signing: `notes.md` is missing
    --- stderr
    hint: don't use a skill whose signature does not hold: fetch it again, or ask its author
    ");
    // Somebody else's machine: the key is unknown, and the files are still compared.
    let stranger = home()
        .file("greet/SKILL.md", scene.text("greet/SKILL.md"))
        .file("greet/SIGNATURE.json", scene.text("greet/SIGNATURE.json"));
    assert!(stranger.run("verify ./greet").starts_with("exit 1"));
}

#[test]
fn a_trusted_signature_can_be_demanded() {
    let scene = greet();
    let demand = |scene: &Scene| scene.run("verify ./greet --require-signature");
    assert_snapshot!(demand(&scene), @"
    exit 4
    --- stdout
    greet 1.0.0: not signed
      from       [SCENE]/greet
    --- stderr
    error: `greet` has no signature by a trusted key
    hint: trust the signer's key with `prowess trust add`, or ask the author to sign
    ");
    sign(&scene, "greet", "release");
    let unknown = demand(&scene);
    assert!(unknown.starts_with("exit 4"), "{unknown}");
    trust(&scene, "release", "publisher");
    let trusted = demand(&scene);
    assert!(trusted.starts_with("exit 0"), "{trusted}");
    // Installed skills, too.
    let said = scene.run("install ./greet --yes");
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(scene.run("verify --require-signature").starts_with("exit 0"));
    let scene = scene.file("plain/SKILL.md", manifest("plain", "1.0.0", ""));
    let said = scene.run("install ./plain --yes --allow-experimental");
    assert!(said.starts_with("exit 0"), "{said}");
    let said = scene.run("verify --require-signature");
    assert!(said.starts_with("exit 4") && said.contains("`plain` has no signature"), "{said}");
    assert!(scene.run("verify").starts_with("exit 0"));
}

#[test]
fn a_key_of_ones_own_is_recognised_for_every_scheme() {
    let scene = greet();
    assert!(scene.run("key new models --kind p256").starts_with("exit 0"));
    assert!(scene.run("sign greet --key models").starts_with("exit 0"));
    assert_snapshot!(steady(&scene.run("verify greet")), @"
    exit 0
    --- stdout
    greet 1.0.0: the signature holds
      from       [SCENE]/greet
      signed by  your key `models` ([HEX]), which is not in the trust store
      signature  skill.oms.sig (oms)
      when       not recorded
      covers     2 files
    ");
    let scene = scene.file("greet/notes.md", "Other notes.\n");
    assert_snapshot!(steady(&scene.run("verify greet")), @"
    exit 1
    --- stdout
    greet 1.0.0: a signature does not hold
      from       [SCENE]/greet
      invalid    the signature `skill.oms.sig` is invalid: files changed after signing: `notes.md` has changed
    --- stderr
    hint: don't use a skill whose signature does not hold: fetch it again, or ask its author
    ");
}

/// The reference implementation of OpenSSF Model Signing; nothing where it is missing.
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn model_signing() -> Option<OsString> {
    let python = std::env::var_os("PROWESS_MODEL_SIGNING_PYTHON");
    if python.is_none() {
        eprintln!("SKIPPED: PROWESS_MODEL_SIGNING_PYTHON is not set, `cargo xtask test` sets it");
    }
    python
}

/// Signs the folder `greet` of a scene with a key that its user trusts, as a tool that knows no hidden files would.
fn sign_with_reference(scene: &Scene, python: &OsString) {
    let pair = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).expect("a key");
    std::fs::write(scene.path().join("secret.pem"), pair.serialize_pem()).expect("written");
    let status = Command::new(python)
        .args(["-m", "model_signing", "sign", "key"])
        .arg(scene.path().join("greet"))
        .arg("--signature")
        .arg(scene.path().join("greet/skill.oms.sig"))
        .arg("--private_key")
        .arg(scene.path().join("secret.pem"))
        .output()
        .expect("Python runs");
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
    std::fs::write(scene.path().join("public.pem"), pair.public_key_pem()).expect("written");
    let said = scene.run("trust add public.pem --role publisher");
    assert!(said.starts_with("exit 0"), "{said}");
}

#[test]
fn hidden_files_that_a_signature_covers_are_part_of_the_skill() {
    let Some(python) = model_signing() else { return };
    let scene = greet()
        .file("greet/.clang-format", "BasedOnStyle: LLVM\n")
        .file("greet/.config/deep/settings.toml", "a = 1\n")
        .file("greet/.gitignore", "*.log\n");
    sign_with_reference(&scene, &python);
    assert_snapshot!(steady(&scene.run("verify ./greet --require-signature")), @"
    exit 0
    --- stdout
    greet 1.0.0: the signature holds
      from       [SCENE]/greet
      signed by  the key [HEX], trusted as publisher
      signature  skill.oms.sig (oms)
      when       not recorded
      covers     4 files
      uncovered  .gitignore
    --- stderr
    warning: `greet` has hidden files, which are kept because its signature covers them: `.clang-format`, `.config/deep/settings.toml`
    ");

    // Installed from the folder, from a repository and from an archive, they are kept and still covered.
    let git = |words: &[&str]| {
        let status = Command::new("git")
            .args(["-c", "user.name=Ada", "-c", "user.email=ada@host.example"])
            .args(["-c", "commit.gpgsign=false"])
            .args(words)
            .current_dir(scene.path().join("greet"))
            .env("HOME", scene.path().join("home"))
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .status();
        assert!(status.expect("git runs").success(), "{words:?}");
    };
    let packed = scene.run("pack greet --output packed.tar.gz");
    assert!(packed.starts_with("exit 0"), "{packed}");
    git(&["init", "--quiet"]);
    git(&["add", "--all", "--force"]);
    git(&["commit", "--quiet", "--message=x"]);
    let url = format!("file://{}/greet", scene.path().display());
    for reference in ["./greet", url.as_str(), "./packed.tar.gz"] {
        let said = scene.run(&format!("install {reference} --yes --replace-owner"));
        assert!(said.starts_with("exit 0"), "{reference}: {said}");
        assert!(
            said.contains("kept because its signature covers them: `.clang-format`"),
            "{reference}: {said}"
        );
        let hidden = format!("{STORE}/skills/greet/.config/deep/settings.toml");
        assert_eq!(scene.text(&hidden), "a = 1\n");
        let said = scene.run("verify greet --require-signature");
        assert!(said.starts_with("exit 0"), "{reference}: {said}");
        assert!(scene.run("remove greet --yes").starts_with("exit 0"));
    }

    // A hidden file that was changed or removed breaks the signature; one that nobody signed is left out.
    let scene = scene.file("greet/.clang-format", "other\n");
    let said = scene.run("verify ./greet");
    assert!(said.starts_with("exit 1") && said.contains("`.clang-format` has changed"), "{said}");
    assert!(scene.run("install ./greet --yes --allow-experimental").starts_with("exit 4"));
    std::fs::remove_file(scene.path().join("greet/.clang-format")).expect("removed");
    let said = scene.run("verify ./greet");
    assert!(said.starts_with("exit 1") && said.contains("`.clang-format` is missing"), "{said}");
    let scene = scene
        .file("greet/.clang-format", "BasedOnStyle: LLVM\n")
        .file("greet/.npmrc", "script-shell=evil\n");
    let said = scene.run("verify ./greet");
    assert!(said.starts_with("exit 0") && said.contains("`.npmrc`"), "{said}");
    let said = scene.run("install ./greet --yes");
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(!scene.path().join(STORE).join("skills/greet/.npmrc").exists());
}

#[test]
fn a_covered_hidden_link_is_not_followed() {
    let Some(python) = model_signing() else { return };
    let scene = greet().file("greet/.hidden", "secret\n").file("elsewhere", "secret\n");
    sign_with_reference(&scene, &python);
    std::fs::remove_file(scene.path().join("greet/.hidden")).expect("removed");
    std::os::unix::fs::symlink("../elsewhere", scene.path().join("greet/.hidden")).expect("linked");
    let said = scene.run("verify ./greet");
    assert!(said.starts_with("exit 1") && said.contains("`.hidden` is missing"), "{said}");
    assert!(scene.run("install ./greet --yes --allow-experimental").starts_with("exit 4"));
    assert!(installed(&scene).is_empty());
}

#[test]
fn converting_does_not_copy_a_signature_that_cant_hold() {
    let scene = greet();
    sign(&scene, "greet", "release");
    let said = scene.run("convert greet --to gaia --output converted");
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(said.contains("SIGNATURE.json") && said.contains("is not copied"), "{said}");
    assert!(scene.path().join("converted/greet/notes.md").exists());
    assert!(!scene.path().join("converted/greet/SIGNATURE.json").exists());
    assert!(scene.run("verify ./converted/greet").contains("not signed"));
    let said = scene.run("convert greet --to gaia --output again --dry-run");
    assert!(said.contains("is not copied"), "{said}");
    assert!(!said.contains("again/greet/SIGNATURE.json"), "{said}");
    // A file that is only called so is copied.
    let scene = scene.file("greet/signature.json", r#"{"email": "Kind regards"}"#);
    let said = scene.run("convert greet --to gaia --output third");
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(scene.path().join("third/greet/signature.json").exists());
}

#[test]
fn packing_a_folder_into_itself_leaves_the_archive_out() {
    let scene = greet().inside("greet");
    let digest = |said: &str| {
        assert!(said.starts_with("exit 0"), "{said}");
        said.split_once("(2 files, ").unwrap_or_else(|| panic!("{said}")).1.to_owned()
    };
    let first = digest(&scene.run("pack ."));
    // Again, into a folder of its own, under a name of its own, and after a new version.
    assert_eq!(digest(&scene.run("pack . --force")), first);
    for output in ["dist/", "dist/own.tgz"] {
        for _ in 0..2 {
            let said = scene.run(&format!("pack . --output {output} --force"));
            if output == "dist/" {
                assert_eq!(digest(&said), first);
            } else {
                assert!(said.contains("(2 files, "), "{said}");
            }
        }
    }
    let _ = std::fs::remove_file(scene.path().join("greet/dist/own.tgz"));
    let scene = scene.file("greet/SKILL.md", manifest("greet", "1.1.0", ""));
    let said = scene.run("pack .");
    assert!(
        said.contains("(2 files, ") && said.contains("left out `greet-1.0.0.tar.gz`"),
        "{said}"
    );
    // A signature made now does not cover them, and holds while they come and go.
    sign(&scene, ".", "release");
    assert!(scene.run("pack . --force").contains("(3 files, "));
    let said = scene.stdout("verify . --format json");
    let said: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(said["skills"][0]["signatures"][0]["covered"], 2, "{said}");
}
