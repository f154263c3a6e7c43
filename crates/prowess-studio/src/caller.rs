//! Who sends a request, and what that user may see.

use axum::extract::FromRequestParts;
use http::StatusCode;
use http::request::Parts;
use prowess_server::accounts::Role;
use prowess_server::identity::{Identity, identify};
use prowess_server::problem::ProblemDocument;

use crate::problem::ApiProblem;
use crate::studio::Studio;

/// A user who is logged in. Every handler that takes one answers 401 without a valid token.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    pub(crate) id: String,
    pub(crate) is_admin: bool,
    pub(crate) identity: Identity,
}

/// An administrator.
#[derive(Clone, Debug)]
pub(crate) struct AdminCaller(pub(crate) Caller);

impl Caller {
    /// The owner whose things the caller sees; `None` for all.
    pub(crate) fn sees(&self) -> Option<&str> {
        (!self.is_admin).then_some(self.id.as_str())
    }

    /// Whether the caller sees things of an owner.
    pub(crate) fn may_see(&self, owner: Option<&str>) -> bool {
        self.is_admin || owner == Some(self.id.as_str())
    }
}

impl FromRequestParts<Studio> for Caller {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, studio: &Studio) -> Result<Self, ApiProblem> {
        let identity = identify(studio.server(), &parts.method, &parts.headers).await?;
        let identity = identity.ok_or_else(|| {
            let message = "A token is needed: log in, or send `Authorization: Bearer TOKEN`";
            ApiProblem::new(StatusCode::UNAUTHORIZED, "unauthorized", "authorization", message)
        })?;
        Ok(Self {
            id: identity.user.id.clone(),
            is_admin: identity.user.role == Role::Admin,
            identity,
        })
    }
}

impl FromRequestParts<Studio> for AdminCaller {
    type Rejection = ApiProblem;

    async fn from_request_parts(parts: &mut Parts, studio: &Studio) -> Result<Self, ApiProblem> {
        let caller = Caller::from_request_parts(parts, studio).await?;
        if !caller.is_admin {
            return Err(ApiProblem::forbidden("Only an administrator may do this"));
        }
        Ok(Self(caller))
    }
}

impl From<ProblemDocument> for ApiProblem {
    fn from(document: ProblemDocument) -> Self {
        let problem = ApiProblem::from(document.problem().clone());
        match problem.status {
            StatusCode::UNAUTHORIZED => problem.at("authorization"),
            _ => problem,
        }
    }
}

impl From<prowess_server::database::DatabaseError> for ApiProblem {
    fn from(error: prowess_server::database::DatabaseError) -> Self {
        ApiProblem::from(prowess_core::Problem::from(error))
    }
}
