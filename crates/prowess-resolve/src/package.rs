//! The identity of a skill: its name and its source.

use std::fmt;
use std::sync::Arc;

use prowess_format::text::visible;

/// A skill of one source.
///
/// The source is part of the identity (attack registry-A9): a skill of the same name in another
/// registry is a different package and never replaces this one.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Package {
    // By name first, for sorting.
    name: Arc<str>,
    source: Arc<str>,
}

impl Package {
    /// Creates a package. Both parts are compared exactly, so the caller normalises them first.
    pub fn new(source: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), source: source.into() }
    }

    /// The name within the source.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where the skill comes from.
    pub fn source(&self) -> &str {
        &self.source
    }
}

/// Shows the name only: nearly always all packages have the same source.
impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&visible(&self.name))
    }
}

impl fmt::Debug for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from {}", visible(&self.name), visible(&self.source))
    }
}
