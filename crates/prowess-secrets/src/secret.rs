//! A secret value.

use std::fmt;

/// Minimum length of a value to search for: `true` or `main` in a variable that looks like a key
/// would mangle all output.
pub const MIN_SECRET_BYTES: usize = 6;
/// Maximum length of a value: longer ones can't be found in bounded memory, so the caller has to
/// reject them.
pub const MAX_SECRET_BYTES: usize = 16 * 1024;

/// A value with the name it is known by. It is never shown, not even by `{:?}`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    name: String,
    value: String,
}

impl Secret {
    /// Creates a secret.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }

    /// Its name, which is not secret.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value itself. The name of this method is long so that its callers are easy to find.
    pub fn reveal_value(&self) -> &str {
        &self.value
    }

    /// The part to search for: white space around a value gets lost in shells and files.
    pub(crate) fn core(&self) -> &str {
        self.value.trim()
    }

    /// Whether it is long enough to search for.
    pub fn is_searchable(&self) -> bool {
        self.core().len() >= MIN_SECRET_BYTES
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("name", &self.name).finish_non_exhaustive()
    }
}
