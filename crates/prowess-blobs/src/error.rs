//! Why an object can't be read or stored.

use std::time::Duration;

/// The longest text of a storage that a message repeats.
const MAX_TEXT: usize = 300;

/// A failed operation on a bucket.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BucketError {
    /// The settings of the bucket are incomplete or refused.
    #[error("the settings of the bucket are not valid: {0}")]
    Settings(String),
    /// There is no such object.
    #[error("there is no object `{0}` in the bucket")]
    Missing(String),
    /// The object is larger than the caller reads.
    #[error("the object `{key}` has {size} bytes; at most {limit} are read")]
    TooLarge {
        /// Its key.
        key: String,
        /// Its size.
        size: u64,
        /// The limit.
        limit: u64,
    },
    /// The storage refuses the credentials.
    #[error("the storage refuses the credentials: {0}")]
    Refused(String),
    /// The storage did not answer in time.
    #[error("the storage did not answer within {} seconds", .0.as_secs())]
    Timeout(Duration),
    /// Everything else.
    #[error("{0}")]
    Failed(String),
}

impl BucketError {
    /// The error of the library, for an object.
    pub(crate) fn of(key: &str, error: &object_store::Error) -> Self {
        use object_store::Error;
        match error {
            Error::NotFound { .. } => Self::Missing(key.to_owned()),
            Error::PermissionDenied { source, .. } | Error::Unauthenticated { source, .. } => {
                Self::Refused(bounded(&source.to_string()))
            }
            other => Self::Failed(bounded(&other.to_string())),
        }
    }
}

/// One line of a bounded length: storages answer with pages of XML.
fn bounded(text: &str) -> String {
    let line: String =
        text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    match line.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
