//! The form for reports.

use askama::Template;
use axum::extract::{Path, Query, State};
use serde::Deserialize;

use super::layout::Layout;
use super::links;
use super::response::{PageError, PageResult, page, see_other};
use super::visitor::{Posted, Visitor};
use crate::app::AppState;
use crate::names::SkillId;

/// The form for a report.
#[derive(Debug, Template)]
#[template(path = "page/report.html")]
pub(crate) struct ReportPage {
    pub(crate) layout: Layout,
    pub(crate) skill: String,
    pub(crate) address: String,
    pub(crate) version: String,
    pub(crate) reasons: Vec<(&'static str, &'static str)>,
    /// The reason that is chosen.
    pub(crate) chosen: String,
    pub(crate) error: Option<String>,
}

/// The reasons with their words.
pub(crate) fn reasons() -> Vec<(&'static str, &'static str)> {
    vec![
        ("malicious", "It does something harmful or hides what it does"),
        ("impersonation", "It pretends to be from somebody else"),
        ("secrets", "It contains a password, a key or personal data"),
        ("license", "It violates a licence"),
        ("spam", "It is spam"),
        ("abuse", "It insults or harasses"),
        ("false-positive", "The scan reports something that is not a problem"),
        ("other", "Something else"),
    ]
}

/// What the form begins with.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ReportQuery {
    #[serde(default)]
    reason: String,
    #[serde(default)]
    version: String,
}

/// The form for a report.
pub(super) async fn get_report(
    State(state): State<AppState>,
    visitor: Visitor,
    Path((namespace, name)): Path<(String, String)>,
    Query(query): Query<ReportQuery>,
) -> PageResult {
    visitor.actor()?;
    let id = SkillId::new(&namespace, &name).map_err(|_| PageError::not_found())?;
    if state.registry.skill(&id, None, &visitor.viewer()).await?.is_none() {
        return Err(PageError::not_found());
    }
    let template = ReportPage {
        layout: Layout::new(&visitor.visit, format!("Report {id}"), "Tell the moderators."),
        skill: id.to_string(),
        address: links::skill(&namespace, &name),
        version: query.version,
        reasons: reasons(),
        chosen: query.reason,
        error: None,
    };
    page(&visitor, &template)
}

/// Sends a report.
pub(super) async fn post_report(
    State(state): State<AppState>,
    Path((namespace, name)): Path<(String, String)>,
    Posted { visitor, fields }: Posted,
) -> PageResult {
    let id = SkillId::new(&namespace, &name).map_err(|_| PageError::not_found())?;
    let actor = visitor.actor()?;
    let version = fields.optional("version");
    let (reason, detail) = (fields.get("reason"), fields.get("detail"));
    state.registry.report(&actor, &id, version, reason, detail).await?;
    // Enough reports hide a skill, and then its page is gone for the reporter too.
    Ok(see_other("/?done=report"))
}
