//! Embeddings of a server with the API of `OpenAI`, such as Ollama, llama.cpp and vLLM.

use std::fmt;
use std::time::Duration;

use prowess_http::{
    AddressFilter, Authorities, ClientOptions, HttpClient, HttpError, HttpRequest, ProxySetting,
};
use serde_json::{Value, json};

use super::{EmbedError, Embedder, EmbedderIdentity, EmbedderSource, MOST_DIMENSIONS};

/// Timeout of a request; a server may have to load its model first.
const PATIENCE: Duration = Duration::from_mins(2);
/// Maximum size of a response: 64 vectors of 16,384 numbers with twenty characters each.
const MOST_ANSWER_BYTES: u64 = 32 << 20;
/// The environment variable with the key.
const KEY: &str = "PROWESS_EMBEDDER_KEY";

/// An embedder that requests vectors from a server.
pub struct EmbeddingEndpoint {
    stamp: EmbedderIdentity,
    url: String,
    model: String,
    key: Option<Key>,
    client: Result<HttpClient, String>,
}

/// A key, which is never printed.
struct Key(String);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

impl EmbeddingEndpoint {
    /// Creates an embedder with a known number of dimensions.
    pub(super) fn new(url: &str, model: &str, dimension: usize) -> Self {
        let authorities = if url.starts_with("http://") && !has_proxy() {
            Authorities::None
        } else {
            Authorities::System
        };
        let client = HttpClient::new(ClientOptions {
            authorities,
            proxy: ProxySetting::Environment,
            addresses: AddressFilter::All,
            connect_timeout: PATIENCE,
        });
        let client = client.map_err(|error| error.to_string());
        let source = EmbedderSource::Endpoint { url: url.to_owned(), model: model.to_owned() };
        let key = std::env::var(KEY).ok().filter(|key| !key.is_empty()).map(Key);
        let stamp = EmbedderIdentity { source, dimension };
        Self { stamp, url: url.to_owned(), model: model.to_owned(), key, client }
    }

    /// Requests one vector from a server to determine the number of dimensions.
    pub fn ask(url: &str, model: &str) -> Result<Self, EmbedError> {
        let unknown = Self::new(url, model, 0);
        let dimension = unknown.request(&["How long is a vector?"])?.first().map_or(0, Vec::len);
        if !(1..=MOST_DIMENSIONS).contains(&dimension) {
            return Err(unknown.odd(&format!("its vector has {dimension} dimensions")));
        }
        Ok(Self::new(url, model, dimension))
    }

    fn request(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let url = &self.url;
        let body = json!({ "model": self.model, "input": texts, "encoding_format": "float" });
        let authorization = self.key.as_ref().map(|Key(key)| format!("Bearer {key}"));
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(authorization.as_deref().map(|value| ("authorization", value)));
        let unreachable = |why: &str| {
            EmbedError::new(format!("could not connect to {url}: {why}"))
                .hint("start the server, or check its address")
        };
        let client = self.client.as_ref().map_err(|error| unreachable(error))?;
        let body = Some(body.to_string().into_bytes());
        let request = HttpRequest { url, headers: &headers, body, timeout: PATIENCE };
        let response = client.send(request).map_err(|error| unreachable(&why(&error)))?;
        let status = response.status();
        if status != 200 {
            // The response is not shown: it may repeat the request with the key.
            return Err(self.odd(&format!("it answered with status {status}")).hint(
                match status {
                    401 | 403 => format!("set {KEY} to the key"),
                    404 => "check the address and the name of the model".to_owned(),
                    _ => "check the log of the server".to_owned(),
                },
            ));
        }
        let answer = response.read(MOST_ANSWER_BYTES, &mut |_, _| ());
        let answer = answer.map_err(|error| self.odd(&why(&error)))?;
        let answer: Value =
            serde_json::from_slice(&answer).map_err(|_| self.odd("its response is not JSON"))?;
        vectors(&answer, texts.len())
            .ok_or_else(|| self.odd("its response is not a list of vectors"))
    }

    fn odd(&self, what: &str) -> EmbedError {
        EmbedError::new(format!("no embeddings from {}: {what}", self.url))
    }
}

impl Embedder for EmbeddingEndpoint {
    fn stamp(&self) -> &EmbedderIdentity {
        &self.stamp
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let vectors = self.request(texts)?;
        let expected = self.stamp.dimension;
        match vectors.iter().find(|vector| vector.len() != expected) {
            None => Ok(vectors),
            Some(odd) => Err(self
                .odd(&format!("its vectors have {} dimensions, expected {expected}", odd.len()))
                .hint(
                    "the server has another model under this name: create the base again \
                     with its embedder, and add its documents again",
                )),
        }
    }
}

fn why(error: &HttpError) -> String {
    prowess_core::system_reason(error)
}

/// Whether unencrypted requests go through a proxy, which may itself use TLS.
fn has_proxy() -> bool {
    ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]
        .iter()
        .any(|name| std::env::var_os(name).is_some())
}

/// Parses the vectors of a response, in the order of the texts according to `index`.
fn vectors(answer: &Value, count: usize) -> Option<Vec<Vec<f32>>> {
    let data = answer["data"].as_array().filter(|data| data.len() == count)?;
    let mut vectors = vec![Vec::new(); count];
    for (place, entry) in data.iter().enumerate() {
        let index = match &entry["index"] {
            Value::Null => place,
            index => usize::try_from(index.as_u64()?).ok()?,
        };
        #[expect(clippy::cast_possible_truncation, reason = "vectors are of single precision")]
        let numbers = entry["embedding"].as_array()?.iter().map(|n| n.as_f64().map(|n| n as f32));
        let vector = vectors.get_mut(index).filter(|vector| vector.is_empty())?;
        *vector = numbers.collect::<Option<Vec<f32>>>()?;
    }
    Some(vectors)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::vectors;

    #[test]
    fn vectors_are_sorted_by_index() {
        let answer = json!({ "data": [
            { "index": 1, "embedding": [3, 4] },
            { "index": 0, "embedding": [1, 2.5] },
        ] });
        assert_eq!(vectors(&answer, 2), Some(vec![vec![1.0, 2.5], vec![3.0, 4.0]]));
        assert_eq!(vectors(&answer, 3), None);
        let twice = json!({ "data": [
            { "index": 0, "embedding": [1] }, { "index": 0, "embedding": [2] },
        ] });
        assert_eq!(vectors(&twice, 2), None);
        assert_eq!(vectors(&json!({ "data": [{ "embedding": ["x"] }] }), 1), None);
    }
}
