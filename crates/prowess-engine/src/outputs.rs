//! What a tool returned, against what it declares to return (SRT §4.5).

use prowess_format::skill::{Skill, Tool};
use serde_json::Value;

use crate::error::RunError;
use prowess_core::{Envelope, RunOutcome};

/// The most mistakes that are told.
const MAX_MISTAKES: usize = 5;

/// The JSON Schema of a tool's output, where one is declared: the tool's own, else that of the skill.
pub(crate) fn schema<'s>(skill: &'s Skill, tool: &'s Tool) -> Option<&'s Value> {
    let own = tool.returns.as_ref().and_then(|returns| returns.get("schema"));
    own.or_else(|| skill.outputs.as_ref().and_then(|outputs| outputs.schema.as_ref()))
        .filter(|schema| !schema.is_null())
}

/// Whether a text can be a schema at all; asked before the run, so that a wrong one has no side effects.
pub(crate) fn check_schema(schema: &Value) -> Result<(), RunError> {
    jsonschema::validator_for(schema).map(drop).map_err(|error| {
        RunError::Unsupported(format!("the skill's `outputs.schema` is no JSON Schema: {error}"))
    })
}

/// Holds a successful result to its schema.
pub(crate) fn validate(mut envelope: Envelope, schema: &Value) -> Envelope {
    if !envelope.is_success() {
        return envelope;
    }
    let mistakes = match &envelope.parsed {
        None => vec!["it is not JSON".to_owned()],
        Some(result) => mistakes(result, schema, MAX_MISTAKES),
    };
    if !mistakes.is_empty() {
        envelope.outcome = RunOutcome::InvalidOutput;
        envelope.exit_code = 1;
        envelope.error =
            Some(format!("the output is not what the skill declares: {}", mistakes.join("; ")));
    }
    envelope
}

/// What about a value is not as its schema wants it, at most so many mistakes.
pub(crate) fn mistakes(value: &Value, schema: &Value, most: usize) -> Vec<String> {
    match jsonschema::validator_for(schema) {
        Ok(validator) => validator
            .iter_errors(value)
            .take(most)
            .map(|error| match error.instance_path().as_str() {
                "" => error.to_string(),
                path => format!("{path}: {error}"),
            })
            .collect(),
        Err(error) => vec![format!("its schema is no JSON Schema: {error}")],
    }
}
