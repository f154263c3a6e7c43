//! Workflows: graphs whose nodes are skills, models, requests and small programs (AFL §7.3).
//!
//! [`read()`] and [`check()`] take text and give a [`Workflow`] with findings, and touch nothing. [`Schedule`] knows which
//! node may run when, and nothing about nodes. [`run()`] puts them together: it starts what is ready, writes down what has
//! ended ([`RunStore`]), and tells what happens. `node/` has a file for each kind of node that does something.

mod check;
mod expression;
mod graph;
mod json;
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

pub use check::{CheckSurroundings, check};
pub use expression::{Expression, ExpressionError};
pub use graph::{
    Code, Edge, EndOutput, Http, HttpBody, JsonTemplate, Llm, Mapping, MappingSource, Node,
    SkillUse, Task, Text, Workflow,
};
pub use mermaid::mermaid;
pub use read::read;
pub use rules::ALL as RULES;
pub use run::{Ended, Limits, Models, WorkflowContext, public_fetcher, run};
pub use schedule::{Schedule, State};
pub use scope::{InputsError, inputs_of};
pub use store::{
    FileRuns, KeptRun, OpenRun, RunId, RunJournal, RunRecord, RunState, RunStore, RunStoreError,
};
pub use template::{Lookup, Reference, Template, part_of, text_of};
