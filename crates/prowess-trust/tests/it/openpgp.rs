//! Detached OpenPGP signatures. The fixtures were made by gpg; `fixtures/openpgp/make.sh` says how.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use insta::assert_snapshot;
use pgp::composed::{
    ArmorOptions, Deserializable as _, KeyType, SecretKeyParamsBuilder, SignedPublicKey,
    SignedPublicSubKey,
};
use pgp::packet::KeyFlags;
use pgp::types::Password;
use prowess_trust::{
    Algorithm, Contents, Material, Purpose, Role, Signature, TrustStore, TrustedKey,
    detached_payload,
};

use crate::skill::{outcome, skill, store};

const PAYLOAD: &[u8] = include_bytes!("fixtures/openpgp/payload.json");

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("fixtures/openpgp/", $name))
    };
}

fn trusting(certificates: &[&str]) -> TrustStore {
    let keys = certificates.iter().map(|text| Material::read(text).unwrap());
    store(keys.map(|material| TrustedKey::new(material, Role::Publisher)))
}

fn check(signature: &str, certificates: &[&str]) -> String {
    let signature = Signature::detached("SIGNATURE.asc", signature.as_bytes().to_vec());
    outcome(&skill(), &[signature], &trusting(certificates))
}

#[test]
fn the_fixtures_were_made_for_this_skill() {
    let text = |contents: &Contents, signatures: &[Signature]| {
        detached_payload(contents, signatures, Algorithm::OpenPgp, Purpose::Release)
    };
    assert_eq!(text(&skill(), &[]), PAYLOAD);
    // Other signatures that lie there make no difference; a file that only has such a name does.
    for (name, bytes, is_signature) in [
        ("skill.oms.sig", "{}", true),
        ("signature.json", "{\"signature_version\": 1}", true),
        ("signature.json", "{\"font\": \"cursive\"}", false),
    ] {
        let contents = skill().with_file(name, bytes.as_bytes());
        let signature = Signature::detached(name, bytes.into());
        assert_eq!(text(&contents, &[signature]) == PAYLOAD, is_signature, "{name} {bytes}");
    }
}

#[test]
fn signatures_by_gpg_count() {
    assert_snapshot!(check(fixture!("ed.asc"), &[fixture!("ed.pub")]), @"
    community
    SIGNATURE.asc openpgp: publisher, 2 files
    ");
    assert_snapshot!(check(fixture!("rsa.asc"), &[fixture!("rsa.pub")]), @"
    community
    SIGNATURE.asc openpgp: publisher, 2 files
    ");
    assert_snapshot!(check(fixture!("sub.asc"), &[fixture!("ed.pub"), fixture!("sub.pub")]), @"
    community
    SIGNATURE.asc openpgp: publisher, 2 files
    ");
    // The signer is who the certificate says, under the fingerprint that gpg shows.
    let signature = Signature::detached("SIGNATURE.asc", fixture!("sub.asc").into());
    let trusted = trusting(&[fixture!("sub.pub")]);
    let attestation = prowess_trust::attest(&skill(), &[signature], &trusted, crate::skill::now());
    let verdict = &attestation.evidence[0];
    assert_eq!(verdict.identity.as_deref(), Some("sub@example.org"));
    assert_eq!(verdict.key_id, trusted.keys().next().unwrap().id());
    assert_eq!(verdict.key_id.len(), 40);
}

#[test]
fn other_files_are_noticed() {
    let signature = Signature::detached("SIGNATURE.asc", fixture!("ed.asc").into());
    let trusted = trusting(&[fixture!("ed.pub")]);
    let changed = skill().with_file("scripts/greet.sh", b"echo hellO\n");
    assert_snapshot!(outcome(&changed, std::slice::from_ref(&signature), &trusted), @"
    experimental
    refused SIGNATURE.asc: it does not match the signed text; one of the two was changed, or the signature is forged
    ");
    let mut next = skill();
    next.version = "1.0.1".to_owned();
    assert_snapshot!(outcome(&next, &[signature], &trusted), @"
    experimental
    refused SIGNATURE.asc: it does not match the signed text; one of the two was changed, or the signature is forged
    ");
    // A release is not a sign-off.
    let moved = Signature::detached("AUDIT.asc", fixture!("ed.asc").into());
    assert_snapshot!(outcome(&skill(), &[moved], &trusted), @"
    experimental
    refused AUDIT.asc: it does not match the signed text; one of the two was changed, or the signature is forged
    ");
}

/// Attack registry-C14
#[test]
fn each_wrong_signature_has_its_own_error() {
    assert_snapshot!(check(fixture!("ed.asc"), &[fixture!("rsa.pub")]), @"
    experimental
    warning: the signature `SIGNATURE.asc` proves nothing: it is by the key `e8f9cb846611887f8ee64f96a2cfd998348563cb`, which is not in the trust store
    ");
    assert_snapshot!(check(fixture!("old.asc"), &[fixture!("old.pub")]), @"
    experimental
    refused SIGNATURE.asc: `old@example.org` expired at 2027-01-14T08:00:00Z
    ");
    assert_snapshot!(check(fixture!("gone.asc"), &[fixture!("gone.pub")]), @"
    experimental
    refused SIGNATURE.asc: the key `fae920c4d9e6cee36dad37a6766cd6a5ad6feb65` was revoked at 2026-10-07T08:00:00Z
    ");
    assert_snapshot!(check(fixture!("sub.asc"), &[fixture!("sub-revoked.pub")]), @"
    experimental
    refused SIGNATURE.asc: the key `5d06c31f1132a8951d133f22b38620469152aaa6` was revoked at 2027-01-03T18:13:20Z
    ");
    assert_snapshot!(check(fixture!("sha1.asc"), &[fixture!("rsa.pub")]), @"
    experimental
    refused SIGNATURE.asc: it uses SHA1, which is not secure
    ");
    assert_snapshot!(check(fixture!("weak.asc"), &[fixture!("weak.pub")]), @"
    experimental
    refused SIGNATURE.asc: it uses SHA1, which is not secure
    ");
    assert_snapshot!(check(fixture!("sub.asc"), &[fixture!("moved.pub")]), @"
    experimental
    refused SIGNATURE.asc: the subkey `5d06c31f1132a8951d133f22b38620469152aaa6` is not authorized to sign
    ");
    assert_snapshot!(check(fixture!("certify.asc"), &[fixture!("sub.pub")]), @"
    experimental
    refused SIGNATURE.asc: the certificate `sub@example.org` is not for signing files
    ");
    assert_snapshot!(check(fixture!("short.asc"), &[fixture!("rsa.pub")]), @"
    experimental
    refused SIGNATURE.asc: it expired at 2027-01-04T18:13:20Z
    ");
    assert_snapshot!(check(fixture!("text.asc"), &[fixture!("rsa.pub")]), @"
    experimental
    refused SIGNATURE.asc: unsupported kind `Text` (expected a detached signature of a binary file)
    ");
    assert_snapshot!(check(fixture!("both.asc"), &[fixture!("rsa.pub")]), @"
    experimental
    refused SIGNATURE.asc: it has 2 signatures, expected one
    ");
    assert_snapshot!(check("-----BEGIN PGP SIGNATURE-----\n\n", &[fixture!("rsa.pub")]), @"
    experimental
    refused SIGNATURE.asc: it can't be read: it is not an OpenPGP signature
    ");
    assert_snapshot!(check(fixture!("ed.pub"), &[fixture!("ed.pub")]), @"
    experimental
    refused SIGNATURE.asc: it can't be read: it is not an OpenPGP signature
    ");
    assert_snapshot!(check("", &[fixture!("ed.pub")]), @"
    experimental
    refused SIGNATURE.asc: it can't be read: it is not an OpenPGP signature
    ");
}

/// Attack registry-C14: somebody puts another's signing subkey below their own primary key, without the subkey's agreement, so that its signatures seem to be theirs.
#[test]
fn an_adopted_subkey_does_not_sign_for_its_thief() {
    let mut random = rsa::rand_core::OsRng;
    let password = Password::empty();
    let thief = SecretKeyParamsBuilder::default()
        .key_type(KeyType::Ed25519Legacy)
        .can_certify(true)
        .can_sign(true)
        .primary_user_id("thief@example.org".into())
        .created_at(pgp::types::Timestamp::from_secs(1_791_360_000))
        .build()
        .unwrap()
        .generate(random)
        .unwrap();
    let (victim, _) = SignedPublicKey::from_string(fixture!("sub.pub")).unwrap();
    let subkey = victim.public_subkeys[0].key.clone();
    let mut flags = KeyFlags::default();
    flags.set_sign(true);
    let primary = &thief.primary_key;
    let binding =
        subkey.sign(&mut random, primary, primary.public_key(), &password, flags, None).unwrap();
    let mut stolen = thief.to_public_key();
    stolen.public_subkeys.push(SignedPublicSubKey::new(subkey, vec![binding]));
    let stolen = stolen.to_armored_string(ArmorOptions::default()).unwrap();
    let outcome = check(fixture!("sub.asc"), &[&stolen]);
    assert!(outcome.contains("is not authorized to sign"), "{outcome}");
}

#[test]
fn no_flipped_bit_of_the_signature_is_overlooked() {
    // Armor without its checksum.
    let lines = fixture!("ed.asc").lines().filter(|line| !line.starts_with(['-', '=']));
    let binary = STANDARD.decode(lines.collect::<String>()).unwrap();
    let trusted = trusting(&[fixture!("ed.pub")]);
    let check = |bytes: &[u8]| {
        let signature = Signature::detached("SIGNATURE.sig", bytes.to_vec());
        outcome(&skill(), &[signature], &trusted)
    };
    assert_snapshot!(check(&binary), @"
    community
    SIGNATURE.sig openpgp: publisher, 2 files
    ");
    let mut accepted = Vec::new();
    for bit in 0..binary.len() * 8 {
        let mut flipped = binary.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        if check(&flipped).starts_with("community") {
            accepted.push(bit / 8);
        }
    }
    accepted.dedup();
    // What is not signed and says nothing: the unsigned hint at the issuer (kind and eight bytes).
    assert_eq!(accepted, [56, 57, 58, 59, 60, 61, 62, 63, 64]);
}

#[test]
fn certificates_are_taken_one_by_one() {
    // Two armored blocks, of which a reader sees the first only.
    let both = format!("{}\n{}", fixture!("ed.pub"), fixture!("rsa.pub"));
    assert_snapshot!(Material::read(&both).unwrap_err(), @"expected exactly one certificate; add each separately, and only the root of a chain");
    let one = Material::read(fixture!("ed.pub")).unwrap();
    assert_eq!(Material::read(&one.text()), Ok(one));
}
