//! Embeddings of a server with the interface of `OpenAI`: Ollama, llama.cpp, vLLM and others have it.

use std::fmt;
use std::time::Duration;

use prowess_http::{Addresses, Authorities, Client, ClientOptions, HttpError, Proxy, Request};
use serde_json::{Value, json};

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
    client: Result<Client, String>,
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
        let authorities = if url.starts_with("http://") && !has_proxy() {
            Authorities::None
        } else {
            Authorities::System
        };
        let client = Client::new(ClientOptions {
            authorities,
            proxy: Proxy::Environment,
            addresses: Addresses::All,
            connect_timeout: PATIENCE,
        });
        let client = client.map_err(|error| error.to_string());
        let source = Source::Endpoint { url: url.to_owned(), model: model.to_owned() };
        let key = std::env::var(KEY).ok().filter(|key| !key.is_empty()).map(Key);
        let stamp = Stamp { source, dimension };
        Self { stamp, url: url.to_owned(), model: model.to_owned(), key, client }
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
        let authorization = self.key.as_ref().map(|Key(key)| format!("Bearer {key}"));
        let mut headers = vec![("content-type", "application/json")];
        headers.extend(authorization.as_deref().map(|value| ("authorization", value)));
        let unreachable = |why: &str| {
            EmbedError::new(format!("cannot reach {url}: {why}"))
                .hint("start the server, or look at its address")
        };
        let client = self.client.as_ref().map_err(|error| unreachable(error))?;
        let body = Some(body.to_string().into_bytes());
        let request = Request { url, headers: &headers, body, timeout: PATIENCE };
        let response = client.send(request).map_err(|error| unreachable(&why(&error)))?;
        let status = response.status();
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
        let answer = response.read(MOST_ANSWER_BYTES, &mut |_, _| ());
        let answer = answer.map_err(|error| self.odd(&why(&error)))?;
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
                    "the server has another model under this name: create the base again \
                     with its embedder, and add its documents again",
                )),
        }
    }
}

fn why(error: &HttpError) -> String {
    prowess_core::system_reason(error)
}

/// Whether requests without encryption go through a proxy, which may have to be reached with encryption.
fn has_proxy() -> bool {
    ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"]
        .iter()
        .any(|name| std::env::var_os(name).is_some())
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
