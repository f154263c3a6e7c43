//! Detached signatures by minisign.

use std::io::Cursor;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use insta::assert_snapshot;
use minisign::KeyPair;
use prowess_trust::{
    Algorithm, Contents, Material, Purpose, Role, Signature, TrustStore, TrustedKey, payload,
};

use crate::skill::{NOW, outcome, skill, store};

fn signed(keys: &KeyPair, contents: &Contents, purpose: Purpose) -> String {
    let (name, version) = (&contents.name, &contents.version);
    let text = payload(Algorithm::Minisign, purpose, name, version, &contents.files);
    let comment = format!("timestamp:{NOW}\tfile:payload.json\thashed");
    let signature =
        minisign::sign(Some(&keys.pk), &keys.sk, Cursor::new(text), Some(&comment), None);
    signature.unwrap().into_string()
}

fn trusting(keys: &KeyPair) -> TrustStore {
    let text = keys.pk.to_box().unwrap().into_string();
    store([TrustedKey::new(Material::read(&text).unwrap(), Role::Publisher)])
}

fn check(text: &str, store: &TrustStore) -> String {
    let signature = Signature::detached("SIGNATURE.minisig", text.as_bytes().to_vec());
    let outcome = outcome(&skill(), &[signature], store);
    // Keys of minisign have a random number.
    store.keys().fold(outcome, |outcome, key| outcome.replace(&key.id(), "[key]"))
}

#[test]
fn minisign_signatures_bind_the_files() {
    let keys = KeyPair::generate_unencrypted_keypair().unwrap();
    let trusted = trusting(&keys);
    assert_snapshot!(check(&signed(&keys, &skill(), Purpose::Release), &trusted), @"
    community
    SIGNATURE.minisig minisign: publisher, 2 files
    ");
    let other = skill().with_file("SKILL.md", b"other");
    assert_snapshot!(check(&signed(&keys, &other, Purpose::Release), &trusted), @"
    experimental
    refused SIGNATURE.minisig: it does not match the signed text; one of the two was changed, or the signature is forged
    ");
    let mut next = skill();
    next.version = "1.0.1".to_owned();
    assert_snapshot!(check(&signed(&keys, &next, Purpose::Release), &trusted), @"
    experimental
    refused SIGNATURE.minisig: it does not match the signed text; one of the two was changed, or the signature is forged
    ");
    assert_snapshot!(check(&signed(&keys, &skill(), Purpose::Audit), &trusted), @"
    experimental
    refused SIGNATURE.minisig: it does not match the signed text; one of the two was changed, or the signature is forged
    ");
    assert_snapshot!(check("untrusted comment: nothing\n", &trusted), @"
    experimental
    refused SIGNATURE.minisig: it can't be read: it is not a minisign signature
    ");
}

/// Attack registry-C13
#[test]
fn comments_are_what_they_are_called() {
    let keys = KeyPair::generate_unencrypted_keypair().unwrap();
    let trusted = trusting(&keys);
    let text = signed(&keys, &skill(), Purpose::Release);
    let (_, rest) = text.split_once('\n').unwrap();
    let untrusted = format!("untrusted comment: by somebody else\n{rest}");
    assert_snapshot!(check(&untrusted, &trusted), @"
    community
    SIGNATURE.minisig minisign: publisher, 2 files
    ");
    let changed = text.replace(&format!("timestamp:{NOW}"), "timestamp:1");
    assert_ne!(changed, text);
    assert_snapshot!(check(&changed, &trusted), @"
    experimental
    refused SIGNATURE.minisig: it does not match the signed text; one of the two was changed, or the signature is forged
    ");
}

/// Attack registry-C13: `Ed` instead of `ED` says that the text itself was signed.
#[test]
fn the_old_format_is_refused() {
    let keys = KeyPair::generate_unencrypted_keypair().unwrap();
    let text = signed(&keys, &skill(), Purpose::Release);
    let line = text.lines().nth(1).unwrap();
    let mut bytes = STANDARD.decode(line).unwrap();
    assert_eq!(&bytes[..2], b"ED");
    bytes[1] = b'd';
    let old = text.replace(line, &STANDARD.encode(bytes));
    assert_snapshot!(check(&old, &trusting(&keys)), @"
    experimental
    refused SIGNATURE.minisig: it is in minisign's old format, which is no longer accepted
    ");
}

#[test]
fn a_key_that_nobody_added_proves_nothing() {
    let keys = KeyPair::generate_unencrypted_keypair().unwrap();
    let other = trusting(&KeyPair::generate_unencrypted_keypair().unwrap());
    let text = signed(&keys, &skill(), Purpose::Release);
    let id = trusting(&keys).keys().next().unwrap().id();
    assert_snapshot!(check(&text, &other).replace(&id, "[key]"), @"
    experimental
    warning: the signature `SIGNATURE.minisig` proves nothing: it is by the key `[key]`, which is not in the trust store
    ");
}
