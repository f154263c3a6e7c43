//! Checks a parsed workflow: edges, references, and skills.

use std::collections::HashSet;

use prowess_format::diagnostic::{Diagnostic, Findings};
use prowess_format::render::parse_input;
use prowess_format::text::closest;
use serde_json::Value;

use super::graph::{
    CodeNode, Edge, HttpNode, LlmNode, MappingSource, SkillUse, SourceText, Task, Workflow,
};
use super::read::read;
use super::rules;
use super::skill::{SkillPart, SkillPartError};
use super::template::{ValueReference, WorkflowTemplate};
use crate::loaded::SkillResolver;

/// The environment that a workflow is checked against.
#[derive(Clone, Copy)]
pub struct CheckContext<'c> {
    /// Resolves skills.
    pub skills: &'c dyn SkillResolver,
    /// The names of all knowledge bases, if known.
    pub bases: Option<&'c [String]>,
}

/// Parses and checks a workflow. If there are errors, it can't be run.
pub fn check(text: &str, around: CheckContext<'_>) -> (Option<Workflow>, Vec<Diagnostic>) {
    let (workflow, found) = read(text);
    let mut findings = Findings::default();
    let unread = !found.is_empty();
    findings.extend(found);
    if let Some(workflow) = &workflow {
        let mut checker = Checker { workflow, around, findings };
        // After a parse error, everything around the missing part would be reported too.
        if !unread {
            checker.ways();
        }
        checker.nodes();
        findings = checker.findings;
    }
    (workflow, findings.into_sorted())
}

struct Checker<'c> {
    workflow: &'c Workflow,
    around: CheckContext<'c>,
    findings: Findings,
}

impl Checker<'_> {
    fn ways(&mut self) {
        self.ends();
        let cycles = self.cycles();
        self.unreachable();
        self.branches();
        if !cycles {
            self.references();
        }
    }

    fn ends(&mut self) {
        let start = prowess_format::span::Span::at(0);
        let has = |kind: &str| self.workflow.nodes.iter().any(|node| node.task.kind() == kind);
        let (has_start, has_end) = (has("start"), has("end"));
        if !has_start {
            let found = rules::MISSING_START.at(start, "no node is of type `start`");
            self.findings.push(found.help("add one with an edge to the first step"));
        }
        if !has_end {
            let found = rules::MISSING_END.at(start, "no node is of type `end`");
            self.findings.push(found.help("add one with an edge from the last step"));
        }
    }

    /// Reports each cycle once, with the names of its nodes.
    fn cycles(&mut self) -> bool {
        let mut found = false;
        let out = neighbours(self.workflow, |edge| (edge.source, edge.target));
        // 0: not visited, 1: on the current path, 2: done.
        let mut colours = vec![0u8; self.workflow.nodes.len()];
        for root in 0..self.workflow.nodes.len() {
            if colours[root] != 0 {
                continue;
            }
            let mut way: Vec<(usize, usize)> = vec![(root, 0)];
            colours[root] = 1;
            while let Some((node, next)) = way.last_mut() {
                let Some(target) = out[*node].get(*next).copied() else {
                    colours[*node] = 2;
                    way.pop();
                    continue;
                };
                *next += 1;
                match colours[target] {
                    0 => {
                        colours[target] = 1;
                        way.push((target, 0));
                    }
                    1 => {
                        let begin = way.iter().position(|(node, _)| *node == target).unwrap_or(0);
                        let names = way[begin..].iter().map(|(node, _)| *node).chain([target]);
                        let names: Vec<&str> =
                            names.map(|node| self.workflow.nodes[node].id.as_str()).collect();
                        let message = format!("these nodes form a cycle: {}", names.join(" → "));
                        let place = self.workflow.nodes[target].place;
                        let help = "remove one of the edges between them";
                        self.findings.push(rules::CYCLE.at(place, message).help(help));
                        found = true;
                    }
                    _ => {}
                }
            }
        }
        found
    }

    fn unreachable(&mut self) {
        let starts = self.workflow.nodes.iter().enumerate();
        let starts = starts.filter(|(_, node)| matches!(node.task, Task::Start { .. }));
        let out = neighbours(self.workflow, |edge| (edge.source, edge.target));
        let reached = spread(&out, starts.map(|(number, _)| number).collect());
        // Without a start nothing is reachable, which is reported already.
        if reached.is_empty() {
            return;
        }
        for (number, node) in self.workflow.nodes.iter().enumerate() {
            if !reached.contains(&number) {
                let message = format!("`{}` is not reachable from a start node", node.id);
                let help = "add an edge to it, or remove it";
                self.findings.push(rules::UNREACHABLE_NODE.at(node.place, message).help(help));
            }
        }
    }

    fn branches(&mut self) {
        for (number, node) in self.workflow.nodes.iter().enumerate() {
            if !matches!(node.task, Task::Condition { .. }) {
                continue;
            }
            let branches: Vec<Option<bool>> =
                self.workflow.outgoing(number).map(|edge| edge.branch).collect();
            let missing = [true, false]
                .into_iter()
                .filter(|answer| !branches.contains(&None) && !branches.contains(&Some(*answer)));
            for answer in missing {
                let message = format!("no edge leaves `{}` if it is {answer}", node.id);
                let help = format!("add an edge with `\"sourceHandle\": \"{answer}\"`");
                self.findings.push(rules::MISSING_BRANCH.at(node.place, message).help(help));
            }
        }
    }

    fn references(&mut self) {
        let inputs = self.workflow.inputs();
        let into = neighbours(self.workflow, |edge| (edge.target, edge.source));
        for (number, node) in self.workflow.nodes.iter().enumerate() {
            let before = spread(&into, into[number].clone());
            for (reference, place) in node.task.references() {
                let root = reference.root();
                let Some(target) = self.workflow.position(root) else {
                    if inputs.contains(&root) || root == "input" {
                        continue;
                    }
                    let ids = self.workflow.nodes.iter().map(|node| node.id.as_str());
                    let message = format!("`{root}` is neither a node nor an input");
                    let help = match closest(root, ids.chain(inputs.iter().copied())) {
                        Some(similar) => format!("did you mean `{similar}`?"),
                        None => "refer to a node as `{{node.output}}`".to_owned(),
                    };
                    self.findings.push(rules::UNKNOWN_REFERENCE.at(place, message).help(help));
                    continue;
                };
                if target == number {
                    let message = format!("`{root}` refers to its own output");
                    let help = "refer to a node before it, or to an input";
                    self.findings.push(rules::NOT_UPSTREAM.at(place, message).help(help));
                } else if !before.contains(&target) {
                    let message = format!("`{root}` does not run before `{}`", node.id);
                    let help = if spread(&into, vec![target]).contains(&number) {
                        format!("`{root}` runs later: refer to a node before `{}`", node.id)
                    } else {
                        format!("add an edge from `{root}` to `{}`", node.id)
                    };
                    self.findings.push(rules::NOT_UPSTREAM.at(place, message).help(help));
                } else if let Some((message, help)) = self.clash(reference, target) {
                    self.findings.push(rules::PART_OF_TEXT.at(place, message).help(help));
                }
            }
        }
    }

    /// A member of a reference that the node's output never has.
    fn clash(&self, reference: &ValueReference, target: usize) -> Option<(String, String)> {
        let node = &self.workflow.nodes[target];
        let second = reference.segments.get(1)?;
        if second != "output" {
            let message = format!("`{}` has an `output`, but no `{second}`", node.id);
            return Some((message, format!("write `{{{{{}.output}}}}`", node.id)));
        }
        let what = match &node.task {
            Task::Llm(_) => "text",
            Task::Knowledge { .. } => "text",
            Task::Condition { .. } => "true or false",
            Task::Start { .. }
            | Task::Skill(_)
            | Task::Http(_)
            | Task::Code(_)
            | Task::End { .. } => {
                return None;
            }
        };
        let part = reference.segments.get(2)?;
        let message = format!("the output of `{}` is {what} and has no member `{part}`", node.id);
        Some((message, format!("write `{{{{{}.output}}}}`", node.id)))
    }

    /// Checks each node by itself.
    fn nodes(&mut self) {
        for (number, node) in self.workflow.nodes.iter().enumerate() {
            let has_parents = || self.workflow.incoming(number).next().is_some();
            match &node.task {
                Task::Skill(used) => self.skill(used, false, has_parents()),
                Task::Llm(LlmNode { skill: Some(used), .. }) => {
                    self.skill(used, true, has_parents());
                }
                Task::Knowledge { base } => self.base(base),
                Task::Http(http) => self.address(http),
                Task::Code(code) => self.program(code),
                Task::Llm(_) | Task::Start { .. } | Task::Condition { .. } | Task::End { .. } => {}
            }
        }
    }

    fn base(&mut self, base: &SourceText) {
        let Some(bases) = self.around.bases else { return };
        let name = base.value.trim();
        if bases.iter().any(|known| known == name) {
            return;
        }
        let help = match closest(name, bases.iter().map(String::as_str)) {
            Some(similar) => format!("did you mean `{similar}`?"),
            None => format!("create the knowledge base `{name}`, or use another one"),
        };
        let message = format!("there is no knowledge base `{name}`");
        self.findings.push(rules::UNKNOWN_BASE.at(base.span, message).help(help));
    }

    /// Checks the host of a URL, if no reference comes before its path.
    fn address(&mut self, http: &HttpNode) {
        let (text, template) = &http.url;
        let known = template.beginning();
        let behind_scheme = known.split_once("://").map_or("", |(_, rest)| rest);
        if template.references().next().is_some() && !behind_scheme.contains(['/', '?', '#']) {
            return;
        }
        if let Some(what) = prowess_proxy::forbidden_url_host(known) {
            let message = format!("this is {what}, which is refused at run time");
            let help = "`http` nodes and tools can only access public addresses; fetch it beforehand and pass it as an input";
            self.findings.push(rules::GUARDED_ADDRESS.at(text.span, message).help(help));
        }
    }

    fn program(&mut self, code: &CodeNode) {
        let template = WorkflowTemplate::parse(&code.code.value);
        for (reference, span) in template.references() {
            // Nested braces are also Python, so only references that would resolve are reported.
            let root = reference.root();
            let is_meant =
                self.workflow.position(root).is_some() || self.workflow.inputs().contains(&root);
            if is_meant {
                let message = format!("`{{{{{reference}}}}}` is not replaced in code");
                let help = "a program reads its input from standard input (`sys.stdin.read()`); pass other values as variables in `env`";
                let place = code.code.part(span);
                self.findings.push(rules::REFERENCE_IN_CODE.at(place, message).help(help));
            }
        }
    }

    fn skill(&mut self, used: &SkillUse, is_llm: bool, has_parents: bool) {
        let (name, tool) = used.skill_and_tool();
        let place = used.name.span;
        let found = match self.around.skills.resolve(name) {
            Ok(found) => found,
            Err(error) => {
                let told = rules::UNKNOWN_SKILL.at(place, error.to_string());
                let help: Vec<String> = error.remedies.iter().map(ToString::to_string).collect();
                let help = help.join("; ");
                self.findings.push(if help.is_empty() { told } else { told.help(help) });
                return;
            }
        };
        let part =
            if is_llm { Ok(SkillPart::Prompt(&found.skill)) } else { SkillPart::of(&found, tool) };
        let part = match part {
            Ok(part) => part,
            Err(SkillPartError { message, hint }) => {
                self.findings.push(rules::UNKNOWN_SKILL.at(place, message).help(hint));
                return;
            }
        };
        let parameters = part.parameters();
        for mapping in &used.mappings {
            let parameter = parameters.iter().find(|it| *it.name == mapping.input);
            let problem = match (parameter, &mapping.source) {
                (None, _) => {
                    let names = parameters.iter().map(|it| it.name.as_str());
                    let help = closest(&mapping.input, names)
                        .map_or("remove it".to_owned(), |it| format!("did you mean `{it}`?"));
                    Some((format!("`{name}` has no input `{}`", mapping.input), help))
                }
                (Some(parameter), MappingSource::Literal(Value::String(text))) => {
                    parse_input(text, &parameter.kind).err().map(|error| {
                        let message = format!("`{}` can't be `{text}`: {error}", mapping.input);
                        (message, "give it another value".to_owned())
                    })
                }
                (Some(_), _) => None,
            };
            if let Some((message, help)) = problem {
                self.findings
                    .push(rules::WRONG_MAPPING.at(mapping.input_place, message).help(help));
            }
        }
        let default = part.default_input().filter(|_| used.mappings.is_empty() && has_parents);
        for parameter in parameters.iter().filter(|it| it.required && it.default.is_none()) {
            let mapped = used.mappings.iter().any(|mapping| mapping.input == *parameter.name);
            let by_default = default.is_some_and(|it| it.name == parameter.name);
            if !mapped && !by_default {
                let input = &parameter.name.value;
                let message = format!("the required input `{input}` of `{name}` has no value");
                let help = format!("add `\"{input}\": \"NODE\"` to `inputMappings`");
                self.findings.push(rules::UNMAPPED_INPUT.at(place, message).help(help));
            }
        }
    }
}

fn neighbours(workflow: &Workflow, way: impl Fn(&Edge) -> (usize, usize)) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new(); workflow.nodes.len()];
    for (from, to) in workflow.edges.iter().map(way) {
        all[from].push(to);
    }
    all
}

/// All reachable nodes, including the first ones.
fn spread(neighbours: &[Vec<usize>], mut open: Vec<usize>) -> HashSet<usize> {
    let mut reached = HashSet::new();
    while let Some(node) = open.pop() {
        if reached.insert(node) {
            open.extend(&neighbours[node]);
        }
    }
    reached
}

#[cfg(test)]
mod tests;
