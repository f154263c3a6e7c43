//! From signatures to a tier.

use std::collections::BTreeSet;

use prowess_policy::Tier;
use sha2::{Digest as _, Sha256};

use crate::compare::{Evidence, SignedBy};
use crate::contents::{Algorithm, Contents, Purpose, payload};
use crate::error::{SignatureError, Weight};
use crate::scheme::{Proof, Scheme, SignatureTime, Subject};
use crate::timestamp::Timestamp;
use crate::trust_store::{Role, TrustStore};

/// A signature file as it came.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Its path in the skill's folder, or the name it would have there if it came another way.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// When this machine first held exactly these bytes, as the lock file remembers it. It tells a signature that was made before its key was stolen from one that was made after (attack registry-C15).
    pub first_seen: Option<Timestamp>,
}

/// What all signatures of a skill come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Attestation {
    /// The tier that is proved. The one that counts is at most this and at most the claimed one (R19).
    pub tier: Tier,
    /// Signatures that hold, by whomever they are.
    pub evidence: Vec<Verdict>,
    /// Signatures that don't. If there is one, nothing should be installed.
    pub refused: Vec<Refusal>,
    /// What somebody should know.
    pub warnings: Vec<String>,
}

/// A signature that holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The signature file.
    pub path: String,
    /// How it was signed.
    pub scheme: Scheme,
    /// What was said by it.
    pub purpose: Purpose,
    /// Who signed: their key, or what stays the same for a signer whose keys change.
    pub key_id: String,
    /// Whom the certificate or the trust store names. Names that nothing proves are left out.
    pub identity: Option<String>,
    /// The files it covers.
    pub covered: Vec<String>,
    /// When it was made.
    pub time: SignatureTime,
    /// What it is worth here.
    pub standing: Standing,
}

/// What the word of a signer is worth here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The trust store knows the key and lets it sign this skill.
    Trusted(Role),
    /// The trust store doesn't know the key.
    Unknown,
    /// The trust store lets the key sign other skills only.
    NotForThisName,
    /// The key counts at other times only.
    OutsideItsTime,
}

/// A signature that doesn't hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the signature `{path}` is invalid: {error}")]
pub struct Refusal {
    /// The signature file.
    pub path: String,
    /// Why.
    pub error: SignatureError,
}

/// Checks all signatures of a skill. What the skill claims about itself is not asked for (attack registry-C19).
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
            Err(error) => match error.weight() {
                Weight::Stranger => attestation
                    .warnings
                    .push(format!("the signature `{}` proves nothing: {error}", signature.path)),
                Weight::Broken => {
                    attestation.refused.push(Refusal { path: signature.path.clone(), error });
                }
            },
        }
    }
    attestation.tier = attestation.proved_tier();
    attestation
}

/// The text that a tool of its own is to sign for a detached signature of a skill: `gpg`, `minisign` or `cosign`. Signatures that are there already are left out.
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

/// Those that are signatures and not merely called so.
fn recognised(signatures: &[Signature]) -> Vec<(&Signature, Scheme, Purpose)> {
    let with_scheme = |signature| -> Option<(&Signature, Scheme, Purpose)> {
        let Signature { path, bytes, .. }: &Signature = signature;
        let (scheme, purpose) = Scheme::of_file(path, bytes)?;
        Some((signature, scheme, purpose))
    };
    signatures.iter().filter_map(with_scheme).collect()
}

impl Signature {
    /// A signature that this machine has not seen before.
    pub fn detached(path: &str, bytes: Vec<u8>) -> Self {
        Self { path: path.to_owned(), bytes, first_seen: None }
    }
}

impl Attestation {
    /// What a lock file should remember, to be compared with the next version.
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

    /// Whether nothing should be installed.
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
                Standing::Unknown
            }
            Some(entry) => {
                if let Some(revoked_at) = entry.revoked_at {
                    // The signer's own word for the time is worth nothing here: a thief would sign back in time.
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
                        "the key `{}` of the signature `{path}` may not sign `{}`, says the trust store",
                        proof.key_id, subject.contents.name
                    ));
                    Standing::NotForThisName
                } else if entry.not_before.is_some_and(|from| at < from)
                    || entry.not_after.is_some_and(|until| at > until)
                {
                    self.warnings.push(format!(
                        "the key `{}` of the signature `{path}` does not count at {at}, says the trust store",
                        proof.key_id
                    ));
                    Standing::OutsideItsTime
                } else {
                    Standing::Trusted(entry.role)
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

    /// The tier that the evidence proves (GAIA §4.4): a root's signature is enough for verified, a publisher's for community, and an auditor's sign-off lifts community to verified.
    fn proved_tier(&mut self) -> Tier {
        if self.is_refused() {
            return Tier::Experimental;
        }
        let mut is_published = false;
        let mut is_audited = false;
        for verdict in &self.evidence {
            match (&verdict.standing, verdict.purpose) {
                (Standing::Trusted(Role::Root), Purpose::Release) => return Tier::Verified,
                (Standing::Trusted(Role::Publisher), Purpose::Release) => is_published = true,
                (Standing::Trusted(Role::Auditor | Role::Root), Purpose::Audit) => {
                    is_audited = true;
                }
                // An auditor's ordinary signature is no sign-off, and a publisher can't audit themselves.
                (Standing::Trusted(Role::Auditor), Purpose::Release)
                | (Standing::Trusted(Role::Publisher), Purpose::Audit)
                | (
                    Standing::Unknown | Standing::NotForThisName | Standing::OutsideItsTime,
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

/// The bytes that are checked must be those that the digest of the folder covers.
fn is_the_file(contents: &Contents, signature: &Signature) -> Result<(), SignatureError> {
    let actual: [u8; 32] = Sha256::digest(&signature.bytes).into();
    match contents.files.get(&signature.path) {
        Some(expected) if *expected != actual => Err(SignatureError::NotTheFile),
        Some(_) | None => Ok(()),
    }
}
