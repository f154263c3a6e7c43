//! Skills as ClawHub describes them.

use axum::Json;
use axum::extract::{Path, RawQuery, State};
use axum::response::Response;
use http::HeaderMap;
use prowess_package::digest::{FileHashes, clawhub_fingerprint};
use semver::Version;
use serde_json::{Value, json};

use super::text::TextProblem;
use crate::api::{Caller, Content, Downloader, respond, zip_of};
use crate::error::RegistryError;
use crate::names::SkillId;
use crate::query::{SkillCard, SkillSort, SkillView, VersionView};
use crate::registry::Registry;
use crate::search::{SearchDocument, SearchRequest};
use crate::viewer::Viewer;

/// Results if the client does not say how many.
const PAGE: usize = 25;
const MAX_PAGE: usize = 100;

pub(super) type Answer<T> = Result<T, TextProblem>;

/// The parameters of a query.
pub(super) struct Parameters(Vec<(String, String)>);

impl Parameters {
    pub(super) fn parse(query: Option<&str>) -> Self {
        let pairs = url::form_urlencoded::parse(query.unwrap_or_default().as_bytes());
        Self(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect())
    }

    pub(super) fn text(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, value)| known == name && !value.is_empty());
        found.map(|(_, value)| value.as_str())
    }

    fn limit(&self) -> usize {
        self.text("limit").and_then(|text| text.parse().ok()).unwrap_or(PAGE).clamp(1, MAX_PAGE)
    }
}

/// `GET /search?q&limit`.
pub(super) async fn search(
    State(registry): State<Registry>,
    RawQuery(query): RawQuery,
) -> Answer<Json<Value>> {
    let query = Parameters::parse(query.as_deref());
    let request = SearchRequest {
        text: query.text("q").unwrap_or_default().to_owned(),
        limit: query.limit(),
        ..SearchRequest::default()
    };
    let found = tokio::task::spawn_blocking(move || registry.search_index().search(&request)).await;
    let failed = || {
        RegistryError::of("search-failed", prowess_core::ProblemKind::Internal, "the search failed")
    };
    let found = found.map_err(|_| failed())?.map_err(|_| failed())?;
    let results: Vec<Value> = found.hits.iter().map(|hit| result(&hit.skill, hit.score)).collect();
    Ok(Json(json!({ "results": results })))
}

fn result(skill: &SearchDocument, score: f32) -> Value {
    json!({
        "score": score,
        "slug": skill.name,
        "displayName": skill.name,
        "summary": skill.description,
        "version": skill.version,
        "updatedAt": skill.updated * 1000,
        "ownerHandle": skill.namespace,
        "owner": { "handle": skill.namespace, "displayName": skill.namespace, "image": null },
    })
}

/// `GET /skills?limit&sort&cursor`.
pub(super) async fn list(
    State(registry): State<Registry>,
    RawQuery(query): RawQuery,
) -> Answer<Json<Value>> {
    let query = Parameters::parse(query.as_deref());
    let sort = match query.text("sort") {
        Some("createdAt") => SkillSort::Created,
        Some("downloads" | "installs" | "installsAllTime" | "stars") => SkillSort::Downloads,
        _ => SkillSort::Updated,
    };
    let page = registry.list(sort, query.text("cursor"), query.limit()).await?;
    let items: Vec<Value> = page.skills.iter().map(item).collect();
    Ok(Json(json!({ "items": items, "nextCursor": page.next })))
}

fn item(card: &SkillCard) -> Value {
    json!({
        "slug": card.name,
        "ownerHandle": card.namespace,
        "displayName": card.name,
        "summary": card.description,
        "tags": { "latest": card.version },
        "stats": { "downloads": card.downloads, "stars": 0 },
        "createdAt": card.created * 1000,
        "updatedAt": card.published * 1000,
        "latestVersion": { "version": card.version, "createdAt": card.published * 1000, "changelog": "" },
        "metadata": null,
    })
}

/// The skill of a slug, with the handle of its owner if there are several.
pub(super) async fn find(
    registry: &Registry,
    slug: &str,
    owner: Option<&str>,
    viewer: &Viewer,
) -> Answer<SkillView> {
    let (owner, slug) = match slug.trim_start_matches('@').split_once('/') {
        Some((owner, slug)) => (Some(owner), slug),
        None => (owner, slug),
    };
    let skill = match owner {
        Some(owner) => SkillId::new(owner.trim_start_matches('@'), slug)
            .map_err(|_| TextProblem::not_found())?,
        None => {
            let candidates = registry.candidates(slug, viewer).await?;
            match candidates.as_slice() {
                [] => return Err(TextProblem::not_found()),
                [one] => one.parse().map_err(|_| TextProblem::not_found())?,
                _ => {
                    return Err(
                        RegistryError::Ambiguous { name: slug.to_owned(), candidates }.into()
                    );
                }
            }
        }
    };
    let found = registry.skill(&skill, None, viewer).await?.ok_or_else(TextProblem::not_found)?;
    match found.chosen.as_ref().and_then(|it| it.revoked.clone()) {
        Some(reason) => Err(RegistryError::Revoked { what: skill.to_string(), reason }.into()),
        None => Ok(found),
    }
}

/// `GET /skills/{slug}?ownerHandle=`.
pub(super) async fn skill(
    State(registry): State<Registry>,
    Path(slug): Path<String>,
    RawQuery(query): RawQuery,
    viewer: Viewer,
) -> Answer<Json<Value>> {
    let query = Parameters::parse(query.as_deref());
    let found = find(&registry, &slug, query.text("ownerHandle"), &viewer).await?;
    let owner = found.card.namespace.clone();
    let latest = found.chosen.as_ref().map(version_json);
    Ok(Json(json!({
        "skill": item(&found.card),
        "latestVersion": latest,
        "owner": { "handle": owner, "displayName": owner, "image": null },
    })))
}

fn version_json(version: &VersionView) -> Value {
    json!({
        "version": version.version.to_string(),
        "createdAt": version.published * 1000,
        "changelog": "",
    })
}

/// `GET /skills/{slug}/versions`.
pub(super) async fn versions(
    State(registry): State<Registry>,
    Path(slug): Path<String>,
    RawQuery(query): RawQuery,
    viewer: Viewer,
) -> Answer<Json<Value>> {
    let query = Parameters::parse(query.as_deref());
    let found = find(&registry, &slug, query.text("ownerHandle"), &viewer).await?;
    let items: Vec<Value> =
        found.versions.iter().filter(|it| it.is_available()).map(version_json).collect();
    Ok(Json(json!({ "items": items, "nextCursor": null })))
}

/// `GET /skills/{slug}/versions/{version}`: with its files.
pub(super) async fn version(
    State(registry): State<Registry>,
    Path((slug, version)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    viewer: Viewer,
) -> Answer<Json<Value>> {
    let query = Parameters::parse(query.as_deref());
    let found = find(&registry, &slug, query.text("ownerHandle"), &viewer).await?;
    let wanted = found.versions.iter().find(|it| it.version.to_string() == version);
    if let Some(reason) = wanted.and_then(|it| it.revoked.clone()) {
        let what = format!("{}/{} {version}", found.card.namespace, found.card.name);
        return Err(RegistryError::Revoked { what, reason }.into());
    }
    let wanted = wanted.filter(|it| it.is_available()).ok_or_else(TextProblem::not_found)?;
    let files: Vec<Value> = wanted
        .files
        .iter()
        .map(|file| {
            json!({
                "path": file.path,
                "size": file.size,
                "sha256": file.sha256,
                "contentType": if file.is_text { "text/plain" } else { "application/octet-stream" },
            })
        })
        .collect();
    let mut value = version_json(wanted);
    value["files"] = files.into();
    Ok(Json(
        json!({ "version": value, "skill": { "slug": found.card.name, "displayName": found.card.name } }),
    ))
}

/// `GET /download?slug&ownerHandle&version`: a zip with the files at its root.
pub(super) async fn download(
    State(registry): State<Registry>,
    RawQuery(query): RawQuery,
    downloader: Downloader,
    headers: HeaderMap,
) -> Answer<Response> {
    let query = Parameters::parse(query.as_deref());
    let slug = query.text("slug").ok_or_else(TextProblem::not_found)?;
    let found = find(&registry, slug, query.text("ownerHandle"), &downloader.viewer).await?;
    let skill = SkillId::new(&found.card.namespace, &found.card.name)
        .map_err(|_| TextProblem::not_found())?;
    let version =
        match query.text("version").or_else(|| query.text("tag").filter(|tag| *tag != "latest")) {
            Some(text) => Some(text.parse::<Version>().map_err(|_| TextProblem::not_found())?),
            None => None,
        };
    let archive = registry.archive(&skill, version.as_ref(), &downloader.viewer).await?;
    let archive = archive.ok_or_else(TextProblem::not_found)?;
    let bytes = zip_of(&registry, &archive.sha256.to_string()).await?;
    registry.count_download(archive.skill_id, &downloader.identity);
    Ok(respond(
        &headers,
        Content {
            bytes,
            content_type: "application/zip",
            tag: Some(format!("{}-zip", archive.sha256)),
            is_public: archive.is_public && downloader.viewer.user_id.is_none(),
            file_name: Some(format!("{}-{}.zip", skill.name, archive.version)),
        },
    ))
}

/// `GET /resolve?slug&ownerHandle&hash`: which version has these files.
pub(super) async fn resolve(
    State(registry): State<Registry>,
    RawQuery(query): RawQuery,
    viewer: Viewer,
) -> Answer<Json<Value>> {
    let query = Parameters::parse(query.as_deref());
    let slug = query.text("slug").ok_or_else(TextProblem::not_found)?;
    let hash = query.text("hash").unwrap_or_default();
    let found = find(&registry, slug, query.text("ownerHandle"), &viewer).await?;
    let fits = |version: &&VersionView| version.is_available() && fingerprint(version) == hash;
    let matched = found.versions.iter().find(fits);
    let latest = found.chosen.as_ref();
    let named = |version: &VersionView| json!({ "version": version.version.to_string() });
    Ok(Json(json!({
        "slug": found.card.name,
        "match": matched.map(named),
        "latestVersion": latest.map(named),
    })))
}

/// What the client computes over an installed skill: hidden files are not in it.
fn fingerprint(version: &VersionView) -> String {
    let is_hidden = |path: &str| path.split('/').any(|part| part.starts_with('.'));
    let shown = version.files.iter().filter(|file| !is_hidden(&file.path));
    let hashes: FileHashes = shown
        .filter_map(|file| Some((file.path.parse().ok()?, file.sha256.parse().ok()?)))
        .collect();
    clawhub_fingerprint(&hashes).to_string()
}

/// `GET /whoami`.
pub(super) async fn whoami(Caller(actor): Caller) -> Json<Value> {
    Json(json!({
        "user": { "handle": actor.username, "displayName": actor.username, "image": null },
    }))
}
