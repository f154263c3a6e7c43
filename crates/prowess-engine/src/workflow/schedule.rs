//! Which node may run when: a state machine without clocks, threads or nodes that do something.
//!
//! An edge is undecided, live or dead. A node runs when all edges to it are decided and one of them is live; when all are
//! dead it is skipped, and so are edges behind it. So a join waits for each of its live parents, however long the ways to
//! them are, and never for a branch that was not taken.

use super::graph::{Task, Workflow};

/// Where a node stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// Something before it is undecided.
    Waiting,
    /// It may run.
    Ready,
    /// It runs.
    Running,
    /// It has run.
    Complete,
    /// No way led to it.
    Skipped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EdgeState {
    Undecided,
    Live,
    Dead,
}

/// The states of all nodes of a workflow without cycles.
#[derive(Clone, Debug)]
pub struct Schedule<'w> {
    workflow: &'w Workflow,
    states: Vec<NodeState>,
    ways: Vec<EdgeState>,
    into: Vec<Vec<usize>>,
    out: Vec<Vec<usize>>,
}

impl<'w> Schedule<'w> {
    /// Nothing has run. Start nodes are ready; what no edge leads to is skipped, and told by the second value.
    pub fn new(workflow: &'w Workflow) -> (Self, Vec<usize>) {
        let mut into = vec![Vec::new(); workflow.nodes.len()];
        let mut out = vec![Vec::new(); workflow.nodes.len()];
        for (number, edge) in workflow.edges.iter().enumerate() {
            into[edge.target].push(number);
            out[edge.source].push(number);
        }
        let mut schedule = Self {
            workflow,
            states: vec![NodeState::Waiting; workflow.nodes.len()],
            ways: vec![EdgeState::Undecided; workflow.edges.len()],
            into,
            out,
        };
        let mut skipped = Vec::new();
        for (number, node) in workflow.nodes.iter().enumerate() {
            match &node.task {
                Task::Start { .. } => schedule.states[number] = NodeState::Ready,
                _ if schedule.into[number].is_empty() => schedule.skip(number, &mut skipped),
                _ => {}
            }
        }
        (schedule, skipped)
    }

    /// Where a node stands.
    pub fn state(&self, node: usize) -> NodeState {
        self.states[node]
    }

    /// The first node that may run, in the order of the file.
    pub fn next_ready(&self) -> Option<usize> {
        self.states.iter().position(|state| *state == NodeState::Ready)
    }

    /// How many nodes run.
    pub fn running(&self) -> usize {
        self.states.iter().filter(|state| **state == NodeState::Running).count()
    }

    /// A node that is ready runs now.
    pub fn start(&mut self, node: usize) {
        debug_assert_eq!(self.states[node], NodeState::Ready);
        self.states[node] = NodeState::Running;
    }

    /// A node has run; a condition with this answer. The nodes that are skipped by that, in the order of the file.
    pub fn complete(&mut self, node: usize, answer: Option<bool>) -> Vec<usize> {
        self.states[node] = NodeState::Complete;
        let mut skipped = Vec::new();
        for edge in self.out[node].clone() {
            let taken = match (self.workflow.edges[edge].branch, answer) {
                (Some(branch), Some(answer)) => branch == answer,
                _ => true,
            };
            self.ways[edge] = if taken { EdgeState::Live } else { EdgeState::Dead };
            self.settle(self.workflow.edges[edge].target, &mut skipped);
        }
        skipped.sort_unstable();
        skipped
    }

    /// The nodes whose outputs a node gets: of its live edges, in the order of the file, each once.
    pub fn parents(&self, node: usize) -> Vec<usize> {
        let mut parents = Vec::new();
        for edge in &self.into[node] {
            let parent = self.workflow.edges[*edge].source;
            if self.ways[*edge] == EdgeState::Live && !parents.contains(&parent) {
                parents.push(parent);
            }
        }
        parents
    }

    fn settle(&mut self, node: usize, skipped: &mut Vec<usize>) {
        if self.states[node] != NodeState::Waiting {
            return;
        }
        let ways = self.into[node].iter().map(|edge| self.ways[*edge]);
        let (mut live, mut undecided) = (false, false);
        for way in ways {
            live |= way == EdgeState::Live;
            undecided |= way == EdgeState::Undecided;
        }
        if undecided {
            return;
        }
        if live {
            self.states[node] = NodeState::Ready;
        } else {
            self.skip(node, skipped);
        }
    }

    /// A list and no recursion: a chain may be thousands of nodes long.
    fn skip(&mut self, node: usize, skipped: &mut Vec<usize>) {
        let mut open = vec![node];
        while let Some(node) = open.pop() {
            if self.states[node] != NodeState::Waiting {
                continue;
            }
            self.states[node] = NodeState::Skipped;
            skipped.push(node);
            for edge in self.out[node].clone() {
                self.ways[edge] = EdgeState::Dead;
                let target = self.workflow.edges[edge].target;
                let ways = self.into[target].iter().map(|edge| self.ways[*edge]);
                let decided: Vec<EdgeState> = ways.collect();
                if self.states[target] != NodeState::Waiting
                    || decided.contains(&EdgeState::Undecided)
                {
                    continue;
                }
                if decided.contains(&EdgeState::Live) {
                    self.states[target] = NodeState::Ready;
                } else {
                    open.push(target);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
