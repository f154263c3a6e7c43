use super::{MOST_COMPARATORS, parse};

fn check(text: &str) -> String {
    match parse(text) {
        Ok(comparators) => {
            let shown = comparators.iter().map(|comparator| {
                let version = &comparator.version;
                let numbers = [Some(version.major), version.minor, version.patch];
                let numbers: Vec<String> =
                    numbers.into_iter().flatten().map(|number| number.to_string()).collect();
                let hyphen = if version.pre.is_empty() { "" } else { "-" };
                format!("{:?} {}{hyphen}{}", comparator.operator, numbers.join("."), version.pre)
            });
            shown.collect::<Vec<_>>().join(" & ")
        }
        Err(error) => match &error.suggestion {
            Some(meant) => format!("error: {error}; meant `{meant}`"),
            None => format!("error: {error}"),
        },
    }
}

#[test]
fn ranges_are_comparators_between_commas() {
    let cases = [
        ("1.2.3", "Exact 1.2.3"),
        ("=1.2.3", "Exact 1.2.3"),
        ("==1.2.3", "Exact 1.2.3"),
        ("!=1.2.3", "Not 1.2.3"),
        (" >= 1.2 ", "AtLeast 1.2"),
        ("<=1", "AtMost 1"),
        (">1.2.3-rc.1", "Above 1.2.3-rc.1"),
        ("<2.0.0", "Below 2.0.0"),
        ("^0.1.0", "Caret 0.1.0"),
        ("~1.2", "Tilde 1.2"),
        ("~=1.2", "Compatible 1.2"),
        (">=1.2.0, <2.0.0,!=1.5.0", "AtLeast 1.2.0 & Below 2.0.0 & Not 1.5.0"),
        // Build metadata does not take part.
        ("==1.2.3+build.5", "Exact 1.2.3"),
        ("1.2.3-a-b+c-d", "Exact 1.2.3-a-b"),
    ];
    for (text, expected) in cases {
        assert_eq!(check(text), expected, "{text}");
    }
}

#[test]
fn what_cannot_be_read_is_an_error_that_says_what_would_be_right() {
    // GAIA-10.2-2
    let cases = [
        (">=v2", "error: `>=v2` is not a version comparison; meant `>=2`"),
        (
            "1.2.x",
            "error: `1.2.x` has a wildcard, which isn't supported: drop that part; meant `1.2`",
        ),
        ("1.0.0 || 2.0.0", "error: `1.0.0 || 2.0.0` uses `||`, but alternatives aren't supported"),
        (
            "1.0.0 - 2.0.0",
            "error: `1.0.0 - 2.0.0` is not a version comparison; meant `>=1.0.0, <=2.0.0`",
        ),
        (">=1.0 <2.0", "error: `>=1.0 <2.0` is not a version comparison; meant `>=1.0, <2.0`"),
        ("", "error: `` is not a version comparison"),
        ("*", "error: `*` is not a version comparison; omit the range for any version"),
        ("latest", "error: `latest` is not a version comparison; omit the range for any version"),
        (">=1.0.0,", "error: `` is not a version comparison"),
        (">=", "error: `>=` is not a version comparison"),
        ("~=1", "error: `~=1` needs two numbers: `~=` lets the last one increase; meant `~=1.0`"),
        ("=>1.0", "error: `=>1.0` is not a version comparison; meant `>=1.0`"),
        ("1.0-beta", "error: `1.0-beta` is not a version comparison; meant `1.0.0-beta`"),
        ("^1.02.0", "error: `^1.02.0` is not a version comparison"),
        ("1.2.3.4", "error: `1.2.3.4` is not a version comparison"),
        ("1..2", "error: `1..2` is not a version comparison"),
        ("1.2.3-", "error: `1.2.3-` is not a version comparison"),
        ("1.2.3-01", "error: `1.2.3-01` is not a version comparison"),
        ("1.2.3+", "error: `1.2.3+` is not a version comparison"),
        ("99999999999999999999", "error: `99999999999999999999` is not a version comparison"),
        (">=１.0", "error: `>=１.0` is not a version comparison"),
        ("1.0\u{202e}", "error: `1.0\\u{202e}` is not a version comparison"),
    ];
    for (text, expected) in cases {
        assert_eq!(check(text), expected, "{text}");
    }
    let long = vec!["!=1.0.0"; MOST_COMPARATORS + 1].join(",");
    assert_eq!(check(&long), "error: 33 comparators exceed the limit of 32");
}

#[test]
fn what_is_suggested_can_be_read() {
    // Blanks become commas, and then there are too many.
    let error = parse(&"1 ".repeat(MOST_COMPARATORS + 1)).expect_err("no range");
    assert_eq!(error.suggestion, None);
    let error = parse(&"1 ".repeat(MOST_COMPARATORS)).expect_err("no range");
    assert!(parse(&error.suggestion.expect("a suggestion")).is_ok());
}
