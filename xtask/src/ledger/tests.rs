//! The ledger on small texts: no disk, no workspace.

use std::collections::BTreeSet;

use super::entry_points::{self, EntryPoint, Way};
use super::product::Product;
use super::requirements::{Status, parse, with_statuses};
use super::rust_tests::test_functions;
use super::scan::{Scan, ids};
use super::{by_test, open_rows, problems, summary};

const LEDGER: &str = "\
# Ledger

Words before the tables.

## GIB (000)
| ID | Status | Requirement | Spec § | Note |
|---|---|---|---|---|
| GIB-1.1-1 | open | A skill is one file. | 1.1 | |
| GIB-1.1-2 | covered | `a \\|\\| b` is literal. | 1.1 | R10 |

## NEG (defects)
| ID | Status | Requirement | Where |
|---|:-:|---|---|
| NEG-1 |open| Never leaves the store. | é |
";

fn groups() -> BTreeSet<String> {
    ["GIB", "NEG", "SKL"].map(str::to_owned).into()
}

/// Each ID a Rust file names, with the test that names it; `-` outside a running test.
fn named(source: &str) -> Vec<String> {
    let mut scan = Scan::default();
    scan.add_rust("crates/a/tests/it/main.rs", source, &groups());
    scan.judge(&Product::default(), &reaching_everything());
    let mut named = Vec::new();
    for (id, mentions) in &scan.in_tests {
        for mention in mentions {
            named.push(format!("{id} {}", mention.test.as_deref().unwrap_or("?")));
        }
    }
    named.extend(scan.elsewhere.keys().map(|id| format!("{id} -")));
    named
}

fn scan_of(source: &str) -> Scan {
    let mut scan = Scan::default();
    scan.add_rust("crates/a/tests/it/main.rs", source, &groups());
    scan.judge(&Product::default(), &reaching_everything());
    scan
}

/// Every test has its own `fn` in it.
fn reaching_everything() -> Vec<EntryPoint> {
    entry_points::parse("a\tfn\tbinary\teverything").unwrap()
}

#[test]
fn reads_rows_with_group_status_text_and_line() {
    let ledger = parse(LEDGER).unwrap();
    let rows: Vec<String> = ledger
        .rows
        .iter()
        .map(|row| format!("{}:{} {} {:?} {}", row.line, row.group, row.id, row.status, row.text))
        .collect();
    assert_eq!(
        rows,
        [
            "8:GIB GIB-1.1-1 Open A skill is one file.",
            "9:GIB GIB-1.1-2 Covered `a || b` is literal.",
            "14:NEG NEG-1 Open Never leaves the store.",
        ]
    );
}

#[test]
fn refuses_a_ledger_it_cannot_trust() {
    let refused =
        |from: &str, to: &str| format!("{:#}", parse(&LEDGER.replace(from, to)).unwrap_err());
    assert_eq!(
        refused("| covered |", "| done |"),
        "line 9: `done` is not a status; expected `covered` or `open`"
    );
    assert_eq!(refused("GIB-1.1-2", "GIB-1.1-1"), "line 9: `GIB-1.1-1` is there twice");
    assert_eq!(refused("| NEG-1 ", "| OC-1 "), "line 14: `OC-1` stands below the heading `NEG`");
    assert_eq!(
        refused("Status", "State"),
        "there is no table with the columns `ID`, `Status` and `Requirement`"
    );
}

#[test]
fn rewriting_statuses_keeps_every_other_byte() {
    let status = |id: &str| if id == "GIB-1.1-2" { Status::Open } else { Status::Covered };
    let expected = LEDGER
        .replace("| GIB-1.1-1 | open |", "| GIB-1.1-1 | covered |")
        .replace("| GIB-1.1-2 | covered |", "| GIB-1.1-2 | open |")
        .replace("| NEG-1 |open|", "| NEG-1 | covered |");
    let updated = with_statuses(LEDGER, status);
    assert_eq!(updated, expected);
    assert_eq!(with_statuses(&updated, status), updated);
    let windows = LEDGER.replace('\n', "\r\n");
    assert_eq!(with_statuses(&windows, status), expected.replace('\n', "\r\n"));
}

#[test]
fn an_id_is_a_whole_word_that_ends_in_a_number() {
    let found = |text: &str| {
        ids(text, &groups()).into_iter().map(|(_, id)| id.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        found("GIB-1.1-1, (NEG-13). SKL-L4-10: SKL-TPL-1"),
        ["GIB-1.1-1", "NEG-13", "SKL-L4-10", "SKL-TPL-1"]
    );
    assert_eq!(found("GIB-1.1-12 is not the first"), ["GIB-1.1-12"]);
    assert_eq!(found("\"GIB-3.4-1\" 'NEG-2' `NEG-3`"), ["GIB-3.4-1", "NEG-2", "NEG-3"]);
    assert!(
        found("GIB-3.4 GIB 3 UTF-8 SHA-256 XNEG-1 A-NEG-1 NEG-1x NEG-1_a NEG-1..3 gib-1.1-1 NEG-")
            .is_empty()
    );
}

#[test]
fn a_test_names_ids_in_its_body_comments_and_attributes() {
    let source = r#"
/// Covers GIB-1.1-1.
// And NEG-1 as well.
#[test]
#[doc = "SKL-1"]
fn first() { assert!(true, "GIB-1.1-2"); /* NEG-2 */ }

#[tokio::test(flavor = "current_thread")]
pub async fn second() -> Result<(), Box<dyn Error>> { check("NEG-3")?; Ok(()) }
"#;
    assert_eq!(
        named(source),
        [
            "GIB-1.1-1 first",
            "GIB-1.1-2 first",
            "NEG-1 first",
            "NEG-2 first",
            "NEG-3 second",
            "SKL-1 first"
        ]
    );
}

#[test]
fn tests_inside_modules_and_proptest_blocks_count() {
    let source = r#"
#[cfg(test)]
mod tests {
    proptest! {
        #![proptest_config(Config::default())]
        /// NEG-13
        #[test]
        fn never_panics(text in "\\PC{0,64}", count in 0..{ LIMIT }) { parse(&text); }
    }
    #[test]
    fn inner() { let c = '"'; let l: &'static str = "}"; let n = '\''; check("GIB-8-1"); }
}
"#;
    assert_eq!(named(source), ["GIB-8-1 inner", "NEG-13 never_panics"]);
}

#[test]
fn helpers_ignored_tests_and_quoted_code_do_not_count() {
    let source = r##"
//! GIB-1.1-1 is the subject of this file.

// NEG-1: a heading that an empty line parts from the test.

#[test]
fn real() {}

/// NEG-2
fn helper() {}

#[test]
#[ignore = "slow"]
fn ignored() { check("NEG-3"); }

const TEXT: &str = r#"#[test] fn fake() { "NEG-4" }"#;

#[cfg(test)]
fn not_a_test() { check("NEG-5"); }
"##;
    assert_eq!(
        named(source),
        ["GIB-1.1-1 -", "NEG-1 -", "NEG-2 -", "NEG-3 -", "NEG-4 -", "NEG-5 -"]
    );
}

#[test]
fn a_folder_of_a_fixture_is_no_mention() {
    let source = r#"
#[test]
fn opens_a_fixture() { check("edge/NEG-1/case/SKILL.md"); check("neg/NEG-2-{case}/x"); covers("NEG-3"); }
"#;
    assert_eq!(named(source), ["NEG-3 opens_a_fixture"]);
}

#[test]
fn broken_source_is_read_to_its_end() {
    for source in [
        "#[test] fn a(",
        "#[test",
        "#",
        "fn",
        "/* /*",
        "r#\"",
        "'",
        "\"\\",
        "#[test] fn é() { 'é' \"",
        "'é",
    ] {
        test_functions(source);
    }
    assert_eq!(named("#[test] fn open_ended() { \"NEG-1\""), ["NEG-1 open_ended"]);
}

#[test]
fn case_files_name_ids_anywhere() {
    let mut scan = Scan::default();
    scan.add_case(
        "crates/a/tests/it/cases/names.toml",
        "# x\ncovers = [\"GIB-1.1-1\"]\n",
        &groups(),
    );
    assert_eq!(scan.in_tests["GIB-1.1-1"][0].to_string(), "crates/a/tests/it/cases/names.toml:2");
}

#[test]
fn a_ledger_that_agrees_has_no_problems() {
    let scan = scan_of("#[test] fn literal() { \"GIB-1.1-2\" }");
    assert!(problems(&parse(LEDGER).unwrap(), &scan).is_empty());
}

#[test]
fn every_disagreement_is_a_problem() {
    let scan = scan_of("/// GIB-1.1-2\nfn helper() {}\n#[test]\nfn late() { \"NEG-1 NEG-99\" }");
    let problems = problems(&parse(LEDGER).unwrap(), &scan);
    let first_lines: Vec<&str> =
        problems.iter().filter_map(|problem| problem.lines().next()).collect();
    assert_eq!(
        first_lines,
        [
            "conformance/requirements.md:9: `GIB-1.1-2` is marked `covered`, but no test names it; it is named outside a running test in crates/a/tests/it/main.rs:1",
            "conformance/requirements.md:14: `NEG-1` is marked `open`, but crates/a/tests/it/main.rs:4 late names it",
            "crates/a/tests/it/main.rs:4 late names `NEG-99`, which is not in the ledger",
        ]
    );
}

#[test]
fn the_views_follow_the_tests() {
    let ledger = parse(LEDGER).unwrap();
    let scan = scan_of("#[test] fn literal() { \"GIB-1.1-2\" }");
    let rows: Vec<_> = ledger.rows.iter().collect();
    assert_eq!(
        summary(&rows, &scan),
        "  group  covered  open  rows
  GIB          1     1     2  ██████████░░░░░░░░░░
  NEG          0     1     1  ░░░░░░░░░░░░░░░░░░░░
  total        1     2     3  ██████░░░░░░░░░░░░░░
"
    );
    assert_eq!(
        open_rows(&rows, &scan),
        "GIB-1.1-1    A skill is one file.\nNEG-1        Never leaves the store.\n\n2 of 3 rows open\n"
    );
    assert_eq!(
        by_test(&rows, &scan),
        "GIB-1.1-2 `a || b` is literal.\n    crates/a/tests/it/main.rs:1 literal\n"
    );
}

const LIBRARY: &str = r"
/// Calls `helper`.
pub fn check() { private() }
pub const fn helper() {}
pub struct Forgotten { pub field: u8 }
impl Forgotten { pub fn new() -> Self { loop {} } }
pub const SHOWN: u8 = 1;
pub(crate) fn inside() {}
pub mod shelf {}
#[cfg(test)]
mod tests { use super::*; #[test] fn t() { helper(); Forgotten::new(); } }
#[cfg(not(test))]
pub fn shipped() {}
";

fn product() -> Product {
    let mut product = Product::default();
    product.add("a", "crates/a/src/lib.rs", LIBRARY);
    product.add(
        "b",
        "crates/b/src/main.rs",
        r#"use a::{check, helper}; fn main() { a::check(); shipped(); println!("{SHOWN}") }"#,
    );
    product
}

#[test]
fn items_that_only_tests_use_are_found() {
    let product = product();
    let names: Vec<(&str, usize)> =
        product.for_tests_only().map(|item| (item.name.as_str(), item.line)).collect();
    assert_eq!(names, [("helper", 4), ("Forgotten", 5), ("new", 6)]);
    assert!(product.is_used_outside("a", "check") && !product.is_used_outside("b", "check"));
}

/// Whether the tests of a source count, or why not.
fn judged(file: &str, source: &str) -> String {
    let entries = "a\tcheck\tproduct\tit is one\na\tclock\ttest\tno waiting\n";
    let mut scan = Scan::default();
    scan.add_rust(file, source, &groups());
    scan.add_rust(
        "crates/a/tests/it/main.rs",
        "fn through() { deeper() } fn deeper() { a::check() }",
        &groups(),
    );
    scan.judge(&product(), &entry_points::parse(entries).unwrap());
    match scan.unreached.get("NEG-1") {
        Some(tests) => tests[0].1.clone(),
        None => format!("counts {}", scan.in_tests.contains_key("NEG-1")),
    }
}

#[test]
fn a_test_counts_only_when_it_reaches_the_product() {
    let test = |body: &str| format!("// NEG-1\n#[test]\nfn t() {{ {body} }}");
    let there = "crates/a/tests/it/names.rs";
    assert_eq!(judged(there, &test("check()")), "counts true");
    assert_eq!(judged(there, &test("through()")), "counts true");
    assert_eq!(judged(there, &test("\"check\"")), "it reaches no entry point of a");
    assert_eq!(judged(there, &test("clock()")), "it reaches no entry point of a");
    assert_eq!(
        judged(there, &test("check(); helper()")),
        "it calls `helper`, which only tests use"
    );
    assert_eq!(
        judged("crates/a/src/names.rs", &test("check()")),
        "it is a unit test, and those reach parts of a crate"
    );
    assert_eq!(
        judged("crates/b/tests/it/names.rs", &test("check()")),
        "it reaches no entry point of b"
    );
}

#[test]
fn a_row_without_a_test_that_counts_is_a_problem() {
    let mut scan = Scan::default();
    scan.add_rust("crates/a/src/lib.rs", "// GIB-1.1-2\n#[test]\nfn t() { check() }", &groups());
    scan.judge(&product(), &[]);
    assert_eq!(scan.status("GIB-1.1-2"), Status::Open);
    assert_eq!(
        problems(&parse(LEDGER).unwrap(), &scan),
        [
            "conformance/requirements.md:9: `GIB-1.1-2` is marked `covered`, but crates/a/src/lib.rs:1 t does not count: it is a unit test, and those reach parts of a crate"
        ]
    );
}

#[test]
fn entry_points_have_to_be_true() {
    let text = "# why\na\tcheck\tproduct\tfine\na\thelper\tproduct\tx\na\tgone\ttest\tx\na\tSHOWN\tdocs/api.md\tx\na\tshipped\tdocs/api.md\tx\n";
    let entries = entry_points::parse(text).unwrap();
    assert_eq!(entries[3].way, Way::Documented("docs/api.md".to_owned()));
    let pages = [("docs/api.md".to_owned(), "`shipped` is for you".to_owned())].into();
    assert_eq!(
        entry_points::problems(&entries, &product(), &pages),
        [
            "line 3: no code outside of a uses `helper`",
            "line 4: a has no public item `gone`",
            "line 5: `docs/api.md` does not name `SHOWN`",
        ]
    );
    let refused = |text: &str| entry_points::parse(text).unwrap_err().to_string();
    assert_eq!(refused("a\tb\tproduct\t "), "line 1: `b` has no reason");
    assert_eq!(refused("a\tb\tproduct\tx\na\tb\ttest\tx"), "line 2: `b` of a is there twice");
    assert!(refused("a\tb\tmagic\tx").contains("`magic` is not a way"));
    assert!(refused("a b c").contains("separated by tabs"));
}
