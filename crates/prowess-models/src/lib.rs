//! Clients for providers of language models over HTTP.
//!
//! [`choose`] is the entry point: it takes the user's choice, the environment variables and the settings folder, and
//! returns a [`prowess_core::Model`]. [`ModelSettings`] does so in two steps, for callers that show the configuration.
//!
//! Keys are read as late as possible, in `key.rs` only, which also removes them from every error.

mod anthropic;
mod config;
mod dialect;
mod discover;
mod facts;
mod failure;
mod key;
mod openai;
mod provider;
mod remote;
mod retry;
mod settings;
mod sse;
mod stream;
mod transport;

use std::path::Path;

use prowess_core::{Model, ModelError};

pub use discover::{LocalServer, find_local};
pub use provider::{Provider, ProviderKind, SettingOrigin, Timeouts};
pub use remote::RemoteModel;
pub use retry::RetryPolicy;
pub use settings::{ModelChoice, ModelSettings};

/// Chooses a model: by the argument, else by `PROWESS_MODEL`, else by the settings file in the folder.
pub fn choose(
    wanted: Option<&str>,
    variables: &[(String, String)],
    config_folder: &Path,
) -> Result<Box<dyn Model>, ModelError> {
    let settings = ModelSettings::load(variables, config_folder)?;
    let choice = settings.choose(wanted)?;
    Ok(Box::new(RemoteModel::open(&choice, variables)?))
}
