//! Log-in with the identity provider of a company.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use http::{HeaderMap, HeaderValue, StatusCode, header};
use prowess_server::oidc::CompanyLogIn;
use serde::Deserialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Problems;
use crate::problem::ApiProblem;
use crate::request::{Body, UrlQuery};
use crate::studio::Studio;

pub(super) fn routes() -> OpenApiRouter<Studio> {
    OpenApiRouter::new().routes(routes!(start)).routes(routes!(finish))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct StartQuery {
    /// Where to go afterwards: a path of this server.
    return_to: Option<String>,
}

#[derive(Deserialize, ToSchema)]
struct FinishLogIn {
    code: String,
    state: String,
}

fn company(studio: &Studio) -> Result<&CompanyLogIn, ApiProblem> {
    studio.shared.company.as_ref().map(|company| &company.log_in).ok_or_else(|| {
        let message = "This server has no log-in of a company";
        ApiProblem::new(StatusCode::NOT_FOUND, "no-company-log-in", "", message)
    })
}

/// Begin a log-in at the company's provider
///
/// The answer sends the browser there. The provider sends it back to `/sign-in` with `code` and `state`.
#[utoipa::path(get, path = "/auth/company/start", tag = "account", security(()), params(StartQuery),
    responses((status = 303), Problems))]
async fn start(
    State(studio): State<Studio>,
    UrlQuery(query): UrlQuery<StartQuery>,
) -> Result<Response, ApiProblem> {
    let begun = company(&studio)?.begin(query.return_to.as_deref().unwrap_or("/")).await?;
    let mut response = StatusCode::SEE_OTHER.into_response();
    let location = HeaderValue::from_str(begun.location.as_str())
        .map_err(|error| ApiProblem::internal("beginning a log-in", &error))?;
    response.headers_mut().insert(header::LOCATION, location);
    response.headers_mut().insert(header::SET_COOKIE, begun.set_cookie);
    Ok(response)
}

/// Finish a log-in with what the company's provider has sent back
///
/// The request needs the cookie of the beginning, which binds the log-in to the browser.
#[utoipa::path(post, path = "/auth/company/finish", tag = "account", security(()),
    request_body = FinishLogIn, responses((status = 200, body = Object), Problems))]
async fn finish(
    State(studio): State<Studio>,
    headers: HeaderMap,
    Body(body): Body<FinishLogIn>,
) -> Result<Json<Value>, ApiProblem> {
    let finished = company(&studio)?.finish(&body.code, &body.state, &headers).await?;
    let mut tokens = studio.server().sessions().start(&finished.user).await?.to_json();
    tokens["return_to"] = Value::String(finished.return_to);
    Ok(Json(tokens))
}
