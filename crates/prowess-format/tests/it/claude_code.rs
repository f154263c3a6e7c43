//! Claude Code: invocation, subagents and hooks (seed 004, layer 2).

use insta::assert_snapshot;
use prowess_format::diagnostic::Findings;
use prowess_format::dialect::detect;
use prowess_format::document::Document;
use prowess_format::hook_events::HOOK_EVENTS;
use prowess_format::span::Spanned;

use crate::{problems, skill, skill_as, skill_of};

/// A skill with these lines in its front matter.
fn with(fields: &str) -> String {
    format!("---\nname: desk\ndescription: Tidy a desk\n{fields}---\n\n# Desk\n")
}

// SKL-L2-1
#[test]
fn models_and_users_may_invoke_a_skill_unless_it_says_otherwise() {
    let schema = skill_as(&with(""), "claude-code").dialect.schema();
    let default = |field: &str| schema["properties"][field]["default"].clone();
    assert_eq!(default("disable-model-invocation"), serde_json::json!(false));
    assert_eq!(default("user-invocable"), serde_json::json!(true));
    let set = skill(&with("disable-model-invocation: true\nuser-invocable: false\n")).invocation;
    let declared = |flag: &Option<Spanned<bool>>| flag.as_ref().map(|flag| flag.value);
    assert_eq!(declared(&set.disable_model_invocation), Some(true));
    assert_eq!(declared(&set.user_invocable), Some(false));
    assert_snapshot!(problems(&with("disable-model-invocation: maybe\n")), @"4:27 error wrong-type `disable-model-invocation` is text, expected `true` or `false`");
    assert_snapshot!(problems(&with("user-invocable: \"true\"\n")), @"4:17 error wrong-type `user-invocable` is text, expected `true` or `false`");
    assert_snapshot!(problems(&with("user-invocable: yes\n")), @"4:17 warning ambiguous-boolean `user-invocable: yes` is a boolean only in YAML 1.1");
}

// SKL-L2-5
#[test]
fn every_field_survives_writing_and_reading() {
    for path in [
        "claude-code/edge/SKL-L2-1/every-documented-field/SKILL.md",
        "claude-code/layer-2-hooks-fragment/hooks-block/SKILL.md",
        "claude-code/edge/SKL-L2-9/agent-hook/SKILL.md",
    ] {
        let skill = skill_of(path);
        assert_eq!(skill.dialect.id, "claude-code");
        let written = (skill.dialect.write)(&skill).text;
        let again = skill_as(&written, "claude-code");
        assert_eq!(again.invocation, skill.invocation, "{written}");
        assert_eq!(again.hooks, skill.hooks, "{written}");
        assert_eq!(again.model_alias, skill.model_alias, "{written}");
        assert_eq!(again.allowed_tools, skill.allowed_tools, "{written}");
    }
}

#[test]
fn every_documented_field_is_read() {
    let skill = skill_of("claude-code/edge/SKL-L2-1/every-documented-field/SKILL.md");
    let invocation = &skill.invocation;
    let text = |text: &Option<prowess_format::span::Spanned<String>>| {
        text.as_ref().map(|text| text.value.clone())
    };
    assert_eq!(text(&invocation.argument_hint).as_deref(), Some("[drawer]"));
    assert_eq!(text(&invocation.context).as_deref(), Some("fork"));
    assert_eq!(text(&invocation.agent).as_deref(), Some("Explore"));
    assert_eq!(text(&skill.model_alias).as_deref(), Some("haiku"));
    assert_eq!(text(&invocation.effort).as_deref(), Some("low"));
    assert_eq!(
        invocation.arguments.iter().map(|name| name.as_str()).collect::<Vec<_>>(),
        ["drawer", "shelf"]
    );
    assert_eq!(skill.extra, []);
    let list = skill_as(&with("argument-hint: [issue]\n"), "claude-code").invocation;
    assert_eq!(text(&list.argument_hint).as_deref(), Some("[issue]"));
}

#[test]
fn a_fork_names_its_agent() {
    assert_eq!(problems(&with("context: fork\n")), "");
    assert_snapshot!(problems(&with("context: spoon\n")), @"4:10 warning not-a-choice `context` is `spoon`, expected `fork`");
    assert_snapshot!(problems(&with("agent: Explore\n")), @"4:8 info agent-without-fork `agent` has no effect without `context: fork`");
}

#[test]
fn hooks_are_read_whatever_the_dialect() {
    let hooks = "hooks:\n  PreToolUse:\n    - hooks: [{type: command, command: ./check.sh}]\n";
    let tool =
        "### tidy\n\nTidies.\n\n#### Parameters\n\nNone.\n\n#### Command\n\n```bash\ntidy\n```\n";
    let text = format!("---\nname: desk\nversion: 1.0.0\ndescription: Tidy\n{hooks}---\n\n{tool}");
    let skill = skill(&text);
    assert_eq!(skill.dialect.id, "gibberish");
    assert_eq!((skill.tools.len(), skill.hooks.len()), (1, 1));
}

#[test]
fn every_documented_event_is_known() {
    // The 31 events of the reference.
    assert_eq!(HOOK_EVENTS.len(), 31);
    for event in HOOK_EVENTS {
        assert_eq!(problems(&hook(event.name, "{type: command, command: x}")), "");
    }
}

#[test]
fn every_field_of_a_handler_survives() {
    let handlers = [
        "{type: command, if: Bash(git *), command: ./x.sh, args: [a, '${CLAUDE_PROJECT_DIR}'], timeout: 30, statusMessage: Looking, once: true, async: true, asyncRewake: true, shell: bash}",
        "{type: command, command: ./x.sh, args: []}",
        "{type: http, url: 'https://example.com/x', headers: {Authorization: Bearer $TOKEN}, allowedEnvVars: [TOKEN]}",
        "{type: mcp_tool, server: memory, tool: scan, input: {path: '${tool_input.file_path}'}}",
        "{type: prompt, prompt: Done?, model: haiku, continueOnBlock: true}",
        "{type: agent, prompt: Look, odd: 1}",
    ];
    for handler in handlers {
        let text = hook("PreToolUse", handler);
        assert_eq!(problems(&text).replace("8:", ""), "", "{handler}");
        let first = skill(&text);
        let written = (first.dialect.write)(&first).text;
        let again = skill_as(&written, "claude-code");
        assert_eq!(again.hooks, first.hooks, "{written}");
        for word in handler.split([' ', '{', '}', '[', ']', ',']).filter(|it| it.ends_with(':')) {
            assert!(written.contains(word), "{word} {written}");
        }
    }
    let read = skill(&hook("PreToolUse", handlers[0])).hooks[0].handlers[0].clone();
    assert_eq!(read.condition.as_ref().map(|rule| rule.as_str()), Some("Bash(git *)"));
    assert_eq!(read.arguments.as_deref().map(<[String]>::len), Some(2));
    assert!(read.once && read.is_async && read.async_rewake);
    assert_eq!(read.extra, []);
}

/// A skill with one hook handler.
fn hook(event: &str, handler: &str) -> String {
    with(&format!("hooks:\n  {event}:\n    - matcher: Bash\n      hooks:\n        - {handler}\n"))
}

#[test]
fn hooks_have_a_type_and_what_the_type_needs() {
    assert_eq!(
        problems(&hook("PreToolUse", "{type: command, command: ./x.sh, timeout: 30, async: true}")),
        ""
    );
    assert_eq!(problems(&hook("Stop", "{type: agent, prompt: Look}")), "");
    assert_snapshot!(problems(&hook("PreToolUse", "{type: webhook, command: x}")), @"8:18 error invalid-hook `hooks.PreToolUse[0].hooks[0].type` is `webhook`, expected `command`, `http`, `mcp_tool`, `prompt` or `agent`");
    assert_snapshot!(problems(&hook("PreToolUse", "{type: command}")), @"8:18 error invalid-hook a hook of type `command` needs `command`");
    assert_snapshot!(problems(&hook("PreToolUse", "{type: http}")), @"8:18 error invalid-hook a hook of type `http` needs `url`");
    assert_snapshot!(problems(&hook("PreToolUse", "{type: http, url: example.com}")), @"8:29 error invalid-hook `example.com` is not the URL of a server");
    assert_snapshot!(problems(&hook("PreToolUse", "{type: mcp_tool}")), @"
    8:18 error invalid-hook a hook of type `mcp_tool` needs `server`
    8:18 error invalid-hook a hook of type `mcp_tool` needs `tool`
    ");
    assert_snapshot!(problems(&hook("SessionStart", "{type: prompt, prompt: x}")), @"8:18 warning invalid-hook a hook of type `prompt` never runs on `SessionStart`");
    assert_snapshot!(problems(&hook("Stop", "{type: command, command: x, if: Bash(git *)}")), @"8:43 warning invalid-hook a hook with `if` never runs on `Stop`, which is not about a tool");
    assert_snapshot!(problems(&hook("Stop", "{type: prompt, prompt: x, async: true}")), @"8:18 warning invalid-hook a hook of type `prompt` can't run in the background");
    assert_snapshot!(problems(&hook("PreToolUse", "{type: command, command: x, timeout: -1}")), @"8:48 error out-of-range `hooks.PreToolUse[0].hooks[0].timeout` is -1, expected 1 to 86400");
    assert_snapshot!(problems(&hook("PreTolUse", "{type: command, command: x}")), @"5:3 warning unknown-hook-event `PreTolUse` is not a hook event");
    assert_snapshot!(problems(&with("hooks: [a]\n")), @"4:8 error wrong-type `hooks` is a list, expected a map");
    let hooks =
        skill(&hook("PreToolUse", "{type: command, command: ./x.sh, timeout: 30, async: true}"))
            .hooks;
    assert_eq!(
        (hooks[0].event.as_str(), hooks[0].matcher.as_deref()),
        ("PreToolUse", Some("Bash"))
    );
    let handler = &hooks[0].handlers[0];
    assert_eq!(
        (handler.kind.as_str(), handler.timeout, handler.is_async),
        ("command", Some(30), true)
    );
}

#[test]
fn layers_compose() {
    let text = with("user-invocable: true\nversion: 1.0.0\ntrust-level: community\n");
    let document = Document::markdown(&text, &mut Findings::default());
    let mut ids: Vec<&str> = detect(&document).iter().map(|dialect| dialect.id).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["agent-skills", "claude-code", "skillli"]);
    let skill = skill(&text);
    assert_eq!(skill.version_or_default(), "1.0.0");
    assert!(skill.invocation.user_invocable.as_ref().is_some_and(|flag| flag.value));
    assert_eq!(skill.extra, []);
}

#[test]
fn a_misspelt_field_is_pointed_out() {
    assert_snapshot!(problems(&with("user-invocable: true\nargument_hint: x\n")), @"5:1 warning misspelt-field `argument_hint` has no effect");
}
