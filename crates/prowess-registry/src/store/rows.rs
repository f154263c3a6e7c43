//! Rows of skills and versions.

use prowess_server::database::{Connection, DatabaseError, Row};
use prowess_server::values;
use semver::Version;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::facts::{FileFacts, VersionFacts};
use crate::names::SkillId;
use crate::provenance::Provenance;
use crate::scan_report::StoredScan;
use crate::signatures::StoredSignature;

/// Who sees a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SkillState {
    /// Everybody who may see its namespace.
    Visible,
    /// Its publisher and moderators: it waits for a review.
    Held,
    /// Its publisher and moderators: a moderator or reports have hidden it.
    Hidden,
    /// Nobody: the name is free again after its cool-down.
    Deleted,
}

/// How far a version has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VersionState {
    /// It was uploaded and is not yet scanned.
    Pending,
    /// It can be installed.
    Visible,
    /// A moderator has to look at it.
    Held,
    /// It was refused. It was never visible.
    Refused,
}

/// What lists and search show about a skill: the facts of its newest visible version.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SkillSummary {
    /// The description.
    pub description: String,
    /// The kind of skill.
    pub kind: String,
    /// The dialect.
    pub dialect: String,
    /// The category.
    pub category: String,
    /// The tags.
    pub tags: Vec<String>,
    /// The licence.
    pub license: Option<String>,
    /// The tier.
    pub tier: String,
    /// Whether a valid signature of the publisher covers it.
    pub signed: bool,
    /// What it asks for.
    pub permissions: Vec<String>,
    /// The agents that it names.
    pub agents: Vec<String>,
    /// The names of its tools.
    pub tools: Vec<String>,
    /// When the version was published.
    pub published: i64,
    /// Why nobody should install it, for the registry's own lists: yanked.
    pub yanked: bool,
}

/// A skill.
#[derive(Clone, Debug, PartialEq)]
pub struct SkillRow {
    /// The number of the row.
    pub id: i64,
    /// Its name.
    pub skill: SkillId,
    /// The stable identifier of the owner of the namespace.
    pub owner: String,
    /// Who sees it.
    pub state: SkillState,
    /// Why it is held or hidden: `name.typosquat:acme/weather`, `reports`.
    pub state_reason: Option<String>,
    /// Whether only members of the namespace see it.
    pub private: bool,
    /// The newest version that can be installed.
    pub latest: Option<String>,
    /// What lists show.
    pub summary: SkillSummary,
    /// The registry's badge.
    pub badge: Option<String>,
    /// Why it should not be used any more, and what instead.
    pub deprecated: Option<String>,
    /// When its first version was published.
    pub created: i64,
    /// When it changed.
    pub updated: i64,
    /// The number of its last change.
    pub sequence: i64,
    /// Downloads, one for each identity and day.
    pub downloads: i64,
    /// How many ratings count.
    pub rating_count: i64,
    /// The sum of those.
    pub rating_sum: i64,
}

/// A version.
#[derive(Clone, Debug, PartialEq)]
pub struct VersionRow {
    /// The number of the row.
    pub id: i64,
    /// The skill.
    pub skill_id: i64,
    /// The version.
    pub version: Version,
    /// How far it has come.
    pub state: VersionState,
    /// Why it is held or refused.
    pub state_reason: Option<String>,
    /// The hash of the archive.
    pub sha256: String,
    /// The digest of its files, which signatures cover.
    pub content_digest: String,
    /// The size of the archive.
    pub size: u64,
    /// The size of its files.
    pub unpacked: u64,
    /// The text of `SKILL.md`.
    pub manifest: String,
    /// Its files.
    pub files: Vec<FileFacts>,
    /// Its facts.
    pub facts: VersionFacts,
    /// The result of the scan.
    pub scan: Option<StoredScan>,
    /// Its signatures, those in the archive and those that were added later.
    pub signatures: Vec<StoredSignature>,
    /// Which CI run published it.
    pub provenance: Option<Provenance>,
    /// What signatures prove.
    pub tier: String,
    /// Whether its publisher yanked it.
    pub yanked: bool,
    /// Why.
    pub yank_reason: Option<String>,
    /// Why the registry revoked it.
    pub revoked: Option<String>,
    /// When.
    pub revoked_at: Option<i64>,
    /// Who published it.
    pub publisher_id: String,
    /// Their name.
    pub publisher: String,
    /// When.
    pub published: i64,
}

/// The columns that [`SkillRow`] needs, of `skills s JOIN namespaces n`.
pub const SKILL_COLUMNS: &str = "s.id, s.namespace, s.name, n.owner, s.state, s.state_reason,
    s.private + n.private AS private, s.latest, s.summary, s.badge, s.deprecated, s.created, s.updated, s.sequence,
    s.downloads, s.rating_count, s.rating_sum";

/// The columns that [`VersionRow`] needs, of `versions`.
pub const VERSION_COLUMNS: &str = "id, skill_id, version, state, state_reason, sha256, content_digest, size, unpacked,
    manifest, files, facts, scan, signatures, provenance, tier, yanked, yank_reason, revoked, revoked_at, publisher_id,
    publisher, published";

impl SkillState {
    /// The word in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Visible => "visible",
            Self::Held => "held",
            Self::Hidden => "hidden",
            Self::Deleted => "deleted",
        }
    }

    fn read(text: &str) -> Self {
        match text {
            "visible" => Self::Visible,
            "held" => Self::Held,
            "deleted" => Self::Deleted,
            _ => Self::Hidden,
        }
    }
}

impl VersionState {
    /// The word in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Visible => "visible",
            Self::Held => "held",
            Self::Refused => "refused",
        }
    }

    fn read(text: &str) -> Self {
        match text {
            "visible" => Self::Visible,
            "held" => Self::Held,
            "pending" => Self::Pending,
            _ => Self::Refused,
        }
    }
}

impl SkillRow {
    /// Reads a row with [`SKILL_COLUMNS`].
    pub fn read(row: &Row) -> Result<Self, DatabaseError> {
        let (namespace, name): (String, String) = (row.get("namespace")?, row.get("name")?);
        let state: String = row.get("state")?;
        let private: i64 = row.get("private")?;
        Ok(Self {
            id: row.get("id")?,
            skill: SkillId::new(&namespace, &name).map_err(|_| wrong("name"))?,
            owner: row.get("owner")?,
            state: SkillState::read(&state),
            state_reason: row.get("state_reason")?,
            private: private > 0,
            latest: row.get("latest")?,
            summary: json(row, "summary")?,
            badge: row.get("badge")?,
            deprecated: row.get("deprecated")?,
            created: row.get("created")?,
            updated: row.get("updated")?,
            sequence: row.get("sequence")?,
            downloads: row.get("downloads")?,
            rating_count: row.get("rating_count")?,
            rating_sum: row.get("rating_sum")?,
        })
    }

    /// The mean rating in hundredths.
    pub fn rating_hundredths(&self) -> Option<i64> {
        (self.rating_count > 0).then(|| self.rating_sum * 100 / self.rating_count)
    }
}

impl VersionRow {
    /// Reads a row with [`VERSION_COLUMNS`].
    pub fn read(row: &Row) -> Result<Self, DatabaseError> {
        let (version, state): (String, String) = (row.get("version")?, row.get("state")?);
        Ok(Self {
            id: row.get("id")?,
            skill_id: row.get("skill_id")?,
            version: version.parse().map_err(|_| wrong("version"))?,
            state: VersionState::read(&state),
            state_reason: row.get("state_reason")?,
            sha256: row.get("sha256")?,
            content_digest: row.get("content_digest")?,
            size: row.get("size")?,
            unpacked: row.get("unpacked")?,
            manifest: row.get("manifest")?,
            files: json(row, "files")?,
            facts: json(row, "facts")?,
            scan: optional_json(row, "scan")?,
            signatures: optional_json(row, "signatures")?.unwrap_or_default(),
            provenance: optional_json(row, "provenance")?,
            tier: row.get("tier")?,
            yanked: row.get("yanked")?,
            yank_reason: row.get("yank_reason")?,
            revoked: row.get("revoked")?,
            revoked_at: row.get("revoked_at")?,
            publisher_id: row.get("publisher_id")?,
            publisher: row.get("publisher")?,
            published: row.get("published")?,
        })
    }

    /// Whether it can be chosen for a new installation.
    pub fn is_installable(&self) -> bool {
        self.state == VersionState::Visible && self.revoked.is_none() && !self.yanked
    }
}

/// A skill by its name, whoever may see it; not if it was deleted.
pub fn find_skill(
    connection: &mut Connection<'_>,
    skill: &SkillId,
) -> Result<Option<SkillRow>, DatabaseError> {
    let row = connection.query_optional(
        &format!(
            "SELECT {SKILL_COLUMNS} FROM skills s JOIN namespaces n ON n.name = s.namespace
             WHERE s.namespace = ?1 AND s.name = ?2 AND s.state <> 'deleted'"
        ),
        &values![skill.namespace.as_str(), skill.name.as_str()],
    )?;
    row.as_ref().map(SkillRow::read).transpose()
}

/// A version of a skill, whatever its state.
pub fn find_version(
    connection: &mut Connection<'_>,
    skill: i64,
    version: &Version,
) -> Result<Option<VersionRow>, DatabaseError> {
    let row = connection.query_optional(
        &format!("SELECT {VERSION_COLUMNS} FROM versions WHERE skill_id = ?1 AND version = ?2"),
        &values![skill, version.to_string()],
    )?;
    row.as_ref().map(VersionRow::read).transpose()
}

/// All versions of a skill, whatever their state, in the order of publication.
pub fn versions_of(
    connection: &mut Connection<'_>,
    skill: i64,
) -> Result<Vec<VersionRow>, DatabaseError> {
    let rows = connection.query(
        &format!("SELECT {VERSION_COLUMNS} FROM versions WHERE skill_id = ?1 ORDER BY id"),
        &values![skill],
    )?;
    rows.iter().map(VersionRow::read).collect()
}

fn json<T: DeserializeOwned>(row: &Row, column: &'static str) -> Result<T, DatabaseError> {
    let text: String = row.get(column)?;
    serde_json::from_str(&text).map_err(|_| wrong(column))
}

fn optional_json<T: DeserializeOwned>(
    row: &Row,
    column: &'static str,
) -> Result<Option<T>, DatabaseError> {
    let text: Option<String> = row.get(column)?;
    text.map(|text| serde_json::from_str(&text).map_err(|_| wrong(column))).transpose()
}

fn wrong(column: &'static str) -> DatabaseError {
    DatabaseError::Type { column: column.to_owned(), expected: "what this registry wrote" }
}
