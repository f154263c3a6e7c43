//! Verifies signatures and derives the proved tier.

use std::collections::BTreeSet;

use prowess_policy::Tier;
use sha2::{Digest as _, Sha256};

use crate::compare::{Evidence, SignedBy};
use crate::contents::{Algorithm, Contents, Purpose, payload};
use crate::error::{SignatureError, SignatureSeverity};
use crate::scheme::{Proof, Scheme, SignatureTime, Subject};
use crate::timestamp::Timestamp;
use crate::trust_store::{Role, TrustStore};

/// A signature file.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Its path in the skill's folder, or the name it would have there if it was obtained separately.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// When this machine first saw exactly these bytes, as recorded in the lock file. It distinguishes signatures made
    /// before a key was stolen from those made after (attack registry-C15).
    pub first_seen: Option<Timestamp>,
}

/// The result of verifying all signatures of a skill.
#[derive(Clone, Debug, PartialEq)]
pub struct Attestation {
    /// The proved tier. The effective one is the lower of this and the claimed one (R19).
    pub tier: Tier,
    /// The valid signatures, whoever made them.
    pub evidence: Vec<Verdict>,
    /// The invalid signatures. If there is one, the skill should not be installed.
    pub refused: Vec<InvalidSignature>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

/// A valid signature.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The signature file.
    pub path: String,
    /// The signature scheme.
    pub scheme: Scheme,
    /// The purpose of the signature.
    pub purpose: Purpose,
    /// The identifier of the signer: their key, or a stable identity if their keys change.
    pub key_id: String,
    /// The name in the certificate or the trust store. Unverified names are omitted.
    pub identity: Option<String>,
    /// The files it covers.
    pub covered: Vec<String>,
    /// When it was made.
    pub time: SignatureTime,
    /// Whether its key is trusted here.
    pub standing: KeyStanding,
}

/// Whether the key of a signature is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyStanding {
    /// The key is in the trust store and may sign this skill.
    Trusted(Role),
    /// The key is not in the trust store.
    Unknown,
    /// The trust store only allows the key to sign other skills.
    NotForThisName,
    /// The key is not trusted at the time of the signature.
    OutsideItsTime,
}

/// An invalid signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the signature `{path}` is invalid: {error}")]
pub struct InvalidSignature {
    /// The signature file.
    pub path: String,
    /// The reason.
    pub error: SignatureError,
}

/// Verifies all signatures of a skill. What the skill claims about itself is ignored (attack registry-C19).
pub fn attest(
    contents: &Contents,
    signatures: &[Signature],
    store: &TrustStore,
    now: Timestamp,
) -> Attestation {
    let recognised = recognised(signatures);
    let signature_files: BTreeSet<&str> =
        recognised.iter().map(|(signature, _, _)| signature.path.as_str()).collect();

    let mut attestation = Attestation {
        tier: Tier::Experimental,
        evidence: Vec::new(),
        refused: Vec::new(),
        warnings: Vec::new(),
    };
    for (signature, scheme, purpose) in recognised {
        let subject = Subject {
            contents,
            bytes: &signature.bytes,
            purpose,
            signature_files: &signature_files,
            store,
            at: signature.first_seen.unwrap_or(now),
        };
        let judged = is_the_file(contents, signature)
            .and_then(|()| scheme.verify(&subject))
            .and_then(|proof| attestation.judge(&subject, signature, scheme, proof));
        match judged {
            Ok(verdict) => attestation.evidence.push(verdict),
            Err(error) => match error.severity() {
                SignatureSeverity::Stranger => attestation
                    .warnings
                    .push(format!("the signature `{}` proves nothing: {error}", signature.path)),
                SignatureSeverity::Broken => {
                    attestation
                        .refused
                        .push(InvalidSignature { path: signature.path.clone(), error });
                }
            },
        }
    }
    attestation.tier = attestation.proved_tier();
    attestation
}

/// The payload to be signed by another tool (`gpg`, `minisign` or `cosign`) for a detached signature. Existing
/// signatures are not covered.
pub fn detached_payload(
    contents: &Contents,
    signatures: &[Signature],
    algorithm: Algorithm,
    purpose: Purpose,
) -> Vec<u8> {
    let leave_out = recognised(signatures);
    let leave_out = leave_out.iter().map(|(signature, _, _)| signature.path.as_str()).collect();
    let files = contents.files_without(&leave_out);
    payload(algorithm, purpose, &contents.name, &contents.version, &files)
}

/// The files that are signatures by content and not only by name.
fn recognised(signatures: &[Signature]) -> Vec<(&Signature, Scheme, Purpose)> {
    let with_scheme = |signature| -> Option<(&Signature, Scheme, Purpose)> {
        let Signature { path, bytes, .. }: &Signature = signature;
        let (scheme, purpose) = Scheme::of_file(path, bytes)?;
        Some((signature, scheme, purpose))
    };
    signatures.iter().filter_map(with_scheme).collect()
}

impl Signature {
    /// Creates a signature that this machine has not seen before.
    pub fn detached(path: &str, bytes: Vec<u8>) -> Self {
        Self { path: path.to_owned(), bytes, first_seen: None }
    }
}

impl Attestation {
    /// The evidence to record in a lock file, for the comparison with the next version.
    pub fn to_evidence(&self) -> Evidence {
        let mut signers: Vec<SignedBy> = self
            .evidence
            .iter()
            .map(|verdict| SignedBy {
                scheme: verdict.scheme.as_str().to_owned(),
                key_id: verdict.key_id.clone(),
                identity: verdict.identity.clone(),
                is_audit: verdict.purpose == Purpose::Audit,
            })
            .collect();
        signers.sort();
        signers.dedup();
        Evidence { tier: self.tier, signers }
    }

    /// Whether the skill should not be installed.
    pub fn is_refused(&self) -> bool {
        !self.refused.is_empty()
    }

    fn judge(
        &mut self,
        subject: &Subject<'_>,
        signature: &Signature,
        scheme: Scheme,
        proof: Proof<'_>,
    ) -> Result<Verdict, SignatureError> {
        let witnessed = match proof.time {
            SignatureTime::Witnessed(at) => Some(at),
            SignatureTime::Unknown | SignatureTime::Noted(_) | SignatureTime::Claimed(_) => {
                signature.first_seen
            }
        };
        let path = &signature.path;
        let standing = match proof.anchor {
            None => {
                self.warnings.push(format!(
                    "the signature `{path}` holds, and its key `{}` is not in the trust store",
                    proof.key_id
                ));
                KeyStanding::Unknown
            }
            Some(entry) => {
                if let Some(revoked_at) = entry.revoked_at {
                    // The signer's claimed time is ignored here: a thief would backdate signatures.
                    if witnessed.is_none_or(|at| at >= revoked_at) {
                        return Err(SignatureError::Revoked {
                            key_id: proof.key_id,
                            at: Some(revoked_at),
                        });
                    }
                    self.warnings.push(format!(
                        "the key `{}` of the signature `{path}` was revoked at {revoked_at}; this signature was there before",
                        proof.key_id
                    ));
                }
                let at = witnessed.unwrap_or(subject.at);
                if !entry.may_sign(subject.contents) {
                    self.warnings.push(format!(
                        "the key `{}` of the signature `{path}` is not trusted to sign `{}`",
                        proof.key_id, subject.contents.name
                    ));
                    KeyStanding::NotForThisName
                } else if entry.not_before.is_some_and(|from| at < from)
                    || entry.not_after.is_some_and(|until| at > until)
                {
                    self.warnings.push(format!(
                        "the key `{}` of the signature `{path}` is not trusted at {at}",
                        proof.key_id
                    ));
                    KeyStanding::OutsideItsTime
                } else {
                    KeyStanding::Trusted(entry.role)
                }
            }
        };
        Ok(Verdict {
            path: path.clone(),
            scheme,
            purpose: subject.purpose,
            key_id: proof.key_id,
            identity: proof.identity,
            covered: proof.covered,
            time: proof.time,
            standing,
        })
    }

    /// The tier that the evidence proves (GAIA §4.4): a root's signature proves verified, a publisher's community, and
    /// an auditor's sign-off raises community to verified.
    fn proved_tier(&mut self) -> Tier {
        if self.is_refused() {
            return Tier::Experimental;
        }
        let mut is_published = false;
        let mut is_audited = false;
        for verdict in &self.evidence {
            match (&verdict.standing, verdict.purpose) {
                (KeyStanding::Trusted(Role::Root), Purpose::Release) => return Tier::Verified,
                (KeyStanding::Trusted(Role::Publisher), Purpose::Release) => is_published = true,
                (KeyStanding::Trusted(Role::Auditor | Role::Root), Purpose::Audit) => {
                    is_audited = true;
                }
                // An auditor's ordinary signature is not a sign-off, and publishers can't audit themselves.
                (KeyStanding::Trusted(Role::Auditor), Purpose::Release)
                | (KeyStanding::Trusted(Role::Publisher), Purpose::Audit)
                | (
                    KeyStanding::Unknown
                    | KeyStanding::NotForThisName
                    | KeyStanding::OutsideItsTime,
                    Purpose::Release | Purpose::Audit,
                ) => {}
            }
        }
        match (is_published, is_audited) {
            (true, true) => Tier::Verified,
            (true, false) => Tier::Community,
            (false, true) => {
                self.warnings.push(
                    "it was audited, and no publisher in the trust store has signed it".to_owned(),
                );
                Tier::Experimental
            }
            (false, false) => Tier::Experimental,
        }
    }
}

/// Whether the verified bytes are those that the digest of the folder covers.
fn is_the_file(contents: &Contents, signature: &Signature) -> Result<(), SignatureError> {
    let actual: [u8; 32] = Sha256::digest(&signature.bytes).into();
    match contents.files.get(&signature.path) {
        Some(expected) if *expected != actual => Err(SignatureError::NotTheFile),
        Some(_) | None => Ok(()),
    }
}
