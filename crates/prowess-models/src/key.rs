//! Keys: where they come from, and that nobody ever sees one.

use prowess_core::{ModelError, ModelErrorKind};
use prowess_secrets::{Replacer, Secret};

use prowess_settings::{KeySource, read_key_file, variable};

/// A key and the filter that keeps it out of everything that is said.
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
                format!("the key of `{provider}` holds characters that no key has"),
            )
            .advice("copy it again, without line breaks or quotes"));
        }
        let replacer = Replacer::marks(secret.as_slice());
        Ok(Self { secret, replacer })
    }

    /// The value, for the one header that it goes into.
    pub(crate) fn reveal(&self) -> Option<&str> {
        self.secret.as_ref().map(Secret::reveal_value)
    }

    /// A text that does not hold the key.
    pub(crate) fn clean(&self, text: &str) -> String {
        let text = self.replacer.text(text);
        match &self.secret {
            // A key of few characters is not looked for, because it may be part of any word. Then the text goes.
            Some(secret) if !secret.is_searchable() && text.contains(secret.reveal_value()) => {
                "an explanation that holds the key and is not shown".to_owned()
            }
            _ => text.into_owned(),
        }
    }

    /// Keeps the key out of an answer that comes in pieces.
    pub(crate) fn filter(&self) -> prowess_secrets::Stream {
        self.replacer.stream()
    }

    /// An error that does not hold the key.
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
        format!("`{provider}` wants a key, and `{name}` is not set"),
    )
    .advice(format!("set `{name}`"))
    .advice(format!("or name a file: `[providers.{provider}]` with `key_file` in config.toml"))
}
