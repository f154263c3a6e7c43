use insta::assert_snapshot;

use crate::world::check;

#[test]
fn dependencies_come_before_who_needs_them() {
    // GAIA-10.3-1
    assert_snapshot!(check("
        ask desk
        ask auth
        desk 1.0.0: mail; calendar
        mail 1.0.0: http; auth
        calendar 1.0.0: auth
        auth 1.0.0: http
        http 1.0.0
    "), @r"
    http 1.0.0 (needed)
    auth 1.0.0
    calendar 1.0.0 (needed)
    mail 1.0.0 (needed)
    desk 1.0.0
    ");
}

#[test]
fn the_highest_version_that_suits_all_is_chosen() {
    // GAIA-10.3-3
    assert_snapshot!(check("
        ask mail
        ask notes
        mail 1.0.0: http >=1.0.0
        notes 1.0.0: http <2.0.0, !=1.4.0
        http 1.0.0
        http 1.3.0
        http 1.4.0
        http 2.0.0
    "), @r"
    http 1.3.0 (needed)
    mail 1.0.0
    notes 1.0.0
    ");
}

#[test]
fn an_older_version_is_taken_where_the_newest_needs_what_is_not_there() {
    assert_snapshot!(check("
        ask mail
        mail 1.0.0: http ^1
        mail 1.1.0: http ^2
        mail 1.2.0: nowhere
        http 1.0.0
    "), @r"
    http 1.0.0 (needed)
    mail 1.0.0
    ");
}

#[test]
fn the_earlier_request_gets_the_higher_version() {
    let world = "
        mail 1.0.0: http ^1
        mail 2.0.0: http ^2
        notes 1.0.0: http ^1
        notes 0.9.0: http ^2
        http 1.0.0
        http 2.0.0
    ";
    assert_snapshot!(check(&format!("ask mail\nask notes\n{world}")), @r"
    http 2.0.0 (needed)
    mail 2.0.0
    notes 0.9.0
    ");
    assert_snapshot!(check(&format!("ask notes\nask mail\n{world}")), @r"
    http 1.0.0 (needed)
    mail 1.0.0
    notes 1.0.0
    ");
}

#[test]
fn a_circle_is_an_error_that_lists_it() {
    // GAIA-10.3-2
    assert_snapshot!(check("
        ask desk
        desk 1.0.0: mail
        mail 1.2.0: auth
        auth 2.0.0: http; session
        session 0.1.0: mail
        http 1.0.0
    "), @r"
    error: dependency cycle: `auth` 2.0.0 → `session` 0.1.0 → `mail` 1.2.0 → `auth`
    hint: ask for a version of `auth` without this dependency, or contact its author
    ");
    assert_snapshot!(check("ask self\nself 1.0.0: self ^1"), @r"
    error: dependency cycle: `self` 1.0.0 → `self`
    hint: ask for a version of `self` without this dependency, or contact its author
    ");
}

#[test]
fn a_yanked_release_is_chosen_only_where_it_is_locked() {
    let world = "ask mail\nmail 1.0.0\nmail 1.1.0 [yanked]\n";
    assert_snapshot!(check(world), @"mail 1.0.0");
    assert_snapshot!(check(&format!("{world}locked mail 1.1.0")), @"mail 1.1.0");
    // A lock of another version does not free it.
    assert_snapshot!(check(&format!("{world}locked mail 1.0.0")), @"mail 1.0.0");
}

#[test]
fn locked_versions_stay_where_they_can() {
    let world = "
        mail 1.0.0: http >=1
        mail 1.1.0: http >=2
        http 1.0.0
        http 2.0.0
        http 3.0.0
        locked mail 1.0.0
        locked http 2.0.0
    ";
    assert_snapshot!(check(&format!("ask mail\n{world}")), @r"
    http 2.0.0 (needed)
    mail 1.0.0
    ");
    // Only what was asked for moves.
    assert_snapshot!(check(&format!("ask mail >=1.1.0\n{world}")), @r"
    http 2.0.0 (needed)
    mail 1.1.0
    ");
    assert_snapshot!(check(&format!("ask mail\nask http >2\n{world}")), @r"
    http 3.0.0
    mail 1.0.0
    ");
    // A locked version that is no longer listed is forgotten.
    assert_snapshot!(check("ask mail\nmail 1.0.0\nlocked mail 0.9.0"), @"mail 1.0.0");
}

#[test]
fn pre_releases_are_chosen_only_where_somebody_wants_one() {
    let world = "
        http 1.0.0
        http 2.0.0-alpha
        http 2.0.0-beta
        http 2.1.0-alpha
        mail 1.0.0: http >=1.0.0
        notes 1.0.0: http >=2.0.0-alpha
    ";
    assert_snapshot!(check(&format!("ask mail\n{world}")), @r"
    http 1.0.0 (needed)
    mail 1.0.0
    ");
    assert_snapshot!(check(&format!("ask notes\n{world}")), @r"
    http 2.0.0-beta (needed)
    notes 1.0.0
    ");
    // A request opens the numbers it names to everyone.
    assert_snapshot!(check(&format!("ask mail\nask http ==2.0.0-alpha\n{world}")), @r"
    http 2.0.0-alpha
    mail 1.0.0
    ");
    // So does a lock.
    assert_snapshot!(check(&format!("ask mail\nlocked http 2.1.0-alpha\n{world}")), @r"
    http 2.1.0-alpha (needed)
    mail 1.0.0
    ");
    // Where there is nothing else, a pre-release is a release.
    assert_snapshot!(check("ask http\nhttp 1.0.0-alpha\nhttp 1.0.0-beta\nhttp 0.9.0 [yanked]"), @"http 1.0.0-beta");
}

#[test]
fn an_experimental_skill_is_never_a_silent_dependency() {
    let world = "
        desk 1.0.0: tool
        tool 1.0.0
        tool 2.0.0 [experimental]
    ";
    assert_snapshot!(check(&format!("ask desk\n{world}")), @r"
    tool 1.0.0 (needed)
    desk 1.0.0
    ");
    // Leave for the agent is not leave for what it needs (GAIA §4.3).
    assert_snapshot!(check(&format!("ask experimental desk\n{world}")), @r"
    tool 1.0.0 (needed)
    desk 1.0.0
    ");
    assert_snapshot!(check(&format!("ask desk\nask experimental tool\n{world}")), @r"
    tool 2.0.0
    desk 1.0.0
    ");
    assert_snapshot!(check(&format!("ask desk\nlocked tool 2.0.0\n{world}")), @r"
    tool 2.0.0 (needed)
    desk 1.0.0
    ");
}

#[test]
fn young_releases_are_left_out_where_an_age_is_asked_for() {
    let world = "
        ask mail
        mail 1.0.0 [at 100]
        mail 1.1.0 [at 200]
        mail 1.2.0 [at 201]
        mail 1.3.0
    ";
    assert_snapshot!(check(world), @"mail 1.3.0");
    assert_snapshot!(check(&format!("until 200\n{world}")), @"mail 1.1.0");
    assert_snapshot!(check(&format!("until 200\nlocked mail 1.2.0\n{world}")), @"mail 1.2.0");
}

#[test]
fn versions_that_differ_in_build_metadata_are_one() {
    for order in ["mail 1.0.0+a\nmail 1.0.0+b", "mail 1.0.0+b\nmail 1.0.0+a"] {
        assert_eq!(check(&format!("ask mail ==1.0.0\n{order}")), "mail 1.0.0+b");
        assert_eq!(check(&format!("ask mail\nlocked mail 1.0.0+a\n{order}")), "mail 1.0.0+a");
    }
}

#[test]
fn a_name_in_another_source_is_another_skill() {
    // The public 9.9.0 is no version of the private skill (attack registry-A9).
    assert_snapshot!(check("
        ask desk@private
        desk@private 1.0.0: auth@private
        auth@private 1.0.0
        auth@public 9.9.0
    "), @r"
    auth 1.0.0 (needed)
    desk 1.0.0
    ");
    assert_snapshot!(check("
        ask desk@private
        ask mail@public
        desk@private 1.0.0: auth@private
        mail@public 1.0.0: auth@public
        auth@private 1.0.0
        auth@public 9.9.0
    "), @r"
    error: `auth` would come from two sources: from `private` for `desk` 1.0.0, and from `public` for `mail` 1.0.0
    hint: use one source for `auth`
    ");
}

#[test]
fn no_request_is_a_resolution_of_nothing() {
    assert_eq!(check("mail 1.0.0"), "");
}
