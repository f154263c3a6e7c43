//! Finds model servers on this machine by requesting their lists of models.

use std::time::Duration;

use prowess_core::ModelError;
use serde_json::Value;

use crate::key::Key;
use crate::provider::{Provider, SettingOrigin, Timeouts};
use crate::settings::ModelSettings;
use crate::transport;
use prowess_settings::KeySource;

/// Timeout of a request: a server on this machine answers at once.
const LIMIT: Duration = Duration::from_secs(2);
/// Maximum number of models per server.
const MOST_MODELS: usize = 1000;

/// A model server that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalServer {
    /// The name of the provider.
    pub provider: String,
    /// The base URL.
    pub base_url: String,
    /// The names of its models, in the order of the server.
    pub models: Vec<String>,
}

/// Queries all known servers in parallel. Servers that do not answer, or are something else, are skipped.
pub async fn find_local(
    settings: &ModelSettings,
    variables: &[(String, String)],
) -> Vec<LocalServer> {
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
        // A task that panicked found nothing.
        found.extend(task.await.ok().flatten());
    }
    found
}

async fn models(
    mut provider: Provider,
    variables: &[(String, String)],
) -> Result<Option<LocalServer>, ModelError> {
    provider.timeouts = Timeouts { connect: LIMIT, ..provider.timeouts };
    // No key is sent: any program may listen on a default port.
    let source = match provider.origin {
        SettingOrigin::BuiltIn => &KeySource::None,
        SettingOrigin::Variable(_) | SettingOrigin::ConfigFile | SettingOrigin::Argument => {
            &provider.key
        }
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
