//! The packages that a skill requires, as validated lines for an installer (GAIA §2.1).
//!
//! A requirements file is a language of its own: a line may be an option, a URL, a path or another file, and variables
//! are expanded. A skill may name packages and versions only.

use prowess_format::skill::Skill;
use prowess_format::text::shorten;

/// The error for a line that is not a package with a version range.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a package that can be installed: {reason}", shorten(.line, 80))]
pub struct PackageError {
    /// The line as written.
    line: String,
    /// The reason.
    reason: &'static str,
}

/// Maximum length of a line.
const MAX_CHARACTERS: usize = 500;
const OPERATORS: &[&str] = &["===", "==", "~=", "!=", "<=", ">=", "<", ">"];

/// The text of a `requirements.txt` for a skill (GAIA §7.1); `None` if it requires no Python packages.
///
/// It contains the skill's declarations in a normalized form: the same skill gives the same bytes on every machine. The
/// exact versions are in the environment of the skill on each machine.
pub fn requirements_file(skill: &Skill) -> Result<Option<String>, PackageError> {
    let declared = &skill.requirements.python_packages;
    let lines = normal(declared.iter().map(|line| line.value.as_str()))?;
    if lines.is_empty() {
        return Ok(None);
    }
    let text = "# Generated from the `requirements` of SKILL.md. Edit them there.\n".to_owned();
    Ok(Some(lines.iter().fold(text, |text, line| text + line + "\n")))
}

/// The packages in normalized form and order, without duplicates.
pub(super) fn normal<'l>(
    lines: impl IntoIterator<Item = &'l str>,
) -> Result<Vec<String>, PackageError> {
    let mut all: Vec<String> = lines.into_iter().map(one).collect::<Result<_, _>>()?;
    all.sort();
    all.dedup();
    Ok(all)
}

fn one(line: &str) -> Result<String, PackageError> {
    let wrong = |reason| PackageError { line: line.to_owned(), reason };
    let text = line.trim();
    if text.len() > MAX_CHARACTERS {
        return Err(wrong("it is too long"));
    }
    if text.starts_with('-') {
        return Err(wrong("it is an option"));
    }
    if text.contains("://") {
        return Err(wrong("it is a URL, but only package names are supported"));
    }
    let (text, marker) = match text.split_once(';') {
        Some((text, marker)) => (text.trim(), Some(marker.trim())),
        None => (text, None),
    };
    if !marker.is_none_or(is_marker) {
        return Err(wrong("the text after `;` is not a valid condition"));
    }
    let is_word = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
    let name_ends = text.find(|character| !is_word(character)).unwrap_or(text.len());
    let (name, rest) = text.split_at(name_ends);
    let ends_well = |text: &str| {
        text.starts_with(|character: char| character.is_ascii_alphanumeric())
            && text.ends_with(|character: char| character.is_ascii_alphanumeric())
    };
    if !ends_well(name) {
        return Err(wrong("it does not start with the name of a package"));
    }
    let rest = rest.trim();
    let (extras, rest) = match rest.strip_prefix('[') {
        None => (Vec::new(), rest),
        Some(inner) => {
            let (inner, rest) = inner.split_once(']').ok_or(wrong("`[` has no `]`"))?;
            let extras: Vec<&str> = inner.split(',').map(str::trim).collect();
            if !extras.iter().all(|extra| ends_well(extra) && extra.chars().all(is_word)) {
                return Err(wrong("the text in `[]` is not a list of names"));
            }
            (extras, rest.trim())
        }
    };
    // R17: `name@range` is equivalent to `name` and a range.
    let (range, bare_operator) = match rest.strip_prefix('@') {
        Some(range) => (range.trim(), Some("==")),
        None => (rest, None),
    };
    let range = range.strip_prefix('(').and_then(|it| it.strip_suffix(')')).unwrap_or(range);
    let range = normal_range(range, bare_operator)
        .ok_or(wrong("the text after the name is not a version range"))?;
    let extras = if extras.is_empty() { String::new() } else { format!("[{}]", extras.join(",")) };
    let marker = marker.map_or_else(String::new, |marker| format!("; {marker}"));
    Ok(format!("{}{extras}{range}{marker}", name.to_ascii_lowercase()))
}

/// A range without spaces. `bare` is the operator of a version without one, if that is allowed.
fn normal_range(range: &str, bare: Option<&str>) -> Option<String> {
    let range = range.trim();
    if range.is_empty() {
        return Some(String::new());
    }
    let is_version =
        |character: char| character.is_ascii_alphanumeric() || ".*+!_-".contains(character);
    let parts = range.split(',').map(|part| {
        let part = part.trim();
        let operator = OPERATORS.iter().find(|operator| part.starts_with(**operator)).copied();
        let version = part[operator.unwrap_or("").len()..].trim();
        let whole = !version.is_empty() && version.chars().all(is_version);
        let operator = operator.or(bare).filter(|_| whole)?;
        Some(format!("{operator}{version}"))
    });
    parts.collect::<Option<Vec<_>>>().map(|parts| parts.join(","))
}

/// Whether a marker consists of words, quoted strings and comparisons; no line break, no variable, no second
/// requirement.
fn is_marker(marker: &str) -> bool {
    let allowed =
        |character: char| character.is_ascii_alphanumeric() || " ._-'\"<>=!~()".contains(character);
    !marker.is_empty() && marker.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_requirements_says_what_the_skill_says() {
        let made = |lines: &str| {
            let text = format!(
                "---\nname: a\nversion: 1.0.0\ndescription: D\npermissions: []\n{lines}---\n\n# A\n"
            );
            let skill = prowess_format::check(&text, prowess_format::ReadOptions::DETECT).skill;
            requirements_file(&skill).map_err(|error| error.to_string())
        };
        assert_eq!(made(""), Ok(None));
        let lines = "requirements:\n  dependencies: [\"Requests >= 2.31\", \"attrs\", \"attrs\"]\n";
        let wanted = "# Generated from the `requirements` of SKILL.md. Edit them there.\nattrs\nrequests>=2.31\n";
        assert_eq!(made(lines), Ok(Some(wanted.to_owned())));
        let error = made("requirements:\n  dependencies: [\"--index-url=x\"]\n");
        assert!(error.expect_err("an option").contains("it is an option"));
    }

    #[test]
    fn packages_are_read_in_one_spelling() {
        let cases = [
            ("requests", "requests"),
            ("requests>=2.31", "requests>=2.31"),
            ("Requests >= 2.31 , < 3", "requests>=2.31,<3"),
            ("ruamel.yaml==0.18.*", "ruamel.yaml==0.18.*"),
            ("uvicorn[standard, watch]~=0.30", "uvicorn[standard,watch]~=0.30"),
            ("numpy (>=1.26)", "numpy>=1.26"),
            ("tomli; python_version < '3.11'", "tomli; python_version < '3.11'"),
            ("name@>=1.0", "name>=1.0"),
            ("name@1.0.0", "name==1.0.0"),
            ("torch==2.1.0+cpu", "torch==2.1.0+cpu"),
        ];
        for (written, normal) in cases {
            assert_eq!(one(written).as_deref(), Ok(normal), "{written}");
        }
        assert_eq!(normal(["b", "a>=1", "b"]), Ok(vec!["a>=1".to_owned(), "b".to_owned()]));
    }

    #[test]
    fn lines_that_would_do_more_are_refused() {
        let cases = [
            "--index-url=evil",
            "-e .",
            "-r other.txt",
            "name @ https://example.com/x.whl",
            "https://example.com/x.whl",
            "git+https://example.com/x",
            "./local.whl",
            "../up",
            "/abs/x.whl",
            "~/x.whl",
            "name # comment",
            "name\n--index-url=evil",
            "name==1\r-e .",
            "${HOME}",
            "name==${SECRET}",
            "name; ${SECRET}",
            "name==1 --hash=sha256:00",
            "name==1 --config-settings=x=y",
            "name\\",
            "name^1.0",
            "name 1.0",
            "name[a",
            "name[;]",
            "",
            " ",
            "\u{feff}name",
        ];
        for written in cases {
            assert!(one(written).is_err(), "{written:?} was taken as {:?}", one(written));
        }
        let long = "x".repeat(501);
        assert!(one(&long).is_err());
    }
}
