//! What the engine concludes about language models: whether one meets a skill's requirements, and whether an answer was cut.

mod requirements;
mod truncation;

pub use requirements::unmet;
pub use truncation::looks_truncated;
