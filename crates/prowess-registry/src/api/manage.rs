//! What publishers do with their skills and namespaces.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::extract::{Path, State};
use http::StatusCode;
use prowess_server::problem::{HandlerResult, invalid_input};
use prowess_trust::Role as KeyRole;
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::{Caller, parameters};
use crate::manage::TrustedPublisher;
use crate::registry::Registry;
use crate::store::Role;

/// A reason or a message.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub(super) struct ReasonBody {
    pub(super) reason: Option<String>,
    message: Option<String>,
}

/// Who may see something.
#[derive(Deserialize, ToSchema)]
pub(super) struct VisibilityBody {
    private: bool,
}

/// A new organisation.
#[derive(Deserialize, ToSchema)]
pub(super) struct OrganisationBody {
    name: String,
}

/// An invitation.
#[derive(Deserialize, ToSchema)]
pub(super) struct InvitationBody {
    username: String,
    #[serde(default)]
    role: Option<String>,
    #[serde(default)]
    transfer: bool,
}

/// A key.
#[derive(Deserialize, ToSchema)]
pub(super) struct KeyBody {
    pub(super) key: String,
    #[serde(default)]
    pub(super) role: Option<String>,
}

/// A signature.
#[derive(Deserialize, ToSchema)]
pub(super) struct SignatureBody {
    file: String,
    content: String,
}

type Skill = Path<(String, String)>;
type SkillVersion = Path<(String, String, String)>;
type Body<T> = Result<Json<T>, JsonRejection>;

/// `POST /skills/{namespace}/{name}/{version}/yank`. The body may have a `reason`.
#[utoipa::path(
    post, path = "/api/v1/skills/{namespace}/{name}/{version}/yank", tag = "skills",
    summary = "Yank a version",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill"),
        ("version" = String, Path, description = "The version")
    ),
    request_body = Option<ReasonBody>, responses((status = 204, description = "Done")),
    security(("token" = []))
)]
pub(super) async fn yank(
    State(registry): State<Registry>,
    Path(path): SkillVersion,
    Caller(actor): Caller,
    body: Result<Option<Json<ReasonBody>>, JsonRejection>,
) -> HandlerResult<StatusCode> {
    let reason = body?.and_then(|Json(body)| body.reason);
    let (skill, version) = parameters::skill_version(&path)?;
    registry.yank(&actor, &skill, &version, true, reason.as_deref()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `DELETE /skills/{namespace}/{name}/{version}/yank`.
#[utoipa::path(
    delete, path = "/api/v1/skills/{namespace}/{name}/{version}/yank", tag = "skills",
    summary = "Take a yank back",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill"),
        ("version" = String, Path, description = "The version")
    ),
    responses((status = 204, description = "Done")), security(("token" = []))
)]
pub(super) async fn unyank(
    State(registry): State<Registry>,
    Path(path): SkillVersion,
    Caller(actor): Caller,
) -> HandlerResult<StatusCode> {
    let (skill, version) = parameters::skill_version(&path)?;
    registry.yank(&actor, &skill, &version, false, None).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /skills/{namespace}/{name}/{version}/unyank`.
#[utoipa::path(
    post, path = "/api/v1/skills/{namespace}/{name}/{version}/unyank", tag = "skills",
    summary = "Take a yank back, for clients without DELETE",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill"),
        ("version" = String, Path, description = "The version")
    ),
    responses((status = 204, description = "Done")), security(("token" = []))
)]
pub(super) async fn unyank_by_post(
    state: State<Registry>,
    path: SkillVersion,
    caller: Caller,
) -> HandlerResult<StatusCode> {
    unyank(state, path, caller).await
}

/// `POST /skills/{namespace}/{name}/deprecate`: with a `message`, or without one to take it back.
#[utoipa::path(
    post, path = "/api/v1/skills/{namespace}/{name}/deprecate", tag = "skills",
    summary = "Deprecate a skill, or take it back without a message",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill")
    ),
    request_body = ReasonBody, responses((status = 204, description = "Done")),
    security(("token" = []))
)]
pub(super) async fn deprecate(
    State(registry): State<Registry>,
    Path((namespace, name)): Skill,
    Caller(actor): Caller,
    body: Body<ReasonBody>,
) -> HandlerResult<StatusCode> {
    let Json(body) = body?;
    let skill = parameters::skill(&namespace, &name)?;
    registry.deprecate(&actor, &skill, body.message.as_deref()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `PUT /skills/{namespace}/{name}/visibility`.
#[utoipa::path(
    put, path = "/api/v1/skills/{namespace}/{name}/visibility", tag = "skills",
    summary = "Make a skill private or public",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill")
    ),
    request_body = VisibilityBody, responses((status = 204, description = "Done")),
    security(("token" = []))
)]
pub(super) async fn visibility(
    State(registry): State<Registry>,
    Path((namespace, name)): Skill,
    Caller(actor): Caller,
    body: Body<VisibilityBody>,
) -> HandlerResult<StatusCode> {
    let Json(body) = body?;
    let skill = parameters::skill(&namespace, &name)?;
    registry.set_private(&actor, &skill, body.private).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `DELETE /skills/{namespace}/{name}`.
#[utoipa::path(
    delete, path = "/api/v1/skills/{namespace}/{name}", tag = "skills", summary = "Delete a skill",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill")
    ),
    responses((status = 204, description = "Done")), security(("token" = []))
)]
pub(super) async fn delete(
    State(registry): State<Registry>,
    Path((namespace, name)): Skill,
    Caller(actor): Caller,
) -> HandlerResult<StatusCode> {
    let skill = parameters::skill(&namespace, &name)?;
    registry.delete(&actor, &skill).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /skills/{namespace}/{name}/{version}/signatures`: a file name and its content in base64. Returns the tier.
#[utoipa::path(
    post, path = "/api/v1/skills/{namespace}/{name}/{version}/signatures", tag = "skills",
    summary = "Add a signature to a version",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill"),
        ("version" = String, Path, description = "The version")
    ),
    request_body = SignatureBody, responses((status = 200, description = "Success", body = Value)),
    security(("token" = []))
)]
pub(super) async fn sign(
    State(registry): State<Registry>,
    Path(path): SkillVersion,
    Caller(actor): Caller,
    body: Body<SignatureBody>,
) -> HandlerResult<Json<Value>> {
    use base64::Engine as _;
    let Json(body) = body?;
    let (skill, version) = parameters::skill_version(&path)?;
    let content = base64::engine::general_purpose::STANDARD
        .decode(&body.content)
        .map_err(|_| invalid_input("invalid-signature", "`content` is not base64"))?;
    let tier = registry.add_signature(&actor, &skill, &version, &body.file, &content).await?;
    Ok(Json(json!({ "tier": tier })))
}

/// `GET /skills/{namespace}/{name}/trusted-publishers`.
#[utoipa::path(
    get, path = "/api/v1/skills/{namespace}/{name}/trusted-publishers", tag = "skills",
    summary = "List the CI workflows that may publish a skill",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill")
    ),
    responses((status = 200, description = "Success", body = Value)), security(("token" = []))
)]
pub(super) async fn trusted_publishers(
    State(registry): State<Registry>,
    Path((namespace, name)): Skill,
    Caller(actor): Caller,
) -> HandlerResult<Json<Value>> {
    let skill = parameters::skill(&namespace, &name)?;
    Ok(Json(json!({ "publishers": registry.trusted_publishers(&actor, &skill).await? })))
}

/// `POST /skills/{namespace}/{name}/trusted-publishers`.
#[utoipa::path(
    post, path = "/api/v1/skills/{namespace}/{name}/trusted-publishers", tag = "skills",
    summary = "Let a CI workflow publish a skill",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill")
    ),
    request_body = TrustedPublisher, responses((status = 204, description = "Done")),
    security(("token" = []))
)]
pub(super) async fn trust(
    State(registry): State<Registry>,
    Path((namespace, name)): Skill,
    Caller(actor): Caller,
    body: Body<TrustedPublisher>,
) -> HandlerResult<StatusCode> {
    let Json(body) = body?;
    let skill = parameters::skill(&namespace, &name)?;
    registry.trust_publisher(&actor, &skill, &body).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `DELETE /skills/{namespace}/{name}/trusted-publishers`.
#[utoipa::path(
    delete, path = "/api/v1/skills/{namespace}/{name}/trusted-publishers", tag = "skills",
    summary = "No longer let a CI workflow publish a skill",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("name" = String, Path, description = "The name of the skill")
    ),
    request_body = TrustedPublisher, responses((status = 204, description = "Done")),
    security(("token" = []))
)]
pub(super) async fn distrust(
    State(registry): State<Registry>,
    Path((namespace, name)): Skill,
    Caller(actor): Caller,
    body: Body<TrustedPublisher>,
) -> HandlerResult<StatusCode> {
    let Json(body) = body?;
    let skill = parameters::skill(&namespace, &name)?;
    registry.distrust_publisher(&actor, &skill, &body).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /organisations`.
#[utoipa::path(
    post, path = "/api/v1/organisations", tag = "publishers", summary = "Create an organisation",
    request_body = OrganisationBody, responses((status = 201, description = "Created")),
    security(("token" = []))
)]
pub(super) async fn add_organisation(
    State(registry): State<Registry>,
    Caller(actor): Caller,
    body: Body<OrganisationBody>,
) -> HandlerResult<StatusCode> {
    let Json(body) = body?;
    registry.add_organisation(&actor, &body.name).await?;
    Ok(StatusCode::CREATED)
}

/// `DELETE /namespaces/{namespace}`.
#[utoipa::path(
    delete, path = "/api/v1/namespaces/{namespace}", tag = "publishers",
    summary = "Delete a namespace with its skills",
    params(("namespace" = String, Path, description = "The namespace")),
    responses((status = 204, description = "Done")), security(("token" = []))
)]
pub(super) async fn delete_namespace(
    State(registry): State<Registry>,
    Path(namespace): Path<String>,
    Caller(actor): Caller,
) -> HandlerResult<StatusCode> {
    registry.delete_namespace(&actor, &namespace).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /namespaces/{namespace}/invitations`.
#[utoipa::path(
    post, path = "/api/v1/namespaces/{namespace}/invitations", tag = "publishers",
    summary = "Invite a user, or offer them the namespace",
    params(("namespace" = String, Path, description = "The namespace")),
    request_body = InvitationBody, responses((status = 201, description = "Created")),
    security(("token" = []))
)]
pub(super) async fn invite(
    State(registry): State<Registry>,
    Path(namespace): Path<String>,
    Caller(actor): Caller,
    body: Body<InvitationBody>,
) -> HandlerResult<StatusCode> {
    let Json(body) = body?;
    let role: Role = body.role.as_deref().unwrap_or("publisher").parse().map_err(
        |error: crate::store::RoleError| invalid_input("invalid-role", error.to_string()),
    )?;
    registry.invite(&actor, &namespace, &body.username, role, body.transfer).await?;
    Ok(StatusCode::CREATED)
}

/// `POST /namespaces/{namespace}/accept`.
#[utoipa::path(
    post, path = "/api/v1/namespaces/{namespace}/accept", tag = "publishers",
    summary = "Accept an invitation",
    params(("namespace" = String, Path, description = "The namespace")),
    responses((status = 204, description = "Done")), security(("token" = []))
)]
pub(super) async fn accept(
    State(registry): State<Registry>,
    Path(namespace): Path<String>,
    Caller(actor): Caller,
) -> HandlerResult<StatusCode> {
    registry.accept_invitation(&actor, &namespace).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `DELETE /namespaces/{namespace}/members/{username}`.
#[utoipa::path(
    delete, path = "/api/v1/namespaces/{namespace}/members/{username}", tag = "publishers",
    summary = "Remove a member, or leave",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("username" = String, Path, description = "The name of the member")
    ),
    responses((status = 204, description = "Done")), security(("token" = []))
)]
pub(super) async fn remove_member(
    State(registry): State<Registry>,
    Path((namespace, username)): Path<(String, String)>,
    Caller(actor): Caller,
) -> HandlerResult<StatusCode> {
    registry.remove_member(&actor, &namespace, &username).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /namespaces/{namespace}/members/{username}/remove`.
#[utoipa::path(
    post, path = "/api/v1/namespaces/{namespace}/members/{username}/remove", tag = "publishers",
    summary = "Remove a member, for clients without DELETE",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("username" = String, Path, description = "The name of the member")
    ),
    responses((status = 204, description = "Done")), security(("token" = []))
)]
pub(super) async fn remove_member_by_post(
    state: State<Registry>,
    path: Path<(String, String)>,
    caller: Caller,
) -> HandlerResult<StatusCode> {
    remove_member(state, path, caller).await
}

/// `PUT /namespaces/{namespace}/visibility`.
#[utoipa::path(
    put, path = "/api/v1/namespaces/{namespace}/visibility", tag = "publishers",
    summary = "Make a namespace private or public",
    params(("namespace" = String, Path, description = "The namespace")),
    request_body = VisibilityBody, responses((status = 204, description = "Done")),
    security(("token" = []))
)]
pub(super) async fn namespace_visibility(
    State(registry): State<Registry>,
    Path(namespace): Path<String>,
    Caller(actor): Caller,
    body: Body<VisibilityBody>,
) -> HandlerResult<StatusCode> {
    let Json(body) = body?;
    registry.set_namespace_private(&actor, &namespace, body.private).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /namespaces/{namespace}/keys`: registers a signing key, and returns its identifier.
#[utoipa::path(
    post, path = "/api/v1/namespaces/{namespace}/keys", tag = "publishers",
    summary = "Register a signing key",
    params(("namespace" = String, Path, description = "The namespace")), request_body = KeyBody,
    responses((status = 200, description = "Success", body = Value)), security(("token" = []))
)]
pub(super) async fn add_key(
    State(registry): State<Registry>,
    Path(namespace): Path<String>,
    Caller(actor): Caller,
    body: Body<KeyBody>,
) -> HandlerResult<Json<Value>> {
    let Json(body) = body?;
    let id = registry.add_key(&actor, Some(&namespace), KeyRole::Publisher, &body.key).await?;
    Ok(Json(json!({ "key_id": id })))
}

/// `DELETE /namespaces/{namespace}/keys/{key}`.
#[utoipa::path(
    delete, path = "/api/v1/namespaces/{namespace}/keys/{key}", tag = "publishers",
    summary = "Revoke a signing key",
    params(
        ("namespace" = String, Path, description = "The namespace"),
        ("key" = String, Path, description = "The identifier of the key")
    ),
    responses((status = 204, description = "Done")), security(("token" = []))
)]
pub(super) async fn revoke_key(
    State(registry): State<Registry>,
    Path((namespace, key)): Path<(String, String)>,
    Caller(actor): Caller,
) -> HandlerResult<StatusCode> {
    registry.revoke_key(&actor, Some(&namespace), &key).await?;
    Ok(StatusCode::NO_CONTENT)
}
