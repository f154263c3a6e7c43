//! [`RemoteModel`]: the implementation of [`Model`] over HTTP.

use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

use prowess_core::{
    BoxFuture, Model, ModelError, ModelErrorKind, ModelFacts, ModelRequest, ModelStream,
};
use reqwest::header::HeaderMap;
use reqwest::{Body, Client};
use tokio::time::{Instant, timeout_at};
use tracing::Instrument as _;

use crate::dialect::{self, OmittedParts};
use crate::failure::{self, ErrorResponse};
use crate::key::Key;
use crate::provider::{Provider, ProviderKind};
use crate::retry::{RetryPolicy, spread};
use crate::settings::ModelChoice;
use crate::stream::{AnswerStream, StreamSettings};
use crate::{facts, transport};

/// A model that is reached over HTTP.
pub struct RemoteModel {
    name: String,
    model: String,
    provider: Provider,
    key: Key,
    client: Client,
    headers: HeaderMap,
    retries: RetryPolicy,
    /// Parts of a request that the server was found not to support.
    without: Mutex<OmittedParts>,
}

impl RemoteModel {
    /// Reads the key and creates the client. Nothing is sent.
    pub fn open(choice: &ModelChoice, variables: &[(String, String)]) -> Result<Self, ModelError> {
        let provider = choice.provider.clone();
        let key = Key::read(&provider.key, &provider.name, variables)?;
        let prepare = || {
            let client = transport::client(&provider, variables)?;
            Ok((client, transport::headers(provider.kind, &key)?))
        };
        let (client, headers) = prepare().map_err(|error| key.clean_error(error))?;
        Ok(Self {
            name: format!("{}/{}", provider.name, choice.model),
            model: choice.model.clone(),
            without: Mutex::new(OmittedParts {
                temperature: provider.omits_temperature,
                ..OmittedParts::default()
            }),
            provider,
            key,
            client,
            headers,
            retries: RetryPolicy::USUAL,
        })
    }

    /// Sets the retry policy.
    #[must_use]
    pub fn with_retries(mut self, retries: RetryPolicy) -> Self {
        self.retries = retries;
        self
    }

    async fn ask(&self, request: &ModelRequest) -> Result<ModelStream, ModelError> {
        let mut without = *self.without.lock().unwrap_or_else(PoisonError::into_inner);
        let mut failed = 0;
        loop {
            let span =
                tracing::info_span!("model_request", model = %self.name, attempt = failed + 1);
            let error = match self.attempt(request, without).instrument(span).await {
                Ok(stream) => return Ok(stream),
                Err(error) => error,
            };
            if error.kind == ModelErrorKind::Rejected
                && let Some(less) = without.after(&error.message, request)
            {
                without = less;
                *self.without.lock().unwrap_or_else(PoisonError::into_inner) = less;
                continue;
            }
            failed += 1;
            let Some(pause) = self.retries.pause(failed, error.kind, spread()) else {
                return Err(tried(error, failed));
            };
            tokio::time::sleep(pause).await;
        }
    }

    async fn attempt(
        &self,
        request: &ModelRequest,
        without: OmittedParts,
    ) -> Result<ModelStream, ModelError> {
        let provider = &self.provider;
        let path = match provider.kind {
            ProviderKind::OpenAi => "chat/completions",
            ProviderKind::Anthropic => "messages",
        };
        let body = dialect::body(provider.kind, &self.model, request, without).to_string();
        let limit = provider.timeouts.first_token;
        let deadline = Instant::now() + limit;
        let asked = async {
            let request = self.client.post(provider.address(path));
            let response = request.headers(self.headers.clone()).body(body).send().await?;
            let status = response.status().as_u16();
            let content_type = transport::content_type(&response);
            if status == 200 && content_type.starts_with("text/event-stream") {
                return Ok(Ok(response));
            }
            let retry_after = failure::retry_after(response.headers());
            let body = transport::bounded(response, transport::LONGEST_ERROR).await?;
            Ok(Err(if status == 200 {
                failure::wrong_content(provider, &content_type, &body)
            } else {
                let refusal =
                    ErrorResponse { status, content_type: &content_type, retry_after, body: &body };
                failure::of_status(provider, &self.model, &refusal)
            }))
        };
        let response = match timeout_at(deadline, asked).await {
            Ok(Ok(response)) => response?,
            Ok(Err(error)) => return Err(failure::of_transport(provider, &error)),
            Err(_) => return Err(failure::timed_out(&provider.name, "first token", limit)),
        };
        let reading = StreamSettings {
            provider: provider.name.clone(),
            kind: provider.kind,
            key: self.key.clone(),
            first_token: deadline,
            first_token_limit: limit,
            stall: provider.timeouts.stall,
        };
        let name = provider.name.clone();
        let mut stream = AnswerStream::new(Body::from(response), reading, move |why| {
            let message = format!("the connection to `{name}` failed during its answer: {why}");
            ModelError::new(ModelErrorKind::Unreachable, message)
                .advice("try again; the provider's log may have details")
        });
        stream.begin().await?;
        Ok(Box::pin(stream))
    }
}

fn tried(mut error: ModelError, times: u32) -> ModelError {
    if times > 1 {
        let _ = write!(error.message, " (tried {times} times)");
    }
    error
}

impl Model for RemoteModel {
    fn name(&self) -> &str {
        &self.name
    }

    fn facts(&self) -> BoxFuture<'_, Result<ModelFacts, ModelError>> {
        Box::pin(async {
            facts::ask(&self.client, &self.headers, &self.provider, &self.model)
                .await
                .map_err(|error| self.key.clean_error(error))
        })
    }

    fn answer<'m>(
        &'m self,
        request: &'m ModelRequest,
    ) -> BoxFuture<'m, Result<ModelStream, ModelError>> {
        Box::pin(async { self.ask(request).await.map_err(|error| self.key.clean_error(error)) })
    }
}

/// Omits the key.
impl std::fmt::Debug for RemoteModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteModel")
            .field("name", &self.name)
            .field("base_url", &self.provider.base_url.as_str())
            .finish_non_exhaustive()
    }
}
