//! The trust store on disk.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use insta::assert_snapshot;
use prowess_trust::{
    Role, Timestamp, TrustStore, TrustStoreError, load_trust_store, update_trust_store,
};

use crate::skill::{key, now, store, trusted};

fn failure(outcome: Result<TrustStore, TrustStoreError>, folder: &Path) -> String {
    let error = outcome.expect_err("this should have failed");
    error.to_string().replace(&folder.display().to_string(), "[folder]")
}

#[test]
fn what_is_written_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data/trust.json");
    assert_eq!(load_trust_store(&path).unwrap(), TrustStore::empty());
    update_trust_store(&path, |store| {
        let mut publisher = trusted(1, Role::Publisher);
        publisher.label = Some("acme".to_owned());
        publisher.names = vec!["acme/*".parse().unwrap(), "web-*".parse().unwrap()];
        publisher.not_before = Some(Timestamp::from_unix(1_700_000_000));
        publisher.not_after = Some(Timestamp::from_unix(1_900_000_000));
        publisher.added_at = Some(now());
        assert_eq!(store.add(publisher), None);
        store.add(trusted(2, Role::Root));
        store.revoke(&key(2).public().id(), now());
        store.accept("greet", "b2", now());
    })
    .unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_snapshot!(fs::read_to_string(&path).unwrap());

    let read = load_trust_store(&path).unwrap();
    let written = update_trust_store(&path, |store| store.clone()).unwrap();
    assert_eq!(read, written);
    assert_eq!(load_trust_store(&path).unwrap(), read);
    // A key is there once: adding it again changes it.
    let previous = update_trust_store(&path, |store| store.add(trusted(2, Role::Auditor))).unwrap();
    assert_eq!(previous.unwrap().role, Role::Root);
    let removed = update_trust_store(&path, |store| store.remove(&key(1).public().id())).unwrap();
    assert_eq!(removed.len(), 1);
    let roles: Vec<Role> = load_trust_store(&path).unwrap().keys().map(|key| key.role).collect();
    assert_eq!(roles, [Role::Auditor]);
}

#[test]
fn what_is_unknown_is_kept_and_not_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trust.json");
    let line = key(1).public().line();
    let text = format!(
        r#"{{"version": 1, "note": "ours", "keys": [
            {{"kind": "ml-dsa", "key": "x", "role": "root", "names": ["*"]}},
            {{"kind": "ed25519", "key": "{line}", "role": "emperor", "names": ["*"]}},
            {{"kind": "ed25519", "key": "{line}", "role": "publisher", "names": ["*"], "color": "red"}}
        ]}}"#
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    update_trust_store(&path, |store| assert_eq!(store.keys().count(), 1)).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    for kept in ["ml-dsa", "emperor", "\"color\": \"red\"", "\"note\": \"ours\""] {
        assert!(text.contains(kept), "{kept} in {text}");
    }
}

#[test]
fn a_store_that_can_not_be_read_is_no_empty_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trust.json");
    let line = key(1).public().line();
    let with = |text: &str| {
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        // A change must not replace what could not be read.
        update_trust_store(&path, |_| ()).unwrap_err();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        failure(load_trust_store(&path), folder.path())
    };
    assert_snapshot!(with(""), @"the trust store `[folder]/trust.json` is damaged: EOF while parsing a value at line 1 column 0; restore it from a backup, or move it away and add the keys again");
    assert_snapshot!(with("{}"), @"the trust store `[folder]/trust.json` is damaged: it has no `version`; restore it from a backup, or move it away and add the keys again");
    assert_snapshot!(with(r#"{"version": 2}"#), @"the trust store `[folder]/trust.json` has version 2, but this program supports version 1; update the program");
    assert_snapshot!(with(r#"{"version": 1, "keys": {}}"#), @"the trust store `[folder]/trust.json` is damaged: `keys` is not a list; restore it from a backup, or move it away and add the keys again");
    assert_snapshot!(with(r#"{"version": 1, "keys": [], "keys": []}"#), @"the trust store `[folder]/trust.json` is damaged: duplicate key `keys` at line 1 column 38; restore it from a backup, or move it away and add the keys again");
    let key = |rest: &str| {
        with(&format!(
            r#"{{"version": 1, "keys": [{{"kind": "ed25519", "key": "{line}", "role": "root"{rest}}}]}}"#
        ))
    };
    assert_snapshot!(key(r#", "revoked_at": "yesterday""#), @"the trust store `[folder]/trust.json` is damaged: `revoked_at`: `yesterday` is not a time, expected one like `2026-01-31T12:00:00Z`; restore it from a backup, or move it away and add the keys again");
    assert_snapshot!(key(r#", "not_after": 5"#), @"the trust store `[folder]/trust.json` is damaged: `not_after` is `5`, expected a text; restore it from a backup, or move it away and add the keys again");
    assert_snapshot!(key(r#", "names": ["a/b/c"]"#), @"the trust store `[folder]/trust.json` is damaged: `a/b/c` is not a pattern of names, expected one like `web-search`, `web-*`, `acme/*` or `*`; restore it from a backup, or move it away and add the keys again");
}

#[test]
fn a_store_that_others_may_change_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trust.json");
    update_trust_store(&path, |store| store.add(trusted(1, Role::Root))).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o602)).unwrap();
    load_trust_store(&path).unwrap_err();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o620)).unwrap();
    assert_snapshot!(failure(load_trust_store(&path), folder.path()), @"others can change the trust store `[folder]/trust.json`; run `chmod 600 [folder]/trust.json`, and check `prowess trust list`");
    // That others may read it is no harm.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(load_trust_store(&path).unwrap(), store([trusted(1, Role::Root)]));
}

#[test]
fn two_writers_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trust.json");
    std::thread::scope(|scope| {
        for seed in 0..8 {
            let path = &path;
            scope.spawn(move || {
                update_trust_store(path, |store| store.add(trusted(seed, Role::Root))).unwrap();
            });
        }
    });
    assert_eq!(load_trust_store(&path).unwrap().keys().count(), 8);
}
