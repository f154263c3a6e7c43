//! Servers on this machine, found by asking them for their models.

use std::time::Duration;

use prowess_core::ModelError;
use serde_json::Value;

use crate::key::Key;
use crate::provider::{Origin, Provider, Timeouts};
use crate::settings::Settings;
use crate::transport;
use prowess_settings::KeySource;

/// A server on this machine answers at once, or is not worth waiting for.
const LIMIT: Duration = Duration::from_secs(2);
/// More names than anybody reads.
const MOST_MODELS: usize = 1000;

/// A server that answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    /// Its provider's name.
    pub provider: String,
    /// Where it is.
    pub base_url: String,
    /// What its models are called, in the order in which it says so.
    pub models: Vec<String>,
}

/// Asks the known servers all at once. One that does not answer, or is something else, is not in the list.
pub async fn find_local(settings: &Settings, variables: &[(String, String)]) -> Vec<LocalServer> {
    let asked: Vec<_> = settings
        .providers
        .iter()
        .filter(|provider| provider.is_local)
        .map(|provider| {
            let provider = provider.clone();
            let variables = variables.to_vec();
            tokio::spawn(async move { models(provider, &variables).await.ok().flatten() })
        })
        .collect();
    let mut found = Vec::new();
    for task in asked {
        // A task that panicked has found nothing.
        found.extend(task.await.ok().flatten());
    }
    found
}

async fn models(
    mut provider: Provider,
    variables: &[(String, String)],
) -> Result<Option<LocalServer>, ModelError> {
    provider.timeouts = Timeouts { connect: LIMIT, ..provider.timeouts };
    // Whoever listens on a usual port was not chosen by anybody, so no key goes there.
    let source = match provider.origin {
        Origin::BuiltIn => &KeySource::None,
        Origin::Variable(_) | Origin::ConfigFile | Origin::Argument => &provider.key,
    };
    let key = Key::read(source, &provider.name, variables)?;
    let client = transport::client(&provider, variables)?;
    let headers = transport::headers(provider.kind, &key)?;
    let request = client.get(provider.address("models")).headers(headers);
    let list = transport::page(&client, &provider, request, LIMIT).await?;
    Ok(list.and_then(|list| server(&provider, &list)))
}

fn server(provider: &Provider, list: &Value) -> Option<LocalServer> {
    let entries = list["data"].as_array()?;
    let models: Option<Vec<String>> = entries
        .iter()
        .take(MOST_MODELS)
        .map(|entry| entry["id"].as_str().map(str::to_owned))
        .collect();
    Some(LocalServer {
        provider: provider.name.clone(),
        base_url: provider.base_url.to_string(),
        models: models?,
    })
}
