//! Fixing never makes a file worse.

use insta::assert_snapshot;
use proptest::prelude::*;
use prowess_format::diagnostic::{FixSafety, Severity};
use prowess_format::document::FrontMatter;
use prowess_format::fix::fix;
use prowess_format::{Checked, ReadOptions, check};

fn fixed(text: &str, least: FixSafety) -> String {
    fix(text, ReadOptions::DETECT, least, &|_| false)
        .map_or_else(|| text.to_owned(), |fixed| fixed.text)
}

/// The front matter after `--fix`, and after `--unsafe-fixes` where that differs.
fn both(front_matter: &str) -> String {
    let text = format!("---\n{front_matter}---\n\nText\n");
    let safe = fixed(&text, FixSafety::Safe);
    let likely = fixed(&text, FixSafety::Suggested);
    let shown =
        |text: &str| text.split("---\n").nth(1).unwrap_or_default().escape_debug().to_string();
    if safe == likely {
        shown(&safe)
    } else {
        format!("{}\nunsafe: {}", shown(&safe), shown(&likely))
    }
}

#[test]
fn emoji_and_scripts_keep_their_joiners() {
    for text in [
        "name: desk\ndescription: Tidy 👨\u{200d}👩\u{200d}👧 desks\n",
        "name: desk\ndescription: Tidy 🏳\u{fe0f}\u{200d}🌈 desks\n",
        "name: desk\ndescription: می\u{200c}خواهم\n",
        "name: desk\ndescription: 🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}\n",
    ] {
        let text = format!("---\n{text}---\n\nText\n");
        assert_eq!(fixed(&text, FixSafety::Suggested), text);
        assert_eq!(crate::problems(&text), "", "{text}");
    }
    let hidden = "---\nname: desk\ndescription: Tidy\u{200d} a\u{200b} desk\n---\n\nText\n";
    assert_eq!(fixed(hidden, FixSafety::Safe), hidden.replace(['\u{200d}', '\u{200b}'], ""));
}

#[test]
fn stray_quotes_brackets_and_spaces_are_not_made_worse() {
    assert_snapshot!(both("name: \"desk\"\"\ndescription: x\n"));
    assert_snapshot!(both("name: desk\ndescription: \"\"Tidy a desk\"\n"));
    assert_snapshot!(both("name: desk\ndescription: “a” or “b”\n"));
    assert_snapshot!(both("name: desk\ndescription: “Tidy a desk”\n"));
    assert_snapshot!(both("name: desk\ndescription: x\nmetadata: {\"a\": 1,, \"b\"}\n"));
    assert_snapshot!(both("name: desk\ndescription: x\nmetadata: {\"a\": {\"b\": 1}\n"));
    assert_snapshot!(both("name: desk\ndescription: x\ntags: [a, b]]\n"));
    assert_snapshot!(both("name: desk\ndescription: x\nargument-hint: [file] [place]\n"));
    assert_snapshot!(both("name:\u{a0}desk\ndescription: x\n"));
    assert_snapshot!(both("name: desk\ndescription: x\nmetadata:\n\u{a0}\u{a0}a: b\n"));
    assert_snapshot!(both("name: desk\ndescription: x\nmetadata: '{\"a\": 1, \"a\": 2}'\n"));
    assert_snapshot!(both("name: desk\ndescription: 'it's a desk'\n"));
}

/// How well a text is read.
fn ease(checked: &Checked<'_>) -> u8 {
    match checked.document.front_matter {
        FrontMatter::Broken => 0,
        FrontMatter::Absent => 1,
        FrontMatter::Repaired => 2,
        FrontMatter::Read => 3,
    }
}

/// Front matter of mistakes that people make.
fn broken() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        "name: desk\n",
        "description: Use: this\n",
        "description: \"a\"\" b\n",
        "tags: [a, b\n",
        "metadata: {\"a\": 1, \"a\": 2}\n",
        "metadata: '{\"a\": 1, \"a\": 2}'\n",
        "name:\u{a0}x\n",
        "\u{a0}\u{a0}a: b\n",
        "\tb: c\n",
        "description: “x”\n",
        "description: 'it's'\n",
        "- a\n",
        "description: \u{200d}x\u{200b}\n",
        "metadata: {a: {b: 1}\n",
        "license: {x\n",
        "---\n",
        "----\n",
        "\n",
        "user-invocable: yes\n",
        "name: 'a\"\n",
        "x: // c\n",
        "a:b\n",
        "# c\n",
        "description: >\n  x\n",
        "  y: z: q\n",
        "```\n",
        "+++\n",
        "Text: here\n",
        "\u{feff}",
        "hooks:\n",
        "  Stop: [\n",
        "version: 1.0\n",
        "\"name\": desk\n",
    ];
    let piece = prop::sample::select(PIECES);
    (any::<bool>(), prop::collection::vec(piece, 0..8)).prop_map(|(fenced, pieces)| {
        let text = pieces.concat();
        if fenced { format!("---\n{text}---\n\nText\n") } else { text }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    /// After fixing there is no new error, the text is read at least as well, and no key is lost.
    #[test]
    fn a_fix_makes_nothing_worse(text in broken(), likely in any::<bool>()) {
        let least = if likely { FixSafety::Suggested } else { FixSafety::Safe };
        let Some(after) = fix(&text, ReadOptions::DETECT, least, &|_| false) else { return Ok(()) };
        let before = check(&text, ReadOptions::DETECT);
        let checked = check(&after.text, ReadOptions::DETECT);
        prop_assert!(ease(&checked) >= ease(&before), "{text:?}\n{:?}", after.text);
        let errors = |checked: &Checked<'_>| {
            let errors = checked.diagnostics.iter().filter(|found| found.severity == Severity::Error);
            errors.map(|found| found.rule.name).collect::<Vec<_>>()
        };
        if ease(&before) >= 2 {
            let known = errors(&before);
            for rule in errors(&checked) {
                prop_assert!(known.contains(&rule), "{rule} is new:\n{text:?}\n{:?}", after.text);
            }
            let keys = checked.document.root.entries.len();
            prop_assert!(keys >= before.document.root.entries.len().min(1), "{:?}", after.text);
        } else {
            prop_assert!(!errors(&checked).contains(&"duplicate-key") || errors(&before).contains(&"duplicate-key"));
        }
    }
}
