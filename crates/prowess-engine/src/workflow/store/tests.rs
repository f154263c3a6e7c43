use super::*;

fn store() -> (tempfile::TempDir, FileRuns) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = FileRuns { folder: folder.path().join("runs") };
    (folder, store)
}

fn record() -> RunRecord {
    RunRecord { text: "{}".to_owned(), inputs: Map::new(), settings: json!({ "model": "m" }) }
}

#[test]
fn a_run_is_what_was_written() {
    let (_folder, store) = store();
    let open = store.create("My flow: ../../x", record()).expect("it can be written");
    open.complete(3, "../hostile/id", &json!({ "a": [1] })).expect("it can be written");
    let id = open.id.clone();
    assert!(StoredRunId::parse(id.as_str()).is_some(), "{id:?}");
    assert!(id.as_str().starts_with("my-flow-x-"), "{id:?}");
    drop(open);
    let open = store.open(id.as_str()).expect("it is there");
    assert_eq!(open.record, record());
    assert_eq!(open.output("../hostile/id"), Some(&json!({ "a": [1] })));
    assert_eq!(open.output("other"), None);
}

#[test]
fn names_without_letters_are_runs_too() {
    let (_folder, store) = store();
    for name in ["", "世界", "---"] {
        let open = store.create(name, record()).expect("it can be written");
        assert!(open.id.as_str().starts_with("run-"), "{:?}", open.id);
    }
}

#[test]
fn only_the_owner_reads_runs() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_folder, store) = store();
    let open = store.create("flow", record()).expect("it can be written");
    let folder = store.folder.join(open.id.as_str());
    for path in [store.folder.clone(), folder.clone(), folder.join("run.json")] {
        let mode = path.metadata().expect("it is there").permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", path.display());
    }
}

#[test]
fn runs_that_ended_well_long_ago_are_forgotten() {
    let (_folder, store) = store();
    let unfinished = store.create("open", record()).expect("it can be written").id;
    for _ in 0..MAX_ENDED + 5 {
        let open = store.create("done", record()).expect("it can be written");
        open.end(&Value::Null).expect("it can be written");
    }
    let left = std::fs::read_dir(&store.folder).expect("it can be listed").count();
    assert_eq!(left, MAX_ENDED + 1);
    assert!(store.open(unfinished.as_str()).is_ok());
}

#[test]
fn a_list_says_what_can_go_on() {
    let (_folder, store) = store();
    assert_eq!(store.list().expect("nothing is no error"), []);
    let ended = store.create("ended", record()).expect("it can be written");
    ended.complete(0, "a", &Value::Null).expect("it can be written");
    ended.end(&Value::Null).expect("it can be written");
    let stopped = store.create("stopped", record()).expect("it can be written");
    for (number, id) in ["a", "b"].into_iter().enumerate() {
        stopped.complete(number, id, &Value::Null).expect("it can be written");
    }
    drop(stopped);
    let running = store.create("running", record()).expect("it can be written");
    std::fs::create_dir(store.folder.join("no-run")).expect("it can be made");
    let mut listed: Vec<_> = store
        .list()
        .expect("it can be listed")
        .into_iter()
        .map(|run| (run.id.as_str()[..3].to_owned(), run.state, run.ended_nodes))
        .collect();
    listed.sort_by(|one, other| one.0.cmp(&other.0));
    let expected = [
        ("end", StoredRunState::Ended, 1),
        ("run", StoredRunState::Running, 0),
        ("sto", StoredRunState::Stopped, 2),
    ];
    assert_eq!(listed, expected.map(|(name, state, count)| (name.to_owned(), state, count)));
    drop(running);
}
