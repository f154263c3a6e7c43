//! The address of a bucket: `s3://BUCKET[/PREFIX]`.

use std::fmt;
use std::str::FromStr;

/// Lengths of bucket names (S3, "Bucket naming rules").
const BUCKET_LENGTHS: std::ops::RangeInclusive<usize> = 3..=63;
/// The longest prefix. Keys have at most 1,024 bytes, and ours need room.
const MAX_PREFIX: usize = 512;

/// A bucket, and the prefix of the keys in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BucketUrl {
    /// The name of the bucket.
    pub bucket: String,
    /// The prefix without slashes at its ends; empty for none.
    pub prefix: String,
}

/// A text that is not the address of a bucket.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not the address of a bucket, expected one such as `s3://skills` or `s3://skills/registry`"
)]
pub struct BucketUrlError(String);

impl FromStr for BucketUrl {
    type Err = BucketUrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let invalid = || BucketUrlError(text.chars().take(200).collect());
        let rest = text.strip_prefix("s3://").ok_or_else(invalid)?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        if !is_bucket(bucket) || !(prefix.is_empty() || is_prefix(prefix)) {
            return Err(invalid());
        }
        Ok(Self { bucket: bucket.to_owned(), prefix: prefix.to_owned() })
    }
}

impl fmt::Display for BucketUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "s3://{}", self.bucket)?;
        if self.prefix.is_empty() { Ok(()) } else { write!(formatter, "/{}", self.prefix) }
    }
}

fn is_bucket(name: &str) -> bool {
    let is_end = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    BUCKET_LENGTHS.contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte))
        && is_end(name.as_bytes().first())
        && is_end(name.as_bytes().last())
        && !name.contains("..")
}

/// Characters that need no escaping anywhere, so that a key is the same text in every tool.
fn is_prefix(prefix: &str) -> bool {
    let is_part = |part: &str| {
        !matches!(part, "" | "." | "..")
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    prefix.len() <= MAX_PREFIX && prefix.split('/').all(is_part)
}
