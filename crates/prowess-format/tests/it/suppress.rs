//! Comments that allow a rule.

use prowess_format::suppress::allowed;
use prowess_format::{ReadOptions, check};

fn names(text: &str) -> (Vec<&'static str>, Vec<String>) {
    let checked = check(text, ReadOptions::DETECT);
    let allowed = allowed(&checked.document);
    let unknown = allowed.diagnostics.into_iter().map(|found| {
        assert!(!found.span.slice(text).is_empty());
        found.message
    });
    (allowed.rules.iter().map(|rule| rule.name).collect(), unknown.collect())
}

#[test]
fn comments_name_the_rules_that_a_file_allows() {
    let front = "---\n# prowess: allow long-skill\nname: desk # prowess: allow empty-body, invalid-name\ndescription: a#prowess: allow smart-quotes\n---\n";
    assert_eq!(names(front).0, ["long-skill", "empty-body", "invalid-name"]);
    let body = "---\nname: desk\n---\n\n<!-- prowess: allow long-skill\nempty-body -->\n# prowess: allow no-tools\n";
    assert_eq!(names(body).0, ["long-skill", "empty-body"]);
    assert_eq!(names("<!-- prowess: allow missing-front-matter -->\n").0, ["missing-front-matter"]);
    for text in ["<!-- prowess: allowing no-tools -->", "<!-- prowess allow no-tools -->", ""] {
        assert_eq!(names(text), (vec![], vec![]), "{text}");
    }
}

#[test]
fn a_name_that_is_no_rule_is_reported_with_a_suggestion() {
    let (rules, unknown) = names("Text\n\n<!-- prowess: allow long-skil -->\n");
    assert_eq!(rules, [""; 0]);
    assert_eq!(unknown, ["no rule is called `long-skil` (did you mean `long-skill`?)"]);
}
