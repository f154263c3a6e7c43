//! Who is asked, how often, and what makes an answer void (GIB §6.2, §6.3).

use prowess_core::RunOutcome;
use prowess_engine::{ApprovalReply, Consent, RunError};
use prowess_policy::{Origin, Remember, Tier};

use crate::world::{Scene, Scripted};

const READ_ONLY: &str = "read_only: true\n";

/// How often two runs ask, and with how many banners.
fn asked_in_two_runs(scene: &Scene) -> (usize, usize) {
    let mut approver = Scripted::new(ApprovalReply::Yes(Remember::Tool));
    for _ in 0..2 {
        let (envelope, _) = scene.run("say", None, &mut approver).expect("it is approved");
        assert_eq!(envelope.output, "hello\n");
    }
    (approver.asked, approver.banners)
}

fn scene(front_matter: &str, origin: Origin, attested: Tier) -> Scene {
    let mut scene = Scene::new(front_matter, &[("say", "echo hello")]);
    scene.origin = origin;
    scene.attested = attested;
    scene.consent = Consent::None;
    scene
}

#[test]
fn trust_decides_how_often_is_asked() {
    // GIB-6.2-1
    let cases = [
        (READ_ONLY, Origin::Bundled, Tier::Experimental, (0, 0)),
        ("", Origin::Bundled, Tier::Experimental, (1, 0)),
        (READ_ONLY, Origin::Local, Tier::Experimental, (1, 0)),
        ("", Origin::Local, Tier::Experimental, (1, 0)),
        (READ_ONLY, Origin::Downloaded, Tier::Experimental, (2, 2)),
        ("", Origin::Downloaded, Tier::Experimental, (2, 2)),
        (READ_ONLY, Origin::Downloaded, Tier::Verified, (0, 0)),
    ];
    for (front_matter, origin, attested, expected) in cases {
        let scene = scene(front_matter, origin, attested);
        assert_eq!(asked_in_two_runs(&scene), expected, "{front_matter:?} {origin:?} {attested:?}");
    }
}

#[test]
fn always_ask_asks_always() {
    // GIB-6.3-2
    let flags = "read_only: true\nalways_ask: true\n";
    for origin in [Origin::Bundled, Origin::Local] {
        assert_eq!(asked_in_two_runs(&scene(flags, origin, Tier::Experimental)), (2, 0));
    }
}

#[test]
fn a_changed_file_asks_again() {
    // GIB-6.3-3
    let scene = Scene::new("", &[("say", "./scripts/say.sh")])
        .script("skill/scripts/say.sh", "#!/bin/sh\necho hello\n");
    let scene = Scene { consent: Consent::None, ..scene };
    let mut approver = Scripted::new(ApprovalReply::Yes(Remember::Tool));
    let mut run = || {
        scene.run("say", None, &mut approver).expect("it is approved");
        approver.asked
    };
    assert_eq!([run(), run()], [1, 1]);
    // Not only SKILL.md counts: the script is where the deeds are.
    scene.write("skill/scripts/say.sh", "#!/bin/sh\necho bye\n");
    assert_eq!([run(), run()], [2, 2]);
    let text = std::fs::read_to_string(scene.root.join("skill/SKILL.md")).expect("it is there");
    scene.write("skill/SKILL.md", &format!("{text}\nMore.\n"));
    assert_eq!([run(), run()], [3, 3]);
    // What was approved before is approved.
    scene.write("skill/SKILL.md", &text);
    assert_eq!(run(), 3);
}

#[test]
fn an_answer_counts_as_long_as_the_user_said() {
    let tools = [("say", "echo {{text}}"), ("list", "ls")];
    for (remember, asked) in
        [(Remember::Once, [1, 2, 3]), (Remember::Tool, [1, 1, 2]), (Remember::Skill, [1, 1, 1])]
    {
        let scene = Scene { consent: Consent::None, ..Scene::new("", &tools) };
        let mut approver = Scripted::new(ApprovalReply::Yes(remember));
        let mut run = |tool, text| {
            scene.run(tool, text, &mut approver).expect("it is approved");
            approver.asked
        };
        let counts = [run("say", Some("a")), run("say", Some("b")), run("list", None)];
        assert_eq!(counts, asked, "{remember:?}");
    }
}

#[test]
fn without_a_yes_nothing_runs() {
    let scene =
        Scene { consent: Consent::None, ..Scene::new("", &[("make", "touch made-by-tool")]) };
    for (reply, message) in [
        (ApprovalReply::No, "`probe/make` was not approved"),
        (ApprovalReply::Nobody, "`probe/make` needs your approval: you have not approved it yet; "),
    ] {
        let error = scene.run("make", None, &mut Scripted::new(reply)).expect_err("a no is a no");
        assert!(error.to_string().starts_with(message), "{error}");
        assert_eq!(error.exit_code(), 125);
        assert_eq!(error.outcome(), RunOutcome::Refused);
    }
    assert!(!scene.root.join("repo/made-by-tool").exists());
}

#[test]
fn what_is_shown_is_what_runs() {
    // GIB-6.3-1
    let scene =
        Scene { consent: Consent::None, ..Scene::new("", &[("say", "echo {{text}} --flag")]) };
    let mut approver = Scripted::new(ApprovalReply::Yes(Remember::Once));
    let (envelope, _) = scene.run("say", Some("a b; $(id)"), &mut approver).expect("it runs");
    assert_eq!(approver.commands, [["echo", "a b; $(id)", "--flag"]]);
    assert_eq!(envelope.output, "a b; $(id) --flag\n");
}

/// Changes the skill while the question is on the screen.
struct Meddler<'m>(&'m Scene);

impl prowess_engine::Approver for Meddler<'_> {
    fn ask(&mut self, _asked: &prowess_engine::ApprovalRequest) -> ApprovalReply {
        self.0.write("skill/scripts/say.sh", "#!/bin/sh\necho evil\n");
        ApprovalReply::Yes(Remember::Tool)
    }
}

#[test]
fn a_change_during_the_question_is_noticed() {
    let scene = Scene::new("", &[("say", "./scripts/say.sh")])
        .script("skill/scripts/say.sh", "#!/bin/sh\necho hello\n");
    let scene = Scene { consent: Consent::None, ..scene };
    let (envelope, _) = scene.run("say", None, &mut Meddler(&scene)).expect("it is approved");
    assert_eq!(envelope.outcome, RunOutcome::Refused);
    assert_eq!(envelope.output, "");
    let error = envelope.error.expect("a reason");
    assert!(error.contains("changed while it was being approved"), "{error}");
}

#[test]
fn another_mode_is_a_refusal() {
    let scene = Scene::new("modes: [Dev]\n", &[("say", "echo hello")]);
    let error =
        scene.run("say", None, &mut Scripted::new(ApprovalReply::Nobody)).expect_err("not here");
    assert!(matches!(error, RunError::Denied(_)), "{error}");
    let scene = Scene { mode: prowess_policy::Mode::Dev, ..scene };
    assert_eq!(scene.envelope("say").output, "hello\n");
}
