//! The API below `/api/v1`, `.well-known`, and the layout of SRT §8. One file per group of routes; each handler reads a
//! request, calls one operation and renders its result.

mod account;
mod body;
mod caller;
mod ci_runs;
mod download;
mod index;
mod limits;
mod manage;
mod moderation;
mod openapi;
mod parameters;
mod publish;
mod raw;
mod reviews;
mod search;
mod skills;
mod views;
mod well_known;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{delete, get, post, put};

use crate::app::AppState;

pub(crate) use body::{Content, respond};
pub(crate) use caller::{Caller, Downloader};
pub(crate) use download::zip_of;
pub(crate) use limits::limit_reads;

/// All routes of the API.
pub(crate) fn router() -> Router<AppState> {
    let limited = Router::new()
        .route(
            "/api/v1/skills",
            get(skills::list)
                .post(publish::publish)
                .layer(DefaultBodyLimit::max(crate::app::MAX_UPLOAD_BYTES)),
        )
        .route("/api/v1/search", get(search::search))
        .route("/api/v1/search/suggest", get(search::suggest))
        .route("/api/v1/index/{a}/{b}", get(index::index))
        .route("/api/v1/resolve", get(skills::resolve))
        .route("/api/v1/publishers/{a}", get(skills::publisher))
        .route("/api/v1/openapi.json", get(openapi::openapi))
        .route("/api/v1/whoami", get(account::whoami))
        .route("/api/v1/tokens", get(account::list_tokens).post(account::create_token))
        .route("/api/v1/tokens/{a}", delete(account::revoke_token))
        .route("/api/v1/log-in", post(account::log_in))
        .route("/api/v1/trusted-publishing/token", post(ci_runs::exchange))
        .route("/api/v1/organisations", post(manage::add_organisation))
        .route("/api/v1/namespaces/{a}", delete(manage::delete_namespace))
        .route("/api/v1/namespaces/{a}/invitations", post(manage::invite))
        .route("/api/v1/namespaces/{a}/accept", post(manage::accept))
        .route("/api/v1/namespaces/{a}/members/{b}", delete(manage::remove_member))
        .route("/api/v1/namespaces/{a}/members/{b}/remove", post(manage::remove_member))
        .route("/api/v1/namespaces/{a}/visibility", put(manage::namespace_visibility))
        .route("/api/v1/namespaces/{a}/keys", post(manage::add_key))
        .route("/api/v1/namespaces/{a}/keys/{b}", delete(manage::revoke_key))
        .route("/api/v1/moderation/reports", get(moderation::reports))
        .route("/api/v1/moderation/held", get(moderation::held))
        .route("/api/v1/moderation/keys", post(moderation::add_key))
        .route("/api/v1/moderation/prefixes", post(moderation::allow_prefix))
        .route("/api/v1/moderation/audit", get(moderation::audit))
        .route("/api/v1/skills/{a}", get(skills::bare))
        .route("/api/v1/skills/{a}/{b}", get(skills::two_parts).delete(manage::delete))
        .route("/api/v1/skills/{a}/{b}/versions", get(skills::versions))
        .route(
            "/api/v1/skills/{a}/{b}/rating",
            get(reviews::rating).put(reviews::rate).delete(reviews::unrate),
        )
        .route("/api/v1/skills/{a}/{b}/reviews", get(reviews::reviews).post(reviews::review))
        .route("/api/v1/skills/{a}/{b}/reports", post(reviews::report))
        .route("/api/v1/skills/{a}/{b}/deprecate", post(manage::deprecate))
        .route("/api/v1/skills/{a}/{b}/visibility", put(manage::visibility))
        .route("/api/v1/skills/{a}/{b}/badge", put(moderation::badge))
        .route("/api/v1/skills/{a}/{b}/approve", post(moderation::approve))
        .route("/api/v1/skills/{a}/{b}/hide", post(moderation::hide))
        .route(
            "/api/v1/skills/{a}/{b}/trusted-publishers",
            get(manage::trusted_publishers).post(manage::trust).delete(manage::distrust),
        )
        .route("/api/v1/skills/{a}/{b}/{c}", get(skills::three_parts))
        .route("/api/v1/skills/{a}/{b}/{c}/yank", post(manage::yank).delete(manage::unyank))
        .route("/api/v1/skills/{a}/{b}/{c}/unyank", post(manage::unyank))
        .route("/api/v1/skills/{a}/{b}/{c}/revoke", post(moderation::revoke))
        .route("/api/v1/skills/{a}/{b}/{c}/scan", get(skills::scan))
        .route("/api/v1/skills/{a}/{b}/{c}/signatures", get(skills::signatures).post(manage::sign))
        .route("/api/v1/skills/{a}/{b}/{c}/files", get(skills::files));
    let downloads = Router::new()
        .route("/api/v1/skills/{a}/{b}/download", get(download::latest))
        .route("/api/v1/skills/{a}/{b}/{c}/download", get(download::archive))
        .route("/api/v1/skills/{a}/{b}/{c}/archive.zip", get(download::zip))
        .route("/api/v1/skills/{a}/{b}/{c}/files/{*path}", get(download::file))
        .route("/anon/{a}", get(raw::prose))
        .route("/anon/{a}/SKILL.md", get(raw::prose))
        .route("/{a}/{b}/{c}/{*path}", get(raw::file))
        .merge(well_known::router());
    limited.merge(downloads)
}
