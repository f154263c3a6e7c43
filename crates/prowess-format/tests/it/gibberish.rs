//! gibb.eri.sh: tools as sections of the body (seed 000).

use insta::assert_snapshot;
use prowess_format::command::{self, RenderError};
use prowess_format::skill::{Skill, Tool};
use serde_json::{Value, json};

use crate::{problems, problems_as, problems_in, skill, skill_of, strict_problems_as};

/// A skill with one tool, and what stands in its front matter beyond the required fields.
fn with_fields(fields: &str) -> String {
    format!(
        "---\nname: git-status\nversion: 1.0.0\ndescription: Show the state\n{fields}---\n\n### show_state\n\nShow it.\n\n#### Parameters\n\nNone.\n\n#### Command\n\n```bash\ngit status\n```\n"
    )
}

/// A skill with this body.
fn with_body(body: &str) -> String {
    format!(
        "---\nname: git-status\nversion: 1.0.0\ndescription: Show the state\nmodes: [Dev]\n---\n\n{body}"
    )
}

/// A section with a parameter table and a command.
fn section(name: &str, rows: &str, command: &str) -> String {
    format!(
        "### {name}\n\nDo it.\n\n#### Parameters\n\n| Name | Type | Required | Description |\n|---|---|---|---|\n{rows}\n#### Command\n\n```bash\n{command}\n```\n"
    )
}

/// Each tool on a line: name, description, parameters, command.
fn tools(skill: &Skill) -> String {
    let line = |tool: &Tool| {
        let parameters = tool.parameters.iter().map(|parameter| {
            let required = if parameter.required { "!" } else { "" };
            let default =
                parameter.default.as_ref().map_or_else(String::new, |value| format!("={value}"));
            let description = parameter.description.as_deref().unwrap_or_default();
            format!(
                "{}{required}:{}{default} {description:?}",
                parameter.name.value, parameter.kind.value
            )
        });
        let parameters: Vec<String> = parameters.collect();
        let command = tool.command.as_ref().map_or("-", |command| command.as_str());
        format!(
            "{} | {} | {} | {command}",
            tool.name.value,
            tool.description,
            parameters.join(", ")
        )
    };
    skill.tools.iter().map(line).collect::<Vec<_>>().join("\n")
}

// GIB-1.1-1
#[test]
fn a_lone_skill_md_is_a_whole_skill() {
    assert_eq!(problems_in("git-status", &with_fields("modes: [Dev]\n")), "");
}

// GIB-1.2-1
#[test]
fn the_directory_has_the_name_of_the_skill() {
    assert_snapshot!(problems_in("status", &with_fields("modes: [Dev]\n")), @"2:7 error name-directory-mismatch the name is `git-status`, the directory is `status`");
}

// GIB-1.2-2 GIB-1.2-3 GIB-1.2-4
#[test]
fn names_are_judged_rule_by_rule() {
    let judge = |name: &str| problems(&with_fields("modes: [Dev]\n").replace("git-status", name));
    for name in ["git-status", "web-search", "my-tool-v2", "7zip", &"n".repeat(64)] {
        assert_eq!(judge(name), "", "{name}");
    }
    assert_snapshot!(judge("-git"), @"2:7 error invalid-name `name` is not a name of lower-case letters, digits and single hyphens: it starts with a hyphen");
    assert_snapshot!(judge("git-"), @"2:7 error invalid-name `name` is not a name of lower-case letters, digits and single hyphens: it ends with a hyphen");
    assert_snapshot!(judge("my--tool"), @"2:7 error invalid-name `name` is not a name of lower-case letters, digits and single hyphens: it contains two hyphens in a row");
    assert_snapshot!(judge("Git_Status"), @"2:7 error invalid-name `name` is not a name of lower-case letters, digits and single hyphens: it contains upper-case letters");
    assert_snapshot!(judge("git_status"), @"2:7 error invalid-name `name` is not a name of lower-case letters, digits and single hyphens: it contains `_`");
    assert_snapshot!(judge(&"n".repeat(65)), @"2:7 error invalid-name `name` is not a name of lower-case letters, digits and single hyphens: it has 65 characters, at most 64 are allowed");
}

// GIB-2.2-1 GIB-2.2-2 GIB-9.1-1
#[test]
fn each_required_field_is_named_when_it_is_missing_or_empty() {
    let text = with_fields("modes: [Dev]\n");
    for (field, line) in [
        ("name", "name: git-status\n"),
        ("version", "version: 1.0.0\n"),
        ("description", "description: Show the state\n"),
    ] {
        let missing = format!("1:1 error missing-field `{field}` is missing\n");
        assert_eq!(problems_as(&text.replace(line, ""), "gibberish"), missing);
        for empty in ["''", "\"  \"", "", "~"] {
            let found =
                problems_as(&text.replace(line, &format!("{field}: {empty}\n")), "gibberish");
            assert!(found.contains("error missing-field"), "{field}: {empty}: {found}");
            assert!(found.contains(&format!("`{field}` is empty")), "{found}");
        }
    }
}

// GIB-2.2-3
#[test]
fn the_version_is_semver() {
    let judge = |version: &str| problems(&with_fields("modes: [Dev]\n").replace("1.0.0", version));
    assert_eq!(judge("1.0.0-rc.1+build.5"), "");
    assert_snapshot!(judge("banana"), @"3:10 error invalid-version `version` is not a SemVer version such as `1.0.0`: unexpected character 'b' while parsing major version number");
    assert_snapshot!(judge("1.0"), @"3:10 error invalid-version `version` is not a SemVer version such as `1.0.0`: unexpected end of input while parsing minor version number");
    assert_snapshot!(judge("v1.0.0"), @"3:10 error invalid-version `version` is not a SemVer version such as `1.0.0`: unexpected character 'v' while parsing major version number");
}

// GIB-2.2-4
#[test]
fn absent_fields_have_the_defaults_of_the_specification() {
    let skill = skill_of("gibberish/edge/GIB-2.2-4/defaults-only/SKILL.md");
    assert_eq!(skill.authors, []);
    assert_eq!(skill.modes_or_default(), ["Global"]);
    assert_eq!(skill.timeout_secs_or_default(), 30);
    for flag in [&skill.read_only, &skill.always_ask, &skill.network] {
        assert!(!flag.as_ref().is_some_and(|flag| flag.value));
    }
    let schema = skill.dialect.schema();
    let defaults: Vec<Value> = ["modes", "read_only", "always_ask", "timeout", "network"]
        .map(|field| schema["properties"][field]["default"].clone())
        .to_vec();
    assert_eq!(json!(defaults), json!([["Global"], false, false, 30, false]));
}

// GIB-2.2-5
#[test]
fn the_timeout_lies_between_one_and_three_hundred_seconds() {
    let judge =
        |timeout: &str| problems(&with_fields(&format!("modes: [Dev]\ntimeout: {timeout}\n")));
    assert_eq!((judge("1"), judge("300")), (String::new(), String::new()));
    assert_eq!(skill(&with_fields("timeout: 300\n")).timeout_secs_or_default(), 300);
    assert_snapshot!(judge("0"), @"6:10 error invalid-timeout `timeout` is 0, expected 1 to 300");
    assert_snapshot!(judge("301"), @"6:10 error invalid-timeout `timeout` is 301, expected 1 to 300");
    assert_snapshot!(judge("30s"), @"6:10 error wrong-type `timeout` is text, expected a whole number from 1 to 300");
    assert_snapshot!(judge("1.5"), @"6:10 error wrong-type `timeout` is a number, expected a whole number from 1 to 300");
}

// GIB-2.2-6
#[test]
fn modes_are_four_words_and_two_older_ones() {
    let judge = |modes: &str| problems(&with_fields(&format!("modes: {modes}\n")));
    assert_eq!(judge("[Global, Dev, Meeting, Writer]"), "");
    assert_snapshot!(judge("[dev]"), @"5:9 error invalid-mode `modes[0]` is `dev`, expected `Global`, `Dev`, `Meeting` or `Writer`");
    assert_snapshot!(judge("[Party]"), @"5:9 error invalid-mode `modes[0]` is `Party`, expected `Global`, `Dev`, `Meeting` or `Writer`");
    assert_snapshot!(judge("[]"), @"5:8 error invalid-mode `modes` is empty, expected 1 to 4 entries");
    assert_snapshot!(judge("{Dev: true}"), @"5:8 error wrong-type `modes` is a map, expected a list, each `Global`, `Dev`, `Meeting` or `Writer`");
    assert_snapshot!(judge("[Coding, Dictation]"), @r"
    5:9 warning invalid-mode `Coding` is an old name for `Dev`
    5:17 warning invalid-mode `Dictation` is an old name for `Writer`
    ");
    assert_eq!(
        skill(&with_fields("modes: [Coding, Dictation]\n")).modes_or_default(),
        ["Dev", "Writer"]
    );
}

// GIB-2.2-7
#[test]
fn the_network_flag_is_shown_and_grants_nothing() {
    let skill = skill_of("gibberish/8.2/summarize/SKILL.md");
    assert_eq!(skill.network.as_ref().map(|flag| flag.value), Some(true));
    assert_eq!(skill.permissions, []);
}

// GIB-3.1-1 GIB-3.1-2
#[test]
fn each_h3_that_is_a_tool_name_is_a_tool_described_by_the_text_before_its_first_h4() {
    let skill = skill_of("gibberish/edge/GIB-3.1-1/two-tools-and-prose/SKILL.md");
    let names: Vec<&str> = skill.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    let described = skill_of("gibberish/edge/GIB-3.1-2/description-of-two-paragraphs/SKILL.md");
    assert_snapshot!(tools(&described), @r#"say_hello | Print a greeting over two lines. And a second paragraph. | who!:string "Who to greet" | echo hello {{who}}"#);
}

// GIB-3.1-3 GIB-3.1-4
#[test]
fn parameters_come_from_the_table() {
    assert_snapshot!(tools(&skill_of("gibberish/3.1-fragment/tool-block/SKILL.md")), @r#"tool_name | Brief description of what this tool does. | query!:string "The search query.", limit:integer=10 "Max results." | program arg1 arg2 {{query}} --limit={{limit}}"#);
    assert_snapshot!(tools(&skill_of("gibberish/edge/GIB-3.1-3/code-spans-in-table/SKILL.md")), @r#"say_hello | Print a greeting. | who!:string "Who to greet" | echo hello {{who}}"#);
    assert_snapshot!(tools(&skill_of("gibberish/edge/GIB-3.1-3/escaped-pipes/SKILL.md")), @r#"filter | Filter lines. | pattern!:string "A pattern such as a|b or one of x|y|z" | grep -E {{pattern}} notes.txt"#);
    assert_snapshot!(tools(&skill_of("gibberish/edge/GIB-3.1-3/table-without-outer-pipes/SKILL.md")), @r#"say_hello | Print a greeting. | who!:string "Who to greet" | echo hello {{who}}"#);
    assert_snapshot!(tools(&skill_of("gibberish/edge/GIB-3.1-4/required-in-capitals/SKILL.md")), @r#"say_hello | Print a greeting. | who!:string "Who to greet", mood:string "How to greet" | echo hello {{who}} {{mood}}"#);
    let reordered = "### go\n\nGo.\n\n#### Parameters\n\n| Required | Description | Name | Type |\n|-|-|-|-|\n| YES | Where | place | string |\n\n#### Command\n\n```sh\nwalk {{place}}\n```\n";
    assert_snapshot!(tools(&skill(&with_body(reordered))), @r#"go | Go. | place!:string "Where" | walk {{place}}"#);
}

// GIB-3.1-3 GIB-3.1-4 GIB-3.3-1
#[test]
fn rows_that_can_not_be_read_are_errors() {
    let judge = |rows: &str| problems(&with_body(&section("go", rows, "walk {{place}}")));
    assert_snapshot!(judge("| place | string | maybe | Where |\n"), @r#"16:3 error invalid-required `place` has `"maybe"` in the Required column, expected yes or no"#);
    assert_snapshot!(judge("| place | int | yes | Where |\n"), @"16:11 error invalid-parameter-type `int` is not a parameter type, expected `string`, `integer`, `number`, `boolean` or `array`");
    assert_snapshot!(judge("| place | string | yes | A |\n| place | string | yes | B |\n"), @"17:3 error duplicate-input `place` is declared twice");
    assert_snapshot!(judge(""), @"20:1 error undeclared-parameter `{{place}}` is not a parameter of `go`");
}

// GIB-3.1-5
#[test]
fn the_command_is_the_first_shell_block_below_its_heading() {
    let earlier = skill_of("gibberish/edge/GIB-3.1-5/earlier-bash-block/SKILL.md");
    assert_snapshot!(tools(&earlier), @r#"say_hello | Print a greeting. By hand it would be: | who!:string "Who to greet" | echo hello {{who}}"#);
    assert_snapshot!(tools(&skill_of("gibberish/edge/GIB-3.1-5/sh-block/SKILL.md")), @r#"say_hello | Print a greeting. | who!:string "Who to greet" | echo hello {{who}}"#);
    let two = "### go\n\nGo.\n\n#### Parameters\n\nNone.\n\n#### Command\n\n```python\nno()\n```\n\n```bash\n# a comment\none \\\n  two\n```\n\n```bash\nthree\n```\n";
    assert_snapshot!(tools(&skill(&with_body(two))), @"go | Go. |  | one  two");
    let none = "### go\n\nGo.\n\n#### Parameters\n\nNone.\n\n#### Command\n\nText.\n";
    assert_snapshot!(problems(&with_body(none)), @"8:1 error missing-command `go` has no command");
    assert_snapshot!(problems(&with_body(&section("go", "", "one\ntwo"))), @"20:1 warning multiple-commands 2 commands, of which only the first runs");
}

// GIB-3.1-6
#[test]
fn a_heading_in_a_code_fence_is_no_tool() {
    let skill = skill_of("gibberish/edge/GIB-3.1-6/heading-in-fence/SKILL.md");
    assert_eq!(skill.tools.len(), 1);
}

// GIB-3.1-7
#[test]
fn the_word_none_counts_only_below_parameters() {
    let none = skill_of("gibberish/edge/GIB-3.1-7/none-parameters/SKILL.md");
    assert_eq!((none.tools[0].parameters.len(), none.tools[0].parameters_declared), (0, true));
    let defaults = skill_of("gibberish/edge/GIB-3.1-7/defaults-to-none/SKILL.md");
    assert_eq!(defaults.tools[0].parameters.len(), 2);
}

// GIB-3.1-8
#[test]
fn crlf_changes_no_tool() {
    let unix = skill_of("gibberish/8.1/git/SKILL.md");
    let windows = skill_of("gibberish/edge/GIB-3.1-8/git/SKILL.md");
    assert_eq!(windows.tools, unix.tools);
    assert_eq!(windows.tools.iter().map(|tool| tool.parameters.len()).sum::<usize>(), 2);
}

// GIB-3.2-1
#[test]
fn tool_names_are_snake_case_of_at_most_32_characters() {
    let judge = |name: &str| {
        problems(&with_body(&section(name, "| place | string | yes | Where |\n", "walk {{place}}")))
    };
    assert_eq!(judge(&"t".repeat(32)), "");
    assert_snapshot!(judge("git-status"), @"8:1 error invalid-tool-name `git-status` is not a tool name: it contains `-`");
    assert_snapshot!(judge("GitStatus"), @"8:1 error invalid-tool-name `GitStatus` is not a tool name: it contains upper-case letters");
    assert_snapshot!(judge(&"t".repeat(33)), @"8:1 error invalid-tool-name `ttttttttttttttttttttttttttttttttt` is not a tool name: it has 33 characters, at most 32 are allowed");
    let text = with_body(&section("git-status", "", "git status"));
    let checked = prowess_format::check(&text, prowess_format::ReadOptions::DETECT);
    let help = checked.diagnostics.iter().find(|found| found.rule.name == "invalid-tool-name");
    assert_eq!(help.and_then(|found| found.help.as_deref()), Some("write `git_status`"));
}

// GIB-3.2-2 GIB-9.1-1
#[test]
fn two_tools_of_one_name_are_an_error() {
    let body = [section("go", "", "walk"), section("go", "", "run")].join("\n");
    assert_snapshot!(problems(&with_body(&body)), @"23:1 error duplicate-tool the tool `go` is defined twice");
}

// GIB-3.3-1
#[test]
fn parameter_types_are_json_schema_types() {
    let skill = skill_of("gibberish/edge/GIB-3.3-1/all-parameter-types/SKILL.md");
    let schema = skill.tools[0].arguments_schema();
    let kinds = schema["properties"].as_object().expect("a map");
    let kinds: Vec<String> =
        kinds.values().map(|schema| format!("{} {}", schema["type"], schema["items"])).collect();
    assert_snapshot!(kinds.join("\n"), @r#"
    "string" null
    "integer" null
    "number" null
    "boolean" null
    "array" {"type":"string"}
    "#);
    let values = json!({ "a": 1 });
    assert!(!jsonschema::is_valid(&schema, &values));
}

/// The argv of a command with values, or what stands in the way.
fn argv(rows: &str, command: &str, values: &Value) -> Result<Vec<String>, Vec<String>> {
    let skill = skill(&with_body(&section("go", rows, command)));
    let tool = &skill.tools[0];
    let template = command::parse(tool.command.as_ref().expect("a command")).expect("words");
    let values = values.as_object().expect("a map");
    command::render(&template, &tool.parameters, values)
        .map(|rendered| rendered.argv)
        .map_err(|errors| errors.iter().map(RenderError::to_string).collect())
}

const X: &str = "| x | string | no | X |\n";

// GIB-3.3-2
#[test]
fn a_value_of_another_type_is_refused_before_anything_runs() {
    let rows = "| n | integer | yes | N |\n| b | boolean | no | B |\n| l | array | no | L |\n";
    let with = |values: Value| argv(rows, "cmd {{n}} {{b:--b}} {{l}}", &values);
    assert_eq!(with(json!({ "n": 1 })).expect("fits"), ["cmd", "1"]);
    for wrong in [
        json!({ "n": "1" }),
        json!({ "n": 1.5 }),
        json!({ "n": 1, "b": "true" }),
        json!({ "n": 1, "l": "a" }),
        json!({ "n": 1, "l": [["a"]] }),
    ] {
        assert_eq!(with(wrong.clone()).expect_err("another type").len(), 1, "{wrong}");
    }
    assert_eq!(
        with(json!({ "n": 1, "m": 2 })),
        Err(vec!["no parameter is called `m`, expected `n`, `b` or `l`".to_owned()])
    );
}

// GIB-3.4-2 GIB-3.4-3 GIB-3.4-5 GIB-3.4-7 GIB-3.4-8 GIB-3.4-9
#[test]
fn placeholders_become_arguments() {
    let skill = skill_of("gibberish/edge/GIB-3.4/interpolation/SKILL.md");
    let tool = &skill.tools[0];
    let template = command::parse(tool.command.as_ref().expect("a command")).expect("words");
    let render = |values: Value| {
        let values = values.as_object().expect("a map");
        command::render(&template, &tool.parameters, values).expect("it renders").argv.join(" ")
    };
    assert_snapshot!(render(json!({ "query": "q" })), @"rg --max-depth 3 --color never -- q");
    assert_snapshot!(render(json!({ "query": "q", "limit": 5, "depth": 1, "word": true, "color": "always", "paths": ["a", "b"] })), @"rg --max-count=5 --max-depth 1 --word-regexp --color always -- q a b");
    assert_snapshot!(render(json!({ "query": "q", "word": false, "limit": null })), @"rg --max-depth 3 --color never -- q");
    let missing = command::render(&template, &tool.parameters, &serde_json::Map::new());
    assert_eq!(
        missing.expect_err("required")[0].to_string(),
        "the required parameter `query` is missing"
    );
}

// GIB-3.4-2 GIB-3.4-3
#[test]
fn an_omitted_value_takes_its_argument_and_its_option_along() {
    assert_eq!(argv(X, "cmd --limit={{x}} end", &json!({})), Ok(vec!["cmd".into(), "end".into()]));
    assert_eq!(argv(X, "cmd -n {{x}} end", &json!({})), Ok(vec!["cmd".into(), "end".into()]));
    assert_eq!(
        argv(X, "cmd a{{x}}b{{x}}c", &json!({ "x": "5" })),
        Ok(vec!["cmd".into(), "a5b5c".into()])
    );
}

// GIB-3.4-4
#[test]
fn a_value_is_one_argument_whatever_it_holds() {
    for value in
        ["; rm -rf /", "$(id)", "`id`", "two\nlines", "a b", "'", "\"", "{{x}}", "*", "-n", "ü😀"]
    {
        let values = json!({ "x": value });
        assert_eq!(argv(X, "cmd {{x}}", &values), Ok(vec!["cmd".into(), value.into()]));
        assert_eq!(argv(X, "cmd \"{{x}}\"", &values), Ok(vec!["cmd".into(), value.into()]));
    }
}

// GIB-3.4-6
#[test]
fn values_in_a_url_are_percent_encoded_behind_the_authority() {
    let rows = "| query | string | yes | Q |\n| limit | integer | no | N |\n";
    let command = "curl \"https://api.com/search?q={{query}}&n={{limit}}\"";
    let values = json!({ "query": "rust lang", "limit": 5 });
    assert_eq!(
        argv(rows, command, &values).expect("it renders")[1],
        "https://api.com/search?q=rust%20lang&n=5"
    );
    let plain = argv(X, "echo q={{x}}", &json!({ "x": "rust lang" })).expect("it renders");
    assert_eq!(plain[1], "q=rust lang");
}

// GIB-3.5-2 GIB-3.5-4
#[test]
fn a_command_is_split_into_words_as_posix_does() {
    let words = |command: &str| {
        let template = command::parse(command).expect("words");
        template.arguments.iter().map(command::TemplateArgument::to_template).collect::<Vec<_>>()
    };
    assert_eq!(
        words("git log -n {{count}} --oneline"),
        ["git", "log", "-n", "{{count}}", "--oneline"]
    );
    assert_eq!(
        words(r#"cmd "arg with 'nested'" 'and "this"'"#),
        ["cmd", "arg with 'nested'", r#"and "this""#]
    );
    assert_eq!(
        words(r#"cmd a\ b "c\"d" '\' "" e"f g"h"#),
        ["cmd", "a b", "c\"d", "\\", "", "ef gh"]
    );
    assert_snapshot!(problems(&with_body(&section("go", "", "echo \"open"))), @r#"20:1 error invalid-command the quote " is never closed"#);
    let rows = "| count | integer | yes | N |\n";
    assert_eq!(
        argv(rows, "git log -n {{count}} --oneline", &json!({ "count": 5 })).expect("it renders"),
        ["git", "log", "-n", "5", "--oneline"]
    );
}

// GIB-3.5-3
#[test]
fn shell_syntax_is_literal_and_warned_about_one_by_one() {
    let text = prowess_testkit::fixture("gibberish/edge/GIB-3.5-3/shell-features/SKILL.md");
    assert_snapshot!(problems(&text), @r"
    19:1 warning shell-syntax `|` is a pipe, but no shell is involved: the program gets it as an argument
    33:1 warning shell-syntax `>` is a redirect, but no shell is involved: the program gets it as an argument
    47:1 warning shell-syntax `&&` is a command chain, but no shell is involved: the program gets it as an argument
    61:1 warning shell-syntax `||` is a command chain, but no shell is involved: the program gets it as an argument
    75:1 warning shell-syntax `;` is a command chain, but no shell is involved: the program gets it as an argument
    89:1 warning shell-syntax `*.md` is a glob, but no shell is involved: the program gets it as an argument
    103:1 warning shell-syntax `$HOME` is a shell variable, but no shell is involved: the program gets it as an argument
    ");
    assert_eq!(
        argv("", "cat a | sort > $OUT", &json!({})).expect("it renders"),
        ["cat", "a", "|", "sort", ">", "$OUT"]
    );
}

// GIB-8-1
#[test]
fn the_examples_of_the_specification_have_three_one_and_one_tools() {
    assert_snapshot!(tools(&skill_of("gibberish/8.1/git/SKILL.md")), @r#"
    git_status | Show the current git status with short format. |  | git status --short --branch
    git_log | Show recent commit history. | count:integer=10 "Number of commits" | git log --oneline -n {{count}}
    git_diff | Show uncommitted changes. | staged:boolean "Show only staged changes" | git diff {{staged:--staged}}
    "#);
    assert_snapshot!(tools(&skill_of("gibberish/8.2/summarize/SKILL.md")), @r#"summarize_url | Fetch and summarize a webpage. | url!:string "The URL to summarize" | npx @anthropic-ai/summarize {{url}}"#);
    assert_snapshot!(tools(&skill_of("gibberish/8.3/deploy/SKILL.md")), @r#"deploy_preview | Deploy a preview build to Vercel. | message:string "Deployment message" | ./scripts/deploy.sh preview {{message}}"#);
}

// GIB-9.1-1
#[test]
fn no_tool_and_unreadable_yaml_are_errors() {
    assert_snapshot!(problems(&with_body("Only text.\n")), @"7:1 error no-tools no tool is defined");
    let text = with_fields("").replace(
        "name: git-status\nversion: 1.0.0\ndescription: Show the state",
        "[{name: a, b: [",
    );
    assert_snapshot!(problems(&text), @"2:15 error invalid-yaml unclosed bracket '['");
    assert_snapshot!(strict_problems_as(&with_fields("author: [a\n"), "gibberish"), @r"
    5:9 error wrong-type `author` is a list, expected text
    5:11 error repaired-yaml a bracket is never closed
    ");
}

// GIB-9.2-1
#[test]
fn unknown_fields_missing_parameters_and_long_descriptions_are_warnings() {
    assert_snapshot!(problems(&with_fields("modes: [Dev]\ncolour: red\n")), @"6:1 warning unknown-field `colour` is not a field of gibb.eri.sh");
    let without = with_fields("modes: [Dev]\n").replace("#### Parameters\n\nNone.\n\n", "");
    assert_snapshot!(problems(&without), @"8:1 warning missing-parameters-section `show_state` has no parameters section");
    let long = with_fields("modes: [Dev]\n").replace("Show the state", &"ü".repeat(300));
    assert_snapshot!(problems(&long), @"4:14 warning description-over-limit the description has 300 characters, gibb.eri.sh allows at most 256");
    let fits = with_fields("modes: [Dev]\n").replace("Show the state", &"ü".repeat(256));
    assert_eq!(problems(&fits), "");
}

#[test]
fn a_value_that_looks_like_an_option_is_flagged_where_a_program_may_take_it_for_one() {
    // NEG-12
    let flagged = |template: &str, value: &str| {
        let template = prowess_format::command::parse(template).expect("a command");
        let name = prowess_format::span::Spanned::new(
            "x".to_owned(),
            prowess_format::span::Span::default(),
        );
        let kind = prowess_format::span::Spanned::new(
            "string".to_owned(),
            prowess_format::span::Span::default(),
        );
        let parameter = prowess_format::skill::Parameter { name, kind, ..Default::default() };
        let values = serde_json::json!({ "x": value });
        let values = values.as_object().expect("a map");
        let rendered = prowess_format::command::render(&template, &[parameter], values);
        rendered.expect("an argv").option_like
    };
    assert_eq!(flagged("ls {{x}}", "--help"), [("x".to_owned(), "--help".to_owned())]);
    assert_eq!(flagged("ls {{x}}", "folder"), []);
    assert_eq!(flagged("ls -- {{x}}", "--help"), [], "guarded by the author");
    assert_eq!(flagged("git log -n {{x}}", "-5"), [], "the value of an option");
    assert_eq!(flagged("ls {{x}}", "-"), [], "standard input by convention");
}
