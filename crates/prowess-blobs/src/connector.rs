//! Lends `object_store` the HTTP client of the project.

use std::time::Duration;

use async_trait::async_trait;
use http_body_util::{BodyExt as _, Limited};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use prowess_http::{AddressFilter, Authorities, ProxySetting};

/// How long it may take to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a single request may take, with its body. A failed one is repeated.
const REQUEST_TIMEOUT: Duration = Duration::from_mins(1);
/// The largest response, an object or a page of a list.
const MAX_RESPONSE: usize = 256 << 20;

/// Makes clients for all requests of a bucket.
#[derive(Debug)]
pub(crate) struct Connector;

#[derive(Debug)]
struct Service(reqwest::Client);

impl HttpConnector for Connector {
    fn connect(&self, _: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = prowess_http::client(prowess_http::ClientOptions {
            authorities: Authorities::System,
            proxy: ProxySetting::Environment,
            // The administrator names the storage; it is usually in their own network.
            addresses: AddressFilter::All,
            connect_timeout: CONNECT_TIMEOUT,
        });
        let client = client.map_err(|source| object_store::Error::Generic {
            store: "S3",
            source: Box::new(source),
        })?;
        Ok(HttpClient::new(Service(client)))
    }
}

#[async_trait]
impl HttpService for Service {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let (parts, body) = request.into_parts();
        let url = parts
            .uri
            .to_string()
            .parse()
            .map_err(|error: url::ParseError| HttpError::new(HttpErrorKind::Unknown, error))?;
        let body = body.collect().await?.to_bytes();
        let mut request = reqwest::Request::new(parts.method, url);
        *request.headers_mut() = parts.headers;
        *request.body_mut() = Some(body.into());
        *request.timeout_mut() = Some(REQUEST_TIMEOUT);
        let response = self.0.execute(request).await.map_err(failed)?;
        let (parts, body) = http::Response::<reqwest::Body>::from(response).into_parts();
        let body = Limited::new(body.map_err(failed), MAX_RESPONSE);
        let body = body.map_err(|error| match error.downcast::<HttpError>() {
            Ok(error) => *error,
            Err(error) => HttpError::new_boxed(HttpErrorKind::Decode, error),
        });
        Ok(HttpResponse::from_parts(parts, HttpResponseBody::new(body)))
    }
}

/// The kind decides whether the request is repeated. Addresses stay out of messages; they can have credentials.
fn failed(error: reqwest::Error) -> HttpError {
    let kind = if error.is_timeout() {
        HttpErrorKind::Timeout
    } else if error.is_connect() {
        HttpErrorKind::Connect
    } else if error.is_decode() {
        HttpErrorKind::Decode
    } else if error.is_request() || error.is_body() {
        HttpErrorKind::Interrupted
    } else {
        HttpErrorKind::Unknown
    };
    HttpError::new(kind, error.without_url())
}
