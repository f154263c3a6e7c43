//! Time, cancelling, events, and results that are held to a schema.

use std::time::{Duration, Instant};

use prowess_core::{Event, RunOutcome, StandardStream};
use prowess_engine::{ApprovalReply, CancellationToken};

use crate::world::{Scene, Scripted};

#[test]
fn events_tell_the_story_in_order() {
    let scene = Scene::new("", &[("say", "echo {{text}}")]);
    let mut nobody = Scripted::new(ApprovalReply::Nobody);
    let (envelope, events) = scene.run("say", Some("hi"), &mut nobody).expect("it runs");
    let [Event::Started { command, .. }, Event::Output { stream, bytes }, Event::Done(done)] =
        events.as_slice()
    else {
        panic!("{events:?}");
    };
    assert_eq!(command, &["echo", "hi"]);
    assert_eq!((*stream, bytes.as_slice()), (StandardStream::Stdout, b"hi\n".as_slice()));
    assert_eq!(**done, envelope);
}

#[test]
fn an_error_comes_before_the_end() {
    let scene = Scene::new("", &[("fail", "ls nowhere")]);
    let mut nobody = Scripted::new(ApprovalReply::Nobody);
    let (_, events) = scene.run("fail", None, &mut nobody).expect("it starts");
    let last = &events[events.len() - 2..];
    assert!(matches!(last, [Event::Error { .. }, Event::Done(_)]), "{last:?}");
}

/// Processes of this machine whose arguments hold a text.
fn processes_with(marker: &str) -> usize {
    let all = std::fs::read_dir("/proc").expect("there are processes");
    all.flatten()
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .filter(|line| String::from_utf8_lossy(line).contains(marker))
        .count()
}

/// Ignores SIGTERM, and leaves somebody behind who has a session of its own.
const STUBBORN: &str =
    "#!/bin/sh\ntrap '' TERM\nsetsid sleep 48613 &\necho ready\nwhile :; do sleep 48613; done\n";
const PROGRAMS: &str = "permissions: [\"shell:execute:sleep,setsid\", \"filesystem:none\"]\n";

/// Long enough for a shell to have started on any machine.
const READY: Duration = Duration::from_secs(2);

#[test]
fn after_the_grace_period_nobody_is_left() {
    // GIB-5.3-1, GIB-5.3-2
    let scene = Scene::new(PROGRAMS, &[("hang", "./hang.sh")]).script("skill/hang.sh", STUBBORN);
    let (time, grace) = (READY, Duration::from_millis(500));
    let scene = Scene { patience: Some((time, grace)), ..scene };
    let envelope = scene.envelope("hang");
    assert_eq!(envelope.outcome, RunOutcome::TimedOut);
    assert_eq!(envelope.exit_code, 124);
    assert!(envelope.output.starts_with("ready\n"), "{}", envelope.output);
    // It was asked first, and had its time.
    assert!(envelope.duration >= time + grace, "{:?}", envelope.duration);
    assert_eq!(processes_with("48613"), 0);
}

#[test]
fn a_polite_program_ends_at_once_and_says_how() {
    let polite =
        "#!/bin/sh\ntrap 'echo bye; exit 3' TERM\necho ready\nwhile :; do sleep 0.05; done\n";
    let scene = Scene::new(PROGRAMS, &[("hang", "./hang.sh")]).script("skill/hang.sh", polite);
    let grace = Duration::from_mins(1);
    let scene = Scene { patience: Some((READY, grace)), ..scene };
    let envelope = scene.envelope("hang");
    // A shell may have something to say about its child between the two.
    assert!(envelope.output.contains("bye\n"), "{}", envelope.output);
    let error = envelope.error.expect("the time was up");
    assert_eq!(error, "Command timed out after 2 s (it exited with 3)");
    assert!(envelope.duration < grace);
}

#[test]
fn the_time_limits_are_those_of_the_skill() {
    // R21: five seconds between asking and ending.
    let scene = Scene::new("timeout: 1\n", &[("hang", "sleep 60")]);
    let started = Instant::now();
    let envelope = scene.envelope("hang");
    assert_eq!(envelope.outcome, RunOutcome::TimedOut);
    assert_eq!(envelope.error.as_deref(), Some("Command timed out after 1 s"));
    assert!(started.elapsed() < Duration::from_secs(30));
}

#[test]
fn cancelling_ends_the_tool_from_another_thread() {
    let scene = Scene::new("", &[("hang", "sleep 48614")]);
    let cancel = CancellationToken::default();
    let stop = cancel.clone();
    let mut nobody = Scripted::new(ApprovalReply::Nobody);
    // Asked before it starts or after, it ends: nobody has to wait for the right moment.
    let canceller = std::thread::spawn(move || stop.cancel());
    let (envelope, _) =
        scene.run_cancelled("hang", None, &mut nobody, &cancel).expect("it is allowed");
    canceller.join().expect("the other thread ends");
    assert_eq!(envelope.outcome, RunOutcome::Cancelled);
    assert_eq!(envelope.exit_code, 130);
    assert_eq!(processes_with("48614"), 0);
}

#[test]
fn output_is_held_to_its_schema() {
    // SRT-4.5-1
    let schema = "outputs:\n  type: json\n  schema:\n    type: object\n    required: [count]\n    properties:\n      count: {type: integer}\n";
    let scene = Scene::new(schema, &[("say", "echo {{text}}")]);
    let run = |text: &str| {
        let mut nobody = Scripted::new(ApprovalReply::Nobody);
        scene.run("say", Some(text), &mut nobody).expect("it starts").0
    };
    assert!(run("{\"count\": 5}").is_success());
    for (text, reason) in [
        ("{\"count\": \"five\"}", "/count: \"five\" is not of type \"integer\""),
        ("{}", "\"count\" is a required property"),
        ("five", "it is not JSON"),
    ] {
        let envelope = run(text);
        assert_eq!(envelope.outcome, RunOutcome::InvalidOutput, "{text}");
        assert_eq!(envelope.exit_code, 1);
        let error = envelope.error.expect("a reason");
        assert_eq!(error, format!("the output is not what the skill declares: {reason}"));
        assert_eq!(envelope.output, format!("{text}\n"), "the output is there all the same");
    }
}

#[test]
fn codes_that_the_author_calls_a_success_are_one() {
    // TP-2
    let pack = r#"{
        "name": "probe", "description": "Looks around", "version": "1.0.0",
        "command": {"program": "ls", "args": ["nowhere"], "env": {"COLOUR": "red"}},
        "policy": {"allowed_exit_codes": [0, 2]}
    }"#;
    let scene = Scene::new("", &[]).file("skill/SKILL.md", "").file("skill/toolpack.json", pack);
    let text = std::fs::read_to_string(scene.root.join("skill/toolpack.json")).expect("there");
    let options = prowess_format::ReadOptions {
        form: prowess_format::document::Form::Json,
        ..prowess_format::ReadOptions::DETECT
    };
    let skill = prowess_format::check(&text, options).skill;
    let tool = skill.tools[0].clone();
    let directory = scene.root.join("skill");
    let world = std::sync::Arc::new(scene.world());
    let values = serde_json::Map::new();
    let trust = prowess_policy::Trust::of(
        &skill,
        prowess_policy::Tier::Experimental,
        None,
        prowess_policy::Origin::Bundled,
    );
    let skill = std::sync::Arc::new(prowess_engine::LoadedSkill {
        skill,
        name: "probe".to_owned(),
        file: directory.join("toolpack.json"),
        directory: Some(directory),
        trust,
        diagnostics: Vec::new(),
        digest: None,
    });
    let call = prowess_engine::Call { skill, tool, values, mode: scene.mode };
    let prepared = prowess_engine::prepare(call, &world).expect("it can be prepared");
    let engine = prowess_engine::Engine::new(world);
    let nobody = &mut prowess_engine::NoApprover;
    let ready = prowess_engine::approve(prepared, &engine, scene.consent, nobody);
    let envelope = ready.expect("it is bundled").run(&CancellationToken::default(), &mut |_| {});
    assert_eq!((envelope.outcome, envelope.exit_code), (RunOutcome::Success, 2));
}
