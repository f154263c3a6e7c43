//! Workers that stay for the next call.

use std::fs;
use std::time::Duration;

use prowess_core::RunOutcome;
use prowess_engine::PythonWorkers;
use serde_json::{Value, json};

use super::scene::{IMPORT, Scene, children};

/// Counts its calls, and does something worse where it is asked to.
fn counting(most: usize) -> Scene {
    let python = format!(
        "{IMPORT}\nimport os, signal\nCALLS = []\n@tool\ndef go(text: str = '') -> int:\n    \"\"\"Counts.\"\"\"\n    CALLS.append(text)\n    if text == 'hang': signal.pause()\n    if text == 'crash': os._exit(9)\n    if text == 'raise': raise ValueError\n    return len(CALLS)\n@tool\ndef other(text: str = '') -> int:\n    \"\"\"Counts too.\"\"\"\n    CALLS.append(text)\n    return len(CALLS)\n"
    );
    let mut scene = Scene::module("", &["go", "other"], &python);
    scene.workers = PythonWorkers::new(most);
    scene
}

fn call(scene: &Scene, tool: &str, text: &str) -> Option<Value> {
    scene.call(tool, &json!({ "text": text })).expect("it starts").0.parsed
}

#[test]
fn a_worker_is_used_again() {
    let mut scene = counting(2);
    assert_eq!(call(&scene, "go", ""), Some(json!(1)));
    assert_eq!(call(&scene, "go", "raise"), None);
    // Tools of one skill that may do the same share a worker.
    assert_eq!(call(&scene, "other", ""), Some(json!(3)));
    assert_eq!(scene.workers.idle(), 1);
    scene.workers = PythonWorkers::one_shot();
    assert_eq!(call(&scene, "go", ""), Some(json!(1)));
    assert_eq!(call(&scene, "go", ""), Some(json!(1)));
    assert_eq!(scene.workers.idle(), 0);
}

#[test]
fn a_changed_file_ends_the_worker() {
    let scene = counting(4);
    assert_eq!(call(&scene, "go", ""), Some(json!(1)));
    assert_eq!(call(&scene, "go", ""), Some(json!(2)));
    scene.write("probe/lib/data.txt", "new");
    assert_eq!(call(&scene, "go", ""), Some(json!(1)));
    assert_eq!(scene.workers.idle(), 1);
}

#[test]
fn another_decision_ends_the_worker() {
    let mut scene = counting(4);
    assert_eq!(call(&scene, "go", ""), Some(json!(1)));
    // One more variable that passes.
    scene.variables.push(("LANG".to_owned(), "C.UTF-8".to_owned()));
    assert_eq!(call(&scene, "go", ""), Some(json!(1)));
    assert_eq!(scene.workers.idle(), 1);
}

#[test]
fn one_that_is_stuck_or_gone_is_replaced() {
    let mut scene = counting(4);
    assert_eq!(call(&scene, "go", ""), Some(json!(1)));
    assert_eq!(call(&scene, "go", "crash"), None);
    assert_eq!(scene.workers.idle(), 0);
    assert_eq!(call(&scene, "go", ""), Some(json!(1)));
    scene.patience = Some((Duration::from_secs(3), Duration::from_millis(200)));
    let (hung, _) = scene.call("go", &json!({"text": "hang"})).expect("it starts");
    assert_eq!(hung.outcome, RunOutcome::TimedOut);
    assert_eq!(scene.workers.idle(), 0);
    assert_eq!(call(&scene, "go", ""), Some(json!(1)));
}

#[test]
fn there_are_never_more_than_allowed() {
    let workers = PythonWorkers::new(2);
    let scenes: Vec<Scene> =
        (0..3).map(|_| Scene { workers: workers.clone(), ..counting(1) }).collect();
    for scene in &scenes {
        assert_eq!(call(scene, "go", ""), Some(json!(1)));
        assert!(workers.idle() <= 2);
    }
    // The one that was used longest ago had to go.
    assert_eq!(call(&scenes[2], "go", ""), Some(json!(2)));
    assert_eq!(call(&scenes[1], "go", ""), Some(json!(2)));
    assert_eq!(call(&scenes[0], "go", ""), Some(json!(1)));
    workers.evict(&scenes[0].skill_folder());
    assert_eq!(workers.idle(), 1);
}

#[test]
fn calls_at_the_same_time_wait_for_a_place() {
    let scene = counting(1);
    let mut counts: Vec<u64> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..4).map(|_| scope.spawn(|| call(&scene, "go", ""))).collect();
        calls
            .into_iter()
            .map(|call| call.join().expect("it ends").and_then(|it| it.as_u64()).expect("a count"))
            .collect()
    });
    counts.sort_unstable();
    assert_eq!(counts, [1, 2, 3, 4]);
}

#[test]
fn a_way_out_is_for_one_call() {
    let front_matter = "permissions: [\"network:read:example.com\", filesystem:none]\n";
    let mut scene = Scene::with(front_matter, "import os\nreturn 'HTTPS_PROXY' in os.environ");
    scene.workers = PythonWorkers::new(2);
    assert_eq!(scene.returned(), json!(true));
    assert_eq!(scene.workers.idle(), 0);
}

#[test]
fn a_granted_file_that_was_replaced_is_seen_anew() {
    let front_matter = "permissions: [\"filesystem:read:./notes.txt\"]\n";
    let mut scene = Scene::with(front_matter, "return open('notes.txt').read()");
    scene.workers = PythonWorkers::new(2);
    scene.write("repo/notes.txt", "old");
    assert_eq!(scene.returned(), json!("old"));
    scene.write("repo/new.txt", "new");
    let notes = scene.root.join("repo/notes.txt");
    fs::rename(scene.root.join("repo/new.txt"), notes).expect("it is ours");
    assert_eq!(scene.returned(), json!("new"));
}

#[test]
fn nobody_is_left_behind() {
    let scene = counting(2);
    assert_eq!(call(&scene, "go", ""), Some(json!(1)));
    assert_eq!(children(), 1);
    drop(scene);
    assert_eq!(children(), 0);
}
