//! Values as JSON.

use prowess_registry_protocol::IndexLine;
use serde_json::{Value, json};

use crate::query::{SkillCard, VersionView};
use crate::search::SearchDocument;

/// A skill in a list.
pub(crate) fn card_json(card: &SkillCard) -> Value {
    json!({
        "namespace": card.namespace,
        "name": card.name,
        "version": card.version,
        "latest": card.version,
        "description": card.description,
        "tier": card.tier,
        "badge": card.badge,
        "category": card.category,
        "dialect": card.dialect,
        "kind": card.kind,
        "license": card.license,
        "tags": card.tags,
        "permissions": card.permissions,
        "agents": card.agents,
        "signed": card.signed,
        "downloads": card.downloads,
        "published": card.published,
        "created": card.created,
        "deprecated": card.deprecated,
        "rating": rating(card.rating_hundredths, card.rating_count),
    })
}

/// A result of a search.
pub(super) fn hit_json(skill: &SearchDocument, matches: &[&'static str]) -> Value {
    json!({
        "namespace": skill.namespace,
        "name": skill.name,
        "version": skill.version,
        "description": skill.description,
        "tier": skill.tier,
        "badge": skill.badge,
        "category": skill.category,
        "dialect": skill.dialect,
        "kind": skill.kind,
        "license": skill.license,
        "tags": skill.tags,
        "permissions": skill.permissions,
        "agents": skill.agents,
        "signed": skill.signed,
        "downloads": skill.downloads,
        "published": skill.published,
        "deprecated": skill.deprecated,
        "rating": rating(skill.rating_hundredths, skill.rating_count),
        "matches": matches,
    })
}

/// A mean with its count.
pub(super) fn rating(hundredths: Option<i64>, count: i64) -> Value {
    #[expect(clippy::cast_precision_loss, reason = "it is at most 500")]
    let mean = hundredths.map(|hundredths| hundredths as f64 / 100.0);
    json!({ "mean": mean, "count": count })
}

/// A version: its line of the index, and what else is known.
pub(super) fn version_json(line: &IndexLine, version: &VersionView) -> Value {
    let mut value = line.to_json();
    let facts = &version.facts;
    value["description"] = facts.description.as_str().into();
    value["kind"] = facts.kind.as_str().into();
    value["dialect"] = facts.dialect.as_str().into();
    value["license"] = json!(facts.license);
    value["size"] = version.size.into();
    value["unpacked"] = version.unpacked.into();
    value["content_digest"] = format!("sha256:{}", version.content_digest).into();
    value["checksum"] = format!("sha256:{}", version.sha256).into();
    value["permissions"] = json!(facts.permissions);
    value["tools"] = facts.tools.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>().into();
    value["publisher"] = version.publisher.as_str().into();
    value["yank_reason"] = json!(version.yank_reason);
    value["provenance"] = json!(version.provenance);
    value
}
