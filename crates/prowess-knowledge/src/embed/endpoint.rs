//! Embeddings of a server with the interface of `OpenAI`: Ollama, llama.cpp, vLLM and others have it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use ureq::Agent;
use ureq::tls::{RootCerts, TlsConfig};

use super::{EmbedError, Embedder, MOST_DIMENSIONS, Source, Stamp};

/// A server that loads its model first takes its time.
const PATIENCE: Duration = Duration::from_mins(2);
/// 64 vectors of 16,384 numbers with twenty characters each.
const MOST_ANSWER_BYTES: u64 = 32 << 20;
/// The variable with the key.
const KEY: &str = "PROWESS_EMBEDDER_KEY";

/// A server that is asked for vectors.
pub struct Endpoint {
    stamp: Stamp,
    url: String,
    model: String,
    key: Option<Key>,
    agent: Agent,
}

/// A key never appears in what is printed.
struct Key(String);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

impl Endpoint {
    /// A server whose vectors are known to have so many numbers.
    pub(super) fn new(url: &str, model: &str, dimension: usize) -> Self {
        let tls = TlsConfig::builder()
            .root_certs(RootCerts::PlatformVerifier)
            .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .build();
        let agent = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .http_status_as_error(false)
            // A key must not follow to wherever somebody points.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .tls_config(tls)
            .build()
            .into();
        let source = Source::Endpoint { url: url.to_owned(), model: model.to_owned() };
        let key = std::env::var(KEY).ok().filter(|key| !key.is_empty()).map(Key);
        let stamp = Stamp { source, dimension };
        Self { stamp, url: url.to_owned(), model: model.to_owned(), key, agent }
    }

    /// Asks a server for one vector, to learn how many numbers it has.
    pub fn ask(url: &str, model: &str) -> Result<Self, EmbedError> {
        let unknown = Self::new(url, model, 0);
        let dimension = unknown.request(&["How long is a vector?"])?.first().map_or(0, Vec::len);
        if !(1..=MOST_DIMENSIONS).contains(&dimension) {
            return Err(unknown.odd(&format!("its vector has {dimension} numbers")));
        }
        Ok(Self::new(url, model, dimension))
    }

    fn request(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let url = &self.url;
        let body = json!({ "model": self.model, "input": texts, "encoding_format": "float" });
        let mut request = self.agent.post(url).content_type("application/json");
        if let Some(Key(key)) = &self.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let mut response = request.send(body.to_string()).map_err(|error| {
            EmbedError::new(format!("cannot reach {url}: {error}"))
                .hint("start the server, or look at its address")
        })?;
        let status = response.status().as_u16();
        if status != 200 {
            // The answer may repeat what was sent, key and all, so that it is not shown.
            return Err(self.odd(&format!("it answered with status {status}")).hint(
                match status {
                    401 | 403 => format!("put the key into {KEY}"),
                    404 => "look at the address and the model's name".to_owned(),
                    _ => "look at the server's log".to_owned(),
                },
            ));
        }
        let answer = response.body_mut().with_config().limit(MOST_ANSWER_BYTES).read_to_vec();
        let answer = answer.map_err(|error| self.odd(&error.to_string()))?;
        let answer: Value =
            serde_json::from_slice(&answer).map_err(|_| self.odd("its answer is not JSON"))?;
        vectors(&answer, texts.len()).ok_or_else(|| self.odd("its answer is no list of vectors"))
    }

    fn odd(&self, what: &str) -> EmbedError {
        EmbedError::new(format!("no embeddings from {}: {what}", self.url))
    }
}

impl Embedder for Endpoint {
    fn stamp(&self) -> &Stamp {
        &self.stamp
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
        let vectors = self.request(texts)?;
        let expected = self.stamp.dimension;
        match vectors.iter().find(|vector| vector.len() != expected) {
            None => Ok(vectors),
            Some(odd) => Err(self
                .odd(&format!("its vectors have {} numbers now, and {expected} before", odd.len()))
                .hint(
                    "the server has another model under this name: make the base anew with `prowess kb new … \
                     --embedder …`, and add its documents again",
                )),
        }
    }
}

/// The vectors of an answer, in the order of the texts: `index` says which is which.
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
    fn vectors_come_in_the_order_of_their_texts() {
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
