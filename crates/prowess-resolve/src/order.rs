//! Topological order, dependencies first, or the cycle that makes it impossible (GAIA §10.3).

use std::collections::VecDeque;

/// The result of ordering.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Every node after its dependencies.
    Of(Vec<usize>),
    /// Each depends on the next one, and the last on the first.
    Cycle(Vec<usize>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    New,
    Open,
    Done,
}

/// Orders nodes, each given by its dependencies. Iterative, because the depth of the graph is
/// untrusted.
pub(crate) fn in_order(needs: &[Vec<usize>]) -> Order {
    let mut marks = vec![Mark::New; needs.len()];
    let mut order = Vec::with_capacity(needs.len());
    let mut open: Vec<(usize, usize)> = Vec::new();
    for start in 0..needs.len() {
        if marks[start] != Mark::New {
            continue;
        }
        marks[start] = Mark::Open;
        open.push((start, 0));
        while let Some((node, next)) = open.last_mut() {
            let Some(&needed) = needs[*node].get(*next) else {
                marks[*node] = Mark::Done;
                order.push(*node);
                open.pop();
                continue;
            };
            *next += 1;
            match marks[needed] {
                Mark::Done => {}
                Mark::New => {
                    marks[needed] = Mark::Open;
                    open.push((needed, 0));
                }
                Mark::Open => return Order::Cycle(shortest_cycle(needs, needed)),
            }
        }
    }
    Order::Of(order)
}

/// The shortest cycle through a node, which must exist.
fn shortest_cycle(needs: &[Vec<usize>], start: usize) -> Vec<usize> {
    let mut from: Vec<Option<usize>> = vec![None; needs.len()];
    let mut queue = VecDeque::from([start]);
    while let Some(node) = queue.pop_front() {
        for &needed in &needs[node] {
            if needed == start {
                let mut cycle = vec![node];
                let mut at = node;
                while at != start {
                    at = from[at].expect("every node but the first was reached from another");
                    cycle.push(at);
                }
                cycle.reverse();
                return cycle;
            }
            if from[needed].is_none() {
                from[needed] = Some(node);
                queue.push_back(needed);
            }
        }
    }
    vec![start]
}
