//! Finds the skills in a folder or repository, and their names.

use std::borrow::Cow;
use std::collections::BTreeMap;

use prowess_format::document::Form;
use prowess_format::text::{shorten, visible};
use prowess_package::content::{FileRole, MANIFEST, role_of_folder};

/// Maximum depth of a skill.
pub(crate) const MOST_DEPTH: usize = 5;
/// Maximum size of a `SKILL.md`. The longest of 2,291 published ones has 128 KiB.
pub const MOST_MANIFEST_BYTES: u64 = 1 << 20;
/// Maximum length of a displayed name.
const MOST_SHOWN: usize = 80;

/// A skill that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFolder {
    /// Its folder, with `/` between its parts; empty for the root.
    pub folder: String,
    /// Its name.
    pub name: String,
}

/// The folders of skills, given the paths of all files or at least of every `SKILL.md`, sorted by path.
///
/// A `SKILL.md` at the root makes the whole a single skill. Otherwise each outermost folder that contains one is a
/// skill, at most five folders deep; everything in a skill's folder belongs to it.
pub fn skill_folders<'a>(paths: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut folders: Vec<&str> = Vec::new();
    for path in paths {
        if path == MANIFEST {
            return vec![""];
        }
        let Some(folder) = path.strip_suffix(MANIFEST).and_then(|path| path.strip_suffix('/'))
        else {
            continue;
        };
        let is_fit = folder.split('/').count() <= MOST_DEPTH
            && folder.split('/').all(|part| role_of_folder(part) != FileRole::Litter);
        if is_fit {
            folders.push(folder);
        }
    }
    // With a trailing slash, a folder sorts right before its content.
    folders.sort_by(|one, other| one.bytes().chain([b'/']).cmp(other.bytes().chain([b'/'])));
    let mut outermost: Vec<&str> = Vec::new();
    for folder in folders {
        let is_inside = outermost.last().is_some_and(|last| {
            folder == *last || folder.strip_prefix(last).is_some_and(|rest| rest.starts_with('/'))
        });
        if !is_inside {
            outermost.push(folder);
        }
    }
    outermost
}

/// One skill per name, sorted by name, and a note about each duplicate.
///
/// Many repositories contain copies for specific agents in hidden folders, so a skill outside of these takes
/// precedence, and copies inside are not reported.
pub fn distinct(mut found: Vec<FoundFolder>) -> (Vec<FoundFolder>, Vec<String>) {
    found.sort_by_cached_key(|skill| (is_hidden(&skill.folder), skill.folder.clone()));
    let mut taken: BTreeMap<String, FoundFolder> = BTreeMap::new();
    let mut notes = Vec::new();
    for skill in found {
        let Some(first) = taken.get(&skill.name) else {
            taken.insert(skill.name.clone(), skill);
            continue;
        };
        if !is_hidden(&skill.folder) {
            notes.push(format!(
                "`{}` is in both `{}` and `{}`; to install the second, name its folder",
                skill.name,
                visible(&first.folder),
                visible(&skill.folder)
            ));
        }
    }
    (taken.into_values().collect(), notes)
}

fn is_hidden(folder: &str) -> bool {
    folder.split('/').any(|part| part.starts_with('.'))
}

/// The name that a `SKILL.md` declares, shortened and escaped for display; otherwise the given one.
pub fn declared_name(manifest: &[u8], place: &str) -> String {
    let mut text = Cow::default();
    let checked = prowess_format::read_bytes(manifest, &mut text, Form::Markdown);
    let declared = checked.skill.name_text().filter(|name| !name.is_empty());
    let name = declared.unwrap_or_else(|| place.rsplit('/').next().unwrap_or(place));
    visible(&shorten(name, MOST_SHOWN)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(paths: &[&str], expected: &[&str]) {
        assert_eq!(skill_folders(paths.iter().copied()), expected, "{paths:?}");
    }

    #[test]
    fn skills_are_the_outermost_folders_with_a_manifest() {
        check(&["README.md"], &[]);
        check(&["skills/a/SKILL.md", "SKILL.md"], &[""]);
        check(
            &["skills/b/SKILL.md", "skills/a/SKILL.md", "skills/a/SKILL.md.bak"],
            &["skills/a", "skills/b"],
        );
        check(&["a/examples/b/SKILL.md", "a/SKILL.md", "a-b/SKILL.md"], &["a-b", "a"]);
        check(&["a/node_modules/b/SKILL.md", "a/.git/SKILL.md", "a/skill.md"], &[]);
        check(&["1/2/3/4/5/SKILL.md", "1/2/3/4/5x/6/SKILL.md"], &["1/2/3/4/5"]);
        check(&["skills/.curated/a/SKILL.md"], &["skills/.curated/a"]);
    }

    #[test]
    fn a_name_is_offered_once() {
        let found = |folder: &str, name: &str| FoundFolder {
            folder: folder.to_owned(),
            name: name.to_owned(),
        };
        let (skills, notes) = distinct(vec![
            found(".claude/skills/x", "x"),
            found("skills/x", "x"),
            found("plugins/x", "x"),
            found("skills/a", "a"),
        ]);
        assert_eq!(skills, [found("skills/a", "a"), found("plugins/x", "x")]);
        assert_eq!(
            notes,
            ["`x` is in both `plugins/x` and `skills/x`; to install the second, name its folder"]
        );
    }

    #[test]
    fn names_are_declared_or_the_folders() {
        for (manifest, expected) in [
            ("---\nname: declared\ndescription: d\n---\n", "declared"),
            ("no front matter", "folder"),
            ("---\nname: \"a\\u202Eb\"\n---\n", "a\\u{202e}b"),
        ] {
            assert_eq!(declared_name(manifest.as_bytes(), "some/folder"), expected);
        }
    }
}
