//! Publishing as ClawHub's client does it: each file is uploaded, then a list of them is published.
//!
//! Uploads are stored with the identifier of their user in front, so that nobody can publish a file that somebody else has
//! uploaded. They are swept after an hour, and need no state on this node.

use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{BytesRejection, JsonRejection};
use axum::extract::{Path, State};
use http::{HeaderMap, StatusCode};
use prowess_format::{ReadOptions, check_bytes};
use prowess_package::digest::Sha256Digest;
use prowess_package::limits::PackageLimits;
use prowess_package::pack::pack;
use prowess_package::tree::{Tree, TreeFile};
use prowess_server::Server;
use prowess_server::identity::CurrentUser;
use prowess_server::limits::Limit;
use prowess_server::problem::{invalid_input, too_large};
use serde::Deserialize;
use serde_json::{Value, json};

use super::skills::{Answer, Parameters, find};
use super::text::TextProblem;
use crate::actor::{Action, Actor};
use crate::api::Caller;
use crate::blobs::BlobKind;
use crate::error::RegistryError;
use crate::names::SkillId;
use crate::publish::Upload;
use crate::registry::Registry;
use crate::viewer::Viewer;

/// The largest file, as the client knows it.
pub(super) const MAX_FILE_BYTES: usize = 10 << 20;
/// The most files of a skill that is published.
const MAX_FILES: usize = 2_000;
/// Uploads of one user, each of which may store a file for an hour.
const UPLOADS: Limit =
    Limit { name: "clawhub-upload", burst: 500, period: Duration::from_mins(10) };

/// A file that is going to be uploaded.
#[derive(Deserialize)]
pub(super) struct UploadRequest {
    size: u64,
    sha256: String,
}

/// A skill whose files were uploaded.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PublishRequest {
    slug: String,
    version: String,
    #[serde(default)]
    owner_handle: Option<String>,
    files: Vec<UploadedFile>,
}

/// A file that was uploaded.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct UploadedFile {
    path: String,
    sha256: String,
    storage_id: String,
}

/// `POST /skills/-/upload-url`: where a file is uploaded.
pub(super) async fn upload_url(
    State(server): State<Server>,
    headers: HeaderMap,
    Caller(actor): Caller,
    body: Result<Json<UploadRequest>, JsonRejection>,
) -> Answer<Json<Value>> {
    let Json(file) = body?;
    actor.require(Action::Publish, None).or_else(|error| any_scope(&actor, error))?;
    if file.size > MAX_FILE_BYTES as u64 {
        return Err(too_large("a file has at most 10 MiB").into());
    }
    let digest = digest(&file.sha256)?;
    server.limits().check(UPLOADS, &actor.user_id).await?;
    let base = super::base(&server, &headers);
    Ok(Json(json!({
        "uploadUrl": format!("{base}/clawhub/api/v1/skills/-/uploads/{digest}"),
        "uploadTicket": digest.to_string(),
    })))
}

/// A token for one skill may upload; what it publishes is checked with the name.
fn any_scope(actor: &Actor, error: RegistryError) -> Result<(), RegistryError> {
    let scopes = actor.scopes.iter().flatten();
    if scopes.into_iter().any(|scope| scope.action() == Action::Publish.as_str()) {
        return Ok(());
    }
    Err(error)
}

/// `POST /skills/-/uploads/{sha256}`: stores a file for an hour.
pub(super) async fn upload(
    State(registry): State<Registry>,
    Path(sha256): Path<String>,
    Caller(actor): Caller,
    body: Result<Bytes, BytesRejection>,
) -> Answer<Json<Value>> {
    let bytes = body?;
    let wanted = digest(&sha256)?;
    if Sha256Digest::of(&bytes) != wanted {
        return Err(invalid_input("wrong-hash", "the file does not have the announced hash").into());
    }
    let mut stored = header_of(&actor);
    stored.extend_from_slice(&bytes);
    let stored = Bytes::from(stored);
    let id = Sha256Digest::of(&stored);
    registry.blobs().put(BlobKind::Upload, id, stored).await.map_err(RegistryError::from)?;
    Ok(Json(json!({ "storageId": id.to_string() })))
}

fn header_of(actor: &Actor) -> Vec<u8> {
    format!("upload of {}\n", actor.user_id).into_bytes()
}

fn digest(text: &str) -> Answer<Sha256Digest> {
    let digest = text.parse();
    digest.map_err(|_| invalid_input("invalid-hash", "`sha256` is 64 hexadecimal digits").into())
}

/// `POST /skills`: publishes files that were uploaded.
pub(super) async fn publish(
    State(registry): State<Registry>,
    CurrentUser(identity): CurrentUser,
    body: Result<Json<PublishRequest>, JsonRejection>,
) -> Answer<(StatusCode, Json<Value>)> {
    let actor = registry.publishing_actor(&identity).await?;
    let Json(request) = body?;
    let tree = tree_of(&registry, &actor, &request.files).await?;
    check_manifest(&tree, &request)?;
    let owner = request.owner_handle.as_deref().map(|owner| owner.trim_start_matches('@'));
    let namespace = owner.unwrap_or(&actor.username).to_owned();
    let receipt =
        registry.publish(&actor, Upload { namespace, package: pack(&tree).into() }).await?;
    let skill = format!("{}/{}", receipt.namespace, receipt.name);
    let status = if receipt.state == "visible" { "published" } else { "pending" };
    let body = json!({
        "ok": true,
        "skillId": skill,
        "versionId": format!("{skill}@{}", receipt.version),
        "slug": receipt.name,
        "version": receipt.version,
        "status": status,
        "publicationStatus": status,
    });
    Ok((StatusCode::OK, Json(body)))
}

/// The uploaded files as a tree, within the limits of packages.
async fn tree_of(registry: &Registry, actor: &Actor, files: &[UploadedFile]) -> Answer<Tree> {
    let limits = &PackageLimits::PACKAGE;
    if files.len() > MAX_FILES {
        return Err(too_large(format!("a skill has at most {MAX_FILES} files")).into());
    }
    let header = header_of(actor);
    let (mut read, mut total) = (Vec::new(), 0_u64);
    for file in files {
        let unknown = || {
            let message = format!("the file `{}` was not uploaded", shown(&file.path));
            TextProblem::from(invalid_input("not-uploaded", message))
        };
        let stored = registry.blobs().get(BlobKind::Upload, digest(&file.storage_id)?).await;
        let stored = stored.map_err(|_| unknown())?;
        let bytes = stored.strip_prefix(header.as_slice()).ok_or_else(unknown)?;
        if Sha256Digest::of(bytes) != digest(&file.sha256)? {
            return Err(unknown());
        }
        total += bytes.len() as u64;
        if total > limits.archive_bytes {
            return Err(too_large("a skill has at most 50 MiB").into());
        }
        let path =
            file.path.parse().map_err(|error: prowess_package::path::PackagePathError| {
                TextProblem::from(invalid_input("invalid-path", error.to_string()))
            })?;
        // The protocol has no modes.
        read.push((path, TreeFile { bytes: bytes.to_vec(), executable: false }));
    }
    Tree::from_files(read, limits)
        .map_err(|error| invalid_input("invalid-package", error.to_string()).into())
}

/// What the client says about the skill has to be what the skill says about itself.
fn check_manifest(tree: &Tree, request: &PublishRequest) -> Answer<()> {
    let mut text = std::borrow::Cow::Borrowed("");
    let checked = check_bytes(tree.manifest(), &mut text, ReadOptions::DETECT);
    let declared = [
        ("name", checked.skill.name_text(), request.slug.as_str()),
        ("version", checked.skill.published_version(), request.version.as_str()),
    ];
    for (field, declared, wanted) in declared {
        if declared != Some(wanted) {
            let found = declared.map_or("none".to_owned(), |it| format!("`{}`", shown(it)));
            let message = format!(
                "`SKILL.md` needs `{field}: {}` to be published as that; it has {found}",
                shown(wanted)
            );
            return Err(invalid_input("other-skill", message).into());
        }
    }
    Ok(())
}

fn shown(text: &str) -> String {
    prowess_format::text::visible(&prowess_format::text::shorten(text, 80)).into_owned()
}

/// `DELETE /skills/{slug}`.
pub(super) async fn delete(
    State(registry): State<Registry>,
    Path(slug): Path<String>,
    axum::extract::RawQuery(query): axum::extract::RawQuery,
    viewer: Viewer,
    Caller(actor): Caller,
) -> Answer<Json<Value>> {
    let query = Parameters::parse(query.as_deref());
    let found = find(&registry, &slug, query.text("ownerHandle"), &viewer).await?;
    let skill = SkillId::new(&found.card.namespace, &found.card.name)
        .map_err(|_| TextProblem::not_found())?;
    registry.delete(&actor, &skill).await?;
    Ok(Json(json!({ "ok": true })))
}
