//! Who calls: the identity of a request as the registry knows it.

use axum::extract::{FromRef, FromRequestParts};
use http::request::Parts;
use prowess_server::Server;
use prowess_server::identity::{ClientAddress, CurrentUser, OptionalUser};
use prowess_server::problem::ProblemDocument;

use crate::actor::Actor;
use crate::error::RegistryError;
use crate::viewer::Viewer;

/// A signed-in user; 401 otherwise.
#[derive(Clone, Debug)]
pub(crate) struct Caller(pub(crate) Actor);

impl<S> FromRequestParts<S> for Caller
where
    S: Send + Sync,
    Server: FromRef<S>,
{
    type Rejection = ProblemDocument;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProblemDocument> {
        let CurrentUser(identity) = CurrentUser::from_request_parts(parts, state).await?;
        Ok(Self(Actor::of(&identity)))
    }
}

impl<S> FromRequestParts<S> for Viewer
where
    S: Send + Sync,
    Server: FromRef<S>,
{
    type Rejection = ProblemDocument;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProblemDocument> {
        let OptionalUser(identity) = OptionalUser::from_request_parts(parts, state).await?;
        Ok(identity.map_or(Self::ANONYMOUS, |identity| Actor::of(&identity).viewer()))
    }
}

/// Somebody who downloads: what they may see, and how they are counted.
#[derive(Clone, Debug)]
pub(crate) struct Downloader {
    pub(crate) viewer: Viewer,
    pub(crate) identity: String,
}

impl<S> FromRequestParts<S> for Downloader
where
    S: Send + Sync,
    Server: FromRef<S>,
{
    type Rejection = ProblemDocument;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ProblemDocument> {
        let viewer = Viewer::from_request_parts(parts, state).await?;
        let identity = match &viewer.user_id {
            Some(user) => user.clone(),
            None => match ClientAddress::from_request_parts(parts, state).await {
                Ok(ClientAddress(address)) => address.to_string(),
                Err(never) => match never {},
            },
        };
        Ok(Self { viewer, identity })
    }
}

impl From<RegistryError> for ProblemDocument {
    fn from(error: RegistryError) -> Self {
        let message = error.to_string();
        match error {
            RegistryError::Problem(problem) => Self::new(problem),
            RegistryError::Revoked { reason, .. } => {
                prowess_server::problem::gone("revoked", message).with_member("reason", reason)
            }
            RegistryError::Ambiguous { candidates, .. } => {
                let problem = prowess_server::problem::conflict("ambiguous-name", message);
                problem
                    .with_status(http::StatusCode::MULTIPLE_CHOICES)
                    .with_member("candidates", candidates)
            }
            RegistryError::Scan { findings, .. } => {
                let problem = prowess_server::problem::invalid_input("scan-refused", message);
                let findings = serde_json::to_value(findings).unwrap_or_default();
                problem
                    .with_status(http::StatusCode::UNPROCESSABLE_ENTITY)
                    .with_member("findings", findings)
            }
        }
    }
}
