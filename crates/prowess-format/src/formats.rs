//! Named text formats: a check for the reader and an equivalent pattern for the schema.

use crate::permission::Permission;
use crate::range;
use crate::shape::TextFormat;
use crate::text::{shorten, slug};

/// `[a-z0-9]+(-[a-z0-9]+)*`, at most 64 (R2).
pub static NAME: TextFormat = TextFormat {
    title: "a name of lower-case letters, digits and single hyphens",
    pattern: "^[a-z0-9]+(-[a-z0-9]+)*$",
    most: 64,
    plain: &["integer", "boolean"],
    check: check_name,
};

/// A kebab-case name with lower-case letters of every script, as the open standard allows.
///
/// Not every validator knows classes of Unicode (`\p{…}`), so the pattern lists what is excluded, in the scripts that have capital
/// letters and among common punctuation and symbols; the reader is exact.
pub static UNICODE_NAME: TextFormat = TextFormat {
    title: "a name of lower-case letters, digits and single hyphens",
    pattern: "^[^\\u0000-/:-`{-\\u00a9\\u00ab-\\u00b1\\u00b4\\u00b6-\\u00b8\\u00bb\\u00bf-\\u00de\\u00f7\\u0300-\\u036f\\u0386-\\u038f\\u0391-\\u03ab\\u0400-\\u042f\\u2000-\\u206f\\u20a0-\\u20cf\\u2190-\\u23ff\\u2500-\\u2775\\u2794-\\u2bff\\u3000-\\u3004\\u3008-\\u3020\\ufe00-\\ufe6f\\ufeff-\\uff0f\\uff1a-\\uff40\\uff5b-\\uff65]+(-[^\\u0000-/:-`{-\\u00a9\\u00ab-\\u00b1\\u00b4\\u00b6-\\u00b8\\u00bb\\u00bf-\\u00de\\u00f7\\u0300-\\u036f\\u0386-\\u038f\\u0391-\\u03ab\\u0400-\\u042f\\u2000-\\u206f\\u20a0-\\u20cf\\u2190-\\u23ff\\u2500-\\u2775\\u2794-\\u2bff\\u3000-\\u3004\\u3008-\\u3020\\ufe00-\\ufe6f\\ufeff-\\uff0f\\uff1a-\\uff40\\uff5b-\\uff65]+)*$",
    most: 64,
    plain: &["integer", "boolean"],
    check: check_unicode_name,
};

/// A name by GAIA §2.3, or in the canonical form, which may begin with a digit (R2).
pub static GAIA_NAME: TextFormat = TextFormat {
    title: "a name of lower-case letters, digits and hyphens",
    pattern: "^([a-z][a-z0-9-]*|[a-z0-9]+(-[a-z0-9]+)*)$",
    most: 64,
    plain: &["integer", "boolean"],
    check: check_gaia_name,
};

/// `^[a-z0-9][a-z0-9._-]*$`, at most 128 (SRT's schema).
pub static DOTTED_NAME: TextFormat = TextFormat {
    title: "a name of lower-case letters, digits, `.`, `_` and `-`",
    pattern: "^[a-z0-9][a-z0-9._-]*$",
    most: 128,
    plain: &["number", "boolean"],
    check: check_dotted,
};

/// A tool pack's name: ASCII letters, digits and underscores.
pub static TOOL_PACK_NAME: TextFormat = TextFormat {
    title: "a tool name of letters, digits and underscores",
    pattern: "^[A-Za-z0-9_]+$",
    most: usize::MAX,
    plain: &[],
    check: check_tool_pack_name,
};

/// SemVer 2.0.0.
pub static VERSION: TextFormat = TextFormat {
    title: "a SemVer version such as `1.0.0`",
    pattern: "^(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)(-(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\\+[0-9a-zA-Z-]+(\\.[0-9a-zA-Z-]+)*)?$",
    most: usize::MAX,
    plain: &[],
    check: check_version,
};

/// An absolute URL.
pub static URL: TextFormat = TextFormat {
    title: "a URL such as `https://example.com`",
    pattern: "^[a-zA-Z][a-zA-Z0-9+.-]*://[^\\s/?#]+",
    most: usize::MAX,
    plain: &[],
    check: check_url,
};

/// A permission (GAIA §3).
pub static PERMISSION: TextFormat = TextFormat {
    title: "a permission",
    pattern: "^((filesystem|network|database):(read|write)(:.*\\S.*)?|(filesystem|network|database|shell|desktop|mcp|env):none|shell:execute(:.*\\S.*)?|desktop:control(:.*\\S.*)?|mcp:connect(:.*\\S.*)?|env:read(:.*\\S.*)?)$",
    most: usize::MAX,
    plain: &[],
    check: check_permission,
};

/// A range of versions (GAIA §10.2).
pub static RANGE: TextFormat = TextFormat {
    title: "a version range such as `>=1.0.0`",
    pattern: "^\\s*((>=|<=|==|!=|>|<|\\^|~|=)?\\s*(0|[1-9][0-9]*)(\\.(0|[1-9][0-9]*)(\\.(0|[1-9][0-9]*)(-(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\\+[0-9a-zA-Z-]+(\\.[0-9a-zA-Z-]+)*)?)?)?|~=\\s*(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)(\\.(0|[1-9][0-9]*)(-(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\\+[0-9a-zA-Z-]+(\\.[0-9a-zA-Z-]+)*)?)?)\\s*(,\\s*((>=|<=|==|!=|>|<|\\^|~|=)?\\s*(0|[1-9][0-9]*)(\\.(0|[1-9][0-9]*)(\\.(0|[1-9][0-9]*)(-(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\\+[0-9a-zA-Z-]+(\\.[0-9a-zA-Z-]+)*)?)?)?|~=\\s*(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)(\\.(0|[1-9][0-9]*)(-(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\\+[0-9a-zA-Z-]+(\\.[0-9a-zA-Z-]+)*)?)?)\\s*)*$",
    most: usize::MAX,
    plain: &["number"],
    check: check_range,
};

/// A minimum size such as `>=7B` or `>=8K` (GAIA §2.1).
pub static SIZE: TextFormat = TextFormat {
    title: "a minimum size such as `>=7B`",
    pattern: "^\\s*(>=|>|==|=)?\\s*[0-9]+(\\.[0-9]+)?\\s*([kKmMbBtT]|[gGmM]i?[bB])?\\s*$",
    most: usize::MAX,
    plain: &["number"],
    check: check_size,
};

/// The name of an environment variable.
pub static VARIABLE: TextFormat = TextFormat {
    title: "the name of an environment variable",
    pattern: "^[A-Za-z_][A-Za-z0-9_]*$",
    most: usize::MAX,
    plain: &["boolean"],
    check: check_variable,
};

/// A tag of 1 to 50 characters (SKL layer 3).
pub static TAG: TextFormat = TextFormat {
    title: "a tag of 1 to 50 characters",
    pattern: "\\S",
    most: 50,
    plain: &["number", "boolean"],
    check: check_tag,
};

/// 1 to 20 tags in one text, separated by commas (SKL layer 3).
pub static TAG_LIST: TextFormat = TextFormat {
    title: "1 to 20 tags of 1 to 50 characters",
    pattern: "^[\\s,]*[^\\s,]([^,]{0,48}[^\\s,])?(\\s*,[\\s,]*[^\\s,]([^,]{0,48}[^\\s,])?){0,19}[\\s,]*$",
    most: usize::MAX,
    plain: &["number", "boolean"],
    check: check_tag_list,
};

/// `name@range` (SRT §4.6).
pub static DEPENDENCY: TextFormat = TextFormat {
    title: "a dependency such as `name@>=1.0.0`",
    pattern: "^@?[a-z0-9][a-z0-9._/-]*(@\\s*((>=|<=|==|!=|>|<|\\^|~|=)?\\s*(0|[1-9][0-9]*)(\\.(0|[1-9][0-9]*)(\\.(0|[1-9][0-9]*)(-(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\\+[0-9a-zA-Z-]+(\\.[0-9a-zA-Z-]+)*)?)?)?|~=\\s*(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)(\\.(0|[1-9][0-9]*)(-(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\\+[0-9a-zA-Z-]+(\\.[0-9a-zA-Z-]+)*)?)?)\\s*(,\\s*((>=|<=|==|!=|>|<|\\^|~|=)?\\s*(0|[1-9][0-9]*)(\\.(0|[1-9][0-9]*)(\\.(0|[1-9][0-9]*)(-(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\\+[0-9a-zA-Z-]+(\\.[0-9a-zA-Z-]+)*)?)?)?|~=\\s*(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)(\\.(0|[1-9][0-9]*)(-(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*)(\\.(0|[1-9][0-9]*|[0-9]*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\\+[0-9a-zA-Z-]+(\\.[0-9a-zA-Z-]+)*)?)?)\\s*)*)?$",
    most: usize::MAX,
    plain: &["number", "boolean"],
    check: check_dependency,
};

/// Checks a kebab-case name; each rule has its own message (AFL-4-1, GIB-1.2-3).
pub fn check_name(name: &str) -> Result<(), String> {
    kebab(name, 64, |character| character.is_ascii_lowercase() || character.is_ascii_digit())
}

pub(crate) fn check_unicode_name(name: &str) -> Result<(), String> {
    kebab(name, 64, |character| {
        character.is_alphanumeric()
            && !character.is_uppercase()
            && character.to_lowercase().eq([character])
    })
}

fn kebab(name: &str, most: usize, allowed: impl Fn(char) -> bool) -> Result<(), String> {
    if name.is_empty() {
        return Err("it is empty".to_owned());
    }
    // Fast path: nearly every name is plain, and this runs for every file.
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let is_plain = name.bytes().all(plain);
    if !is_plain && name.chars().any(char::is_uppercase) {
        return Err("it contains upper-case letters".to_owned());
    }
    if !is_plain
        && let Some(character) =
            name.chars().find(|character| *character != '-' && !allowed(*character))
    {
        return Err(format!("it contains {}", shown(character)));
    }
    if name.starts_with('-') {
        return Err("it starts with a hyphen".to_owned());
    }
    if name.ends_with('-') {
        return Err("it ends with a hyphen".to_owned());
    }
    if name.contains("--") {
        return Err("it contains two hyphens in a row".to_owned());
    }
    let length = name.chars().count();
    if length > most {
        return Err(format!("it has {length} characters, at most {most} are allowed"));
    }
    Ok(())
}

fn shown(character: char) -> String {
    match character {
        ' ' => "a space".to_owned(),
        _ if character.is_control() || crate::text::is_deceptive(character) => {
            format!("the character {}", character.escape_unicode())
        }
        _ => format!("`{character}`"),
    }
}

fn check_gaia_name(name: &str) -> Result<(), String> {
    check_name(name).or_else(|_| check_letter_first(name))
}

pub(crate) fn check_letter_first(name: &str) -> Result<(), String> {
    match name.chars().next() {
        None => return Err("it is empty".to_owned()),
        Some(first) if first.is_ascii_digit() || first == '-' => {
            return Err(format!("it begins with `{first}`, not with a letter"));
        }
        Some(_) => {}
    }
    if name.chars().any(char::is_uppercase) {
        return Err("it contains upper-case letters".to_owned());
    }
    if let Some(character) = name.chars().find(|character| {
        !(character.is_ascii_lowercase() || character.is_ascii_digit() || *character == '-')
    }) {
        return Err(format!("it contains {}", shown(character)));
    }
    let length = name.chars().count();
    if length > 64 {
        Err(format!("it has {length} characters, at most 64 are allowed"))
    } else {
        Ok(())
    }
}

pub(crate) fn check_dotted(name: &str) -> Result<(), String> {
    let first = name.chars().next().ok_or("it is empty")?;
    if name.chars().any(char::is_uppercase) {
        return Err("it contains upper-case letters".to_owned());
    }
    if !(first.is_ascii_lowercase() || first.is_ascii_digit()) {
        return Err(format!("it begins with {}", shown(first)));
    }
    if let Some(character) = name.chars().find(|character| {
        !(character.is_ascii_lowercase()
            || character.is_ascii_digit()
            || matches!(character, '.' | '_' | '-'))
    }) {
        return Err(format!("it contains {}", shown(character)));
    }
    let length = name.chars().count();
    if length > 128 {
        Err(format!("it has {length} characters, at most 128 are allowed"))
    } else {
        Ok(())
    }
}

fn check_tool_pack_name(name: &str) -> Result<(), String> {
    match name.chars().find(|character| !(character.is_ascii_alphanumeric() || *character == '_')) {
        Some(character) => Err(format!("it contains {}", shown(character))),
        None if name.is_empty() => Err("it is empty".to_owned()),
        None => Ok(()),
    }
}

/// Tool names of gibb.eri.sh: `[a-z0-9_]{1,32}` (GIB §3.2).
pub fn check_tool_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("it is empty".to_owned());
    }
    if name.chars().any(char::is_uppercase) {
        return Err("it contains upper-case letters".to_owned());
    }
    if let Some(character) = name.chars().find(|character| {
        !(character.is_ascii_lowercase() || character.is_ascii_digit() || *character == '_')
    }) {
        return Err(format!("it contains {}", shown(character)));
    }
    let length = name.len();
    if length > 32 {
        Err(format!("it has {length} characters, at most 32 are allowed"))
    } else {
        Ok(())
    }
}

/// Checks a value of a table's Required column (GIB-3.1-4).
pub fn check_yes_no(word: &str) -> Result<(), String> {
    let known = ["yes", "no", "true", "false", "y", "n", ""];
    if known.iter().any(|known| word.eq_ignore_ascii_case(known)) {
        Ok(())
    } else {
        Err(format!("`{word}` is neither `yes` nor `no`"))
    }
}

fn check_version(version: &str) -> Result<(), String> {
    semver::Version::parse(version).map(|_| ()).map_err(|error| error.to_string())
}

/// Normalises a version: `v2.1` becomes `2.1.0` (OC-8).
pub fn normal_version(text: &str) -> Option<String> {
    let text = text.trim().trim_start_matches(['v', 'V']);
    if semver::Version::parse(text).is_ok() {
        return Some(text.to_owned());
    }
    let (numbers, rest) = match text.find(['-', '+']) {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let mut parts: Vec<u64> = numbers.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
    if parts.is_empty() || parts.len() > 3 {
        return None;
    }
    parts.resize(3, 0);
    let version = format!("{}.{}.{}{rest}", parts[0], parts[1], parts[2]);
    semver::Version::parse(&version).is_ok().then_some(version)
}

fn check_url(text: &str) -> Result<(), String> {
    if text.contains(char::is_whitespace) {
        return Err("it contains spaces".to_owned());
    }
    match url::Url::parse(text) {
        Ok(url) if url.has_host() && text.contains("://") => Ok(()),
        Ok(_) => Err("it has no host".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

fn check_permission(text: &str) -> Result<(), String> {
    text.parse::<Permission>().map(|_| ()).map_err(|error| error.message)
}

fn check_range(text: &str) -> Result<(), String> {
    range::parse(text).map(|_| ()).map_err(|error| error.problem)
}

fn check_size(text: &str) -> Result<(), String> {
    let text = text.trim();
    let operator = [">=", ">", "==", "="].into_iter().find(|operator| text.starts_with(operator));
    let size = text[operator.map_or(0, str::len)..].trim_start();
    let number = size.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let unit = &size[number.len()..];
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let numeric = match number.trim_end().split_once('.') {
        Some((whole, fraction)) => digits(whole) && digits(fraction),
        None => digits(number.trim_end()),
    };
    let known = ["", "k", "m", "b", "t", "gb", "gib", "mb", "mib"];
    if numeric && known.iter().any(|known| unit.eq_ignore_ascii_case(known)) {
        Ok(())
    } else {
        Err(format!("`{text}` is not a number followed by K, M, B or T"))
    }
}

fn check_variable(text: &str) -> Result<(), String> {
    let mut characters = text.chars();
    let first = characters.next().ok_or("it is empty")?;
    if !(first.is_ascii_alphabetic() || first == '_') {
        return Err(format!("it begins with {}", shown(first)));
    }
    match characters.find(|character| !(character.is_ascii_alphanumeric() || *character == '_')) {
        Some(character) => Err(format!("it contains {}", shown(character))),
        None => Ok(()),
    }
}

fn check_tag(text: &str) -> Result<(), String> {
    let length = text.chars().count();
    if text.trim().is_empty() {
        Err("it is empty".to_owned())
    } else if length > 50 {
        Err(format!("it has {length} characters"))
    } else {
        Ok(())
    }
}

fn check_tag_list(text: &str) -> Result<(), String> {
    let tags: Vec<&str> = text.split(',').map(str::trim).filter(|tag| !tag.is_empty()).collect();
    match tags.len() {
        0 => Err("there is none".to_owned()),
        1..=20 => tags.iter().try_for_each(|tag| {
            check_tag(tag).map_err(|problem| format!("`{}`: {problem}", shorten(tag, 20)))
        }),
        count => Err(format!("there are {count}")),
    }
}

/// Suggests what the author probably meant.
pub fn suggestion(format: &TextFormat, text: &str) -> Option<String> {
    let is_name = [&NAME, &UNICODE_NAME, &GAIA_NAME, &DOTTED_NAME]
        .into_iter()
        .any(|name| std::ptr::eq(name, format));
    if std::ptr::eq(format, &raw const PERMISSION) {
        text.parse::<Permission>().err()?.suggestion
    } else if is_name && !text.trim().is_empty() {
        Some(slug(text))
    } else if std::ptr::eq(format, &raw const VERSION) {
        normal_version(text)
    } else if std::ptr::eq(format, &raw const RANGE) {
        range::parse(text).err()?.suggestion
    } else if std::ptr::eq(format, &raw const DEPENDENCY) {
        let (name, written) = text.rsplit_once('@').filter(|(name, _)| !name.is_empty())?;
        Some(format!("{name}@{}", range::parse(written).err()?.suggestion?))
    } else {
        None
    }
}

fn check_dependency(text: &str) -> Result<(), String> {
    let (name, range) = match text.rsplit_once('@') {
        Some((name, range)) if !name.is_empty() => (name, Some(range)),
        _ => (text, None),
    };
    let bare = name.strip_prefix('@').unwrap_or(name);
    let first = bare.chars().next().ok_or("it has no skill name")?;
    let valid = (first.is_ascii_lowercase() || first.is_ascii_digit())
        && bare.bytes().all(|byte| {
            byte.is_ascii_lowercase()
                || byte.is_ascii_digit()
                || matches!(byte, b'.' | b'_' | b'/' | b'-')
        });
    if !valid {
        return Err(format!("`{name}` is not a skill name"));
    }
    range.map_or(Ok(()), check_range)
}
