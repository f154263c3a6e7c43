//! `POST /skills`: publishes a package.

use axum::Json;
use axum::extract::multipart::MultipartRejection;
use axum::extract::{Multipart, State};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use http::{StatusCode, header};
use prowess_server::identity::CurrentUser;
use prowess_server::problem::{HandlerResult, ProblemDocument, invalid_input, too_large};
use serde_json::json;
use utoipa::ToSchema;

use crate::publish::{Receipt, Upload};
use crate::registry::Registry;

/// Maximum length of the other fields of the form, in bytes.
const MAX_FIELD_BYTES: usize = 1_000;

/// The form.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only described")]
struct PublishForm {
    /// The namespace to publish to; the caller's own by default.
    namespace: Option<String>,
    /// What `prowess pack` makes, a zip with the same files, or the text of a prose skill.
    #[schema(value_type = String, format = Binary)]
    package: Vec<u8>,
}

/// The form has `namespace` and `package`, in any order. The token is checked before the body is read, so that nothing is
/// stored without one.
#[utoipa::path(
    post, path = "/api/v1/skills", tag = "skills", summary = "Publish a package",
    request_body(content = PublishForm, content_type = "multipart/form-data"),
    responses((status = 201, description = "Success", body = Value)), security(("token" = []))
)]
pub(super) async fn publish(
    State(registry): State<Registry>,
    CurrentUser(identity): CurrentUser,
    form: Result<Multipart, MultipartRejection>,
) -> HandlerResult<Response> {
    let actor = registry.publishing_actor(&identity).await?;
    let mut form = form.map_err(|_| {
        invalid_input("invalid-form", "the body is not a form of the type `multipart/form-data`")
    })?;
    let (mut namespace, mut package) = (None, None);
    while let Some(field) = form.next_field().await.map_err(|error| refused(&error))? {
        match field.name() {
            Some("namespace") if namespace.is_none() => {
                let text = field.text().await.map_err(|error| refused(&error))?;
                if text.len() > MAX_FIELD_BYTES {
                    return Err(invalid_input("invalid-form", "`namespace` is too long"));
                }
                namespace = Some(text);
            }
            Some("package") if package.is_none() => {
                package = Some(field.bytes().await.map_err(|error| refused(&error))?);
            }
            Some("namespace" | "package") => {
                return Err(invalid_input("invalid-form", "the form has a field twice"));
            }
            // Unknown fields are for later versions of this API.
            _ => {}
        }
    }
    let package: Bytes =
        package.ok_or_else(|| invalid_input("invalid-form", "the form has no field `package`"))?;
    // A user publishes to their own namespace if they name none.
    let namespace = namespace.unwrap_or_else(|| actor.username.clone());
    let receipt = registry.publish(&actor, Upload { namespace, package }).await?;
    let Receipt { namespace, name, version, sha256, state, reason, tier } = receipt;
    let location = match namespace.as_str() {
        crate::names::ANONYMOUS => format!("/anon/{name}"),
        _ => format!("/api/v1/skills/{namespace}/{name}/{version}"),
    };
    let body = json!({
        "namespace": namespace,
        "name": name,
        "version": version,
        "sha256": sha256,
        "state": state,
        "reason": reason,
        "tier": tier,
    });
    Ok((StatusCode::CREATED, [(header::LOCATION, location)], Json(body)).into_response())
}

fn refused(error: &axum::extract::multipart::MultipartError) -> ProblemDocument {
    if error.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return too_large("a package has at most 50 MiB");
    }
    invalid_input("invalid-form", "the form ends too early or is not valid")
}
