//! OpenSSF Model Signing: what its bundles bind, and each way in which one can be wrong.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use insta::assert_snapshot;
use prowess_trust::{
    Contents, Material, Role, SecretKey, Signature, TrustStore, TrustedKey, sign_oms,
};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, SigningKey as _,
};
use serde_json::{Value, json};
use time::OffsetDateTime;

use crate::skill::{NOW, outcome, skill, store};

const DAY: i64 = 86_400;

/// A root, an authority below it, and a signer below that; each can be made wrong.
pub(crate) struct Chain {
    pub(crate) root: CertifiedIssuer<'static, KeyPair>,
    pub(crate) authority: CertifiedIssuer<'static, KeyPair>,
    pub(crate) signer: CertificateParams,
    pub(crate) signer_key: KeyPair,
}

impl Chain {
    pub(crate) fn new() -> Self {
        Self::with_authority(|_| {})
    }

    fn with_authority(change: impl FnOnce(&mut CertificateParams)) -> Self {
        let root = CertifiedIssuer::self_signed(authority("Root"), p384()).unwrap();
        let mut params = authority("Authority");
        change(&mut params);
        let authority = CertifiedIssuer::signed_by(params, p384(), &root).unwrap();
        let mut signer = params_of("Signer");
        signer.is_ca = IsCa::ExplicitNoCa;
        signer.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        Self { root, authority, signer, signer_key: p384() }
    }

    pub(crate) fn trusted(&self) -> TrustStore {
        let material = Material::read(&self.root.pem()).unwrap();
        store([TrustedKey::new(material, Role::Publisher)])
    }

    /// The bundle of a statement, by the signer.
    fn bundle(&self, statement: &[u8]) -> Value {
        let signer = self.signer.signed_by(&self.signer_key, &self.authority).unwrap();
        let text = [
            format!("DSSEv1 28 application/vnd.in-toto+json {} ", statement.len()).into_bytes(),
            statement.to_vec(),
        ];
        let signature = self.signer_key.sign(&text.concat()).unwrap();
        let raw = |der: &[u8]| json!({"rawBytes": STANDARD.encode(der)});
        json!({
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {
                "x509CertificateChain": {"certificates": [
                    raw(signer.der()), raw(self.authority.der()), raw(self.root.der()),
                ]},
                "tlogEntries": [],
            },
            "dsseEnvelope": {
                "payload": STANDARD.encode(statement),
                "payloadType": "application/vnd.in-toto+json",
                "signatures": [{"sig": STANDARD.encode(signature), "keyid": ""}],
            },
        })
    }
}

fn p384() -> KeyPair {
    KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384).unwrap()
}

fn params_of(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.not_before = OffsetDateTime::from_unix_timestamp(NOW - 10 * DAY).unwrap();
    params.not_after = OffsetDateTime::from_unix_timestamp(NOW + 10 * DAY).unwrap();
    params
}

fn authority(name: &str) -> CertificateParams {
    let mut params = params_of(name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    params
}

/// The statement about a skill, as our own signer writes it.
fn statement(contents: &Contents) -> Value {
    let bundle = sign_oms(contents, &SecretKey::generate_p256().unwrap()).unwrap();
    let bundle: Value = serde_json::from_str(&bundle).unwrap();
    let payload = STANDARD.decode(bundle["dsseEnvelope"]["payload"].as_str().unwrap()).unwrap();
    serde_json::from_slice(&payload).unwrap()
}

fn check(contents: &Contents, bundle: &Value, store: &TrustStore) -> String {
    let signature = Signature::detached("skill.oms.sig", bundle.to_string().into_bytes());
    outcome(contents, &[signature], store)
}

/// What comes of a chain that was made wrong somewhere.
fn by(chain: &Chain) -> String {
    check(&skill(), &chain.bundle(statement(&skill()).to_string().as_bytes()), &chain.trusted())
}

#[test]
fn the_statement_lists_every_file() {
    assert_snapshot!(format!("{:#}", statement(&skill())));
}

#[test]
fn a_chain_to_a_trusted_root_counts() {
    let chain = Chain::new();
    assert_snapshot!(by(&chain), @"
    community
    skill.oms.sig oms: publisher, 2 files
    ");
    // For the trust store it is the root that signs, and for a later version it is the same signer.
    let signed = |chain: &Chain| {
        let bundle = chain.bundle(statement(&skill()).to_string().as_bytes()).to_string();
        let signature = Signature::detached("skill.oms.sig", bundle.into_bytes());
        let attestation =
            prowess_trust::attest(&skill(), &[signature], &chain.trusted(), crate::skill::now());
        attestation.to_evidence()
    };
    let first = signed(&chain);
    assert_eq!(first.signers[0].identity.as_deref(), Some("CN=Signer"));
    let renewed = Chain { signer_key: p384(), ..chain };
    assert_eq!(signed(&renewed), first);
    let mut other = renewed;
    other.signer.distinguished_name.push(DnType::CommonName, "Somebody else");
    assert_ne!(signed(&other).signers[0].key_id, first.signers[0].key_id);
}

#[test]
fn a_chain_of_p256_keys_counts_too() {
    let mut chain = Chain::new();
    chain.signer_key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
    assert_snapshot!(by(&chain), @"
    community
    skill.oms.sig oms: publisher, 2 files
    ");
}

/// Attack registry-C8: somebody else's root, with the same name.
#[test]
fn a_strange_root_is_not_called_wrong_bytes() {
    let chain = Chain::new();
    let bundle = chain.bundle(statement(&skill()).to_string().as_bytes());
    assert_snapshot!(check(&skill(), &bundle, &Chain::new().trusted()), @"
    experimental
    warning: the signature `skill.oms.sig` proves nothing: its certificate `CN=Signer` comes from a root that is not in the trust store
    ");
    assert_snapshot!(check(&skill(), &bundle, &TrustStore::empty()), @"
    experimental
    warning: the signature `skill.oms.sig` proves nothing: its certificate `CN=Signer` comes from a root that is not in the trust store
    ");
    // And wrong bytes are called that, whoever signed.
    let changed = skill().with_file("SKILL.md", b"other");
    assert_snapshot!(check(&changed, &bundle, &TrustStore::empty()), @"
    experimental
    refused skill.oms.sig: files changed after signing: `SKILL.md` has changed
    ");
}

/// Attack registry-C9
#[test]
fn each_wrong_certificate_has_its_own_error() {
    let mut expired = Chain::new();
    expired.signer.not_after = OffsetDateTime::from_unix_timestamp(NOW - DAY).unwrap();
    assert_snapshot!(by(&expired), @"
    experimental
    refused skill.oms.sig: `CN=Signer` expired at 2027-01-14T08:00:00Z
    ");

    let mut early = Chain::new();
    early.signer.not_before = OffsetDateTime::from_unix_timestamp(NOW + DAY).unwrap();
    assert_snapshot!(by(&early), @"
    experimental
    refused skill.oms.sig: `CN=Signer` is not valid before 2027-01-16T08:00:00Z
    ");

    let old_authority = Chain::with_authority(|params| {
        params.not_after = OffsetDateTime::from_unix_timestamp(NOW - DAY).unwrap();
    });
    assert_snapshot!(by(&old_authority), @"
    experimental
    refused skill.oms.sig: `CN=Authority` expired at 2027-01-14T08:00:00Z
    ");

    let no_cert_sign =
        Chain::with_authority(|params| params.key_usages = vec![KeyUsagePurpose::CrlSign]);
    assert_snapshot!(by(&no_cert_sign), @"
    experimental
    refused skill.oms.sig: `CN=Authority` signed a certificate, but is not a certificate authority
    ");

    let no_authority = Chain::with_authority(|params| {
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = Vec::new();
    });
    assert_snapshot!(by(&no_authority), @"
    experimental
    refused skill.oms.sig: `CN=Authority` signed a certificate, but is not a certificate authority
    ");

    let mut for_servers = Chain::new();
    for_servers.signer.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    assert_snapshot!(by(&for_servers), @"
    experimental
    refused skill.oms.sig: the certificate `CN=Signer` is not for signing files
    ");

    let mut for_encryption = Chain::new();
    for_encryption.signer.key_usages = vec![KeyUsagePurpose::KeyEncipherment];
    assert_snapshot!(by(&for_encryption), @"
    experimental
    refused skill.oms.sig: the certificate `CN=Signer` is not for signing files
    ");

    let mut for_nothing = Chain::new();
    for_nothing.signer.key_usages = Vec::new();
    assert_snapshot!(by(&for_nothing), @"
    experimental
    refused skill.oms.sig: the certificate `CN=Signer` is not for signing files
    ");

    let mut for_code = Chain::new();
    for_code.signer.key_usages = Vec::new();
    for_code.signer.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning];
    assert_snapshot!(by(&for_code), @"
    community
    skill.oms.sig oms: publisher, 2 files
    ");
}

/// A signer that the authority never signed, in a chain that leads to a trusted root.
#[test]
fn a_forged_link_is_not_a_strange_root() {
    let chain = Chain::new();
    let mut bundle = chain.bundle(statement(&skill()).to_string().as_bytes());
    let forged = authority("Authority");
    let forged = CertifiedIssuer::self_signed(forged, p384()).unwrap();
    let signer = chain.signer.signed_by(&chain.signer_key, &forged).unwrap();
    bundle["verificationMaterial"]["x509CertificateChain"]["certificates"][0]["rawBytes"] =
        json!(STANDARD.encode(signer.der()));
    assert_snapshot!(check(&skill(), &bundle, &chain.trusted()), @"
    experimental
    refused skill.oms.sig: its certificate chain is invalid: InvalidSignatureForPublicKey
    ");
}

/// A certificate that has expired since still counts for a signature that was there before.
#[test]
fn a_signature_outlives_its_certificate_where_it_was_seen() {
    let mut chain = Chain::new();
    chain.signer.not_after = OffsetDateTime::from_unix_timestamp(NOW - DAY).unwrap();
    let bundle = chain.bundle(statement(&skill()).to_string().as_bytes());
    let mut signature = Signature::detached("skill.oms.sig", bundle.to_string().into_bytes());
    signature.first_seen = Some(prowess_trust::Timestamp::from_unix(NOW - 2 * DAY));
    assert_snapshot!(outcome(&skill(), &[signature], &chain.trusted()), @"
    community
    skill.oms.sig oms: publisher, 2 files
    ");
}

/// Attack registry-C10
#[test]
fn envelopes_that_mean_something_else_are_refused() {
    let chain = Chain::new();
    let good = chain.bundle(statement(&skill()).to_string().as_bytes());
    let with = |change: &dyn Fn(&mut Value)| {
        let mut bundle = good.clone();
        change(&mut bundle);
        check(&skill(), &bundle, &chain.trusted())
    };
    assert_snapshot!(with(&|bundle| {
        bundle["dsseEnvelope"]["payloadType"] = json!("text/plain");
    }), @"
    experimental
    refused skill.oms.sig: unsupported payload type `text/plain` (expected an in-toto statement)
    ");
    assert_snapshot!(with(&|bundle| {
        let signature = bundle["dsseEnvelope"]["signatures"][0].clone();
        bundle["dsseEnvelope"]["signatures"].as_array_mut().unwrap().push(signature);
    }), @"
    experimental
    refused skill.oms.sig: it has 2 signatures, expected one
    ");
    assert_snapshot!(with(&|bundle| bundle["dsseEnvelope"]["signatures"] = json!([])), @"
    experimental
    refused skill.oms.sig: it has 0 signatures, expected one
    ");
    assert_snapshot!(with(&|bundle| bundle["mediaType"] = json!("application/json")), @"
    experimental
    refused skill.oms.sig: unsupported media type `application/json` (expected version 0.3)
    ");
    assert_snapshot!(with(&|bundle| {
        bundle["verificationMaterial"] = json!({"certificate": {"rawBytes": ""}});
    }), @"
    experimental
    warning: the signature `skill.oms.sig` proves nothing: it is by the key `of Sigstore`, which is not in the trust store
    ");
    assert_snapshot!(with(&|bundle| {
        bundle["verificationMaterial"]["publicKey"] = json!({"hint": ""});
    }), @"
    experimental
    refused skill.oms.sig: it can't be read: it names both a key and certificates
    ");
    assert_snapshot!(with(&|bundle| {
        bundle["verificationMaterial"]["x509CertificateChain"]["certificates"] = json!([]);
    }), @"
    experimental
    refused skill.oms.sig: it can't be read: it has 0 certificates, expected 1 to 8
    ");
    let mut twice = good.to_string();
    twice.insert_str(1, "\"dsseEnvelope\": {},");
    let signature = Signature::detached("skill.oms.sig", twice.into_bytes());
    let outcome = outcome(&skill(), &[signature], &chain.trusted());
    assert!(outcome.contains("duplicate key `dsseEnvelope`"), "{outcome}");
}

/// The signature holds, and the statement is not one that can be relied on.
#[test]
fn statements_that_mean_something_else_are_refused() {
    let chain = Chain::new();
    let with = |change: &dyn Fn(&mut Value)| {
        let mut statement = statement(&skill());
        change(&mut statement);
        check(&skill(), &chain.bundle(statement.to_string().as_bytes()), &chain.trusted())
    };
    assert_snapshot!(with(&|statement| {
        statement["predicateType"] = json!("https://model_signing/signature/v2.0");
    }), @"
    experimental
    refused skill.oms.sig: unsupported predicate type `https://model_signing/signature/v2.0` (expected version 1.0 of model signing)
    ");
    assert_snapshot!(with(&|statement| statement["_type"] = json!("https://in-toto.io/Statement/v0.1")), @"
    experimental
    refused skill.oms.sig: unsupported statement type `https://in-toto.io/Statement/v0.1` (expected in-toto v1)
    ");
    assert_snapshot!(with(&|statement| {
        statement["predicate"]["serialization"]["method"] = json!("shards");
    }), @"
    experimental
    refused skill.oms.sig: unsupported serialization `shards` (expected `files`)
    ");
    assert_snapshot!(with(&|statement| {
        statement["predicate"]["serialization"]["hash_type"] = json!("blake3");
    }), @"
    experimental
    refused skill.oms.sig: unsupported hash `blake3` (expected `sha256`)
    ");
    assert_snapshot!(with(&|statement| {
        statement["subject"][0]["digest"]["sha256"] = json!("0".repeat(64));
    }), @"
    experimental
    refused skill.oms.sig: it can't be read: the digest of its subject is not that of its files
    ");
    assert_snapshot!(with(&|statement| {
        let first = statement["predicate"]["resources"][0].clone();
        statement["predicate"]["resources"].as_array_mut().unwrap().push(first);
    }), @"
    experimental
    refused skill.oms.sig: it can't be read: `SKILL.md` is listed twice
    ");
    assert_snapshot!(with(&|statement| {
        let first = statement["subject"][0].clone();
        statement["subject"].as_array_mut().unwrap().push(first);
    }), @"
    experimental
    refused skill.oms.sig: it can't be read: it must have exactly one subject
    ");
}

/// Attack registry-C6
#[test]
fn files_that_are_not_listed_are_refused() {
    let chain = Chain::new();
    let ignoring = |paths: &[&str], contents: &Contents| {
        let mut statement = statement(&skill());
        statement["predicate"]["serialization"]["ignore_paths"] = json!(paths);
        check(contents, &chain.bundle(statement.to_string().as_bytes()), &chain.trusted())
    };
    let with_git = skill().with_file(".gitignore", b"target\n");
    assert_snapshot!(ignoring(&[".gitignore"], &with_git), @"
    community
    skill.oms.sig oms: publisher, 2 files
    ");
    assert_snapshot!(ignoring(&[], &with_git), @"
    experimental
    refused skill.oms.sig: files changed after signing: `.gitignore` was not signed
    ");
    // A signer can't sign a folder and leave out what runs.
    let with_script = skill().with_file("scripts/evil.sh", b"");
    assert_snapshot!(ignoring(&["scripts"], &with_script), @"
    experimental
    refused skill.oms.sig: files changed after signing: `scripts/evil.sh` was not signed
    ");
    assert_snapshot!(ignoring(&[".", ""], &with_script), @"
    experimental
    refused skill.oms.sig: files changed after signing: `scripts/evil.sh` was not signed
    ");
    let mut without = skill();
    without.files.remove("scripts/greet.sh");
    assert_snapshot!(ignoring(&[], &without), @"
    experimental
    refused skill.oms.sig: files changed after signing: `scripts/greet.sh` is missing
    ");
}

#[test]
fn a_bare_key_signs_and_is_known_again() {
    let key = SecretKey::generate_p256().unwrap();
    let trusted =
        store([TrustedKey::new(Material::read(&key.public().pem()).unwrap(), Role::Publisher)]);
    let bundle: Value = serde_json::from_str(&sign_oms(&skill(), &key).unwrap()).unwrap();
    assert_snapshot!(check(&skill(), &bundle, &trusted), @"
    community
    skill.oms.sig oms: publisher, 2 files
    ");
    let changed = skill().with_file("SKILL.md", b"other");
    assert_snapshot!(check(&changed, &bundle, &trusted), @"
    experimental
    refused skill.oms.sig: files changed after signing: `SKILL.md` has changed
    ");

    // Without a hint every key is tried; with a wrong one none is.
    let mut nameless = bundle.clone();
    nameless["verificationMaterial"]["publicKey"] = json!({});
    assert_snapshot!(check(&skill(), &nameless, &trusted), @"
    community
    skill.oms.sig oms: publisher, 2 files
    ");
    let mut misnamed = bundle.clone();
    misnamed["verificationMaterial"]["publicKey"]["hint"] = json!("0".repeat(64));
    assert_snapshot!(check(&skill(), &misnamed, &trusted), @"
    experimental
    warning: the signature `skill.oms.sig` proves nothing: it is by the key `00000000000000000000000000000000`, which is not in the trust store
    ");
    let mut flipped = bundle;
    let signature = flipped["dsseEnvelope"]["signatures"][0]["sig"].as_str().unwrap();
    let mut bytes = STANDARD.decode(signature).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    flipped["dsseEnvelope"]["signatures"][0]["sig"] = json!(STANDARD.encode(bytes));
    assert_snapshot!(check(&skill(), &flipped, &trusted), @"
    experimental
    refused skill.oms.sig: it does not match the signed text; one of the two was changed, or the signature is forged
    ");
    assert_snapshot!(sign_oms(&skill(), &crate::skill::key(1)).unwrap_err(), @"a `skill.oms.sig` needs a key of the kind `p256`, and this one is `ed25519`");
}

#[test]
fn only_roots_are_taken_as_roots() {
    let chain = Chain::new();
    let signer = chain.signer.signed_by(&chain.signer_key, &chain.authority).unwrap();
    assert_snapshot!(Material::read(&signer.pem()).unwrap_err(), @"this certificate is not a certificate authority; add the root that signed it");
    let both = format!("{}{}", chain.root.pem(), chain.authority.pem());
    assert_snapshot!(Material::read(&both).unwrap_err(), @"expected exactly one certificate; add each separately, and only the root of a chain");
    let root = Material::read(&chain.root.pem()).unwrap();
    assert_eq!(Material::read(&root.text()), Ok(root));
}
