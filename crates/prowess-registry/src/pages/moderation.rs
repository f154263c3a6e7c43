//! What moderators work through: skills that are held, and reports.

use askama::Template;
use axum::extract::{Path, State};

use super::card::CardView;
use super::layout::{Layout, Section};
use super::links;
use super::response::{PageError, PageResult, page, see_other};
use super::visitor::{Posted, Visitor};
use super::words::Moment;
use crate::actor::Actor;
use crate::app::AppState;
use crate::manage::Decision;
use crate::names::SkillId;

/// The queues of moderators.
#[derive(Debug, Template)]
#[template(path = "page/moderation.html")]
pub(crate) struct ModerationPage {
    pub(crate) layout: Layout,
    pub(crate) held: Vec<HeldView>,
    pub(crate) reports: Vec<ReportRow>,
}

/// A skill that waits for a decision.
#[derive(Clone, Debug)]
pub(crate) struct HeldView {
    pub(crate) card: CardView,
    /// The reason in words.
    pub(crate) reason: String,
    /// The reason as a code.
    pub(crate) code: String,
    /// A moderator has hidden it before.
    pub(crate) is_hidden: bool,
    /// `Held` or `Hidden`.
    pub(crate) state: &'static str,
}

/// A report.
#[derive(Clone, Debug)]
pub(crate) struct ReportRow {
    pub(crate) skill: String,
    pub(crate) address: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) version: Option<String>,
    pub(crate) username: String,
    pub(crate) reason: String,
    pub(crate) detail: String,
    pub(crate) reported: Moment,
}

/// The moderator who asks. For everybody else the pages of moderators do not exist.
fn moderator(visitor: &Visitor) -> Result<Actor, PageError> {
    let actor = visitor.actor()?;
    if actor.is_administrator { Ok(actor) } else { Err(PageError::not_found()) }
}

/// The queues of moderators.
pub(super) async fn get_moderation(State(state): State<AppState>, visitor: Visitor) -> PageResult {
    let actor = moderator(&visitor)?;
    let held = state.registry.held_skills(&actor).await?;
    let reports = state.registry.open_reports(&actor).await?;
    let now = visitor.visit.now;
    let template = ModerationPage {
        layout: Layout::new(&visitor.visit, "Moderation", "Skills that wait for a decision.")
            .in_section(Section::Moderation),
        held: held
            .into_iter()
            .map(|held| {
                let is_hidden = held.card.restricted == Some("hidden");
                HeldView {
                    card: CardView::of(&held.card, now),
                    reason: reason_words(&held.reason),
                    code: held.reason,
                    is_hidden,
                    state: if is_hidden { "Hidden" } else { "Held" },
                }
            })
            .collect(),
        reports: reports
            .into_iter()
            .map(|report| ReportRow {
                skill: format!("{}/{}", report.namespace, report.name),
                address: links::skill(&report.namespace, &report.name),
                namespace: report.namespace,
                name: report.name,
                version: report.version,
                username: report.username,
                reason: report.reason,
                detail: report.detail,
                reported: Moment::new(report.reported, now),
            })
            .collect(),
    };
    page(&visitor, &template)
}

/// Decides about a skill.
pub(super) async fn post_decision(
    State(state): State<AppState>,
    Path((namespace, name)): Path<(String, String)>,
    Posted { visitor, fields }: Posted,
) -> PageResult {
    let actor = moderator(&visitor)?;
    let id = SkillId::new(&namespace, &name).map_err(|_| PageError::not_found())?;
    // Dismissing reports is approving: the skill stays visible, and its reports are closed.
    let (decision, code) = match fields.get("action") {
        "approve" => (Decision::Approve, "approve"),
        "dismiss" => (Decision::Approve, "dismiss"),
        "hide" => (Decision::Hide, "hide"),
        _ => return Err(PageError::invalid("The form has no known action.")),
    };
    state.registry.moderate(&actor, &id, decision, fields.get("reason")).await?;
    Ok(see_other(&format!("/moderation?done={code}")))
}

/// Why a skill is held, in words.
pub(crate) fn reason_words(code: &str) -> String {
    match code.split_once(':') {
        Some(("name.typosquat", target)) => format!("its name is close to {target}"),
        Some(("name.confusable", target)) => format!("its name looks like {target}"),
        Some((kind, rest)) => format!("{kind}: {rest}"),
        None => match code {
            "account.new" => "its publisher's account is new".to_owned(),
            "reports" => "several users have reported it".to_owned(),
            "" => "no reason was recorded".to_owned(),
            other => other.to_owned(),
        },
    }
}
