//! `prowess explain`: the pages of rules.

use insta::assert_snapshot;

use crate::scene;

#[test]
fn a_rule_has_a_page() {
    assert_snapshot!(scene().run("explain name-not-unique"));
}

#[test]
fn a_wrong_code_gets_the_closest_one() {
    assert_snapshot!(scene().run("explain name-not-uniqe"), @"
    exit 3
    --- stderr
    error: there is no rule `name-not-uniqe`
    hint: did you mean `name-not-unique`?
    ");
    assert_snapshot!(scene().run("explain zzz"), @"
    exit 3
    --- stderr
    error: there is no rule `zzz`
    hint: `prowess explain` lists all rules
    ");
}

#[test]
fn without_a_code_all_rules_are_listed() {
    let list = scene().stdout("explain");
    assert!(list.lines().count() > 50);
    assert!(
        list.lines()
            .all(|line| line.split_once("  ").is_some_and(|(_, text)| !text.trim().is_empty()))
    );
}
