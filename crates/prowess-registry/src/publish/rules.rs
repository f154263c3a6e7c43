//! The rules of names and versions, and what a skill shows after one of its versions has changed.

use prowess_policy::{Grant, GrantSource};
use prowess_server::database::{DatabaseError, Transaction};
use prowess_server::values;
use semver::{BuildMetadata, Version};

use crate::error::{Outcome, RegistryError};
use crate::facts::VersionFacts;
use crate::names::{SkillId, canonical, reserved_prefix};
use crate::store::{SkillSummary, VersionRow, VersionState, find_namespace, versions_of};

/// The version without build metadata: two that differ in it alone are the same (attack registry-C21).
pub(crate) fn comparable(version: &Version) -> String {
    Version { build: BuildMetadata::EMPTY, ..version.clone() }.to_string()
}

/// GAIA-2.3-2: a reserved prefix needs a publisher that is allowed to use it.
pub(crate) fn check_prefix(transaction: &mut Transaction<'_>, skill: &SkillId) -> Outcome<()> {
    let names = [skill.name.as_str(), skill.namespace.as_str()];
    let Some(prefix) = names.into_iter().find_map(reserved_prefix) else { return Ok(()) };
    let allowed = transaction.query_optional(
        "SELECT prefix FROM reserved_prefixes WHERE prefix = ?1 AND namespace = ?2",
        &values![prefix, skill.namespace.as_str()],
    )?;
    if allowed.is_some() {
        return Ok(());
    }
    let message = format!(
        "names that begin with `{prefix}` are reserved, and `{}` may not use them",
        skill.namespace
    );
    Err(RegistryError::refused("reserved-prefix", message)
        .advice("choose another name, or ask an administrator of the registry to allow the prefix"))
}

/// Attack registry-A3: a name that another has in another spelling is taken.
pub(crate) fn check_spelling(transaction: &mut Transaction<'_>, skill: &SkillId) -> Outcome<()> {
    let rows = transaction.query(
        "SELECT s.namespace, s.name FROM skills s JOIN namespaces n ON n.name = s.namespace
         WHERE s.canonical = ?1 AND s.name <> ?2 AND s.state <> 'deleted'
         AND (s.namespace = ?3 OR (s.state = 'visible' AND s.private = 0 AND n.private = 0))
         ORDER BY s.id LIMIT 1",
        &values![canonical(skill.name.as_str()), skill.name.as_str(), skill.namespace.as_str()],
    )?;
    let Some(row) = rows.first() else { return Ok(()) };
    let (namespace, name): (String, String) = (row.get("namespace")?, row.get("name")?);
    let message = format!("`{}` differs from `{namespace}/{name}` in hyphens only", skill.name);
    Err(RegistryError::conflict("name-taken", message).advice("choose another name"))
}

/// Attack registry-A5: what was published before is never published again, and a deleted name stays with its owner for a
/// while.
pub(crate) fn check_retired(
    transaction: &mut Transaction<'_>,
    skill: &SkillId,
    version: &Version,
    now: i64,
) -> Outcome<()> {
    let names = values![skill.namespace.as_str(), skill.name.as_str()];
    let retired = transaction.query_optional(
        "SELECT owner, available FROM retired_names WHERE namespace = ?1 AND name = ?2",
        &names,
    )?;
    if let Some(row) = retired {
        let (owner, available): (String, i64) = (row.get("owner")?, row.get("available")?);
        let current =
            find_namespace(transaction, skill.namespace.as_str())?.map(|found| found.owner);
        if current.as_deref() != Some(&owner) && now < available {
            let message = format!(
                "`{skill}` was deleted; the name is free again on {}",
                crate::time::date(available)
            );
            return Err(RegistryError::refused("name-cooling-down", message));
        }
    }
    let used = transaction.query_optional(
        "SELECT comparable FROM retired_versions WHERE namespace = ?1 AND name = ?2 AND comparable = ?3",
        &values![skill.namespace.as_str(), skill.name.as_str(), comparable(version)],
    )?;
    if used.is_some() {
        let message = format!("`{skill}` {version} was published before and was deleted");
        return Err(
            RegistryError::conflict("version-exists", message).advice("publish another version")
        );
    }
    Ok(())
}

/// GAIA §10.2, attack registry-C23: a patch release asks for nothing that the release before it did not.
pub(crate) fn check_patch(
    facts: &VersionFacts,
    version: &Version,
    known: &[VersionRow],
) -> Outcome<()> {
    let before = known
        .iter()
        .filter(|it| it.state == VersionState::Visible && it.version < *version)
        .filter(|it| (it.version.major, it.version.minor) == (version.major, version.minor))
        .max_by(|one, other| one.version.cmp(&other.version));
    let Some(before) = before.filter(|it| it.version.patch != version.patch) else { return Ok(()) };
    let granted = grants(&before.facts);
    let wider: Vec<String> = grants(facts)
        .into_iter()
        .filter(|wanted| !granted.iter().any(|known| known.covers(wanted)))
        .map(|wanted| format!("`{wanted}`"))
        .collect();
    let mut wider = wider;
    if facts.hooks > before.facts.hooks {
        wider.push("hooks".to_owned());
    }
    if wider.is_empty() {
        return Ok(());
    }
    let message = format!(
        "{version} is a patch release, but asks for more than {} did: {}",
        before.version,
        wider.join(", ")
    );
    Err(RegistryError::conflict("wider-permissions", message)
        .advice("publish it as a new major version, so that users are asked"))
}

fn grants(facts: &VersionFacts) -> Vec<Grant> {
    let source = GrantSource::NetworkFlag;
    let parsed = facts.permissions.iter().filter_map(|text| Grant::parse(text, &source).ok());
    parsed.flatten().collect()
}

/// Brings what lists show about a skill up to date with its versions.
pub fn refresh_skill(
    transaction: &mut Transaction<'_>,
    skill: i64,
    now: i64,
) -> Result<(), DatabaseError> {
    let versions = versions_of(transaction, skill)?;
    let Some(latest) = latest(&versions) else {
        transaction.execute(
            "UPDATE skills SET latest = NULL, listed = 0 WHERE id = ?1",
            &values![skill],
        )?;
        return Ok(());
    };
    let facts = &latest.facts;
    let summary = SkillSummary {
        description: facts.description.clone(),
        kind: facts.kind.clone(),
        dialect: facts.dialect.clone(),
        category: facts.category.clone(),
        tags: facts.tags.clone(),
        license: facts.license.clone(),
        tier: latest.tier.clone(),
        signed: latest.signatures.iter().any(|it| it.standing == "trusted" && !it.is_audit),
        permissions: facts.permissions.clone(),
        agents: facts.agents.clone(),
        tools: facts.tools.iter().map(|tool| tool.name.clone()).collect(),
        published: latest.published,
        yanked: latest.yanked,
    };
    let summary = serde_json::to_string(&summary).unwrap_or_else(|_| "{}".to_owned());
    transaction.execute(
        "UPDATE skills SET latest = ?1, listed = ?2, summary = ?3, updated = ?4 WHERE id = ?5",
        &values![latest.version.to_string(), latest.revoked.is_none(), summary, now, skill],
    )?;
    Ok(())
}

/// The version that a skill is shown with: the highest that can be installed, releases before pre-releases; if none can be,
/// the highest that could be once, so that its revocation can be seen.
fn latest(versions: &[VersionRow]) -> Option<&VersionRow> {
    let visible = versions.iter().filter(|it| it.state == VersionState::Visible);
    visible.max_by_key(|it| {
        (it.revoked.is_none(), !it.yanked, it.version.pre.is_empty(), it.version.clone())
    })
}
