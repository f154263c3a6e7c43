//! What of a skill is searched, and what a result shows.

use serde::{Deserialize, Serialize};
use tantivy::TantivyDocument;

use super::schema::{COMMUNITY, DEPRECATED, FACETS, Fields, VERIFIED, hash};
use crate::store::{SkillRow, VersionRow};

/// How much of the text is searched.
const MAX_BODY_BYTES: usize = 32 << 10;

/// Ratings from which their mean counts.
const ENOUGH_RATINGS: i64 = 5;

/// A skill in the index.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SearchDocument {
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
    /// What it asks for.
    pub permissions: Vec<String>,
    /// The agents that it names.
    pub agents: Vec<String>,
    /// The names of its tools.
    pub tools: Vec<String>,
    /// Whether a valid signature covers it.
    pub signed: bool,
    /// Downloads.
    pub downloads: i64,
    /// When the newest version was published.
    pub published: i64,
    /// When the skill was first published.
    pub created: i64,
    /// When it changed.
    pub updated: i64,
    /// When its namespace was made.
    pub publisher_since: i64,
    /// Why it should not be used any more.
    pub deprecated: Option<String>,
    /// The mean rating in hundredths.
    pub rating_hundredths: Option<i64>,
    /// How many ratings count.
    pub rating_count: i64,
    /// The text. It is searched and not stored.
    #[serde(skip)]
    pub body: String,
}

impl SearchDocument {
    /// The document of a skill and its newest version.
    pub fn of(skill: &SkillRow, version: &VersionRow, publisher_since: i64) -> Self {
        let facts = &version.facts;
        let end = version.manifest.floor_char_boundary(MAX_BODY_BYTES);
        Self {
            namespace: skill.skill.namespace.to_string(),
            name: skill.skill.name.to_string(),
            version: version.version.to_string(),
            description: facts.description.clone(),
            tier: version.tier.clone(),
            badge: skill.badge.clone(),
            category: facts.category.clone(),
            dialect: facts.dialect.clone(),
            kind: facts.kind.clone(),
            license: facts.license.clone(),
            tags: facts.tags.clone(),
            permissions: facts.permissions.clone(),
            agents: facts.agents.clone(),
            tools: facts.tools.iter().map(|tool| tool.name.clone()).collect(),
            signed: skill.summary.signed,
            downloads: skill.downloads,
            published: version.published,
            created: skill.created,
            updated: skill.updated,
            publisher_since,
            deprecated: skill.deprecated.clone(),
            rating_hundredths: skill.rating_hundredths(),
            rating_count: skill.rating_count,
            body: version.manifest[..end].to_owned(),
        }
    }

    /// The values of a facet. Permissions are those that matter for a choice: a domain with its level, and what is absent.
    pub(super) fn facet(&self, name: &str) -> Vec<String> {
        match name {
            "agent" => self.agents.clone(),
            "badge" => self.badge.iter().cloned().collect(),
            "category" => vec![self.category.clone()],
            "dialect" => vec![self.dialect.clone()],
            "license" => self.license.iter().cloned().collect(),
            "permission" => permission_facets(&self.permissions),
            "tag" => self.tags.clone(),
            "tier" => vec![self.tier.clone()],
            _ => Vec::new(),
        }
    }
}

/// `network:read` for `network:read:api.acme.dev`, and `no-network`, `no-program`, `no-file-changes`, `no-secrets`.
fn permission_facets(permissions: &[String]) -> Vec<String> {
    let mut found: Vec<String> = permissions
        .iter()
        .map(|permission| permission.splitn(3, ':').take(2).collect::<Vec<&str>>().join(":"))
        .collect();
    found.sort();
    found.dedup();
    let has = |prefix: &str| found.iter().any(|permission| permission.starts_with(prefix));
    let absent = [
        ("network:", "no-network"),
        ("shell:", "no-program"),
        ("filesystem:write", "no-file-changes"),
        ("env:", "no-secrets"),
    ];
    let absent: Vec<String> = absent
        .into_iter()
        .filter(|(prefix, _)| !has(prefix))
        .map(|(_, word)| word.to_owned())
        .collect();
    found.extend(absent);
    found
}

/// The document as the engine stores it.
pub(super) fn document(fields: &Fields, id: i64, source: &SearchDocument) -> TantivyDocument {
    let mut document = TantivyDocument::default();
    document.add_i64(fields.id, id);
    document.add_text(fields.exact, &source.name);
    document.add_text(fields.exact, format!("{}/{}", source.namespace, source.name));
    document.add_text(fields.name, source.name.replace('-', " "));
    document.add_text(fields.name, source.namespace.replace('-', " "));
    document.add_text(fields.description, &source.description);
    document.add_text(fields.keywords, source.tags.join(" "));
    document.add_text(fields.keywords, source.tools.join(" ").replace(['_', '-'], " "));
    document.add_text(fields.body, &source.body);
    document.add_text(fields.namespace, &source.namespace);
    for (name, field) in FACETS.iter().zip(&fields.facets) {
        for value in source.facet(name) {
            document.add_text(*field, value);
        }
    }
    document.add_i64(fields.downloads, source.downloads);
    document.add_i64(fields.updated, source.updated);
    document.add_i64(fields.created, source.created);
    // A few ratings say nothing.
    let rating = source.rating_hundredths.filter(|_| source.rating_count >= ENOUGH_RATINGS);
    document.add_i64(fields.rating, rating.unwrap_or_default());
    document.add_u64(fields.flags, flags(source));
    document.add_u64(fields.name_hash, hash(&source.name));
    document.add_u64(fields.whole_hash, hash(&format!("{}/{}", source.namespace, source.name)));
    let card = serde_json::to_string(source).unwrap_or_default();
    document.add_text(fields.card, card);
    document
}

fn flags(source: &SearchDocument) -> u64 {
    let tier = match source.tier.as_str() {
        "verified" => VERIFIED,
        "community" => COMMUNITY,
        _ => 0,
    };
    tier | if source.deprecated.is_some() { DEPRECATED } else { 0 }
}
