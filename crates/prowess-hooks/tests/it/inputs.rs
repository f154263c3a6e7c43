//! What handlers are told ("Common input fields" of the reference).

use prowess_format::hook_events::HOOK_EVENTS;
use prowess_hooks::{HookFacts, hook_input};
use serde_json::{Value, json};

use crate::event;

fn facts() -> HookFacts {
    HookFacts {
        session_id: "abc123".to_owned(),
        prompt_id: Some("550e8400".to_owned()),
        transcript_path: "/home/kim/t.jsonl".to_owned(),
        cwd: "/home/kim/project".to_owned(),
        permission_mode: "default".to_owned(),
        effort: Some("high".to_owned()),
        ..HookFacts::default()
    }
}

#[test]
fn a_tool_call_is_told_as_documented() {
    let fields = json!({"tool_name": "Bash", "tool_input": {"command": "npm test"},
        "tool_use_id": "toolu_01"});
    let input = hook_input(event("PreToolUse"), &facts(), fields.as_object().expect("a map"));
    assert_eq!(
        input,
        json!({
            "session_id": "abc123",
            "prompt_id": "550e8400",
            "transcript_path": "/home/kim/t.jsonl",
            "cwd": "/home/kim/project",
            "permission_mode": "default",
            "effort": {"level": "high"},
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": "npm test"},
            "tool_use_id": "toolu_01",
        })
    );
}

#[test]
fn some_fields_are_for_some_events() {
    let has = |name: &str, key: &str| {
        let input = hook_input(event(name), &facts(), &serde_json::Map::new());
        input.get(key).is_some()
    };
    for event in HOOK_EVENTS {
        let input = hook_input(event, &facts(), &serde_json::Map::new());
        assert_eq!(input["hook_event_name"], event.name);
        for key in ["session_id", "transcript_path", "cwd"] {
            assert!(input[key].is_string(), "{} {key}", event.name);
        }
    }
    let with_mode = [
        "UserPromptSubmit",
        "UserPromptExpansion",
        "PreToolUse",
        "PermissionRequest",
        "PermissionDenied",
        "PostToolUse",
        "PostToolUseFailure",
        "PostToolBatch",
        "SubagentStop",
        "TaskCreated",
        "TaskCompleted",
        "Stop",
        "TeammateIdle",
        "Elicitation",
        "ElicitationResult",
    ];
    for event in HOOK_EVENTS {
        let name = event.name;
        assert_eq!(has(name, "permission_mode"), with_mode.contains(&name), "{name}");
    }
    assert!(has("Stop", "effort") && !has("SessionStart", "effort"));
    let inside = HookFacts {
        prompt_id: None,
        effort: None,
        agent_id: Some("def456".to_owned()),
        agent_type: Some("Explore".to_owned()),
        ..facts()
    };
    let input = hook_input(event("PreToolUse"), &inside, &serde_json::Map::new());
    assert_eq!((&input["agent_id"], &input["agent_type"]), (&json!("def456"), &json!("Explore")));
    assert_eq!((&input["prompt_id"], &input["effort"]), (&Value::Null, &Value::Null));
}
