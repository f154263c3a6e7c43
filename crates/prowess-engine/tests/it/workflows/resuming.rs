//! What is left of a run that did not end, and how it goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use insta::assert_snapshot;
use prowess_engine::workflow::{RunStore as _, RunStoreError};
use serde_json::json;

use super::scene::{Parrot, Say, Scene, graph, system};

/// A model that fails at `b` until it is repaired.
fn fragile() -> (Parrot, Arc<AtomicBool>) {
    let works = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&works);
    let model = Parrot::new(move |request| match system(request) {
        "b" if !flag.load(Ordering::SeqCst) => Say::Fail("the provider is down"),
        name => Say::Text(name.to_uppercase()),
    });
    (model, works)
}

#[test]
fn a_run_goes_on_after_a_failure_without_repeating_anything() {
    let scene = Scene::new();
    let flow = graph(
        "start:start choice:condition a:llm b:llm side:llm never:llm end:end",
        "start>choice choice>a:true choice>never:false a>b start>side b>end side>end never>end",
        &json!({
            "choice": { "expression": "{{input}} === 'x'" },
            "a": { "systemPrompt": "a" }, "b": { "systemPrompt": "b" }, "side": { "systemPrompt": "side" },
        }),
    );
    let (model, works) = fragile();
    let failed = scene.run(&flow, &json!({ "input": "x" }), &model);
    assert_eq!(failed.error(), "the node `b` failed: the provider is down");
    let [prowess_core::Remedy::ResumeRun(run)] = failed.ended.remedies.as_slice() else {
        panic!("{:?}", failed.ended.remedies)
    };
    assert_eq!(run, &failed.run);
    let names =
        |model: &Parrot| model.asked().iter().map(|it| system(it).to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&model).len(), 3);
    works.store(true, Ordering::SeqCst);
    let told = scene.resume(&failed.run, &model);
    assert_eq!(told.output(), &json!({ "b": "B", "side": "SIDE" }));
    // Only what had failed was asked again.
    assert_eq!(names(&model)[3..], ["b"]);
    assert_snapshot!(told.steps());
    // A run that has ended gives its result once more, and does nothing.
    let again = scene.resume(&failed.run, &model);
    assert_eq!(again.output(), told.output());
    assert_eq!(names(&model).len(), 4);
}

#[test]
fn what_ran_beside_a_failure_is_kept() {
    // `b` fails at once while `slow` is still asked: what it says is written down all the same.
    let scene = Scene::new();
    let (model, works) = fragile();
    let flow = graph(
        "start:start b:llm slow:llm end:end",
        "start>b start>slow b>end slow>end",
        &json!({ "b": { "systemPrompt": "b" }, "slow": { "systemPrompt": "slow" } }),
    );
    let failed = scene.run(&flow, &json!({ "input": "x" }), &model);
    assert!(failed.steps().contains("node_complete {\"node_id\":\"slow\""), "{}", failed.steps());
    works.store(true, Ordering::SeqCst);
    let told = scene.resume(&failed.run, &model);
    assert_eq!(told.output(), &json!({ "b": "B", "slow": "SLOW" }));
    assert_eq!(model.asked().iter().filter(|request| system(request) == "slow").count(), 1);
}

#[test]
fn one_process_at_a_time_works_on_a_run() {
    let scene = Scene::new();
    let (model, _) = fragile();
    let flow = graph(
        "start:start b:llm end:end",
        "start>b b>end",
        &json!({ "b": { "systemPrompt": "b" } }),
    );
    let failed = scene.run(&flow, &json!({ "input": "x" }), &model);
    let held = scene.store().open(&failed.run).expect("nobody works on it");
    let busy = scene.store().open(&failed.run).expect_err("somebody does");
    assert!(matches!(busy, RunStoreError::Busy(_)), "{busy}");
    drop(held);
    assert!(scene.store().open(&failed.run).is_ok());
}

#[test]
fn names_of_runs_lead_nowhere_else() {
    // NEG-1
    let scene = Scene::new();
    for name in ["", ".", "..", "../approvals", "/etc", "a/b", "a\0b", "missing"] {
        let error = scene.store().open(name).expect_err("there is no such run");
        assert!(matches!(error, RunStoreError::NotThere(_)), "{name}: {error}");
    }
}

#[test]
fn files_of_a_run_that_were_changed_are_refused() {
    let scene = Scene::new();
    let (model, _) = fragile();
    let flow = graph(
        "start:start b:llm end:end",
        "start>b b>end",
        &json!({ "b": { "systemPrompt": "b" } }),
    );
    let run = scene.run(&flow, &json!({ "input": "x" }), &model).run;
    let folder = scene.world().state.data.join("runs").join(&run);
    std::fs::write(folder.join("node-0000.json"), "{\"version\": 1, \"id\"")
        .expect("it can be written");
    let error = scene.store().open(&run).expect_err("the file is broken");
    assert!(matches!(error, RunStoreError::Broken { .. }), "{error}");
    std::fs::write(folder.join("node-0000.json"), "{\"version\": 2}").expect("it can be written");
    let error = scene.store().open(&run).expect_err("the file is of another version").to_string();
    assert!(error.contains("another version"), "{error}");
}
