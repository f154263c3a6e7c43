//! Stops a model that makes the same failing call again and again.

use std::collections::HashMap;

use serde_json::Value;

/// A call that has failed so often is not made again.
const MOST_FAILURES: u32 = 3;
/// A model that insists so often is stopped.
const MOST_ATTEMPTS: u32 = 6;
/// A model is stopped after so many turns in which no call could be run.
const MOST_INVALID_TURNS: u32 = 5;

/// Counts failing calls by their name and arguments.
#[derive(Debug, Default)]
pub(crate) struct Repetition {
    failures: HashMap<(String, String), u32>,
    invalid_turns: u32,
}

/// The reaction to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Make,
    /// It has failed so often.
    Skip(u32),
    /// The agent has to be stopped: the same call came so often.
    Stop(u32),
}

impl Repetition {
    /// Looks at a call before it is made.
    pub(crate) fn before(&mut self, name: &str, arguments: &Value) -> Verdict {
        let Some(count) = self.failures.get_mut(&key(name, arguments)) else {
            return Verdict::Make;
        };
        if *count < MOST_FAILURES {
            return Verdict::Make;
        }
        *count += 1;
        if *count >= MOST_ATTEMPTS { Verdict::Stop(*count) } else { Verdict::Skip(MOST_FAILURES) }
    }

    /// Counts the result of a call. A success forgets the failures of the same call, and any change of the world may be
    /// why it succeeds now, so that nothing else is forgotten.
    pub(crate) fn after(&mut self, name: &str, arguments: &Value, is_success: bool) {
        let key = key(name, arguments);
        if is_success {
            self.failures.remove(&key);
        } else {
            *self.failures.entry(key).or_default() += 1;
        }
    }

    /// Counts a turn; gives the number of turns if it was one too many in which nothing could be run.
    pub(crate) fn turn(&mut self, has_valid_call: bool) -> Option<u32> {
        self.invalid_turns = if has_valid_call { 0 } else { self.invalid_turns + 1 };
        (self.invalid_turns >= MOST_INVALID_TURNS).then_some(self.invalid_turns)
    }
}

/// The arguments with their keys in order, so that the order does not make another call of it.
fn key(name: &str, arguments: &Value) -> (String, String) {
    (name.to_owned(), sorted(arguments).to_string())
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            fields.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect()
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Repetition, Verdict};

    #[test]
    fn the_same_failing_call_is_skipped_and_then_ends_the_agent() {
        let mut repetition = Repetition::default();
        let (one, same) = (json!({ "a": 1, "b": { "c": 2 } }), json!({ "b": { "c": 2 }, "a": 1 }));
        let mut verdicts = Vec::new();
        for number in 0..6 {
            let arguments = if number % 2 == 0 { &one } else { &same };
            let verdict = repetition.before("t", arguments);
            if verdict == Verdict::Make {
                repetition.after("t", arguments, false);
            }
            verdicts.push(verdict);
        }
        let (make, skip) = (Verdict::Make, Verdict::Skip(3));
        assert_eq!(verdicts, [make, make, make, skip, skip, Verdict::Stop(6)]);
        assert_eq!(repetition.before("t", &json!({ "a": 2 })), Verdict::Make);
        assert_eq!(repetition.before("u", &one), Verdict::Make);
    }

    #[test]
    fn a_success_forgets_the_failures_of_the_call() {
        let mut repetition = Repetition::default();
        for is_success in [false, false, true, false, false] {
            repetition.after("t", &json!({}), is_success);
        }
        assert_eq!(repetition.before("t", &json!({})), Verdict::Make);
    }

    #[test]
    fn turns_without_a_valid_call_are_counted_in_a_row() {
        let mut repetition = Repetition::default();
        let ends: Vec<bool> = [false, false, false, false, true, false, false, false, false, false]
            .map(|valid| repetition.turn(valid).is_some())
            .into();
        assert_eq!(ends.iter().position(|end| *end), Some(9));
    }
}
