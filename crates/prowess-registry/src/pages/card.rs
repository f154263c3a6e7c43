//! A skill in a list, and the tier with its words.

use prowess_policy::{Grant, GrantSet, GrantSource};

use super::links;
use super::permission_words::{self, RiskLevel};
use super::words::{Moment, hundredths, rounded};
use crate::query::SkillCard;
use crate::search::SearchHit;

/// A tier with the words and the icon that it has on every page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TierWords {
    pub(crate) label: &'static str,
    pub(crate) class: &'static str,
    pub(crate) icon: &'static str,
}

impl TierWords {
    /// The words of a tier. Anything that is not known counts as experimental (GAIA §4.3).
    pub(crate) fn of(tier: &str) -> Self {
        match tier {
            "verified" => TierWords {
                label: "Verified: signed and audited",
                class: "ok",
                icon: "shield-check",
            },
            "community" => {
                TierWords { label: "Community, signed", class: "info", icon: "shield-check" }
            }
            _ => TierWords { label: "Experimental", class: "warn", icon: "shield-alert" },
        }
    }
}

/// A skill in a list.
#[derive(Clone, Debug)]
pub(crate) struct CardView {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) address: String,
    pub(crate) description: String,
    pub(crate) tier: TierWords,
    /// The worst that it asks for; none for instructions, which have the rights of the agent that follows them.
    pub(crate) risk: Option<RiskLevel>,
    pub(crate) installs: String,
    pub(crate) updated: Moment,
    pub(crate) rating: Option<String>,
    pub(crate) license: Option<String>,
    /// Why one should hesitate: experimental with the reason, deprecated, not public.
    pub(crate) warning: Option<String>,
    /// Where the words of a search were found.
    pub(crate) matches: Vec<String>,
}

/// A publisher is new for this long, in seconds.
const NEW_PUBLISHER: i64 = 14 * 86_400;

/// The grants that canonical permissions stand for. What can't be read was refused when it was published.
pub(crate) fn grants(permissions: &[String]) -> GrantSet {
    let read = |text: &String| Grant::parse(text, &GrantSource::Declared(text.clone())).ok();
    GrantSet::new(permissions.iter().filter_map(read).flatten().collect())
}

/// Whether Prowess runs a skill of this kind, so that its permissions are enforced.
pub(crate) fn runs_itself(kind: &str) -> bool {
    kind == "tools"
}

/// The level in the header of a skill's pages; none for instructions that name nothing, which lists call the same.
pub(crate) fn level_of(kind: &str, worst: RiskLevel) -> Option<RiskLevel> {
    (runs_itself(kind) || worst != RiskLevel::None).then_some(worst)
}

impl CardView {
    /// The card of a skill.
    pub(crate) fn of(card: &SkillCard, now: i64) -> Self {
        let rows = permission_words::rows(&grants(&card.permissions), &[], true);
        CardView {
            address: links::skill(&card.namespace, &card.name),
            namespace: card.namespace.clone(),
            name: card.name.clone(),
            version: card.version.clone(),
            description: card.description.clone(),
            tier: TierWords::of(&card.tier),
            risk: runs_itself(&card.kind).then(|| permission_words::worst(&rows)),
            installs: installs(card.downloads),
            updated: Moment::new(card.published, now),
            rating: card.rating_hundredths.map(|mean| hundredths(count(mean))),
            license: card.license.clone(),
            warning: warning(card, now),
            matches: Vec::new(),
        }
    }

    /// The card of a search result.
    pub(crate) fn of_hit(hit: &SearchHit, now: i64) -> Self {
        let found = &hit.skill;
        let card = SkillCard {
            namespace: found.namespace.clone(),
            name: found.name.clone(),
            version: found.version.clone(),
            description: found.description.clone(),
            tier: found.tier.clone(),
            badge: found.badge.clone(),
            category: found.category.clone(),
            dialect: found.dialect.clone(),
            kind: found.kind.clone(),
            license: found.license.clone(),
            tags: found.tags.clone(),
            permissions: found.permissions.clone(),
            agents: found.agents.clone(),
            signed: found.signed,
            downloads: found.downloads,
            published: found.published,
            created: found.created,
            publisher_since: found.publisher_since,
            deprecated: found.deprecated.clone(),
            rating_hundredths: found.rating_hundredths,
            rating_count: found.rating_count,
            restricted: None,
        };
        let matches = hit.matches.iter().map(|field| (*field).to_owned()).collect();
        CardView { matches, ..Self::of(&card, now) }
    }
}

/// A number that the database has as `i64`; less than nothing counts as nothing.
pub(crate) fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// `41k installs`.
fn installs(downloads: i64) -> String {
    let number = count(downloads);
    format!("{} {}", rounded(number), if number == 1 { "install" } else { "installs" })
}

fn warning(card: &SkillCard, now: i64) -> Option<String> {
    if let Some(restricted) = card.restricted {
        return Some(format!("Only you and moderators see this: {restricted}"));
    }
    if let Some(reason) = &card.deprecated {
        return Some(format!("Deprecated: {reason}"));
    }
    // GAIA-4.3-4: the marketplace shows a warning on experimental skills.
    if card.tier == "verified" || card.tier == "community" {
        return None;
    }
    let signed = if card.signed { "signed, but not promoted" } else { "not signed" };
    let publisher = if now - card.publisher_since < NEW_PUBLISHER { ", new publisher" } else { "" };
    Some(format!("Experimental: {signed}{publisher}"))
}
