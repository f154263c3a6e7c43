//! What holds for every input.

use std::collections::BTreeMap;

use proptest::prelude::*;
use prowess_policy::Tier;
use prowess_trust::{
    Algorithm, Material, Purpose, Role, SecretKey, Signature, TrustStore, TrustedKey, attest,
    payload, sign_oms,
};

use crate::skill::{now, release, skill, store, trusted};

const NAMES: [&str; 8] = [
    "SIGNATURE.json",
    "AUDIT.json",
    "signature.json",
    "skill.oms.sig",
    "SIGNATURE.asc",
    "SIGNATURE.sig",
    "SIGNATURE.minisig",
    "SIGNATURE.sigstore.json",
];

/// Keys of every kind, so that every scheme has something to check with.
fn everybody() -> TrustStore {
    let texts = [
        include_str!("fixtures/openpgp/ed.pub"),
        include_str!("fixtures/openpgp/rsa.pub"),
        "RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3",
        r#"{"issuer": "https://example.org", "identity": "somebody"}"#,
    ];
    let keys = texts.map(|text| TrustedKey::new(Material::read(text).unwrap(), Role::Root));
    let mut store = store(keys);
    store.add(trusted(1, Role::Root));
    let oms = SecretKey::generate_p256().unwrap().public();
    store.add(TrustedKey::new(Material::Key(oms), Role::Root));
    store
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Bytes of anybody prove nothing, and nothing falls over.
    #[test]
    fn no_bytes_prove_anything(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let store = everybody();
        for name in NAMES {
            let signature = Signature::detached(name, bytes.clone());
            let attestation = attest(&skill(), &[signature], &store, now());
            prop_assert_eq!(attestation.tier, Tier::Experimental);
        }
    }

    /// A signature with one byte changed proves what it proved or nothing, and nothing falls over. Where it may prove the same, the other tests say.
    #[test]
    fn no_changed_byte_proves_more(position in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let key = SecretKey::generate_p256().unwrap();
        let mut store = everybody();
        store.add(TrustedKey::new(Material::Key(key.public()), Role::Publisher));
        store.add(trusted(2, Role::Publisher));
        for (name, mut bytes) in [
            ("SIGNATURE.json", release(&skill(), 2).bytes),
            ("skill.oms.sig", sign_oms(&skill(), &key).unwrap().into_bytes()),
            ("SIGNATURE.asc", include_bytes!("fixtures/openpgp/gone.asc").to_vec()),
        ] {
            let before = attest(&skill(), &[Signature::detached(name, bytes.clone())], &store, now());
            let is_known = name != "SIGNATURE.asc";
            prop_assert_eq!(before.tier == Tier::Community, is_known);
            let at = position.index(bytes.len());
            bytes[at] = byte;
            let after = attest(&skill(), &[Signature::detached(name, bytes)], &store, now());
            prop_assert!(after.tier <= before.tier);
        }
    }

    /// Attack registry-C20. Different skills are different texts: nothing that is written can be taken for something else.
    #[test]
    fn a_payload_says_what_it_is_for(
        names in proptest::collection::vec("[\"\\\\{}:,a\u{e9}\n]{0,4}", 4),
        paths in proptest::collection::btree_map("[\"\\\\:,a/\u{1f600}]{1,4}", any::<[u8; 32]>(), 0..3),
    ) {
        let written = |name: &str, version: &str, files: &BTreeMap<String, [u8; 32]>| {
            payload(Algorithm::Ed25519, Purpose::Release, name, version, files)
        };
        let one = written(&names[0], &names[1], &paths);
        let other = written(&names[2], &names[3], &paths);
        prop_assert_eq!(one == other, names[0] == names[2] && names[1] == names[3]);
        // And it is JSON that says the same to every reader.
        let read: serde_json::Value = serde_json::from_slice(&one).unwrap();
        prop_assert_eq!(read["name"].as_str(), Some(names[0].as_str()));
        prop_assert_eq!(read["files"].as_object().unwrap().len(), paths.len());
        prop_assert!(one.is_ascii());
    }
}
