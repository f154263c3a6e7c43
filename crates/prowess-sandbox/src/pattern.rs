//! Path patterns below a granted folder: `*` and `?` match characters of one name, `**` any number
//! of folders, `{a,b}` either.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Maximum depth below a granted folder.
pub(crate) const MAX_DEPTH: usize = 64;

/// The patterns of a granted folder.
#[derive(Clone, Debug)]
pub(crate) struct Patterns {
    set: GlobSet,
    /// The maximum depth of a match below the granted folder.
    depth: usize,
    /// The folders of each pattern before its first wildcard.
    starts: Vec<Vec<String>>,
}

impl Patterns {
    /// Creates the union of patterns, each relative to its own folder.
    pub(crate) fn new<'p>(
        patterns: impl IntoIterator<Item = (&'p Path, &'p str)>,
    ) -> Result<Self, String> {
        let mut set = GlobSetBuilder::new();
        let mut depth = 0;
        let mut starts = Vec::new();
        for (folder, pattern) in patterns {
            check(pattern)?;
            let Some(prefix) = folder.to_str() else {
                return Err("its path is not valid UTF-8, which a pattern requires".to_owned());
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
            let own = folder.iter().map(|part| part.to_string_lossy().into_owned());
            let named = pattern.split('/').take_while(|part| !part.contains(['*', '?', '{']));
            starts.push(own.chain(named.map(str::to_owned)).collect());
            depth = depth.max(if pattern.contains("**") {
                MAX_DEPTH
            } else {
                folder.components().count() + pattern.matches('/').count()
            });
        }
        Ok(Self { set: set.build().map_err(|error| error.to_string())?, depth, starts })
    }

    /// Whether a path, relative to the granted folder, matches.
    pub(crate) fn matches(&self, relative: &Path) -> bool {
        self.set.is_match(relative)
    }

    /// Whether something in a folder, relative to the granted one, could match. May return true in
    /// vain, but never false wrongly.
    pub(crate) fn may_match_in(&self, folder: &Path) -> bool {
        // `new/**` need not scan the rest of a large project.
        let on_the_way = |start: &Vec<String>| {
            folder.iter().zip(start).all(|(part, named)| part == named.as_str())
        };
        folder.components().count() <= self.depth && self.starts.iter().any(on_the_way)
    }
}

/// Converts the pattern to an extended regular expression without anchors.
pub(crate) fn to_regex(pattern: &str) -> Result<String, String> {
    check(pattern)?;
    let mut regex = String::new();
    let mut rest = pattern;
    let mut depth = 0_usize;
    while let Some(character) = rest.chars().next() {
        let at_part = regex.is_empty() || regex.ends_with('/') || regex.ends_with("/)?");
        let mut taken = character.len_utf8();
        match character {
            '*' if at_part && rest.starts_with("**/") => {
                taken = 3;
                regex.push_str("(.*/)?");
            }
            '*' if at_part && rest == "**" => {
                taken = 2;
                regex.push_str(".+");
            }
            '*' if rest.starts_with("**") => {
                return Err(format!("in its pattern `{pattern}` the `**` is not a whole part"));
            }
            '*' => regex.push_str("[^/]*"),
            '?' => regex.push_str("[^/]"),
            '{' => {
                depth += 1;
                regex.push('(');
            }
            '}' if depth > 0 => {
                depth -= 1;
                regex.push(')');
            }
            ',' if depth > 0 => regex.push('|'),
            other => push_literal(&mut regex, other),
        }
        rest = &rest[taken..];
    }
    if depth > 0 {
        Err(format!("the braces of its pattern `{pattern}` are not closed"))
    } else {
        Ok(regex)
    }
}

/// Escapes text for a regular expression.
pub(crate) fn escape_regex(text: &str) -> String {
    let mut regex = String::new();
    text.chars().for_each(|character| push_literal(&mut regex, character));
    regex
}

fn push_literal(regex: &mut String, character: char) {
    if matches!(
        character,
        '.' | '^' | '$' | '+' | '*' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '\\'
    ) {
        regex.push('\\');
    }
    regex.push(character);
}

/// Rejects patterns that a reader of a grant could misunderstand.
pub(crate) fn check(pattern: &str) -> Result<(), String> {
    if pattern.is_empty() {
        return Err("its pattern is empty".to_owned());
    }
    let odd = pattern
        .chars()
        .find(|character| matches!(character, '[' | ']' | '\\') || character.is_control());
    if let Some(odd) = odd {
        return Err(format!("its pattern contains {odd:?}, which is not supported"));
    }
    for part in pattern.split('/') {
        match part {
            "" | "." | ".." => {
                return Err(format!("its pattern `{pattern}` contains an empty, `.` or `..` part"));
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
