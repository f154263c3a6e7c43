//! Workflows: graphs whose nodes are skills, models, requests and small programs (AFL §7.3).
//!
//! [`read()`] and [`check()`] take text and give a [`Workflow`] with findings, and touch nothing. [`Schedule`] knows which
//! node may run when, and nothing about nodes. [`run()`] puts them together: it starts what is ready, writes down what has
//! ended ([`RunStore`]), and tells what happens. `node/` has a file for each kind of node that does something.

mod check;
mod executor;
mod expression;
mod graph;
mod mermaid;
mod node;
mod read;
mod rules;
mod run;
mod schedule;
mod scope;
mod skill;
mod store;
mod template;

pub use check::{CheckContext, check};
pub use executor::NodeExecutor;
pub use expression::{Expression, ExpressionError};
pub use graph::{
    CodeNode, Edge, EndOutput, HttpBody, HttpNode, InputMapping, JsonTemplate, LlmNode,
    MappingSource, SkillUse, SourceText, Task, Workflow, WorkflowNode,
};
pub use mermaid::mermaid;
pub use read::read;
pub use rules::ALL as RULES;
pub use run::{ModelLookup, WorkflowContext, WorkflowLimits, WorkflowOutcome, public_fetcher, run};
pub use schedule::{NodeState, Schedule};
pub use scope::{InputsError, inputs_of};
pub use store::{
    FileRuns, OpenRun, RunJournal, RunRecord, RunStore, RunStoreError, StoredRun, StoredRunId,
    StoredRunState,
};
pub use template::{Lookup, ValueReference, WorkflowTemplate, part_of, text_of};
