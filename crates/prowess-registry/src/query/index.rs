//! The sparse index, and the metadata that installing clients read: few columns and no large texts.

use prowess_package::digest::Sha256Digest;
use prowess_registry_protocol::{IndexHeader, IndexLine, RegistryIndex, SkillInfo};
use prowess_server::database::{Connection, DatabaseError};
use prowess_server::values;
use semver::Version;

use super::lists::SkillCard;
use crate::error::{Outcome, RegistryError};
use crate::names::SkillId;
use crate::registry::Registry;
use crate::store::SkillRow;
use crate::viewer::{Viewer, is_public};

/// The time of expiry moves in such steps, so that an unchanged index keeps its `ETag` for a while.
const EXPIRY_STEP: i64 = 6 * 3600;

/// An index as clients get it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexBody {
    /// The lines.
    pub text: String,
    /// Whether everybody may see it.
    pub is_public: bool,
}

/// The metadata of a skill.
#[derive(Clone, Debug, PartialEq)]
pub struct SkillOverview {
    /// What clients read.
    pub info: SkillInfo,
    /// What lists show.
    pub card: SkillCard,
    /// Whether everybody may see it.
    pub is_public: bool,
}

/// What is needed to serve the archive of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveView {
    /// The number of the skill, for counting downloads.
    pub skill_id: i64,
    /// The version.
    pub version: Version,
    /// The hash of the archive.
    pub sha256: Sha256Digest,
    /// Whether everybody may see it.
    pub is_public: bool,
}

impl Registry {
    /// The index of a skill.
    pub async fn index(&self, skill: &SkillId, viewer: &Viewer) -> Outcome<Option<IndexBody>> {
        let (skill, viewer, now) = (skill.clone(), viewer.clone(), self.now());
        let valid = self.settings().index_seconds;
        let found = self.database().read(move |connection| {
            let Some(row) = viewer.find(connection, &skill)? else { return Ok(None) };
            let lines = lines(connection, &row, None)?;
            if lines.is_empty() {
                return Ok(None);
            }
            let expires = (now / EXPIRY_STEP + 1) * EXPIRY_STEP + valid;
            let header = IndexHeader {
                sequence: u64::try_from(row.sequence).unwrap_or_default(),
                expires: u64::try_from(expires).ok(),
            };
            let index = RegistryIndex { head: Some(header), lines };
            Ok::<_, DatabaseError>(Some(IndexBody {
                text: index.write(&skill.to_string()),
                is_public: is_public(&row),
            }))
        });
        Ok(found.await?)
    }

    /// The metadata of a skill. If all its versions were revoked, that is the answer.
    pub async fn overview(
        &self,
        skill: &SkillId,
        viewer: &Viewer,
    ) -> Outcome<Option<SkillOverview>> {
        let (skill, viewer) = (skill.clone(), viewer.clone());
        let found = self.database().read(move |connection| {
            let Some(row) = viewer.find(connection, &skill)? else { return Ok(None) };
            let versions = connection.query(
                "SELECT version, revoked FROM versions WHERE skill_id = ?1 AND state = 'visible' ORDER BY id",
                &values![row.id],
            )?;
            let mut names = Vec::with_capacity(versions.len());
            let mut revoked = None;
            for version in &versions {
                match version.get::<Option<String>>("revoked")? {
                    Some(reason) => revoked = Some(reason),
                    None => names.push(version.get::<String>("version")?),
                }
            }
            match revoked {
                Some(reason) if names.is_empty() => {
                    return Err(RegistryError::Revoked { what: skill.to_string(), reason });
                }
                _ if names.is_empty() => return Ok(None),
                _ => {}
            }
            let since = connection.query_one(
                "SELECT created FROM namespaces WHERE name = ?1",
                &values![skill.namespace.as_str()],
            )?;
            let info = SkillInfo {
                namespace: skill.namespace.clone(),
                name: skill.name.clone(),
                owner: Some(row.owner.clone()),
                latest: row.latest.clone(),
                versions: names,
            };
            let card = SkillCard::of(&row, since.get("created")?);
            Ok::<_, RegistryError>(Some(SkillOverview { info, card, is_public: is_public(&row) }))
        });
        found.await
    }

    /// The line of one version, as in the index.
    pub async fn index_line(
        &self,
        skill: &SkillId,
        version: &Version,
        viewer: &Viewer,
    ) -> Outcome<Option<IndexLine>> {
        let (skill, version, viewer) = (skill.clone(), version.clone(), viewer.clone());
        let found = self.database().read(move |connection| {
            let Some(row) = viewer.find(connection, &skill)? else { return Ok(None) };
            Ok::<_, DatabaseError>(lines(connection, &row, Some(&version))?.pop())
        });
        Ok(found.await?)
    }

    /// The versions with an archive of this hash that the viewer may see.
    pub async fn resolve(&self, sha256: &str, viewer: &Viewer) -> Outcome<Vec<(SkillId, String)>> {
        let (sha256, viewer) = (sha256.to_owned(), viewer.clone());
        let found = self.database().read(move |connection| {
            let rows = connection.query(
                "SELECT s.namespace, s.name, v.version FROM versions v JOIN skills s ON s.id = v.skill_id
                 WHERE v.sha256 = ?1 AND v.state = 'visible' AND v.revoked IS NULL ORDER BY v.id LIMIT 100",
                &values![&sha256],
            )?;
            let mut found = Vec::new();
            for row in rows {
                let (namespace, name): (String, String) = (row.get("namespace")?, row.get("name")?);
                let Ok(skill) = SkillId::new(&namespace, &name) else { continue };
                if viewer.find(connection, &skill)?.is_some() {
                    found.push((skill, row.get("version")?));
                }
            }
            Ok::<_, DatabaseError>(found)
        });
        Ok(found.await?)
    }

    /// The archive of a version, or of the newest one. A revoked one is an error.
    pub async fn archive(
        &self,
        skill: &SkillId,
        version: Option<&Version>,
        viewer: &Viewer,
    ) -> Outcome<Option<ArchiveView>> {
        let (skill, version, viewer) = (skill.clone(), version.cloned(), viewer.clone());
        let found = self.database().read(move |connection| {
            let Some(row) = viewer.find(connection, &skill)? else { return Ok(None) };
            let Some(wanted) =
                version.as_ref().map(ToString::to_string).or_else(|| row.latest.clone())
            else {
                return Ok(None);
            };
            let version = connection.query_optional(
                "SELECT version, sha256, revoked FROM versions
                 WHERE skill_id = ?1 AND version = ?2 AND state = 'visible'",
                &values![row.id, &wanted],
            )?;
            let Some(version) = version else { return Ok(None) };
            if let Some(reason) = version.get::<Option<String>>("revoked")? {
                return Err(RegistryError::Revoked { what: format!("{skill} {wanted}"), reason });
            }
            Ok::<_, RegistryError>(Some(ArchiveView {
                skill_id: row.id,
                version: wanted.parse().map_err(|_| RegistryError::no_version())?,
                sha256: crate::registry::digest(&version.get::<String>("sha256")?)?,
                is_public: is_public(&row),
            }))
        });
        found.await
    }
}

/// The lines of a skill's visible versions, in the order of publication.
fn lines(
    connection: &mut Connection<'_>,
    skill: &SkillRow,
    version: Option<&Version>,
) -> Result<Vec<IndexLine>, DatabaseError> {
    let damaged = |column: &str| DatabaseError::Type {
        column: column.to_owned(),
        expected: "what this registry wrote",
    };
    let only = version.map(ToString::to_string);
    let rows = connection.query(
        "SELECT id, version, sha256, yanked, revoked, tier, published FROM versions
         WHERE skill_id = ?1 AND state = 'visible' AND version = COALESCE(CAST(?2 AS TEXT), version) ORDER BY id LIMIT 10000",
        &values![skill.id, only],
    )?;
    let dependencies = connection.query(
        "SELECT d.version_id, d.namespace, d.name, d.version_range FROM dependencies d
         JOIN versions v ON v.id = d.version_id WHERE v.skill_id = ?1 AND d.required = 1
         ORDER BY d.version_id, d.namespace, d.name",
        &values![skill.id],
    )?;
    let mut needs: std::collections::HashMap<i64, Vec<(String, String)>> =
        std::collections::HashMap::new();
    for row in &dependencies {
        let (namespace, name): (String, String) = (row.get("namespace")?, row.get("name")?);
        let range: String = row.get("version_range")?;
        let range = if range.trim().is_empty() { "*".to_owned() } else { range };
        needs
            .entry(row.get("version_id")?)
            .or_default()
            .push((format!("{namespace}/{name}"), range));
    }
    rows.iter()
        .map(|row| {
            let (version, sha256): (String, String) = (row.get("version")?, row.get("sha256")?);
            let id: i64 = row.get("id")?;
            Ok(IndexLine {
                version: version.parse().map_err(|_| damaged("version"))?,
                dependencies: needs.remove(&id).unwrap_or_default(),
                yanked: row.get("yanked")?,
                revoked: row.get("revoked")?,
                tier: Some(row.get("tier")?),
                sha256: sha256.parse().map_err(|_| damaged("sha256"))?,
                published: Some(row.get("published")?),
                owner: Some(skill.owner.clone()),
            })
        })
        .collect()
}
