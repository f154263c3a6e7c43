//! Paths and patterns of paths in `filesystem` grants (GAIA §3.2, SRT §4.7, R54).
//!
//! `*` and `?` match characters of one name, `**` any number of folders. A path without wildcards
//! means that file, or that folder with everything below it, because that is the effect of mounting
//! it.

use std::fmt;

use crate::protected_places::{Protected, SECRET_PLACES, WITHOUT_SECRETS};
use crate::spec::is_named;

/// Maximum length of a pattern in bytes: the longest path that Linux accepts.
const MAX_BYTES: usize = 4096;
/// Maximum number of patterns that braces may expand to.
const MAX_ALTERNATIVES: usize = 64;

/// Where a path begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PathRoot {
    /// `~`: the user's home.
    Home,
    /// `./`: the run's working directory (R54).
    Working,
    /// `/`.
    Absolute,
}

/// A checked pattern of paths.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PathPattern {
    root: PathRoot,
    parts: Vec<String>,
}

/// A concrete path, for checking whether a rule matches it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RootedPath {
    /// Where it begins.
    pub root: PathRoot,
    /// Its components in order; never `.` or `..`.
    pub parts: Vec<String>,
}

/// Why a text is not a path pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Empty.
    #[error("the path is empty")]
    Empty,
    /// Longer than a path can be.
    #[error("the path is longer than {MAX_BYTES} bytes")]
    TooLong,
    /// A control character, NUL included.
    #[error("the path contains a control character")]
    ControlCharacter,
    /// `..` would leave the folder that the grant shows.
    #[error("`{0}` contains `..`: write the resolved path")]
    Climbs(String),
    /// `~name`.
    #[error("`{0}` names another user's home directory: only `~/` is supported")]
    OtherHome(String),
    /// `$HOME/x`.
    #[error("`{0}` begins with a variable: write `~/` or `./`")]
    Variable(String),
    /// `C:\x` or a backslash elsewhere.
    #[error("`{0}` contains a backslash: use `/` as the separator")]
    Backslash(String),
    /// `[a-z]`, `!x`.
    #[error(
        "`{0}` contains `{1}`, which is not supported in a path: use `*`, `?`, `**` or `{{a,b}}`"
    )]
    UnknownWildcard(String, char),
    /// `a**b`.
    #[error("`{0}` contains `**` next to other characters: it only matches whole folders")]
    PartialDoubleStar(String),
    /// `{a,b` or far too many alternatives.
    #[error(
        "the braces in `{0}` are not closed, are nested, or expand to more than {MAX_ALTERNATIVES} paths"
    )]
    Braces(String),
}

/// The location of secrets that a path is in, if any.
///
/// Below `./` only those that can be anywhere count, such as `.env`: a project has its own
/// `.npmrc`. In a run in the home directory `./` is treated as `~/`, see [`PathPattern::in_home`].
pub fn secret_place(root: PathRoot, parts: &[String]) -> Option<&'static str> {
    let is_there = |protected: Protected| match protected {
        // Not looked at in a working directory, whose files are asked about by the thousand.
        Protected::BelowHome(_) if root == PathRoot::Working => false,
        Protected::BelowHome(place) => {
            let wanted: Vec<&str> = place.split('/').collect();
            parts.windows(wanted.len()).any(|window| window.iter().eq(wanted.iter()))
        }
        Protected::AnyDepth(name) => parts
            .iter()
            .any(|part| is_named(part, name) && !WITHOUT_SECRETS.contains(&part.as_str())),
        Protected::Machine(place) => {
            let mut names = parts.iter();
            let mut wanted = place.split('/').skip(1);
            root == PathRoot::Absolute
                && wanted.all(|wanted| names.next().is_some_and(|it| it == wanted))
        }
    };
    let place = SECRET_PLACES.iter().find(|place| is_there(place.protected));
    place.map(|place| place.protected.as_str())
}

impl PathPattern {
    /// Parses the patterns of a scope; braces expand to several.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, PathError> {
        let text = text.trim();
        if text.len() > MAX_BYTES {
            return Err(PathError::TooLong);
        }
        alternatives(text)?.iter().map(|text| Self::parse(text)).collect()
    }

    /// Parses a pattern without braces.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        if text.len() > MAX_BYTES {
            return Err(PathError::TooLong);
        }
        if text.chars().any(char::is_control) {
            return Err(PathError::ControlCharacter);
        }
        if text.contains('\\') {
            return Err(PathError::Backslash(text.to_owned()));
        }
        if text.starts_with('$') {
            return Err(PathError::Variable(text.to_owned()));
        }
        let unknown = text
            .chars()
            .find(|character| matches!(character, '[' | ']' | '{' | '}'))
            .or_else(|| text.starts_with('!').then_some('!'));
        if let Some(character) = unknown {
            return Err(PathError::UnknownWildcard(text.to_owned(), character));
        }
        let (root, rest) = match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => (PathRoot::Home, rest),
            Some(_) => return Err(PathError::OtherHome(text.to_owned())),
            None if text.starts_with('/') => (PathRoot::Absolute, text),
            None => (PathRoot::Working, text),
        };
        let mut parts: Vec<String> = Vec::new();
        for part in rest.split('/') {
            match part {
                "" | "." => {}
                ".." => return Err(PathError::Climbs(text.to_owned())),
                // Repeating it has no effect.
                "**" if parts.last().is_some_and(|last| last == "**") => {}
                "**" => parts.push(part.to_owned()),
                _ if part.contains("**") => {
                    return Err(PathError::PartialDoubleStar(text.to_owned()));
                }
                _ => parts.push(part.to_owned()),
            }
        }
        // `./data/` means the folder and its content.
        if rest.ends_with('/') && !parts.is_empty() && parts.last().is_some_and(|last| last != "**")
        {
            parts.push("**".to_owned());
        }
        Ok(Self { root, parts })
    }

    /// The working directory and everything below it.
    pub fn working_directory() -> Self {
        Self { root: PathRoot::Working, parts: vec!["**".to_owned()] }
    }

    /// The pattern in a run whose working directory is the home directory: `./` becomes `~/`.
    #[must_use]
    pub fn in_home(&self) -> Self {
        let root = match self.root {
            PathRoot::Working | PathRoot::Home => PathRoot::Home,
            PathRoot::Absolute => PathRoot::Absolute,
        };
        Self { root, parts: self.parts.clone() }
    }

    /// The pattern below a folder, for one that is relative to it; `None` if a name of the folder
    /// would be read as a wildcard.
    pub(crate) fn below(&self, folder: &RootedPath) -> Option<Self> {
        if folder.parts.iter().any(|part| is_wild(part)) {
            return None;
        }
        let parts = folder.parts.iter().chain(&self.parts).cloned().collect();
        Some(Self { root: folder.root, parts })
    }

    /// Where it begins.
    pub fn root(&self) -> PathRoot {
        self.root
    }

    /// Its components in order, including wildcards.
    pub fn parts(&self) -> &[String] {
        &self.parts
    }

    /// The components before the first wildcard.
    pub fn literal_prefix(&self) -> &[String] {
        let end = self.parts.iter().position(|part| is_wild(part)).unwrap_or(self.parts.len());
        &self.parts[..end]
    }

    /// Whether it is one file, or one folder with everything below:
    /// [`literal_prefix`](Self::literal_prefix) then describes it completely.
    pub fn is_tree(&self) -> bool {
        let rest = &self.parts[self.literal_prefix().len()..];
        rest.is_empty() || rest == ["**"]
    }

    /// Whether it is the whole machine: `/` or `/**`.
    pub fn is_everything(&self) -> bool {
        self.root == PathRoot::Absolute && self.is_tree() && self.literal_prefix().is_empty()
    }

    /// Whether it covers too much to review: a whole home directory, or a top-level folder of the
    /// machine.
    pub fn is_broad(&self) -> bool {
        let wild = self.literal_prefix().len() < self.parts.len() || self.parts.is_empty();
        match self.root {
            PathRoot::Home => self.literal_prefix().is_empty(),
            PathRoot::Absolute => {
                self.literal_prefix().is_empty() || (self.literal_prefix().len() == 1 && wild)
            }
            PathRoot::Working => false,
        }
    }

    /// The location of secrets that it names, if any.
    pub fn named_secret(&self) -> Option<&'static str> {
        secret_place(self.root, &self.parts)
    }

    /// Whether a path matches the pattern. Locations of secrets are not special here.
    pub fn matches(&self, path: &RootedPath) -> bool {
        self.root == path.root && parts_cover(&self.full_parts(), &path.parts)
    }

    /// Whether this pattern contains every path of `other`. Conservative: it may return false for a
    /// complex case.
    pub fn covers(&self, other: &PathPattern) -> bool {
        self.root == other.root && parts_cover(&self.full_parts(), &other.full_parts())
    }

    /// The parts with the `**` that a path without wildcards implies.
    fn full_parts(&self) -> Vec<String> {
        let mut parts = self.parts.clone();
        if !parts.iter().any(|part| is_wild(part)) {
            parts.push("**".to_owned());
        }
        parts
    }
}

impl fmt::Display for PathPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let start = match self.root {
            PathRoot::Home => "~",
            PathRoot::Working => ".",
            PathRoot::Absolute if self.parts.is_empty() => "/",
            PathRoot::Absolute => "",
        };
        f.write_str(start)?;
        self.parts.iter().try_for_each(|part| write!(f, "/{part}"))
    }
}

impl RootedPath {
    /// Parses a path such as `~/.ssh/config`, `./data/a.csv` or `/etc/hosts`; `..` is rejected.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let (root, rest) = match text.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => (PathRoot::Home, rest),
            _ if text.starts_with('/') => (PathRoot::Absolute, text),
            _ => (PathRoot::Working, text),
        };
        let parts = rest.split('/').filter(|part| !part.is_empty() && *part != ".");
        let parts: Vec<String> = parts.map(str::to_owned).collect();
        if parts.iter().any(|part| part == "..") {
            return Err(PathError::Climbs(text.to_owned()));
        }
        Ok(Self { root, parts })
    }
}

fn is_wild(part: &str) -> bool {
    part.contains(['*', '?'])
}

/// Whether the paths that `outer` matches include all that `inner` matches.
fn parts_cover(outer: &[String], inner: &[String]) -> bool {
    // Dynamic programming with one row per part of `outer`: never more than outer × inner steps.
    let mut reachable = vec![false; inner.len() + 1];
    reachable[0] = true;
    for part in outer {
        let mut next = vec![false; inner.len() + 1];
        if part == "**" {
            let mut open = false;
            for at in 0..=inner.len() {
                open |= reachable[at];
                next[at] = open;
            }
        } else {
            for at in 0..inner.len() {
                next[at + 1] = reachable[at] && inner[at] != "**" && name_covers(part, &inner[at]);
            }
        }
        reachable = next;
    }
    reachable[inner.len()]
}

/// Whether the names that `outer` matches include all that `inner` matches: a wildcard of `inner`
/// is only covered by one that is at least as wide.
fn name_covers(outer: &str, inner: &str) -> bool {
    let inner: Vec<char> = inner.chars().collect();
    let mut reachable = vec![false; inner.len() + 1];
    reachable[0] = true;
    for wanted in outer.chars() {
        let mut next = vec![false; inner.len() + 1];
        if wanted == '*' {
            let mut open = false;
            for at in 0..=inner.len() {
                open |= reachable[at];
                next[at] = open;
            }
        } else {
            for (at, &character) in inner.iter().enumerate() {
                let fits = if wanted == '?' { character != '*' } else { character == wanted };
                next[at + 1] = reachable[at] && fits;
            }
        }
        reachable = next;
    }
    reachable[inner.len()]
}

/// Expands braces: `{a,b}.csv` becomes `a.csv` and `b.csv`.
fn alternatives(text: &str) -> Result<Vec<String>, PathError> {
    let error = || PathError::Braces(text.to_owned());
    let mut done = vec![String::new()];
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let close = rest[open..].find('}').ok_or_else(error)? + open;
        let (before, choices) = (&rest[..open], &rest[open + 1..close]);
        if choices.contains('{') || before.contains('}') {
            return Err(error());
        }
        let choices: Vec<&str> = choices.split(',').collect();
        if done.len() * choices.len() > MAX_ALTERNATIVES {
            return Err(error());
        }
        done = done
            .iter()
            .flat_map(|start| choices.iter().map(move |choice| format!("{start}{before}{choice}")))
            .collect();
        rest = &rest[close + 1..];
    }
    if rest.contains('}') {
        return Err(error());
    }
    for start in &mut done {
        start.push_str(rest);
    }
    Ok(done)
}
