//! The registry's web pages: rendered on the server, complete without scripts.
//!
//! A handler reads a request, asks the registry and renders a template with a view of its own: no template sees a row of
//! the database. Everything that strangers wrote is escaped by the templates; `SanitisedHtml` is the only text
//! that is not. `docs/design/registry-pages.md` has the rules.

mod account;
mod assets;
mod badge;
mod card;
mod chart;
mod error_page;
mod feeds;
mod graph;
mod highlight;
mod home;
mod layout;
mod links;
mod markdown;
mod moderation;
mod permission_words;
mod publish_guide;
mod publisher;
mod qr;
mod report;
mod response;
#[cfg(test)]
mod samples;
mod search;
mod sign_in;
mod skill;
mod status;
mod trusted_publishers;
mod visitor;
mod words;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::ACCEPT;
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use prowess_server::http::path_not_found;

use crate::app::AppState;
use response::PageError;
use skill::{compare, dependencies, files, overview, reviews, security, tools, versions};

/// The largest form, in bytes: a review or a report with its fields.
const MAX_FORM_BYTES: usize = 64 << 10;

/// The routes of all pages. Raw files of skills and the API have routes of their own.
pub(crate) fn router(state: &AppState) -> Router<AppState> {
    let pages = Router::new()
        .route("/", get(home::get_home))
        .route("/search", get(search::get_search))
        .route("/search/suggest", get(search::get_suggestions))
        .route("/publish", get(publish_guide::get_publish))
        .route("/status", get(status::get_status))
        .route("/sign-in", get(sign_in::get_sign_in).post(sign_in::post_sign_in))
        .route("/sign-out", post(sign_in::post_sign_out))
        .route("/set-up", get(sign_in::get_set_up).post(sign_in::post_set_up))
        .route("/account", get(account::get_account))
        .route("/account/password", post(account::post_password))
        .route("/account/organisations", post(account::post_organisation))
        .route("/account/invitations", post(account::post_invitation))
        .route(
            "/account/trusted-publishers",
            get(trusted_publishers::get_trusted_publishers)
                .post(trusted_publishers::post_trusted_publisher),
        )
        .route("/account/tokens", get(account::get_tokens).post(account::post_token))
        .route("/account/two-factor", get(account::get_two_factor).post(account::post_two_factor))
        .route("/moderation", get(moderation::get_moderation))
        .route("/moderation/{namespace}/{name}", post(moderation::post_decision))
        .route("/{namespace}", get(publisher::get_publisher))
        .route("/{namespace}/-/members", post(publisher::post_member))
        .route("/{namespace}/{name}", get(overview::get_skill))
        .route("/{namespace}/{name}/{version}", get(overview::get_version))
        .route("/{namespace}/{name}/-/tools", get(tools::get_tools))
        .route("/{namespace}/{name}/-/files", get(files::get_files))
        .route("/{namespace}/{name}/-/files/{*path}", get(files::get_file))
        .route("/{namespace}/{name}/-/versions", get(versions::get_versions))
        .route("/{namespace}/{name}/-/yank", post(versions::post_yank))
        .route("/{namespace}/{name}/-/deprecate", post(versions::post_deprecate))
        .route("/{namespace}/{name}/-/revoke", post(versions::post_revoke))
        .route("/{namespace}/{name}/-/dependencies", get(dependencies::get_dependencies))
        .route("/{namespace}/{name}/-/security", get(security::get_security))
        .route("/{namespace}/{name}/-/reviews", get(reviews::get_reviews))
        .route("/{namespace}/{name}/-/review", post(reviews::post_review))
        .route("/{namespace}/{name}/-/compare", get(compare::get_compare))
        .route("/{namespace}/{name}/-/report", get(report::get_report).post(report::post_report));
    let documents = Router::new()
        .route("/feed.atom", get(feeds::get_feed))
        .route("/{namespace}/-/feed.atom", get(feeds::get_publisher_feed))
        .route("/{namespace}/{name}/-/feed.atom", get(feeds::get_skill_feed))
        .route("/{namespace}/{name}/-/badge.svg", get(feeds::get_badge))
        .route("/sitemap.xml", get(feeds::get_sitemap))
        .route("/sitemap/{file}", get(feeds::get_sitemap_part))
        .route("/opensearch.xml", get(feeds::get_opensearch))
        .route("/robots.txt", get(feeds::get_robots));
    pages
        .merge(documents)
        .layer(DefaultBodyLimit::max(MAX_FORM_BYTES))
        .layer(from_fn_with_state(state.clone(), response::error_pages))
        .route("/static/{name}", get(assets::get_asset))
}

/// The answer for an address that nothing has: a page for browsers, a problem document for programs.
pub(crate) async fn get_nothing(State(state): State<AppState>, request: Request) -> Response {
    let accepted = request.headers().get(ACCEPT).and_then(|accepted| accepted.to_str().ok());
    let is_api = request.uri().path().starts_with("/api/");
    if is_api || !accepted.is_some_and(|accepted| accepted.contains("text/html")) {
        return path_not_found().await.into_response();
    }
    response::error_page(&state, request, &PageError::not_found()).await
}
