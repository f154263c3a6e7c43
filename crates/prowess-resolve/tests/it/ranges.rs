use prowess_resolve::Range;
use semver::Version;

/// Whether a version is in a range.
fn check(version: &str, range: &str) -> bool {
    let range = Range::parse(range).unwrap_or_else(|error| panic!("{range}: {error}"));
    range.contains(&version.parse::<Version>().expect("a version"))
}

#[test]
fn every_operator_selects_what_it_says() {
    // GAIA-10.2-1: the first four are the specification's own.
    let cases = [
        ("1.9.9", "^1.0.0", true),
        ("2.0.0", "^1.0.0", false),
        ("0.2.0", "^0.1.0", false),
        ("1.5.0", ">=1.2.0, <2.0.0", true),
        ("1.2.0", ">=1.2.0", true),
        ("1.1.9", ">=1.2.0", false),
        ("1.2.0", ">1.2.0", false),
        ("1.2.1", ">1.2.0", true),
        ("1.2.0", "<=1.2.0", true),
        ("1.2.1", "<=1.2.0", false),
        ("1.2.0", "<1.2.0", false),
        ("1.1.9", "<1.2.0", true),
        ("1.2.0", "==1.2.0", true),
        ("1.2.0", "=1.2.0", true),
        ("1.2.0", "1.2.0", true),
        ("1.2.1", "1.2.0", false),
        ("1.2.0", "!=1.2.0", false),
        ("1.2.1", "!=1.2.0", true),
        ("0.1.9", "^0.1.0", true),
        ("0.0.3", "^0.0.3", true),
        ("0.0.4", "^0.0.3", false),
        ("1.2.9", "~1.2.3", true),
        ("1.3.0", "~1.2.3", false),
        ("1.2.2", "~1.2.3", false),
        // PEP 440: the last number that is written may grow.
        ("1.4.5", "~=1.4.2", true),
        ("1.5.0", "~=1.4.2", false),
        ("1.5.0", "~=1.4", true),
        ("2.0.0", "~=1.4", false),
        ("1.3.9", "~=1.4", false),
        ("1.5.0", ">=1.2.0, <2.0.0, !=1.5.0", false),
        ("1.5.0", ">=2.0.0, <1.0.0", false),
    ];
    for (version, range, expected) in cases {
        assert_eq!(check(version, range), expected, "{version} in {range}");
    }
}

#[test]
fn a_version_with_missing_numbers_stands_for_all_that_begin_with_it() {
    let cases = [
        ("1.2.9", "1.2", true),
        ("1.3.0", "==1.2", false),
        ("1.9.9", "1", true),
        ("1.2.9", "!=1.2", false),
        ("1.3.0", "!=1.2", true),
        ("1.2.9", ">1.2", false),
        ("1.3.0", ">1.2", true),
        ("1.2.9", "<=1.2", true),
        ("1.3.0", "<=1.2", false),
        ("1.2.0", "<1.2", false),
        ("1.2.0", ">=1.2", true),
        ("1.9.0", "^1", true),
        ("0.9.0", "^0", true),
        ("1.0.0", "^0", false),
        ("0.0.9", "^0.0", true),
        ("0.1.0", "^0.0", false),
        ("1.9.0", "~1", true),
        ("1.2.9", "~1.2", true),
        ("1.3.0", "~1.2", false),
    ];
    for (version, range, expected) in cases {
        assert_eq!(check(version, range), expected, "{version} in {range}");
    }
}

#[test]
fn pre_releases_are_in_a_range_that_names_one_of_the_same_numbers() {
    let cases = [
        ("2.0.0-alpha", "^1", false),
        ("2.0.0-alpha", "^1.0.0-alpha", false),
        ("2.0.0-alpha", "<2.0.0", false),
        ("2.0.0-alpha", ">=1.0.0-alpha, <2.0.0", false),
        ("2.0.0-alpha", ">=1.0.0", false),
        ("2.0.0-alpha", "<2.0.0-beta", true),
        ("2.0.0-beta", "<2.0.0-beta", false),
        ("1.0.0-beta", ">=1.0.0-alpha", true),
        ("1.0.0-beta", "^1.0.0-alpha", true),
        ("1.0.0-alpha", "^1.0.0-beta", false),
        ("1.0.1-beta", "^1.0.0-alpha", false),
        ("1.0.1", "^1.0.0-alpha", true),
        ("1.0.0-rc.1", "==1.0.0-rc.1", true),
        ("1.0.0", "==1.0.0-rc.1", false),
        ("1.0.0-rc.1", "!=1.0.0-rc.2", false),
        ("1.0.0-rc.1", "!=1.0.0-rc.2, >=1.0.0-rc.0", true),
        ("1.3.0-alpha", "~1.2.3", false),
        ("1.3.0-alpha", "~=1.2.3", false),
    ];
    for (version, range, expected) in cases {
        assert_eq!(check(version, range), expected, "{version} in {range}");
    }
    assert!(!Range::any().contains(&Version::parse("1.0.0-alpha").expect("a version")));
}

#[test]
fn build_metadata_does_not_count() {
    for range in ["==1.2.3", "==1.2.3+other", "<=1.2.3", ">=1.2.3"] {
        assert!(check("1.2.3+build.7", range), "{range}");
    }
    for range in ["!=1.2.3", ">1.2.3", "<1.2.3"] {
        assert!(!check("1.2.3+build.7", range), "{range}");
    }
}

#[test]
fn the_largest_numbers_do_not_overflow() {
    let largest = u64::MAX;
    let version = format!("{largest}.{largest}.{largest}");
    for operator in ["^", "~", "~=", "<=", ">=", "==", "", ">", "!=", "<"] {
        let expected = !matches!(operator, ">" | "!=" | "<");
        assert_eq!(check(&version, &format!("{operator}{version}")), expected, "{operator}");
    }
    for (range, expected) in [("<={}", true), ("{}", true), (">{}", false), ("!={}", false)] {
        let range = range.replace("{}", &largest.to_string());
        assert_eq!(check(&version, &range), expected, "{range}");
    }
}

#[test]
fn an_unreadable_range_is_never_any_version() {
    // GAIA-10.2-2
    for text in [">=v2", "1.2.x", "1.0.0 || 2.0.0", "1.0.0 - 2.0.0", "", "*", "~=1", "^"] {
        assert!(Range::parse(text).is_err(), "{text}");
    }
}
