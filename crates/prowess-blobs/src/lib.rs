//! Objects in a bucket of an S3-compatible storage, with bounds on sizes and times.
//!
//! It knows nothing of skills: callers name objects and decide what they mean. Requests go through the one HTTP client of the
//! project, so certificates and time limits are the same as everywhere.

mod bucket;
mod connector;
mod error;
mod url;

pub use bucket::{Bucket, BucketSettings, CreateResult, ObjectInfo};
pub use error::BucketError;
pub use url::{BucketUrl, BucketUrlError};
