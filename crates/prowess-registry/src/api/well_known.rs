//! `.well-known` in its three shapes (R23, SKL-WK-2).

use std::collections::BTreeSet;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;
use http::HeaderMap;
use prowess_server::problem::HandlerResult;
use serde_json::{Value, json};

use super::{Content, Downloader, respond};
use crate::error::{Outcome, RegistryError};
use crate::names::SkillId;
use crate::query::SkillSort;
use crate::registry::Registry;
use crate::viewer::Viewer;

/// The schema of discovery 0.2.0.
const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";
/// The most skills that are listed: the most downloaded ones. Everything is found through the search.
const MAX_LISTED: usize = 100;

/// The most downloaded skills. Discovery knows no namespaces, so of several skills of one name only the first is listed.
async fn listed(registry: &Registry) -> Outcome<Vec<SkillId>> {
    let page = registry.list(SkillSort::Downloads, None, MAX_LISTED).await?;
    let mut names = BTreeSet::new();
    let mut found = Vec::new();
    for card in page.skills {
        if names.insert(card.name.clone())
            && let Ok(skill) = SkillId::new(&card.namespace, &card.name)
        {
            found.push(skill);
        }
    }
    Ok(found)
}

/// Discovery 0.2.0: archives with digests.
#[utoipa::path(
    get, path = "/.well-known/agent-skills/index.json", tag = "discovery",
    summary = "List skills for discovery 0.2.0: archives with digests",
    responses((status = 200, description = "Success", body = Value))
)]
pub(super) async fn current(State(registry): State<Registry>) -> HandlerResult<Json<Value>> {
    let mut skills = Vec::new();
    for skill in listed(&registry).await? {
        let Some(found) = registry.archive(&skill, None, &Viewer::ANONYMOUS).await? else {
            continue;
        };
        let Some(overview) = registry.overview(&skill, &Viewer::ANONYMOUS).await? else { continue };
        skills.push(json!({
            "name": skill.name.as_str(),
            "type": "archive",
            "description": overview.card.description,
            "url": format!("/api/v1/skills/{skill}/{}/download", found.version),
            "digest": format!("sha256:{}", found.sha256),
        }));
    }
    Ok(Json(json!({ "$schema": SCHEMA, "skills": skills })))
}

/// Discovery 0.1.0: the names of the files.
#[utoipa::path(
    get, path = "/.well-known/skills/index.json", tag = "discovery",
    summary = "List skills for discovery 0.1.0: the names of their files",
    responses((status = 200, description = "Success", body = Value))
)]
pub(super) async fn earlier(State(registry): State<Registry>) -> HandlerResult<Json<Value>> {
    let mut skills = Vec::new();
    for skill in listed(&registry).await? {
        let Some(found) = registry.skill(&skill, None, &Viewer::ANONYMOUS).await? else { continue };
        let Some(version) = found.chosen else { continue };
        let mut files: Vec<&str> = version.files.iter().map(|file| file.path.as_str()).collect();
        files.sort_by_key(|path| (*path != "SKILL.md", *path));
        skills.push(json!({
            "name": skill.name.as_str(),
            "description": version.facts.description,
            "files": files,
        }));
    }
    Ok(Json(json!({ "skills": skills })))
}

/// The skill that the registry names in its settings, or the most downloaded one.
#[utoipa::path(
    get, path = "/.well-known/skills/default/skill.md", tag = "discovery",
    summary = "Return the default skill",
    responses(
        (
            status = 200, description = "The file",
            content(
                (String = "text/plain"), (Vec<u8> = "application/octet-stream"),
                (String = "text/markdown")
            )
        )
    )
)]
pub(super) async fn default_skill(
    State(registry): State<Registry>,
    downloader: Downloader,
    headers: HeaderMap,
) -> HandlerResult<Response> {
    let chosen =
        registry.settings().default_skill.as_ref().and_then(|text| text.parse::<SkillId>().ok());
    let skill = match chosen {
        Some(skill) => skill,
        None => listed(&registry).await?.into_iter().next().ok_or_else(RegistryError::no_skill)?,
    };
    serve(&registry, &skill, "SKILL.md", &downloader, &headers).await
}

/// One file of a listed skill.
#[utoipa::path(
    get, operation_id = "discovered_file", path = "/.well-known/skills/{name}/{path}",
    tag = "discovery", summary = "Return a file of a listed skill",
    params(
        ("name" = String, Path, description = "The name of the skill"),
        ("path" = String, Path, description = "The path of the file")
    ),
    responses(
        (
            status = 200, description = "The file",
            content(
                (String = "text/plain"), (Vec<u8> = "application/octet-stream"),
                (String = "text/markdown")
            )
        )
    )
)]
pub(super) async fn file(
    State(registry): State<Registry>,
    Path((name, path)): Path<(String, String)>,
    downloader: Downloader,
    headers: HeaderMap,
) -> HandlerResult<Response> {
    let skill = listed(&registry).await?.into_iter().find(|skill| skill.name.as_str() == name);
    let skill = skill.ok_or_else(RegistryError::no_skill)?;
    serve(&registry, &skill, &path, &downloader, &headers).await
}

async fn serve(
    registry: &Registry,
    skill: &SkillId,
    path: &str,
    downloader: &Downloader,
    headers: &HeaderMap,
) -> HandlerResult<Response> {
    let viewer = Viewer::ANONYMOUS;
    let found =
        registry.archive(skill, None, &viewer).await?.ok_or_else(RegistryError::no_version)?;
    let file = registry.file(skill, &found.version, path, &viewer).await?;
    let file = file.ok_or_else(|| {
        RegistryError::of(
            "file-not-found",
            prowess_core::ProblemKind::NotFound,
            "there is no such file",
        )
    })?;
    registry.count_download(found.skill_id, &downloader.identity);
    let is_markdown =
        path.rsplit_once('.').is_some_and(|(_, ending)| ending.eq_ignore_ascii_case("md"));
    Ok(respond(
        headers,
        Content {
            bytes: file.bytes,
            content_type: if is_markdown {
                "text/markdown; charset=utf-8"
            } else if file.file.is_text {
                "text/plain; charset=utf-8"
            } else {
                "application/octet-stream"
            },
            tag: Some(file.file.sha256),
            is_public: true,
            file_name: None,
        },
    ))
}
