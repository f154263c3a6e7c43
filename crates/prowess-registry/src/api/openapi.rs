//! `GET /openapi.json`: the API as a document of `OpenAPI`, made from the handlers.

use std::sync::OnceLock;

use axum::body::Bytes;
use axum::response::IntoResponse;
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};

use super::{download, raw, well_known};

/// What the annotations of the handlers do not say, and routes whose pattern only axum knows.
#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Prowess registry",
        description = "Publishes, searches and serves skills. Errors are problem documents (RFC 9457)."
    ),
    paths(download::file, raw::file, raw::prose, well_known::file)
)]
pub(super) struct Description;

/// `GET /openapi.json`.
#[utoipa::path(get, path = "/api/v1/openapi.json", tag = "server", summary = "Return this document",
    responses((status = 200, description = "Success", body = Value)))]
pub(super) async fn openapi() -> impl IntoResponse {
    static DOCUMENT: OnceLock<Bytes> = OnceLock::new();
    let text = DOCUMENT.get_or_init(|| document().to_string().into());
    ([(CONTENT_TYPE, "application/json")], text.clone())
}

/// The document of all routes.
pub(super) fn document() -> Value {
    let (_, described) = super::described_routes().split_for_parts();
    let mut document = serde_json::to_value(described).unwrap_or_default();
    document["components"]["securitySchemes"] =
        json!({ "token": { "type": "http", "scheme": "bearer" } });
    document["components"]["schemas"]["Problem"] = json!({
        "type": "object",
        "required": ["type", "title", "status", "detail", "code", "remedies"],
        "properties": {
            "type": { "type": "string" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "detail": { "type": "string" },
            "code": { "type": "string" },
            "remedies": { "type": "array", "items": { "type": "object" } },
        },
    });
    document["components"]["responses"] = json!({
        "Problem": {
            "description": "A problem with a next step",
            "content": {
                "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } },
            },
        },
    });
    let paths = document["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut());
    for operation in
        paths.flat_map(|item| item.as_object_mut().into_iter().flat_map(|it| it.values_mut()))
    {
        complete(operation);
    }
    document
}

/// Adds the errors, which are the same everywhere, and says that a parameter which may be left out is not `null`.
fn complete(operation: &mut Value) {
    operation["responses"]["default"] = json!({ "$ref": "#/components/responses/Problem" });
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten() {
        let Some(kind) = parameter.pointer_mut("/schema/type") else { continue };
        if let Some(kinds) = kind.as_array() {
            let known = kinds.iter().find(|kind| kind.as_str() != Some("null"));
            *kind = known.cloned().unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_is_described_and_has_its_errors() {
        let document = document();
        let paths = document["paths"].as_object().expect("paths");
        assert!(paths.len() > 50, "{}", paths.len());
        for (path, item) in paths {
            for (method, operation) in item.as_object().expect("operations") {
                assert!(operation["summary"].is_string(), "{method} {path}");
                assert!(operation["responses"]["default"].is_object(), "{method} {path}");
                let in_path = path.matches('{').count();
                let described = operation["parameters"].as_array().into_iter().flatten();
                let described = described.filter(|it| it["in"] == "path").count();
                assert_eq!(described, in_path, "{method} {path}");
            }
        }
        assert!(paths["/api/v1/skills"]["post"]["security"].is_array());
    }
}
