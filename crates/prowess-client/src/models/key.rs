//! Keys: where they come from, and that nobody ever sees one.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use prowess_engine::{ModelError, ModelErrorKind};
use prowess_secrets::{Replacer, Secret};

use super::variable;

/// The most bytes of a file with a key.
const LONGEST_FILE: u64 = 16 * 1024;

/// Where a key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// There is none, and none is needed.
    None,
    /// A variable.
    Variable {
        /// Its name.
        name: String,
        /// Whether the provider answers nobody without a key.
        is_needed: bool,
    },
    /// A file that only its owner can read.
    File(PathBuf),
}

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
            KeySource::File(path) => {
                Some(Secret::new(format!("key of {provider}"), read_file(path)?))
            }
        };
        if let Some(secret) = &secret
            && secret.reveal_value().chars().any(|character| !(' '..='~').contains(&character))
        {
            return Err(ModelError::new(
                ModelErrorKind::Unauthorized,
                format!("the key of `{provider}` holds characters that no key has"),
            )
            .hint("copy it again, without line breaks or quotes"));
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
        for hint in &mut error.hints {
            *hint = self.clean(hint);
        }
        error
    }
}

fn missing(provider: &str, name: &str) -> ModelError {
    ModelError::new(
        ModelErrorKind::Unauthorized,
        format!("`{provider}` wants a key, and `{name}` is not set"),
    )
    .hint(format!("set `{name}`"))
    .hint(format!("or name a file: `[providers.{provider}]` with `key_file` in config.toml"))
}

/// Reads a key out of a file that only its owner can read.
pub(crate) fn read_file(path: &Path) -> Result<String, ModelError> {
    let error = |message: String| ModelError::new(ModelErrorKind::Unauthorized, message);
    let shown = path.display();
    let failed = |source: std::io::Error| {
        error(format!("cannot read the key file `{shown}`: {}", reason(&source)))
            .hint("write the key into it, and make it readable only for you")
    };
    let mut file = File::open(path).map_err(failed)?;
    // Looked at after opening, so that it can't be another file by then.
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        return Err(error(format!("the key file `{shown}` is no file")));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        if metadata.permissions().mode() & 0o077 != 0 {
            return Err(error(format!("others can read the key file `{shown}`"))
                .hint(format!("take that from them with `chmod 600 {shown}`"))
                .hint("whoever may have read it before knows the key: get a new one"));
        }
    }
    let mut text = String::new();
    file.by_ref().take(LONGEST_FILE + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > LONGEST_FILE {
        return Err(error(format!("the key file `{shown}` is too long to hold a key")));
    }
    let key = text.trim();
    if key.is_empty() {
        return Err(error(format!("the key file `{shown}` is empty")));
    }
    Ok(key.to_owned())
}

/// The system's words without its numbers.
pub(crate) fn reason(source: &dyn std::error::Error) -> String {
    let text = source.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut characters = text.chars();
    match characters.next() {
        Some(first) if characters.as_str().starts_with(|next: char| next.is_lowercase()) => {
            first.to_lowercase().chain(characters).collect()
        }
        _ => text.to_owned(),
    }
}
