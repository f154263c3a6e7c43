//! Names of tools that every client accepts.

use std::collections::BTreeSet;

/// The longest name that all known clients accept.
const MAX_NAME: usize = 64;

/// A name of letters, digits, `_` and `-`, which no other tool has.
///
/// Different names may become equal when characters are replaced or the end is cut, so the second one gets a number.
pub(crate) fn unused(name: &str, taken: &mut BTreeSet<String>) -> String {
    let plain = |character: char| match character {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-' => character,
        _ => '_',
    };
    let name: String = name.chars().map(plain).take(MAX_NAME).collect();
    let mut wanted = name.clone();
    let mut number = 2_usize;
    while !taken.insert(wanted.clone()) {
        let end = format!("_{number}");
        wanted = name.chars().take(MAX_NAME - end.len()).collect();
        wanted.push_str(&end);
        number += 1;
    }
    wanted
}

/// The name of a tool of a skill.
pub(crate) fn of_tool(skill: &str, tool: &str) -> String {
    format!("{skill}__{tool}")
}

/// The name of a script of a skill: that of its file, without the extension and with `_` for `-`.
pub(crate) fn of_script(skill: &str, path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let stem = if stem.is_empty() { file } else { stem };
    of_tool(skill, &stem.replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_plain() {
        let mut taken = BTreeSet::new();
        let long = "x".repeat(80);
        let cases = [
            ("git__status", "git__status".to_owned()),
            ("git__status", "git__status_2".to_owned()),
            ("git__stätus.a", "git__st_tus_a".to_owned()),
            ("git__st tus/a", "git__st_tus_a_2".to_owned()),
            (&long, "x".repeat(64)),
            (&long, format!("{}_2", "x".repeat(62))),
        ];
        for (name, expected) in cases {
            assert_eq!(unused(name, &mut taken), expected);
        }
    }

    #[test]
    fn scripts_are_called_like_their_files() {
        assert_eq!(of_script("word-count", "scripts/count-words.sh"), "word-count__count_words");
        assert_eq!(of_script("a", "run"), "a__run");
        assert_eq!(of_script("a", ".sh"), "a__.sh");
    }
}
