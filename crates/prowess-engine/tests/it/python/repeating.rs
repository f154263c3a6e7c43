//! Tools that are called again and again through a handle: a decision stands as long as what it was made on.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prowess_core::{Event, StandardStream};
use prowess_engine::{
    ApprovalReply, ApprovalRequest, Approver, Consent, Engine, LoadedSkill, PythonWorkers,
    RunError, ToolHandle,
};
use prowess_format::skill::Skill;
use prowess_policy::{Mode, Origin, Remember, Tier, Trust};
use serde_json::{Value, json};

use super::scene::{IMPORT, Scene};

/// Counts its calls in one process.
fn counting() -> Scene {
    let python = format!(
        "{IMPORT}\nCALLS = []\n@tool\ndef go(text: str = '') -> int:\n    \"\"\"Counts.\"\"\"\n    CALLS.append(text)\n    print(text)\n    return len(CALLS)\n"
    );
    let mut scene = Scene::module("", &["go"], &python);
    scene.workers = PythonWorkers::new(2);
    scene
}

/// Answers, and counts how often.
struct Person {
    reply: ApprovalReply,
    asked: usize,
}

impl Approver for Person {
    fn ask(&mut self, _: &ApprovalRequest) -> ApprovalReply {
        self.asked += 1;
        self.reply
    }
}

/// A skill on its way to many calls.
struct Host<'s> {
    scene: &'s Scene,
    engine: Engine,
    handle: ToolHandle,
    person: Person,
    consent: Consent,
}

impl<'s> Host<'s> {
    fn new(
        scene: &'s Scene,
        skill: &Skill,
        folder: &std::path::Path,
        file: &std::path::Path,
    ) -> Self {
        let world = Arc::new(scene.world());
        let tool = skill.tool("go").expect("a tool").clone();
        let loaded = Arc::new(LoadedSkill {
            skill: skill.clone(),
            name: "probe".to_owned(),
            directory: Some(folder.to_owned()),
            file: file.to_owned(),
            trust: Trust::of(skill, Tier::Experimental, None, Origin::Local),
            diagnostics: Vec::new(),
            digest: None,
        });
        Self {
            scene,
            handle: ToolHandle::new(loaded, tool, Mode::Global),
            engine: Engine { workers: scene.workers.clone(), ..Engine::new(world) },
            person: Person { reply: ApprovalReply::Nobody, asked: 0 },
            consent: Consent::InAdvance,
        }
    }

    fn call(&mut self, values: &Value) -> Result<(Option<Value>, Vec<Event>), RunError> {
        let mut events = Vec::new();
        let values = values.as_object().cloned().unwrap_or_default();
        let envelope = self.handle.call(
            &values,
            &self.engine,
            self.consent,
            &mut self.person,
            &self.scene.cancel,
            &mut |event| events.push(event.clone()),
        )?;
        Ok((envelope.parsed, events))
    }

    fn count(&mut self) -> u64 {
        let (count, _) = self.call(&Value::Null).expect("it runs");
        count.and_then(|count| count.as_u64()).expect("a count")
    }

    /// Calls until the files are old enough for a decision to stand on them.
    fn settle(&mut self) -> u64 {
        let until = Instant::now() + Duration::from_mins(1);
        loop {
            let count = self.count();
            if self.handle.has_decision() {
                return count;
            }
            assert!(Instant::now() < until, "nothing ever stands");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

macro_rules! host {
    ($host:ident, $scene:ident) => {
        let (folder, skill) = ($scene.skill_folder(), $scene.skill());
        let file = folder.join("SKILL.md");
        let mut $host = Host::new(&$scene, &skill, &folder, &file);
    };
}

#[test]
fn a_decision_stands_until_something_changes() {
    let scene = counting();
    host!(host, scene);
    let count = host.settle();
    assert_eq!(host.count(), count + 1);
    assert!(host.handle.has_decision());
    // A file that nobody has imported is a part of what was approved, too.
    scene.write("probe/notes.txt", "new");
    assert_eq!(host.count(), 1, "another worker");
    assert!(!host.handle.has_decision(), "the file is too new");
    let count = host.settle();
    scene.workers.evict(&scene.skill_folder());
    assert_eq!(host.count(), 1, "the worker was gone");
    assert!(count > 1);
}

#[test]
fn events_and_wrong_values_are_the_same_on_the_short_way() {
    let scene = counting();
    host!(host, scene);
    let (_, first) = host.call(&json!({ "text": "hello" })).expect("it runs");
    host.settle();
    let (_, later) = host.call(&json!({ "text": "hello" })).expect("it runs");
    let story = |events: &[Event]| {
        let started = events.iter().find(|event| matches!(event, Event::Started { .. })).cloned();
        // In how many pieces it comes is the pipe's business, and the count on standard output differs.
        let printed: Vec<u8> = events
            .iter()
            .filter_map(|event| match event {
                Event::Output { stream: StandardStream::Stderr, bytes } => Some(bytes.clone()),
                _ => None,
            })
            .flatten()
            .collect();
        (started, String::from_utf8(printed).expect("text"))
    };
    assert_eq!(story(&first).1, "hello\n");
    assert_eq!(story(&later), story(&first));
    assert!(matches!(later.last(), Some(Event::Done(_))));
    let wrong = host.call(&json!({ "text": 7 })).expect_err("a number is no text");
    assert!(matches!(wrong, RunError::Inputs { .. }), "{wrong}");
    assert!(matches!(host.call(&json!({ "txt": "" })), Err(RunError::Inputs { .. })));
}

#[test]
fn an_approval_that_is_taken_back_counts_at_once() {
    let scene = counting();
    host!(host, scene);
    host.consent = Consent::None;
    host.person.reply = ApprovalReply::Yes(Remember::Tool);
    host.settle();
    assert_eq!(host.person.asked, 1);
    host.count();
    assert_eq!(host.person.asked, 1);
    host.engine.approvals.revoke("probe", None).expect("it can be written");
    host.person.reply = ApprovalReply::No;
    assert!(matches!(host.call(&Value::Null), Err(RunError::Declined(_))));
}

#[test]
fn a_yes_for_once_is_one_for_once() {
    let scene = counting();
    host!(host, scene);
    host.consent = Consent::None;
    host.person.reply = ApprovalReply::Yes(Remember::Once);
    // Files of the scene get older all the time.
    let until = Instant::now() + Duration::from_secs(4);
    let mut calls = 0;
    while Instant::now() < until {
        host.count();
        calls += 1;
        assert_eq!(host.person.asked, calls);
        assert!(!host.handle.has_decision());
        std::thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn a_program_that_was_replaced_ends_what_stands() {
    let mut scene = counting();
    let python = fs::canonicalize("/usr/bin/python3").expect("Python is installed");
    let bin = scene.root.join("bin");
    fs::create_dir(&bin).expect("a folder can be made");
    let own = bin.join("python3");
    fs::copy(&python, &own).expect("it can be copied");
    scene.path = format!("{}:/usr/bin:/bin", bin.display());
    host!(host, scene);
    let count = host.settle();
    assert_eq!(host.count(), count + 1);
    fs::remove_file(&own).expect("it is ours");
    fs::copy(&python, &own).expect("it can be copied");
    let (found, _) = host.call(&Value::Null).expect("it runs");
    assert_eq!(found, Some(json!(1)));
}

#[test]
fn the_short_way_keeps_keys_out_as_well() {
    // Attack sandbox-F05.
    let python = format!(
        "{IMPORT}\nimport os\nCALLS = []\n@tool\ndef go(text: str = '') -> int:\n    \"\"\"Counts, and shows its key when it is told to.\"\"\"\n    CALLS.append(text)\n    print(os.environ['API_TOKEN'])\n    return os.environ['API_TOKEN'] if text else len(CALLS)\n"
    );
    let front = "permissions: [\"env:read:API_TOKEN\", filesystem:none, network:none]\n";
    let mut scene = Scene::module(front, &["go"], &python);
    scene.workers = PythonWorkers::new(2);
    scene.variables.push(("API_TOKEN".to_owned(), "0123456789abcdef".to_owned()));
    host!(host, scene);
    host.settle();
    let (parsed, events) = host.call(&json!({"text": "show"})).expect("it runs");
    assert!(host.handle.has_decision());
    assert_eq!(parsed, Some(json!("[redacted: API_TOKEN]")));
    let events = format!("{events:?}");
    let bytes = format!("{:?}", b"0123456789abcdef").replace(['[', ']'], "");
    assert!(!events.contains("0123456789") && !events.contains(&bytes), "{events}");
}
