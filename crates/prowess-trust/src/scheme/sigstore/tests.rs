//! Verifies the test bundles of the Sigstore crate against the identities of our trust store.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::{SigstoreIdentity, verify_bundle};
use crate::error::SignatureError;
use crate::material::Material;
use crate::scheme::SignatureTime;
use crate::trust_store::{Role, TrustStore, TrustedKey};

const ISSUER: &str = "https://github.com/login/oauth";

/// The test data that comes with the crate: real bundles, made by cosign and others.
///
/// Cargo is queried about a package that depends on this crate only. For the workspace it can answer offline only if
/// the packages of every platform and every member have been downloaded, which no build does.
fn test_data() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let member = Path::new(env!("CARGO_MANIFEST_DIR"));
        let package = tempfile::tempdir().unwrap();
        let manifest = package.path().join("Cargo.toml");
        std::fs::write(&manifest, MANIFEST).unwrap();
        // The same version as in the build.
        let lock = package.path().join("Cargo.lock");
        std::fs::copy(member.join("../../Cargo.lock"), lock).unwrap();

        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["metadata", "--format-version", "1", "--offline"]);
        command.args(["--filter-platform", "host-tuple", "--manifest-path"]).arg(&manifest);
        // Where the project's own cargo configuration applies.
        command.current_dir(member);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        let package = packages.iter().find(|package| package["name"] == "sigstore-verify").unwrap();
        let manifest = PathBuf::from(package["manifest_path"].as_str().unwrap());
        manifest.with_file_name("test_data")
    })
}

const MANIFEST: &str = r#"
[package]
name = "test-data"
edition = "2024"
[lib]
path = "lib.rs"
[dependencies]
sigstore-verify = { version = "*", default-features = false }
[workspace]
"#;

fn read(path: &str) -> Vec<u8> {
    let path = test_data().join(path);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn bundle(path: &str) -> Value {
    serde_json::from_slice(&read(path)).unwrap()
}

/// The identity in a bundle's certificate, extracted in the simplest way.
fn trusting(identity: &str, issuer: &str) -> TrustStore {
    let text = SigstoreIdentity::new(issuer, identity).text();
    trusting_text(&text)
}

fn trusting_text(text: &str) -> TrustStore {
    let mut store = TrustStore::empty();
    store.add(TrustedKey::new(Material::read(text).unwrap(), Role::Publisher));
    store
}

fn check(
    bundle: &Value,
    signed: &[u8],
    store: &TrustStore,
) -> Result<SignatureTime, SignatureError> {
    verify_bundle(bundle.to_string().as_bytes(), signed, store).map(|signer| signer.time)
}

type Change<'a> = &'a dyn Fn(&mut Value);

const COSIGN: &str = "bundles/cosign-v3-blob.sigstore.json";
const COSIGN_TEXT: &str = "bundles/cosign-v3-blob.txt";
const COSIGN_IDENTITY: &str = "w.vollprecht@gmail.com";

#[test]
fn a_bundle_of_cosign_counts_and_says_when() {
    let store = trusting(COSIGN_IDENTITY, ISSUER);
    let time = check(&bundle(COSIGN), &read(COSIGN_TEXT), &store).unwrap();
    assert!(matches!(time, SignatureTime::Witnessed(_)), "{time:?}");
}

/// Attack registry-C16: another identity, or the same identity confirmed by another issuer.
#[test]
fn other_identities_are_strangers() {
    for (identity, issuer) in [
        ("somebody@example.org", ISSUER),
        (COSIGN_IDENTITY, "https://accounts.google.com"),
        ("vollprecht@gmail.com", ISSUER),
    ] {
        let outcome = check(&bundle(COSIGN), &read(COSIGN_TEXT), &trusting(identity, issuer));
        assert!(matches!(outcome, Err(SignatureError::UnknownKey { .. })), "{outcome:?}");
    }
    let outcome = check(&bundle(COSIGN), &read(COSIGN_TEXT), &TrustStore::empty());
    assert!(matches!(outcome, Err(SignatureError::UnknownKey { .. })), "{outcome:?}");
}

/// Attack registry-C16: other bytes, another log entry, a changed or missing promise or proof.
#[test]
fn bundles_that_were_changed_are_refused() {
    let store = trusting(COSIGN_IDENTITY, ISSUER);
    let text = read(COSIGN_TEXT);
    let outcome = check(&bundle(COSIGN), b"other", &store);
    assert_eq!(outcome, Err(SignatureError::Mismatch));

    let entry = "/verificationMaterial/tlogEntries/0";
    let flip = |value: &mut Value| {
        let text = value.as_str().unwrap();
        let changed = if text.starts_with('A') { 'B' } else { 'A' };
        *value = json!(format!("{changed}{}", &text[1..]));
    };
    let other = bundle("bundles/conda-attestation.sigstore.json");
    let changes: [(&str, Change<'_>); 6] = [
        ("entry of another artifact", &|bundle| {
            *bundle.pointer_mut(entry).unwrap() = other.pointer(entry).unwrap().clone();
        }),
        ("no entry", &|bundle| {
            bundle["verificationMaterial"]["tlogEntries"] = json!([]);
        }),
        ("promise", &|bundle| {
            let promise = "/inclusionPromise/signedEntryTimestamp";
            let bytes = bundle.pointer_mut(&format!("{entry}{promise}")).unwrap();
            let text = bytes.as_str().unwrap();
            // The last bytes are the number itself.
            let middle = text.len() / 2;
            let changed = if &text[middle..=middle] == "A" { "B" } else { "A" };
            *bytes = json!(format!("{}{changed}{}", &text[..middle], &text[middle + 1..]));
        }),
        ("proof", &|bundle| {
            flip(bundle.pointer_mut(&format!("{entry}/inclusionProof/hashes/0")).unwrap());
        }),
        ("root of the log", &|bundle| {
            flip(bundle.pointer_mut(&format!("{entry}/inclusionProof/rootHash")).unwrap());
        }),
        ("time", &|bundle| {
            *bundle.pointer_mut(&format!("{entry}/integratedTime")).unwrap() = json!("1700000000");
        }),
    ];
    for (what, change) in changes {
        let mut bundle = bundle(COSIGN);
        change(&mut bundle);
        let outcome = check(&bundle, &text, &store);
        assert!(matches!(outcome, Err(SignatureError::Sigstore(_))), "{what}: {outcome:?}");
    }
}

/// Attack registry-C16: the staging instance is not the public one.
#[test]
fn another_root_counts_only_where_it_is_pinned() {
    let folder = "upstream/sigstore-python";
    let staging = bundle(&format!("{folder}/staging-rekor-v2.txt.sigstore.json"));
    let text = read(&format!("{folder}/staging-rekor-v2.txt"));
    let refused = check(&staging, &text, &trusting("a@example.org", ISSUER));
    assert!(matches!(refused, Err(SignatureError::Sigstore(_))), "{refused:?}");

    let root: Value =
        serde_json::from_str(sigstore_verify::trust_root::SIGSTORE_STAGING_TRUSTED_ROOT).unwrap();
    let pinned = |identity: &str, issuer: &str| {
        let text = json!({"issuer": issuer, "identity": identity, "trusted_root": root});
        trusting_text(&text.to_string())
    };
    let stranger = check(&staging, &text, &pinned("a@example.org", ISSUER));
    let Err(SignatureError::UnknownKey { key_id }) = stranger else {
        panic!("{stranger:?}");
    };
    // With the identity in the bundle and the right issuer, it is accepted.
    let issuers =
        [ISSUER, "https://accounts.google.com", "https://token.actions.githubusercontent.com"];
    let counted = issuers
        .iter()
        .filter(|issuer| check(&staging, &text, &pinned(&key_id, issuer)).is_ok())
        .count();
    assert_eq!(counted, 1, "{key_id}");
}

#[test]
fn a_bundle_by_a_key_counts_by_that_key() {
    let key = String::from_utf8(read("managed-key/key.pub")).unwrap();
    let text = read("managed-key/artifact.txt");
    let managed = bundle("managed-key/bundle.sigstore.json");
    assert_eq!(check(&managed, &text, &trusting_text(&key)), Ok(SignatureTime::Unknown));
    assert_eq!(check(&managed, b"other", &trusting_text(&key)), Err(SignatureError::Mismatch));
    let other = crate::key::SecretKey::generate_p256().unwrap().public().pem();
    check(&managed, &text, &trusting_text(&other)).unwrap_err();
    let nobody = check(&managed, &text, &trusting(COSIGN_IDENTITY, ISSUER));
    assert!(matches!(nobody, Err(SignatureError::UnknownKey { .. })), "{nobody:?}");
}

/// The bundles that every implementation of Sigstore must reject.
#[test]
fn bundles_that_are_wrong_by_design_are_refused() {
    for name in [
        "bundle_cve_2022_36056.txt.sigstore",
        "bundle_invalid_version.txt.sigstore",
        "bundle_no_cert_v1.txt.sigstore",
        "bundle_no_checkpoint.txt.sigstore",
        "bundle_no_log_entry.txt.sigstore",
        "dsse-2sigs.sigstore.json",
    ] {
        let store = trusting(COSIGN_IDENTITY, ISSUER);
        let outcome = verify_bundle(&read(&format!("bundles/{name}")), b"", &store);
        assert!(outcome.is_err(), "{name}");
    }
}

#[test]
fn an_identity_is_read_as_it_was_written() {
    let identity = SigstoreIdentity::new(ISSUER, COSIGN_IDENTITY);
    assert_eq!(SigstoreIdentity::read(&identity.text()), Some(identity));
    for wrong in ["{}", r#"{"issuer": "a"}"#, r#"{"issuer": "a", "identity": ""}"#, "[]"] {
        assert_eq!(SigstoreIdentity::read(wrong), None, "{wrong}");
    }
    let root = r#"{"issuer": "a", "identity": "b", "trusted_root": {"tlogs": 5}}"#;
    assert_eq!(SigstoreIdentity::read(root), None);
}
