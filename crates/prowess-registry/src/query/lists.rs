//! Lists of skills: the home page, all skills, feeds and the sitemap.

use std::collections::BTreeMap;

use prowess_server::database::{Connection, DatabaseError, Value};
use prowess_server::values;

use crate::error::{Outcome, RegistryError};
use crate::registry::Registry;
use crate::store::{SKILL_COLUMNS, SkillRow};
use crate::viewer::Viewer;

/// Maximum length of a list on the home page.
const HOME: usize = 8;
/// Maximum number of entries in a feed.
const FEED: usize = 50;
/// Maximum number of addresses in one sitemap.
const SITEMAP: usize = 50_000;
/// Maximum length of a page of a list.
pub(super) const MAX_PAGE: usize = 100;
/// A week, in seconds.
const WEEK: i64 = 7 * 86_400;
/// The condition for what everybody may see.
const PUBLIC: &str = "s.state = 'visible' AND s.private = 0 AND n.private = 0 AND s.listed = 1";

/// A skill in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct SkillCard {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The newest version.
    pub version: String,
    /// The description.
    pub description: String,
    /// The tier.
    pub tier: String,
    /// The registry's badge.
    pub badge: Option<String>,
    /// The category.
    pub category: String,
    /// The dialect.
    pub dialect: String,
    /// The kind.
    pub kind: String,
    /// The licence.
    pub license: Option<String>,
    /// The tags.
    pub tags: Vec<String>,
    /// What it asks for, as canonical permissions.
    pub permissions: Vec<String>,
    /// The agents that it names.
    pub agents: Vec<String>,
    /// Whether a valid signature covers it.
    pub signed: bool,
    /// Downloads, one for each identity and day.
    pub downloads: i64,
    /// When the newest version was published.
    pub published: i64,
    /// When the skill was first published.
    pub created: i64,
    /// When its namespace was made.
    pub publisher_since: i64,
    /// Why it should not be used any more.
    pub deprecated: Option<String>,
    /// The mean rating in hundredths.
    pub rating_hundredths: Option<i64>,
    /// How many ratings there are.
    pub rating_count: i64,
    /// Only its publisher and moderators see it: `held`, `hidden`, `private`.
    pub restricted: Option<&'static str>,
}

/// The lists of the home page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Home {
    /// By downloads.
    pub most_installed: Vec<SkillCard>,
    /// Signed ones, the newest first.
    pub new_and_signed: Vec<SkillCard>,
    /// By the time of the newest version.
    pub recently_updated: Vec<SkillCard>,
    /// Versions that were revoked in the last seven days.
    pub revoked_this_week: Vec<RevokedVersion>,
    /// Categories with the numbers of their skills.
    pub categories: Vec<CategoryCount>,
    /// How many public skills there are.
    pub total: i64,
}

/// A revoked version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevokedVersion {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The version.
    pub version: String,
    /// The reason.
    pub reason: String,
    /// When.
    pub revoked_at: i64,
}

/// A category and how many skills it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CategoryCount {
    /// The category.
    pub category: String,
    /// The number of public skills.
    pub skills: u64,
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct SkillList {
    /// The skills.
    pub skills: Vec<SkillCard>,
    /// What continues the list; opaque.
    pub next: Option<String>,
}

/// The order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillSort {
    /// The newest change first.
    Updated,
    /// The newest skill first.
    Created,
    /// The most downloaded first.
    Downloads,
}

/// A version in a feed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedEntry {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The version.
    pub version: String,
    /// The description.
    pub description: String,
    /// The tier.
    pub tier: String,
    /// When it was published.
    pub published: i64,
}

/// An address in the sitemap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SitemapEntry {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// When the skill changed.
    pub updated: i64,
}

impl SkillCard {
    /// The card of a skill. `publisher_since` is when its namespace was made.
    pub fn of(row: &SkillRow, publisher_since: i64) -> Self {
        let summary = &row.summary;
        Self {
            namespace: row.skill.namespace.to_string(),
            name: row.skill.name.to_string(),
            version: row.latest.clone().unwrap_or_default(),
            description: summary.description.clone(),
            tier: summary.tier.clone(),
            badge: row.badge.clone(),
            category: summary.category.clone(),
            dialect: summary.dialect.clone(),
            kind: summary.kind.clone(),
            license: summary.license.clone(),
            tags: summary.tags.clone(),
            permissions: summary.permissions.clone(),
            agents: summary.agents.clone(),
            signed: summary.signed,
            downloads: row.downloads,
            published: summary.published,
            created: row.created,
            publisher_since,
            deprecated: row.deprecated.clone(),
            rating_hundredths: row.rating_hundredths(),
            rating_count: row.rating_count,
            restricted: match row.state {
                crate::store::SkillState::Held => Some("held"),
                crate::store::SkillState::Hidden | crate::store::SkillState::Deleted => {
                    Some("hidden")
                }
                crate::store::SkillState::Visible if row.private => Some("private"),
                crate::store::SkillState::Visible => None,
            },
        }
    }
}

impl SkillSort {
    /// The column, which is compared together with the number of the row.
    fn column(self) -> &'static str {
        match self {
            Self::Updated => "updated",
            Self::Created => "created",
            Self::Downloads => "downloads",
        }
    }

    fn key(self, row: &SkillRow) -> i64 {
        match self {
            Self::Updated => row.updated,
            Self::Created => row.created,
            Self::Downloads => row.downloads,
        }
    }

    /// The word in cursors and queries.
    pub fn as_str(self) -> &'static str {
        self.column()
    }

    /// The order with this word.
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Updated, Self::Created, Self::Downloads]
            .into_iter()
            .find(|sort| sort.as_str() == text)
    }
}

impl Registry {
    /// The lists of the home page, which show public skills only.
    pub async fn home(&self) -> Outcome<Home> {
        let now = self.now();
        let home = self.database().read(move |connection| {
            let mut home = Home {
                most_installed: cards(connection, PUBLIC, "s.downloads DESC, s.id DESC", &[], HOME)?,
                recently_updated: cards(connection, PUBLIC, "s.updated DESC, s.id DESC", &[], HOME)?,
                ..Home::default()
            };
            // Signed skills are found among the newest; the summary is not a column that could be searched.
            let newest = cards(connection, PUBLIC, "s.created DESC, s.id DESC", &[], HOME * 25)?;
            home.new_and_signed = newest.into_iter().filter(|card| card.signed).take(HOME).collect();
            home.revoked_this_week = revoked_since(connection, now - WEEK)?;
            let row = connection.query_one(
                &format!(
                    "SELECT COUNT(*) AS total FROM skills s JOIN namespaces n ON n.name = s.namespace WHERE {PUBLIC}"
                ),
                &[],
            )?;
            home.total = row.get("total")?;
            Ok::<Home, DatabaseError>(home)
        });
        let mut home = home.await?;
        home.categories = self.categories();
        Ok(home)
    }

    /// A page of all skills that everybody may see.
    pub async fn list(
        &self,
        sort: SkillSort,
        cursor: Option<&str>,
        limit: usize,
    ) -> Outcome<SkillList> {
        let limit = limit.clamp(1, MAX_PAGE);
        let after = cursor.map(|cursor| parse_cursor(cursor, sort)).transpose()?;
        let listed = self.database().read(move |connection| {
            let column = sort.column();
            let (condition, values) = match after {
                None => (PUBLIC.to_owned(), Vec::new()),
                Some((key, id)) => (
                    format!("{PUBLIC} AND (s.{column} < ?1 OR (s.{column} = ?1 AND s.id < ?2))"),
                    values![key, id].to_vec(),
                ),
            };
            let order = format!("s.{column} DESC, s.id DESC");
            let page = RowPage { limit: limit + 1, offset: 0 };
            rows(connection, &condition, &order, &values, page)
        });
        let mut listed = listed.await?;
        let more = listed.len() > limit;
        listed.truncate(limit);
        let next = listed
            .last()
            .filter(|_| more)
            .map(|(row, _)| write_cursor(sort, sort.key(row), row.id));
        let skills = listed.iter().map(|(row, since)| SkillCard::of(row, *since)).collect();
        Ok(SkillList { skills, next })
    }

    /// The newest versions that everybody may see: of all skills, of a namespace, or of one skill.
    pub async fn feed(
        &self,
        namespace: Option<&str>,
        name: Option<&str>,
    ) -> Outcome<Vec<FeedEntry>> {
        let (namespace, name) = (namespace.map(str::to_owned), name.map(str::to_owned));
        let entries = self.database().read(move |connection| {
            let mut condition = format!("{PUBLIC} AND v.state = 'visible' AND v.revoked IS NULL");
            let mut values: Vec<Value> = Vec::new();
            for (column, text) in [("namespace", &namespace), ("name", &name)] {
                if let Some(text) = text {
                    values.push(text.into());
                    condition = format!("{condition} AND s.{column} = ?{}", values.len());
                }
            }
            let rows = connection.query(
                &format!(
                    "SELECT s.namespace, s.name, v.version, v.facts, v.tier, v.published
                     FROM versions v JOIN skills s ON s.id = v.skill_id JOIN namespaces n ON n.name = s.namespace
                     WHERE {condition} ORDER BY v.published DESC, v.id DESC LIMIT {FEED}"
                ),
                &values,
            )?;
            rows.iter()
                .map(|row| {
                    let facts: String = row.get("facts")?;
                    let facts: crate::facts::VersionFacts =
                        serde_json::from_str(&facts).unwrap_or_default();
                    Ok(FeedEntry {
                        namespace: row.get("namespace")?,
                        name: row.get("name")?,
                        version: row.get("version")?,
                        description: facts.description,
                        tier: row.get("tier")?,
                        published: row.get("published")?,
                    })
                })
                .collect::<Result<Vec<FeedEntry>, DatabaseError>>()
        });
        Ok(entries.await?)
    }

    /// The public skills after number `after`, for the sitemap: at most 50,000, and the number for the next page.
    pub async fn sitemap(&self, after: i64) -> Outcome<(Vec<SitemapEntry>, Option<i64>)> {
        let found = self.database().read(move |connection| {
            let rows = connection.query(
                &format!(
                    "SELECT s.id, s.namespace, s.name, s.updated FROM skills s JOIN namespaces n ON n.name = s.namespace
                     WHERE {PUBLIC} AND s.id > ?1 ORDER BY s.id LIMIT {SITEMAP}"
                ),
                &values![after],
            )?;
            let last = rows.last().map(|row| row.get::<i64>("id")).transpose()?;
            let entries: Result<Vec<SitemapEntry>, DatabaseError> = rows
                .iter()
                .map(|row| {
                    Ok(SitemapEntry {
                        namespace: row.get("namespace")?,
                        name: row.get("name")?,
                        updated: row.get("updated")?,
                    })
                })
                .collect();
            let entries = entries?;
            let next = last.filter(|_| entries.len() == SITEMAP);
            Ok::<_, DatabaseError>((entries, next))
        });
        Ok(found.await?)
    }

    /// The public skills of a bare name, as `namespace/name`, sorted (attack registry-A7).
    pub async fn candidates(&self, name: &str, viewer: &Viewer) -> Outcome<Vec<String>> {
        let (name, viewer) = (name.to_owned(), viewer.clone());
        let found = self.database().read(move |connection| {
            let rows = connection.query(
                "SELECT namespace FROM skills WHERE name = ?1 AND state <> 'deleted' ORDER BY namespace LIMIT 200",
                &values![&name],
            )?;
            let mut found = Vec::new();
            for row in rows {
                let namespace: String = row.get("namespace")?;
                let Ok(skill) = crate::names::SkillId::new(&namespace, &name) else { continue };
                if viewer.find(connection, &skill)?.is_some_and(|row| row.latest.is_some()) {
                    found.push(skill.to_string());
                }
            }
            Ok::<_, DatabaseError>(found)
        });
        Ok(found.await?)
    }

    fn categories(&self) -> Vec<CategoryCount> {
        let counted: BTreeMap<String, u64> = self.search_index().category_counts();
        counted.into_iter().map(|(category, skills)| CategoryCount { category, skills }).collect()
    }
}

/// Which rows of a result.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowPage {
    pub(super) limit: usize,
    pub(super) offset: usize,
}

/// Rows of skills with the time at which their namespaces were made.
pub(super) fn rows(
    connection: &mut Connection<'_>,
    condition: &str,
    order: &str,
    values: &[Value],
    page: RowPage,
) -> Result<Vec<(SkillRow, i64)>, DatabaseError> {
    let RowPage { limit, offset } = page;
    let rows = connection.query(
        &format!(
            "SELECT {SKILL_COLUMNS}, n.created AS since FROM skills s JOIN namespaces n ON n.name = s.namespace
             WHERE {condition} ORDER BY {order} LIMIT {limit} OFFSET {offset}"
        ),
        values,
    )?;
    rows.iter().map(|row| Ok((SkillRow::read(row)?, row.get("since")?))).collect()
}

/// Cards of skills.
pub(super) fn cards(
    connection: &mut Connection<'_>,
    condition: &str,
    order: &str,
    values: &[Value],
    limit: usize,
) -> Result<Vec<SkillCard>, DatabaseError> {
    let found = rows(connection, condition, order, values, RowPage { limit, offset: 0 })?;
    Ok(found.iter().map(|(row, since)| SkillCard::of(row, *since)).collect())
}

fn revoked_since(
    connection: &mut Connection<'_>,
    since: i64,
) -> Result<Vec<RevokedVersion>, DatabaseError> {
    let rows = connection.query(
        &format!(
            "SELECT s.namespace, s.name, v.version, v.revoked, v.revoked_at
             FROM versions v JOIN skills s ON s.id = v.skill_id JOIN namespaces n ON n.name = s.namespace
             WHERE v.revoked_at >= ?1 AND s.private = 0 AND n.private = 0 AND v.state = 'visible'
             ORDER BY v.revoked_at DESC LIMIT {HOME}"
        ),
        &values![since],
    )?;
    rows.iter()
        .map(|row| {
            Ok(RevokedVersion {
                namespace: row.get("namespace")?,
                name: row.get("name")?,
                version: row.get("version")?,
                reason: row.get("revoked")?,
                revoked_at: row.get("revoked_at")?,
            })
        })
        .collect()
}

/// A cursor names the order and the last entry. It is opaque for clients; one that was not written here is refused
/// (attack registry-D8).
fn write_cursor(sort: SkillSort, key: i64, id: i64) -> String {
    format!("{}.{key}.{id}", &sort.as_str()[..1])
}

fn parse_cursor(cursor: &str, sort: SkillSort) -> Outcome<(i64, i64)> {
    let parse = || {
        let mut parts = cursor.split('.');
        let word = parts.next()?;
        let (key, id): (i64, i64) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let is_ours = parts.next().is_none() && write_cursor(sort, key, id) == cursor;
        (is_ours && word == &sort.as_str()[..1] && key >= 0 && id >= 0).then_some((key, id))
    };
    parse().ok_or_else(|| {
        RegistryError::invalid("invalid-cursor", "`cursor` is not one that this registry gave")
            .advice("start without a cursor")
    })
}
