//! The published JSON Schemas accept and reject like the reader.

use prowess_format::diagnostic::{Diagnostic, Findings, Severity};
use prowess_format::dialect::{self, Dialect};
use prowess_format::document::{Document, FrontMatter};
use prowess_format::{Checked, shape};
use serde_json::Value;

use crate::{Fixture, problems_as, strict_problems_as};

/// What the table of fields and the dialect's own check say is wrong.
fn shape_errors(dialect: &'static Dialect, document: &Document<'_>) -> Vec<Diagnostic> {
    let mut findings = Findings::default();
    for layer in dialect::layers_of(dialect) {
        let fields = dialect.fields_of_layer(layer);
        shape::check_each(fields, &document.root, document.opening, "", &mut findings);
        (layer.check)(document, &mut findings);
    }
    let mut found = findings.into_sorted();
    found.retain(|diagnostic| diagnostic.severity == Severity::Error);
    found
}

/// Whether a schema describes this document: there is a mapping, read as it stands and without duplicate keys.
fn is_describable(checked: &Checked<'_>) -> bool {
    let readable =
        matches!(checked.document.front_matter, FrontMatter::Read | FrontMatter::Repaired);
    let twice = checked.diagnostics.iter().any(|found| found.rule.name == "duplicate-key");
    readable && !twice
}

// SRT-4.8-1
#[test]
fn every_schema_judges_every_fixture_like_the_reader() {
    let schemas: Vec<(&'static Dialect, jsonschema::Validator)> = dialect::ALL
        .iter()
        .filter(|dialect| dialect.id != "prose")
        .map(|dialect| {
            let schema = dialect.schema();
            jsonschema::meta::validate(&schema).expect("it is a JSON Schema");
            (*dialect, jsonschema::draft202012::new(&schema).expect("it compiles"))
        })
        .collect();
    let mut differing = Vec::new();
    let mut compared = [0, 0];
    for fixture in Fixture::all() {
        fixture.check(None, |_, checked| {
            if !is_describable(checked) {
                return;
            }
            let json = checked.document.root.to_json();
            // Every Markdown dialect can be named for every SKILL.md.
            let own = |dialect: &Dialect| {
                (dialect.id == "tool-pack") == (checked.skill.dialect.id == "tool-pack")
            };
            for (dialect, schema) in schemas.iter().filter(|(dialect, _)| own(dialect)) {
                let errors = shape_errors(dialect, &checked.document);
                let valid = schema.is_valid(&json);
                compared[usize::from(valid)] += 1;
                if valid != errors.is_empty() {
                    let reader: Vec<String> =
                        errors.iter().map(|error| error.message.clone()).collect();
                    let schema: Vec<String> = schema
                        .iter_errors(&json)
                        .map(|error| format!("{} at {}", error, error.instance_path()))
                        .collect();
                    differing.push(format!(
                        "{} as {}\n  reader: {reader:?}\n  schema: {schema:?}",
                        fixture.name, dialect.id
                    ));
                }
            }
        });
    }
    assert!(differing.is_empty(), "{} differ:\n{}", differing.len(), differing.join("\n"));
    assert!(compared[0] > 200 && compared[1] > 500, "{compared:?}");
}

// SRT-4.8-1
#[test]
fn the_schema_of_skillrt_has_its_limits() {
    let schema = dialect::by_id("skillrt").expect("skillrt").schema();
    let judge = |front_matter: Value| jsonschema::is_valid(&schema, &front_matter);
    let with =
        |name: &str| serde_json::json!({ "name": name, "version": "1.0.0", "description": "d" });
    assert!(judge(with("a.b_c-d")) && judge(with(&"n".repeat(128))));
    assert!(!judge(with(&"n".repeat(129))) && !judge(with("Upper")) && !judge(with("-a")));
    assert!(judge(serde_json::json!({ "name": "a", "version": "1.0.0" })));
    assert!(!judge(serde_json::json!({ "name": "a", "version": "1.0.0", "tags": [] })));
    assert!(!judge(serde_json::json!({ "name": "a", "version": "1.0", "description": "d" })));
}

#[test]
fn every_schema_is_a_complete_document() {
    for dialect in dialect::ALL {
        let schema = dialect.schema();
        assert_eq!(
            schema["$schema"], "https://json-schema.org/draft/2020-12/schema",
            "{}",
            dialect.id
        );
        assert!(schema["title"].is_string());
        let properties = schema["properties"].as_object().expect("properties");
        for (field, property) in properties {
            assert!(property["description"].is_string(), "{}: {field}", dialect.id);
        }
    }
}

#[test]
fn numbers_that_stand_for_text_pass_the_reader_and_the_schema() {
    let text = "---\nname: 2048\ndescription: 7\nlicense: true\n---\n\nPlay.\n";
    assert!(!problems_as(text, "agent-skills").contains("error"));
    assert!(!strict_problems_as(text, "agent-skills").contains("error"));
    let schema = dialect::by_id("agent-skills").expect("agent-skills").schema();
    assert!(jsonschema::is_valid(
        &schema,
        &serde_json::json!({ "name": 2048, "description": 7, "license": true })
    ));
}
