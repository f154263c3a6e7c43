//! A workflow's file, and the text as an expression and as a template.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use prowess_core::{Problem, ProblemKind};
use prowess_engine::workflow::{
    CheckContext, Expression, Lookup, NodeState, Schedule, ValueReference, Workflow,
    WorkflowTemplate, check, mermaid, read,
};
use prowess_engine::{LoadedSkill, SkillResolver};
use prowess_format::diagnostic::Severity;
use prowess_fuzz::{diagnostics_fit, span_fits};
use serde_json::Value;

/// No skill is anywhere.
struct Empty;

impl SkillResolver for Empty {
    fn resolve(&self, reference: &str) -> Result<Arc<LoadedSkill>, Problem> {
        let message = format!("no skill `{reference}`");
        Err(Problem::new("skill-not-found", ProblemKind::NotFound, message))
    }
}

/// Every reference leads to the same text.
struct Same(Value);

impl Lookup for Same {
    fn value(&self, _: &ValueReference) -> Option<&Value> {
        Some(&self.0)
    }
}

fuzz_target!(|text: &str| {
    workflow(text);
    let lookup = Same(Value::from(text));
    match Expression::parse(text) {
        Ok(expression) => {
            // The same values give the same answer.
            assert_eq!(expression.holds(&lookup), expression.holds(&lookup));
            expression.references().iter().for_each(|(_, span)| span_fits(text, *span));
        }
        Err(error) => span_fits(text, error.span),
    }
    let template = WorkflowTemplate::parse(text);
    for (_, span) in template.references() {
        let written = span.slice(text);
        assert!(written.starts_with("{{") && written.ends_with("}}"), "{written}");
    }
    if template.references().next().is_none() {
        assert_eq!(template.render(&lookup), text);
    }
});

fn workflow(text: &str) {
    let (workflow, diagnostics) = check(text, CheckContext { skills: &Empty, bases: Some(&[]) });
    diagnostics_fit(text, &diagnostics);
    let Some(workflow) = workflow else {
        assert!(!diagnostics.is_empty(), "a text without a workflow has an error");
        return;
    };
    // What is exported reads back the same. Numbers are left out: JSON has more of them than a computer.
    let (again, _) = read(&workflow.export().to_string());
    let again = again.expect("an export is a workflow");
    let ids =
        |workflow: &Workflow| workflow.nodes.iter().map(|node| node.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&again), ids(&workflow));
    assert_eq!(again.edges.len(), workflow.edges.len());
    assert!(mermaid(&workflow).starts_with("flowchart"));
    // Where something could not be read, cycles were not looked for.
    if diagnostics.iter().any(|found| found.severity == Severity::Error) {
        return;
    }
    // Whatever the answers are, everybody runs or is skipped.
    let (mut schedule, _) = Schedule::new(&workflow);
    while let Some(node) = schedule.next_ready() {
        schedule.start(node);
        let is_condition = workflow.nodes[node].task.kind() == "condition";
        schedule.complete(node, is_condition.then_some(node % 2 == 0));
    }
    for node in 0..workflow.nodes.len() {
        assert!(matches!(schedule.state(node), NodeState::Complete | NodeState::Skipped));
    }
}
