//! `kill -9` while documents go into a base or out of it: nothing that was acknowledged is lost, and nothing is ever damaged.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use prowess_testkit::Scene;
use serde_json::{Value, json};

use crate::scene;

/// How often a process is killed, each at another moment.
const DEATHS: usize = 14;
const FEWER_DEATHS: usize = 7;
const DOCUMENTS: usize = 12;

/// A table of embeddings with a row for each byte.
fn table() -> (Vec<u8>, String) {
    let mut vocabulary = json!({ "▁": 256 });
    for byte in 0..=255_u8 {
        vocabulary[format!("<0x{byte:02X}>")] = json!(byte);
    }
    let tokenizer = json!({ "model": {
        "type": "BPE", "byte_fallback": true, "vocab": vocabulary, "merges": [],
    } });
    let head =
        json!({ "e": { "dtype": "F32", "shape": [257, 3], "data_offsets": [0, 257 * 3 * 4] } });
    let head = head.to_string();
    let mut table = (head.len() as u64).to_le_bytes().to_vec();
    table.extend_from_slice(head.as_bytes());
    for row in 0..257_u16 {
        for column in 1..=3_u16 {
            let number = (f32::from(row) * f32::from(column)).sin();
            table.extend_from_slice(&number.to_le_bytes());
        }
    }
    (table, tokenizer.to_string())
}

/// The files of a round: the same names each time, with other words in half of them.
fn write_documents(scene: &Scene, round: usize) -> BTreeSet<String> {
    (0..DOCUMENTS)
        .map(|number| {
            let version = if number % 2 == 0 { round } else { 0 };
            let folder = if number % 3 == 0 { round } else { 0 };
            let name = format!("docs/{folder}-{number}.txt");
            let mut text = String::new();
            for line in 0..60 {
                let _ = writeln!(
                    text,
                    "Document {number} of edition{version} says {line} times nothing new."
                );
            }
            let path = scene.path().join(&name);
            std::fs::create_dir_all(path.parent().expect("it has one")).expect("it is ours");
            std::fs::write(path, text).expect("it is ours");
            name
        })
        .collect()
}

fn start(scene: &Scene, arguments: &[&str]) -> Child {
    let mut command = scene.command(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the program starts")
}

/// Names and sizes of everything in the base.
fn state(folder: &Path) -> String {
    let mut state = String::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        // Files come and go while this looks at them.
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(metadata) if metadata.is_dir() => open.push(entry.path()),
                Ok(metadata) => {
                    let _ = writeln!(state, "{} {}", entry.path().display(), metadata.len());
                }
                Err(_) => {}
            }
        }
    }
    state
}

/// Kills a process after so many changes of a folder; says whether it was still there.
fn kill_after(mut child: Child, folder: &Path, changes: usize) -> bool {
    let mut last = state(folder);
    let mut seen = 0;
    while seen < changes {
        if child.try_wait().expect("it can be asked").is_some() {
            return false;
        }
        let now = state(folder);
        seen += usize::from(now != last);
        last = now;
    }
    // On Unix this is signal 9.
    child.kill().expect("it is ours");
    child.wait().expect("it can be waited for");
    true
}

fn info(scene: &Scene) -> Value {
    let output =
        scene.output(&["kb", "info", "crash", "--verify", "--format", "json", "--quiet"], "");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

fn documents(info: &Value) -> BTreeSet<String> {
    let documents = info["documents"].as_array().expect("it is a list");
    documents
        .iter()
        .map(|document| document["id"].as_str().expect("it has one").to_owned())
        .collect()
}

/// A base with vectors, and its folder.
fn empty_base() -> (Scene, PathBuf) {
    let (table, tokenizer) = table();
    let scene =
        scene().home("home").file("table.safetensors", table).file("tokenizer.json", tokenizer);
    scene.run("kb new crash --embedder table.safetensors");
    let folder = scene.path().join("home/.local/share/prowess/knowledge/crash");
    (scene, folder)
}

/// What is in a sound base.
fn sound_documents(scene: &Scene, round: usize) -> BTreeSet<String> {
    let info = info(scene);
    assert_eq!(info["problems"], json!([]), "round {round}");
    documents(&info)
}

#[test]
fn killed_processes_lose_nothing_and_damage_nothing() {
    let (scene, folder) = empty_base();
    let mut acknowledged = BTreeSet::new();
    let mut killed = 0;
    for round in 1..=DEATHS {
        let wanted = write_documents(&scene, round);
        killed += usize::from(kill_after(
            start(&scene, &["kb", "add", "crash", "docs"]),
            &folder,
            (round * 7) % 40,
        ));
        let after_death = info(&scene);
        assert_eq!(after_death["problems"], json!([]), "round {round}");
        let there = documents(&after_death);
        let lost: Vec<&String> = acknowledged.difference(&there).collect();
        assert!(lost.is_empty(), "round {round}: {lost:?}");

        let said = scene.run("kb add crash docs");
        assert!(said.starts_with("exit 0"), "round {round}: {said}");
        acknowledged.extend(wanted);
        let after = info(&scene);
        assert_eq!(after["problems"], json!([]), "round {round}");
        assert_eq!(documents(&after), acknowledged, "round {round}");
    }
    // A machine on which a process is done before it can be killed once would show nothing.
    assert!(killed >= 5, "{killed} of {DEATHS} processes were killed");
    let found = scene.run(&format!("kb search crash edition{DEATHS} --top 1"));
    assert!(found.contains(&format!("of edition{DEATHS} says")), "{found}");
}

#[test]
fn pruning_that_is_killed_takes_away_only_what_is_gone() {
    let (scene, folder) = empty_base();
    let mut before = write_documents(&scene, 0);
    assert!(scene.run("kb add crash docs").starts_with("exit 0"));
    let mut killed = 0;
    for round in 1..=FEWER_DEATHS {
        std::fs::remove_dir_all(scene.path().join("docs")).expect("it is ours");
        let wanted = write_documents(&scene, round);
        let child = start(&scene, &["kb", "add", "crash", "docs", "--prune"]);
        killed += usize::from(kill_after(child, &folder, (round * 11) % 50));
        let there = sound_documents(&scene, round);
        // What was there and has its file still is there, and nothing else has come than what was to come.
        assert!(before.intersection(&wanted).all(|it| there.contains(it)), "round {round}");
        assert!(there.iter().all(|it| before.contains(it) || wanted.contains(it)), "round {round}");
        let said = scene.run("kb add crash docs --prune");
        assert!(said.starts_with("exit 0"), "round {round}: {said}");
        assert_eq!(sound_documents(&scene, round), wanted, "round {round}");
        before = wanted;
    }
    assert!(killed >= 3, "{killed} of {FEWER_DEATHS} processes were killed");
}

#[test]
fn a_removal_that_is_killed_is_done_or_not_begun() {
    let (scene, folder) = empty_base();
    let mut left = write_documents(&scene, 1);
    assert!(scene.run("kb add crash docs").starts_with("exit 0"));
    let mut killed = 0;
    for round in 1..=FEWER_DEATHS {
        let document = left.first().expect("there are more than are removed").clone();
        let child = start(&scene, &["kb", "remove", "crash", &document]);
        killed += usize::from(kill_after(child, &folder, (round * 5) % 27));
        let mut there = sound_documents(&scene, round);
        there.insert(document.clone());
        assert_eq!(there, left, "round {round}");
        if sound_documents(&scene, round).contains(&document) {
            let said = scene.run(&format!("kb remove crash {document}"));
            assert!(said.starts_with("exit 0"), "round {round}: {said}");
        }
        left.remove(&document);
        assert_eq!(sound_documents(&scene, round), left, "round {round}");
    }
    assert!(killed >= 3, "{killed} of {FEWER_DEATHS} processes were killed");
}
