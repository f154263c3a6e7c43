//! What happens in a workflow, around what happens in its nodes.

use serde_json::{Map, Value};

use crate::event::Event;
use crate::problem::Remedy;

/// One thing that happened in a workflow.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkflowEvent {
    /// It begins, or goes on.
    Start {
        /// The run, for `resume`.
        run: String,
        /// What the workflow is called.
        name: Option<String>,
    },
    /// A node begins.
    NodeStart {
        /// The node.
        node: String,
        /// Its type.
        kind: &'static str,
    },
    /// Something happens in a node, as it happens in a run of its own. `Error` and `Done` have events of the workflow.
    Inside {
        /// The node.
        node: String,
        /// What happens.
        event: Box<Event>,
    },
    /// A node has ended well.
    NodeComplete {
        /// The node.
        node: String,
        /// What it gives.
        output: Value,
        /// Whether it did so in an earlier part of the run.
        restored: bool,
    },
    /// A node has failed. No other one begins after that.
    NodeError {
        /// The node.
        node: String,
        /// What went wrong.
        error: String,
        /// What would help.
        remedies: Vec<Remedy>,
    },
    /// No way led to a node.
    NodeSkipped {
        /// The node.
        node: String,
    },
    /// The end, and a good one. Nothing follows.
    Complete {
        /// The run.
        run: String,
        /// The result: of the one end that was reached, or all of them by name.
        output: Value,
        /// The results of all ends that were reached, by name.
        outputs: Map<String, Value>,
    },
    /// The end, and no good one. Nothing follows.
    Error {
        /// The run.
        run: String,
        /// What went wrong.
        error: String,
        /// What would help.
        remedies: Vec<Remedy>,
    },
}
