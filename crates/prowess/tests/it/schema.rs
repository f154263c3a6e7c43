//! `prowess schema`: JSON Schemas.

use serde_json::Value;

use crate::scene;

#[test]
fn every_dialect_has_a_schema() {
    for dialect in [
        "agent-skills",
        "claude-code",
        "skillli",
        "gibberish",
        "tool-pack",
        "gaia",
        "agent-flow",
        "skillrt",
        "openclaw",
        "prose",
        "agent-manifest",
    ] {
        let schema: Value = serde_json::from_str(&scene().stdout(&format!("schema {dialect}")))
            .unwrap_or_else(|error| panic!("{dialect}: {error}"));
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{dialect}");
    }
}

#[test]
fn without_a_dialect_one_schema_holds_them_all() {
    let schema: Value = serde_json::from_str(&scene().stdout("schema")).expect("JSON");
    let definitions = schema["$defs"].as_object().expect("a map");
    let references = schema["anyOf"].as_array().expect("a list");
    assert_eq!(definitions.len(), references.len());
    for reference in references {
        let id = reference["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/"));
        assert!(definitions.contains_key(id.expect("a reference to a definition")));
    }
}
