//! `invalid-output-schema`.

use crate::diagnostic::{Findings, rule};
use crate::document::yaml::{Node, brief};
use crate::rules::Subject;
use crate::specification::SKILLRT;

rule! {
    /// ## What it does
    /// Flags an `outputs.schema` that is not a JSON Schema.
    ///
    /// ## Why is this bad?
    /// Outputs can't be checked against it.
    ///
    /// ## Example
    /// `schema: {type: object}`
    INVALID_OUTPUT_SCHEMA = "invalid-output-schema", Error / Error, check;
    SKILLRT.at("4.5")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let Some(schema) = subject
        .document
        .root
        .get("outputs")
        .and_then(Node::mapping)
        .and_then(|outputs| outputs.get("schema"))
    else {
        return;
    };
    let problem = match schema.mapping() {
        None if schema.boolean().is_some() => None,
        None => Some(format!("it is {}", schema.kind())),
        Some(map) => map
            .get("type")
            .filter(|kind| {
                kind.sequence().is_none() && !kind.text().is_some_and(|kind| TYPES.contains(&kind))
            })
            .map(|kind| format!("`type: {}` is not a JSON type", brief(kind))),
    };
    if let Some(problem) = problem.filter(|_| subject.skill.has_layer("skillrt")) {
        findings.push(
            INVALID_OUTPUT_SCHEMA
                .at(schema.span, format!("`outputs.schema` is not a JSON Schema: {problem}"))
                .help("write a map such as `{type: object}`"),
        );
    }
}

const TYPES: &[&str] = &["object", "array", "string", "number", "integer", "boolean", "null"];
