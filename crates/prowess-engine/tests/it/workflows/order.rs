//! Which node runs when, and what it gets.

use std::sync::Arc;

use insta::assert_snapshot;
use serde_json::json;
use tokio::sync::Barrier;

use super::scene::{Parrot, Say, Scene, graph, said, system};

#[test]
fn events_tell_the_whole_story() {
    let flow = graph(
        "start:start choice:condition yes:llm no:llm end:end",
        "start>choice choice>yes:true choice>no:false yes>end no>end",
        &json!({
            "start": { "inputVariable": "topic" },
            "choice": { "expression": "{{start.output}}.includes('tea')" },
            "yes": { "systemPrompt": "About {{topic}}" },
            "end": { "outputVariable": "answer" },
        }),
    );
    let told = Scene::new().run(&flow, &json!({ "topic": "green tea" }), &Parrot::echo());
    assert_snapshot!(told.lines.join("\n").replace(&told.run, "RUN"));
    // A condition hands on what it was given, and not `true`.
    assert_eq!(told.output(), "<About green tea|green tea>");
    assert!(told.run.starts_with("test-flow-"), "{}", told.run);
}

#[test]
fn a_join_gets_what_all_its_live_parents_give() {
    let flow = graph(
        "start:start a:llm b:llm c:llm join:llm end:end",
        "start>a a>b b>join start>c c>join join>end",
        &json!({
            "a": { "systemPrompt": "a" }, "b": { "systemPrompt": "b" },
            "c": { "systemPrompt": "c" }, "join": { "systemPrompt": "j" },
        }),
    );
    let told = Scene::new().run(&flow, &json!({ "input": "x" }), &Parrot::echo());
    assert_eq!(told.output(), "<j|<b|<a|x>>\n\n<c|x>>");
}

#[test]
fn several_ends_give_an_object() {
    let flow = graph(
        "start:start a:end b:end skipped:end choice:condition",
        "start>a start>b start>choice choice>skipped:true",
        &json!({
            "a": { "outputVariable": "first" },
            "b": { "outputVariable": "<{{start.output}}>" },
            "choice": { "expression": "false" },
        }),
    );
    // The check says that nothing follows when the answer is false, which is what is wanted here.
    let mut flow = flow;
    flow["edges"].as_array_mut().expect("edges").push(json!({ "source": "choice", "target": "b" }));
    let told = Scene::new().run(&flow, &json!({ "input": "x" }), &Parrot::echo());
    assert_eq!(told.output(), &json!({ "first": "x", "b": "<x>" }));
}

#[test]
fn independent_branches_run_at_the_same_time() {
    // Neither is answered before both have asked.
    let barrier = Arc::new(Barrier::new(2));
    let model = Parrot::new(move |request| match system(request) {
        "join" => Say::Text(said(request).to_owned()),
        name => Say::Together(Arc::clone(&barrier), name.to_owned()),
    });
    let flow = graph(
        "start:start a:llm b:llm join:llm end:end",
        "start>a start>b a>join b>join join>end",
        &json!({
            "a": { "systemPrompt": "a" }, "b": { "systemPrompt": "b" }, "join": { "systemPrompt": "join" },
        }),
    );
    let told = Scene::new().run(&flow, &json!({ "input": "x" }), &model);
    assert_eq!(told.output(), "a\n\nb");
}

#[test]
fn no_more_nodes_run_at_a_time_than_allowed() {
    let mut scene = Scene::new();
    scene.limits.parallel = 1;
    let flow = graph(
        "start:start a:llm b:llm end:end",
        "start>a start>b a>end b>end",
        &json!({ "a": { "systemPrompt": "a" }, "b": { "systemPrompt": "b" } }),
    );
    let told = scene.run(&flow, &json!({ "input": "x" }), &Parrot::echo());
    let order: Vec<&str> = told
        .lines
        .iter()
        .filter(|line| line.starts_with("node_start") || line.starts_with("node_complete"))
        .filter(|line| line.contains("\"node_id\":\"a\"") || line.contains("\"node_id\":\"b\""))
        .map(|line| line.split_whitespace().next().unwrap_or_default())
        .collect();
    assert_eq!(order, ["node_start", "node_complete", "node_start", "node_complete"]);
}

#[test]
fn a_model_that_says_nothing_is_given_up() {
    let mut scene = Scene::new();
    scene.limits.prompt = std::time::Duration::from_millis(20);
    let flow = graph("start:start a:llm end:end", "start>a a>end", &json!({}));
    let told = scene.run(&flow, &json!({ "input": "x" }), &Parrot::new(|_| Say::Nothing));
    assert_eq!(told.error(), "the node `a` failed: the model did not finish within 0.02 s");
    assert_eq!(told.ended.exit_code, 124);
}

#[test]
fn cancelling_ends_what_runs_and_starts_nothing_more() {
    let scene = Scene::new();
    let cancel = scene.cancel.clone();
    let model = Parrot::new(move |_| {
        cancel.cancel_by(2);
        Say::Nothing
    });
    let flow = graph("start:start a:llm b:llm end:end", "start>a a>b b>end", &json!({}));
    let told = scene.run(&flow, &json!({ "input": "x" }), &model);
    assert_eq!((told.error(), told.ended.exit_code), ("the workflow was cancelled", 130));
    assert_eq!(model.asked().len(), 1);
    let prowess_core::Remedy::ResumeRun(run) = &told.ended.remedies[0] else {
        panic!("{:?}", told.ended)
    };
    assert!(run.starts_with("test-flow-"), "{run}");
}
