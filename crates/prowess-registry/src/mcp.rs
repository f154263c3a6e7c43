//! `/mcp`: the public skills over the Model Context Protocol, by the crate that also serves installed skills.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use prowess_core::{Problem, ProblemKind};
use prowess_mcp::{
    PublishedCard, PublishedFile, PublishedMcp, PublishedPage, PublishedReply, PublishedSkill,
    PublishedSkills,
};
use prowess_server::Server;
use prowess_server::identity::ClientAddress;
use prowess_server::problem::HandlerResult;

use crate::api::limit_reads;
use crate::error::RegistryError;
use crate::names::SkillId;
use crate::query::{SkillCard, SkillSort};
use crate::registry::Registry;
use crate::search::{SearchDocument, SearchRequest};
use crate::viewer::Viewer;

/// Skills on a page: each is read for it.
const PAGE: usize = 20;

/// The registry as everybody sees it, whoever asks.
struct PublicSkills(Registry);

/// A server of the registry's public skills.
pub(crate) fn server(registry: &Registry) -> PublishedMcp {
    PublishedMcp::new(Arc::new(PublicSkills(registry.clone())))
}

/// `POST /mcp`. A request counts as a search.
pub(crate) async fn answer(
    State(server): State<Server>,
    State(mcp): State<PublishedMcp>,
    address: ClientAddress,
    request: Request,
) -> HandlerResult<Response> {
    limit_reads(&server, &Viewer::ANONYMOUS, address).await?;
    Ok(mcp.answer(request).await.into_response())
}

/// What a failure tells a client. Missing and revoked skills are the same: there is nothing to read.
fn problem(error: RegistryError) -> Problem {
    let message = error.to_string();
    match error {
        RegistryError::Problem(problem) => problem,
        RegistryError::Revoked { .. } => Problem::new("revoked", ProblemKind::NotFound, message),
        _ => Problem::new("failed", ProblemKind::Failed, message),
    }
}

fn card(card: SkillCard) -> PublishedCard {
    PublishedCard {
        namespace: card.namespace,
        name: card.name,
        version: card.version,
        description: card.description,
        tier: card.tier,
    }
}

fn hit(skill: &SearchDocument) -> PublishedCard {
    PublishedCard {
        namespace: skill.namespace.clone(),
        name: skill.name.clone(),
        version: skill.version.clone(),
        description: skill.description.clone(),
        tier: skill.tier.clone(),
    }
}

impl PublicSkills {
    async fn find(&self, namespace: &str, name: &str) -> Result<Option<PublishedSkill>, Problem> {
        let Ok(skill) = SkillId::new(namespace, name) else { return Ok(None) };
        let found = self.0.skill(&skill, None, &Viewer::ANONYMOUS).await.map_err(problem)?;
        let Some(found) = found else { return Ok(None) };
        let Some(version) = found.chosen.filter(|it| it.revoked.is_none()) else {
            return Ok(None);
        };
        let files = version.files.into_iter().map(|file| PublishedFile {
            path: file.path,
            size: file.size,
            sha256: file.sha256,
        });
        Ok(Some(PublishedSkill {
            card: card(found.card),
            manifest: version.manifest,
            files: files.collect(),
        }))
    }

    async fn read(
        &self,
        namespace: &str,
        name: &str,
        path: &str,
    ) -> Result<Option<Bytes>, Problem> {
        let Ok(skill) = SkillId::new(namespace, name) else { return Ok(None) };
        let viewer = &Viewer::ANONYMOUS;
        let newest = self.0.archive(&skill, None, viewer).await.map_err(problem)?;
        let Some(newest) = newest else { return Ok(None) };
        let file = self.0.file(&skill, &newest.version, path, viewer).await.map_err(problem)?;
        Ok(file.map(|file| file.bytes))
    }
}

impl PublishedSkills for PublicSkills {
    fn list(&self, cursor: Option<String>) -> PublishedReply<'_, PublishedPage> {
        Box::pin(async move {
            let page = self.0.list(SkillSort::Updated, cursor.as_deref(), PAGE).await;
            let page = page.map_err(problem)?;
            let cards = page.skills.into_iter().map(card).collect();
            Ok(PublishedPage { cards, next: page.next })
        })
    }

    fn skill(&self, namespace: String, name: String) -> PublishedReply<'_, Option<PublishedSkill>> {
        Box::pin(async move { self.find(&namespace, &name).await })
    }

    fn file(
        &self,
        namespace: String,
        name: String,
        path: String,
    ) -> PublishedReply<'_, Option<Bytes>> {
        Box::pin(async move { self.read(&namespace, &name, &path).await })
    }

    fn search(&self, words: String, limit: usize) -> PublishedReply<'_, Vec<PublishedCard>> {
        let registry = self.0.clone();
        Box::pin(async move {
            let request =
                SearchRequest { text: words, limit, facets: false, ..SearchRequest::default() };
            let found =
                tokio::task::spawn_blocking(move || registry.search_index().search(&request)).await;
            let failed =
                || Problem::new("search-failed", ProblemKind::Internal, "the search failed");
            let found = found.map_err(|_| failed())?.map_err(|_| failed())?;
            Ok(found.hits.iter().map(|found| hit(&found.skill)).collect())
        })
    }
}
