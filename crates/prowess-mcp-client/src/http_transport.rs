//! HTTP for the SDK's transport: one client per server, with bounds on every body. Redirects are refused.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION};
use http::{HeaderName, HeaderValue};
use prowess_core::{McpError, McpErrorKind};
use prowess_http::HttpError;
use reqwest::{RequestBuilder, Response, StatusCode};
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcMessage, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::{Error as SseError, Sse, SseStream};

use crate::bounded::{Failure, MAX_MESSAGE_BYTES, MAX_STREAM_BYTES, too_large};
use crate::endpoint::{shown_endpoint, unreachable};

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";
/// The most bytes of an error page that are read.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// A client for one server. Clones share its connections.
#[derive(Clone, Debug)]
pub(crate) struct HttpTransport {
    client: reqwest::Client,
    headers: Vec<(HeaderName, HeaderValue)>,
    failure: Failure,
}

type Failed = StreamableHttpError<HttpFailure>;

/// A request that failed, in the words of the failure that the session shows.
#[derive(Debug)]
pub(crate) struct HttpFailure(McpError);

impl std::fmt::Display for HttpFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for HttpFailure {}

impl HttpTransport {
    pub(crate) fn new(
        client: reqwest::Client,
        headers: &[(String, String)],
        failure: Failure,
    ) -> Result<Self, McpError> {
        let invalid = |name: &str| {
            let message = format!("has a header `{name}` in its settings that is not valid");
            McpError::new(McpErrorKind::Refused, message)
        };
        let headers = headers.iter().map(|(name, value)| {
            let known = HeaderName::try_from(name.as_str()).map_err(|_| invalid(name))?;
            let mut value = HeaderValue::from_str(value).map_err(|_| invalid(name))?;
            // Libraries must not log a header that may contain a key.
            value.set_sensitive(true);
            Ok((known, value))
        });
        Ok(Self { client, headers: headers.collect::<Result<_, McpError>>()?, failure })
    }

    fn with_headers(
        &self,
        mut request: RequestBuilder,
        session: Option<&Arc<str>>,
        token: Option<String>,
        custom: HashMap<HeaderName, HeaderValue>,
    ) -> RequestBuilder {
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        for (name, value) in custom {
            request = request.header(name, value);
        }
        if let Some(session) = session {
            request = request.header(SESSION, session.as_ref());
        }
        match token {
            Some(token) => request.header(AUTHORIZATION, format!("Bearer {token}")),
            None => request,
        }
    }

    /// Sends a request, and gives its response unless the whole conversation has failed.
    async fn send(&self, request: RequestBuilder) -> Result<Response, Failed> {
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) => return Err(self.fail(unreachable(&HttpError::of(&error)))),
        };
        let status = response.status();
        if status.is_redirection() {
            let target = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
            let target = target.map_or_else(
                || "elsewhere".to_owned(),
                |target| format!("to `{}`", shown_endpoint(target)),
            );
            let message = format!("redirects {target}, which is not followed");
            return Err(self.fail(McpError::new(McpErrorKind::Protocol, message)));
        }
        if matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            let message = format!("refuses access (status {})", status.as_u16());
            return Err(self.fail(McpError::new(McpErrorKind::Denied, message)));
        }
        Ok(response)
    }

    fn fail(&self, error: McpError) -> Failed {
        self.failure.set(error.clone());
        StreamableHttpError::Client(HttpFailure(error))
    }

    async fn body(&self, mut response: Response, most: usize) -> Result<Vec<u8>, Failed> {
        let mut body = Vec::new();
        loop {
            let piece = response.chunk().await;
            let piece = piece.map_err(|error| self.fail(unreachable(&HttpError::of(&error))))?;
            let Some(piece) = piece else { return Ok(body) };
            if body.len() + piece.len() > most {
                return Err(self.fail(too_large()));
            }
            body.extend_from_slice(&piece);
        }
    }

    fn events(&self, response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
        let failure = self.failure.clone();
        let bytes = stream::unfold((response, 0_usize), move |(mut response, so_far)| {
            let failure = failure.clone();
            async move {
                let piece = match response.chunk().await {
                    Ok(piece) => piece?,
                    Err(error) => {
                        let error = std::io::Error::other(HttpError::of(&error).to_string());
                        return Some((Err(error), (response, so_far)));
                    }
                };
                let so_far = so_far + piece.len();
                if so_far > MAX_STREAM_BYTES {
                    failure.set(too_large());
                    let error = std::io::Error::other("the stream is too long");
                    return Some((Err(error), (response, so_far)));
                }
                Some((Ok(piece), (response, so_far)))
            }
        });
        SseStream::from_bytes_stream(bytes).boxed()
    }
}

impl StreamableHttpClient for HttpTransport {
    type Error = HttpFailure;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let body = serde_json::to_vec(&message)?;
        let request = self
            .client
            .post(uri.as_ref())
            .header(ACCEPT, format!("{EVENTS}, {JSON}"))
            .header(CONTENT_TYPE, JSON)
            .body(body);
        let request = self.with_headers(request, session_id.as_ref(), auth_header, custom_headers);
        let response = self.send(request).await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && session_id.is_some() {
            return Err(StreamableHttpError::SessionExpired);
        }
        let text = |name: &str| {
            let value = response.headers().get(name).and_then(|value| value.to_str().ok());
            value.map(str::to_owned)
        };
        let (kind, session) = (text(CONTENT_TYPE.as_str()).unwrap_or_default(), text(SESSION));
        let is_request = matches!(message, JsonRpcMessage::Request(_));
        if !status.is_success() {
            return self.failed(status, &kind, session, &message, response).await;
        }
        if kind.starts_with(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(self.events(response), session));
        }
        // Nothing is expected for a notification, whatever the server says.
        if !is_request {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let protocol = |why: String| McpError::new(McpErrorKind::Protocol, why);
        if !kind.starts_with(JSON) {
            let why = "responded with something other than MCP; check its URL";
            return Err(self.fail(protocol(why.to_owned())));
        }
        let body = self.body(response, MAX_MESSAGE_BYTES).await?;
        let message = serde_json::from_slice(&body)
            .map_err(|_| self.fail(protocol("answered with invalid JSON-RPC".to_owned())))?;
        Ok(StreamableHttpPostResponse::Json(message, session))
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failed> {
        let request = self.client.delete(uri.as_ref());
        let request = self.with_headers(request, Some(&session_id), auth_header, custom_headers);
        // A server may not support it, and there is nothing to do about it.
        let _ = request.send().await;
        Ok(())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, Failed> {
        let mut request = self.client.get(uri.as_ref()).header(ACCEPT, EVENTS);
        if let Some(last) = last_event_id {
            request = request.header(LAST_EVENT, last);
        }
        let request = self.with_headers(request, session_id.as_ref(), auth_header, custom_headers);
        // What a server wants to say unasked is not needed, so this never fails the conversation.
        let response =
            request.send().await.map_err(|_| StreamableHttpError::ServerDoesNotSupportSse)?;
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        if !response.status().is_success() || !kind.is_some_and(|kind| kind.starts_with(EVENTS)) {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        Ok(self.events(response))
    }
}

impl HttpTransport {
    /// A response with an error status. Servers of the older protocol refuse the newer one's first request in many ways, and
    /// then have to be asked in theirs.
    async fn failed(
        &self,
        status: StatusCode,
        kind: &str,
        session: Option<String>,
        message: &ClientJsonRpcMessage,
        response: Response,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let body = if kind.starts_with(JSON) {
            self.body(response, MAX_ERROR_BYTES).await?
        } else {
            Vec::new()
        };
        let answered = serde_json::from_slice::<ServerJsonRpcMessage>(&body).ok();
        if let JsonRpcMessage::Request(request) = message
            && status.is_client_error()
            && matches!(request.request, ClientRequest::DiscoverRequest(_))
        {
            let error = match answered {
                Some(JsonRpcMessage::Error(error)) => error.error,
                _ => ErrorData::invalid_request(format!("status {}", status.as_u16()), None),
            };
            let message = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
            return Ok(StreamableHttpPostResponse::Json(message, None));
        }
        if let Some(message @ JsonRpcMessage::Error(_)) = answered {
            return Ok(StreamableHttpPostResponse::Json(message, session));
        }
        let why = format!("answered with status {}", status.as_u16());
        Err(self.fail(McpError::new(McpErrorKind::Unreachable, why)))
    }
}
