//! Which values a matcher matches ("Matcher patterns" of the reference).

use proptest::prelude::*;
use prowess_format::hook_events::HOOK_EVENTS;
use prowess_hooks::{MAX_MATCHER_BYTES, Matcher};

use crate::event;

#[test]
fn matchers_are_lists_of_names_or_patterns() {
    // Matcher, values that match, values that don't.
    let rows: &[(Option<&str>, &[&str], &[&str])] = &[
        (None, &["Bash", "mcp__x__y", ""], &[]),
        (Some(""), &["Bash"], &[]),
        (Some("*"), &["Bash"], &[]),
        (Some("Bash"), &["Bash"], &["bash", "BashOutput", "XBash"]),
        (Some("Edit|Write"), &["Edit", "Write"], &["NotebookEdit", "Edit|Write"]),
        (Some("Edit, Write"), &["Edit", "Write"], &["Edit, Write"]),
        (Some(" Edit | Write "), &["Edit", "Write"], &[" Edit "]),
        (Some("code-reviewer"), &["code-reviewer"], &["senior-code-reviewer"]),
        (Some("mcp__memory"), &["mcp__memory"], &["mcp__memory__create"]),
        (Some("mcp__memory__.*"), &["mcp__memory__create"], &["mcp__memory"]),
        (Some("mcp__.*__write.*"), &["mcp__a__write_file"], &["mcp__a__read"]),
        (Some("^Notebook"), &["NotebookEdit"], &["EditNotebook"]),
        (Some("Edit.*"), &["Edit", "NotebookEdit"], &["Write"]),
        (Some("^Edit$"), &["Edit"], &["NotebookEdit"]),
        (Some("(Bash|Edit)"), &["Bash", "NotebookEdit"], &["Write"]),
        (Some(r"\d\w+"), &["a1b"], &["ab", "1"]),
        (Some(r"a\/b"), &["a/b"], &["ab"]),
        (Some("^(?:my-plugin):reviewer$"), &["my-plugin:reviewer"], &["reviewer"]),
        (Some("grün"), &["grün"], &["grun"]),
    ];
    for (text, matching, others) in rows {
        let matcher = Matcher::of(event("PreToolUse"), *text);
        for value in *matching {
            assert_eq!(matcher.matches(value), Ok(true), "{text:?} {value}");
        }
        for value in *others {
            assert_eq!(matcher.matches(value), Ok(false), "{text:?} {value}");
        }
    }
}

#[test]
fn events_differ_in_what_a_matcher_means() {
    let rows = [
        // Events without matchers ignore them.
        ("Stop", "nothing", "anything", true),
        ("UserPromptSubmit", "^x$", "anything", true),
        ("SessionStart", "startup", "startup", true),
        ("SessionStart", "startup|resume", "clear", false),
        // Two events know `|` only: anything else makes a pattern.
        ("StopFailure", "rate_limit|overloaded", "overloaded", true),
        ("StopFailure", "rate-limit", "a rate-limit b", true),
        ("FileChanged", ".envrc|.env", "x.env", true),
        ("PreToolUse", "rate-limit", "a rate-limit b", false),
    ];
    for (name, text, value, expected) in rows {
        let matcher = Matcher::of(event(name), Some(text));
        assert_eq!(matcher.matches(value), Ok(expected), "{name} {text} {value}");
    }
}

#[test]
fn patterns_that_can_not_be_tested_in_linear_time_are_refused() {
    let long = "(".repeat(MAX_MATCHER_BYTES + 1);
    for text in ["(?=Bash)", "(?!Bash).*", r"(a)\1+", "(", "a{1000}{1000}", long.as_str()] {
        let matcher = Matcher::of(event("PreToolUse"), Some(text));
        assert!(matcher.matches("Bash").is_err(), "{text:.40}");
    }
}

proptest! {
    #[test]
    fn no_matcher_panics(text in any::<String>(), value in any::<String>()) {
        for event in HOOK_EVENTS {
            let matcher = Matcher::of(event, Some(&text));
            let _ = matcher.matches(&value);
        }
    }
}
