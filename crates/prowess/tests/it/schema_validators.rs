//! The published JSON Schemas give the reader's verdict in validators that others use: one for Python and one for Node.

use std::borrow::Cow;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use prowess_format::diagnostic::{Findings, Severity};
use prowess_format::dialect::{self, Dialect};
use prowess_format::document::{Document, Form, FrontMatter};
use prowess_format::{ReadOptions, check_bytes, form_of, shape};
use serde_json::{Map, Value, json};

use crate::scene;

/// Names of which the reader, the patterns of the schemas and each validator could have different opinions.
const NAMES: &[&str] = &[
    "a",
    "a-b",
    "2048-game",
    "a--b",
    "-a",
    "a-",
    "A",
    "a b",
    "a_b",
    "a.b",
    "",
    " ",
    "a\n",
    "\na",
    "a\nb",
    "größe",
    "Größe",
    "数据-分析",
    "имя",
    "Имя",
    "λόγος",
    "Λόγος",
    "a\u{301}",
    "a\u{200b}b",
    "a×b",
    "½",
    "a\u{3000}b",
    "１２",
];

/// A document, the dialect that it is judged as, and what the reader says.
struct Judged {
    what: String,
    dialect: &'static str,
    document: Value,
    is_valid: bool,
}

fn schemas() -> Map<String, Value> {
    let scene = scene();
    let ids = dialect::ALL.iter().map(|dialect| dialect.id).filter(|id| *id != "prose");
    ids.map(|id| {
        let schema = serde_json::from_str(&scene.stdout(&format!("schema {id}"))).expect("JSON");
        (id.to_owned(), schema)
    })
    .collect()
}

/// Whether the table of fields and the dialect's own check find no error.
fn is_valid(dialect: &'static Dialect, document: &Document<'_>) -> bool {
    let mut findings = Findings::default();
    for layer in dialect::layers_of(dialect) {
        let fields = dialect.fields_of_layer(layer);
        shape::check_each(fields, &document.root, document.opening, "", &mut findings);
        (layer.check)(document, &mut findings);
    }
    findings.into_sorted().iter().all(|found| found.severity != Severity::Error)
}

fn judge(what: &str, bytes: &[u8], form: Form, judged: &mut Vec<Judged>) {
    let mut text = Cow::Borrowed("");
    let checked = check_bytes(bytes, &mut text, ReadOptions { form, ..ReadOptions::DETECT });
    let is_map = matches!(checked.document.front_matter, FrontMatter::Read | FrontMatter::Repaired);
    let twice = checked.diagnostics.iter().any(|found| found.rule.name == "duplicate-key");
    if !is_map || twice {
        return; // No schema describes this.
    }
    let is_pack = checked.skill.dialect.id == "tool-pack";
    for dialect in dialect::ALL {
        if dialect.id == "prose" || (dialect.id == "tool-pack") != is_pack {
            continue;
        }
        judged.push(Judged {
            what: what.to_owned(),
            dialect: dialect.id,
            document: checked.document.root.to_json(),
            is_valid: is_valid(dialect, &checked.document),
        });
    }
}

/// Every fixture and some names, as every dialect that can be named for it.
fn judged() -> Vec<Judged> {
    let mut judged = Vec::new();
    let fixtures = prowess_testkit::fixtures();
    let is_skill = |name: &str| {
        let is_markdown = Path::new(name).extension().is_some_and(|ending| ending == "md");
        is_markdown || name.ends_with(".tool.json")
    };
    for file in prowess_testkit::files_below(&fixtures, &is_skill) {
        let name = file.strip_prefix(&fixtures).expect("a fixture").display().to_string();
        judge(&name, &prowess_testkit::bytes(&file), form_of(&name), &mut judged);
    }
    let long = ["n".repeat(64), "n".repeat(65), "é".repeat(64), "é".repeat(65)];
    for name in NAMES.iter().copied().chain(long.iter().map(String::as_str)) {
        let quoted = serde_json::to_string(name).expect("a text");
        let text = format!(
            "---\nname: {quoted}\ndescription: d\nversion: 1.0.0\nauthor: a\nlicense: MIT\ntags: [x]\ncategory: c\n---\n\nText.\n"
        );
        judge(&format!("name {quoted}"), text.as_bytes(), Form::Markdown, &mut judged);
    }
    judged
}

/// Compares all verdicts of a validator, which reads schemas and documents and answers with a list.
fn compare(validator: &mut Command) {
    let judged = judged();
    let valid = judged.iter().filter(|judged| judged.is_valid).count();
    assert!(valid > 500 && judged.len() - valid > 200, "{valid} of {}", judged.len());
    let documents: Vec<Value> =
        judged.iter().map(|judged| json!([judged.dialect, judged.document])).collect();
    let given = json!({ "schemas": schemas(), "documents": documents }).to_string();
    let mut child = validator
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the validator starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || stdin.write_all(given.as_bytes()));
    let output = child.wait_with_output().expect("the validator ends");
    writer.join().expect("the writer ends").expect("everything is read");
    assert!(output.status.success(), "the validator failed: {}", output.status);
    let verdicts: Vec<bool> = serde_json::from_slice(&output.stdout).expect("a list of verdicts");
    assert_eq!(verdicts.len(), judged.len());
    let differing: Vec<String> = judged
        .iter()
        .zip(verdicts)
        .filter(|(judged, verdict)| judged.is_valid != *verdict)
        .map(|(judged, verdict)| {
            let (reader, schema) = (word(judged.is_valid), word(verdict));
            format!("{} as {}: reader {reader}, schema {schema}", judged.what, judged.dialect)
        })
        .collect();
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing.join("\n"));
}

fn word(is_valid: bool) -> &'static str {
    if is_valid { "valid" } else { "invalid" }
}

fn script(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it").join(name)
}

#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
#[test]
fn the_python_validator_gives_the_readers_verdict() {
    let Some(python) = std::env::var_os("PROWESS_JSONSCHEMA_PYTHON") else {
        eprintln!("SKIPPED: PROWESS_JSONSCHEMA_PYTHON is not set, `cargo xtask test` sets it");
        return;
    };
    compare(Command::new(python).arg(script("schema_validators.py")));
}

#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
#[test]
fn the_node_validator_gives_the_readers_verdict() {
    let Some(folder) = std::env::var_os("PROWESS_AJV") else {
        eprintln!("SKIPPED: PROWESS_AJV is not set, `cargo xtask test` sets it");
        return;
    };
    let modules = Path::new(&folder).join("node_modules");
    compare(Command::new("node").env("NODE_PATH", modules).arg(script("schema_validators.cjs")));
}

/// The subset of regular expressions that validators share: ECMA without classes of Unicode, and nothing that looks around.
#[test]
fn patterns_stay_in_the_common_subset() {
    fn patterns<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
        match value {
            Value::Object(map) => {
                found.extend(map.get("pattern").and_then(Value::as_str));
                if let Some(Value::Object(keys)) = map.get("patternProperties") {
                    found.extend(keys.keys().map(String::as_str));
                }
                map.values().for_each(|value| patterns(value, found));
            }
            Value::Array(items) => items.iter().for_each(|item| patterns(item, found)),
            _ => {}
        }
    }
    let mut all = schemas();
    for id in ["prose", "agent-manifest"] {
        let schema = scene().stdout(&format!("schema {id}"));
        all.insert(id.to_owned(), serde_json::from_str(&schema).expect("JSON"));
    }
    let mut count = 0;
    for (id, schema) in &all {
        let mut found = Vec::new();
        patterns(schema, &mut found);
        count += found.len();
        for pattern in found {
            for odd in ["\\p", "\\P", "(?=", "(?!", "(?<", "(?P", "\\A", "\\Z", "\\z", "\\h", "[[:"]
            {
                assert!(!pattern.contains(odd), "{id}: `{odd}` in {pattern}");
            }
        }
    }
    assert!(count > 30, "{count}");
}
