//! Nodes that search a knowledge base: the best passages, numbered, as text for the next node.

use serde_json::Value;

use super::{Failure, NodeContext};
use prowess_core::{CitedSource, Event, Thought};
use prowess_core::{Passage, Query};

/// Maximum length of a query.
const QUERY_CHARACTERS: usize = 2_000;
/// Number of passages that are retrieved and cited (AFL).
const TOP_K: usize = 5;
/// Number of passages that are passed on (AFL).
const HANDED_ON: usize = 3;

/// Searches a knowledge base for the input.
pub(super) async fn look_up(scene: &NodeContext<'_, '_, '_>, base: &str) -> Result<Value, Failure> {
    let tell = |event: &Event| scene.teller.inside(&scene.node.id, event);
    let step = |status, details: Vec<(&'static str, Value)>| {
        let details = [("kb_id", Value::from(base))].into_iter().chain(details).collect();
        tell(&Event::Thought(Thought { kind: "retrieval", status, message: None, details }));
    };
    let text: String = scene.input.text.chars().take(QUERY_CHARACTERS).collect();
    step("start", Vec::new());
    step("searching", vec![("query", text.clone().into())]);
    let Some(retriever) = &scene.context.retriever else {
        return Err(Failure::new("no knowledge bases are available"));
    };
    let query = Query { text, top_k: TOP_K, filters: Vec::new() };
    let search = async {
        tokio::select! {
            biased;
            () = scene.context.cancel.cancelled() => Err(Failure::new("it was cancelled")),
            () = tokio::time::sleep(scene.context.limits.prompt) => Err(Failure::new("the search took too long")),
            found = retriever.search(base, &query) => found.map_err(|error| {
                let message = format!("the knowledge base `{base}` was not searched: {error}");
                error.remedies.into_iter().fold(Failure::new(message), Failure::remedy)
            }),
        }
    };
    let mut found = search.await?;
    found.truncate(TOP_K);
    step("complete", vec![("results_count", found.len().into())]);
    let sources: Vec<CitedSource> = found.into_iter().enumerate().map(source).collect();
    let output = blocks(&sources).join("\n\n");
    tell(&Event::Citation { sources });
    Ok(output.into())
}

fn source((at, passage): (usize, Passage)) -> CitedSource {
    let Passage { doc_id, chunk_index, score, text, range, pages } = passage;
    CitedSource { doc_id, chunk_index, score, text, range, pages, injected: at < HANDED_ON }
}

/// The passages that are passed on, with the numbers by which an answer can cite them.
pub(super) fn blocks(sources: &[CitedSource]) -> Vec<String> {
    let injected = sources.iter().filter(|source| source.injected);
    injected.enumerate().map(|(at, source)| format!("[{}] {}", at + 1, source.text)).collect()
}
