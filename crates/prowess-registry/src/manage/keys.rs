//! Signing keys of namespaces, and signatures that are added to published versions (GAIA §4.4).

use base64::Engine as _;
use prowess_server::database::DatabaseError;
use prowess_server::values;
use prowess_trust::{Material, Role as KeyRole, Scheme};
use semver::Version;
use serde_json::json;

use super::namespaces::require_owner;
use super::skills::find_managed;
use crate::actor::{Action, Actor};
use crate::audit::record;
use crate::error::{Outcome, RegistryError};
use crate::names::SkillId;
use crate::publish::{keys_of, refresh_skill, tier_of};
use crate::query::require_moderator;
use crate::registry::Registry;
use crate::signatures::{AddedSignature, EVERY_NAMESPACE, StoredSignature, check_signatures};
use crate::store::{Role, VersionState, find_version, record_change};

/// Maximum number of keys of a namespace.
const MAX_KEYS: i64 = 50;
/// Maximum size of a signature that is added.
const MAX_SIGNATURE_BYTES: usize = 1 << 20;
/// Maximum number of signatures that are added to a version.
const MAX_ADDED: usize = 10;

impl Registry {
    /// Registers a key of a namespace, or an auditor's or root key of the whole registry (administrators). Returns its
    /// identifier.
    pub async fn add_key(
        &self,
        actor: &Actor,
        namespace: Option<&str>,
        role: KeyRole,
        material: &str,
    ) -> Outcome<String> {
        match namespace {
            Some(_) => actor.require(Action::Manage, None)?,
            None => require_moderator(actor)?,
        }
        if namespace.is_some() && role != KeyRole::Publisher {
            return Err(RegistryError::refused(
                "key-role",
                "the keys of a namespace are publishers' keys",
            ));
        }
        let key = Material::read(material).map_err(|error| {
            RegistryError::invalid("invalid-key", format!("the key is not valid: {error}"))
        })?;
        let (id, material) = (key.id(), key.text());
        let (actor, now, registry) = (actor.clone(), self.now(), self.clone());
        let namespace = namespace.unwrap_or(EVERY_NAMESPACE).to_owned();
        let key_id = id.clone();
        let added = self.database().write(move |transaction| {
            if namespace != EVERY_NAMESPACE {
                require_owner(transaction, &actor, &namespace)?;
            }
            let known = transaction.query_one(
                "SELECT COUNT(*) AS total FROM publisher_keys WHERE namespace = ?1",
                &values![&namespace],
            )?;
            if known.get::<i64>("total")? >= MAX_KEYS {
                return Err(RegistryError::refused("too-many-keys", format!("a namespace has at most {MAX_KEYS} keys")));
            }
            transaction.execute(
                "INSERT INTO publisher_keys (namespace, key_id, role, material, added) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (namespace, key_id) DO NOTHING",
                &values![&namespace, &key_id, role.as_str(), &material, now],
            )?;
            let details = json!({ "key": &key_id, "role": role.as_str() });
            Ok::<_, RegistryError>(record(&registry, transaction, &actor, "key.add", &namespace, details)?)
        });
        added.await?;
        Ok(id)
    }

    /// Revokes a key from now on.
    pub async fn revoke_key(
        &self,
        actor: &Actor,
        namespace: Option<&str>,
        key_id: &str,
    ) -> Outcome<()> {
        match namespace {
            Some(_) => actor.require(Action::Manage, None)?,
            None => require_moderator(actor)?,
        }
        let (actor, now, registry) = (actor.clone(), self.now(), self.clone());
        let (namespace, key_id) =
            (namespace.unwrap_or(EVERY_NAMESPACE).to_owned(), key_id.to_owned());
        let revoked = self.database().write(move |transaction| {
            if namespace != EVERY_NAMESPACE {
                require_owner(transaction, &actor, &namespace)?;
            }
            transaction.execute(
                "UPDATE publisher_keys SET revoked = COALESCE(revoked, ?1) WHERE namespace = ?2 AND key_id = ?3",
                &values![now, &namespace, &key_id],
            )?;
            let details = json!({ "key": &key_id });
            Ok::<_, RegistryError>(record(&registry, transaction, &actor, "key.revoke", &namespace, details)?)
        });
        revoked.await
    }

    /// Adds a signature to a published version, and returns the tier that it has now. The archive stays as it is. A signature
    /// of a key that counts promotes the version: the publisher's to community, with an auditor's to verified.
    pub async fn add_signature(
        &self,
        actor: &Actor,
        skill: &SkillId,
        version: &Version,
        file: &str,
        content: &[u8],
    ) -> Outcome<String> {
        actor.require(Action::Publish, Some(skill))?;
        if content.len() > MAX_SIGNATURE_BYTES || Scheme::of_file(file, content).is_none() {
            let message = "this is not a signature: its file is named as `prowess sign` names it, such as `SIGNATURE.json`";
            return Err(RegistryError::invalid("not-a-signature", message));
        }
        let (id, wanted, who) = (skill.clone(), version.clone(), actor.clone());
        let found = self.database().write(move |transaction| {
            let row = match find_managed(transaction, &who, &id, Role::Publisher) {
                // Auditors of the registry sign what others publish.
                Err(_) if who.is_administrator => {
                    who.viewer().find(transaction, &id)?.ok_or_else(RegistryError::no_skill)?
                }
                found => found?,
            };
            let found = find_version(transaction, row.id, &wanted)?;
            let found = found.filter(|it| it.state == VersionState::Visible);
            let found = found.ok_or_else(RegistryError::no_version)?;
            Ok::<_, RegistryError>((row, found, keys_of(transaction, id.namespace.as_str())?))
        });
        let (row, found, keys) = found.await?;
        let tree = self.tree(&found.sha256).await?;
        if tree.get(file).is_some() {
            return Err(RegistryError::conflict(
                "signature-exists",
                format!("`{file}` is in the package already"),
            ));
        }
        let mut added: Vec<StoredSignature> = found
            .signatures
            .iter()
            .filter(|it| it.added.is_some() && it.path != file)
            .cloned()
            .collect();
        if added.len() >= MAX_ADDED {
            return Err(RegistryError::refused(
                "too-many-signatures",
                format!("a version has at most {MAX_ADDED} added signatures"),
            ));
        }
        let now = self.now();
        added.push(StoredSignature {
            path: file.to_owned(),
            added: Some(AddedSignature {
                content: base64::engine::general_purpose::STANDARD.encode(content),
                added: now,
                added_by: actor.username.clone(),
            }),
            ..StoredSignature::default()
        });
        let checking = (skill.clone(), version.to_string());
        let checked = tokio::task::spawn_blocking(move || {
            check_signatures(&checking.0, &checking.1, &tree, &added, &keys, now)
        });
        let proof = checked.await.map_err(|_| RegistryError::no_version())?;
        if let Some(refused) = proof.refused.first() {
            return Err(RegistryError::invalid("invalid-signature", refused.clone()));
        }
        if proof.signatures.iter().all(|it| it.path != file) {
            return Err(RegistryError::invalid(
                "unknown-signer",
                "the signature proves nothing: its signer is unknown",
            )
            .advice("register the key first"));
        }
        let scan = found.scan.clone().unwrap_or_default();
        let tier = tier_of(&scan, &proof).to_owned();
        let (actor, registry, subject) =
            (actor.clone(), self.clone(), format!("{skill} {version}"));
        let (new_tier, file) = (tier.clone(), file.to_owned());
        let stored = self.database().write(move |transaction| {
            let signatures = serde_json::to_string(&proof.signatures).unwrap_or_default();
            transaction.execute(
                "UPDATE versions SET signatures = ?1, tier = ?2 WHERE id = ?3",
                &values![signatures, &new_tier, found.id],
            )?;
            refresh_skill(transaction, row.id, now)?;
            record_change(transaction, row.id, now)?;
            let details = json!({ "file": &file, "tier": &new_tier });
            record(&registry, transaction, &actor, "version.sign", &subject, details)?;
            Ok::<_, DatabaseError>(())
        });
        stored.await?;
        self.wake_search();
        Ok(tier)
    }
}
