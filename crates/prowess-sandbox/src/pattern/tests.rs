use std::path::Path;

use proptest::prelude::*;

use super::Patterns;

fn patterns(pattern: &str) -> Result<Patterns, String> {
    Patterns::new([(Path::new(""), pattern)])
}

fn matching<'p>(pattern: &str, paths: &[&'p str]) -> Vec<&'p str> {
    let set = patterns(pattern).expect("a pattern");
    paths.iter().copied().filter(|path| set.matches(Path::new(path))).collect()
}

const PATHS: &[&str] =
    &["a.csv", ".h.csv", "b.json", "sub/a.csv", "sub/deep/a.csv", "sub/x", "A.CSV", "a.csv/x"];

#[test]
fn a_star_matches_within_one_folder() {
    assert_eq!(matching("*.csv", PATHS), ["a.csv", ".h.csv"]);
    assert_eq!(matching("sub/*", PATHS), ["sub/a.csv", "sub/x"]);
    assert_eq!(matching("?.csv", PATHS), ["a.csv"]);
    assert_eq!(matching("*/*.csv", PATHS), ["sub/a.csv"]);
}

#[test]
fn two_stars_match_across_folders() {
    assert_eq!(matching("**/*.csv", PATHS), ["a.csv", ".h.csv", "sub/a.csv", "sub/deep/a.csv"]);
    assert_eq!(matching("sub/**", PATHS), ["sub/a.csv", "sub/deep/a.csv", "sub/x"]);
    assert_eq!(matching("**", PATHS), PATHS);
}

#[test]
fn braces_are_alternatives() {
    assert_eq!(matching("{a,b}.{csv,json}", PATHS), ["a.csv", "b.json"]);
}

#[test]
fn ambiguous_patterns_are_refused() {
    for pattern in
        ["", "/etc/*", "../*", "a/../b", "./*", "a//b", "a/", "[ab]", "a\\*", "a**b", "{a", "a\nb"]
    {
        assert!(patterns(pattern).is_err(), "{pattern:?}");
    }
}

#[test]
fn folders_without_possible_matches_are_not_entered() {
    let reach =
        |pattern, folder| patterns(pattern).expect("a pattern").may_match_in(Path::new(folder));
    assert!(reach("*.csv", ""));
    assert!(!reach("*.csv", "sub"));
    assert!(reach("sub/*.csv", "sub"));
    assert!(!reach("sub/*.csv", "sub/deep"));
    assert!(reach("**/*.csv", "sub/deep/deeper"));
    assert!(reach("new/**", "") && reach("new/**", "new") && reach("new/**", "new/deep"));
    assert!(!reach("new/**", "other") && !reach("new/a/**", "new/b"));
    assert!(reach("{new,old}/**", "old"));
}

#[test]
fn patterns_are_combined_and_may_be_nested() {
    let both = Patterns::new([(Path::new(""), "*.md"), (Path::new("a{b}*/c"), "*.txt")])
        .expect("patterns");
    let is = |path: &str| both.matches(Path::new(path));
    assert!(is("x.md") && is("a{b}*/c/x.txt"));
    assert!(!is("x.txt") && !is("ab*/c/x.txt") && !is("a{b}x/c/x.txt") && !is("a{b}*/c/x.md"));
    assert!(both.may_match_in(Path::new("a{b}*/c")) && !both.may_match_in(Path::new("a{b}*/c/d")));
}

fn by_regex(pattern: &str, path: &str) -> Option<bool> {
    let regex = super::to_regex(pattern).ok()?;
    let regex = regex::Regex::new(&format!("^{regex}$")).expect("a regular expression");
    Some(regex.is_match(path))
}

#[test]
fn regular_expressions_match_the_same_paths() {
    for pattern in
        ["*.csv", "sub/*", "**", "**/*.csv", "sub/**", "sub/**/a.csv", "{a,b}.{csv,json}", "?.csv"]
    {
        let set = patterns(pattern).expect("a pattern");
        for path in PATHS {
            assert_eq!(
                by_regex(pattern, path),
                Some(set.matches(Path::new(path))),
                "{pattern} {path}"
            );
        }
    }
    assert_eq!(super::to_regex("a.b+(c)$"), Ok("a\\.b\\+\\(c\\)\\$".to_owned()));
    assert_eq!(super::escape_regex("/a b/[x]*"), "/a b/\\[x\\]\\*");
    assert!(super::to_regex("{a").is_err() && super::to_regex("../a").is_err());
}

proptest! {
    #[test]
    fn regular_expressions_match_the_same_generated_paths(
        pattern in "([ab*?.]{1,3}|\\*\\*)(/([ab*?.]{1,3}|\\*\\*)){0,3}",
        path in "[ab.]{1,3}(/[ab.]{1,3}){0,4}",
    ) {
        // These are not file names.
        prop_assume!(!path.split('/').any(|part| part == "." || part == ".."));
        let Ok(set) = patterns(&pattern) else { return Ok(()) };
        prop_assert_eq!(by_regex(&pattern, &path), Some(set.matches(Path::new(&path))));
    }

    /// Pruning never hides a match.
    #[test]
    fn pruning_never_hides_a_match(
        pattern in "([ab*?]{1,3}|\\*\\*)(/([ab*?]{1,3}|\\*\\*)){0,3}",
        path in "[ab]{1,3}(/[ab]{1,3}){0,4}",
    ) {
        let Ok(set) = patterns(&pattern) else { return Ok(()) };
        let path = Path::new(&path);
        if set.matches(path) {
            for folder in path.ancestors().skip(1) {
                prop_assert!(set.may_match_in(folder));
            }
        }
    }
}
