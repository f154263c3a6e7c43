//! Verifying skills that are not installed: folders, archives, and what was fetched.

use std::collections::BTreeSet;

use prowess_core::{Problem, ProblemKind};
use prowess_package::digest::Sha256Digest;
use prowess_package::name::SkillName;
use prowess_package::path::PackagePath;
use prowess_package::tree::Tree;
use prowess_store::install::{contents_of, signatures_of};
use prowess_store::metadata::{MetadataError, read_metadata};
use prowess_store::source::Pinned;
use prowess_trust::{
    Attestation, Contents, InvalidSignature, KeyFolder, KeyStanding, Material, Role, Scheme,
    Signature, TrustStore, TrustedKey, Verdict, attest,
};

use super::PackageManager;

/// A skill in somebody's hands, with its signatures compared with its files.
#[derive(Clone, Debug)]
pub struct HeldSkill {
    /// The skill's name.
    pub name: String,
    /// Its version, if it declares one.
    pub version: Option<String>,
    /// How the user named it.
    pub reference: String,
    /// Where it comes from.
    pub pinned: Pinned,
    /// How many files it has, signatures included.
    pub files: usize,
    /// The signatures that hold.
    pub signatures: Vec<HeldSignature>,
    /// What all signatures come to.
    pub attestation: Attestation,
    /// Files of the skill that no signature which holds covers. Signatures themselves are left out.
    pub uncovered: Vec<String>,
}

/// A signature that holds.
#[derive(Clone, Debug)]
pub struct HeldSignature {
    /// Who signed, when, and which files.
    pub verdict: Verdict,
    /// What the signer is to the user.
    pub standing: SignerStanding,
}

/// What a signer is to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignerStanding {
    /// The trust store knows the key.
    Known(KeyStanding),
    /// It is a key of the user's own that the trust store doesn't know; its name.
    Own(String),
}

impl HeldSkill {
    /// Whether every signature holds. A skill without one is fine, too.
    pub fn is_ok(&self) -> bool {
        self.attestation.refused.is_empty()
    }

    /// Whether a signer whom the user trusts has signed it, and nothing is wrong with any signature.
    pub fn is_trusted(&self) -> bool {
        let is_trusted = |signature: &HeldSignature| {
            matches!(signature.standing, SignerStanding::Known(KeyStanding::Trusted(_)))
        };
        self.is_ok() && self.signatures.iter().any(is_trusted)
    }
}

impl PackageManager {
    /// Checks the signatures of files with the keys that the user trusts, and with the user's own. `known_as` is what the
    /// skill is called where it comes from.
    pub fn held(
        &self,
        known_as: &str,
        reference: &str,
        tree: &Tree,
        pinned: &Pinned,
    ) -> Result<HeldSkill, Problem> {
        let hashes = tree.hashes();
        let signatures = signatures_of(tree);
        // A name that can't be installed does not keep a skill from being read.
        let metadata = read_metadata(tree, known_as, None).or_else(|error| match error {
            MetadataError::Name(_) => read_metadata(tree, known_as, Some(&placeholder())),
            other => Err(other),
        });
        let contents = match &metadata {
            Ok(metadata) => contents_of(metadata, &hashes, pinned.namespace()),
            // Nothing says what it is called, so its signatures can only be about what its source calls it.
            Err(_) => {
                let mut contents = Contents::new(known_as, "0.0.0");
                let digest = |(path, hash): (&PackagePath, &Sha256Digest)| {
                    (path.as_str().to_owned(), *hash.as_bytes())
                };
                contents.files = hashes.iter().map(digest).collect();
                contents
            }
        };
        let mut attestation = attest(&contents, &signatures, &self.trust_store()?, self.now());
        let own = self.own_signatures(&contents, &signatures, &mut attestation)?;
        let mut held: Vec<HeldSignature> = attestation
            .evidence
            .iter()
            .filter(|verdict| own.iter().all(|(own, _)| own.path != verdict.path))
            .map(|verdict| HeldSignature {
                verdict: verdict.clone(),
                standing: SignerStanding::Known(verdict.standing.clone()),
            })
            .collect();
        held.extend(
            own.into_iter().map(|(verdict, name)| HeldSignature {
                verdict,
                standing: SignerStanding::Own(name),
            }),
        );
        held.sort_by(|one, other| one.verdict.path.cmp(&other.verdict.path));
        let covered: BTreeSet<&String> =
            held.iter().flat_map(|signature| &signature.verdict.covered).collect();
        let is_signature = |path: &str| {
            signatures.iter().any(|signature| {
                signature.path == path && Scheme::of_file(path, &signature.bytes).is_some()
            })
        };
        let uncovered: Vec<String> = contents
            .files
            .keys()
            .filter(|path| !covered.contains(path) && !is_signature(path))
            .cloned()
            .collect();
        let version = metadata.as_ref().ok().filter(|metadata| metadata.declares_version);
        Ok(HeldSkill {
            name: contents.name,
            version: version.map(|metadata| metadata.version.to_string()),
            reference: reference.to_owned(),
            pinned: pinned.clone(),
            files: hashes.len(),
            signatures: held,
            attestation,
            uncovered,
        })
    }

    /// Signatures by keys of the user's own that the trust store doesn't know. One that does not hold is refused, like one
    /// by a trusted key: without the public key nobody could tell.
    fn own_signatures(
        &self,
        contents: &Contents,
        signatures: &[Signature],
        attestation: &mut Attestation,
    ) -> Result<Vec<(Verdict, String)>, Problem> {
        let keys = KeyFolder::new(self.key_folder()).list().map_err(|error| {
            Problem::new("key-folder-error", ProblemKind::Failed, error.to_string())
        })?;
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let mut own = TrustStore::empty();
        for key in &keys {
            own.add(TrustedKey::new(Material::Key(key.public.clone()), Role::Publisher));
        }
        let found = attest(contents, signatures, &own, self.now());
        let is_judged = |path: &str, attestation: &Attestation| {
            let is_known = |verdict: &Verdict| {
                verdict.path == path && verdict.standing != KeyStanding::Unknown
            };
            attestation.evidence.iter().any(is_known)
                || attestation.refused.iter().any(|refusal| refusal.path == path)
        };
        let mut verdicts = Vec::new();
        for verdict in found.evidence {
            let name = keys.iter().find(|key| key.public.id() == verdict.key_id);
            if let Some(key) = name
                && !is_judged(&verdict.path, attestation)
            {
                forget_warnings(attestation, &verdict.path);
                verdicts.push((verdict, key.name.to_string()));
            }
        }
        let refused: Vec<InvalidSignature> = found
            .refused
            .into_iter()
            .filter(|refusal| !is_judged(&refusal.path, attestation))
            .collect();
        for refusal in &refused {
            forget_warnings(attestation, &refusal.path);
        }
        attestation.refused.extend(refused);
        Ok(verdicts)
    }
}

/// The name of a skill whose own can't be installed, which nobody sees.
fn placeholder() -> SkillName {
    "skill".parse().expect("it is a name")
}

/// Removes what was said about a signature whose key turned out to be known.
fn forget_warnings(attestation: &mut Attestation, path: &str) {
    let start = format!("the signature `{path}` ");
    attestation.warnings.retain(|warning| !warning.starts_with(&start));
}
