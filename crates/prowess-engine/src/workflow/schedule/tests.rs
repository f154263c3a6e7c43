use proptest::prelude::*;
use serde_json::json;

use super::super::read::read;
use super::*;

/// `"s:start c:condition"` and `"s>c c>e:true"` as a workflow.
fn workflow(nodes: &str, edges: &str) -> Workflow {
    let nodes: Vec<_> = nodes
        .split_whitespace()
        .map(|node| {
            let (id, kind) = node.split_once(':').unwrap_or((node, "code"));
            json!({ "id": id, "type": kind, "data": { "code": "pass", "expression": "true" } })
        })
        .collect();
    let edges: Vec<_> = edges
        .split_whitespace()
        .map(|edge| {
            let (ends, branch) =
                edge.split_once(':').map_or((edge, None), |(it, at)| (it, Some(at)));
            let (source, target) = ends.split_once('>').expect("an edge has two ends");
            json!({ "source": source, "target": target, "sourceHandle": branch })
        })
        .collect();
    let text = json!({ "nodes": nodes, "edges": edges }).to_string();
    let (workflow, findings) = read(&text);
    assert!(findings.is_empty(), "{findings:?}");
    workflow.expect("it can be read")
}

/// Runs all nodes, the last ready node first if `backwards`, and returns what happened.
fn story(nodes: &str, edges: &str, answer: bool, backwards: bool) -> String {
    let workflow = workflow(nodes, edges);
    let name = |node: usize| workflow.nodes[node].id.clone();
    let names = |nodes: Vec<usize>| nodes.into_iter().map(name).collect::<Vec<_>>().join(",");
    let (mut schedule, skipped) = Schedule::new(&workflow);
    let mut told = skipped.into_iter().map(|node| format!("-{}", name(node))).collect::<Vec<_>>();
    loop {
        let ready: Vec<usize> = (0..workflow.nodes.len())
            .filter(|it| schedule.state(*it) == NodeState::Ready)
            .collect();
        let Some(node) = (if backwards { ready.last() } else { ready.first() }).copied() else {
            break;
        };
        schedule.start(node);
        told.push(format!("{}({})", name(node), names(schedule.parents(node))));
        let is_condition = workflow.nodes[node].task.kind() == "condition";
        let skipped = schedule.complete(node, is_condition.then_some(answer));
        told.extend(skipped.into_iter().map(|node| format!("-{}", name(node))));
    }
    told.join(" ")
}

#[test]
fn a_join_waits_for_all_its_live_parents() {
    let diamond = ("s:start a b j e:end", "s>a s>b a>j b>j j>e");
    assert_eq!(story(diamond.0, diamond.1, true, false), "s() a(s) b(s) j(a,b) e(j)");
    assert_eq!(story(diamond.0, diamond.1, true, true), "s() b(s) a(s) j(a,b) e(j)");

    // With unequal depths, the reference implementation runs the join too early.
    let uneven = ("s:start a b c j e:end", "s>j s>a a>b b>c c>j j>e");
    assert_eq!(story(uneven.0, uneven.1, true, false), "s() a(s) b(a) c(b) j(s,c) e(j)");
}

#[test]
fn a_branch_that_is_not_taken_holds_nobody_up() {
    let rejoined = ("s:start c:condition a b x j e:end", "s>c c>a:true c>b:false b>x a>j x>j j>e");
    assert_eq!(story(rejoined.0, rejoined.1, true, false), "s() c(s) -b -x a(c) j(a) e(j)");
    assert_eq!(story(rejoined.0, rejoined.1, false, false), "s() c(s) -a b(c) x(b) j(x) e(j)");

    // One parent depends on a condition, the other does not.
    let mixed = ("s:start c:condition a b j:end", "s>c c>a:true s>b a>j b>j");
    assert_eq!(story(mixed.0, mixed.1, false, false), "s() c(s) -a b(s) j(b)");
    assert_eq!(story(mixed.0, mixed.1, true, true), "s() b(s) c(s) a(c) j(a,b)");

    // An edge without an answer is taken in both cases, and a condition may be skipped as a whole.
    let nested = (
        "s:start c:condition d:condition a b e:end",
        "s>c c>d:true d>a:true d>b:false c>e a>e b>e",
    );
    assert_eq!(story(nested.0, nested.1, false, false), "s() c(s) -d -a -b e(c)");
    assert_eq!(story(nested.0, nested.1, true, false), "s() c(s) d(c) -b a(d) e(c,a)");
}

#[test]
fn what_no_edge_leads_to_is_skipped_with_everything_behind_it() {
    let stray = ("s:start a b j e:end", "s>e a>b b>j s>j");
    assert_eq!(story(stray.0, stray.1, true, false), "-a -b s() j(s) e(s)");
}

/// Edges from smaller to larger indexes, so there is no cycle. Node 0 is the start; some nodes are conditions.
fn any_graph() -> impl Strategy<Value = (String, String, Vec<bool>)> {
    (2usize..9).prop_flat_map(|count| {
        let kinds = prop::collection::vec(any::<bool>(), count);
        let edges = prop::collection::vec((0..count, 0..count, 0u8..3), 0..20);
        let answers = prop::collection::vec(any::<bool>(), count);
        (kinds, edges, answers).prop_map(|(kinds, edges, answers)| {
            let node = |(number, condition): (usize, &bool)| match (number, condition) {
                (0, _) => "n0:start".to_owned(),
                (_, true) => format!("n{number}:condition"),
                (_, false) => format!("n{number}"),
            };
            let nodes: Vec<String> = kinds.iter().enumerate().map(node).collect();
            let edge = |(a, b, branch): &(usize, usize, u8)| {
                let (from, to) = (a.min(b), a.max(b));
                let branch = match (branch, from > &0 && kinds[*from]) {
                    (0, true) => ":true",
                    (1, true) => ":false",
                    _ => "",
                };
                (from != to).then(|| format!("n{from}>n{to}{branch}"))
            };
            let edges: Vec<String> = edges.iter().filter_map(edge).collect();
            (nodes.join(" "), edges.join(" "), answers)
        })
    })
}

/// Runs all nodes, up to three at a time, finishing them in the order of `choices`.
fn run_in_some_order(
    workflow: &Workflow,
    answers: &[bool],
    choices: &[usize],
) -> Vec<(NodeState, Vec<usize>)> {
    let (mut schedule, _) = Schedule::new(workflow);
    let mut running: Vec<usize> = Vec::new();
    for step in 0.. {
        while running.len() < 3
            && let Some(node) = schedule.next_ready()
        {
            // No input may be undecided.
            for edge in workflow.incoming(node) {
                assert!(matches!(
                    schedule.state(edge.source),
                    NodeState::Complete | NodeState::Skipped
                ));
            }
            schedule.start(node);
            running.push(node);
        }
        if running.is_empty() {
            break;
        }
        let node = running.remove(choices[step % choices.len()] % running.len());
        let is_condition = workflow.nodes[node].task.kind() == "condition";
        schedule.complete(node, is_condition.then_some(answers[node]));
    }
    (0..workflow.nodes.len()).map(|node| (schedule.state(node), schedule.parents(node))).collect()
}

proptest! {
    #[test]
    fn the_order_of_endings_changes_nothing(
        (nodes, edges, answers) in any_graph(),
        choices in prop::collection::vec(0usize..8, 1..20),
    ) {
        let workflow = workflow(&nodes, &edges);
        let one = run_in_some_order(&workflow, &answers, &[0]);
        let other = run_in_some_order(&workflow, &answers, &choices);
        prop_assert_eq!(&one, &other);
        // No node is left waiting, and every completed node had a live parent.
        for (number, (state, parents)) in one.iter().enumerate() {
            prop_assert!(matches!(state, NodeState::Complete | NodeState::Skipped));
            prop_assert_eq!(*state == NodeState::Complete, number == 0 || !parents.is_empty());
        }
    }
}
