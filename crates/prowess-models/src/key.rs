//! API keys: reads them, and removes them from errors and answers.

use prowess_core::{ModelError, ModelErrorKind};
use prowess_secrets::{Replacer, Secret};

use prowess_settings::{KeySource, read_key_file, variable};

/// An API key, with a filter that removes it from texts.
#[derive(Clone)]
pub(crate) struct Key {
    secret: Option<Secret>,
    replacer: Replacer,
}

impl Key {
    /// Reads a key.
    pub(crate) fn read(
        source: &KeySource,
        provider: &str,
        variables: &[(String, String)],
    ) -> Result<Self, ModelError> {
        let secret = match source {
            KeySource::None => None,
            KeySource::Variable { name, is_needed } => match variable(variables, name) {
                Some(value) => Some(Secret::new(name, value)),
                None if !is_needed => None,
                None => return Err(missing(provider, name)),
            },
            KeySource::File(path) => Some(Secret::new(
                format!("key of {provider}"),
                read_key_file(path).map_err(ModelError::from)?,
            )),
        };
        if let Some(secret) = &secret
            && secret.reveal_value().chars().any(|character| !(' '..='~').contains(&character))
        {
            return Err(ModelError::new(
                ModelErrorKind::Unauthorized,
                format!("the key of `{provider}` contains invalid characters"),
            )
            .advice("copy it again, without line breaks or quotes"));
        }
        let replacer = Replacer::redacting(secret.as_slice());
        Ok(Self { secret, replacer })
    }

    /// The value, for the request header.
    pub(crate) fn reveal(&self) -> Option<&str> {
        self.secret.as_ref().map(Secret::reveal_value)
    }

    /// Removes the key from a text.
    pub(crate) fn clean(&self, text: &str) -> String {
        let text = self.replacer.text(text);
        match &self.secret {
            // A short key is not searched for, because it may be part of any word; the whole text is withheld instead.
            Some(secret) if !secret.is_searchable() && text.contains(secret.reveal_value()) => {
                "(the message contains the key and is not shown)".to_owned()
            }
            _ => text.into_owned(),
        }
    }

    /// Creates a filter that removes the key from a streamed answer.
    pub(crate) fn filter(&self) -> prowess_secrets::ReplacerStream {
        self.replacer.stream()
    }

    /// Removes the key from an error.
    pub(crate) fn clean_error(&self, mut error: ModelError) -> ModelError {
        error.message = self.clean(&error.message);
        let remedies = error.remedies.into_iter();
        error.remedies =
            remedies.map(|remedy| remedy.map_target(|text| self.clean(text))).collect();
        error
    }
}

fn missing(provider: &str, name: &str) -> ModelError {
    ModelError::new(
        ModelErrorKind::Unauthorized,
        format!("`{provider}` requires a key, but `{name}` is not set"),
    )
    .advice(format!("set `{name}`"))
    .advice(format!("or set `key_file` in `[providers.{provider}]` of config.toml"))
}
