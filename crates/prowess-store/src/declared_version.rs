//! Declared versions, and how they are interpreted.

use semver::Version;

/// The interpretation of a declared version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParsedVersion {
    /// A valid semantic version.
    Exact(Version),
    /// An incomplete version with only one interpretation: `1.0`, `v2`, `2024.01.05`.
    Evident(Version),
    /// A version that can't be compared: `latest`, `2024.11.3.1`.
    Nothing,
}

/// Interprets a declared version.
///
/// R5 requires the form `1.2.3`. About one in fifteen published files has `1.0` or `v1`, and a skill without any
/// version can be installed, so these are accepted too. Ranges are still parsed strictly: guessing the meaning of a
/// range could allow unintended versions.
pub fn read(text: &str) -> ParsedVersion {
    if let Ok(version) = text.parse() {
        return ParsedVersion::Exact(version);
    }
    evident(text.trim()).map_or(ParsedVersion::Nothing, ParsedVersion::Evident)
}

/// One to three numbers, followed by the suffixes that semver allows.
fn evident(text: &str) -> Option<Version> {
    let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
    let end = text.find(['-', '+']).unwrap_or(text.len());
    let (core, rest) = text.split_at(end);
    let mut numbers = [0; 3];
    for (place, part) in core.split('.').enumerate() {
        // `parse` would accept a sign.
        if part.is_empty() || !part.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        *numbers.get_mut(place)? = part.parse::<u64>().ok()?;
    }
    let [major, minor, patch] = numbers;
    // Semver validates the rest.
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
