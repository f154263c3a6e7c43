//! What has changed between the signatures of one version and those of the next.

use std::collections::BTreeSet;
use std::fmt;

use prowess_policy::Tier;

/// What was proved about a version, as a lock file remembers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Evidence {
    /// The tier that was proved.
    pub tier: Tier,
    /// Who signed, trusted or not.
    pub signers: Vec<SignedBy>,
}

/// Somebody who signed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SignedBy {
    /// How; a word, so that a lock file of a newer version can be compared too.
    pub scheme: String,
    /// With which key.
    pub key_id: String,
    /// Under which name.
    pub identity: Option<String>,
    /// Whether it was an auditor's sign-off rather than a release.
    pub is_audit: bool,
}

/// Something that should not change unseen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// It was signed and no longer is (attack registry-C3).
    SignatureLost {
        /// Who signed before.
        previous: Vec<SignedBy>,
    },
    /// Somebody else signs now (attack registry-C4).
    SignerChanged {
        /// Who signed before.
        previous: Vec<SignedBy>,
        /// Who signs now.
        now: Vec<SignedBy>,
    },
    /// The same key signs in another way.
    SchemeChanged {
        /// Ways that are gone.
        previous: Vec<String>,
        /// Ways that are new.
        now: Vec<String>,
    },
    /// More or less is proved.
    TierChanged {
        /// What was proved before.
        previous: Tier,
        /// What is proved now.
        now: Tier,
    },
}

/// Compares what was proved about the last version with what is proved about the next. No change is an empty list; what was unsigned may become signed by anybody.
pub fn compare(previous: &Evidence, now: &Evidence) -> Vec<Change> {
    let mut changes = Vec::new();
    let before = releases(previous);
    let after = releases(now);
    let keys = |signers: &[SignedBy]| -> BTreeSet<String> {
        signers.iter().map(|signer| signer.key_id.clone()).collect()
    };
    if !before.is_empty() {
        if after.is_empty() {
            changes.push(Change::SignatureLost { previous: before });
        } else if keys(&before).is_disjoint(&keys(&after)) {
            changes.push(Change::SignerChanged { previous: before, now: after });
        } else {
            let schemes = |signers: &[SignedBy]| -> BTreeSet<String> {
                signers.iter().map(|signer| signer.scheme.clone()).collect()
            };
            let (old, new) = (schemes(&before), schemes(&after));
            if old != new {
                changes.push(Change::SchemeChanged {
                    previous: old.difference(&new).cloned().collect(),
                    now: new.difference(&old).cloned().collect(),
                });
            }
        }
    }
    if previous.tier != now.tier {
        changes.push(Change::TierChanged { previous: previous.tier, now: now.tier });
    }
    changes
}

impl Change {
    /// Whether the user must agree before anything is installed: losing a signature, a signer or a tier is what a thief's version looks like.
    pub fn needs_consent(&self) -> bool {
        match self {
            Change::SignatureLost { .. } | Change::SignerChanged { .. } => true,
            Change::SchemeChanged { .. } => false,
            // A higher tier gives more without asking (GAIA §3.3).
            Change::TierChanged { .. } => true,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::SignatureLost { previous } => {
                write!(f, "it was signed by {} and is not signed now", shown(previous))
            }
            Change::SignerChanged { previous, now } => {
                write!(
                    f,
                    "it was signed by {} and is now signed by {}",
                    shown(previous),
                    shown(now)
                )
            }
            Change::SchemeChanged { previous, now } => {
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
            Change::TierChanged { previous, now } => {
                write!(f, "its tier was `{previous}` and is now `{now}`")
            }
        }
    }
}

/// Sign-offs come and go with audits; who publishes is what is remembered.
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
