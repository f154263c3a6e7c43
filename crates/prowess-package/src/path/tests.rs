use super::*;

fn check(cases: &[(&[u8], Option<PathProblem>)]) {
    for (bytes, expected) in cases {
        let found = PackagePath::from_bytes(bytes).err().map(|error| error.problem);
        assert_eq!(found, *expected, "{:?}", String::from_utf8_lossy(bytes));
    }
}

/// Attacks registry-B1, registry-B9 and registry-B17.
#[test]
fn paths_that_lead_elsewhere_or_differ_between_systems_are_refused() {
    use PathProblem as P;
    let long = "x".repeat(MOST_PATH_BYTES + 1);
    let deep = vec!["a"; MOST_PATH_PARTS + 1].join("/");
    check(&[
        (b"SKILL.md", None),
        (b"scripts/run.sh", None),
        (b"a b/c-d_e.f", None),
        ("références/日本.md".as_bytes(), None),
        (b"..a/b..c/...d", None),
        (b"console/com10/lpt/auxiliary", None),
        (b"", Some(P::Empty)),
        (b"../x", Some(P::Leads)),
        (b"a/../../x", Some(P::Leads)),
        (b"a/./b", Some(P::Leads)),
        (b"/etc/passwd", Some(P::Absolute)),
        (b"C:/x", Some(P::Colon)),
        (b"C:\\x", Some(P::Colon)),
        (b"\\\\srv\\x", Some(P::Backslash)),
        (b"a\\..\\..\\x", Some(P::Backslash)),
        (b"a//b", Some(P::EmptyPart)),
        (b"a/", Some(P::EmptyPart)),
        (b"a:b", Some(P::Colon)),
        (b"what?", Some(P::Wildcard)),
        (b"a.", Some(P::TrailingDotOrBlank)),
        (b"a /b", Some(P::TrailingDotOrBlank)),
        (b"...", Some(P::TrailingDotOrBlank)),
        (b"aux", Some(P::Device)),
        (b"x/NUL.txt", Some(P::Device)),
        (b"Com1.tar.gz", Some(P::Device)),
        ("lpt\u{b9}".as_bytes(), Some(P::Device)),
        (b"a\nb", Some(P::Unseen)),
        (b"a\tb", Some(P::Unseen)),
        (b"a\0b", Some(P::Unseen)),
        ("a\u{202e}dm.exe".as_bytes(), Some(P::Unseen)),
        ("a\u{200b}b".as_bytes(), Some(P::Unseen)),
        (b"a\xffb", Some(P::NotUtf8)),
        (long.as_bytes(), Some(P::TooLong)),
        (deep.as_bytes(), Some(P::TooLong)),
    ]);
}

/// Attack registry-B8.
#[test]
fn twins_fold_to_the_same() {
    for (one, other) in [
        ("SKILL.md", "skill.MD"),
        ("caf\u{e9}", "cafe\u{301}"),
        ("CAF\u{c9}", "cafe\u{301}"),
        ("stra\u{df}e", "STRASSE"),
        ("\u{17f}kill.md", "skill.md"),
        ("\u{3c3}\u{3c2}", "\u{3a3}\u{3a3}"),
    ] {
        assert_eq!(fold(one), fold(other), "{one} {other}");
    }
    assert_ne!(fold("a-b"), fold("a_b"));
}
