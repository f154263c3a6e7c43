//! One skill with its versions, and what is known about a version.

use prowess_server::database::{Connection, DatabaseError};
use prowess_server::values;
use semver::Version;

use super::lists::SkillCard;
use super::trust_score::{TrustScore, TrustSubject, trust_score};
use crate::error::Outcome;
use crate::facts::{DependencyFacts, FileFacts, VersionFacts};
use crate::names::SkillId;
use crate::provenance::Provenance;
use crate::registry::Registry;
use crate::scan_report::StoredScan;
use crate::signatures::StoredSignature;
use crate::store::{Role, SkillRow, VersionRow, VersionState, find_namespace, versions_of};
use crate::viewer::Viewer;

/// Maximum number of dependents that are listed.
const MAX_DEPENDENTS: usize = 50;
/// How many days the chart of downloads shows.
const CHART_DAYS: i64 = 90;
/// Seconds in a day.
const DAY: i64 = 86_400;

/// A skill.
#[derive(Clone, Debug, PartialEq)]
pub struct SkillView {
    /// What lists show.
    pub card: SkillCard,
    /// The identifier of its owner.
    pub owner: String,
    /// The name that the namespace chose to show.
    pub publisher_name: Option<String>,
    /// How many other public skills its namespace has.
    pub other_skills: i64,
    /// Its state, for its publisher and moderators: `visible`, `held`, `hidden`.
    pub state: &'static str,
    /// Why it is held or hidden.
    pub state_reason: Option<String>,
    /// The role of the viewer in its namespace.
    pub viewer_role: Option<Role>,
    /// Whether the viewer administers the registry.
    pub viewer_is_administrator: bool,
    /// Its versions, the newest first. Publishers and moderators also see those that are not visible.
    pub versions: Vec<VersionView>,
    /// Downloads for each of the last 90 days, the oldest first.
    pub downloads_per_day: Vec<DayCount>,
    /// How many ratings of 1, 2, 3, 4 and 5 there are.
    pub histogram: [i64; 5],
    /// The number of skills that depend on it.
    pub dependent_count: i64,
    /// At most 50 of them.
    pub dependents: Vec<DependentView>,
    /// Why it can be trusted, line by line; of the chosen version.
    pub trust: Option<TrustScore>,
    /// The chosen version: the requested one, or else the newest.
    pub chosen: Option<VersionView>,
    /// The dependencies of the chosen version.
    pub dependencies: Vec<DependencyView>,
    /// The number of its last change.
    pub sequence: i64,
}

/// A version.
#[derive(Clone, Debug, PartialEq)]
pub struct VersionView {
    /// The version.
    pub version: Version,
    /// How far it has come.
    pub state: VersionState,
    /// Why it is held or refused.
    pub state_reason: Option<String>,
    /// The hash of the archive.
    pub sha256: String,
    /// The digest that signatures cover.
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
    /// Its signatures.
    pub signatures: Vec<StoredSignature>,
    /// Which CI run published it.
    pub provenance: Option<Provenance>,
    /// Whether `repository` is the one that the provenance proves (attack registry-A11).
    pub repository_verified: bool,
    /// The tier.
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
    pub publisher: String,
    /// When.
    pub published: i64,
}

/// Downloads of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayCount {
    /// The start of the day, in seconds since 1970.
    pub day: i64,
    /// The downloads.
    pub downloads: i64,
}

/// A dependency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependencyView {
    /// What was declared.
    pub declared: DependencyFacts,
    /// Whether this registry has such a skill that the viewer may see.
    pub exists: bool,
}

/// A skill that depends on another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DependentView {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The range that it asks for.
    pub range: String,
}

impl VersionView {
    /// Whether it can be had: visible and not revoked.
    pub fn is_available(&self) -> bool {
        self.state == VersionState::Visible && self.revoked.is_none()
    }

    /// The view of a row.
    pub fn of(row: VersionRow) -> Self {
        let repository_verified =
            is_verified(row.facts.repository.as_deref(), row.provenance.as_ref());
        Self {
            version: row.version,
            state: row.state,
            state_reason: row.state_reason,
            sha256: row.sha256,
            content_digest: row.content_digest,
            size: row.size,
            unpacked: row.unpacked,
            manifest: row.manifest,
            files: row.files,
            facts: row.facts,
            scan: row.scan,
            signatures: row.signatures,
            provenance: row.provenance,
            repository_verified,
            tier: row.tier,
            yanked: row.yanked,
            yank_reason: row.yank_reason,
            revoked: row.revoked,
            revoked_at: row.revoked_at,
            publisher: row.publisher,
            published: row.published,
        }
    }
}

/// A link to a repository is verified if a CI run of that repository published the version.
fn is_verified(repository: Option<&str>, provenance: Option<&Provenance>) -> bool {
    let (Some(repository), Some(provenance)) = (repository, provenance) else { return false };
    let Ok(address) = url::Url::parse(repository) else { return false };
    let path = address.path().trim_matches('/').trim_end_matches(".git");
    // An issuer vouches for repositories on its own host: `token.actions.githubusercontent.com` is the one of GitHub.
    let issuer = url::Url::parse(&provenance.issuer).ok();
    let issuer = issuer.as_ref().and_then(url::Url::host_str).unwrap_or_default();
    let host = address.host_str().unwrap_or_default();
    let is_its_host =
        host == issuer || (host == "github.com" && issuer == "token.actions.githubusercontent.com");
    is_its_host && path.eq_ignore_ascii_case(&provenance.repository)
}

impl Registry {
    /// A skill with its versions. `version` chooses one; the newest otherwise. `None` if there is no such skill or version
    /// that the viewer may see.
    pub async fn skill(
        &self,
        skill: &SkillId,
        version: Option<&Version>,
        viewer: &Viewer,
    ) -> Outcome<Option<SkillView>> {
        let (skill, version, viewer) = (skill.clone(), version.cloned(), viewer.clone());
        let now = self.now();
        let found = self
            .database()
            .read(move |connection| read_skill(connection, &skill, version.as_ref(), &viewer, now));
        Ok(found.await?)
    }

    /// One version of a skill, if the viewer may see it.
    pub async fn version(
        &self,
        skill: &SkillId,
        version: &Version,
        viewer: &Viewer,
    ) -> Outcome<Option<VersionView>> {
        let (skill, version, viewer) = (skill.clone(), version.clone(), viewer.clone());
        let found = self.database().read(move |connection| {
            let Some(row) = viewer.find(connection, &skill)? else { return Ok(None) };
            let sees_all = viewer.is_administrator
                || viewer.role(connection, skill.namespace.as_str())?.is_some();
            let found = crate::store::find_version(connection, row.id, &version)?;
            let found = found.filter(|it| sees_all || it.state == VersionState::Visible);
            Ok::<_, DatabaseError>(found.map(VersionView::of))
        });
        Ok(found.await?)
    }
}

fn read_skill(
    connection: &mut Connection<'_>,
    skill: &SkillId,
    version: Option<&Version>,
    viewer: &Viewer,
    now: i64,
) -> Result<Option<SkillView>, DatabaseError> {
    let Some(row) = viewer.find(connection, skill)? else { return Ok(None) };
    let role = viewer.role(connection, skill.namespace.as_str())?;
    let sees_all = viewer.is_administrator || role.is_some();
    let mut versions: Vec<VersionView> = versions_of(connection, row.id)?
        .into_iter()
        .filter(|it| sees_all || it.state == VersionState::Visible)
        .map(VersionView::of)
        .collect();
    versions.sort_by(|one, other| other.version.cmp(&one.version));
    let wanted = match version {
        Some(version) => Some(version.clone()),
        None => row.latest.as_ref().and_then(|text| text.parse().ok()),
    };
    let chosen = match &wanted {
        Some(wanted) => versions.iter().find(|it| it.version == *wanted).cloned(),
        None => versions.first().cloned(),
    };
    if version.is_some() && chosen.is_none() {
        return Ok(None);
    }
    let namespace = find_namespace(connection, skill.namespace.as_str())?;
    let since = namespace.as_ref().map_or(row.created, |found| found.created);
    let (dependent_count, dependents) = dependents(connection, skill)?;
    let dependencies = match &chosen {
        Some(chosen) => dependencies(connection, &chosen.facts.dependencies, viewer)?,
        None => Vec::new(),
    };
    let other_skills = count_public(connection, skill.namespace.as_str())? - 1;
    let trust = chosen.as_ref().map(|chosen| {
        trust_score(&TrustSubject {
            version: chosen,
            earlier: versions
                .iter()
                .filter(|it| it.version < chosen.version)
                .max_by(|one, other| one.version.cmp(&other.version)),
            publisher_since: since,
            other_skills,
            downloads: row.downloads,
            rating_hundredths: row.rating_hundredths(),
            rating_count: row.rating_count,
            now,
        })
    });
    Ok(Some(SkillView {
        card: SkillCard::of(&row, since),
        owner: row.owner.clone(),
        publisher_name: namespace.and_then(|found| found.display_name),
        other_skills,
        state: row.state.as_str(),
        state_reason: row.state_reason.clone().filter(|_| sees_all),
        viewer_role: role,
        viewer_is_administrator: viewer.is_administrator,
        downloads_per_day: downloads_per_day(connection, &row, now)?,
        histogram: histogram(connection, row.id)?,
        dependent_count,
        dependents,
        trust,
        chosen,
        dependencies,
        versions,
        sequence: row.sequence,
    }))
}

fn count_public(connection: &mut Connection<'_>, namespace: &str) -> Result<i64, DatabaseError> {
    let row = connection.query_one(
        "SELECT COUNT(*) AS total FROM skills
         WHERE namespace = ?1 AND state = 'visible' AND private = 0 AND listed = 1",
        &values![namespace],
    )?;
    row.get("total")
}

/// The downloads of the last days, with a zero for each day without one.
fn downloads_per_day(
    connection: &mut Connection<'_>,
    skill: &SkillRow,
    now: i64,
) -> Result<Vec<DayCount>, DatabaseError> {
    let today = now / DAY;
    let first = today - CHART_DAYS + 1;
    let rows = connection.query(
        "SELECT day, downloads FROM download_days WHERE skill_id = ?1 AND day >= ?2 ORDER BY day",
        &values![skill.id, first],
    )?;
    let mut days: Vec<DayCount> =
        (first..=today).map(|day| DayCount { day: day * DAY, downloads: 0 }).collect();
    for row in rows {
        let (day, downloads): (i64, i64) = (row.get("day")?, row.get("downloads")?);
        if let Some(found) = days.iter_mut().find(|found| found.day == day * DAY) {
            found.downloads = downloads;
        }
    }
    Ok(days)
}

fn histogram(connection: &mut Connection<'_>, skill: i64) -> Result<[i64; 5], DatabaseError> {
    let rows = connection.query(
        "SELECT rating, COUNT(*) AS total FROM ratings WHERE skill_id = ?1 AND weight > 0 GROUP BY rating",
        &values![skill],
    )?;
    let mut histogram = [0; 5];
    for row in rows {
        let rating: usize = row.get("rating")?;
        if let Some(place) = histogram.get_mut(rating.saturating_sub(1)) {
            *place = row.get("total")?;
        }
    }
    Ok(histogram)
}

fn dependents(
    connection: &mut Connection<'_>,
    skill: &SkillId,
) -> Result<(i64, Vec<DependentView>), DatabaseError> {
    let condition = "FROM dependencies d JOIN versions v ON v.id = d.version_id JOIN skills s ON s.id = v.skill_id
         JOIN namespaces n ON n.name = s.namespace
         WHERE d.namespace = ?1 AND d.name = ?2 AND v.version = s.latest AND v.state = 'visible'
         AND s.state = 'visible' AND s.private = 0 AND n.private = 0";
    let values = values![skill.namespace.as_str(), skill.name.as_str()];
    let total = connection.query_one(&format!("SELECT COUNT(*) AS total {condition}"), &values)?;
    let rows = connection.query(
        &format!(
            "SELECT s.namespace AS owner, s.name AS skill, d.version_range {condition}
             ORDER BY s.downloads DESC, s.id LIMIT {MAX_DEPENDENTS}"
        ),
        &values,
    )?;
    let listed: Result<Vec<DependentView>, DatabaseError> = rows
        .iter()
        .map(|row| {
            Ok(DependentView {
                namespace: row.get("owner")?,
                name: row.get("skill")?,
                range: row.get("version_range")?,
            })
        })
        .collect();
    Ok((total.get("total")?, listed?))
}

fn dependencies(
    connection: &mut Connection<'_>,
    declared: &[DependencyFacts],
    viewer: &Viewer,
) -> Result<Vec<DependencyView>, DatabaseError> {
    declared
        .iter()
        .map(|dependency| {
            let exists = match SkillId::new(&dependency.namespace, &dependency.name) {
                Ok(skill) => viewer.find(connection, &skill)?.is_some(),
                Err(_) => false,
            };
            Ok(DependencyView { declared: dependency.clone(), exists })
        })
        .collect()
}
