//! Hooks with servers and helpers that only a test has, and the session that an agent keeps.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prowess_core::RunOutcome;
use prowess_engine::{
    ApprovalReply, CancellationToken, Consent, Engine, EventVerdict, HookAgent, HookEvaluation,
    HookFacts, HookFailure, HookServices, HookSession, HookTools, LoadedSkill, PreToolDecision,
    RunDecision, ServerToolCall, ServerToolText, Strictness, ToolUse, UserGrants, approve,
    prepare_hooks,
};
use prowess_policy::{Mode, Remember, Trust};
use prowess_proxy::Resolver;
use prowess_testkit::{Recorded, Reply, Script, ScriptedProvider};
use serde_json::{Value, json};

use crate::network::Names;
use crate::world::{Scene, Scripted};

/// Front matter with hooks: event, and a handler as YAML in one line.
fn hooks(rows: &[(&str, &str)]) -> String {
    let mut text = "hooks:\n".to_owned();
    for (event, handler) in rows {
        let _ = writeln!(text, "  {event}:\n    - hooks: [{handler}]");
    }
    text
}

/// Runs the tool of a skill whose hook is a request to a server on this machine.
fn requested(fields: &str, grant: &str, reply: Reply) -> (RunOutcome, String, Vec<Recorded>) {
    let server = ScriptedProvider::start(Script::by(move |_: &Recorded| reply.clone()));
    let port = server.url().rsplit(':').next().expect("a port").to_owned();
    let handler = format!("{{type: http, url: 'http://hooks.brave.test:{port}/pre'{fields}}}");
    let front_matter = format!(
        "permissions: [\"{}\", \"env:read:TEAM\"]\n{}",
        grant.replace("PORT", &port),
        hooks(&[("PreToolUse", &handler)])
    );
    let mut scene = Scene::new(&front_matter, &[("say", "echo hello")])
        .variable("TEAM", "blue")
        .variable("AWS_SECRET_ACCESS_KEY", "never-sent");
    scene.outside = Some(Arc::new(Names::default()) as Arc<dyn Resolver>);
    let mut approver = Scripted::new(ApprovalReply::Yes(Remember::Once));
    let (envelope, _) = scene.run("say", None, &mut approver).expect("it is decided");
    (envelope.outcome, envelope.error.unwrap_or_default(), server.requests())
}

#[test]
fn a_request_is_sent_where_the_skill_may_send() {
    const GRANT: &str = "network:write:hooks.brave.test:PORT";
    let headers = ", headers: {X-Team: $TEAM, X-Key: '${AWS_SECRET_ACCESS_KEY}', X-Home: $HOME}, allowedEnvVars: [TEAM, AWS_SECRET_ACCESS_KEY]";
    let (outcome, error, requests) = requested(headers, GRANT, Reply::bytes(204, "text/plain", ""));
    assert_eq!(outcome, RunOutcome::Success, "{error}");
    let request = &requests[0];
    assert_eq!(request.json()["hook_event_name"], "PreToolUse");
    assert_eq!(request.json()["tool_input"]["command"], "echo hello");
    let header = |name: &str| request.header(name).map(str::to_owned);
    assert_eq!(header("content-type").as_deref(), Some("application/json"));
    assert_eq!(header("x-team").as_deref(), Some("blue"));
    // Listed, and still not the skill's to read; readable, and not listed.
    assert_eq!(header("x-key").as_deref(), Some(""));
    assert_eq!(header("x-home").as_deref(), Some(""));

    let deny = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse",
        "permissionDecision": "deny", "permissionDecisionReason": "not from here"}});
    let (outcome, error, _) = requested("", GRANT, Reply::json(200, &deny));
    assert_eq!(outcome, RunOutcome::Refused);
    assert!(error.contains("not from here"), "{error}");
    // A status alone blocks nothing in Claude Code; here the gate is broken, and closed.
    let (outcome, error, _) = requested("", GRANT, Reply::json(403, &deny));
    assert_eq!(outcome, RunOutcome::Refused);
    assert!(error.contains("status 403"), "{error}");
    let (outcome, error, requests) =
        requested("", "network:read:hooks.brave.test:PORT", Reply::json(200, &deny));
    assert_eq!((outcome, requests.len()), (RunOutcome::Refused, 0));
    assert!(error.contains("it needs `network:write:hooks.brave.test:"), "{error}");
    // A redirect is another host.
    let elsewhere =
        Reply::bytes(307, "text/plain", "").header("Location", "http://other.brave.test/");
    let (outcome, error, requests) = requested("", GRANT, elsewhere);
    assert_eq!((outcome, requests.len()), (RunOutcome::Refused, 1));
    assert!(error.contains("status 307"), "{error}");
}

/// An agent and MCP servers that say what the test wants, and remember what they were asked.
#[derive(Default)]
struct Helpers {
    asked: Mutex<Vec<String>>,
}

impl HookAgent for Helpers {
    fn verify(
        &self,
        skill: &Arc<LoadedSkill>,
        asked: &HookEvaluation<'_>,
    ) -> Result<String, HookFailure> {
        let mut all = self.asked.lock().expect("nobody panics with it");
        all.push(format!("{} {:?} {}", skill.name, asked.time, asked.prompt));
        Ok(r#"{"ok": false, "reason": "tests are missing"}"#.to_owned())
    }
}

impl HookTools for Helpers {
    fn call(
        &self,
        _skill: &Arc<LoadedSkill>,
        call: &ServerToolCall<'_>,
    ) -> Result<ServerToolText, HookFailure> {
        let mut all = self.asked.lock().expect("nobody panics with it");
        all.push(format!("{} {} {}", call.server, call.tool, call.arguments));
        Ok(ServerToolText { text: "scanned".to_owned(), is_error: call.tool == "broken" })
    }
}

/// A session with the approved hooks of a skill.
fn session(front_matter: &str, services: HookServices) -> (Scene, Engine, HookSession) {
    let scene = Scene::new(front_matter, &[("say", "echo hello"), ("fail", "ls nothing")]);
    let world = Arc::new(scene.world());
    let skill = scene.skill();
    let loaded = scene.loaded(Trust::of(&skill, scene.attested, None, scene.origin));
    let engine = Engine { hooks: services, ..Engine::new(Arc::clone(&world)) };
    let session = HookSession::new(
        &engine,
        HookFacts { session_id: "session-1".to_owned(), ..HookFacts::default() },
    );
    let prepared = prepare_hooks(&loaded, Mode::Global, &UserGrants::none(), &world)
        .expect("they can be prepared")
        .expect("there are some");
    let mut nobody = Scripted::new(ApprovalReply::Nobody);
    let ready = approve(prepared, &engine, Consent::InAdvance, &mut nobody).expect("allowed");
    assert!(session.register(ready));
    (scene, engine, session)
}

fn shell(command: &str) -> ToolUse {
    ToolUse::new("toolu_1", "Bash", json!({ "command": command }))
}

#[test]
fn agents_and_servers_are_asked_through_their_traits() {
    let front_matter = format!(
        "permissions: [\"mcp:connect:memory\"]\n{}",
        hooks(&[
            (
                "PreToolUse",
                "{type: mcp_tool, server: memory, tool: scan, input: {line: 'it: ${tool_input.command}'}}"
            ),
            ("Stop", "{type: agent, prompt: 'Are there tests? $ARGUMENTS'}"),
        ])
    );
    let helpers = Arc::new(Helpers::default());
    let services = HookServices {
        agent: Some(Arc::clone(&helpers) as _),
        tools: Some(Arc::clone(&helpers) as _),
        ..HookServices::default()
    };
    let (_scene, _engine, session) = session(&front_matter, services);
    let cancel = CancellationToken::default();
    assert_eq!(session.pre_tool(&shell("ls"), &cancel).decision, PreToolDecision::Proceed);
    let stopped = session.stop("Done.", &cancel);
    assert!(stopped.goes_on);
    assert_eq!(stopped.verdict.blocks[0].reason, "tests are missing");
    let asked = helpers.asked.lock().expect("nobody panics with it");
    assert_eq!(asked[0], r#"memory scan {"line":"it: ls"}"#);
    assert!(asked[1].starts_with("probe 60s Are there tests? {"), "{}", asked[1]);
    assert!(asked[1].contains(r#""last_assistant_message":"Done.""#), "{}", asked[1]);
}

#[test]
fn a_session_keeps_the_hooks_of_its_skills() {
    let front_matter = hooks(&[
        (
            "PreToolUse",
            "{type: command, command: 'grep -q -e -rf && { echo no rm >&2; exit 2; }; exit 0'}",
        ),
        ("SessionStart", "{type: command, command: echo branch main}"),
        ("UserPromptSubmit", "{type: command, command: echo once upon, once: true}"),
        ("Stop", "{type: command, command: 'echo go on >&2; exit 2'}"),
    ]);
    let (_scene, engine, session) = session(&front_matter, HookServices::default());
    let cancel = CancellationToken::default();
    assert!(session.has_hooks_of("probe") && session.concerns("Stop"));
    assert!(!session.concerns("PostToolUse"));
    let denied = session.pre_tool(&shell("rm -rf x"), &cancel).decision;
    assert!(matches!(denied, PreToolDecision::Deny(ref by) if by.reason == "no rm"), "{denied:?}");
    assert_eq!(session.pre_tool(&shell("ls"), &cancel).decision, PreToolDecision::Proceed);
    let started = session.fire("SessionStart", &json!({"source": "startup"}), &cancel);
    assert_eq!(started.context, ["branch main"]);
    let prompt = json!({"prompt": "hello"});
    assert_eq!(session.fire("UserPromptSubmit", &prompt, &cancel).context, ["once upon"]);
    assert!(session.fire("UserPromptSubmit", &prompt, &cancel).context.is_empty(), "only once");
    // Eight times in a row, and then the turn ends all the same.
    let went_on = (0..12).map(|_| session.stop("x", &cancel).goes_on).position(|goes_on| !goes_on);
    assert_eq!(went_on, Some(8));
    // Another session has none of it.
    let other = HookSession::new(&engine, HookFacts::default());
    assert!(!other.concerns("Stop"));
    assert_eq!(other.fire("Nothing", &Value::Null, &cancel), EventVerdict::default());
}

#[test]
fn a_run_in_a_session_has_the_hooks_of_the_others_too() {
    let watcher = hooks(&[
        ("PreToolUse", "{type: command, command: 'grep -q probe__fail && exit 0; exit 0'}"),
        ("PostToolUse", "{type: command, command: 'cat > /dev/null; echo seen >&2; exit 2'}"),
        ("PostToolUseFailure", "{type: command, command: 'echo failed >&2; exit 2'}"),
    ]);
    let (_other, _engine, session) = session(&watcher, HookServices::default());
    // A skill without hooks, in the same session.
    let scene = Scene::new("", &[("say", "echo hello"), ("fail", "ls nothing")]);
    let world = Arc::new(scene.world());
    let engine = Engine::new(Arc::clone(&world));
    let skill = scene.skill();
    let run = |tool: &str| {
        let loaded = scene.loaded(Trust::of(&skill, scene.attested, None, scene.origin));
        let tool = skill.tool(tool).expect("it is there").clone();
        let call = prowess_engine::Call {
            skill: loaded,
            tool,
            values: serde_json::Map::new(),
            mode: Mode::Global,
        };
        let prepared = prowess_engine::prepare(call, &world).expect("it can be prepared");
        let ready = match prepared.decide(&engine, Consent::InAdvance).expect("it is decided") {
            RunDecision::Ready(ready) => ready,
            other => panic!("{other:?}"),
        };
        ready.in_session(&session).run(&CancellationToken::default(), &mut |_| {})
    };
    let said = run("say");
    assert_eq!(
        (said.output.as_str(), said.context.as_slice()),
        ("hello\n", &["seen".to_owned()][..])
    );
    assert_eq!(run("fail").context, ["failed"]);
}

#[test]
fn the_background_is_told_later_and_ends_with_the_session() {
    let front_matter = hooks(&[
        (
            "PreToolUse",
            "{type: command, asyncRewake: true, command: 'echo tests fail >&2; exit 2'}",
        ),
        ("PostToolUse", "{type: command, async: true, command: 'while :; do :; done'}"),
    ]);
    let (_scene, _engine, session) = session(&front_matter, HookServices::default());
    let cancel = CancellationToken::default();
    assert_eq!(session.pre_tool(&shell("ls"), &cancel).decision, PreToolDecision::Proceed);
    let told = std::iter::repeat_with(|| session.take_background()).find(|told| !told.is_empty());
    assert_eq!(told.expect("it ends")[0].context, ["tests fail"]);
    session.post_tool(&shell("ls"), &|_| Value::Null, Duration::ZERO, &cancel);
    // Dropping the session kills what never ends, or this test would never end.
    drop(session);
}

#[test]
fn a_cancelled_run_takes_its_hooks_with_it() {
    let front_matter = hooks(&[("PreToolUse", "{type: command, command: sleep infinity}")]);
    let (_scene, _engine, session) = session(
        &front_matter,
        HookServices { strictness: Strictness::Lenient, ..HookServices::default() },
    );
    let cancel = CancellationToken::default();
    let other = cancel.clone();
    let thread = std::thread::spawn(move || other.cancel());
    session.pre_tool(&shell("ls"), &cancel);
    thread.join().expect("it ends");
}
