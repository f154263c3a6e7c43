//! Placeholders in commands, headers, prompts and arguments.

use prowess_format::skill::HookHandler;
use prowess_format::span::Spanned;
use prowess_hooks::{exec_words, header_value, prompt_text, tool_arguments};
use serde_json::json;

fn command(command: &str, arguments: Option<&[&str]>) -> HookHandler {
    HookHandler {
        action: Some(Spanned { value: command.to_owned(), ..Spanned::default() }),
        arguments: arguments.map(|words| words.iter().map(|word| (*word).to_owned()).collect()),
        ..HookHandler::default()
    }
}

#[test]
fn commands_with_arguments_need_no_shell() {
    let folders = [("CLAUDE_PROJECT_DIR", "/a b/$(x)")];
    let words = |line: &str, arguments| exec_words(&command(line, arguments), &folders);
    assert_eq!(words("echo $HOME | cat", None), None);
    let expected = ["/a b/$(x)/check.sh", "it's", "/a b/$(x)", "${UNKNOWN}", "$HOME", "${"];
    let given: &[&str] = &["it's", "${CLAUDE_PROJECT_DIR}", "${UNKNOWN}", "$HOME", "${"];
    assert_eq!(words("${CLAUDE_PROJECT_DIR}/check.sh", Some(given)).expect("no shell"), expected);
    assert_eq!(words("x", Some(&[])).expect("no shell"), ["x"]);
}

#[test]
fn headers_get_the_variables_that_are_listed() {
    let variable = |name: &str| match name {
        "TOKEN" => Some("secret".to_owned()),
        "LINES" => Some("a\r\nX-Evil: b".to_owned()),
        "OTHER" => Some("other".to_owned()),
        _ => None,
    };
    let allowed = ["TOKEN", "LINES", "MISSING"].map(str::to_owned);
    let rows = [
        ("Bearer $TOKEN", "Bearer secret"),
        ("Bearer ${TOKEN}!", "Bearer secret!"),
        ("$TOKENS ${OTHER} $OTHER", "  "),
        ("$MISSING$", "$"),
        ("$1 ${a-b} $", "$1 ${a-b} $"),
        ("$LINES", "aX-Evil: b"),
    ];
    for (text, expected) in rows {
        assert_eq!(header_value(text, &allowed, variable), expected, "{text}");
    }
    assert_eq!(header_value("$TOKEN", &[], variable), "");
}

#[test]
fn prompts_hold_the_input() {
    let rows = [
        ("Look at $ARGUMENTS now", "Look at {\"a\":1} now"),
        ("Done?", "Done?\n\n{\"a\":1}"),
        ("$ARGUMENTS and $ARGUMENTS", "{\"a\":1} and {\"a\":1}"),
        (r"costs \$1.00, $5: $ARGUMENTS", "costs $1.00, $5: {\"a\":1}"),
        (r"literally \$ARGUMENTS", "literally $ARGUMENTS\n\n{\"a\":1}"),
    ];
    for (prompt, expected) in rows {
        assert_eq!(prompt_text(prompt, "{\"a\":1}"), expected, "{prompt}");
    }
    // One pass: what is put in is not looked at again.
    assert_eq!(prompt_text("$ARGUMENTS", "$ARGUMENTS"), "$ARGUMENTS");
}

#[test]
fn arguments_of_tools_come_from_the_input() {
    let input =
        json!({"tool_input": {"file_path": "/a.ts", "n": 5, "list": ["x", "y"]}, "cwd": "/"});
    let given = json!({
        "path": "${tool_input.file_path}",
        "text": "in ${cwd}: ${tool_input.n} ${tool_input.list.1} ${nothing}.",
        "nested": [{"all": "${tool_input.list}"}],
        "number": 7,
    });
    assert_eq!(
        tool_arguments(&given, &input),
        json!({
            "path": "/a.ts",
            "text": "in /: 5 y .",
            "nested": [{"all": "[\"x\",\"y\"]"}],
            "number": 7,
        })
    );
}
