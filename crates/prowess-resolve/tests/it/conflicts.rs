use insta::assert_snapshot;

use crate::world::check;

// GAIA-10.3-3: each constraint with its origin.
#[test]
fn two_skills_need_different_versions_of_a_third() {
    assert_snapshot!(check(
        "
        ask mail ^1.0.0
        ask notes by AGENT.yaml
        mail 1.0.0: http >=2.0.0
        mail 1.1.0: http >=2.0.0
        notes 1.0.0: http <2.0.0
        http 1.0.0
        http 1.5.0
        http 2.0.0
    "
    ));
}

#[test]
fn a_request_against_what_another_skill_needs() {
    assert_snapshot!(check(
        "
        ask http ==1.0.0 by AGENT.yaml
        ask mail
        mail 1.0.0: session ^1
        session 1.0.0: http >=1.5.0
        session 1.1.0: http >=1.6.0
        http 1.0.0
        http 1.5.0
        http 1.6.0
    "
    ));
}

#[test]
fn two_requests_for_one_skill() {
    assert_snapshot!(check(
        "
        ask mail ^1.0.0
        ask mail >=2.0.0 by AGENT.yaml
        mail 1.0.0
        mail 2.0.0
    "
    ));
}

#[test]
fn a_skill_that_does_not_exist() {
    assert_snapshot!(check("ask desk\ndesk 1.0.0: calender ^1.0.0\ncalendar 1.0.0"));
}

#[test]
fn a_version_that_does_not_exist() {
    assert_snapshot!(check("ask mail >=3.0.0\nmail 1.0.0\nmail 1.1.0\nmail 2.0.0\nmail 2.1.0"));
}

#[test]
fn a_range_that_nothing_could_be_in() {
    assert_snapshot!(check("ask mail >2.0.0, <1.0.0\nmail 1.0.0\nmail 2.0.0"));
}

#[test]
fn an_experimental_dependency() {
    assert_snapshot!(check(
        "
        ask experimental desk
        desk 1.0.0: tool ^1
        tool 1.0.0 [experimental]
    "
    ));
}

#[test]
fn only_yanked_and_young_releases_would_do() {
    assert_snapshot!(check(
        "
        until 100
        ask mail ^2
        mail 1.0.0 [at 10]
        mail 2.0.0 [at 20] [yanked]
        mail 2.0.1 [at 101]
        mail 2.0.2
    "
    ));
}

#[test]
fn only_a_pre_release_would_do() {
    assert_snapshot!(check(
        "
        ask mail >=2.0.0-alpha
        ask desk
        desk 1.0.0: mail >=2.0.1
        mail 1.0.0
        mail 2.0.0-alpha
        mail 2.1.0-alpha
    "
    ));
}

#[test]
fn every_way_out_is_closed_elsewhere() {
    assert_snapshot!(check(
        "
        ask desk
        desk 1.0.0: mail; notes; http ^1
        desk 2.0.0: mail; notes; http ^2
        mail 1.0.0: http ^2
        notes 1.0.0: http ^1
        http 1.0.0
        http 2.0.0
    "
    ));
}

#[test]
fn a_text_of_a_stranger_is_made_visible() {
    let shown = check("ask mail ^1 by agent\u{202e}lmay\u{1b}[31m\nmail 2.0.0");
    assert!(!shown.contains(['\u{202e}', '\u{1b}']), "{shown}");
    assert!(shown.contains("agent\\u{202e}lmay"), "{shown}");
}
