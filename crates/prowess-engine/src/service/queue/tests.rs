use std::collections::{BTreeMap, HashMap};

use proptest::prelude::*;
use prowess_core::ProblemKind;

use super::{FairQueue, Owner, QueueLimits};

fn limits(running: usize, running_per_owner: usize) -> QueueLimits {
    QueueLimits { running, running_per_owner, queued: 1000, queued_per_owner: 1000 }
}

fn owner(name: &str) -> Owner {
    Owner::new(name)
}

/// The order in which runs start if one runs at a time.
fn order(queue: &mut FairQueue<&'static str>) -> Vec<&'static str> {
    let mut order = Vec::new();
    while let Some((owner, item)) = queue.pop() {
        order.push(item);
        queue.finished(&owner);
    }
    order
}

#[test]
fn owners_take_turns_however_many_runs_they_have() {
    let mut queue = FairQueue::new(limits(1, 1));
    for (name, item) in
        [("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1"), ("c", "c1"), ("b", "b2")]
    {
        queue.push(&owner(name), item).expect("there is room");
    }
    assert_eq!(order(&mut queue), ["a1", "b1", "c1", "a2", "b2", "a3"]);
}

#[test]
fn an_owner_at_its_limit_is_passed_over_and_keeps_its_turn() {
    let mut queue = FairQueue::new(limits(3, 1));
    for (name, item) in [("a", "a1"), ("a", "a2"), ("b", "b1"), ("b", "b2")] {
        queue.push(&owner(name), item).expect("there is room");
    }
    let next = |queue: &mut FairQueue<&'static str>| queue.pop().map(|(_, item)| item);
    assert_eq!(next(&mut queue), Some("a1"));
    assert_eq!(next(&mut queue), Some("b1"));
    // A slot is free, and both owners have a run.
    assert_eq!(next(&mut queue), None);
    queue.finished(&owner("b"));
    assert_eq!(next(&mut queue), Some("b2"));
    queue.finished(&owner("a"));
    assert_eq!(next(&mut queue), Some("a2"));
}

#[test]
fn a_full_queue_is_a_problem_with_advice() {
    let tight = QueueLimits { running: 1, running_per_owner: 1, queued: 2, queued_per_owner: 1 };
    let mut queue = FairQueue::new(tight);
    queue.push(&owner("a"), "runs").expect("it can start at once");
    queue.pop().expect("it starts");
    queue.push(&owner("a"), "waits").expect("there is room");
    let (item, problem) = queue.push(&owner("a"), "third").expect_err("one of them waits already");
    assert_eq!((item, problem.code), ("third", "too-many-runs"));
    assert!(matches!(problem.kind, ProblemKind::RateLimited { retry_after: Some(_) }));
    assert!(!problem.remedies.is_empty());
    queue.push(&owner("b"), "waits too").expect("there is room");
    let (_, problem) = queue.push(&owner("c"), "fourth").expect_err("the queue is full");
    assert_eq!((problem.code, problem.kind), ("queue-full", ProblemKind::Unavailable));
    assert!(!problem.remedies.is_empty());
}

#[test]
fn a_queue_without_places_still_starts_what_can_start_at_once() {
    let none = QueueLimits { running: 1, running_per_owner: 1, queued: 0, queued_per_owner: 0 };
    let mut queue = FairQueue::new(none);
    queue.push(&owner("a"), "first").expect("it can start at once");
    assert!(queue.pop().is_some());
    assert!(queue.push(&owner("b"), "second").is_err());
}

#[test]
fn a_free_place_is_not_refused_because_others_wait_for_their_own() {
    let tight = QueueLimits { running: 2, running_per_owner: 1, queued: 1, queued_per_owner: 1 };
    let mut queue = FairQueue::new(tight);
    queue.push(&owner("a"), "a1").expect("it can start at once");
    queue.pop().expect("it starts");
    queue.push(&owner("a"), "a2").expect("it waits, since `a` has a run");
    assert!(queue.pop().is_none());
    queue.push(&owner("b"), "b1").expect("the queue is full, and a place is free");
    assert_eq!(queue.pop().map(|(_, item)| item), Some("b1"));
}

#[test]
fn what_was_removed_never_starts() {
    let mut queue = FairQueue::new(limits(1, 1));
    queue.push(&owner("a"), "a1").expect("there is room");
    let ticket = queue.push(&owner("a"), "a2").expect("there is room");
    queue.push(&owner("b"), "b1").expect("there is room");
    assert_eq!(queue.remove(&owner("a"), ticket), Some("a2"));
    assert_eq!(queue.remove(&owner("a"), ticket), None);
    assert_eq!(order(&mut queue), ["a1", "b1"]);
    assert!(queue.owners.is_empty(), "nothing is kept of owners without runs");
}

#[derive(Clone, Debug)]
enum Step {
    Push(u8),
    Start,
    Finish(usize),
    Remove(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u8..5).prop_map(Step::Push),
        3 => Just(Step::Start),
        2 => any::<usize>().prop_map(Step::Finish),
        1 => any::<usize>().prop_map(Step::Remove),
    ]
}

proptest! {
    /// For any sequence of operations: no limit is exceeded, every run starts once or is removed, runs of one owner
    /// start in order, and no run waits while a slot is free for it.
    #[test]
    fn bounds_hold_and_nothing_is_lost(
        running in 1_usize..5,
        running_per_owner in 1_usize..4,
        queued in 0_usize..12,
        queued_per_owner in 0_usize..6,
        steps in prop::collection::vec(step(), 0..200),
    ) {
        let limits = QueueLimits { running, running_per_owner, queued, queued_per_owner };
        let mut queue = FairQueue::new(limits);
        let mut waiting = BTreeMap::new();
        let mut active: Vec<Owner> = Vec::new();
        let mut last_started: HashMap<Owner, u32> = HashMap::new();
        let mut number = 0_u32;
        for step in steps {
            match step {
                Step::Push(name) => {
                    let owner = owner(&name.to_string());
                    number += 1;
                    if let Ok(ticket) = queue.push(&owner, number) {
                        waiting.insert(number, (owner, ticket));
                    }
                }
                Step::Start => {
                    let started = queue.pop();
                    if let Some((owner, item)) = started {
                        prop_assert!(waiting.remove(&item).is_some(), "it starts once");
                        let last = last_started.insert(owner.clone(), item);
                        prop_assert!(last.is_none_or(|last| last < item), "in its owner's order");
                        active.push(owner);
                    } else {
                        let mine = |owner: &Owner| active.iter().filter(|it| *it == owner).count();
                        let could = active.len() < running
                            && waiting.values().any(|(owner, _)| mine(owner) < running_per_owner);
                        prop_assert!(!could, "somebody could have started");
                    }
                }
                Step::Finish(which) if !active.is_empty() => {
                    let owner = active.swap_remove(which % active.len());
                    queue.finished(&owner);
                }
                Step::Remove(which) if !waiting.is_empty() => {
                    let item = *waiting.keys().nth(which % waiting.len()).expect("it is there");
                    let (owner, ticket) = waiting.remove(&item).expect("it is there");
                    prop_assert_eq!(queue.remove(&owner, ticket), Some(item));
                }
                Step::Finish(_) | Step::Remove(_) => {}
            }
            prop_assert_eq!(queue.running(), active.len());
            prop_assert_eq!(queue.queued(), waiting.len());
            prop_assert!(active.len() <= running);
            // At most one above the limit: the run that could have started at once.
            prop_assert!(waiting.len() <= queued + 1);
            for owner in &active {
                prop_assert!(active.iter().filter(|it| *it == owner).count() <= running_per_owner);
            }
        }
    }

    /// A position is exactly the number of runs that start before, if nothing else happens; and no owner waits longer
    /// than one turn of every other owner per run: no owner can starve another.
    #[test]
    fn positions_are_true_and_nobody_starves(owners in prop::collection::vec(0_u8..6, 1..60)) {
        let mut queue = FairQueue::new(limits(1, 1));
        let mut tickets = Vec::new();
        for (number, name) in owners.iter().enumerate() {
            let owner = owner(&name.to_string());
            let ticket = queue.push(&owner, number).expect("there is room");
            tickets.push((owner, ticket));
        }
        let told: Vec<_> =
            tickets.iter().map(|(owner, ticket)| queue.position(owner, *ticket)).collect();
        let distinct = owners.iter().collect::<std::collections::HashSet<_>>().len();
        let mut rounds: HashMap<Owner, usize> = HashMap::new();
        let mut started = 0;
        while let Some((owner, number)) = queue.pop() {
            prop_assert_eq!(told[number], Some(started));
            prop_assert_eq!(queue.position(&owner, tickets[number].1), None);
            let round = rounds.entry(owner.clone()).or_default();
            prop_assert!(started < (*round + 1) * distinct);
            *round += 1;
            started += 1;
            queue.finished(&owner);
        }
        prop_assert_eq!(started, owners.len());
    }

    /// All queued runs are returned, in the order in which they would have started.
    #[test]
    fn removing_all_gives_the_order_of_starting(owners in prop::collection::vec(0_u8..6, 0..40)) {
        let fill = || {
            let mut queue = FairQueue::new(limits(1, 1));
            for (number, name) in owners.iter().enumerate() {
                queue.push(&owner(&name.to_string()), number).expect("there is room");
            }
            queue
        };
        let mut popped = Vec::new();
        let mut queue = fill();
        while let Some((owner, number)) = queue.pop() {
            popped.push(number);
            queue.finished(&owner);
        }
        let mut queue = fill();
        prop_assert_eq!(queue.remove_all(), popped);
        prop_assert_eq!(queue.queued(), 0);
        prop_assert!(queue.owners.is_empty());
    }
}
