//! Defects of other readers that must fail safely here.

use insta::assert_snapshot;
use prowess_format::diagnostic::FixSafety;
use prowess_format::{ReadOptions, check};

use crate::{Fixture, problems, shown};

// NEG-2
#[test]
fn front_matter_in_another_language_is_refused_and_never_run() {
    for language in ["js", "javascript", "coffee", "json", "toml", "ts"] {
        let text = format!("---{language}\nmodule.exports = {{name: 'x'}}\n---\nbody\n");
        let checked = check(&text, ReadOptions::DETECT);
        assert!(!checked.is_skill(), "{language}");
        assert_eq!(checked.document.root.entries, [], "{language}");
        let found = problems(&text);
        assert_eq!(
            found,
            format!(
                "1:1 error front-matter-language front matter in `{language}` is neither read nor run\n"
            )
        );
    }
    assert_snapshot!(problems("---yaml\nname: a\ndescription: b\n---\nbody\n"), @"1:1 error front-matter-language front matter in `yaml` is neither read nor run");
    let yaml = check("---yaml\nname: a\ndescription: b\n---\nbody\n", ReadOptions::DETECT);
    let fix = yaml.diagnostics[0].fix.as_ref().expect("a fix");
    assert_eq!(fix.safety, FixSafety::Safe);
}

// NEG-2
#[test]
fn a_tag_that_asks_for_code_is_text() {
    let text = "---\nname: a\ndescription: !!js/function 'function () { return 1; }'\n---\nbody\n";
    assert_eq!(crate::skill(text).description_or(""), "function () { return 1; }");
    assert_snapshot!(problems(text), @"3:28 warning unknown-tag the tag `!!js/function` has no effect");
    assert_snapshot!(problems("---\nname: a\ndescription: !!python/object/apply:os.system [id]\n---\nbody\n"), @r"
    3:46 warning unknown-tag the tag `!!python/object/apply:os.system` has no effect
    3:46 error wrong-type `description` is a list, expected text of at most 1024 characters
    ");
}

// NEG-3
#[test]
fn reading_twice_gives_the_same_findings() {
    for fixture in Fixture::all() {
        let read = || {
            fixture.check(None, |text, checked| {
                (shown(text, &checked.diagnostics, false), checked.skill.clone())
            })
        };
        assert_eq!(read(), read(), "{}", fixture.name);
    }
}

// NEG-10
#[test]
fn front_matter_that_is_no_map_is_an_error() {
    assert_snapshot!(problems("---\n- name: a\n- b\n---\nbody\n"), @"2:3 error front-matter-not-a-map the front matter is a list, not a map");
    assert_snapshot!(problems("---\n[a, b]\n---\nbody\n"), @"2:1 error front-matter-not-a-map the front matter is a list, not a map");
    assert_snapshot!(problems("---\njust text\n---\nbody\n"), @"2:1 error front-matter-not-a-map the front matter is text, not a map");
    assert_snapshot!(problems("---\n42\n---\nbody\n"), @"2:1 error front-matter-not-a-map the front matter is a number, not a map");
    assert_snapshot!(problems("---\nnull\n---\nbody\n"), @r"
    1:1 error missing-field `description` is missing
    1:1 warning name-from-directory the skill has no name and is not in a directory
    1:1 error front-matter-not-a-map the front matter is empty
    ");
    assert_snapshot!(problems("---\n# only a comment\n---\nbody\n"), @r"
    1:1 error missing-field `description` is missing
    1:1 warning name-from-directory the skill has no name and is not in a directory
    1:1 error front-matter-not-a-map the front matter is empty
    ");
    assert_snapshot!(problems("---\n---\nbody\n"), @r"
    1:1 error missing-field `description` is missing
    1:1 warning name-from-directory the skill has no name and is not in a directory
    1:1 error front-matter-not-a-map the front matter is empty
    ");
}

// NEG-11
#[test]
fn duplicate_keys_are_errors_wherever_they_stand() {
    for path in ["top-level", "nested", "flow-map", "quoted-and-plain", "inside-list-item"] {
        let fixture = Fixture::open(&format!("neg/NEG-11-{path}/{path}/SKILL.md"));
        let codes = fixture.check(None, |_, checked| crate::codes(&checked.diagnostics));
        assert!(codes.contains(&"duplicate-key"), "{path}: {codes:?}");
    }
}

// NEG-13
#[test]
fn bombs_are_refused() {
    for path in ["alias-bomb", "map-bomb", "self-reference", "deep-nesting", "deep-block-nesting"] {
        let fixture = Fixture::open(&format!("neg/NEG-13-{path}/{path}/SKILL.md"));
        let codes = fixture.check(None, |_, checked| crate::codes(&checked.diagnostics));
        assert_eq!(codes, ["yaml-limit"], "{path}");
    }
}
