//! Events of a workflow, around those of its nodes.

use serde_json::{Map, Value};

use crate::event::Event;
use crate::problem::Remedy;

/// An event of a workflow.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkflowEvent {
    /// The workflow starts or resumes.
    Start {
        /// The id of the run, for resuming it.
        run: String,
        /// The name of the workflow.
        name: Option<String>,
    },
    /// A node starts.
    NodeStart {
        /// The id of the node.
        node: String,
        /// The type of the node.
        kind: &'static str,
    },
    /// An event of the run of a node, except `Error` and `Done`, which have events of their own below.
    Inside {
        /// The id of the node.
        node: String,
        /// The event.
        event: Box<Event>,
    },
    /// A node has succeeded.
    NodeComplete {
        /// The id of the node.
        node: String,
        /// The output of the node.
        output: Value,
        /// Whether the output was restored from before the run was resumed.
        restored: bool,
    },
    /// A node has failed. No other node starts after that.
    NodeError {
        /// The id of the node.
        node: String,
        /// The error message.
        error: String,
        /// Remedies.
        remedies: Vec<Remedy>,
    },
    /// A node was skipped because no branch led to it.
    NodeSkipped {
        /// The id of the node.
        node: String,
    },
    /// The workflow has succeeded. No event follows.
    Complete {
        /// The id of the run.
        run: String,
        /// The result: the output of the end node, or of all end nodes by name if several were reached.
        output: Value,
        /// The outputs of all end nodes that were reached, by name.
        outputs: Map<String, Value>,
    },
    /// The workflow has failed. No event follows.
    Error {
        /// The id of the run.
        run: String,
        /// The error message.
        error: String,
        /// Remedies.
        remedies: Vec<Remedy>,
    },
}
