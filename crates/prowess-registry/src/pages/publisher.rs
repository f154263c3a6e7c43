//! A publisher: a user or an organisation with its skills.

use askama::Template;
use axum::extract::{Path, Query, State};
use serde::Deserialize;

use super::card::CardView;
use super::layout::Layout;
use super::links;
use super::response::{PageError, PageResult, page, see_other};
use super::skill::overview::{TrustLineView, TrustState};
use super::visitor::{Posted, Visitor};
use super::words::{Moment, counted};
use crate::app::AppState;
use crate::query::PublisherView;
use crate::store::{NamespaceKind, Role};
use prowess_package::name::SkillName;

/// The page of a publisher.
#[derive(Debug, Template)]
#[template(path = "page/publisher.html")]
pub(crate) struct PublisherPage {
    pub(crate) layout: Layout,
    pub(crate) namespace: String,
    pub(crate) display_name: Option<String>,
    /// `Organisation` or `User`.
    pub(crate) kind: &'static str,
    pub(crate) since: Moment,
    pub(crate) skill_count: String,
    pub(crate) installs: String,
    pub(crate) trust: Vec<TrustLineView>,
    pub(crate) members: Vec<MemberView>,
    pub(crate) keys: Vec<(String, Option<Moment>)>,
    pub(crate) skills: Vec<CardView>,
    pub(crate) next: Option<String>,
    /// Whether the viewer may invite and remove members.
    pub(crate) can_manage: bool,
}

/// A member.
#[derive(Clone, Debug)]
pub(crate) struct MemberView {
    pub(crate) username: String,
    pub(crate) role: &'static str,
    pub(crate) since: Moment,
}

/// What the page can be asked for.
#[derive(Debug, Default, Deserialize)]
pub(super) struct PublisherQuery {
    /// How many skills are skipped.
    #[serde(default)]
    offset: usize,
}

/// The page of a publisher.
pub(super) async fn get_publisher(
    State(state): State<AppState>,
    visitor: Visitor,
    Path(namespace): Path<String>,
    Query(query): Query<PublisherQuery>,
) -> PageResult {
    // What can't be a name is nobody, so the database is not asked.
    if namespace.parse::<SkillName>().is_err() {
        return Err(PageError::not_found());
    }
    let found = state.registry.publisher(&namespace, query.offset, &visitor.viewer()).await?;
    let Some(found) = found else { return Err(PageError::not_found()) };
    page(&visitor, &PublisherPage::new(&visitor, found))
}

impl PublisherPage {
    fn new(visitor: &Visitor, found: PublisherView) -> Self {
        let now = visitor.visit.now;
        let address = links::publisher(&found.namespace);
        let feed = format!("{address}/-/feed.atom");
        let title = found.display_name.clone().unwrap_or_else(|| found.namespace.clone());
        let trust = trust_lines(&found, now);
        let is_organisation = found.kind == NamespaceKind::Organisation;
        PublisherPage {
            layout: Layout::new(&visitor.visit, title, &format!("Skills of {}", found.namespace))
                .at(address.clone())
                .with_feed(feed, format!("New versions of {}", found.namespace)),
            kind: if is_organisation { "Organisation" } else { "User" },
            since: Moment::new(found.since, now),
            skill_count: counted(found.skill_count, "skill"),
            installs: counted(found.downloads, "install"),
            trust,
            members: found
                .members
                .iter()
                .map(|member| MemberView {
                    username: member.username.clone(),
                    role: member.role.as_str(),
                    since: Moment::new(member.added, now),
                })
                .collect(),
            keys: found
                .keys
                .iter()
                .map(|(key, revoked)| (key.clone(), revoked.map(|at| Moment::new(at, now))))
                .collect(),
            skills: found.skills.iter().map(|card| CardView::of(card, now)).collect(),
            next: found.next.map(|offset| format!("{address}?offset={offset}")),
            can_manage: is_organisation && found.viewer_role == Some(Role::Owner),
            display_name: found.display_name,
            namespace: found.namespace,
        }
    }
}

/// A publisher is new for this long, in seconds.
const NEW_PUBLISHER: i64 = 14 * 86_400;

fn trust_lines(found: &PublisherView, now: i64) -> Vec<TrustLineView> {
    let line = |state: TrustState, text: String| TrustLineView {
        class: state.class(),
        icon: state.icon(),
        word: state.word(),
        text,
        points: String::new(),
        address: None,
    };
    let since = Moment::new(found.since, now).relative;
    let age = if now - found.since < NEW_PUBLISHER {
        line(TrustState::NotEstablished, format!("New: joined {since}"))
    } else {
        line(TrustState::Passed, format!("Joined {since}"))
    };
    let revoked = match found.revoked_versions {
        0 => line(TrustState::Passed, "No version was ever revoked".to_owned()),
        1 => line(TrustState::Failed, "1 version was revoked".to_owned()),
        number => line(TrustState::Failed, format!("{} were revoked", counted(number, "version"))),
    };
    let active = found.keys.iter().filter(|(_, revoked)| revoked.is_none()).count();
    let keys = match active {
        0 => line(TrustState::NotEstablished, "No signing key is registered".to_owned()),
        number => {
            line(TrustState::Passed, format!("{} registered", counted(number, "signing key")))
        }
    };
    vec![age, revoked, keys]
}

/// Invites or removes a member of an organisation.
pub(super) async fn post_member(
    State(state): State<AppState>,
    Path(namespace): Path<String>,
    Posted { visitor, fields }: Posted,
) -> PageResult {
    let actor = visitor.actor()?;
    let username = fields.get("username");
    let code = if fields.get("action") == "remove" {
        state.registry.remove_member(&actor, &namespace, username).await?;
        "member-removed"
    } else {
        let role = fields.get("role").parse::<Role>();
        let role = role.map_err(|_| PageError::invalid("The role is not known."))?;
        state.registry.invite(&actor, &namespace, username, role, false).await?;
        "invited"
    };
    Ok(see_other(&format!("{}?done={code}", links::publisher(&namespace))))
}
