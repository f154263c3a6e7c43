//! Resolves references: outputs of nodes and inputs of the workflow.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::graph::Workflow;
use super::template::{Lookup, ValueReference, part_of, text_of};
use prowess_core::Remedy;
use prowess_format::text::closest;

/// An alias for the only input (AFL).
const INPUT: &str = "input";

/// All current values. Cheap to clone, because each running node has its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct ValueScope {
    outputs: HashMap<String, Arc<Value>>,
    inputs: Arc<Map<String, Value>>,
}

impl ValueScope {
    pub(crate) fn new(inputs: Map<String, Value>) -> Self {
        Self { outputs: HashMap::new(), inputs: Arc::new(inputs) }
    }

    pub(crate) fn put(&mut self, node: &str, output: Arc<Value>) {
        self.outputs.insert(node.to_owned(), output);
    }

    /// The value of an input.
    pub(crate) fn input(&self, name: &str) -> Option<&Value> {
        self.inputs.get(name).or_else(|| match self.inputs.len() {
            1 if name == INPUT => self.inputs.values().next(),
            _ => None,
        })
    }
}

impl Lookup for ValueScope {
    fn value(&self, reference: &ValueReference) -> Option<&Value> {
        let (root, rest) = reference.segments.split_first()?;
        let of_node = match rest {
            [] => self.outputs.get(root).map(|output| (output, rest)),
            [output, path @ ..] if output == "output" => {
                self.outputs.get(root).map(|output| (output, path))
            }
            _ => None,
        };
        match of_node {
            Some((output, path)) => part_of(output, path),
            None => part_of(self.input(root)?, rest),
        }
    }
}

/// The input of a node: the output of its only parent, or all of them by id.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Input {
    pub(crate) value: Value,
    /// The input as text: several texts with an empty line between them.
    pub(crate) text: String,
}

impl Input {
    pub(crate) fn of(parents: &[(String, Arc<Value>)]) -> Self {
        let texts: Vec<String> = parents.iter().map(|(_, value)| text_of(value)).collect();
        let value = match parents {
            [] => Value::Null,
            [(_, value)] => Value::clone(value),
            several => {
                let pairs = several.iter().map(|(id, value)| (id.clone(), Value::clone(value)));
                Value::Object(pairs.collect())
            }
        };
        Self { value, text: texts.join("\n\n") }
    }
}

/// Why the inputs of a workflow are invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputsError {
    /// An input is missing.
    #[error("the workflow has no value for its input `{0}`")]
    Missing(String),
    /// An input is unknown.
    #[error("the workflow has no input `{name}`")]
    Unknown {
        /// The name.
        name: String,
        /// A similar name, or all names.
        known: String,
    },
}

impl InputsError {
    /// The remedy.
    pub fn remedy(&self) -> Remedy {
        match self {
            InputsError::Missing(name) => Remedy::GiveInput(name.clone()),
            InputsError::Unknown { known, .. } => Remedy::Advice(known.clone()),
        }
    }
}

/// The inputs of a workflow from the given values. If there is one input, `input` is an alias for it.
pub fn inputs_of(
    workflow: &Workflow,
    mut given: Map<String, Value>,
) -> Result<Map<String, Value>, InputsError> {
    let names = workflow.inputs();
    if let [only] = names.as_slice()
        && !given.contains_key(*only)
        && let Some(value) = given.shift_remove(INPUT)
    {
        given.insert((*only).to_owned(), value);
    }
    if let Some(name) = given.keys().find(|name| !names.contains(&name.as_str())) {
        let known = match closest(name, names.iter().copied()) {
            Some(similar) => format!("did you mean `{similar}`?"),
            None if names.is_empty() => "it has no inputs".to_owned(),
            None => format!("its inputs are `{}`", names.join("`, `")),
        };
        return Err(InputsError::Unknown { name: name.clone(), known });
    }
    match names.iter().find(|name| !given.contains_key(**name)) {
        Some(missing) => Err(InputsError::Missing((*missing).to_owned())),
        None => Ok(given),
    }
}
