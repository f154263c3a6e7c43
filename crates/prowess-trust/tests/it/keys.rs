//! Key files.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use insta::assert_snapshot;
use prowess_trust::{
    KeyDerivationCost, KeyFolder, KeyKind, KeyName, Material, PublicKey, SecretKey,
};
use serde_json::Value;

use crate::skill::key;

/// A test of thousands of guesses a second would test patience.
const CHEAP: KeyDerivationCost = KeyDerivationCost { memory: 64, passes: 1 };

fn name(text: &str) -> KeyName {
    text.parse().unwrap()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// The message, with the folder's random part taken out.
fn failure<T>(outcome: Result<T, prowess_trust::KeyFileError>, folder: &Path) -> String {
    let error = outcome.err().expect("this should have failed");
    error.to_string().replace(&folder.display().to_string(), "[folder]")
}

#[test]
fn a_key_is_kept_for_its_owner_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data/keys");
    let keys = KeyFolder::new(&path);
    assert_eq!(keys.list().unwrap(), []);
    let file = keys.keep(&name("work"), &key(1), None).unwrap();
    assert_eq!((mode(&path), mode(&file)), (0o700, 0o600));
    assert_eq!(keys.open(&name("work"), None).unwrap().public(), key(1).public());
    assert_eq!(keys.public(&name("work")).unwrap(), key(1).public());
    // Nothing else is left behind.
    assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
    insta::assert_snapshot!(fs::read_to_string(&file).unwrap());
}

#[test]
fn a_p256_key_comes_back_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let keys = KeyFolder::new(folder.path().join("keys"));
    let key = SecretKey::generate_p256().unwrap();
    keys.keep(&name("oms"), &key, None).unwrap();
    keys.keep(&name("locked"), &key, Some(("secret", CHEAP))).unwrap();
    assert_eq!(keys.open(&name("oms"), None).unwrap().public(), key.public());
    assert_eq!(keys.open(&name("locked"), Some("secret")).unwrap().public(), key.public());
    let listed = keys.list().unwrap();
    let shown: Vec<_> =
        listed.iter().map(|key| (key.name.to_string(), key.public.kind(), key.is_locked)).collect();
    let p256 = KeyKind::P256;
    assert_eq!(shown, [("locked".to_owned(), p256, true), ("oms".to_owned(), p256, false)]);
}

#[test]
fn no_key_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let keys = KeyFolder::new(folder.path().join("keys"));
    let file = keys.keep(&name("work"), &key(1), None).unwrap();
    let before = fs::read(&file).unwrap();
    let outcome = keys.keep(&name("work"), &key(2), None);
    assert_snapshot!(failure(outcome, folder.path()), @"the key `work` already exists (`[folder]/keys/work.key`); choose another name, or move that file");
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn keys_that_others_may_read_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    let keys = KeyFolder::new(&path);
    let file = keys.keep(&name("work"), &key(1), None).unwrap();
    for wrong in [0o640, 0o604, 0o620, 0o666] {
        set_mode(&file, wrong);
        assert!(keys.open(&name("work"), None).is_err(), "{wrong:o}");
    }
    assert_snapshot!(failure(keys.open(&name("work"), None), folder.path()), @"others can read `[folder]/keys/work.key`; run `chmod 600 [folder]/keys/work.key`, and make a new key if others could have read this one");
    set_mode(&file, 0o600);
    set_mode(&path, 0o755);
    assert_snapshot!(failure(keys.open(&name("work"), None), folder.path()), @"others can read `[folder]/keys`; run `chmod 700 [folder]/keys`, and make a new key if others could have read this one");
    assert_snapshot!(failure(keys.keep(&name("new"), &key(2), None), folder.path()), @"others can read `[folder]/keys`; run `chmod 700 [folder]/keys`, and make a new key if others could have read this one");
    set_mode(&path, 0o700);
    keys.open(&name("work"), None).unwrap();
    symlink(&file, path.join("link.key")).unwrap();
    keys.open(&name("link"), None).unwrap_err();
}

#[test]
fn a_passphrase_is_needed_where_there_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let keys = KeyFolder::new(folder.path().join("keys"));
    let file = keys.keep(&name("work"), &key(1), Some(("correct horse", CHEAP))).unwrap();
    assert_eq!(keys.open(&name("work"), Some("correct horse")).unwrap().public(), key(1).public());
    assert_eq!(keys.public(&name("work")).unwrap(), key(1).public());
    assert_snapshot!(failure(keys.open(&name("work"), None), folder.path()), @"the key `work` has a passphrase");
    assert_snapshot!(failure(keys.open(&name("work"), Some("wrong horse")), folder.path()), @"the passphrase of the key `work` is wrong, or its file was changed");

    // The secret is not there in any usual spelling.
    let text = fs::read_to_string(&file).unwrap();
    let seed = STANDARD.encode([1; 32]);
    assert!(!text.contains(&seed[..40]));

    // Another public half, or a cost that would take the machine's memory.
    let change = |change: &dyn Fn(&mut Value)| {
        let mut value: Value = serde_json::from_str(&text).unwrap();
        change(&mut value);
        fs::write(&file, value.to_string()).unwrap();
        failure(keys.open(&name("work"), Some("correct horse")), folder.path())
    };
    assert_snapshot!(change(&|value| value["public_key"] = key(2).public().line().into()), @"the passphrase of the key `work` is wrong, or its file was changed");
    assert_snapshot!(change(&|value| value["locked"]["memory_kib"] = 4_000_000.into()), @"the key file `[folder]/keys/work.key` is damaged: `locked` can't be read; restore it from a backup");
    assert_snapshot!(change(&|value| value["locked"]["kdf"] = "scrypt".into()), @"the key file `[folder]/keys/work.key` is damaged: `locked` can't be read; restore it from a backup");
}

#[test]
fn damaged_and_missing_files_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let keys = KeyFolder::new(folder.path().join("keys"));
    assert_snapshot!(failure(keys.open(&name("work"), None), folder.path()), @"there is no key `work` in `[folder]/keys`; create one with `prowess key new work`");
    let file = keys.keep(&name("work"), &key(1), None).unwrap();
    let text = fs::read_to_string(&file).unwrap();
    let with = |text: &str| {
        fs::write(&file, text).unwrap();
        failure(keys.open(&name("work"), None), folder.path())
    };
    assert_snapshot!(with(""), @"the key file `[folder]/keys/work.key` is damaged: EOF while parsing a value at line 1 column 0; restore it from a backup");
    assert_snapshot!(with(&text.replace("\"version\": 1", "\"version\": 2")), @"the key file `[folder]/keys/work.key` is damaged: its version is not 1; restore it from a backup");
    assert_snapshot!(with(&text.replace(&key(1).public().line(), &key(2).public().line())), @"the key file `[folder]/keys/work.key` is damaged: its public and secret keys do not match; restore it from a backup");
}

#[test]
fn no_name_leaves_the_folder() {
    let long = "a".repeat(65);
    for wrong in ["", "..", "../a", "a/b", "/a", ".hidden", "-x", "a b", "a\n", "ä", &long] {
        wrong.parse::<KeyName>().unwrap_err();
    }
    for right in ["a", "work-2026", "Work_1.old", &long[..64]] {
        right.parse::<KeyName>().unwrap();
    }
}

#[test]
fn public_keys_are_one_line() {
    let line = key(1).public().line();
    assert_snapshot!(line, @"ed25519 iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w=");
    assert_eq!(PublicKey::from_line(&line), Some(key(1).public()));
    assert_eq!(PublicKey::from_line(&format!("{line} work@example.org")), Some(key(1).public()));
    // GAIA's public keys are a bare base64.
    let bare = line.split_once(' ').unwrap().1;
    assert_eq!(Material::read(bare), Ok(Material::Key(key(1).public())));
    for wrong in ["", "ed25519", "ed25519 AAAA", "rsa AAAA", "p256 AAAA", "not a key"] {
        Material::read(wrong).unwrap_err();
    }
    let error = Material::read("-----BEGIN OPENSSH PRIVATE KEY-----\n").unwrap_err();
    assert_snapshot!(error, @"this is a secret key, which must stay private; add its public key instead");
}

#[test]
fn a_secret_key_does_not_show_itself() {
    assert_eq!(format!("{:?}", key(1)), format!("SecretKey({})", key(1).public().id()));
}
