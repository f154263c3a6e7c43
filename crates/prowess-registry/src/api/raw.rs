//! The layout of SRT §8: `/{namespace}/{name}/{version}/SKILL.md`, and prose under `anon/{sha256}`.
//!
//! Files are shown as plain text in a sandbox, or saved: nothing that was uploaded becomes a page of this origin (attack
//! registry-D10).

use axum::extract::{Path, State};
use axum::response::Response;
use http::header::CONTENT_SECURITY_POLICY;
use http::{HeaderMap, HeaderValue};
use prowess_package::digest::Sha256Digest;
use prowess_server::problem::HandlerResult;
use prowess_server::values;
use semver::Version;

use super::parameters;
use super::{Content, Downloader, respond};
use crate::blobs::BlobKind;
use crate::error::RegistryError;
use crate::names::SkillId;
use crate::registry::Registry;

/// What a browser may do with a file: show it.
const SANDBOX: HeaderValue = HeaderValue::from_static("sandbox; default-src 'none'");

/// `GET /{namespace}/{name}/{version}/{path}`.
#[utoipa::path(
    get, operation_id = "raw_file", path = "/{namespace}/{name}/{version}/{path}", tag = "files",
    summary = "Return a file of a version, in the layout of SRT §8",
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
    serve_file(&registry, &skill, &version, &path, &downloader, &headers).await
}

/// Serves one file of a version.
pub(super) async fn serve_file(
    registry: &Registry,
    skill: &SkillId,
    version: &Version,
    path: &str,
    downloader: &Downloader,
    headers: &HeaderMap,
) -> HandlerResult<Response> {
    let found = registry.file(skill, version, path, &downloader.viewer).await?;
    let found = found.ok_or_else(|| {
        RegistryError::of(
            "file-not-found",
            prowess_core::ProblemKind::NotFound,
            "there is no such file",
        )
    })?;
    let name = path.rsplit('/').next().unwrap_or("file");
    // Names are those of `PackagePath`; what is left are characters that a header can't have.
    let is_plain = name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"');
    let content = Content {
        bytes: found.bytes,
        content_type: if found.file.is_text {
            "text/plain; charset=utf-8"
        } else {
            "application/octet-stream"
        },
        tag: Some(found.file.sha256),
        is_public: downloader.viewer.user_id.is_none(),
        file_name: (!found.file.is_text)
            .then(|| if is_plain { name.to_owned() } else { "file".to_owned() }),
    };
    let mut response = respond(headers, content);
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, SANDBOX);
    Ok(response)
}

/// `GET /anon/{sha256}` and `/anon/{sha256}/SKILL.md`: a text without front matter.
#[utoipa::path(
    get, path = "/anon/{sha256}", tag = "files", summary = "Return prose by its hash",
    params(("sha256" = String, Path, description = "The hash of the text")),
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
pub(super) async fn prose(
    State(registry): State<Registry>,
    Path(sha256): Path<String>,
    headers: HeaderMap,
) -> HandlerResult<Response> {
    let unknown = || {
        RegistryError::of(
            "prose-not-found",
            prowess_core::ProblemKind::NotFound,
            "there is no such text",
        )
    };
    let digest: Sha256Digest = sha256.parse().map_err(|_| unknown())?;
    let found = registry.database().read(move |connection| {
        connection.query_optional(
            "SELECT revoked FROM prose WHERE sha256 = ?1",
            &values![digest.to_string()],
        )
    });
    let row = found.await?.ok_or_else(unknown)?;
    if let Some(reason) = row.get::<Option<String>>("revoked")? {
        return Err(RegistryError::Revoked { what: format!("anon/{digest}"), reason }.into());
    }
    let bytes = registry.blobs().get(BlobKind::Prose, digest).await.map_err(RegistryError::from)?;
    let content = Content {
        bytes,
        content_type: "text/plain; charset=utf-8",
        tag: Some(digest.to_string()),
        is_public: true,
        file_name: None,
    };
    let mut response = respond(&headers, content);
    response.headers_mut().insert(CONTENT_SECURITY_POLICY, SANDBOX);
    Ok(response)
}
