//! Usernames.

use std::fmt;
use std::str::FromStr;

/// The longest username, in bytes: a user owns the namespace of that name in a registry.
pub const MOST_USERNAME_BYTES: usize = 64;

/// A username: `[a-z0-9]+(-[a-z0-9]+)*`, which is safe in a path, in a URL and on a terminal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(transparent)]
pub struct Username(String);

/// An invalid username.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a username consists of lower case letters and digits with single hyphens between them, at most \
     {MOST_USERNAME_BYTES} characters"
)]
pub struct UsernameError;

impl Username {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Username {
    type Err = UsernameError;

    fn from_str(text: &str) -> Result<Username, UsernameError> {
        let is_part = |part: &str| {
            !part.is_empty() && part.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9'))
        };
        if text.len() <= MOST_USERNAME_BYTES && text.split('-').all(is_part) {
            Ok(Username(text.to_owned()))
        } else {
            Err(UsernameError)
        }
    }
}

impl fmt::Display for Username {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<UsernameError> for prowess_core::Problem {
    fn from(error: UsernameError) -> Self {
        Self::new("invalid-username", prowess_core::ProblemKind::InvalidInput, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::Username;

    #[test]
    fn usernames_are_safe_path_components() {
        let longest = "a".repeat(64);
        for name in ["a", "ada", "ada-lovelace", "7", &longest] {
            assert_eq!(name.parse::<Username>().expect(name).as_str(), name);
        }
        let too_long = "a".repeat(65);
        for name in ["", "-", "a-", "-a", "a--b", "Ada", "a.b", "a/b", "ä", "a b", "a\n", &too_long]
        {
            assert!(name.parse::<Username>().is_err(), "{name}");
        }
    }
}
