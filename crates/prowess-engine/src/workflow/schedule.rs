//! Decides which nodes may run: a state machine without clocks, threads or I/O.
//!
//! An edge is undecided, live or dead. A node runs when all edges to it are decided and one of them is live; if all are
//! dead it is skipped, and its outgoing edges are dead too. So a join waits for all its live parents, however long
//! their paths are, and never for a branch that was not taken.

use super::graph::{Task, Workflow};

/// The state of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// An incoming edge is undecided.
    Waiting,
    /// It may run.
    Ready,
    /// It is running.
    Running,
    /// It has completed.
    Complete,
    /// No live edge leads to it.
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
    /// Creates the initial schedule. Start nodes are ready; other nodes without incoming edges are skipped, and
    /// returned as the second value.
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

    /// The state of a node.
    pub fn state(&self, node: usize) -> NodeState {
        self.states[node]
    }

    /// The first ready node, in the order of the file.
    pub fn next_ready(&self) -> Option<usize> {
        self.states.iter().position(|state| *state == NodeState::Ready)
    }

    /// The number of running nodes.
    pub fn running(&self) -> usize {
        self.states.iter().filter(|state| **state == NodeState::Running).count()
    }

    /// Marks a ready node as running.
    pub fn start(&mut self, node: usize) {
        debug_assert_eq!(self.states[node], NodeState::Ready);
        self.states[node] = NodeState::Running;
    }

    /// Marks a node as complete, with the answer of a condition. Returns the nodes that are skipped as a result, in the
    /// order of the file.
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

    /// The nodes whose outputs a node gets: the sources of its live edges, in the order of the file, without
    /// duplicates.
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

    /// Iterative, because a chain may have thousands of nodes.
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
