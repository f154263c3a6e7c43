//! Patterns of paths below a granted folder: `*` and `?` stand for characters of one name, `**` for any number of folders,
//! `{a,b}` for either.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// The most folders below a granted one that are looked into.
pub(crate) const MOST_DEPTH: usize = 64;

/// What a granted folder shows or keeps.
#[derive(Clone, Debug)]
pub(crate) struct Patterns {
    set: GlobSet,
    /// How many folders below the granted one a match can lie.
    depth: usize,
}

impl Patterns {
    /// The union of patterns, each below a folder of its own, or what is wrong with one of them.
    pub(crate) fn new<'p>(
        patterns: impl IntoIterator<Item = (&'p Path, &'p str)>,
    ) -> Result<Self, String> {
        let mut set = GlobSetBuilder::new();
        let mut depth = 0;
        for (folder, pattern) in patterns {
            check(pattern)?;
            let Some(prefix) = folder.to_str() else {
                return Err("its path is no text, which a pattern needs".to_owned());
            };
            let whole = if prefix.is_empty() {
                pattern.to_owned()
            } else {
                format!("{}/{pattern}", globset::escape(prefix))
            };
            let glob = GlobBuilder::new(&whole)
                .literal_separator(true)
                .backslash_escape(false)
                .empty_alternates(true)
                .build()
                .map_err(|error| error.to_string())?;
            set.add(glob);
            depth = depth.max(if pattern.contains("**") {
                MOST_DEPTH
            } else {
                folder.components().count() + pattern.matches('/').count()
            });
        }
        Ok(Self { set: set.build().map_err(|error| error.to_string())?, depth })
    }

    /// Whether a path, relative to the granted folder, matches.
    pub(crate) fn matches(&self, relative: &Path) -> bool {
        self.set.is_match(relative)
    }

    /// Whether something in a folder, relative to the granted one, could match. A yes may be wrong, a no never is.
    pub(crate) fn reach_into(&self, folder: &Path) -> bool {
        folder.components().count() <= self.depth
    }
}

/// Refuses what would mean something else to the reader of a grant than to the matcher.
pub(crate) fn check(pattern: &str) -> Result<(), String> {
    if pattern.is_empty() {
        return Err("its pattern is empty".to_owned());
    }
    let odd = pattern
        .chars()
        .find(|character| matches!(character, '[' | ']' | '\\') || character.is_control());
    if let Some(odd) = odd {
        return Err(format!("its pattern holds {odd:?}, which is not understood"));
    }
    for part in pattern.split('/') {
        match part {
            "" | "." | ".." => {
                return Err(format!("its pattern `{pattern}` does not go straight down"));
            }
            "**" => {}
            part if part.contains("**") => {
                return Err(format!("in its pattern `{pattern}` the `**` is not a whole part"));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
