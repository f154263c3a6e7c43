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
mod mirror;
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
use axum::routing::{any, get};
use prowess_server::http::path_not_found;
use utoipa::OpenApi as _;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::AppState;

pub(crate) use body::{Content, respond};
pub(crate) use caller::{Caller, Downloader};
pub(crate) use download::zip_of;
pub(crate) use limits::limit_reads;
pub(crate) use mirror::answer_from_mirror;

/// All routes of the API.
pub(crate) fn router() -> Router<AppState> {
    let (described, _) = described_routes().split_for_parts();
    described
        .route("/openapi.json", get(openapi::openapi))
        .route("/api/v1/skills/{namespace}/{name}/{version}/files/{*path}", get(download::file))
        .route("/anon/{sha256}", get(raw::prose))
        .route("/anon/{sha256}/SKILL.md", get(raw::prose))
        .route("/{namespace}/{name}/{version}/{*path}", get(raw::file))
        .route("/.well-known/skills/{name}/{*path}", get(well_known::file))
        // Otherwise the pages of a namespace `api` would answer.
        .route("/api/{*path}", any(path_not_found))
}

/// The routes that are added together with their description.
fn described_routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(openapi::Description::openapi())
        .merge(
            OpenApiRouter::new()
                .routes(routes!(skills::list, publish::publish))
                .layer(DefaultBodyLimit::max(crate::app::MAX_UPLOAD_BYTES)),
        )
        .merge(reading_routes())
        .merge(account_routes())
        .merge(publisher_routes())
        .merge(moderation_routes())
}

fn reading_routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(search::search))
        .routes(routes!(search::suggest))
        .routes(routes!(index::index))
        .routes(routes!(skills::resolve))
        .routes(routes!(skills::publisher))
        .routes(routes!(openapi::openapi))
        .routes(routes!(skills::bare))
        .routes(routes!(skills::two_parts, manage::delete))
        .routes(routes!(skills::versions))
        .routes(routes!(skills::three_parts))
        .routes(routes!(skills::scan))
        .routes(routes!(skills::signatures, manage::sign))
        .routes(routes!(skills::files))
        .routes(routes!(download::latest))
        .routes(routes!(download::archive))
        .routes(routes!(download::zip))
        .routes(routes!(reviews::rating, reviews::rate, reviews::unrate))
        .routes(routes!(reviews::reviews, reviews::review))
        .routes(routes!(reviews::report))
        .routes(routes!(well_known::current))
        .routes(routes!(well_known::earlier))
        .routes(routes!(well_known::default_skill))
}

fn account_routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(account::whoami))
        .routes(routes!(account::list_tokens, account::create_token))
        .routes(routes!(account::revoke_token))
        .routes(routes!(account::log_in))
        .routes(routes!(ci_runs::exchange))
}

fn publisher_routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(manage::add_organisation))
        .routes(routes!(manage::delete_namespace))
        .routes(routes!(manage::invite))
        .routes(routes!(manage::accept))
        .routes(routes!(manage::remove_member))
        .routes(routes!(manage::remove_member_by_post))
        .routes(routes!(manage::namespace_visibility))
        .routes(routes!(manage::add_key))
        .routes(routes!(manage::revoke_key))
        .routes(routes!(manage::deprecate))
        .routes(routes!(manage::visibility))
        .routes(routes!(manage::trusted_publishers, manage::trust, manage::distrust))
        .routes(routes!(manage::yank, manage::unyank))
        .routes(routes!(manage::unyank_by_post))
}

fn moderation_routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(moderation::reports))
        .routes(routes!(moderation::held))
        .routes(routes!(moderation::add_key))
        .routes(routes!(moderation::allow_prefix))
        .routes(routes!(moderation::audit))
        .routes(routes!(moderation::badge))
        .routes(routes!(moderation::approve))
        .routes(routes!(moderation::hide))
        .routes(routes!(moderation::revoke))
}
