//! Checks of language models: whether one meets a skill's requirements, and whether a conversation was truncated.

mod requirements;
mod truncation;

pub use requirements::{unmet, unmet_by};
pub use truncation::looks_truncated;
