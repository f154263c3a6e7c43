//! The version of a skill as its author wrote it, and the one that it counts as.

use semver::Version;

/// What a written version counts as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParsedVersion {
    /// It is written the way versions are compared.
    Exact(Version),
    /// It is written otherwise and can mean only this: `1.0`, `v2`, `2024.01.05`.
    Evident(Version),
    /// It means nothing that could be compared: `latest`, `2024.11.3.1`.
    Nothing,
}

/// Reads a written version.
///
/// R5 makes `1.2.3` the form. One file in fifteen of those that are published has `1.0` or `v1`, and a skill without any
/// version can be installed, so that one with almost a version should be too. Ranges are read strictly all the same: a
/// range that is guessed at lets in what nobody meant.
pub fn read(text: &str) -> ParsedVersion {
    if let Ok(version) = text.parse() {
        return ParsedVersion::Exact(version);
    }
    evident(text.trim()).map_or(ParsedVersion::Nothing, ParsedVersion::Evident)
}

/// One to three numbers, with what semver allows behind them.
fn evident(text: &str) -> Option<Version> {
    let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
    let end = text.find(['-', '+']).unwrap_or(text.len());
    let (core, rest) = text.split_at(end);
    let mut numbers = [0; 3];
    for (place, part) in core.split('.').enumerate() {
        // `parse` would take a sign.
        if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *numbers.get_mut(place)? = part.parse::<u64>().ok()?;
    }
    let [major, minor, patch] = numbers;
    // What follows the numbers is semver's to judge.
    Version::parse(&format!("{major}.{minor}.{patch}{rest}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let shown = match read(text) {
            ParsedVersion::Exact(version) => format!("exactly {version}"),
            ParsedVersion::Evident(version) => format!("evidently {version}"),
            ParsedVersion::Nothing => "nothing".to_owned(),
        };
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn versions_count_as_what_they_evidently_mean() {
        check("1.2.3", "exactly 1.2.3");
        check("1.2.3-rc.1+b", "exactly 1.2.3-rc.1+b");
        check("1.0", "evidently 1.0.0");
        check("1", "evidently 1.0.0");
        check("v1.2", "evidently 1.2.0");
        check("V0.20.22", "evidently 0.20.22");
        check(" 2.0 ", "evidently 2.0.0");
        check("2024.01.05", "evidently 2024.1.5");
        check("1.0-beta", "evidently 1.0.0-beta");
    }

    #[test]
    fn what_could_mean_several_things_counts_as_nothing() {
        for text in [
            "",
            "v",
            "latest",
            "2024.11.3.1",
            "1.x",
            "^1.0",
            "1..2",
            "+1",
            "1.0b1",
            "1.0-",
            "1 0",
            "99999999999999999999",
            "vv1",
            "１.0",
        ] {
            check(text, "nothing");
        }
    }
}
