//! The grammar of version ranges: text to comparators (GAIA §10.2). The resolver decides which
//! versions they select.

use std::fmt;

use semver::{BuildMetadata, Prerelease};

use crate::text::{shorten, visible};

/// Maximum number of comparators in a range. People write two or three; each costs the resolver
/// time.
pub const MOST_COMPARATORS: usize = 32;

/// How a version is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `==`, `=` or nothing: exactly this version.
    Exact,
    /// `!=`: every other version.
    Not,
    /// `>=`.
    AtLeast,
    /// `<=`.
    AtMost,
    /// `>`.
    Above,
    /// `<`.
    Below,
    /// `^`: up to the next incompatible version.
    Caret,
    /// `~`: the same minor version.
    Tilde,
    /// `~=` of PEP 440: the last number may increase.
    Compatible,
}

/// Longer spellings first, so that `>=` is not read as `>`.
const OPERATORS: [(&str, Operator); 11] = [
    ("==", Operator::Exact),
    (">=", Operator::AtLeast),
    ("<=", Operator::AtMost),
    ("~=", Operator::Compatible),
    ("!=", Operator::Not),
    ("^", Operator::Caret),
    ("~", Operator::Tilde),
    (">", Operator::Above),
    ("<", Operator::Below),
    ("=", Operator::Exact),
    ("", Operator::Exact),
];

/// A version of which the last numbers may be missing. Build metadata is read and dropped: it does not take part in
/// comparisons (SemVer §10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartialVersion {
    /// The first number.
    pub major: u64,
    /// The second number, if written.
    pub minor: Option<u64>,
    /// The third number, if written.
    pub patch: Option<u64>,
    /// The pre-release after the hyphen; only a full version can have one.
    pub pre: Prerelease,
}

/// One comparison of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparator {
    /// The operator.
    pub operator: Operator,
    /// The version to compare with.
    pub version: PartialVersion,
}

/// Why a text is not a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeError {
    /// The problem, beginning with the invalid part.
    pub problem: String,
    /// The range that the author probably meant.
    pub suggestion: Option<String>,
}

impl fmt::Display for RangeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem)
    }
}

impl std::error::Error for RangeError {}

/// Parses comma-separated comparators, all of which must match. An invalid text is an error and
/// never means "any version"; so is an empty one, because any version is expressed by omitting the
/// range.
pub fn parse(text: &str) -> Result<Vec<Comparator>, RangeError> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    if parts.len() > MOST_COMPARATORS {
        return Err(RangeError {
            problem: format!("{} comparators exceed the limit of {MOST_COMPARATORS}", parts.len()),
            suggestion: None,
        });
    }
    parts
        .iter()
        .map(|part| {
            comparator(part).map_err(|problem| RangeError {
                problem: format!("`{}` {problem}", shorten(&visible(part), 40)),
                suggestion: meant(&parts),
            })
        })
        .collect()
}

fn comparator(part: &str) -> Result<Comparator, &'static str> {
    let (spelling, operator) = OPERATORS
        .into_iter()
        .find(|(spelling, _)| part.starts_with(spelling))
        .expect("the last spelling is empty");
    let written = part[spelling.len()..].trim_start();
    let version = partial_version(written).ok_or_else(|| problem(part, written))?;
    if operator == Operator::Compatible && version.minor.is_none() {
        return Err("needs two numbers: `~=` lets the last one increase");
    }
    Ok(Comparator { operator, version })
}

fn partial_version(text: &str) -> Option<PartialVersion> {
    let (numbers, suffix) = text.split_at(text.find(['-', '+']).unwrap_or(text.len()));
    let mut parts = numbers.split('.').map(number);
    let major = parts.next()??;
    let minor = parts.next();
    let patch = parts.next();
    if parts.next().is_some() || minor == Some(None) || patch == Some(None) {
        return None;
    }
    let (minor, patch) = (minor.flatten(), patch.flatten());
    // `1.2-beta` could be a version before 1.2.0 or before every 1.2.x.
    if patch.is_none() && !suffix.is_empty() {
        return None;
    }
    let (pre, build) =
        suffix.split_once('+').map_or((suffix, None), |(pre, build)| (pre, Some(build)));
    let pre = match pre.strip_prefix('-') {
        Some("") => return None,
        Some(pre) => Prerelease::new(pre).ok()?,
        None => Prerelease::EMPTY,
    };
    if build.is_some_and(|build| build.is_empty() || BuildMetadata::new(build).is_err()) {
        return None;
    }
    Some(PartialVersion { major, minor, patch, pre })
}

/// SemVer §2: digits without a leading zero.
fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (digits && (text == "0" || !text.starts_with('0'))).then(|| text.parse().ok())?
}

/// Explains common mistakes from other range syntaxes.
fn problem(part: &str, written: &str) -> &'static str {
    if part.contains("||") {
        "uses `||`, but alternatives aren't supported"
    } else if matches!(part, "*" | "x" | "X" | "any" | "latest") {
        "is not a version comparison; omit the range for any version"
    } else if written.split('.').any(|number| matches!(number, "x" | "X" | "*")) {
        "has a wildcard, which isn't supported: drop that part"
    } else {
        "is not a version comparison"
    }
}

/// The range with spellings of other tools replaced, if it is then valid.
fn meant(parts: &[&str]) -> Option<String> {
    let parts: Vec<String> = parts.iter().map(|part| familiar(part)).collect::<Option<_>>()?;
    let text = parts.join(", ");
    // One part may have become several, and then there may be too many.
    (text.split(',').count() <= MOST_COMPARATORS).then_some(text)
}

fn familiar(part: &str) -> Option<String> {
    if comparator(part).is_ok() {
        return Some(part.to_owned());
    }
    if let Some((low, high)) = part.split_once(" - ") {
        let (low, high) = (format!(">={}", low.trim()), format!("<={}", high.trim()));
        return (comparator(&low).is_ok() && comparator(&high).is_ok())
            .then(|| format!("{low}, {high}"));
    }
    let words: Vec<&str> = part.split_whitespace().collect();
    if words.len() > 1 && words.iter().all(|word| comparator(word).is_ok()) {
        return Some(words.join(", "));
    }
    let at = part.find(|character| !matches!(character, '<' | '>' | '=' | '!' | '~' | '^' | ' '));
    let (operator, version) = part.split_at(at?);
    let operator = match operator.trim() {
        "=>" => ">=",
        "=<" => "<=",
        "===" => "==",
        "~>" => "~",
        other => other,
    };
    let version = version.trim_start_matches(['v', 'V']);
    let version = version.trim_end_matches(".x").trim_end_matches(".*").trim_end_matches(".X");
    let version = match (operator, version.split_once('-')) {
        ("~=", None) if !version.contains('.') => format!("{version}.0"),
        (_, Some((numbers, pre))) if !numbers.contains('.') => format!("{numbers}.0.0-{pre}"),
        (_, Some((numbers, pre))) if numbers.matches('.').count() == 1 => {
            format!("{numbers}.0-{pre}")
        }
        _ => version.to_owned(),
    };
    let meant = format!("{operator}{version}");
    comparator(&meant).is_ok().then_some(meant)
}

#[cfg(test)]
mod tests;
