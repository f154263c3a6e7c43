//! Workflows: graphs whose nodes are skills, models, requests and small programs (AFL §7.3).
//!
//! [`read()`] and [`check()`] take text and give a [`Workflow`] with findings, and touch nothing. [`Schedule`] knows which
//! node may run when, and nothing about nodes.

mod check;
mod expression;
mod graph;
mod json;
mod mermaid;
mod read;
mod rules;
mod schedule;
mod skills;
mod template;

pub use check::check;
pub use expression::{Expression, ExpressionError};
pub use graph::{
    Code, Edge, EndOutput, Http, HttpBody, JsonTemplate, Llm, Mapping, MappingSource, Node,
    SkillUse, Task, Text, Workflow,
};
pub use mermaid::mermaid;
pub use read::read;
pub use rules::ALL as RULES;
pub use schedule::{Schedule, State};
pub use skills::{KnownSkill, SkillError, Skills};
pub use template::{Lookup, Reference, Template, part_of, text_of};
