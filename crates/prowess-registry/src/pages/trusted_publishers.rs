//! CI workflows that may publish without a token.

use askama::Template;
use axum::extract::State;

use super::account::{AccountTab, form_status, layout, tabs};
use super::layout::Layout;
use super::response::{PageError, PageResult, page, page_with_status, see_other, sentence};
use super::visitor::{Fields, Posted, Visitor};
use crate::actor::Actor;
use crate::app::AppState;
use crate::error::RegistryError;
use crate::manage::TrustedPublisher;
use crate::names::SkillId;
use crate::store::Role;

/// How many skills of the user are looked at.
const MAX_SKILLS: usize = 100;

/// The trusted publishers of the user's namespaces.
#[derive(Debug, Template)]
#[template(path = "page/account/trusted_publishers.html")]
pub(crate) struct TrustedPublishersPage {
    pub(crate) layout: Layout,
    pub(crate) tabs: Vec<AccountTab>,
    pub(crate) publishers: Vec<TrustedPublisherView>,
    /// The skills that the user owns, to choose from.
    pub(crate) skills: Vec<String>,
    /// The user's own namespace, for a skill that is not published yet.
    pub(crate) namespace: String,
    pub(crate) error: Option<String>,
}

/// A CI workflow that may publish.
#[derive(Clone, Debug)]
pub(crate) struct TrustedPublisherView {
    pub(crate) skill: String,
    pub(crate) issuer: String,
    pub(crate) repository: String,
    pub(crate) workflow: String,
    /// Empty for any.
    pub(crate) environment: String,
}

impl TrustedPublishersPage {
    async fn new(
        state: &AppState,
        visitor: &Visitor,
        error: Option<String>,
    ) -> Result<Self, PageError> {
        let actor = visitor.actor()?;
        let skills = own_skills(state, &actor).await?;
        let mut publishers = Vec::new();
        for skill in &skills {
            let found = state.registry.trusted_publishers(&actor, skill).await?;
            publishers
                .extend(found.into_iter().map(|found| TrustedPublisherView::of(skill, found)));
        }
        Ok(TrustedPublishersPage {
            layout: layout(visitor, "Trusted publishers"),
            tabs: tabs("/account/trusted-publishers"),
            publishers,
            skills: skills.iter().map(ToString::to_string).collect(),
            namespace: actor.username,
            error,
        })
    }
}

/// The skills of the namespaces that a user owns.
async fn own_skills(state: &AppState, actor: &Actor) -> Result<Vec<SkillId>, PageError> {
    let account = state.registry.account(actor).await?;
    let mut skills = Vec::new();
    for membership in account.memberships.iter().filter(|found| found.role == Role::Owner) {
        let found = state.registry.publisher(&membership.namespace, 0, &actor.viewer()).await?;
        let cards = found.map(|found| found.skills).unwrap_or_default();
        skills
            .extend(cards.iter().filter_map(|card| SkillId::new(&card.namespace, &card.name).ok()));
    }
    skills.truncate(MAX_SKILLS);
    Ok(skills)
}

impl TrustedPublisherView {
    fn of(skill: &SkillId, publisher: TrustedPublisher) -> Self {
        TrustedPublisherView {
            skill: skill.to_string(),
            issuer: publisher.issuer,
            repository: publisher.repository,
            workflow: publisher.workflow,
            environment: publisher.environment,
        }
    }
}

/// The workflows that may publish skills of the user.
pub(super) async fn get_trusted_publishers(
    State(state): State<AppState>,
    visitor: Visitor,
) -> PageResult {
    let template = TrustedPublishersPage::new(&state, &visitor, None).await?;
    page(&visitor, &template)
}

/// Adds or removes a workflow.
pub(super) async fn post_trusted_publisher(
    State(state): State<AppState>,
    Posted { visitor, fields }: Posted,
) -> PageResult {
    let actor = visitor.actor()?;
    let publisher = publisher(&fields);
    let Ok(skill) = fields.get("skill").parse::<SkillId>() else {
        return Err(PageError::invalid("The skill is not of the form namespace/name."));
    };
    let (changed, code) = if fields.get("action") == "remove" {
        (state.registry.distrust_publisher(&actor, &skill, &publisher).await, "publisher-removed")
    } else {
        (state.registry.trust_publisher(&actor, &skill, &publisher).await, "publisher-added")
    };
    if let Err(RegistryError::Problem(problem)) = changed {
        let Some(status) = form_status(&problem) else { return Err(problem.into()) };
        let template =
            TrustedPublishersPage::new(&state, &visitor, Some(sentence(&problem))).await?;
        return page_with_status(&visitor, status, &template);
    }
    changed?;
    Ok(see_other(&format!("/account/trusted-publishers?done={code}")))
}

fn publisher(fields: &Fields) -> TrustedPublisher {
    TrustedPublisher {
        issuer: fields.get("issuer").to_owned(),
        repository: fields.get("repository").to_owned(),
        workflow: fields.get("workflow").to_owned(),
        environment: fields.get("environment").to_owned(),
    }
}
