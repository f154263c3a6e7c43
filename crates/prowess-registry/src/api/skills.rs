//! Metadata of skills and versions.
//!
//! GAIA §10.4 has `/skills/{name}/{version}` where ours has `/skills/{namespace}/{name}`. A name has no dot and a version
//! always has two, so the last part tells them apart.

use axum::Json;
use axum::extract::{Path, RawQuery, State};
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, StatusCode};
use prowess_registry_protocol::write_candidates;
use prowess_server::problem::{HandlerResult, invalid_input};
use semver::Version;
use serde_json::{Value, json};

use super::parameters::{self, QueryParameters};
use super::views::{card_json, rating, version_json};
use super::{Content, Downloader, download, respond};
use crate::error::{Outcome, RegistryError};
use crate::names::SkillId;
use crate::query::{SkillOverview, SkillSort};
use crate::registry::Registry;
use crate::viewer::Viewer;

/// The length of a page, and the longest.
const PAGE: usize = 50;
const MAX_PAGE: usize = 100;

/// `GET /skills`: all skills, in pages.
#[utoipa::path(
    get, path = "/api/v1/skills", tag = "skills", summary = "List skills in pages",
    description = "A cursor is only valid with the `sort` that it came from.",
    params(
        (
            "limit" = Option<u32>, Query, description = "The length of a page", minimum = 1,
            maximum = 100
        ),
        ("cursor" = Option<String>, Query, description = "The `next` of the page before"),
        (
            "sort" = Option<String>, Query, description = "The order",
            pattern = "^(updated|created|downloads)$"
        )
    ),
    responses((status = 200, description = "Success", body = Value))
)]
pub(super) async fn list(
    State(registry): State<Registry>,
    RawQuery(query): RawQuery,
) -> HandlerResult<Json<Value>> {
    let query = QueryParameters::parse(query.as_deref());
    let limit = query.number("limit", PAGE, 1, MAX_PAGE)?;
    let sort = match query.text("sort") {
        None => SkillSort::Updated,
        Some(text) => SkillSort::parse(text).ok_or_else(|| {
            invalid_input("invalid-parameter", "`sort` is `updated`, `created` or `downloads`")
        })?,
    };
    let page = registry.list(sort, query.text("cursor"), limit).await?;
    let skills: Vec<Value> = page.skills.iter().map(card_json).collect();
    Ok(Json(json!({ "skills": skills, "next": page.next })))
}

/// `GET /skills/{name}`: the skill of that name, if only one namespace has it.
#[utoipa::path(
    get, path = "/api/v1/skills/{name}", tag = "skills",
    summary = "Return the skill of a name, if one namespace has it",
    params(("name" = String, Path, description = "The name of the skill")),
    responses(
        (status = 200, description = "Success", body = Value),
        (status = 300, description = "Several namespaces have a skill of that name", body = Value)
    )
)]
pub(super) async fn bare(
    State(registry): State<Registry>,
    Path(name): Path<String>,
    viewer: Viewer,
    headers: HeaderMap,
) -> HandlerResult<Response> {
    match only(&registry, &name, &viewer).await? {
        OneName::One(skill) => overview(&registry, &skill, &viewer, &headers).await,
        OneName::Several(response) => Ok(response),
    }
}

/// `GET /skills/{namespace}/{name}`, `/skills/{name}/{version}` and `/skills/{name}/download`.
#[utoipa::path(
    get, path = "/api/v1/skills/{namespace}/{name}", tag = "skills", summary = "Return a skill",
    description = "A version instead of the name returns that version of the skill of a bare name; `download` returns its archive.",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill")
    ),
    responses(
        (status = 200, description = "Success", body = Value),
        (status = 300, description = "Several namespaces have a skill of that name", body = Value)
    )
)]
pub(super) async fn two_parts(
    State(registry): State<Registry>,
    Path((first, second)): Path<(String, String)>,
    downloader: Downloader,
    headers: HeaderMap,
) -> HandlerResult<Response> {
    let viewer = &downloader.viewer;
    if second != "download" && second.parse::<Version>().is_err() {
        let skill = parameters::skill(&first, &second)?;
        return overview(&registry, &skill, viewer, &headers).await;
    }
    let skill = match only(&registry, &first, viewer).await? {
        OneName::One(skill) => skill,
        OneName::Several(response) => return Ok(response),
    };
    if second == "download" {
        return download::serve(&registry, &skill, None, &downloader, &headers).await;
    }
    let version = parameters::version(&second)?;
    one_version(&registry, &skill, &version, viewer, &headers).await
}

/// `GET /skills/{namespace}/{name}/{version}` and `/skills/{name}/{version}/download`.
#[utoipa::path(
    get, path = "/api/v1/skills/{namespace}/{name}/{version}", tag = "skills",
    summary = "Return a version",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill"),
        ("version" = String, Path, description = "The version")
    ),
    responses((status = 200, description = "Success", body = Value))
)]
pub(super) async fn three_parts(
    State(registry): State<Registry>,
    Path((first, second, third)): Path<(String, String, String)>,
    viewer: Viewer,
    headers: HeaderMap,
) -> HandlerResult<Response> {
    let skill = parameters::skill(&first, &second)?;
    let version = parameters::version(&third)?;
    one_version(&registry, &skill, &version, &viewer, &headers).await
}

/// The skill of a bare name, or the response that lists the candidates (attack registry-A7).
pub(super) enum OneName {
    One(SkillId),
    Several(Response),
}

pub(super) async fn only(
    registry: &Registry,
    name: &str,
    viewer: &Viewer,
) -> HandlerResult<OneName> {
    if name.parse::<prowess_package::name::SkillName>().is_err() {
        return Err(RegistryError::no_skill().into());
    }
    let candidates = registry.candidates(name, viewer).await?;
    match candidates.as_slice() {
        [] => Err(RegistryError::no_skill().into()),
        [one] => {
            let skill = one.parse().map_err(|_| RegistryError::no_skill())?;
            Ok(OneName::One(skill))
        }
        several => {
            let body = Json(write_candidates(several));
            Ok(OneName::Several((StatusCode::MULTIPLE_CHOICES, body).into_response()))
        }
    }
}

async fn overview(
    registry: &Registry,
    skill: &SkillId,
    viewer: &Viewer,
    headers: &HeaderMap,
) -> HandlerResult<Response> {
    let found = registry.overview(skill, viewer).await?.ok_or_else(RegistryError::no_skill)?;
    let SkillOverview { info, card, is_public } = found;
    let mut value = info.to_json();
    if let (Some(value), Value::Object(more)) = (value.as_object_mut(), card_json(&card)) {
        for (key, field) in more {
            value.entry(key).or_insert(field);
        }
    }
    value["rating"] = rating(card.rating_hundredths, card.rating_count);
    Ok(json_response(headers, &value, is_public))
}

async fn one_version(
    registry: &Registry,
    skill: &SkillId,
    version: &Version,
    viewer: &Viewer,
    headers: &HeaderMap,
) -> HandlerResult<Response> {
    let line =
        registry.index_line(skill, version, viewer).await?.ok_or_else(RegistryError::no_version)?;
    // Attack registry-D20: every route says that it was revoked.
    if let Some(reason) = line.revoked.clone() {
        return Err(RegistryError::Revoked { what: format!("{skill} {version}"), reason }.into());
    }
    let found =
        registry.version(skill, version, viewer).await?.ok_or_else(RegistryError::no_version)?;
    let mut value = version_json(&line, &found);
    value["namespace"] = skill.namespace.as_str().into();
    value["name"] = skill.name.as_str().into();
    let is_public = viewer.user_id.is_none();
    Ok(json_response(headers, &value, is_public))
}

pub(super) fn json_response(headers: &HeaderMap, value: &Value, is_public: bool) -> Response {
    respond(
        headers,
        Content {
            bytes: value.to_string().into(),
            content_type: "application/json",
            tag: None,
            is_public,
            file_name: None,
        },
    )
}

/// `GET /skills/{namespace}/{name}/versions`.
#[utoipa::path(
    get, path = "/api/v1/skills/{namespace}/{name}/versions", tag = "skills",
    summary = "List the versions of a skill",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill")
    ),
    responses((status = 200, description = "Success", body = Value))
)]
pub(super) async fn versions(
    State(registry): State<Registry>,
    Path((namespace, name)): Path<(String, String)>,
    viewer: Viewer,
) -> HandlerResult<Json<Value>> {
    let skill = parameters::skill(&namespace, &name)?;
    let found = registry.skill(&skill, None, &viewer).await?.ok_or_else(RegistryError::no_skill)?;
    let versions: Vec<Value> = found
        .versions
        .iter()
        .map(|it| {
            json!({
                "version": it.version.to_string(),
                "published": it.published,
                "sha256": it.sha256,
                "size": it.size,
                "tier": it.tier,
                "state": it.state,
                "yanked": it.yanked,
                "yank_reason": it.yank_reason,
                "revoked": it.revoked,
                "publisher": it.publisher,
            })
        })
        .collect();
    Ok(Json(json!({ "versions": versions })))
}

/// A version that is not revoked.
async fn live(
    registry: &Registry,
    path: &(String, String, String),
    viewer: &Viewer,
) -> Outcome<crate::query::VersionView> {
    let skill = SkillId::new(&path.0, &path.1).map_err(|_| RegistryError::no_skill())?;
    let version: Version = path.2.parse().map_err(|_| RegistryError::no_version())?;
    let found =
        registry.version(&skill, &version, viewer).await?.ok_or_else(RegistryError::no_version)?;
    match found.revoked.clone() {
        Some(reason) => Err(RegistryError::Revoked { what: format!("{skill} {version}"), reason }),
        None => Ok(found),
    }
}

/// `GET /skills/{namespace}/{name}/{version}/scan`: the report of the scan.
#[utoipa::path(
    get, path = "/api/v1/skills/{namespace}/{name}/{version}/scan", tag = "skills",
    summary = "Return the report of the scan",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill"),
        ("version" = String, Path, description = "The version")
    ),
    responses((status = 200, description = "Success", body = Value))
)]
pub(super) async fn scan(
    State(registry): State<Registry>,
    Path(path): Path<(String, String, String)>,
    viewer: Viewer,
) -> HandlerResult<Json<Value>> {
    let found = live(&registry, &path, &viewer).await?;
    Ok(Json(json!(found.scan)))
}

/// `GET /skills/{namespace}/{name}/{version}/signatures`.
#[utoipa::path(
    get, path = "/api/v1/skills/{namespace}/{name}/{version}/signatures", tag = "skills",
    summary = "List the signatures of a version",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill"),
        ("version" = String, Path, description = "The version")
    ),
    responses((status = 200, description = "Success", body = Value))
)]
pub(super) async fn signatures(
    State(registry): State<Registry>,
    Path(path): Path<(String, String, String)>,
    viewer: Viewer,
) -> HandlerResult<Json<Value>> {
    let found = live(&registry, &path, &viewer).await?;
    let body = json!({
        "tier": found.tier,
        "signatures": found.signatures,
        "provenance": found.provenance,
    });
    Ok(Json(body))
}

/// `GET /skills/{namespace}/{name}/{version}/files`.
#[utoipa::path(
    get, path = "/api/v1/skills/{namespace}/{name}/{version}/files", tag = "skills",
    summary = "List the files of a version",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill"),
        ("version" = String, Path, description = "The version")
    ),
    responses((status = 200, description = "Success", body = Value))
)]
pub(super) async fn files(
    State(registry): State<Registry>,
    Path(path): Path<(String, String, String)>,
    viewer: Viewer,
) -> HandlerResult<Json<Value>> {
    let found = live(&registry, &path, &viewer).await?;
    Ok(Json(json!({ "files": found.files })))
}

/// `GET /publishers/{namespace}`.
#[utoipa::path(
    get, path = "/api/v1/publishers/{namespace}", tag = "publishers",
    summary = "Return a publisher with their skills",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        (
            "offset" = Option<u32>, Query, description = "How many to skip", minimum = 0,
            maximum = 10000
        )
    ),
    responses((status = 200, description = "Success", body = Value))
)]
pub(super) async fn publisher(
    State(registry): State<Registry>,
    Path(namespace): Path<String>,
    RawQuery(query): RawQuery,
    viewer: Viewer,
) -> HandlerResult<Json<Value>> {
    let query = QueryParameters::parse(query.as_deref());
    let offset = query.number("offset", 0, 0, 10_000)?;
    let found = registry.publisher(&namespace, offset, &viewer).await?;
    let found = found.ok_or_else(|| {
        RegistryError::of(
            "publisher-not-found",
            prowess_core::ProblemKind::NotFound,
            "there is no such publisher",
        )
    })?;
    let skills: Vec<Value> = found.skills.iter().map(card_json).collect();
    Ok(Json(json!({
        "namespace": found.namespace,
        "kind": found.kind,
        "since": found.since,
        "downloads": found.downloads,
        "skill_count": found.skill_count,
        "skills": skills,
        "next": found.next,
    })))
}

/// `GET /resolve?sha256=`: the versions with these bytes, as `namespace/name` and version.
#[utoipa::path(
    get, path = "/api/v1/resolve", tag = "skills",
    summary = "Find the versions with an archive of this hash",
    params(
        (
            "sha256" = String, Query, description = "The hash of the archive",
            pattern = "^[0-9a-f]{64}$"
        )
    ),
    responses((status = 200, description = "Success", body = Value))
)]
pub(super) async fn resolve(
    State(registry): State<Registry>,
    RawQuery(query): RawQuery,
    viewer: Viewer,
) -> HandlerResult<Json<Value>> {
    let query = QueryParameters::parse(query.as_deref());
    let hash = query.text("sha256").or_else(|| query.text("hash")).unwrap_or_default();
    let hash = hash.strip_prefix("sha256:").unwrap_or(hash);
    let digest: prowess_package::digest::Sha256Digest = hash
        .parse()
        .map_err(|_| invalid_input("invalid-parameter", "`sha256` is 64 hexadecimal digits"))?;
    let found = registry.resolve(&digest.to_string(), &viewer).await?;
    let found: Vec<Value> = found
        .into_iter()
        .map(|(skill, version)| json!({ "namespace": skill.namespace.as_str(), "name": skill.name.as_str(), "version": version }))
        .collect();
    Ok(Json(json!({ "matches": found })))
}
