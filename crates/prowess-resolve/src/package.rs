//! Which skill is meant: a name together with the place it comes from.

use std::fmt;
use std::sync::Arc;

use prowess_format::text::visible;

/// A skill of one source.
///
/// The source is a part of the identity (attack registry-A9): a skill of the same name in another registry is another package, and
/// no version of it ever stands in for this one.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Package {
    // By name first, which is the order in which people look for things.
    name: Arc<str>,
    source: Arc<str>,
}

impl Package {
    /// The skill of this name from this source. Both are compared letter for letter, so whoever makes them brings them into
    /// one spelling first.
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

/// The name only: nearly always all are from one source.
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
