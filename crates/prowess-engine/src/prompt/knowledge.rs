//! Adds passages of a knowledge base to a prompt (AFL §6).

use serde_json::{Value, json};

use super::{SYSTEM, Sink};
use prowess_core::{CitedSource, Event, Thought};
use prowess_core::{Passage, Query, RetrieveError, RetrieveErrorKind, Retriever};

/// Number of characters of the prompt that are used as the query (AFL §6, R35).
const QUERY_CHARACTERS: usize = 500;
/// Number of passages that are retrieved and cited (AFL §6).
const TOP_K: usize = 5;
/// Number of passages that are included in the prompt (AFL §6).
const INJECTED: usize = 3;
/// Number of characters of a passage that are displayed.
const SHOWN_CHARACTERS: usize = 100;
/// The instruction of AFL §6, verbatim.
const INSTRUCTION: &str = "Answer the user's request based on the provided context. If the context doesn't contain relevant information, say so clearly.";

/// The context for a model, with its sources.
pub(crate) struct Context {
    pub(crate) system: String,
    pub(crate) sources: Vec<CitedSource>,
}

impl Default for Context {
    fn default() -> Self {
        Self { system: SYSTEM.to_owned(), sources: Vec::new() }
    }
}

/// Retrieves passages for a prompt. On failure the run continues without context (AFL §6).
pub(crate) async fn look_up(
    base: &str,
    prompt: &str,
    retriever: Option<&dyn Retriever>,
    sink: &mut Sink<'_>,
) -> Context {
    let text: String = prompt.chars().take(QUERY_CHARACTERS).collect();
    let step = |status, message: Option<String>, details: Vec<(&'static str, Value)>| {
        let details = [("kb_id", Value::from(base))].into_iter().chain(details).collect();
        Event::Thought(Thought { kind: "retrieval", status, message, details })
    };
    sink(&step("start", None, Vec::new()));
    sink(&step("searching", None, vec![("query", text.clone().into())]));
    let query = Query { text, top_k: TOP_K, filters: Vec::new() };
    let found = match retriever {
        Some(retriever) => retriever.search(base, &query).await,
        None => {
            Err(RetrieveError::new(RetrieveErrorKind::NotFound, "no knowledge bases are available"))
        }
    };
    let mut found = match found {
        Ok(found) => found,
        Err(error) => {
            let message = format!("the knowledge base `{base}` was not searched: {error}");
            sink(&step("error", Some(message.clone()), Vec::new()));
            let hints: Vec<String> = error.remedies.iter().map(ToString::to_string).collect();
            let hints = hints.join("; ");
            let message = if hints.is_empty() { message } else { format!("{message} ({hints})") };
            sink(&Event::Warning { message });
            return Context::default();
        }
    };
    found.truncate(TOP_K);
    let top: Vec<Value> = found.iter().take(INJECTED).map(shown).collect();
    let details = vec![("results_count", found.len().into()), ("top_results", Value::Array(top))];
    sink(&step("complete", None, details));
    let system = system(&found);
    let sources: Vec<CitedSource> =
        found.into_iter().enumerate().map(|(at, passage)| source(passage, at < INJECTED)).collect();
    sink(&Event::Citation { sources: sources.clone() });
    if sources.is_empty() {
        let message = format!("no matches in the knowledge base `{base}`");
        sink(&Event::Warning { message });
    }
    Context { system, sources }
}

/// The system prompt of AFL §6.
fn system(found: &[Passage]) -> String {
    if found.is_empty() {
        return SYSTEM.to_owned();
    }
    let blocks: Vec<String> = found
        .iter()
        .take(INJECTED)
        .enumerate()
        .map(|(at, passage)| format!("[{}] {}", at + 1, passage.text))
        .collect();
    format!("{SYSTEM}\n\n{INSTRUCTION}\n\nContext:\n{}", blocks.join("\n\n"))
}

fn shown(passage: &Passage) -> Value {
    let text: String = passage.text.chars().take(SHOWN_CHARACTERS).collect();
    json!({
        "doc_id": passage.doc_id,
        "chunk_index": passage.chunk_index,
        "score": passage.score,
        "text": text,
    })
}

fn source(passage: Passage, injected: bool) -> CitedSource {
    let Passage { doc_id, chunk_index, score, text, range, pages } = passage;
    CitedSource { doc_id, chunk_index, score, text, range, pages, injected }
}
