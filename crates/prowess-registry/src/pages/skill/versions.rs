//! The versions of a skill, and what its publisher can do with them.

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use semver::Version;

use super::load::Loaded;
use super::overview::VersionQuery;
use super::{Frame, Part};
use crate::app::AppState;
use crate::names::SkillId;
use crate::pages::card::TierWords;
use crate::pages::layout::Layout;
use crate::pages::links;
use crate::pages::response::{PageError, PageResult, page, see_other};
use crate::pages::visitor::{Posted, Visitor};
use crate::pages::words::{Moment, size};
use crate::query::VersionView;
use crate::store::VersionState;

/// The versions of a skill.
#[derive(Debug, Template)]
#[template(path = "page/skill/versions.html")]
pub(crate) struct VersionsPage {
    pub(crate) layout: Layout,
    pub(crate) frame: Frame,
    pub(crate) versions: Vec<VersionRowView>,
    /// Versions to compare, the newest first.
    pub(crate) comparable: Vec<String>,
    /// Whether the viewer may yank and deprecate.
    pub(crate) can_manage: bool,
    /// Whether the viewer may revoke.
    pub(crate) can_revoke: bool,
    /// Why the skill is deprecated, in the form for it.
    pub(crate) deprecated: Option<String>,
}

/// A version.
#[derive(Clone, Debug)]
pub(crate) struct VersionRowView {
    pub(crate) version: String,
    pub(crate) address: String,
    pub(crate) published: Moment,
    pub(crate) publisher: String,
    pub(crate) tier: TierWords,
    pub(crate) size: String,
    /// The class of a pill and words: yanked, revoked, held, refused; none for ordinary ones.
    pub(crate) mark: Option<(&'static str, String)>,
    /// Why it is yanked or revoked.
    pub(crate) reason: Option<String>,
    /// The comparison with the version before.
    pub(crate) compare: Option<String>,
    pub(crate) is_yanked: bool,
    pub(crate) is_revoked: bool,
}

/// The versions of a skill.
pub(crate) async fn get_versions(
    State(state): State<AppState>,
    visitor: Visitor,
    Path((namespace, name)): Path<(String, String)>,
    Query(query): Query<VersionQuery>,
) -> PageResult {
    let loaded = Loaded::read(&state, &visitor, &namespace, &name, Some(&query.version)).await?;
    let versions = &loaded.view.versions;
    let rows = versions.iter().enumerate().map(|(index, version)| {
        let before = versions.get(index + 1);
        VersionRowView {
            version: version.version.to_string(),
            address: links::version(&namespace, &name, &version.version.to_string()),
            published: loaded.moment(version.published),
            publisher: version.publisher.clone(),
            tier: TierWords::of(&version.tier),
            size: size(version.size),
            mark: mark(version),
            reason: version
                .revoked
                .clone()
                .or_else(|| version.yank_reason.clone().filter(|_| version.yanked)),
            compare: before
                .filter(|before| before.revoked.is_none() && version.revoked.is_none())
                .map(|before| {
                    loaded.links.compare(&before.version.to_string(), &version.version.to_string())
                }),
            is_yanked: version.yanked,
            is_revoked: version.revoked.is_some(),
        }
    });
    let template = VersionsPage {
        layout: loaded.layout(&visitor, Part::Versions, format!("Versions of {}", loaded.id)),
        frame: loaded.frame(Part::Versions),
        versions: rows.collect(),
        comparable: comparable(versions),
        can_manage: loaded.can_publish(),
        can_revoke: loaded.view.viewer_is_administrator,
        deprecated: loaded.view.card.deprecated.clone(),
    };
    page(&visitor, &template)
}

/// The versions whose files can be compared, the newest first.
pub(crate) fn comparable(versions: &[VersionView]) -> Vec<String> {
    let readable = versions.iter().filter(|version| version.revoked.is_none());
    readable.map(|version| version.version.to_string()).collect()
}

fn mark(version: &VersionView) -> Option<(&'static str, String)> {
    if version.revoked.is_some() {
        return Some(("danger", "revoked".to_owned()));
    }
    match version.state {
        VersionState::Visible if version.yanked => Some(("warn", "yanked".to_owned())),
        VersionState::Visible => None,
        VersionState::Pending => Some(("info", "being scanned".to_owned())),
        VersionState::Held => Some(("info", "held for review".to_owned())),
        VersionState::Refused => Some(("danger", "refused".to_owned())),
    }
}

/// Yanks a version, or takes that back.
pub(crate) async fn post_yank(
    State(state): State<AppState>,
    Path((namespace, name)): Path<(String, String)>,
    Posted { visitor, fields }: Posted,
) -> PageResult {
    let (id, actor) = (id(&namespace, &name)?, visitor.actor()?);
    let version = version(fields.get("version"))?;
    let yanked = fields.get("action") != "unyank";
    state.registry.yank(&actor, &id, &version, yanked, fields.optional("reason")).await?;
    Ok(done(&namespace, &name, if yanked { "yank" } else { "unyank" }))
}

/// Deprecates a skill, or takes that back.
pub(crate) async fn post_deprecate(
    State(state): State<AppState>,
    Path((namespace, name)): Path<(String, String)>,
    Posted { visitor, fields }: Posted,
) -> PageResult {
    let (id, actor) = (id(&namespace, &name)?, visitor.actor()?);
    state.registry.deprecate(&actor, &id, fields.optional("reason")).await?;
    Ok(done(&namespace, &name, "deprecate"))
}

/// Revokes a version for good.
pub(crate) async fn post_revoke(
    State(state): State<AppState>,
    Path((namespace, name)): Path<(String, String)>,
    Posted { visitor, fields }: Posted,
) -> PageResult {
    let (id, actor) = (id(&namespace, &name)?, visitor.actor()?);
    let version = version(fields.get("version"))?;
    let Some(reason) = fields.optional("reason") else {
        return Err(PageError::invalid(
            "Say why: everybody who has installed the version will read it.",
        ));
    };
    state.registry.revoke(&actor, &id, &version, reason).await?;
    Ok(done(&namespace, &name, "revoke"))
}

fn id(namespace: &str, name: &str) -> Result<SkillId, PageError> {
    SkillId::new(namespace, name).map_err(|_| PageError::not_found())
}

fn version(text: &str) -> Result<Version, PageError> {
    Version::parse(text).map_err(|_| PageError::invalid("The version is not valid."))
}

fn done(namespace: &str, name: &str, code: &str) -> Response {
    see_other(&format!("{}/-/versions?done={code}", links::skill(namespace, name)))
}
