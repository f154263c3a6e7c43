//! Validates a tool's output against its declared schema (SRT §4.5).

use prowess_format::skill::{Skill, Tool};
use serde_json::Value;

use crate::error::RunError;
use prowess_core::{Envelope, RunOutcome};

/// Maximum number of reported errors.
const MAX_MISTAKES: usize = 5;

/// The JSON Schema of a tool's output, if declared: the tool's own, or else that of the skill.
pub(crate) fn schema<'s>(skill: &'s Skill, tool: &'s Tool) -> Option<&'s Value> {
    let own = tool.returns.as_ref().and_then(|returns| returns.get("schema"));
    own.or_else(|| skill.outputs.as_ref().and_then(|outputs| outputs.schema.as_ref()))
        .filter(|schema| !schema.is_null())
}

/// Checks that a schema is valid before the run, so that an invalid one has no side effects.
pub(crate) fn check_schema(schema: &Value) -> Result<(), RunError> {
    jsonschema::validator_for(schema).map(drop).map_err(|error| {
        RunError::Unsupported(format!("the skill's `outputs.schema` is no JSON Schema: {error}"))
    })
}

/// Validates a successful result against its schema.
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

/// The validation errors of a value, up to a limit.
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
