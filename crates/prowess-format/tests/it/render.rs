//! What a skill's body and commands become for some inputs.

use std::fmt::Write as _;

use insta::assert_snapshot;
use prowess_format::render::{self, InputError, RenderContext, RenderedPrompt, parse_input};
use prowess_format::{ReadOptions, check, dialect};
use prowess_testkit::fixture;
use serde_json::{Map, Value, json};

/// What a body is rendered with, as short as a test wants it.
#[derive(Clone)]
struct With<'w> {
    inputs: Value,
    arguments: Option<&'w str>,
}

const NOTHING: With<'static> = With { inputs: Value::Null, arguments: None };

fn inputs(inputs: Value) -> With<'static> {
    With { inputs, arguments: None }
}

fn arguments(arguments: &str) -> With<'_> {
    With { inputs: Value::Null, arguments: Some(arguments) }
}

fn rendered(text: &str, with: &With<'_>) -> Result<RenderedPrompt, Vec<InputError>> {
    let checked = check(text, ReadOptions::DETECT);
    let empty = Map::new();
    let context = RenderContext {
        arguments: with.arguments,
        session_id: Some("s-1"),
        skill_dir: Some("/skills/demo"),
        ..RenderContext::of_inputs(with.inputs.as_object().unwrap_or(&empty))
    };
    render::prompt(&checked.skill, &context)
}

/// The text, and below it everything else that was found out.
fn shown(text: &str, with: &With<'_>) -> String {
    match rendered(text, with) {
        Ok(prompt) => {
            let mut shown = prompt.text.clone();
            for warning in &prompt.warnings {
                _ = write!(shown, "\nwarning: {warning}");
            }
            for command in &prompt.commands {
                let place = command.span.slice(&prompt.text).replace('\n', "↵");
                _ = write!(shown, "\ncommand: {} at {place}", command.command.replace('\n', "↵"));
            }
            if let Some(agent) = &prompt.fork {
                _ = write!(shown, "\nfork: {agent}");
            }
            shown
        }
        Err(errors) => {
            let lines = errors.iter().map(|error| format!("error: {error}"));
            lines.collect::<Vec<_>>().join("\n")
        }
    }
}

/// A prompt of the studio's dialect with two inputs, one of which has a default.
fn agent_flow(body: &str) -> String {
    format!(
        "---\nname: demo\ndescription: d\ninputs:\n  - name: article\n    type: textarea\n    required: true\n  - name: style\n    type: text\n    default: dry\n  - name: my-var\n    type: text\n---\n\n{body}\n"
    )
}

/// Instructions for a host agent.
fn instructions(fields: &str, body: &str) -> String {
    format!("---\nname: demo\ndescription: d\n{fields}---\n\n{body}\n")
}

#[test]
fn inputs_take_their_place_in_order_of_priority() {
    // AFL-5.2-2
    let text = agent_flow("{{style}}: {{article}}");
    assert_snapshot!(shown(&text, &inputs(json!({"article": "A", "style": "loud"}))), @"loud: A");
    assert_snapshot!(shown(&text, &inputs(json!({"article": "A"}))), @"dry: A");
    assert_snapshot!(shown(&text, &inputs(json!({"article": "A", "style": ""}))), @": A");
    // AFL §3.3: a required input must be provided, and one that is provided empty is (an empty list of commits is one).
    assert_snapshot!(shown(&text, &inputs(json!({"article": ""}))), @"dry:");
    assert_snapshot!(shown(&text, &inputs(json!({"article": null}))), @"error: Missing required input: 'article'");
    assert_snapshot!(shown(&agent_flow("[{{my-var}}]"), &inputs(json!({"article": "A"}))), @"[]");
}

#[test]
fn a_value_is_never_looked_at_again() {
    // AFL-5.2-1
    let text = agent_flow("{{article}} {{style}}");
    let with = inputs(json!({"article": "{{style}} $ARGUMENTS !`id`", "style": "{{article}}"}));
    assert_snapshot!(shown(&text, &with), @"{{style}} $ARGUMENTS !`id` {{article}}");
}

#[test]
fn undeclared_placeholders_become_empty_with_a_warning() {
    // AFL-5.2-3
    let text = agent_flow("a{{nobody}}b{{nobody}}c {{article}}");
    assert_snapshot!(shown(&text, &inputs(json!({"article": "A"}))), @"
    abc A
    warning: `{{nobody}}` is not declared in `inputs` and becomes empty
    ");
    // The value of something undeclared changes nothing.
    assert_snapshot!(shown(&text, &inputs(json!({"article": "A", "nobody": "N", "stile": "x"}))), @"
    abc A
    warning: `nobody` is not an input of this skill and is not used
    warning: `stile` is not an input of this skill and is not used; did you mean `style`?
    warning: `{{nobody}}` is not declared in `inputs` and becomes empty
    ");
}

#[test]
fn a_missing_required_input_is_named_and_its_default_does_not_help() {
    let text = agent_flow("{{article}}");
    assert_snapshot!(shown(&text, &NOTHING), @"error: Missing required input: 'article'");
    assert_snapshot!(shown(&text, &inputs(json!({"article": null}))), @"error: Missing required input: 'article'");
    // R33
    let text = text.replace("    required: true\n", "    required: true\n    default: A\n");
    assert_snapshot!(shown(&text, &NOTHING), @"error: Missing required input: 'article'");
    assert_snapshot!(shown(&text, &inputs(json!({"article": ""}))), @"");
}

#[test]
fn only_tight_ascii_names_are_placeholders_in_the_studio() {
    // AFL-5.1-1
    let text = agent_flow("{{ style }} {{sty le}} {{größe}} {{}} {{{style}}} {{style} }} {{a.b}}");
    assert_snapshot!(shown(&text, &inputs(json!({"article": "A"}))), @"{{ style }} {{sty le}} {{größe}} {{}} {dry} {{style} }} {{a.b}}");
}

#[test]
fn the_four_examples_of_the_studio_render() {
    // AFL-11-1
    let given = json!({"article": "Long text.", "code": "fn main() {}", "question": "Why?"});
    let mut all = String::new();
    for path in [
        "agent-flow/11.1/article-summary/SKILL.md",
        "agent-flow/11.2/code-review/SKILL.md",
        "agent-flow/11.3/product-qa/SKILL.md",
        "agent-flow/11.4/daily-standup/SKILL.md",
    ] {
        let text =
            rendered(&fixture(path), &inputs(given.clone())).expect("the inputs are there").text;
        _ = writeln!(all, "{}", text.lines().take(4).collect::<Vec<_>>().join("\n"));
    }
    assert_snapshot!(all, @r"
    Please summarize the following article in a concise and professional tone:

    Long text.

    Please review the following auto-detect code, focusing on security, performance, readability:

    ```
    fn main() {}
    User question: Why?

    Answer the above question based on the product documentation in the knowledge base.

    Generate a daily standup report template with the following sections:

    1. What I accomplished yesterday
    2. What I plan to do today
    ");
}

#[test]
fn typed_inputs_take_blanks_around_their_names() {
    // SRT-5-1
    let text = fixture("skillrt/edge/SRT-4.4-1/all-input-types/SKILL.md");
    let with = inputs(json!({
        "in_string": "s", "in_number": 1.5, "in_boolean": false, "in_file": "./a.txt",
        "in_url": "https://example.com/x", "in_json": {"a": [1, "b"]},
    }));
    assert_snapshot!(shown(&text, &with), @r##"
    # All

    s 1.5 false ./a.txt https://example.com/x {"a":[1,"b"]} s
    "##);
}

#[test]
fn values_of_the_wrong_type_are_refused_all_at_once() {
    // SRT-4.4-1
    let text = fixture("skillrt/edge/SRT-4.4-1/all-input-types/SKILL.md");
    let with = inputs(json!({
        "in_string": 5, "in_number": "5", "in_boolean": "true", "in_file": " ", "in_url": "example.com/x",
    }));
    assert_snapshot!(shown(&text, &with), @"
    error: the input `in_string` is an integer, expected `string`
    error: the input `in_number` is a string, expected `number`
    error: the input `in_boolean` is a string, expected `boolean`
    error: the input `in_file` is ` `, expected the path of a file
    error: the input `in_url` is `example.com/x`, expected a URL such as `https://example.com`
    ");
}

#[test]
fn arguments_are_counted_from_zero_and_quotes_group() {
    // SKL-L2-6
    let text = fixture("claude-code/edge/SKL-L2-6/substitutions/SKILL.md");
    assert_snapshot!(shown(&text, &arguments(r#""main file.rs" 12"#)), @r##"
    # Substitutions

    All: "main file.rs" 12
    First: main file.rs or main file.rs
    Second: 12 or 12
    Session: s-1
    Escaped: $1
    Not one: $HOME, $10x, US$5
    "##);
    assert_snapshot!(shown(&text, &NOTHING), @r"
    # Substitutions

    All: 
    First: $ARGUMENTS[0] or $0
    Second: $ARGUMENTS[1] or $1
    Session: s-1
    Escaped: $1
    Not one: $HOME, $10x, US$5
    ");
}

#[test]
fn one_backslash_escapes_an_argument_and_two_do_not() {
    let body = r"\$0 \\$0 \$ARGUMENTS \$1.00 \$HOME \${CLAUDE_SESSION_ID} $0";
    assert_snapshot!(shown(&instructions("", body), &arguments("x y")), @r"$0 \\x $ARGUMENTS $1.00 \$HOME \s-1 x");
}

#[test]
fn declared_names_stand_for_arguments_by_position() {
    let text = instructions(
        "arguments: [issue, branch, issue_id]\n",
        "$issue on $branch ($issue_id, $issues, $issue[0]) \\$issue",
    );
    assert_snapshot!(shown(&text, &arguments("42 'hot fix'")), @"42 on hot fix (, $issues, $issue[0]) $issue");
}

#[test]
fn an_apostrophe_in_prose_does_not_swallow_the_arguments() {
    assert_snapshot!(shown(&instructions("", "$0|$1|$2"), &arguments("don't do that")), @"don't|do|that");
    assert_snapshot!(shown(&instructions("", "$0|$1"), &arguments(r#"a\ b "c \"d\"""#)), @r#"a b|c "d""#);
}

#[test]
fn arguments_nobody_asked_for_are_appended() {
    let text = instructions("", "Fix the issue.");
    assert_snapshot!(shown(&text, &arguments("42 now")), @"
    Fix the issue.

    ARGUMENTS: 42 now
    ");
    assert_snapshot!(shown(&text, &arguments("")), @"Fix the issue.");
    assert_snapshot!(shown(&agent_flow("{{article}}"), &With { inputs: json!({"article": "A"}), arguments: Some("42") }), @"
    A
    warning: the arguments are not used: this skill takes inputs by name
    ");
}

#[test]
fn the_skills_own_directory_has_two_spellings() {
    // OC-9
    assert_snapshot!(shown(&fixture("openclaw/OC-9/base-dir/SKILL.md"), &NOTHING), @"
    # Weather notes

    Run `python3 /skills/demo/scripts/note.py TOWN`; the words live in /skills/demo/references/words.md.
    ");
    assert_snapshot!(shown(&instructions("", "${CLAUDE_SKILL_DIR}/x ${CLAUDE_PROJECT_DIR}/y"), &NOTHING), @"
    /skills/demo/x ${CLAUDE_PROJECT_DIR}/y
    warning: `${CLAUDE_PROJECT_DIR}` has no value here and is left as it is
    ");
}

#[test]
fn commands_are_marked_and_listed_and_never_run() {
    // SKL-L2-7
    assert_snapshot!(shown(&fixture("claude-code/edge/SKL-L2-7/injected-command/SKILL.md"), &NOTHING), @r"
    # Injected

    State of the tree:

    [not run: `git status --short`]

    Not one: a!`b`, and `!`.
    command: git status --short at [not run: `git status --short`]
    ");
    let block =
        "Before\n\n```!\nnode --version\ngit log $0\n```\n\n- diff: !`gh pr diff $0`\nAfter";
    assert_snapshot!(shown(&instructions("", block), &arguments("'7; rm -rf ~'")), @r"
    Before

    [not run:
    ```
    node --version
    git log 7; rm -rf ~
    ```
    ]

    - diff: [not run: `gh pr diff 7; rm -rf ~`]
    After
    warning: the argument `7; rm -rf ~` contains shell syntax and is used in a command
    command: node --version↵git log 7; rm -rf ~ at [not run:↵```↵node --version↵git log 7; rm -rf ~↵```↵]
    command: gh pr diff 7; rm -rf ~ at [not run: `gh pr diff 7; rm -rf ~`]
    ");
}

#[test]
fn an_argument_can_not_bring_a_command_of_its_own() {
    let prompt = rendered(&instructions("", "Do $ARGUMENTS\n$0"), &arguments("!`id` x"))
        .expect("it renders");
    assert_eq!(prompt.text, "Do !`id` x\n!`id`");
    assert_eq!(prompt.commands, []);
}

#[test]
fn code_is_shown_and_not_run() {
    // SRT-5-2
    let body = "```bash\n!`rm -rf /`\n$0\n```\n\n~~~\n```!\nid\n```\n~~~\n\nWrite `` !`cmd` `` to inject, ```` !`x` ````.\n```!\nunclosed";
    let prompt = rendered(&instructions("", body), &arguments("first")).expect("it renders");
    assert_eq!(prompt.text, body.replace("$0", "first"));
    assert_eq!(prompt.commands, []);
    // The same in a typed procedure, where inputs are still put in.
    let text = "---\nname: demo\nversion: 1.0.0\ndescription: d\ninputs:\n  - name: x\n    type: string\n---\n\n```bash\necho {{ x }}\n```\n";
    let prompt = rendered(text, &inputs(json!({"x": "hi"}))).expect("it renders");
    assert_eq!((prompt.text.as_str(), prompt.commands.len()), ("```bash\necho hi\n```", 0));
    // A double backtick that closes nowhere hides nothing.
    let prompt = rendered(&instructions("", "a `` b !`id` c"), &NOTHING).expect("it renders");
    assert_eq!(prompt.commands.len(), 1);
}

#[test]
fn tools_keep_the_dollars_of_their_examples() {
    let text = "---\nname: demo\nversion: 1.0.0\ndescription: d\nread_only: true\n---\n\n## Tools\n\n### list\n\nLists.\n\n**Command:**\n```bash\necho $1 {{x}} !`id`\n```\n";
    let prompt = rendered(text, &arguments("a b")).expect("it renders");
    assert!(prompt.text.contains("echo $1 {{x}} !`id`"), "{}", prompt.text);
    assert_eq!(prompt.commands, []);
}

#[test]
fn a_fork_names_its_agent() {
    // SKL-L2-8
    assert_snapshot!(shown(&instructions("context: fork\n", "Look."), &NOTHING), @"
    Look.
    fork: general-purpose
    ");
    assert_snapshot!(shown(&instructions("context: fork\nagent: Explore\n", "Look."), &NOTHING), @"
    Look.
    fork: Explore
    ");
    assert_snapshot!(shown(&instructions("agent: Explore\n", "Look."), &NOTHING), @"Look.");
}

#[test]
fn text_from_a_command_line_becomes_a_value_of_its_type() {
    let mut table = String::new();
    for (kind, text) in [
        ("string", " 5 "),
        ("integer", "5"),
        ("integer", "5.5"),
        ("integer", "five"),
        ("number", "1e3"),
        ("number", "0x10"),
        ("boolean", "Yes"),
        ("boolean", "maybe"),
        ("array", "a, b,,c"),
        ("array", "[1, \"x\"]"),
        ("array", "[1"),
        ("array", ""),
        ("object", "{\"a\": 1}"),
        ("object", "[1]"),
        ("json", "null"),
        ("json", "{a: 1}"),
        ("colour", "red"),
    ] {
        let value = match parse_input(text, kind) {
            Ok(value) => value.to_string(),
            Err(error) => format!("error: {error}"),
        };
        _ = writeln!(table, "{kind} {text:?} → {value}");
    }
    assert_snapshot!(table, @r#"
    string " 5 " → " 5 "
    integer "5" → 5
    integer "5.5" → error: `5.5` is not a whole number such as `5`
    integer "five" → error: `five` is not a whole number such as `5`
    number "1e3" → 1000.0
    number "0x10" → error: `0x10` is not a number such as `0.5`
    boolean "Yes" → true
    boolean "maybe" → error: `maybe` is not `true` or `false`
    array "a, b,,c" → ["a","b","c"]
    array "[1, \"x\"]" → [1,"x"]
    array "[1" → error: `[1` is not a JSON array such as `["a", "b"]`
    array "" → []
    object "{\"a\": 1}" → {"a":1}
    object "[1]" → error: `[1]` is not a JSON object such as `{"key": 1}`
    json "null" → null
    json "{a: 1}" → error: `{a: 1}` is not JSON
    colour "red" → "red"
    "#);
}

#[test]
fn a_tool_becomes_an_argv() {
    let text = fixture("gibberish/edge/GIB-3.4/interpolation/SKILL.md");
    let checked =
        check(&text, ReadOptions { dialect: dialect::by_id("gibberish"), ..ReadOptions::DETECT });
    let tool = checked.skill.tools.first().expect("the fixture has a tool");
    let argv = |values: Value| match render::command(tool, values.as_object().expect("an object")) {
        Ok(rendered) => prowess_format::command::join(&rendered.argv),
        Err(errors) => errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"),
    };
    assert_snapshot!(argv(json!({"query": "a b; rm", "word": true, "limit": 5, "paths": ["x", "y z"]})), @"rg --max-count=5 --max-depth 3 --word-regexp --color never -- 'a b; rm' x 'y z'");
    assert_snapshot!(argv(json!({"query": "a"})), @"rg --max-depth 3 --color never -- a");
    assert_snapshot!(argv(json!({"limit": "five", "dept": 1})), @"
    the required parameter `query` is missing
    the parameter `limit` is a string, expected integer
    no parameter is called `dept` (did you mean `depth`?)
    ");
}

#[test]
fn no_fixture_and_no_hostile_text_panics() {
    for path in prowess_testkit::files_below(&prowess_testkit::fixtures(), &|_| true) {
        let bytes = prowess_testkit::bytes(&path);
        let text = String::from_utf8_lossy(&bytes);
        _ = rendered(&text, &arguments("a 'b c' ü"));
    }
    for body in [
        "{{",
        "$",
        "!`",
        "```!",
        "\\$0",
        "``",
        "${CLAUDE_",
        "{baseDir",
        "ü$0ü\\$ARGUMENTS[",
        "\n```!\n\n",
    ] {
        let text = instructions("arguments: [a\\, ü, '']\n", &body.repeat(2000));
        _ = rendered(&text, &arguments("x y"));
    }
}

#[test]
fn a_value_repeated_without_end_is_refused() {
    let text = agent_flow(&"{{article}}".repeat(2000));
    let with = inputs(json!({"article": "x".repeat(64 << 10)}));
    assert_snapshot!(shown(&text, &with), @"error: the rendered prompt is larger than 64 MiB: give shorter values");
}
