//! Every fixture through the binary, against the table that was written from the specifications.

use std::collections::BTreeMap;

use prowess_testkit::{fixture, fixtures};
use serde_json::Value;

use crate::scene;

struct Row {
    path: String,
    dialect: String,
    verdict: String,
}

/// The rows of the table by their arguments.
fn rows() -> BTreeMap<String, Vec<Row>> {
    let mut rows: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for line in fixture("expectations.tsv").lines().skip(1).filter(|line| !line.is_empty()) {
        let cells: Vec<&str> = line.split('\t').collect();
        let cell = |at: usize| cells.get(at).copied().unwrap_or_default().to_owned();
        rows.entry(cell(5)).or_default().push(Row {
            path: cell(0),
            dialect: cell(1),
            verdict: cell(2),
        });
    }
    rows
}

fn is_found_by_a_walk(name: &str) -> bool {
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    name.to_lowercase().starts_with("skill") || matches!(extension, Some("json" | "yaml"))
}

fn takes(alternatives: &str, word: &str) -> bool {
    alternatives == "*" || alternatives.split('|').any(|alternative| alternative == word)
}

#[test]
fn the_binary_judges_every_fixture_as_the_specifications_say() {
    // GAIA-5.4-1 GAIA-9.1-1 TP-1
    let scene = scene();
    let folder = fixtures();
    let folder = folder.to_str().expect("the repository has a name in UTF-8");
    let mut wrong = Vec::new();
    for (arguments, rows) in rows() {
        // Skills are checked as directories; a few examples are lone files with names of their own.
        let mut command =
            vec!["check".to_owned(), "--format=json".to_owned(), "--all-spellings".to_owned()];
        command.extend(arguments.split_whitespace().map(str::to_owned));
        command.extend(rows.iter().map(|row| match row.path.rsplit_once('/') {
            Some((directory, name)) if is_found_by_a_walk(name) => format!("{folder}/{directory}"),
            _ => format!("{folder}/{}", row.path),
        }));
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        let output = scene.output(&command, "");
        let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let files: BTreeMap<&str, &Value> = result["files"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(|file| Some((file["path"].as_str()?, file)))
            .collect();
        for row in rows {
            let Some(file) = files.get(format!("{folder}/{}", row.path).as_str()) else {
                wrong.push(format!("{}: not checked", row.path));
                continue;
            };
            let diagnostics = file["diagnostics"].as_array().expect("a list");
            let has = |word: &str| diagnostics.iter().any(|found| found["severity"] == word);
            let verdict = if has("error") {
                "error"
            } else if has("warning") {
                "warn"
            } else {
                "ok"
            };
            let dialect = file["dialect"].as_str().expect("a text");
            if !takes(&row.dialect, dialect) || !takes(&row.verdict, verdict) {
                wrong.push(format!(
                    "{} {arguments}: {dialect} {verdict}, expected {} {}: {:?}",
                    row.path,
                    row.dialect,
                    row.verdict,
                    diagnostics.iter().map(|found| &found["code"]).collect::<Vec<_>>()
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
