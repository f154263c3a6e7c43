//! Language models behind HTTP: which one is meant, how it is asked, what it answers.
//!
//! [`choose`] is the door: it takes what the user wants, the variables and the folder with the settings, and gives a
//! [`prowess_core::Model`]. [`Settings`] is the same in two steps, for those who want to show what is configured.
//!
//! Keys are read late and kept in one place, `key.rs`; every error passes its filter before anybody sees it.

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
pub use provider::{Kind, Origin, Provider, Timeouts};
pub use remote::RemoteModel;
pub use retry::Retries;
pub use settings::{Choice, Settings};

/// The model that is meant: by the argument, else by `PROWESS_MODEL`, else by the settings in the folder.
pub fn choose(
    wanted: Option<&str>,
    variables: &[(String, String)],
    config_folder: &Path,
) -> Result<Box<dyn Model>, ModelError> {
    let settings = Settings::load(variables, config_folder)?;
    let choice = settings.choose(wanted)?;
    Ok(Box::new(RemoteModel::open(&choice, variables)?))
}
