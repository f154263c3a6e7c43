//! A value that nobody should read.

use std::fmt;

/// Shorter values are not looked for: `true` or `main` in a variable that looks like a key would shred every output.
pub const SHORTEST: usize = 6;
/// Longer values can't be looked for in bounded memory; whoever hands them out has to refuse instead.
pub const LONGEST: usize = 16 * 1024;

/// A value with the name it is known by. It is never shown, not even by `{:?}`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    name: String,
    value: String,
}

impl Secret {
    /// A secret.
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.into() }
    }

    /// What it is called; no secret.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The value itself. The name of this method is long so that its callers are easy to find.
    pub fn reveal_value(&self) -> &str {
        &self.value
    }

    /// What is looked for: blanks around a value get lost in shells and files.
    pub(crate) fn core(&self) -> &str {
        self.value.trim()
    }

    /// Whether it is long enough to be looked for.
    pub fn is_searchable(&self) -> bool {
        self.core().len() >= SHORTEST
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("name", &self.name).finish_non_exhaustive()
    }
}
