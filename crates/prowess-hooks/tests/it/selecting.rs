//! Which handlers an event concerns.

use std::time::Duration;

use prowess_format::skill::{Hook, HookHandler};
use prowess_format::span::Spanned;
use prowess_hooks::{HookSet, MAX_HANDLERS, ToolView, timeout};
use serde_json::{Map, Value, json};

use crate::event;

fn text(text: &str) -> Spanned<String> {
    Spanned { value: text.to_owned(), ..Spanned::default() }
}

fn command(command: &str) -> HookHandler {
    HookHandler { kind: text("command"), action: Some(text(command)), ..HookHandler::default() }
}

fn hook(event: &str, matcher: Option<&str>, handlers: Vec<HookHandler>) -> Hook {
    Hook { event: text(event), matcher: matcher.map(str::to_owned), handlers }
}

/// A command with the names that it has.
fn bash() -> Vec<ToolView> {
    let view = |name: &str, input: Value| ToolView { name: name.to_owned(), input };
    vec![
        view("Bash", json!({"command": "git push"})),
        view("repo__push", json!({"to": "origin"})),
        view("mcp__prowess__repo__push", json!({"to": "origin"})),
    ]
}

/// The actions that run, with the name under which the tool matched.
fn selected(hooks: &[Hook], name: &str, views: &[ToolView], fields: &Value) -> Vec<String> {
    let set = HookSet::of(hooks);
    let fields: Map<String, Value> = fields.as_object().cloned().unwrap_or_default();
    let condition = |rule: &str, view: &ToolView| match rule {
        "unreadable" => None,
        rule => Some(rule == view.name),
    };
    let selection = set.select(event(name), views, &fields, &condition);
    let shown = selection.handlers.iter().map(|it| {
        let action = it.handler.action.as_ref().map_or("", |action| action.as_str());
        match views.get(it.view) {
            Some(view) => format!("{action} as {}", view.name),
            None => action.to_owned(),
        }
    });
    let problems = selection.problems.iter().map(|problem| format!("! {}", problem.message));
    shown.chain(problems).collect()
}

#[test]
fn a_tool_is_matched_under_each_of_its_names() {
    let rows: &[(Option<&str>, &[&str])] = &[
        (None, &["x as Bash"]),
        (Some("Bash"), &["x as Bash"]),
        (Some("repo__push"), &["x as repo__push"]),
        (Some("mcp__prowess__.*"), &["x as mcp__prowess__repo__push"]),
        (Some("push$"), &["x as repo__push"]),
        (Some("Edit|Write"), &[]),
    ];
    for (matcher, expected) in rows {
        let hooks = [hook("PreToolUse", *matcher, vec![command("x")])];
        assert_eq!(selected(&hooks, "PreToolUse", &bash(), &json!({})), *expected, "{matcher:?}");
        assert!(selected(&hooks, "PostToolUse", &bash(), &json!({})).is_empty());
    }
}

#[test]
fn conditions_narrow_and_what_nobody_can_read_does_not() {
    let with = |rule: &str| HookHandler { condition: Some(text(rule)), ..command(rule) };
    let rules = ["Bash", "repo__push", "Edit", "unreadable"];
    let hooks = [hook("PreToolUse", None, rules.map(with).to_vec())];
    assert_eq!(
        selected(&hooks, "PreToolUse", &bash(), &json!({})),
        ["Bash as Bash", "repo__push as repo__push", "unreadable as Bash"]
    );
    // On other events a handler with a condition never runs.
    let hooks = [hook("Stop", None, rules.map(with).to_vec())];
    assert!(selected(&hooks, "Stop", &[], &json!({})).is_empty());
}

#[test]
fn one_action_runs_once() {
    let quiet = HookHandler { timeout: Some(5), ..command("a") };
    let other = HookHandler { arguments: Some(Vec::new()), ..command("a") };
    let hooks = [
        hook("PreToolUse", Some("Bash"), vec![command("a"), command("b")]),
        hook("PreToolUse", None, vec![quiet, other]),
    ];
    let ran = selected(&hooks, "PreToolUse", &bash(), &json!({}));
    assert_eq!(ran, ["a as Bash", "b as Bash", "a as Bash"], "without a shell is something else");
}

#[test]
fn types_run_on_the_events_that_support_them() {
    let rows: &[(&str, &[&str])] = &[
        ("PreToolUse", &["command", "http", "mcp_tool", "prompt", "agent"]),
        ("Stop", &["command", "http", "mcp_tool", "prompt", "agent"]),
        ("Notification", &["command", "http", "mcp_tool"]),
        ("SessionStart", &["command", "mcp_tool"]),
    ];
    for (name, expected) in rows {
        let kinds = ["command", "http", "mcp_tool", "prompt", "agent", "teapot"];
        let handler = |kind: &str| HookHandler { kind: text(kind), ..command(kind) };
        let hooks = [hook(name, None, kinds.map(handler).to_vec())];
        let views = if *name == "PreToolUse" { bash() } else { Vec::new() };
        let ran = selected(&hooks, name, &views, &json!({}));
        let ran: Vec<&str> = ran.iter().filter_map(|it| it.split(' ').next()).collect();
        assert_eq!(ran, *expected, "{name}");
    }
}

#[test]
fn matchers_of_other_events_look_at_their_fields() {
    let rows = [
        ("SessionStart", "startup", json!({"source": "startup"}), 1),
        ("SessionStart", "startup", json!({"source": "resume"}), 0),
        ("SubagentStop", "Explore|Plan", json!({"agent_type": "Plan"}), 1),
        ("SessionEnd", "clear", json!({"reason": "other"}), 0),
        ("FileChanged", "^\\.env$", json!({"file_path": "/home/kim/.env"}), 1),
        ("PreCompact", "auto", json!({}), 0),
    ];
    for (name, matcher, fields, count) in rows {
        let hooks = [hook(name, Some(matcher), vec![command("x")])];
        assert_eq!(selected(&hooks, name, &[], &fields).len(), count, "{name} {matcher} {fields}");
    }
}

#[test]
fn what_can_not_be_decided_is_said() {
    let hooks = [hook("PreToolUse", Some("(?=Bash)"), vec![command("x")])];
    let ran = selected(&hooks, "PreToolUse", &bash(), &json!({}));
    insta::assert_snapshot!(ran.join("\n"), @"! the matcher `(?=Bash)` is not a regular expression that can be used here (look-around and back-references can't)");
    let many = (0..=MAX_HANDLERS).map(|number| command(&number.to_string())).collect();
    let ran = selected(&[hook("Stop", None, many)], "Stop", &[], &json!({}));
    assert_eq!(ran.len(), MAX_HANDLERS + 1);
    assert!(ran[MAX_HANDLERS].starts_with("! more than 32 hooks"), "{}", ran[MAX_HANDLERS]);
    let unknown = [hook("BeforeLunch", None, vec![command("x")])];
    assert!(HookSet::of(&unknown).is_empty());
}

#[test]
fn each_type_has_its_own_time() {
    let rows = [
        ("PreToolUse", "command", None, 600_000),
        ("PreToolUse", "http", None, 600_000),
        ("PreToolUse", "mcp_tool", None, 600_000),
        ("PreToolUse", "prompt", None, 30_000),
        ("PreToolUse", "agent", None, 60_000),
        ("PreToolUse", "command", Some(5), 5_000),
        ("PreToolUse", "command", Some(-5), 600_000),
        ("UserPromptSubmit", "command", None, 30_000),
        ("UserPromptSubmit", "http", None, 30_000),
        ("UserPromptSubmit", "agent", None, 60_000),
        ("UserPromptSubmit", "command", Some(100), 100_000),
        ("MessageDisplay", "command", None, 10_000),
        ("SessionEnd", "command", None, 1_500),
        ("SessionEnd", "command", Some(5), 5_000),
        ("SessionEnd", "command", Some(600), 60_000),
    ];
    for (name, kind, declared, millis) in rows {
        let handler = HookHandler { kind: text(kind), timeout: declared, ..HookHandler::default() };
        let time = timeout(&handler, event(name));
        assert_eq!(time, Duration::from_millis(millis), "{name} {kind} {declared:?}");
    }
}
