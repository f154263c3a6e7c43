//! `SIGNATURE.json`: what it binds, and who else can write it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use insta::assert_snapshot;
use prowess_trust::{
    Algorithm, Contents, Purpose, Role, SecretKey, Signature, TrustStore, payload, sign,
};
use serde_json::{Value, json};

use crate::skill::{key, outcome, release, skill, store, trusted};

const GAIA_RECORD: &str = include_str!("fixtures/gaia/SIGNATURE.json");
const GAIA_PAYLOAD: &[u8] = include_bytes!("fixtures/gaia/payload.json");

/// The skill that `fixtures/gaia` was signed for, with names that sort differently in UTF-8 and UTF-16.
fn gaia_skill() -> Contents {
    Contents::new("greet", "1.0.0")
        .with_file("SKILL.md", crate::skill::SKILL)
        .with_file("scripts/grüße.sh", "echo grüße\n".as_bytes())
        .with_file("references/\u{1f600}.md", b"smile\n")
        .with_file("references/\u{ff5e}.md", b"wave\n")
}

/// The record of [`skill`] with something changed, checked against the unchanged skill.
fn tampered(change: impl FnOnce(&mut Value)) -> String {
    let signature = release(&skill(), 1);
    let mut record: Value = serde_json::from_slice(&signature.bytes).unwrap();
    change(&mut record);
    check(&skill(), record.to_string().as_bytes())
}

fn check(contents: &Contents, record: &[u8]) -> String {
    let signature = Signature::detached("SIGNATURE.json", record.to_vec());
    outcome(contents, &[signature], &store([trusted(1, Role::Publisher)]))
}

/// GAIX-5
#[test]
fn a_record_of_gaias_own_tool_is_accepted() {
    let seed = std::array::from_fn(|index| u8::try_from(index).unwrap());
    let gaia = SecretKey::from_seed(&seed);
    let signature = Signature::detached("SIGNATURE.json", GAIA_RECORD.as_bytes().to_vec());
    let trusted = prowess_trust::TrustedKey::new(
        prowess_trust::Material::Key(gaia.public()),
        Role::Publisher,
    );
    assert_snapshot!(outcome(&gaia_skill(), &[signature], &store([trusted])), @"
    community
    SIGNATURE.json ed25519: publisher, 4 files
    ");
    // Ours and GAIA's are the same value, and the same bytes are signed.
    let ours = sign(&gaia_skill(), &gaia, "acme", Purpose::Release).unwrap();
    let ours: Value = serde_json::from_str(&ours).unwrap();
    assert_eq!(ours, serde_json::from_str::<Value>(GAIA_RECORD).unwrap());
    let files = gaia_skill().files;
    let signed = payload(Algorithm::Ed25519, Purpose::Release, "greet", "1.0.0", &files);
    assert_eq!(signed, GAIA_PAYLOAD);
}

#[test]
fn both_spellings_of_the_file_are_read() {
    let mut signature = release(&skill(), 1);
    signature.path = "signature.json".to_owned();
    let trusted = store([trusted(1, Role::Publisher)]);
    assert_snapshot!(outcome(&skill(), &[signature], &trusted), @"
    community
    signature.json ed25519: publisher, 2 files
    ");
    // A file of that name that is something else is a file like any other.
    let other = Signature::detached("signature.json", b"{\"font\": \"cursive\"}".to_vec());
    assert_snapshot!(outcome(&skill(), &[other], &trusted), @"experimental");
}

/// GAIX-7, SRT-9-3
#[test]
fn every_change_of_the_files_is_noticed() {
    let signature = release(&skill(), 1);
    let trusted = store([trusted(1, Role::Publisher)]);
    let after = |change: fn(Contents) -> Contents| {
        outcome(&change(skill()), std::slice::from_ref(&signature), &trusted)
    };
    assert_snapshot!(after(|skill| skill), @"
    community
    SIGNATURE.json ed25519: publisher, 2 files
    ");
    assert_snapshot!(after(|skill| skill.with_file("scripts/greet.sh", b"echo hellO\n")), @"
    experimental
    refused SIGNATURE.json: files changed after signing: `scripts/greet.sh` has changed
    ");
    assert_snapshot!(after(|skill| skill.with_file("extra.md", b"")), @"
    experimental
    refused SIGNATURE.json: files changed after signing: `extra.md` was not signed
    ");
    assert_snapshot!(after(|mut skill| {
        skill.files.remove("scripts/greet.sh");
        skill
    }), @"
    experimental
    refused SIGNATURE.json: files changed after signing: `scripts/greet.sh` is missing
    ");
    assert_snapshot!(after(|mut skill| {
        let digest = skill.files.remove("scripts/greet.sh").unwrap();
        skill.files.insert("scripts/Greet.sh".to_owned(), digest);
        skill
    }), @"
    experimental
    refused SIGNATURE.json: files changed after signing: `scripts/Greet.sh` was not signed, `scripts/greet.sh` is missing
    ");
}

/// GAIX-7, attack registry-C5
#[test]
fn a_signature_can_not_be_moved_to_another_skill_or_version() {
    let signature = release(&skill(), 1);
    let trusted = store([trusted(1, Role::Publisher)]);
    for (name, version) in [("greet", "2.0.0"), ("grief", "1.0.0"), ("greet", "1.0.0+build")] {
        let mut other = skill();
        other.name = name.to_owned();
        other.version = version.to_owned();
        let outcome = outcome(&other, std::slice::from_ref(&signature), &trusted);
        let expected = format!("it is for `greet 1.0.0`, but this is `{name} {version}`");
        assert!(outcome.contains(&expected), "{outcome}");
    }
    // Nor does it help to change what the record says it is for.
    let mut other = skill();
    other.version = "2.0.0".to_owned();
    let mut record: Value = serde_json::from_slice(&signature.bytes).unwrap();
    record["version"] = json!("2.0.0");
    assert_snapshot!(check(&other, record.to_string().as_bytes()), @"
    experimental
    refused SIGNATURE.json: it does not match the signed text; one of the two was changed, or the signature is forged
    ");
}

#[test]
fn every_field_of_the_record_is_bound_or_harmless() {
    assert_snapshot!(tampered(|record| record["publisher"] = json!("somebody else")), @"
    community
    SIGNATURE.json ed25519: publisher, 2 files
    ");
    assert_snapshot!(tampered(|record| record["algorithm"] = json!("none")), @"
    experimental
    refused SIGNATURE.json: unsupported algorithm `none` (expected `ed25519`)
    ");
    assert_snapshot!(tampered(|record| record["signature_version"] = json!(2)), @"
    experimental
    refused SIGNATURE.json: unsupported `signature_version` `2` (expected `1`)
    ");
    assert_snapshot!(tampered(|record| record["signature_version"] = json!("1")), @r#"
    experimental
    refused SIGNATURE.json: unsupported `signature_version` `"1"` (expected `1`)
    "#);
    assert_snapshot!(tampered(|record| record["key_id"] = json!("0".repeat(32))), @"
    experimental
    refused SIGNATURE.json: it names the key `00000000000000000000000000000000`, but its key is `34750f98bd59fcfc946da45aaabe933b`
    ");
    assert_snapshot!(tampered(|record| record["purpose"] = json!("audit")), @"
    experimental
    refused SIGNATURE.json: unsupported purpose `audit` (expected `release` in a `SIGNATURE.json`)
    ");
    assert_snapshot!(tampered(|record| record["purpose"] = json!(null)), @"
    experimental
    refused SIGNATURE.json: unsupported purpose `null` (expected `audit`, or none for a release)
    ");
    assert_snapshot!(tampered(|record| {
        record.as_object_mut().unwrap().remove("files");
    }), @"
    experimental
    refused SIGNATURE.json: it can't be read: `files` is not a map of paths to SHA-256
    ");
    assert_snapshot!(tampered(|record| {
        let digest = record["files"]["SKILL.md"].as_str().unwrap().to_uppercase();
        record["files"]["SKILL.md"] = json!(digest);
    }), @"
    experimental
    refused SIGNATURE.json: it can't be read: the digest of `SKILL.md` is not 64 small hexadecimal digits
    ");
    assert_snapshot!(tampered(|record| {
        let other = key(9).public();
        record["key_id"] = json!(other.id());
        record["public_key"] = json!(other.line().split(' ').nth(1).unwrap());
    }), @"
    experimental
    refused SIGNATURE.json: it does not match the signed text; one of the two was changed, or the signature is forged
    ");
}

/// Attack registry-C11
#[test]
fn a_record_with_two_readings_is_refused() {
    let record = String::from_utf8(release(&skill(), 1).bytes).unwrap();
    let twice = record.replacen('{', "{\"version\": \"9.9.9\",", 1);
    assert_snapshot!(check(&skill(), twice.as_bytes()), @"
    experimental
    refused SIGNATURE.json: it can't be read: duplicate key `version` at line 14 column 1
    ");
    let twice = record.replace("\"SKILL.md\":", "\"SKILL.md\": \"00\", \"SKILL.md\":");
    assert_snapshot!(check(&skill(), twice.as_bytes()), @"
    experimental
    refused SIGNATURE.json: it can't be read: duplicate key `SKILL.md` at line 4 column 100
    ");
    // `\u0053` is another spelling of `S`.
    let twice = record.replace("\"SKILL.md\":", "\"\\u0053KILL.md\": \"00\", \"SKILL.md\":");
    assert_snapshot!(check(&skill(), twice.as_bytes()), @"
    experimental
    refused SIGNATURE.json: it can't be read: duplicate key `SKILL.md` at line 4 column 105
    ");
    assert_snapshot!(check(&skill(), format!("{record}{{}}").as_bytes()), @"
    experimental
    refused SIGNATURE.json: it can't be read: trailing characters at line 15 column 1
    ");
    assert_snapshot!(check(&skill(), format!("\u{feff}{record}").as_bytes()), @"
    experimental
    refused SIGNATURE.json: it can't be read: expected value at line 1 column 1
    ");
    assert_snapshot!(check(&skill(), &[b"{\"a\":".repeat(17), b"1".to_vec()].concat()), @"
    experimental
    refused SIGNATURE.json: it can't be read: it nests deeper than 16 at line 1 column 84
    ");
    assert_snapshot!(check(&skill(), &vec![b' '; (4 << 20) + 1]), @"
    experimental
    refused SIGNATURE.json: it can't be read: it has 4194305 bytes; the limit is 4194304
    ");
}

/// Every flipped bit of the signature or the key.
#[test]
fn no_flipped_bit_is_overlooked() {
    let signature = release(&skill(), 1);
    let record: Value = serde_json::from_slice(&signature.bytes).unwrap();
    for field in ["signature", "public_key"] {
        let bytes = STANDARD.decode(record[field].as_str().unwrap()).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let mut record = record.clone();
            record[field] = json!(STANDARD.encode(&flipped));
            if field == "public_key" {
                let id = prowess_trust::PublicKey::Ed25519(flipped.try_into().unwrap()).id();
                record["key_id"] = json!(id);
            }
            let outcome = check(&skill(), record.to_string().as_bytes());
            assert!(outcome.contains("refused"), "bit {bit} of {field}: {outcome}");
        }
    }
}

/// Attack registry-C12: signatures that some verifiers accept and others don't, made by construction.
#[test]
fn signatures_that_verifiers_disagree_about_are_refused() {
    let forged = |public: [u8; 32], signature: [u8; 64]| {
        tampered(|record| {
            record["public_key"] = json!(STANDARD.encode(public));
            record["key_id"] = json!(prowess_trust::PublicKey::Ed25519(public).id());
            record["signature"] = json!(STANDARD.encode(signature));
        })
    };

    // S and S + L are the same number modulo L, so that a careless verifier accepts both.
    let record: Value = serde_json::from_slice(&release(&skill(), 1).bytes).unwrap();
    let signature = STANDARD.decode(record["signature"].as_str().unwrap()).unwrap();
    let mut longer: [u8; 64] = signature.try_into().unwrap();
    let mut carry = 0;
    for (byte, order) in longer[32..].iter_mut().zip(ORDER) {
        let sum = u16::from(*byte) + u16::from(order) + carry;
        *byte = sum.to_le_bytes()[0];
        carry = sum >> 8;
    }
    assert_eq!(carry, 0);
    let public: [u8; 32] = key(1).public().bytes().try_into().unwrap();
    assert_snapshot!(forged(public, longer), @"
    experimental
    refused SIGNATURE.json: it does not match the signed text; one of the two was changed, or the signature is forged
    ");

    // With a key of small order and S = 0, R = A signs very many texts at once; also in encodings that are not canonical.
    for point in SMALL_ORDER {
        let mut signature = [0; 64];
        for first in SMALL_ORDER {
            signature[..32].copy_from_slice(&first);
            let outcome = forged(point, signature);
            let refused = outcome.contains("accepts forged signatures")
                || outcome.contains("is no Ed25519 key");
            assert!(refused, "{point:02x?}: {outcome}");
        }
    }

    // A good key with an R of small order: the equation may hold for somebody who knows the key.
    let mut signature = [0; 64];
    signature[0] = 1;
    assert_snapshot!(forged(public, signature), @"
    experimental
    refused SIGNATURE.json: it does not match the signed text; one of the two was changed, or the signature is forged
    ");
}

#[test]
fn a_p256_key_does_not_sign_records() {
    let key = SecretKey::generate_p256().unwrap();
    let error = sign(&skill(), &key, "acme", Purpose::Release).unwrap_err();
    assert_snapshot!(error, @"a `SIGNATURE.json` needs a key of the kind `ed25519`, and this one is `p256`");
}

#[test]
fn a_record_must_be_the_file_that_lies_there() {
    let signature = release(&skill(), 1);
    let with_other = skill().with_file("SIGNATURE.json", b"{}");
    let trusted = store([trusted(1, Role::Publisher)]);
    assert_snapshot!(outcome(&with_other, &[signature], &trusted), @"
    experimental
    refused SIGNATURE.json: the file changed while it was read
    ");
}

#[test]
fn an_unknown_key_proves_nothing() {
    let signature = release(&skill(), 1);
    assert_snapshot!(outcome(&skill(), &[signature], &TrustStore::empty()), @"
    experimental
    SIGNATURE.json ed25519: unknown key, 2 files
    warning: the signature `SIGNATURE.json` holds, and its key `34750f98bd59fcfc946da45aaabe933b` is not in the trust store
    ");
}

/// The order of the group, smallest byte first (RFC 8032 §5.1).
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

/// The points of order 1, 2, 4 and 8, and encodings of them that are not canonical.
const SMALL_ORDER: [[u8; 32]; 8] = {
    const fn filled(first: u8, middle: u8, last: u8) -> [u8; 32] {
        let mut bytes = [middle; 32];
        bytes[0] = first;
        bytes[31] = last;
        bytes
    }
    [
        filled(1, 0, 0),
        filled(0, 0, 0),
        filled(0, 0, 0x80),
        filled(0xec, 0xff, 0x7f),
        filled(0xed, 0xff, 0x7f),
        filled(0xee, 0xff, 0x7f),
        [
            0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef,
            0x98, 0xf0, 0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88,
            0x6d, 0x53, 0xfc, 0x05,
        ],
        [
            0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10,
            0x67, 0x0f, 0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77,
            0x92, 0xac, 0x03, 0x7a,
        ],
    ]
};
