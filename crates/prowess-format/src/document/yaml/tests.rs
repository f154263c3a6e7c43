use super::{lane, parse_by_library};
use crate::diagnostic::Findings;
use crate::document::Document;

/// The fast lane may give up, but what it reads is what the library reads, places included.
fn agrees(text: &str) -> bool {
    let Some(fast) = lane::read(text, 0) else { return false };
    let mut findings = Findings::default();
    let slow = parse_by_library(text, 0, &mut findings);
    assert_eq!(slow, Ok(Some(fast)), "{text}");
    assert!(findings.into_sorted().is_empty(), "{text}");
    true
}

#[test]
fn the_fast_lane_reads_what_the_library_reads() {
    let taken = [
        "name: a\ndescription: Some text, with (many) characters, and no blank behind:this\n",
        "name: a\r\nversion: 1.0.0\r\n",
        "name: 'a b'\ntext: \"c d\"\n",
        "metadata:\n  author: x\n  nested:\n    deep: 1\nname: a\n",
        "tags:\n  - one\n  - two words\n",
        "tags:\n- one\n- two\nname: a\n",
        "inputs:\n  - name: a\n    type: text\n\n  - name: b\n",
        "tags: [a, b c, d-e]\nnone: []\n",
        "# a comment\nname: a\n\n  # another\nb: c#d\n",
        "name: ü 中文 🤖\n",
        "url: https://example.com/a?b=c\n",
        "a: x\nb:\n  - k: v\n    l:\n      - m\nc: d\n",
        "a: >\n  b\n",
        "a: |\n  b\n",
        "a: >-\n  b\n  c\n\n  d\n\n\n  e\nf: g\n",
        "a: |-\n  b\n\n  c \n\n\nd: e\n",
        "a: >\n\n  b\n  c: d, [e\n\n",
        "a: |\r\n  b\r\n\r\n  c\r\nd: e\r\n",
        "a: >\n  # b\n  c\n",
        "a: >\n  b\n  \n \nc: d\n",
        "a: [b, 'c', \"d e: f\" ]\n",
        "a: >\n  b",
        "a: >\n    b\n    c",
        "a:\n  b: >\n    c\n    d\n  e: f\n",
        "a:\n  - b: |\n      c\n    d: e\n  - f\n",
        "a: |\n  it's \"text\"\n  - b\n  - c\nd: e\n",
    ];
    for text in taken {
        assert!(agrees(text), "not taken: {text}");
    }
}

#[test]
fn the_fast_lane_leaves_the_rest_to_the_library() {
    let left = [
        "",
        "a",
        "- a\n- b: [c\n",
        "a: b: c\n",
        "a:\tb\n",
        "a: |\n  b\n    c\n",
        "a: >2\n   b\n",
        "a: >+\n  b\n\n",
        "a: >\n  b\n  # c\n# d\n",
        "a: >\n  b\n c: d\n",
        "a: >\n  b\n   \n",
        "a: >\nb: c\n",
        "a: > # b\n  c\n",
        "a: b\n  c\n",
        "a:\n",
        "a: 'it''s'\n",
        "a: \"b\\n\"\n",
        "a: b # c\n",
        "a: {b: c}\n",
        "a: &x b\n",
        "a: *x\n",
        "a: !t b\n",
        "a: 1\na: 2\n",
        "? a\n: b\n",
        "a: \u{2028}b\n",
        "  a: b\n",
        "a: b\n c: d\n",
        "a:\n  - - b\n",
        "--- \na: b\n",
        "a: [b, 'c, d']\n",
        "a: [b,]\n",
        "a: @b\n",
        "a: `b`\n",
        "a b: c\n",
        "\"a\": b\n",
        "a: -1\n",
        "a:b\n",
    ];
    for text in left {
        assert!(!agrees(text), "taken: {text}");
    }
}

#[test]
#[expect(clippy::print_stderr, clippy::disallowed_macros, reason = "a skipped test must be seen")]
fn the_fast_lane_agrees_on_every_fixture_and_corpus_file() {
    let named = |name: &str| name.to_lowercase().ends_with(".md");
    let mut files = prowess_testkit::files_below(&prowess_testkit::fixtures(), &named);
    match prowess_testkit::corpus() {
        Some(corpus) => files.extend(prowess_testkit::files_below(&corpus, &named)),
        None => eprintln!("SKIPPED 400 files: the corpus is missing beside the repository"),
    }
    let mut taken = 0;
    for file in &files {
        let bytes = prowess_testkit::bytes(file);
        let text = String::from_utf8_lossy(&bytes);
        let document = Document::markdown(&text, &mut Findings::default());
        taken += usize::from(agrees(document.yaml.slice(&text)));
    }
    // Not a promise of speed, but a lane that nobody takes would be dead code.
    assert!(taken * 2 > files.len(), "{taken} of {}", files.len());
}
