//! Tool packs: one tool in one JSON file.

use insta::assert_snapshot;
use prowess_format::document::Form;
use prowess_format::form_of;
use prowess_format::skill::SkillKind;
use prowess_format::tool_output::OutputShape;
use serde_json::json;

use crate::{pack_problems, skill_of};

/// A pack with further members.
fn with(members: &str) -> String {
    format!(
        "{{\"name\": \"say_word\", \"description\": \"Print a word.\", \"command\": {{\"program\": \"echo\", \"args\": [\"word\"]}}{members}}}"
    )
}

// TP-1
#[test]
fn a_pack_is_a_skill_of_one_tool_whatever_its_file_is_called() {
    for path in [
        "tool-pack/minimal/minimal.tool.json",
        "tool-pack/directory-form/toolpack.json",
        "tool-pack/file-name-differs/anything.tool.json",
    ] {
        assert_eq!(form_of(path), Form::Json);
        let skill = skill_of(path);
        assert_eq!(
            (skill.dialect.id, skill.kind, skill.tools.len()),
            ("tool-pack", SkillKind::Tools, 1)
        );
    }
    let skill = skill_of("tool-pack/page_outline/page_outline.tool.json");
    assert_eq!(skill.name_text(), Some("page-outline"));
    assert_eq!(skill.tools[0].name.as_str(), "page_outline");
    assert_snapshot!(skill.tools[0].command.as_ref().expect("a command").as_str(), @"page-outline {{url}} --depth={{depth}} --style {{style:plain}} {{numbered:--numbered}}");
}

// TP-2
#[test]
fn the_policy_has_defaults() {
    let minimal = skill_of("tool-pack/minimal/minimal.tool.json");
    assert_eq!(minimal.read_only.as_ref().map(|flag| flag.value), Some(true));
    assert!(minimal.network.is_none() && minimal.always_ask.is_none());
    assert_eq!(minimal.timeout_secs_or_default(), 30);
    let schema = minimal.dialect.schema();
    let policy = &schema["properties"]["policy"]["properties"];
    let defaults: Vec<_> = [
        "read_only",
        "requires_network",
        "timeout_secs",
        "confirm_before_run",
        "allowed_exit_codes",
    ]
    .map(|key| policy[key]["default"].clone())
    .to_vec();
    assert_eq!(json!(defaults), json!([true, false, 30, false, [0]]));
    let set = skill_of("tool-pack/page_outline/page_outline.tool.json");
    assert_eq!(
        (set.timeout_secs_or_default(), set.network.map(|flag| flag.value)),
        (60, Some(true))
    );
    assert_snapshot!(pack_problems(&with(", \"policy\": {\"timeout_secs\": 0}")), @"1:131 error invalid-timeout `policy.timeout_secs` is 0, expected 1 to 300");
    assert_snapshot!(pack_problems(&with(", \"policy\": {\"timeout_secs\": \"30\"}")), @"1:131 error wrong-type `policy.timeout_secs` is text, expected a whole number from 1 to 300");
    assert_snapshot!(pack_problems(&with(", \"policy\": {\"allowed_exit_codes\": [\"0\"]}")), @"1:138 error wrong-type `policy.allowed_exit_codes[0]` is text, expected a whole number from -1 to 255");
}

// TP-3
#[test]
fn the_source_of_a_parameter_is_kept() {
    let skill = skill_of("tool-pack/every-source/every_source.tool.json");
    let sources: Vec<_> = skill.tools[0]
        .parameters
        .iter()
        .map(|parameter| parameter.source.as_deref().unwrap_or("-"))
        .collect();
    let all = [
        "context.url",
        "context.selection",
        "context.clipboard",
        "context.file",
        "transcript",
        "literal",
    ];
    assert!(all.iter().all(|source| sources.contains(source)), "{sources:?}");
    let written = (skill.dialect.write)(&skill).text;
    let again = prowess_format::check(
        &written,
        prowess_format::ReadOptions { form: Form::Json, ..prowess_format::ReadOptions::DETECT },
    )
    .skill;
    assert_eq!(again.tools, skill.tools);
    let parameter =
        |body: &str| pack_problems(&with(&format!(", \"parameters\": {{\"x\": {body}}}")));
    assert_snapshot!(parameter("{\"type\": \"string\", \"source\": \"context.weather\"}"), @r"
    1:119 info unused-parameter the command of `say_word` does not use `x`
    1:153 warning not-a-choice `parameters.x.source` is `context.weather`, expected `context.url`, `context.selection`, `context.clipboard`, `context.file`, `transcript` or `literal`
    ");
    assert_snapshot!(parameter("{\"type\": \"date\"}"), @r"
    1:119 info unused-parameter the command of `say_word` does not use `x`
    1:133 error invalid-parameter-type `parameters.x.type` is `date`, expected `string`, `integer`, `number`, `boolean` or `array`
    ");
    assert_snapshot!(parameter("{}"), @r"
    1:119 info unused-parameter the command of `say_word` does not use `x`
    1:124 error missing-field `type` is missing in `parameters.x`
    ");
    assert_snapshot!(parameter("{\"type\": \"string\", \"enum\": [\"a\"], \"default\": \"b\"}"), @r"
    1:119 info unused-parameter the command of `say_word` does not use `x`
    1:119 warning wrong-default the default of `x` is not among the values of `enum`
    ");
}

#[test]
fn output_settings_are_kept_and_checked() {
    let skill = skill_of("tool-pack/page_outline/page_outline.tool.json");
    let output =
        skill.tools[0].extra.iter().find(|(key, _)| key == "output").map(|(_, value)| value);
    assert_eq!(
        output,
        Some(
            &json!({ "format": "json", "speak": true, "max_chars": 500, "extract_field": "outline", "template": "The page covers: {{output}}" })
        )
    );
    assert_snapshot!(pack_problems(&with(", \"output\": {\"format\": \"xml\"}")), @"1:125 error not-a-choice `output.format` is `xml`, expected `text`, `json` or `markdown`");
    assert_snapshot!(pack_problems(&with(", \"output\": {\"max_chars\": -1}")), @"1:128 error out-of-range `output.max_chars` is -1, expected at least 0");
}

#[test]
fn json_mistakes_have_a_place() {
    assert_snapshot!(pack_problems("{\n  \"name\": \"x\",\n}\n"), @"3:1 error invalid-json trailing comma");
    assert_snapshot!(pack_problems(""), @"1:1 error invalid-json the text ends where a value is expected");
    assert_snapshot!(pack_problems("[1]"), @"1:1 error front-matter-not-a-map the file is a list, not a map");
    assert_snapshot!(pack_problems(&with(", \"name\": \"again\"")), @"1:104 error duplicate-key `name` is given twice");
    assert_snapshot!(pack_problems("{\"name\": \"say-word\", \"description\": 5, \"command\": {\"program\": \"\", \"args\": [1]}}"), @r"
    1:10 error invalid-tool-name `name` is not a tool name of letters, digits and underscores: it contains `-`
    1:37 error wrong-type `description` is a number, expected text of at most 1024 characters
    1:52 error missing-field `program` is empty in `command`
    1:76 error wrong-type `command.args[0]` is a number, expected text
    ");
    assert_snapshot!(pack_problems(&with(", \"modes\": [\"Party\", \"coding\"], \"author\": \"x\"")), @r"
    1:114 warning invalid-mode `Party` is not a mode, expected `Global`, `Dev`, `Meeting` or `Writer`
    1:134 warning unknown-field `author` is not a field of gibb.eri.sh tool pack
    ");
    assert_snapshot!(pack_problems(&with("").replace("\"word\"", "\"{{x}}\"")), @"1:77 error undeclared-parameter `{{x}}` is not a parameter of `say_word`");
    // A surrogate pair is JSON, whatever a YAML reader thinks.
    assert_eq!(pack_problems(&with("").replace("Print", "\\ud83d\\ude00")), "");
}

#[test]
fn the_output_block_shapes_the_result() {
    let shape = |printed: &str, output: serde_json::Value| {
        let shaped = OutputShape::of(Some(&output)).apply(printed);
        format!("{} {}", shaped.left_out, shaped.text)
    };
    let json = "{\"title\": \"Rust\", \"count\": 2}\n";
    assert_eq!(shape("plain\n", json!({})), "0 plain");
    assert_eq!(shape(json, json!({ "format": "json" })), r#"0 {"title":"Rust","count":2}"#);
    let title = json!({ "format": "json", "extract_field": "title" });
    assert_eq!(shape(json, title.clone()), "0 Rust");
    assert_eq!(shape("no json", title), "0 no json", "nothing is lost");
    let absent = json!({ "format": "json", "extract_field": "absent" });
    assert_eq!(shape(json, absent), format!("0 {}", json.trim_end()));
    let framed = json!({ "format": "json", "extract_field": "count", "template": "<{{output}}>" });
    assert_eq!(shape(json, framed), "0 <2>");
    let short = json!({ "max_chars": 3 });
    assert_eq!(shape("äöüß", short.clone()), "2 äöü...", "characters, not bytes");
    assert_eq!(shape("äöü", short), "0 äöü");
    let long = "x".repeat(1_001);
    assert_eq!(
        OutputShape::of(None).apply(&long).text,
        format!("{}...", "x".repeat(1_000)),
        "the default"
    );
}

#[test]
fn a_template_can_not_fill_the_memory() {
    let template = "{{output}}".repeat(10_000);
    let shape = OutputShape::of(Some(&json!({ "template": template, "max_chars": i64::MAX })));
    let shaped = shape.apply(&"é".repeat(1 << 20));
    assert_eq!(shaped.text.len(), (4 << 20) + "...".len());
    assert_eq!(shaped.left_out, 10_000 * (2 << 20) - (4 << 20));
}
