//! Every fixture against the table that was written from the specifications before the code existed.

use prowess_format::Checked;
use prowess_format::diagnostic::Severity;
use prowess_format::dialect::{self, Dialect};

use crate::{Fixture, shown};

/// One row of `fixtures/expectations.tsv`.
struct Row {
    path: String,
    /// Dialects of which one must be detected; `*` takes any.
    dialect: String,
    /// Verdicts of which one must be given; `*` takes any.
    verdict: String,
    /// Requirements and decisions that the row belongs to.
    ledger: String,
    /// Options of `prowess check`.
    arguments: String,
}

fn rows() -> Vec<Row> {
    let table = prowess_testkit::fixture("expectations.tsv");
    let rows = table.lines().skip(1).filter(|line| !line.is_empty());
    rows.map(|line| {
        let mut cells = line.split('\t').map(str::to_owned);
        let mut cell = || cells.next().unwrap_or_default();
        let (path, dialect, verdict, _problem, ledger, arguments) =
            (cell(), cell(), cell(), cell(), cell(), cell());
        Row { path, dialect, verdict, ledger, arguments }
    })
    .collect()
}

impl Row {
    fn named_dialect(&self) -> Option<&'static Dialect> {
        let mut words = self.arguments.split_whitespace();
        words.find(|word| *word == "--dialect")?;
        words.next().and_then(dialect::by_id)
    }

    fn is_strict(&self) -> bool {
        self.arguments.split_whitespace().any(|word| word == "--strict")
    }

    /// Rows about the functions of `tools.py`: this crate compares them, but another one reads Python.
    fn needs_python(&self) -> bool {
        ["GAIA-5.1-2", "GAIA-5.4-1", "GAIA-5.4-2"].iter().any(|id| self.ledger.contains(id))
            && self.path.contains("/invalid/")
            && !self.path.contains("/no-tools-py/")
    }
}

fn takes(alternatives: &str, word: &str) -> bool {
    alternatives == "*" || alternatives.split('|').any(|alternative| alternative == word)
}

fn verdict(checked: &Checked<'_>, strict: bool) -> &'static str {
    match checked.diagnostics.iter().map(|diagnostic| diagnostic.effective(strict)).max() {
        Some(Severity::Error) => "error",
        Some(Severity::Warning) => "warn",
        Some(Severity::Info) | None => "ok",
    }
}

#[test]
fn every_fixture_is_judged_as_the_specifications_say() {
    let mut wrong = Vec::new();
    let (mut checked_rows, mut python_rows) = (0, 0);
    // Agent manifests are no skills; they have a reader and tests of their own.
    for row in rows().iter().filter(|row| row.dialect != "agent-manifest") {
        if row.needs_python() {
            python_rows += 1;
            continue;
        }
        checked_rows += 1;
        let fixture = Fixture::open(&row.path);
        fixture.check(row.named_dialect(), |text, checked| {
            let (dialect, verdict) = (checked.skill.dialect.id, verdict(checked, row.is_strict()));
            if !takes(&row.dialect, dialect) || !takes(&row.verdict, verdict) {
                wrong.push(format!(
                    "{} {}\n  expected {} {}, got {dialect} {verdict}\n{}",
                    row.path,
                    row.arguments,
                    row.dialect,
                    row.verdict,
                    shown(text, &checked.diagnostics, row.is_strict()),
                ));
            }
        });
    }
    assert!(wrong.is_empty(), "{} rows differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(checked_rows >= 600, "only {checked_rows} rows were checked");
    assert_eq!(python_rows, 15, "rows that need a reader of Python");
}

#[test]
fn every_fixture_has_a_row() {
    let rows = rows();
    let missing: Vec<String> = Fixture::all()
        .into_iter()
        .map(|fixture| fixture.name)
        .filter(|name| !rows.iter().any(|row| row.path == *name))
        .collect();
    assert!(missing.is_empty(), "fixtures without an expectation: {missing:#?}");
}
