//! The document layer: bytes to front matter with places, and a body.

use std::borrow::Cow;
use std::fmt::Write as _;

use insta::assert_snapshot;
use prowess_format::diagnostic::{Findings, apply_edits};
use prowess_format::document::markdown::{self, Block};
use prowess_format::document::yaml::{Mapping, Node, YamlContent};
use prowess_format::document::{Document, FrontMatter};
use prowess_format::{ReadOptions, check, check_bytes};

use crate::{codes, problems, shown, skill};

const PLAIN: &str = "---\nname: tidy-desk\ndescription: Tidy a desk\n---\n\n# Desk\n\nKeep it.\n";

/// The front matter as JSON and the body, or why there is none.
fn taken_apart(text: &str) -> String {
    let document = Document::markdown(text, &mut Findings::default());
    let state = match document.front_matter {
        FrontMatter::Absent => "absent",
        FrontMatter::Read => "read",
        FrontMatter::Repaired => "repaired",
        FrontMatter::Broken => "broken",
    };
    format!("{state} {} | {:?}", document.root.to_json(), document.body_text())
}

// SRT-6-1 SRT-6-2 GIB-3.1-8
#[test]
fn a_bom_and_every_line_break_give_the_same_skill() {
    let expected = check(PLAIN, ReadOptions::DETECT).skill;
    for line_break in ["\n", "\r\n", "\r"] {
        for bom in ["", "\u{feff}"] {
            let text = format!("{bom}{}", PLAIN.replace('\n', line_break));
            let checked = check(&text, ReadOptions::DETECT);
            let expected_codes: &[&str] = if bom.is_empty() { &[] } else { &["byte-order-mark"] };
            assert_eq!(codes(&checked.diagnostics), expected_codes, "{text:?}");
            let mut skill = checked.skill;
            skill.body = skill.body.replace(line_break, "\n");
            assert_eq!(skill, expected, "{text:?}");
        }
    }
}

#[test]
fn only_the_first_bom_is_skipped() {
    assert_snapshot!(taken_apart(&format!("\u{feff}\u{feff}{PLAIN}")), @r#"absent {} | "\u{feff}---\nname: tidy-desk\ndescription: Tidy a desk\n---\n\n# Desk\n\nKeep it.\n""#);
}

// SRT-6-3 SRT-3.2-1
#[test]
fn a_fence_is_a_line_of_three_hyphens_at_its_start() {
    assert_snapshot!(taken_apart("---\nname: a\n---\nbody\n"), @r#"read {"name":"a"} | "body\n""#);
    assert_snapshot!(taken_apart("---\nname: a\n---"), @r#"read {"name":"a"} | """#);
    assert_snapshot!(taken_apart("---\nname: a\n----\nb: c\n---\nbody\n"), @r#"repaired {"name":"a ----","b":"c"} | "body\n""#);
    assert_snapshot!(taken_apart("----\nname: a\n----\nbody\n"), @r#"absent {} | "----\nname: a\n----\nbody\n""#);
    assert_snapshot!(taken_apart(" ---\nname: a\n---\nbody\n"), @r#"absent {} | " ---\nname: a\n---\nbody\n""#);
    assert_snapshot!(taken_apart("text\n---\nname: a\n---\n"), @r#"absent {} | "text\n---\nname: a\n---\n""#);
    assert_snapshot!(taken_apart("\n\n---\nname: a\n---\nbody\n"), @r#"read {"name":"a"} | "body\n""#);
    assert_snapshot!(taken_apart("\n---\nonly a rule\n---\nbody\n"), @r#"absent {} | "\n---\nonly a rule\n---\nbody\n""#);
    assert_snapshot!(taken_apart("\n---\n\nA rule, no front matter.\n"), @r#"absent {} | "\n---\n\nA rule, no front matter.\n""#);
}

// SRT-6-3 SRT-3.2-1
#[test]
fn fences_that_some_readers_miss_are_reported() {
    let body = "description: A desk\n---\nbody\n";
    assert_snapshot!(problems(&format!("---  \nname: a\n{body}")), @"1:4 warning fence-trailing-blanks trailing spaces after the fence `---`");
    assert_snapshot!(problems(&format!("---\nname: a\n{}", body.replace("---", "---\t"))), @"4:4 warning fence-trailing-blanks trailing spaces after the fence `---`");
    assert_snapshot!(problems(&format!("\n \n---\nname: a\n{body}")), @"1:1 warning blank-lines-before-fence blank lines before the front matter: Codex, Gemini CLI and OpenClaw drop this file");
}

// SRT-6-4
#[test]
fn an_unterminated_front_matter_is_refused_at_its_opening_fence() {
    assert_snapshot!(problems("---\nname: a\ndescription: b\n"), @r"
    1:1 error unterminated-front-matter the front matter is never closed
    4:1 warning empty-body the body is empty
    ");
    assert_snapshot!(problems("---\nname: a\ndescription: b\n ---\n\n# Body\n"), @"1:1 error unterminated-front-matter the front matter is never closed");
    assert_snapshot!(problems("---\nname: a\ndescription: b\n...\n\n# Body\n"), @"1:1 error unterminated-front-matter the front matter is never closed");
    assert_snapshot!(problems("---"), @"1:1 error unterminated-front-matter the front matter is never closed");
    assert_snapshot!(problems("---\n# Only a heading\n"), @"1:1 error unterminated-front-matter the front matter is never closed");
}

// SRT-6-5 AFL-2-1 AFL-2-3
#[test]
fn hyphens_inside_values_end_the_front_matter_only_at_the_start_of_a_line() {
    assert_snapshot!(taken_apart("---\nname: a\ndescription: |\n  one\n  ---\n  two\n---\nbody\n"), @r#"read {"name":"a","description":"one\n---\ntwo\n"} | "body\n""#);
    assert_snapshot!(taken_apart("---\nname: a\ndescription: |\n  one\n---\n  two\n---\nbody\n"), @r#"read {"name":"a","description":"one\n"} | "  two\n---\nbody\n""#);
    assert_snapshot!(taken_apart("---\nname: a\ndescription: \"x --- y\"\n---\nbody\n"), @r#"read {"name":"a","description":"x --- y"} | "body\n""#);
    assert_snapshot!(taken_apart("---\nname: '---'\n---\nbody\n---\nmore\n"), @r#"read {"name":"---"} | "body\n---\nmore\n""#);
}

/// Every key and value with the bytes that its span covers.
fn slices(text: &str) -> String {
    fn walk(node: &Node<'_>, path: &str, text: &str, out: &mut String) {
        let _ = writeln!(out, "{path} = {:?}", node.span.slice(text));
        match &node.content {
            YamlContent::Scalar(_) => {}
            YamlContent::Sequence(items) => {
                for (index, item) in items.iter().enumerate() {
                    walk(item, &format!("{path}[{index}]"), text, out);
                }
            }
            YamlContent::Mapping(mapping) => walk_entries(mapping, &format!("{path}."), text, out),
        }
    }
    fn walk_entries(mapping: &Mapping<'_>, prefix: &str, text: &str, out: &mut String) {
        for entry in &mapping.entries {
            let _ = writeln!(out, "{prefix}{} key {:?}", entry.key, entry.key_span.slice(text));
            walk(&entry.value, &format!("{prefix}{}", entry.key), text, out);
        }
    }
    let mut out = String::new();
    let document = Document::markdown(text, &mut Findings::default());
    walk_entries(&document.root, "", text, &mut out);
    out
}

#[test]
fn every_key_and_value_knows_its_bytes() {
    assert_snapshot!(slices("---\nname: überraschung # why\n'quoted': \"a \\\"b\\\"\"\nlist:\n  - one\n  - {x: 1, \"y\": [2]}\nempty:\nblock: >-\n  folded\n  text\nlast: 😀\n---\n"), @r#"
    name key "name"
    name = "überraschung"
    quoted key "'quoted'"
    quoted = "\"a \\\"b\\\"\""
    list key "list"
    list = "one\n  - {x: 1, \"y\": [2]}"
    list[0] = "one"
    list[1] = "{x: 1, \"y\": [2]}"
    list[1].x key "x"
    list[1].x = "1"
    list[1].y key "\"y\""
    list[1].y = "[2]"
    list[1].y[0] = "2"
    empty key "empty"
    empty = ""
    block key "block"
    block = "folded\n  text\n"
    last key "last"
    last = "😀"
    "#);
}

#[test]
fn spans_are_exact_behind_a_bom_and_crlf() {
    assert_snapshot!(slices("\u{feff}---\r\nname: a\r\nmap:\r\n  key: ü\r\n---\r\n"), @r#"
    name key "name"
    name = "a"
    map key "map"
    map = "key: ü"
    map.key key "key"
    map.key = "ü"
    "#);
}

#[test]
fn spans_of_repaired_entries_point_into_the_author_s_text() {
    assert_snapshot!(slices("---\nname: a\ndescription: Use when: always\nlicense: MIT\n---\n"), @r#"
    name key "name"
    name = "a"
    description key "description"
    description = "Use when: always"
    license key "license"
    license = "MIT"
    "#);
}

// NEG-11
#[test]
fn duplicate_keys_are_errors_at_the_second_key() {
    assert_snapshot!(problems("---\nname: a\ndescription: b\nname: c\n---\nbody\n"), @"4:1 error duplicate-key `name` is given twice");
    assert_snapshot!(problems("---\nname: a\ndescription: b\nmetadata: {x: 1, 'x': 2}\n---\nbody\n"), @"4:18 error duplicate-key `x` is given twice");
    assert_snapshot!(problems("---\nname: a\ndescription: when: x\nname: c\n---\nbody\n"), @r"
    3:14 warning repaired-yaml a value with a special character must be quoted
    4:1 error duplicate-key `name` is given twice
    ");
}

/// How many values the tree of a document holds.
fn size(mapping: &Mapping<'_>) -> usize {
    fn nodes(node: &Node<'_>) -> usize {
        1 + match &node.content {
            YamlContent::Scalar(_) => 0,
            YamlContent::Sequence(items) => items.iter().map(nodes).sum(),
            YamlContent::Mapping(mapping) => size(mapping),
        }
    }
    mapping.entries.iter().map(|entry| nodes(&entry.value)).sum()
}

/// The codes that a document is refused with, and the size of what was kept of it.
fn refused(text: &str) -> (Vec<&'static str>, usize) {
    let checked = check(text, ReadOptions::DETECT);
    assert_eq!(checked.document.front_matter, FrontMatter::Broken);
    assert!(!checked.is_skill());
    assert!(checked.diagnostics.len() < 10);
    (codes(&checked.diagnostics), size(&checked.document.root))
}

// NEG-13
#[test]
fn alias_bombs_are_refused_before_they_grow() {
    let mut lists = String::from("---\nname: bomb\nl0: &l0 [x, x, x, x, x, x, x, x, x]\n");
    let mut maps = String::from("---\nname: bomb\nm0: &m0 {a: x, b: x, c: x, d: x}\n");
    for level in 1..30 {
        let below = level - 1;
        let aliases = vec![format!("*l{below}"); 9].join(", ");
        let _ = writeln!(lists, "l{level}: &l{level} [{aliases}]");
        let _ = writeln!(maps, "m{level}: &m{level} {{a: *m{below}, b: *m{below}, c: *m{below}}}");
    }
    for bomb in [lists, maps] {
        assert_eq!(refused(&format!("{bomb}---\nbody\n")), (vec!["yaml-limit"], 0));
    }
    assert_eq!(refused("---\na: &a [*a]\n---\n").1, 0);
}

// NEG-13
#[test]
fn front_matter_of_ten_megabytes_is_refused_unread() {
    let value = "x".repeat(10 << 20);
    let keys = "key: value\n".repeat((10 << 20) / 11);
    let list = format!("list:\n{}", "  - x\n".repeat((10 << 20) / 6));
    for yaml in [format!("name: big\ndescription: {value}\n"), keys, list] {
        let text = format!("---\n{yaml}---\nbody\n");
        assert_eq!(refused(&text), (vec!["yaml-limit"], 0));
    }
    let huge = format!("---\nname: a\n---\n{}", "x".repeat(17 << 20));
    assert_eq!(refused(&huge), (vec!["file-too-large"], 0));
}

// NEG-13
#[test]
fn deep_nesting_is_refused() {
    let flow = format!("deep: {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    let maps = format!("deep: {}\n", "{a: ".repeat(10_000));
    let block: String = (0..300).fold(String::new(), |mut text, depth| {
        let _ = writeln!(text, "{}k:", " ".repeat(depth));
        text
    });
    for yaml in [flow, maps, block] {
        let text = format!("---\n{yaml}---\nbody\n");
        assert_eq!(refused(&text), (vec!["yaml-limit"], 0));
    }
    let fine = format!(
        "---\nname: a\ndescription: b\nmetadata: {}{}\n---\nbody\n",
        "[".repeat(40),
        "]".repeat(40)
    );
    assert!(check(&fine, ReadOptions::DETECT).is_skill());
}

/// Front matter that is not YAML, and what its author meant.
const REPAIRS: &[(&str, &str)] = &[
    ("description: Use when: always", "Use when: always"),
    ("description: Ends with a colon:", "Ends with a colon:"),
    ("description: @scope is not special", "@scope is not special"),
    ("description: *every* desk", "*every* desk"),
    ("description: `code` first", "`code` first"),
    ("description: %d desks", "%d desks"),
    ("description: \"quoted\" and more", "\"quoted\" and more"),
    ("description: 'it's a desk'", "it's a desk"),
    ("description: \"never closed", "never closed"),
    ("description: Tidy: one\n  and: two", "Tidy: one and: two"),
];

// OC-6 OC-3
#[test]
fn every_repair_carries_the_fix_that_makes_it_yaml_with_the_same_value() {
    for (written, meant) in REPAIRS {
        let text = format!("---\nname: a\n{written}\nlicense: MIT\n---\n\nbody\n");
        let checked = check(&text, ReadOptions::DETECT);
        assert_eq!(checked.document.front_matter, FrontMatter::Repaired, "{written}");
        let description = checked.skill.description.clone().map(|text| text.value);
        assert_eq!(description.as_deref(), Some(*meant), "{written}");
        assert_eq!(checked.skill.license.as_ref().map(|text| text.as_str()), Some("MIT"));
        assert_eq!(codes(&checked.diagnostics), ["repaired-yaml"], "{written}");
        let edits: Vec<_> = checked
            .diagnostics
            .iter()
            .filter_map(|diagnostic| diagnostic.fix.as_ref())
            .flat_map(|fix| fix.edits.clone())
            .collect();
        let fixed = apply_edits(&text, &edits);
        let again = check(&fixed, ReadOptions::DETECT);
        assert_eq!(again.document.front_matter, FrontMatter::Read, "{fixed}");
        assert_eq!(again.diagnostics, [], "{fixed}");
        assert_eq!(again.skill, checked.skill, "{fixed}");
    }
}

// OC-6
#[test]
fn a_repair_says_what_to_write() {
    assert_snapshot!(problems("---\nname: a\ndescription: Use when: always\n---\n\nbody\n"), @"3:14 warning repaired-yaml a value with a special character must be quoted");
    assert_snapshot!(problems("---\nname: a\ndescription: b\nmetadata:\n\tteam: desk\n---\n\nbody\n"), @"5:1 warning repaired-yaml a tab can't indent YAML");
    assert_snapshot!(problems("---\nname: a\ndescription: b\nallowed-tools: [Read, Grep\n---\n\nbody\n"), @r"
    4:16 info nonstandard-value `allowed-tools` is a list; the open standard requires text
    4:27 warning repaired-yaml a bracket is never closed
    ");
    assert_snapshot!(problems("---\nname: a\ndescription: b\nmetadata: {team: desk, // who\n  mode: quiet}\n---\n\nbody\n"), @"4:24 warning repaired-yaml a comment in YAML begins with `#`");
    assert_snapshot!(problems("---\nname: a\ndescription: b\nmetadata: '{\"team\": \"desk\"}'\n---\n\nbody\n"), @"4:11 warning repaired-yaml `metadata` is a quoted map, which most readers treat as text");
}

#[test]
fn nothing_readable_is_an_error_and_no_skill() {
    let text = "---\n[{name: a, tools: [\n---\nbody\n";
    assert_snapshot!(problems(text), @"2:19 error invalid-yaml unclosed bracket '['");
    assert!(!check(text, ReadOptions::DETECT).is_skill());
}

#[test]
fn tags_of_yaml_s_own_schema_count_and_others_are_reported() {
    assert_snapshot!(taken_apart("---\nname: !!str 12\nlist: !!seq [1]\n---\n"), @r#"read {"name":"12","list":[1]} | """#);
    assert_snapshot!(problems("---\nname: a\ndescription: !important Tidy\n---\n\nbody\n"), @"3:25 warning unknown-tag the tag `!important` has no effect");
}

fn byte_problems(bytes: &[u8]) -> String {
    let mut text = Cow::Borrowed("");
    let checked = check_bytes(bytes, &mut text, ReadOptions::DETECT);
    shown(checked.document.text, &checked.diagnostics, false)
}

#[test]
fn bytes_that_are_not_utf8_are_a_finding_with_a_place() {
    assert_snapshot!(byte_problems(b"---\nname: a\ndescription: caf\xe9\n---\n\nbody\n"), @"3:17 error invalid-utf8 byte 28 is not UTF-8");
    assert_snapshot!(byte_problems(b"---\nname: a\ndescription: b\n---\n\n\xc0\xaf\xed\xa0\x80\n"), @"6:1 error invalid-utf8 byte 32 is not UTF-8");
    assert_snapshot!(byte_problems(b"\xff\xfe-\0-\0-\0\n\0"), @"1:1 error invalid-utf8 byte 0 is not UTF-8");
    assert_snapshot!(byte_problems(b"\x80"), @"1:1 error invalid-utf8 byte 0 is not UTF-8");
}

/// The blocks of a body, each with its bytes.
fn blocks(text: &str) -> String {
    markdown::blocks(text, 0).iter().fold(String::new(), |mut out, block| {
        let _ = match block {
            Block::Heading { level, text, .. } => writeln!(out, "h{level} {text}"),
            Block::Code { info, content, .. } => {
                writeln!(out, "code {info} {:?}", content.slice(text))
            }
            Block::Table { header, rows, .. } => {
                let cells = |cells: &[markdown::TableCell]| {
                    let shown = cells
                        .iter()
                        .map(|cell| format!("{}={:?}", cell.text, cell.span.slice(text)));
                    shown.collect::<Vec<_>>().join(" ")
                };
                let rows: Vec<String> = rows.iter().map(|row| cells(row)).collect();
                writeln!(out, "table {} / {}", cells(header), rows.join(" / "))
            }
            Block::Text { text, .. } => writeln!(out, "text {text}"),
        };
        out
    })
}

// GIB-3.1-6
#[test]
fn the_body_is_commonmark_with_places() {
    assert_snapshot!(blocks("# *One* `two`\n\nSome\ntext\n\n```bash\n### not a heading\n```\n\n| A | B |\n|---|---|\n| `x` | a\\|b |\n\n~~~\nplain\n~~~\n\nTwo\n---\n"), @r####"
    h1 One two
    text Some text
    code bash "### not a heading\n"
    table A="A" B="B" / x="`x`" a|b="a\\|b"
    code  "plain\n"
    h2 Two
    "####);
}

/// What safe fixes make of a front matter, and what they leave to a person.
fn safely_fixed(yaml: &str) -> String {
    let text = format!("---\n{yaml}---\n\nBody\n");
    let found = check(&text, ReadOptions::DETECT).diagnostics;
    let safe = found.iter().filter_map(|found| found.fix.as_ref());
    let safe = safe.filter(|fix| fix.safety == prowess_format::diagnostic::FixSafety::Safe);
    let edits: Vec<_> = safe.flat_map(|fix| fix.edits.clone()).collect();
    let fixed = prowess_format::diagnostic::apply_edits(&text, &edits);
    fixed.trim_start_matches("---\n").trim_end_matches("---\n\nBody\n").to_owned()
}

#[test]
fn a_fix_that_decides_what_belongs_together_is_never_applied_unasked() {
    let untouched = [
        // A field below a value was meant to stand beside it.
        "name: tab\n\tdescription: foo\n",
        "name: a\n  description: b: c\n",
        // A list that begins on the line of its key.
        "name: a\nallowed-tools: - Read\n- Write\n",
        // Both sides of a merge.
        "name: a\n<<<<<<< ours\ndescription: b\n=======\ndescription: c: d\n>>>>>>> theirs\n",
        // A block whose lines are not indented.
        "name: a\ndescription: >\n  Use\n tags: bad\n",
        "name: a\ndescription: One line\nand another\n",
    ];
    for yaml in untouched {
        assert_eq!(safely_fixed(yaml), yaml);
    }
    assert_eq!(safely_fixed("name: a\ndescription: b: c\n"), "name: a\ndescription: \"b: c\"\n");
}

#[test]
fn fields_next_to_broken_ones_are_still_read() {
    let read = |yaml: &str| {
        let text = format!("---\n{yaml}---\n\nBody\n");
        let skill = skill(&text);
        let tools: Vec<String> =
            skill.allowed_tools.iter().map(|tool| tool.value.clone()).collect();
        let description = skill.description.as_ref().map(|text| text.value.clone());
        format!("{:?} {description:?} {tools:?}", skill.name_text())
    };
    insta::assert_snapshot!(read("name: tab\n\tdescription: foo\n"), @r#"Some("tab") Some("foo") []"#);
    insta::assert_snapshot!(read("name: a\ndescription: b\nallowed-tools: - Read\n- Write\n"), @r#"Some("a") Some("b") ["Read", "Write"]"#);
    insta::assert_snapshot!(read("name: a\n<<<<<<< ours\ndescription: b\n=======\ndescription: c\n>>>>>>> theirs\n"), @r#"Some("a") Some("c") []"#);
}
