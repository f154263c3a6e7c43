//! Takes an upload: checks it, stores it and adds it as pending.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use prowess_core::ProblemKind;
use prowess_package::digest::Sha256Digest;
use prowess_package::name::SkillName;
use prowess_server::accounts::user_by_id;
use prowess_server::database::{Connection, DatabaseError, Transaction};
use prowess_server::values;
use serde::Serialize;

use super::check::{CheckedSkill, CheckedUpload, check_upload};
use super::rules::{check_patch, check_prefix, check_retired, check_spelling, comparable};
use super::similar::resembles;
use crate::actor::{Action, Actor};
use crate::audit::record;
use crate::blobs::BlobKind;
use crate::error::{Outcome, RegistryError};
use crate::names::{ANONYMOUS, SkillId, canonical};
use crate::registry::Registry;
use crate::settings::RegistrySettings;
use crate::store::{
    Role, SkillRow, VersionState, find_namespace, find_skill, next_number, record_change, role_in,
    versions_of,
};

/// What is published.
#[derive(Clone, Debug)]
pub struct Upload {
    /// The namespace, as the client wrote it.
    pub namespace: String,
    /// The archive, or a text without front matter.
    pub package: Bytes,
}

/// A published version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The namespace: `anon` for prose.
    pub namespace: String,
    /// The name: the hash of prose.
    pub name: String,
    /// The version; `0.0.0` for prose, which has none.
    pub version: String,
    /// The SHA-256 of the stored bytes.
    pub sha256: String,
    /// `visible`, `held` or `pending`.
    pub state: &'static str,
    /// Why it is held.
    pub reason: Option<String>,
    /// The tier.
    pub tier: String,
}

impl Registry {
    /// Publishes an upload. When this returns, the version is visible, held for review, or refused with the findings of the
    /// scan; if the process ends before, the next start continues.
    pub async fn publish(&self, actor: &Actor, upload: Upload) -> Outcome<Receipt> {
        let namespace: SkillName = upload.namespace.trim().parse().map_err(
            |error: prowess_package::name::SkillNameError| {
                RegistryError::invalid("invalid-namespace", error.to_string())
            },
        )?;
        // Everything that the archive can be refused for costs nothing but time, so it is done first.
        let package = upload.package;
        let checked = {
            let namespace = namespace.clone();
            tokio::task::spawn_blocking(move || check_upload(&namespace, &package)).await
        };
        let checked = checked.map_err(|_| {
            RegistryError::of(
                "check-failed",
                ProblemKind::Internal,
                "the package could not be checked",
            )
        })?;
        match checked? {
            CheckedUpload::Prose { text, title } => self.publish_prose(actor, text, title).await,
            CheckedUpload::Skill(skill) => self.publish_skill(actor, *skill).await,
        }
    }

    async fn publish_skill(&self, actor: &Actor, skill: CheckedSkill) -> Outcome<Receipt> {
        actor.require(Action::Publish, Some(&skill.id))?;
        let submission = Arc::new(Submission {
            actor: actor.clone(),
            skill,
            now: self.now(),
            settings: self.settings().clone(),
        });
        // All rules are checked once before the archive is stored, in a transaction that is rolled back, so that what is
        // refused stores nothing, and once with the version.
        let (rehearsed, registry) = (Arc::clone(&submission), self.clone());
        let rehearsal = self.database().write(move |transaction| {
            match add(transaction, &rehearsed, &registry) {
                Ok(_) => Err::<(), Rehearsal>(Rehearsal::Passed),
                Err(error) => Err(Rehearsal::Refused(error)),
            }
        });
        if let Err(Rehearsal::Refused(error)) = rehearsal.await {
            return Err(error);
        }
        let (sha256, archive) = (submission.skill.sha256, submission.skill.archive.clone());
        self.blobs().put(BlobKind::Package, sha256, archive.clone()).await?;
        let (adding, registry) = (Arc::clone(&submission), self.clone());
        let version =
            self.database().write(move |transaction| add(transaction, &adding, &registry)).await?;
        // Another node may have swept an archive of the same bytes in the moment before the version named it.
        if self.blobs().find(BlobKind::Package, sha256).await?.is_none() {
            self.blobs().put(BlobKind::Package, sha256, archive).await?;
        }
        self.process_own(version).await?;
        self.receipt(&submission.skill.id, version).await
    }

    /// What became of a version.
    async fn receipt(&self, skill: &SkillId, version: i64) -> Outcome<Receipt> {
        let id = skill.clone();
        let found = self.database().read(move |connection| {
            let row = find_skill(connection, &id)?.ok_or_else(RegistryError::no_skill)?;
            let versions = versions_of(connection, row.id)?;
            let found = versions.into_iter().find(|it| it.id == version);
            Ok::<_, RegistryError>((row, found.ok_or_else(RegistryError::no_version)?))
        });
        let (row, found) = found.await?;
        if found.state == VersionState::Refused {
            let findings = found.scan.map(|scan| scan.findings).unwrap_or_default();
            let what = format!("{skill} {}", found.version);
            let refused: Vec<_> = findings
                .into_iter()
                .filter(|it| it.severity == "critical" || it.category == "secret")
                .collect();
            if refused.is_empty() {
                let reason = found.state_reason.unwrap_or_else(|| "it was refused".to_owned());
                return Err(RegistryError::invalid(
                    "refused",
                    format!("`{what}` is refused: {reason}"),
                ));
            }
            return Err(RegistryError::Scan { what, findings: refused });
        }
        let state = match (found.state, row.state) {
            (VersionState::Visible, crate::store::SkillState::Visible) => "visible",
            (VersionState::Pending, _) => "pending",
            _ => "held",
        };
        let reason = found.state_reason.or(row.state_reason).filter(|_| state == "held");
        Ok(Receipt {
            namespace: skill.namespace.to_string(),
            name: skill.name.to_string(),
            version: found.version.to_string(),
            sha256: found.sha256,
            state,
            reason,
            tier: found.tier,
        })
    }

    /// SRT §8: prose lives under `anon/{sha256}`. Publishing the same text again changes nothing.
    async fn publish_prose(&self, actor: &Actor, text: String, title: String) -> Outcome<Receipt> {
        actor.require(Action::Publish, None)?;
        let sha256 = Sha256Digest::of(text.as_bytes());
        let size = text.len();
        self.blobs().put(BlobKind::Prose, sha256, Bytes::from(text)).await?;
        let (actor, now) = (actor.clone(), self.now());
        let added = self.database().write(move |transaction| {
            require_enabled(transaction, &actor)?;
            transaction.execute(
                "INSERT INTO prose (sha256, title, size, publisher_id, published) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (sha256) DO NOTHING",
                &values![sha256.to_string(), &title, size, &actor.user_id, now],
            )?;
            Ok::<_, RegistryError>(())
        });
        added.await?;
        Ok(Receipt {
            namespace: ANONYMOUS.to_owned(),
            name: sha256.to_string(),
            version: "0.0.0".to_owned(),
            sha256: sha256.to_string(),
            state: "visible",
            reason: None,
            tier: "experimental".to_owned(),
        })
    }
}

/// How a transaction ended that is never committed.
enum Rehearsal {
    Passed,
    Refused(RegistryError),
}

impl From<DatabaseError> for Rehearsal {
    fn from(error: DatabaseError) -> Self {
        Self::Refused(error.into())
    }
}

struct Submission {
    actor: Actor,
    skill: CheckedSkill,
    now: i64,
    settings: RegistrySettings,
}

/// Attack registry-D14: an account that was disabled during the upload publishes nothing.
fn require_enabled(connection: &mut Connection<'_>, actor: &Actor) -> Outcome<()> {
    match user_by_id(connection, &actor.user_id)? {
        Some(user) if !user.disabled => Ok(()),
        _ => Err(RegistryError::refused("account-disabled", "this account is disabled")),
    }
}

/// Whether the user may publish to the namespace at all. A namespace of somebody else and one that nobody has are refused
/// with the same words.
fn may_publish(connection: &mut Connection<'_>, submission: &Submission) -> Outcome<()> {
    let Submission { actor, skill, .. } = submission;
    require_enabled(connection, actor)?;
    let namespace = skill.id.namespace.as_str();
    let is_own = namespace == actor.username && find_namespace(connection, namespace)?.is_none();
    let role = role_in(connection, namespace, &actor.user_id)?;
    if is_own || role >= Some(Role::Publisher) {
        return Ok(());
    }
    let message = format!("you can't publish to the namespace `{namespace}`");
    Err(RegistryError::refused("not-your-namespace", message).advice(format!(
        "publish to `{}`, or ask an owner of the namespace for an invitation",
        actor.username
    )))
}

/// Adds a pending version with its job, and returns its number.
fn add(
    transaction: &mut Transaction<'_>,
    submission: &Submission,
    registry: &Registry,
) -> Outcome<i64> {
    let Submission { actor, skill, now, settings } = submission;
    may_publish(transaction, submission)?;
    crate::manage::ensure_own_namespace(
        transaction,
        actor,
        skill.id.namespace.as_str(),
        *now,
        settings,
    )?;
    check_prefix(transaction, &skill.id)?;
    let row = match find_skill(transaction, &skill.id)? {
        Some(row) => row,
        None => add_skill(transaction, submission)?,
    };
    check_retired(transaction, &skill.id, &skill.version, *now)?;
    let known = versions_of(transaction, row.id)?;
    let same = known.iter().find(|it| comparable(&it.version) == comparable(&skill.version));
    match same {
        Some(refused) if refused.state == VersionState::Refused => {
            transaction
                .execute("DELETE FROM dependencies WHERE version_id = ?1", &values![refused.id])?;
            transaction.execute("DELETE FROM versions WHERE id = ?1", &values![refused.id])?;
        }
        // GAIX-24, attack registry-C21. The same bytes again are what a client sends whose connection broke.
        Some(known) => {
            let message = format!("`{}` {} is published already", skill.id, known.version);
            return Err(RegistryError::conflict("version-exists", message)
                .advice("raise `version` and publish again"));
        }
        None => {}
    }
    check_patch(&skill.facts, &skill.version, &known)?;
    let id = next_number(transaction, "version")?;
    transaction.execute(
        "INSERT INTO versions (id, skill_id, version, comparable, state, sha256, content_digest, size, unpacked, manifest,
         files, facts, provenance, tier, publisher_id, publisher, published)
         VALUES (?1, ?2, ?3, ?4, 'pending', ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, 'experimental', ?13, ?14, ?15)",
        &values![
            id,
            row.id,
            skill.version.to_string(),
            comparable(&skill.version),
            skill.sha256.to_string(),
            skill.content_digest.to_string(),
            skill.archive.len(),
            skill.unpacked,
            &skill.manifest,
            json(&skill.files),
            json(&skill.facts),
            actor.provenance.as_ref().map(json),
            &actor.user_id,
            &actor.username,
            *now
        ],
    )?;
    for dependency in &skill.facts.dependencies {
        transaction.execute(
            "INSERT INTO dependencies (version_id, namespace, name, version_range, required)
             VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (version_id, namespace, name) DO NOTHING",
            &values![
                id,
                &dependency.namespace,
                &dependency.name,
                &dependency.range,
                dependency.required
            ],
        )?;
    }
    transaction.execute(
        "INSERT INTO jobs (version_id, attempts, leased_until, created) VALUES (?1, 1, ?2, ?3)",
        // The node that adds a version works on it; another one must not begin meanwhile.
        &values![id, *now + i64::from(settings.job_seconds), *now],
    )?;
    let subject = format!("{} {}", skill.id, skill.version);
    record(
        registry,
        transaction,
        actor,
        "version.publish",
        &subject,
        serde_json::json!({ "sha256": skill.sha256.to_string() }),
    )?;
    Ok(id)
}

/// Adds a skill of a new name, held if the name or the account needs a review.
fn add_skill(transaction: &mut Transaction<'_>, submission: &Submission) -> Outcome<SkillRow> {
    let Submission { actor, skill, now, settings } = submission;
    check_spelling(transaction, &skill.id)?;
    limit_new_names(transaction, submission)?;
    let resembled = resembles(transaction, &skill.id, settings.popular_downloads)?;
    let reason = match resembled {
        Some(target) => Some(format!("name.typosquat:{target}")),
        None if *now - actor.created < settings.hold_account_seconds => {
            Some("account.new".to_owned())
        }
        None => None,
    };
    let state = if reason.is_some() { "held" } else { "visible" };
    let id = next_number(transaction, "skill")?;
    transaction.execute(
        "INSERT INTO skills (id, namespace, name, canonical, state, state_reason, summary, created, updated, sequence)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, '{}', ?7, ?7, 0)",
        &values![
            id,
            skill.id.namespace.as_str(),
            skill.id.name.as_str(),
            canonical(skill.id.name.as_str()),
            state,
            reason,
            *now
        ],
    )?;
    transaction.execute(
        "INSERT INTO new_names (user_id, published, skill_id) VALUES (?1, ?2, ?3)",
        &values![&actor.user_id, *now, id],
    )?;
    record_change(transaction, id, *now)?;
    find_skill(transaction, &skill.id)?.ok_or_else(RegistryError::no_skill)
}

/// Attack registry-D2: only so many new names in a time. It is counted in the transaction, so that neither several nodes nor
/// several uploads at once get around it.
fn limit_new_names(transaction: &mut Transaction<'_>, submission: &Submission) -> Outcome<()> {
    let Submission { actor, now, settings, .. } = submission;
    let since = now - i64::from(settings.new_name_seconds);
    let rows = transaction.query(
        "SELECT published FROM new_names WHERE user_id = ?1 AND published > ?2 ORDER BY published DESC LIMIT 1000",
        &values![&actor.user_id, since],
    )?;
    let most = usize::try_from(settings.new_names).unwrap_or(usize::MAX);
    if rows.len() < most {
        return Ok(());
    }
    // A name becomes free when the oldest of those that count is old enough.
    let oldest: i64 = match most.checked_sub(1).and_then(|at| rows.get(at)) {
        Some(row) => row.get("published")?,
        None => *now,
    };
    let wait = (oldest + i64::from(settings.new_name_seconds) - now).max(1);
    let retry_after = Duration::from_secs(u64::try_from(wait).unwrap_or(1));
    let message = format!(
        "at most {} new names can be published in {} minutes",
        settings.new_names,
        settings.new_name_seconds / 60
    );
    Err(RegistryError::of(
        "too-many-names",
        ProblemKind::RateLimited { retry_after: Some(retry_after) },
        message,
    ))
}

/// A value as the text of a column.
fn json<T: Serialize>(value: &T) -> String {
    // Our own types have text keys only, so this does not fail.
    serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned())
}
