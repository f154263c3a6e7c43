//! The reference implementation of OpenSSF Model Signing says the same as ours, both ways.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use insta::assert_snapshot;
use prowess_trust::{
    Contents, Material, Role, SecretKey, Signature, TrustStore, TrustedKey, sign_oms,
};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256};
use zeroize::Zeroizing;

use crate::oms::Chain;
use crate::skill::{SKILL, outcome, store};

/// `model_signing` with a skill in a folder, or nothing where the tool is missing.
struct Reference {
    python: OsString,
    folder: tempfile::TempDir,
}

impl Reference {
    #[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
    fn new() -> Option<Self> {
        let Some(python) = std::env::var_os("PROWESS_MODEL_SIGNING_PYTHON") else {
            eprintln!(
                "SKIPPED: PROWESS_MODEL_SIGNING_PYTHON is not set, `cargo xtask test` sets it"
            );
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("greet/scripts")).unwrap();
        fs::write(folder.path().join("greet/SKILL.md"), SKILL).unwrap();
        fs::write(folder.path().join("greet/scripts/grüße.sh"), "echo grüße\n").unwrap();
        Some(Self { python, folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Runs `model_signing` on the skill; says whether it was content.
    fn run(&self, words: &[&str], files: &[(&str, &str)]) -> bool {
        let mut command = Command::new(&self.python);
        command.args(["-m", "model_signing"]).args(words).arg(self.path("greet"));
        command.arg("--signature").arg(self.path("greet/skill.oms.sig"));
        for (option, file) in files {
            command.arg(option).arg(self.path(file));
        }
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        // A tool that fell over has not refused anything.
        assert!(!text.contains("No module named") && !text.contains("Usage:"), "{text}");
        output.status.success()
    }

    fn outcome(&self, store: &TrustStore) -> String {
        let bytes = fs::read(self.path("greet/skill.oms.sig")).unwrap();
        let signature = Signature::detached("skill.oms.sig", bytes);
        outcome(&contents(&self.path("greet")), &[signature], store)
    }
}

fn contents(folder: &Path) -> Contents {
    ["SKILL.md", "scripts/grüße.sh", "skill.oms.sig"].iter().fold(
        Contents::new("greet", "1.0.0"),
        |contents, path| match fs::read(folder.join(path)) {
            Ok(bytes) => contents.with_file(path, &bytes),
            Err(_) => contents,
        },
    )
}

/// Attack registry-C7: whatever one of the two accepts, the other does.
#[test]
fn the_reference_accepts_our_bundles() {
    let Some(reference) = Reference::new() else { return };
    let key = SecretKey::generate_p256().unwrap();
    let bundle = sign_oms(&contents(&reference.path("greet")), &key).unwrap();
    reference.write("greet/skill.oms.sig", bundle);
    reference.write("key.pem", key.public().pem());
    let verify = || reference.run(&["verify", "key"], &[("--public_key", "key.pem")]);
    assert!(verify());
    // What other schemes leave beside it is no surprise.
    reference.write("greet/SIGNATURE.json", "{}");
    assert!(verify());
    reference.write("greet/extra.md", "");
    assert!(!verify());
    fs::remove_file(reference.path("greet/extra.md")).unwrap();
    assert!(verify());
    reference.write("greet/SKILL.md", "other");
    assert!(!verify());
}

#[test]
fn we_accept_the_references_bundles_by_keys() {
    let Some(reference) = Reference::new() else { return };
    let pair = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
    reference.write("secret.pem", pair.serialize_pem());
    assert!(reference.run(&["sign", "key"], &[("--private_key", "secret.pem")]));
    let key = SecretKey::from_pkcs8(Zeroizing::new(pair.serialize_der())).unwrap();
    let trusted = store([TrustedKey::new(Material::Key(key.public()), Role::Publisher)]);
    assert_snapshot!(reference.outcome(&trusted), @"
    community
    skill.oms.sig oms: publisher, 2 files
    ");
    reference.write("greet/SKILL.md", "other");
    assert_snapshot!(reference.outcome(&trusted), @"
    experimental
    refused skill.oms.sig: files changed after signing: `SKILL.md` has changed
    ");
}

#[test]
fn we_accept_the_references_bundles_by_certificates() {
    let Some(reference) = Reference::new() else { return };
    let chain = Chain::new();
    let signer = chain.signer.signed_by(&chain.signer_key, &chain.authority).unwrap();
    reference.write("secret.pem", chain.signer_key.serialize_pem());
    reference.write("signer.pem", signer.pem());
    reference.write("authority.pem", chain.authority.pem());
    reference.write("root.pem", chain.root.pem());
    let files = [
        ("--private_key", "secret.pem"),
        ("--signing_certificate", "signer.pem"),
        ("--certificate_chain", "authority.pem"),
        ("--certificate_chain", "root.pem"),
    ];
    assert!(reference.run(&["sign", "certificate"], &files));
    let verify = |root| reference.run(&["verify", "certificate"], &[("--certificate_chain", root)]);
    assert!(verify("root.pem"));
    assert_snapshot!(reference.outcome(&chain.trusted()), @"
    community
    skill.oms.sig oms: publisher, 2 files
    ");
    // Neither takes another root for it.
    let other = Chain::new();
    reference.write("other.pem", other.root.pem());
    assert!(!verify("other.pem"));
    assert_snapshot!(reference.outcome(&other.trusted()), @"
    experimental
    warning: the signature `skill.oms.sig` proves nothing: its certificate `CN=Signer` comes from a root that is not in the trust store
    ");
}
