//! What one handler's answer means: every row of "Exit code output", "HTTP response handling", "JSON output" and "Response
//! schema" of the reference.

use proptest::prelude::*;
use prowess_format::hook_events::HOOK_EVENTS;
use prowess_hooks::{
    HandlerResult, HookAnswer, HookFault, HookPermission, MAX_OUTPUT_CHARS, answer,
    background_answer,
};
use serde_json::{Value, json};

use crate::event;

/// An answer in one line.
fn shown(answer: &HookAnswer) -> String {
    let mut parts: Vec<String> = Vec::new();
    match &answer.fault {
        Some(HookFault::NonBlocking(why)) => parts.push(format!("error: {why}")),
        Some(HookFault::Unable(why)) => parts.push(format!("unable: {why}")),
        None => {}
    }
    let because = |reason: &Option<String>| {
        reason.as_ref().map_or(String::new(), |reason| format!(" ({reason})"))
    };
    if let Some(permission) = answer.permission {
        let word = match permission {
            HookPermission::Allow => "allow",
            HookPermission::Ask => "ask",
            HookPermission::Defer => "defer",
            HookPermission::Deny => "deny",
        };
        parts.push(format!("{word}{}", because(&answer.permission_reason)));
    }
    if let Some(reason) = &answer.block {
        parts.push(format!("block ({reason})"));
    }
    if answer.ends_turn {
        parts.push("the turn ends".to_owned());
    }
    if let Some(reason) = &answer.stop {
        parts.push(format!("stop ({reason})"));
    }
    let texts = [
        ("context", &answer.context),
        ("message", &answer.system_message),
        ("printed", &answer.output),
    ];
    parts.extend(
        texts.iter().filter_map(|(what, text)| Some(format!("{what}: {}", (*text).as_ref()?))),
    );
    let values = [("input", &answer.updated_input), ("output", &answer.updated_output)];
    parts.extend(
        values.iter().filter_map(|(what, it)| Some(format!("{what}: {}", (*it).as_ref()?))),
    );
    if answer.suppress_output {
        parts.push("quiet".to_owned());
    }
    if parts.is_empty() { "nothing".to_owned() } else { parts.join("; ") }
}

fn exited(name: &str, code: i32, stdout: &str, stderr: &str) -> String {
    let result =
        HandlerResult::Exited { code, stdout: stdout.to_owned(), stderr: stderr.to_owned() };
    shown(&answer(event(name), false, &result))
}

fn printed(name: &str, json: &Value) -> String {
    exited(name, 0, &json.to_string(), "")
}

#[test]
fn exit_codes() {
    const ALLOW: &str =
        r#"{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}"#;
    let rows = [
        ("PreToolUse", 0, "", "", "nothing"),
        ("PreToolUse", 0, "fine", "said", "printed: fine"),
        ("PreToolUse", 0, ALLOW, "", "allow"),
        // 2 blocks, even against JSON that allows.
        ("PreToolUse", 2, ALLOW, "no rm here", "deny (no rm here)"),
        ("PreToolUse", 2, "{broken", "no", "deny (no)"),
        ("PreToolUse", 2, "", "", "deny (it gave no reason)"),
        ("PreToolUse", 1, ALLOW, "oh\nno", "error: it failed with exit code 1: oh"),
        ("PreToolUse", 3, "", "", "error: it failed with exit code 3"),
        ("PreToolUse", 125, "", "", "error: it failed with exit code 125"),
        // Without its program there was no hook.
        ("PreToolUse", 126, "", "", "unable: a program can't be executed (exit code 126)"),
        (
            "PreToolUse",
            127,
            "",
            "sh: 1: x: not found",
            "unable: a program was not found (exit code 127): sh: 1: x: not found",
        ),
        ("PreToolUse", 139, "", "", "unable: it crashed (exit code 139)"),
        // "Exit code 2 behavior per event".
        ("PermissionRequest", 2, "", "no", "deny (no)"),
        ("UserPromptSubmit", 2, "", "no", "block (no)"),
        ("UserPromptExpansion", 2, "", "no", "block (no)"),
        ("Stop", 2, "", "go on", "block (go on)"),
        ("SubagentStop", 2, "", "go on", "block (go on)"),
        ("TeammateIdle", 2, "", "go on", "block (go on)"),
        ("TaskCreated", 2, "", "no", "block (no)"),
        ("TaskCompleted", 2, "", "no", "block (no)"),
        ("ConfigChange", 2, "", "no", "block (no)"),
        ("StopFailure", 2, "", "no", "nothing"),
        ("PostToolUse", 2, "", "look", "context: look"),
        ("PostToolUseFailure", 2, "", "look", "context: look"),
        ("PostToolBatch", 2, "", "no", "block (no)"),
        ("PermissionDenied", 2, "", "no", "nothing"),
        ("Notification", 2, "", "oh", "error: oh"),
        ("SubagentStart", 2, "", "oh", "error: oh"),
        ("SessionStart", 2, "", "oh", "error: oh"),
        ("Setup", 2, "", "oh", "error: oh"),
        ("SessionEnd", 2, "", "oh", "error: oh"),
        ("CwdChanged", 2, "", "oh", "error: oh"),
        ("DirectoryAdded", 2, "", "oh", "nothing"),
        ("FileChanged", 2, "", "oh", "error: oh"),
        ("PreCompact", 2, "", "no", "block (no)"),
        ("PostCompact", 2, "", "oh", "error: oh"),
        ("Elicitation", 2, "", "no", "block (no)"),
        ("ElicitationResult", 2, "", "no", "block (no)"),
        ("WorktreeCreate", 2, "", "no", "block (no)"),
        ("WorktreeCreate", 1, "", "no", "block (no)"),
        ("WorktreeRemove", 2, "", "oh", "nothing"),
        ("InstructionsLoaded", 2, "", "oh", "nothing"),
        ("InstructionsLoaded", 1, "", "oh", "nothing"),
        ("MessageDisplay", 2, "", "oh", "nothing"),
        // On three events, what is printed is for the agent.
        ("UserPromptSubmit", 0, "branch: main", "", "context: branch: main"),
        ("UserPromptExpansion", 0, "branch: main", "", "context: branch: main"),
        ("SessionStart", 0, "branch: main", "", "context: branch: main"),
        ("PostToolUse", 0, "branch: main", "", "printed: branch: main"),
        ("Setup", 0, "branch: main", "", "printed: branch: main"),
    ];
    for (name, code, stdout, stderr, expected) in rows {
        assert_eq!(exited(name, code, stdout, stderr), expected, "{name} {code} {stdout} {stderr}");
    }
}

#[test]
fn decisions_about_tools() {
    let with = |fields: Value| {
        let mut specific = json!({"hookEventName": "PreToolUse"});
        for (key, value) in fields.as_object().into_iter().flatten() {
            specific[key] = value.clone();
        }
        printed("PreToolUse", &json!({ "hookSpecificOutput": specific }))
    };
    let rows = [
        (
            json!({"permissionDecision": "allow", "permissionDecisionReason": "fine"}),
            "allow (fine)",
        ),
        (json!({"permissionDecision": "deny", "permissionDecisionReason": "no"}), "deny (no)"),
        (json!({"permissionDecision": "ask", "permissionDecisionReason": "sure?"}), "ask (sure?)"),
        // Of a call that is put off, nothing else counts.
        (
            json!({"permissionDecision": "defer", "permissionDecisionReason": "later",
                   "updatedInput": {"a": 1}, "additionalContext": "x"}),
            "defer",
        ),
        (
            json!({"permissionDecision": "maybe"}),
            "unable: `permissionDecision` is `maybe`, which is not a decision",
        ),
        (json!({"permissionDecision": 1}), "unable: `permissionDecision` is not a text"),
        (json!({"updatedInput": {"command": "ls"}}), r#"input: {"command":"ls"}"#),
        (json!({"updatedInput": "ls"}), "unable: `updatedInput` is not an object"),
        (json!({"additionalContext": "production"}), "context: production"),
        (
            json!({"hookEventName": "Stop"}),
            "unable: `hookEventName` is `Stop`, expected `PreToolUse`",
        ),
        (json!({"hookEventName": null}), "unable: `hookSpecificOutput` has no `hookEventName`"),
    ];
    for (fields, expected) in rows {
        assert_eq!(with(fields.clone()), expected, "{fields}");
    }
    // The old form.
    let rows = [
        (json!({"decision": "approve", "reason": "fine"}), "allow (fine)"),
        (json!({"decision": "block", "reason": "no"}), "deny (no)"),
        (json!({"decision": "block"}), "deny (it gave no reason)"),
        (
            json!({"decision": "perhaps"}),
            "unable: `decision` is `perhaps`, which is not a decision",
        ),
    ];
    for (json, expected) in rows {
        assert_eq!(printed("PreToolUse", &json), expected, "{json}");
    }
}

#[test]
fn decisions_about_other_events() {
    let block = json!({"decision": "block", "reason": "tests fail"});
    for event in HOOK_EVENTS {
        let expected = match event.name {
            "PreToolUse" => "deny (tests fail)",
            _ if event.takes_decision => "block (tests fail)",
            _ => "nothing",
        };
        assert_eq!(printed(event.name, &block), expected, "{}", event.name);
        let context = json!({"hookSpecificOutput":
            {"hookEventName": event.name, "additionalContext": "note"}});
        let expected = if event.takes_context { "context: note" } else { "nothing" };
        if event.name != "StopFailure" {
            assert_eq!(printed(event.name, &context), expected, "{}", event.name);
        }
    }
    let deciding: Vec<&str> =
        HOOK_EVENTS.iter().filter(|event| event.takes_decision).map(|event| event.name).collect();
    assert_eq!(
        deciding,
        [
            "UserPromptSubmit",
            "UserPromptExpansion",
            "PostToolUse",
            "PostToolUseFailure",
            "PostToolBatch",
            "SubagentStop",
            "Stop",
            "ConfigChange",
            "PreCompact"
        ]
    );
    let of = |name: &str, fields: Value| {
        let mut specific = fields;
        specific["hookEventName"] = name.into();
        printed(name, &json!({ "hookSpecificOutput": specific }))
    };
    let rows = [
        ("PermissionRequest", json!({"decision": {"behavior": "allow"}}), "allow"),
        (
            "PermissionRequest",
            json!({"decision": {"behavior": "deny", "message": "no"}}),
            "deny (no)",
        ),
        (
            "PermissionRequest",
            json!({"decision": {"behavior": "maybe"}}),
            "unable: `behavior` is `maybe`, expected `allow` or `deny`",
        ),
        ("PostToolUse", json!({"updatedToolOutput": {"stdout": "x"}}), r#"output: {"stdout":"x"}"#),
        ("PostToolUse", json!({"updatedMCPToolOutput": "x"}), r#"output: "x""#),
        ("PostToolUseFailure", json!({"updatedToolOutput": "x"}), "nothing"),
    ];
    for (name, fields, expected) in rows {
        assert_eq!(of(name, fields.clone()), expected, "{name} {fields}");
    }
}

#[test]
fn fields_of_all_events() {
    let rows = [
        (json!({"continue": false, "stopReason": "build failed"}), "stop (build failed)"),
        (json!({"continue": false}), "stop ()"),
        (json!({"continue": true, "stopReason": "x"}), "nothing"),
        (json!({"systemMessage": "careful"}), "message: careful"),
        (json!({"suppressOutput": true}), "quiet"),
        (json!({"unknown": 1}), "nothing"),
        (json!({"continue": "no"}), "unable: `continue` is not `true` or `false`"),
        (json!({"systemMessage": 1}), "unable: `systemMessage` is not a text"),
        (json!({"hookSpecificOutput": 1}), "unable: `hookSpecificOutput` is not an object"),
    ];
    for (json, expected) in rows {
        for name in ["PreToolUse", "PostToolUse", "Stop", "SessionStart", "Notification"] {
            assert_eq!(printed(name, &json), expected, "{name} {json}");
        }
    }
    // A text that begins like JSON has to be JSON.
    let said = exited("PreToolUse", 0, " {oops", "");
    assert!(said.starts_with("unable: its output starts like JSON but is not valid"), "{said}");
    assert_eq!(exited("PreToolUse", 0, "[1]", ""), "printed: [1]");
}

#[test]
fn responses_of_servers() {
    let responded = |name: &str, status: u16, body: &str| {
        let body = body.to_owned();
        shown(&answer(event(name), false, &HandlerResult::Responded { status, body }))
    };
    let rows = [
        (200, "", "nothing"),
        (204, "", "nothing"),
        (200, "plain", "context: plain"),
        (201, r#"{"decision": "block", "reason": "no"}"#, "deny (no)"),
        (
            200,
            "{oops",
            "unable: its output starts like JSON but is not valid: key must be a string at line 1 column 2",
        ),
        (302, "", "unable: the server responded with status 302"),
        (403, r#"{"decision": "block"}"#, "unable: the server responded with status 403"),
        (500, "", "unable: the server responded with status 500"),
    ];
    for (status, body, expected) in rows {
        assert_eq!(responded("PreToolUse", status, body), expected, "{status} {body}");
    }
}

#[test]
fn texts_of_tools() {
    let called = |text: &str, is_error| {
        let text = text.to_owned();
        shown(&answer(event("PreToolUse"), false, &HandlerResult::Called { text, is_error }))
    };
    let rows = [
        ("", false, "nothing"),
        ("found nothing", false, "printed: found nothing"),
        (r#"{"decision": "block", "reason": "no"}"#, false, "deny (no)"),
        // Not JSON output: a text.
        ("{oops", false, "printed: {oops"),
        ("no such server", true, "unable: the tool reported an error: no such server"),
    ];
    for (text, is_error, expected) in rows {
        assert_eq!(called(text, is_error), expected, "{text}");
    }
}

#[test]
fn words_of_models() {
    const NO: &str = r#"{"ok": false, "reason": "no tests"}"#;
    const NEVER: &str = r#"{"ok": false, "reason": "no network", "impossible": true}"#;
    let evaluated = |name: &str, goes_on, text: &str| {
        let text = text.to_owned();
        shown(&answer(event(name), goes_on, &HandlerResult::Evaluated { text }))
    };
    let rows = [
        ("PreToolUse", false, r#"{"ok": true}"#, "nothing"),
        ("PreToolUse", false, NO, "deny (no tests); the turn ends"),
        ("PreToolUse", true, NO, "deny (no tests)"),
        ("PostToolUse", false, NO, "block (no tests); the turn ends"),
        ("PostToolUse", true, NO, "block (no tests)"),
        ("Stop", false, NO, "block (no tests)"),
        ("SubagentStop", false, NO, "block (no tests)"),
        ("Stop", false, NEVER, "message: no network"),
        ("PreToolUse", true, NEVER, "deny (no network)"),
        ("PostToolBatch", true, NO, "block (no tests); the turn ends"),
        ("UserPromptSubmit", true, NO, "block (no tests); the turn ends"),
        ("UserPromptExpansion", true, NO, "block (no tests); the turn ends"),
        ("PostToolUseFailure", false, NO, "block (no tests)"),
        ("TaskCreated", false, NO, "block (no tests)"),
        ("TaskCompleted", false, NO, "block (no tests)"),
        ("TeammateIdle", false, NO, "block (no tests); the turn ends"),
        ("TeammateIdle", true, NO, "block (no tests)"),
        ("PermissionRequest", false, NO, "nothing"),
        ("PermissionDenied", false, NO, "nothing"),
        ("PreToolUse", true, r#"{"ok": false}"#, "deny (it gave no reason)"),
        ("PreToolUse", true, "Sure: ```json\n{\"ok\": true}\n```", "nothing"),
        (
            "PreToolUse",
            true,
            "yes",
            r#"unable: the model did not answer with `{"ok": true}` or `{"ok": false}`"#,
        ),
        (
            "PreToolUse",
            true,
            r#"{"ok": "yes"}"#,
            r#"unable: the model did not answer with `{"ok": true}` or `{"ok": false}`"#,
        ),
    ];
    for (name, goes_on, text, expected) in rows {
        assert_eq!(evaluated(name, goes_on, text), expected, "{name} {goes_on} {text}");
    }
}

#[test]
fn a_timeout_renders_no_decision() {
    let late = HandlerResult::TimedOut { after: "1 s".to_owned() };
    let broken = HandlerResult::Broken { why: "it was ended by signal 9".to_owned() };
    for name in ["PreToolUse", "PostToolUse", "Stop"] {
        assert_eq!(shown(&answer(event(name), false, &late)), "unable: it timed out after 1 s");
        assert_eq!(shown(&answer(event(name), false, &broken)), "unable: it was ended by signal 9");
    }
}

#[test]
fn commands_in_the_background_decide_nothing() {
    let ended = |code, stdout: &str| {
        let result =
            HandlerResult::Exited { code, stdout: stdout.to_owned(), stderr: "oh".to_owned() };
        shown(&background_answer(event("PostToolUse"), &result))
    };
    let all = json!({"continue": false, "decision": "block", "reason": "no", "systemMessage": "done",
        "hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "tests pass"}});
    assert_eq!(ended(0, &all.to_string()), "context: tests pass; message: done");
    // A field of a wrong type is dropped, and the rest counts.
    let odd =
        json!({"systemMessage": 5, "hookSpecificOutput": {"additionalContext": "tests pass"}});
    assert_eq!(ended(0, &odd.to_string()), "context: tests pass");
    assert_eq!(ended(0, "tests pass"), "nothing");
    assert_eq!(ended(1, ""), "error: it failed with exit code 1: oh");
}

#[test]
fn texts_are_cut_at_ten_thousand_characters() {
    let long = "é".repeat(MAX_OUTPUT_CHARS + 5);
    let end = "\n[5 more characters were cut]";
    let cut = format!("{}{end}", "é".repeat(MAX_OUTPUT_CHARS));
    assert_eq!(exited("SessionStart", 0, &long, ""), format!("context: {cut}"));
    assert_eq!(exited("PreToolUse", 2, "", &long), format!("deny ({cut})"));
    assert_eq!(printed("Stop", &json!({"systemMessage": long})), format!("message: {cut}"));
    let exact = "x".repeat(MAX_OUTPUT_CHARS);
    assert_eq!(exited("SessionStart", 0, &exact, ""), format!("context: {exact}"));
}

proptest! {
    #[test]
    fn no_answer_panics(stdout in any::<String>(), stderr in any::<String>(), code in 0..256_i32) {
        for event in HOOK_EVENTS {
            let result = HandlerResult::Exited { code, stdout: stdout.clone(), stderr: stderr.clone() };
            let _ = answer(event, false, &result);
            let _ = background_answer(event, &result);
            let _ = answer(event, true, &HandlerResult::Evaluated { text: stdout.clone() });
        }
    }
}
