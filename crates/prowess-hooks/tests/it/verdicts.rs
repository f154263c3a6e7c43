//! What the answers of several handlers come to together.

use proptest::prelude::*;
use prowess_hooks::{
    EventVerdict, HookAnswer, HookFault, HookPermission, MAX_STOP_BLOCKS, PreToolDecision,
    StopBlocks, Strictness, event_verdict, pre_tool_verdict,
};
use serde_json::json;

use HookPermission::{Allow, Ask, Defer, Deny};
use Strictness::{Lenient, Strict};

fn wants(permission: HookPermission) -> HookAnswer {
    HookAnswer {
        permission: Some(permission),
        permission_reason: Some(format!("{permission:?}")),
        ..HookAnswer::default()
    }
}

fn unable() -> HookAnswer {
    HookAnswer { fault: Some(HookFault::Unable("it broke".to_owned())), ..HookAnswer::default() }
}

fn failed() -> HookAnswer {
    HookAnswer {
        fault: Some(HookFault::NonBlocking("it failed".to_owned())),
        ..HookAnswer::default()
    }
}

fn named(answers: &[HookAnswer]) -> Vec<(String, HookAnswer)> {
    let name = |(number, answer): (usize, &HookAnswer)| (format!("hook {number}"), answer.clone());
    answers.iter().enumerate().map(name).collect()
}

fn decision(answers: &[HookAnswer], strictness: Strictness) -> String {
    match pre_tool_verdict(&named(answers), strictness).decision {
        PreToolDecision::Proceed => "proceed".to_owned(),
        PreToolDecision::Ask(by) => format!("ask: {} {}", by.hook, by.reason),
        PreToolDecision::Defer(by) => format!("defer: {}", by.hook),
        PreToolDecision::Deny(by) => format!("deny: {} {}", by.hook, by.reason),
    }
}

#[test]
fn the_strictest_handler_decides() {
    let rows: &[(&[HookPermission], &str)] = &[
        (&[], "proceed"),
        // An `allow` approves nothing here.
        (&[Allow], "proceed"),
        (&[Allow, Ask], "ask: hook 1 Ask"),
        (&[Ask, Allow], "ask: hook 0 Ask"),
        (&[Ask, Defer, Allow], "defer: hook 1"),
        (&[Deny, Defer], "deny: hook 0 Deny"),
        (&[Allow, Ask, Defer, Deny], "deny: hook 3 Deny"),
        // Of two, the first says why.
        (&[Deny, Deny], "deny: hook 0 Deny"),
    ];
    for (permissions, expected) in rows {
        let answers: Vec<HookAnswer> = permissions.iter().map(|it| wants(*it)).collect();
        assert_eq!(decision(&answers, Strict), *expected, "{permissions:?}");
        assert_eq!(decision(&answers, Lenient), *expected, "{permissions:?}");
    }
}

#[test]
fn a_broken_gate_is_closed_unless_the_user_opens_it() {
    assert_eq!(decision(&[unable()], Strict), "deny: hook 0 it broke");
    assert_eq!(decision(&[unable()], Lenient), "proceed");
    assert_eq!(decision(&[wants(Allow), unable()], Strict), "deny: hook 1 it broke");
    assert_eq!(decision(&[wants(Deny), unable()], Lenient), "deny: hook 0 Deny");
    // An exit code that blocks nothing blocks nothing.
    assert_eq!(decision(&[failed()], Strict), "proceed");
    let verdict = pre_tool_verdict(&named(&[failed(), unable()]), Lenient);
    assert_eq!(verdict.messages, ["hook 0: it failed", "hook 1: it broke"]);
}

#[test]
fn inputs_contexts_and_messages_are_put_together() {
    let with = |input: i32| HookAnswer {
        updated_input: Some(json!({ "n": input })),
        context: Some(format!("context {input}")),
        system_message: Some(format!("message {input}")),
        ..HookAnswer::default()
    };
    let verdict = pre_tool_verdict(&named(&[with(1), with(2), HookAnswer::default()]), Strict);
    assert_eq!(verdict.updated_input, Some((1, json!({"n": 2}))), "the last one counts");
    assert_eq!(verdict.context, ["context 1", "context 2"]);
    assert_eq!(verdict.messages, ["message 1", "message 2"]);
    // What does not run has no input.
    for permission in [Deny, Defer] {
        let verdict = pre_tool_verdict(&named(&[with(1), wants(permission)]), Strict);
        assert_eq!(verdict.updated_input, None);
    }
    let asked = pre_tool_verdict(&named(&[with(1), wants(Ask)]), Strict);
    assert!(asked.updated_input.is_some(), "the question is about the new input");
}

#[test]
fn everything_stops_where_one_handler_says_so() {
    let stop = HookAnswer { stop: Some(String::new()), ..wants(Allow) };
    let verdict = pre_tool_verdict(&named(&[wants(Ask), stop.clone()]), Strict);
    let stopped = verdict.stop.expect("it stops");
    assert_eq!((stopped.hook.as_str(), stopped.reason.as_str()), ("hook 1", "it gave no reason"));
    let verdict = event_verdict(&named(&[stop]));
    assert!(verdict.stop.is_some());
}

#[test]
fn other_events_have_blocks() {
    let block =
        |reason: &str| HookAnswer { block: Some(reason.to_owned()), ..HookAnswer::default() };
    let verdict =
        event_verdict(&named(&[block("one"), HookAnswer::default(), block("two"), unable()]));
    let reasons: Vec<&str> = verdict.blocks.iter().map(|it| it.reason.as_str()).collect();
    assert_eq!(reasons, ["one", "two"]);
    assert_eq!(verdict.messages, ["hook 3: it broke"], "what broke blocks nothing here");
}

#[test]
fn a_stop_hook_keeps_an_agent_working_eight_times() {
    let blocking = event_verdict(&named(&[HookAnswer {
        block: Some("go on".to_owned()),
        ..HookAnswer::default()
    }]));
    let mut blocks = StopBlocks::default();
    assert!(!blocks.is_active());
    for _ in 0..MAX_STOP_BLOCKS {
        assert!(blocks.goes_on(&blocking));
        assert!(blocks.is_active());
    }
    assert!(!blocks.goes_on(&blocking), "the ninth does not count");
    assert!(blocks.goes_on(&blocking), "and the next turn begins anew");
    assert!(!blocks.goes_on(&EventVerdict::default()));
    // Feedback keeps it working as well, under the same bound.
    let feedback = EventVerdict { context: vec!["run the tests".to_owned()], ..blocking.clone() };
    assert!(blocks.goes_on(&EventVerdict { blocks: Vec::new(), ..feedback }));
    // `continue: false` ends everything.
    let stopped = EventVerdict { stop: blocking.blocks.first().cloned(), ..blocking };
    assert!(!blocks.goes_on(&stopped));
}

proptest! {
    /// More handlers never make a decision milder.
    #[test]
    fn a_handler_more_only_tightens(first in 0..4_usize, second in 0..4_usize) {
        let all = [Allow, Ask, Defer, Deny];
        let rank = |answers: &[HookAnswer]| match pre_tool_verdict(&named(answers), Strict).decision {
            PreToolDecision::Proceed => 0,
            PreToolDecision::Ask(_) => 1,
            PreToolDecision::Defer(_) => 2,
            PreToolDecision::Deny(_) => 3,
        };
        let alone = rank(&[wants(all[first])]);
        prop_assert!(rank(&[wants(all[first]), wants(all[second])]) >= alone);
    }
}
