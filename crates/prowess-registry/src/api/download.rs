//! Archives and files of versions. Their bytes never change, so caches can keep them; a revoked version is 410.

use std::io::{Cursor, Write as _};

use axum::extract::{Path, State};
use axum::response::Response;
use bytes::Bytes;
use http::HeaderMap;
use prowess_server::problem::HandlerResult;
use semver::Version;
use zip::write::SimpleFileOptions;

use super::parameters;
use super::skills::{OneName, only};
use super::{Content, Downloader, respond};
use crate::blobs::BlobKind;
use crate::error::{Outcome, RegistryError};
use crate::names::SkillId;
use crate::query::ArchiveView;
use crate::registry::Registry;

/// `GET /skills/{namespace}/{name}/{version}/download`.
#[utoipa::path(
    get, path = "/api/v1/skills/{namespace}/{name}/{version}/download", tag = "skills",
    summary = "Return the archive of a version",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill"),
        ("version" = String, Path, description = "The version")
    ),
    responses(
        (
            status = 200, description = "The archive", body = Vec<u8>,
            content_type = "application/gzip"
        )
    )
)]
pub(super) async fn archive(
    State(registry): State<Registry>,
    Path(path): Path<(String, String, String)>,
    downloader: Downloader,
    headers: HeaderMap,
) -> HandlerResult<Response> {
    let (skill, version) = parameters::skill_version(&path)?;
    serve(&registry, &skill, Some(&version), &downloader, &headers).await
}

/// `GET /skills/{namespace}/{name}/download`: the newest version; and `/skills/{name}/{version}/download`.
#[utoipa::path(
    get, path = "/api/v1/skills/{namespace}/{name}/download", tag = "skills",
    summary = "Return the archive of the newest version",
    description = "A version instead of the name returns that version of the skill of a bare name.",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill")
    ),
    responses(
        (
            status = 200, description = "The archive", body = Vec<u8>,
            content_type = "application/gzip"
        ),
        (status = 300, description = "Several namespaces have a skill of that name", body = Value)
    )
)]
pub(super) async fn latest(
    State(registry): State<Registry>,
    Path((first, second)): Path<(String, String)>,
    downloader: Downloader,
    headers: HeaderMap,
) -> HandlerResult<Response> {
    let Ok(version) = second.parse::<Version>() else {
        let skill = parameters::skill(&first, &second)?;
        return serve(&registry, &skill, None, &downloader, &headers).await;
    };
    match only(&registry, &first, &downloader.viewer).await? {
        OneName::One(skill) => {
            serve(&registry, &skill, Some(&version), &downloader, &headers).await
        }
        OneName::Several(response) => Ok(response),
    }
}

/// Serves an archive and counts the download.
pub(super) async fn serve(
    registry: &Registry,
    skill: &SkillId,
    version: Option<&Version>,
    downloader: &Downloader,
    headers: &HeaderMap,
) -> HandlerResult<Response> {
    let found = find(registry, skill, version, downloader).await?;
    let bytes =
        registry.blobs().get(BlobKind::Package, found.sha256).await.map_err(RegistryError::from)?;
    registry.count_download(found.skill_id, &downloader.identity);
    Ok(respond(
        headers,
        Content {
            bytes,
            content_type: "application/gzip",
            tag: Some(found.sha256.to_string()),
            is_public: found.is_public && downloader.viewer.user_id.is_none(),
            file_name: Some(format!("{}-{}.tar.gz", skill.name, found.version)),
        },
    ))
}

async fn find(
    registry: &Registry,
    skill: &SkillId,
    version: Option<&Version>,
    downloader: &Downloader,
) -> Outcome<ArchiveView> {
    registry
        .archive(skill, version, &downloader.viewer)
        .await?
        .ok_or_else(RegistryError::no_version)
}

/// `GET /skills/{namespace}/{name}/{version}/archive.zip`: the same files, packed when they are asked for.
#[utoipa::path(
    get, path = "/api/v1/skills/{namespace}/{name}/{version}/archive.zip", tag = "skills",
    summary = "Return the files of a version as a zip",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill"),
        ("version" = String, Path, description = "The version")
    ),
    responses(
        (status = 200, description = "The zip", body = Vec<u8>, content_type = "application/zip")
    )
)]
pub(super) async fn zip(
    State(registry): State<Registry>,
    Path(path): Path<(String, String, String)>,
    downloader: Downloader,
    headers: HeaderMap,
) -> HandlerResult<Response> {
    let (skill, version) = parameters::skill_version(&path)?;
    let found = find(&registry, &skill, Some(&version), &downloader).await?;
    let bytes = zip_of(&registry, &found.sha256.to_string()).await?;
    registry.count_download(found.skill_id, &downloader.identity);
    Ok(respond(
        &headers,
        Content {
            bytes,
            content_type: "application/zip",
            tag: Some(format!("{}-zip", found.sha256)),
            is_public: found.is_public && downloader.viewer.user_id.is_none(),
            file_name: Some(format!("{}-{version}.zip", skill.name)),
        },
    ))
}

/// The files of a package as a zip, the same bytes for the same files.
pub(crate) async fn zip_of(registry: &Registry, sha256: &str) -> Outcome<Bytes> {
    let tree = registry.tree(sha256).await?;
    let failed = || {
        RegistryError::of(
            "zip-failed",
            prowess_core::ProblemKind::Internal,
            "the package could not be packed as a zip",
        )
    };
    let packed = tokio::task::spawn_blocking(move || -> std::io::Result<Vec<u8>> {
        let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for (path, file) in tree.files() {
            let mode = if file.executable { 0o755 } else { 0o644 };
            // The epoch of the format, for all of them.
            let options = SimpleFileOptions::default()
                .last_modified_time(zip::DateTime::default())
                .unix_permissions(mode);
            writer.start_file(path.as_str(), options).map_err(std::io::Error::other)?;
            writer.write_all(&file.bytes)?;
        }
        Ok(writer.finish().map_err(std::io::Error::other)?.into_inner())
    });
    Ok(packed.await.map_err(|_| failed())?.map_err(|_| failed())?.into())
}

/// `GET /skills/{namespace}/{name}/{version}/files/{path}`: one file, as text or as an attachment (attack registry-D10).
#[utoipa::path(
    get, operation_id = "version_file",
    path = "/api/v1/skills/{namespace}/{name}/{version}/files/{path}", tag = "skills",
    summary = "Return a file of a version",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill"),
        ("version" = String, Path, description = "The version"),
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
    Path((namespace, name, version, path)): Path<(String, String, String, String)>,
    downloader: Downloader,
    headers: HeaderMap,
) -> HandlerResult<Response> {
    let (skill, version) = parameters::skill_version(&(namespace, name, version))?;
    super::raw::serve_file(&registry, &skill, &version, &path, &downloader, &headers).await
}
