//! Validates a tool's output against its declared schema (SRT §4.5).

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jsonschema::{Keyword, ValidationError, Validator};
use prowess_format::skill::{Skill, Tool};
use serde_json::Value;

use crate::error::RunError;
use prowess_core::{Envelope, RunOutcome};

/// Maximum number of reported errors.
const MAX_MISTAKES: usize = 5;
/// Maximum number of subschemas that are compiled or evaluated for one value. References that double take exponential time
/// otherwise.
const MAX_STEPS: u64 = 5_000_000;
/// The keyword that counts them, added to every subschema.
const STEP_KEYWORD: &str = "x-prowess-step";
/// Keywords whose values are no schemas.
const NO_SCHEMAS: &[&str] =
    &["enum", "const", "default", "examples", "dependencies", "dependentRequired"];

/// The JSON Schema of a tool's output, if declared: the tool's own, or else that of the skill.
pub(crate) fn schema<'s>(skill: &'s Skill, tool: &'s Tool) -> Option<&'s Value> {
    let own = tool.returns.as_ref().and_then(|returns| returns.get("schema"));
    own.or_else(|| skill.outputs.as_ref().and_then(|outputs| outputs.schema.as_ref()))
        .filter(|schema| !schema.is_null())
}

/// Checks that a schema is valid before the run, so that an invalid one has no side effects.
pub(crate) fn check_schema(schema: &Value) -> Result<(), RunError> {
    let checked = within_budget(|steps| validator(schema, steps).map(drop));
    checked.unwrap_or_else(|| Err(TOO_COMPLEX.to_owned())).map_err(|error| {
        RunError::Unsupported(format!("the skill's `outputs.schema` is no JSON Schema: {error}"))
    })
}

const TOO_COMPLEX: &str = "it is too complex";

/// A schema whose evaluation is counted.
fn validator(schema: &Value, steps: &Arc<AtomicU64>) -> Result<Validator, String> {
    let steps = Arc::clone(steps);
    let options = jsonschema::options().with_keyword(
        STEP_KEYWORD,
        move |_: &_, _: &_, _| -> Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'_>> {
            let step = Step(Arc::clone(&steps));
            step.count();
            Ok(Box::new(step))
        },
    );
    options.build(&counted(schema)).map_err(|error| error.to_string())
}

/// A schema with the counting keyword in each subschema.
fn counted(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let inner = members.iter().map(|(name, value)| {
                let is_schema = !NO_SCHEMAS.contains(&name.as_str());
                (name.clone(), if is_schema { counted(value) } else { value.clone() })
            });
            Value::Object(inner.chain([(STEP_KEYWORD.to_owned(), true.into())]).collect())
        }
        Value::Array(items) => items.iter().map(counted).collect(),
        other => other.clone(),
    }
}

struct Step(Arc<AtomicU64>);

/// What a validation is left with when its budget is spent.
struct Spent;

impl Step {
    fn count(&self) {
        if self.0.fetch_add(1, Ordering::Relaxed) >= MAX_STEPS {
            // There is no other way out of a validation. The hook for panics is not called.
            resume_unwind(Box::new(Spent));
        }
    }
}

impl<'i> Keyword<'i> for Step {
    fn validate(&self, _: &'i Value) -> Result<(), ValidationError<'i>> {
        self.count();
        Ok(())
    }

    fn is_valid(&self, _: &'i Value) -> bool {
        self.count();
        true
    }
}

/// Does something that counts its steps; `None` if they were too many.
fn within_budget<T>(work: impl FnOnce(&Arc<AtomicU64>) -> T) -> Option<T> {
    let steps = Arc::new(AtomicU64::new(0));
    match catch_unwind(AssertUnwindSafe(|| work(&steps))) {
        Ok(result) => Some(result),
        Err(payload) if payload.is::<Spent>() => None,
        Err(payload) => resume_unwind(payload),
    }
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
    let found = within_budget(|steps| match validator(schema, steps) {
        Ok(validator) => validator
            .iter_errors(value)
            .take(most)
            .map(|error| match error.instance_path().as_str() {
                "" => error.to_string(),
                path => format!("{path}: {error}"),
            })
            .collect(),
        Err(error) => vec![format!("its schema is no JSON Schema: {error}")],
    });
    found.unwrap_or_else(|| vec![format!("its schema can't be checked: {TOO_COMPLEX}")])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_that_double_have_an_end() {
        // Finding 16: each level refers to the next one twice.
        let mut definitions = serde_json::Map::new();
        for level in 0..60 {
            let next = json!({ "$ref": format!("#/$defs/{}", level + 1) });
            definitions
                .insert(level.to_string(), json!({ "allOf": [next, next, { "minimum": 0 }] }));
        }
        definitions.insert("60".to_owned(), json!({ "type": "integer" }));
        let schema = json!({ "$defs": definitions, "$ref": "#/$defs/0" });
        let found = mistakes(&json!(1), &schema, MAX_MISTAKES);
        assert!(
            found.is_empty() || found == ["its schema can't be checked: it is too complex"],
            "{found:?}"
        );
        // So deep that only the value ends it.
        let twice = json!({ "$ref": "#" });
        let schema = json!({ "properties": { "a": { "allOf": [twice, twice] } } });
        let value = (0..60).fold(json!({}), |inner, _| json!({ "a": inner }));
        let found = mistakes(&value, &schema, MAX_MISTAKES);
        assert!(
            found.is_empty() || found == ["its schema can't be checked: it is too complex"],
            "{found:?}"
        );
    }

    #[test]
    fn counting_changes_no_verdict() {
        let schema = json!({
            "type": "object",
            "properties": { "kind": { "enum": [{ "a": 1 }] }, "list": { "items": { "type": "string" } } },
            "required": ["kind"],
            "additionalProperties": false,
        });
        assert_eq!(mistakes(&json!({ "kind": { "a": 1 }, "list": ["x"] }), &schema, 5).len(), 0);
        assert_eq!(mistakes(&json!({ "kind": { "a": 2 }, "list": [1] }), &schema, 5).len(), 2);
        assert_eq!(mistakes(&json!({ "other": 1 }), &schema, 5).len(), 2);
    }
}
