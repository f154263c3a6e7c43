//! Compares the signatures of two versions of a skill.

use std::collections::BTreeSet;
use std::fmt;

use prowess_policy::Tier;

/// The verified signatures of a version, as recorded in a lock file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The proved tier.
    pub tier: Tier,
    /// The signers, trusted or not.
    pub signers: Vec<SignedBy>,
}

/// A signer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SignedBy {
    /// The signature scheme; a string, so that entries of newer versions can be compared too.
    pub scheme: String,
    /// The identifier of the key.
    pub key_id: String,
    /// The signer's name.
    pub identity: Option<String>,
    /// Whether it is an auditor's sign-off rather than a release.
    pub is_audit: bool,
}

/// A change of signatures that the user should know about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvidenceChange {
    /// The previous version was signed and this one isn't (attack registry-C3).
    SignatureLost {
        /// The previous signers.
        previous: Vec<SignedBy>,
    },
    /// The signers differ (attack registry-C4).
    SignerChanged {
        /// The previous signers.
        previous: Vec<SignedBy>,
        /// The current signers.
        now: Vec<SignedBy>,
    },
    /// The same key uses another scheme.
    SchemeChanged {
        /// Schemes that are no longer used.
        previous: Vec<String>,
        /// New schemes.
        now: Vec<String>,
    },
    /// The proved tier differs.
    TierChanged {
        /// The previous tier.
        previous: Tier,
        /// The current tier.
        now: Tier,
    },
}

/// Compares the evidence for two versions. The list is empty if nothing relevant changed; an unsigned skill may become
/// signed by anyone.
pub fn compare(previous: &Evidence, now: &Evidence) -> Vec<EvidenceChange> {
    let mut changes = Vec::new();
    let before = releases(previous);
    let after = releases(now);
    let keys = |signers: &[SignedBy]| -> BTreeSet<String> {
        signers.iter().map(|signer| signer.key_id.clone()).collect()
    };
    if !before.is_empty() {
        if after.is_empty() {
            changes.push(EvidenceChange::SignatureLost { previous: before });
        } else if keys(&before).is_disjoint(&keys(&after)) {
            changes.push(EvidenceChange::SignerChanged { previous: before, now: after });
        } else {
            let schemes = |signers: &[SignedBy]| -> BTreeSet<String> {
                signers.iter().map(|signer| signer.scheme.clone()).collect()
            };
            let (old, new) = (schemes(&before), schemes(&after));
            if old != new {
                changes.push(EvidenceChange::SchemeChanged {
                    previous: old.difference(&new).cloned().collect(),
                    now: new.difference(&old).cloned().collect(),
                });
            }
        }
    }
    if previous.tier != now.tier {
        changes.push(EvidenceChange::TierChanged { previous: previous.tier, now: now.tier });
    }
    changes
}

impl EvidenceChange {
    /// Whether the user must consent before the installation: a version from an attacker typically loses a signature, a
    /// signer or a tier.
    pub fn needs_consent(&self) -> bool {
        match self {
            EvidenceChange::SignatureLost { .. } | EvidenceChange::SignerChanged { .. } => true,
            EvidenceChange::SchemeChanged { .. } => false,
            // A higher tier needs fewer confirmations (GAIA §3.3).
            EvidenceChange::TierChanged { .. } => true,
        }
    }
}

impl fmt::Display for EvidenceChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EvidenceChange::SignatureLost { previous } => {
                write!(f, "it was signed by {} and is not signed now", shown(previous))
            }
            EvidenceChange::SignerChanged { previous, now } => {
                write!(
                    f,
                    "it was signed by {} and is now signed by {}",
                    shown(previous),
                    shown(now)
                )
            }
            EvidenceChange::SchemeChanged { previous, now } => {
                match (previous.as_slice(), now.as_slice()) {
                    ([], now) => write!(f, "it is now signed with {} as well", now.join(", ")),
                    (previous, []) => {
                        write!(f, "it is no longer signed with {}", previous.join(", "))
                    }
                    (previous, now) => {
                        write!(
                            f,
                            "it was signed with {} and is now signed with {}",
                            previous.join(", "),
                            now.join(", ")
                        )
                    }
                }
            }
            EvidenceChange::TierChanged { previous, now } => {
                write!(f, "its tier was `{previous}` and is now `{now}`")
            }
        }
    }
}

/// The signers of releases only: sign-offs come and go with audits.
fn releases(evidence: &Evidence) -> Vec<SignedBy> {
    evidence.signers.iter().filter(|signer| !signer.is_audit).cloned().collect()
}

fn shown(signers: &[SignedBy]) -> String {
    let words: Vec<String> = signers
        .iter()
        .map(|signer| match &signer.identity {
            Some(identity) => format!("`{identity}` (key `{}`)", signer.key_id),
            None => format!("the key `{}`", signer.key_id),
        })
        .collect();
    words.join(" and ")
}
