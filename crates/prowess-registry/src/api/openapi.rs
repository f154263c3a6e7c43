//! `GET /openapi.json`: the routes of the API as a document of `OpenAPI`, made from one table.
//!
//! Routes with a bare name (GAIA §10.4) have the same template as those with a namespace, which the format does not allow; they
//! are described in the text of those.

use axum::Json;
use serde_json::{Map, Value, json};

/// A route.
struct Route {
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    /// Whether a token is needed.
    signed_in: bool,
    /// The status of success.
    success: u16,
    /// Parameters of the query: name and type.
    query: &'static [(&'static str, &'static str)],
    /// The members of a JSON body: name and type; a name that ends with `?` may be left out.
    body: &'static [(&'static str, &'static str)],
}

const READ: Route = Route {
    method: "get",
    path: "",
    summary: "",
    signed_in: false,
    success: 200,
    query: &[],
    body: &[],
};
const CHANGE: Route = Route { method: "post", signed_in: true, success: 204, ..READ };

const SEARCH: &[(&str, &str)] = &[
    ("q", "string"),
    ("tag", "string"),
    ("tier", "string"),
    ("category", "string"),
    ("badge", "string"),
    ("permission", "string"),
    ("dialect", "string"),
    ("agent", "string"),
    ("license", "string"),
    ("namespace", "string"),
    ("sort", "search-sort"),
    ("limit", "limit"),
    ("cursor", "search-cursor"),
];

const ROUTES: &[Route] = &[
    Route {
        path: "/api/v1/skills",
        summary: "Lists skills in pages",
        query: &[("limit", "limit"), ("cursor", "string"), ("sort", "list-sort")],
        ..READ
    },
    Route { path: "/api/v1/search", summary: "Searches skills", query: SEARCH, ..READ },
    Route {
        path: "/api/v1/search/suggest",
        summary: "Suggests skills while typing",
        query: &[("q", "string")],
        ..READ
    },
    Route {
        path: "/api/v1/index/{namespace}/{name}",
        summary: "Returns the index of a skill",
        ..READ
    },
    Route {
        path: "/api/v1/skills/{namespace}/{name}",
        summary: "Returns a skill; also as /skills/{name}, if one namespace has the name",
        ..READ
    },
    Route {
        path: "/api/v1/skills/{namespace}/{name}/versions",
        summary: "Lists the versions of a skill",
        ..READ
    },
    Route {
        path: "/api/v1/skills/{namespace}/{name}/download",
        summary: "Returns the archive of the newest version; also as /skills/{name}/download",
        ..READ
    },
    Route {
        path: "/api/v1/skills/{namespace}/{name}/{version}",
        summary: "Returns a version; also as /skills/{name}/{version}",
        ..READ
    },
    Route {
        path: "/api/v1/skills/{namespace}/{name}/{version}/download",
        summary: "Returns the archive of a version",
        ..READ
    },
    Route {
        path: "/api/v1/skills/{namespace}/{name}/{version}/archive.zip",
        summary: "Returns a version as a zip",
        ..READ
    },
    Route {
        path: "/api/v1/skills/{namespace}/{name}/{version}/files",
        summary: "Lists the files of a version",
        ..READ
    },
    Route {
        path: "/api/v1/skills/{namespace}/{name}/{version}/scan",
        summary: "Returns the report of the scan",
        ..READ
    },
    Route {
        path: "/api/v1/skills/{namespace}/{name}/{version}/signatures",
        summary: "Lists the signatures of a version",
        ..READ
    },
    Route {
        path: "/api/v1/skills/{namespace}/{name}/rating",
        summary: "Returns the ratings",
        ..READ
    },
    Route {
        path: "/api/v1/skills/{namespace}/{name}/reviews",
        summary: "Lists the reviews",
        query: &[("offset", "offset")],
        ..READ
    },
    Route {
        path: "/api/v1/publishers/{namespace}",
        summary: "Returns a publisher",
        query: &[("offset", "offset")],
        ..READ
    },
    Route {
        path: "/api/v1/resolve",
        summary: "Finds the versions with an archive of this hash",
        query: &[("sha256", "sha256")],
        ..READ
    },
    Route {
        path: "/api/v1/whoami",
        summary: "Returns the caller's account",
        signed_in: true,
        ..READ
    },
    Route {
        path: "/api/v1/log-in",
        summary: "Returns a token for a name and a password",
        signed_in: false,
        success: 201,
        body: &[("username", "string"), ("password", "string"), ("code?", "string")],
        ..CHANGE
    },
    Route {
        path: "/api/v1/trusted-publishing/token",
        summary: "Exchanges the identity token of a CI run for a token that publishes one skill",
        signed_in: false,
        success: 201,
        body: &[("token", "string"), ("namespace", "string"), ("name", "string")],
        ..CHANGE
    },
    Route { path: "/api/v1/tokens", summary: "Lists the caller's tokens", signed_in: true, ..READ },
    Route {
        path: "/api/v1/tokens",
        summary: "Creates a token",
        success: 201,
        body: &[("name", "string"), ("scopes?", "array"), ("days?", "integer")],
        ..CHANGE
    },
    Route { method: "delete", path: "/api/v1/tokens/{id}", summary: "Revokes a token", ..CHANGE },
    Route {
        method: "put",
        path: "/api/v1/skills/{namespace}/{name}/rating",
        summary: "Rates a skill",
        success: 200,
        body: &[("rating", "integer"), ("review?", "string")],
        ..CHANGE
    },
    Route {
        method: "delete",
        path: "/api/v1/skills/{namespace}/{name}/rating",
        summary: "Takes a rating back",
        ..CHANGE
    },
    Route {
        path: "/api/v1/skills/{namespace}/{name}/reviews",
        summary: "Reviews a skill",
        success: 200,
        body: &[("rating", "integer"), ("review?", "string")],
        ..CHANGE
    },
    Route {
        path: "/api/v1/skills/{namespace}/{name}/reports",
        summary: "Reports a skill to the moderators",
        success: 202,
        body: &[("reason", "string"), ("detail?", "string"), ("version?", "string")],
        ..CHANGE
    },
    Route {
        path: "/api/v1/skills/{namespace}/{name}/deprecate",
        summary: "Deprecates a skill, or takes it back without a message",
        body: &[("message?", "string")],
        ..CHANGE
    },
    Route {
        method: "put",
        path: "/api/v1/skills/{namespace}/{name}/visibility",
        summary: "Makes a skill private or public",
        body: &[("private", "boolean")],
        ..CHANGE
    },
    Route {
        method: "delete",
        path: "/api/v1/skills/{namespace}/{name}",
        summary: "Deletes a skill",
        ..CHANGE
    },
    Route {
        path: "/api/v1/skills/{namespace}/{name}/{version}/yank",
        summary: "Yanks a version",
        body: &[("reason?", "string")],
        ..CHANGE
    },
    Route {
        method: "delete",
        path: "/api/v1/skills/{namespace}/{name}/{version}/yank",
        summary: "Takes a yank back",
        ..CHANGE
    },
    Route {
        path: "/api/v1/skills/{namespace}/{name}/{version}/signatures",
        summary: "Adds a signature",
        success: 200,
        body: &[("file", "string"), ("content", "string")],
        ..CHANGE
    },
    Route {
        path: "/api/v1/skills/{namespace}/{name}/{version}/revoke",
        summary: "Revokes a version (administrators)",
        body: &[("reason", "string")],
        ..CHANGE
    },
    Route {
        path: "/api/v1/organisations",
        summary: "Creates an organisation",
        success: 201,
        body: &[("name", "string")],
        ..CHANGE
    },
    Route {
        path: "/api/v1/namespaces/{namespace}/invitations",
        summary: "Invites a user",
        success: 201,
        body: &[("username", "string"), ("role?", "string"), ("transfer?", "boolean")],
        ..CHANGE
    },
    Route {
        path: "/api/v1/namespaces/{namespace}/accept",
        summary: "Accepts an invitation",
        ..CHANGE
    },
    Route {
        path: "/api/v1/namespaces/{namespace}/keys",
        summary: "Registers a signing key",
        success: 200,
        body: &[("key", "string")],
        ..CHANGE
    },
];

/// `GET /openapi.json`.
pub(super) async fn openapi() -> Json<Value> {
    Json(document())
}

fn document() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES {
        let item = paths.entry(route.path).or_insert_with(|| json!({}));
        item[route.method] = operation(route);
    }
    paths["/api/v1/skills"]["post"] = publish();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Prowess registry",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Publishes, searches and serves skills. Errors are problem documents (RFC 9457).",
        },
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "responses": {
                "Problem": {
                    "description": "A problem with a next step",
                    "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } },
                },
            },
            "schemas": {
                "Problem": {
                    "type": "object",
                    "required": ["type", "title", "status", "detail"],
                    "properties": {
                        "type": { "type": "string" },
                        "title": { "type": "string" },
                        "status": { "type": "integer" },
                        "detail": { "type": "string" },
                        "code": { "type": "string" },
                    },
                },
            },
        },
    })
}

fn operation(route: &Route) -> Value {
    let in_path =
        route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let in_path = in_path.map(|name| {
        json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } })
    });
    let in_query = route.query.iter().map(|(name, kind)| {
        json!({ "name": name, "in": "query", "required": false, "schema": parameter_schema(kind) })
    });
    let mut operation = json!({
        "summary": route.summary,
        "parameters": in_path.chain(in_query).collect::<Vec<Value>>(),
        "responses": responses(route.success),
    });
    if route.signed_in {
        operation["security"] = json!([{ "token": [] }]);
    }
    if !route.body.is_empty() {
        let properties: Map<String, Value> = route
            .body
            .iter()
            .map(|(name, kind)| (name.trim_end_matches('?').to_owned(), json!({ "type": kind })))
            .collect();
        let required: Vec<&str> =
            route.body.iter().map(|(name, _)| *name).filter(|name| !name.ends_with('?')).collect();
        let schema = json!({ "type": "object", "properties": properties, "required": required });
        operation["requestBody"] = json!({ "required": !required.is_empty(), "content": { "application/json": { "schema": schema } } });
    }
    operation
}

/// The type of a parameter of a query: a type of JSON, or one of ours with its bounds.
fn parameter_schema(kind: &str) -> Value {
    match kind {
        "limit" => json!({ "type": "integer", "minimum": 1, "maximum": 100 }),
        "offset" => json!({ "type": "integer", "minimum": 0, "maximum": 10_000 }),
        "sha256" => json!({ "type": "string", "pattern": "^[0-9a-f]{64}$" }),
        "search-cursor" => json!({ "type": "integer", "minimum": 0, "maximum": 1_000 }),
        "search-sort" => {
            json!({ "type": "string", "enum": ["relevance", "downloads", "updated", "created"] })
        }
        "list-sort" => json!({ "type": "string", "enum": ["updated", "created", "downloads"] }),
        _ => json!({ "type": kind }),
    }
}

fn responses(success: u16) -> Value {
    let problem = json!({ "$ref": "#/components/responses/Problem" });
    json!({ success.to_string(): { "description": "Success" }, "default": problem })
}

/// `POST /skills`, the only route with a form.
fn publish() -> Value {
    json!({
        "summary": "Publishes a package",
        "security": [{ "token": [] }],
        "requestBody": {
            "required": true,
            "content": {
                "multipart/form-data": {
                    "schema": {
                        "type": "object",
                        "required": ["package"],
                        "properties": {
                            "namespace": { "type": "string" },
                            "package": { "type": "string", "format": "binary" },
                        },
                    },
                },
            },
        },
        "responses": responses(201),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_of_the_document_says_what_it_is_for() {
        let document = document();
        let paths = document["paths"].as_object().expect("paths");
        assert!(paths.len() > 25);
        for (path, item) in paths {
            for (method, operation) in item.as_object().expect("operations") {
                assert!(operation["summary"].is_string(), "{method} {path}");
                assert!(operation["responses"]["default"].is_object(), "{method} {path}");
            }
        }
        assert!(paths["/api/v1/skills"]["post"]["security"].is_array());
    }
}
