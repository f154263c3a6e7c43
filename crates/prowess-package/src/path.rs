//! The path of a file inside a package, checked once.

use std::fmt;
use std::str::FromStr;

use prowess_format::text::{is_deceptive, shorten, visible};
use unicode_normalization::UnicodeNormalization as _;

/// Maximum length of a path, in bytes. Windows allows 260 characters, including the path of the
/// store.
pub const MOST_PATH_BYTES: usize = 200;
/// Maximum number of components of a path.
pub const MOST_PATH_PARTS: usize = 16;

/// A relative path with `/` as the separator that names the same file on every system.
///
/// No `.`, `..` or empty part, no backslash, colon or other character that Windows reserves, no
/// control or invisible character, no trailing dot or space, no device name (attacks registry-B1,
/// registry-B9, registry-B17). Ordered by its bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackagePath(String);

/// The problem with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathProblem {
    /// Empty.
    #[error("is empty")]
    Empty,
    /// Absolute.
    #[error("is absolute")]
    Absolute,
    /// `//`, or a `/` at the end.
    #[error("has an empty part")]
    EmptyPart,
    /// `.` or `..`.
    #[error("has a part `.` or `..`")]
    Leads,
    /// A backslash, which is a separator only on Windows.
    #[error("has a backslash, use `/`")]
    Backslash,
    /// A drive, or a stream inside a file.
    #[error("has a colon, which names a drive or a hidden stream on Windows")]
    Colon,
    /// `<`, `>`, `"`, `|`, `?` or `*`.
    #[error("has one of the characters `< > \" | ? *`, which Windows does not allow")]
    Wildcard,
    /// Control and invisible characters.
    #[error("has a control or invisible character")]
    Unseen,
    /// A trailing dot or space, which Windows drops.
    #[error("has a part that ends with a dot or a space, which Windows drops")]
    TrailingDotOrBlank,
    /// `aux`, `con`, `com1` and so on.
    #[error("has a part that is a device name on Windows")]
    Device,
    /// Not Unicode.
    #[error("is not UTF-8")]
    NotUtf8,
    /// Too many bytes or parts.
    #[error("has more than {MOST_PATH_BYTES} bytes or {MOST_PATH_PARTS} parts")]
    TooLong,
}

/// A path that is not allowed in a package.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the path `{}` {problem}", visible(&shorten(.path, 120)))]
pub struct PackagePathError {
    /// The path as found.
    pub path: String,
    /// The problem.
    pub problem: PathProblem,
}

impl PackagePath {
    /// Checks the bytes of a path.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, PackagePathError> {
        match std::str::from_utf8(bytes) {
            Ok(text) => text.parse(),
            Err(_) => Err(PackagePathError {
                path: String::from_utf8_lossy(bytes).into_owned(),
                problem: PathProblem::NotUtf8,
            }),
        }
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Its components, from the outermost folder to the file.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/')
    }

    /// The last component.
    pub fn file_name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }

    /// The path below its first folder, if that is `folder`.
    pub(crate) fn below(&self, folder: &str) -> Option<Self> {
        let rest = self.0.strip_prefix(folder)?.strip_prefix('/')?;
        Some(Self(rest.to_owned()))
    }

    /// The path with case and Unicode composition folded: two paths with the same folded form
    /// collide on some file systems (attack registry-B8).
    pub fn folded(&self) -> String {
        fold(&self.0)
    }
}

impl FromStr for PackagePath {
    type Err = PackagePathError;

    fn from_str(text: &str) -> Result<Self, PackagePathError> {
        match problem_of(text) {
            None => Ok(Self(text.to_owned())),
            Some(problem) => Err(PackagePathError { path: text.to_owned(), problem }),
        }
    }
}

impl fmt::Display for PackagePath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

fn problem_of(text: &str) -> Option<PathProblem> {
    if text.is_empty() {
        return Some(PathProblem::Empty);
    }
    if text.starts_with('/') {
        return Some(PathProblem::Absolute);
    }
    if text.len() > MOST_PATH_BYTES || text.split('/').count() > MOST_PATH_PARTS {
        return Some(PathProblem::TooLong);
    }
    for character in text.chars() {
        match character {
            '\\' => return Some(PathProblem::Backslash),
            ':' => return Some(PathProblem::Colon),
            '<' | '>' | '"' | '|' | '?' | '*' => return Some(PathProblem::Wildcard),
            _ if character.is_control() || is_deceptive(character) => {
                return Some(PathProblem::Unseen);
            }
            _ => {}
        }
    }
    text.split('/').find_map(|part| match part {
        "" => Some(PathProblem::EmptyPart),
        "." | ".." => Some(PathProblem::Leads),
        _ if part.ends_with(['.', ' ']) => Some(PathProblem::TrailingDotOrBlank),
        _ if is_reserved_on_windows(part) => Some(PathProblem::Device),
        _ => None,
    })
}

/// Whether a name is a device on Windows, whatever its extension.
pub(crate) fn is_reserved_on_windows(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or(part).trim_end_matches(' ').to_ascii_lowercase();
    match stem.as_str() {
        "con" | "prn" | "aux" | "nul" | "conin$" | "conout$" | "clock$" => true,
        // The three superscript digits are digits there.
        _ => stem.strip_prefix("com").or_else(|| stem.strip_prefix("lpt")).is_some_and(|number| {
            matches!(number, "\u{b9}" | "\u{b2}" | "\u{b3}")
                || (number.len() == 1 && number.as_bytes()[0].is_ascii_digit())
        }),
    }
}

/// Upper case first: it maps `ß` and `ſ` to the letters that they fold to.
pub(crate) fn fold(text: &str) -> String {
    let upper: String = text.nfc().flat_map(char::to_uppercase).collect();
    upper.nfc().flat_map(char::to_lowercase).nfc().collect()
}

#[cfg(test)]
mod tests;
