//! skillrt: typed procedures, and prose with and without a name (seed 003).

use insta::assert_snapshot;
use prowess_format::document::FrontMatter;
use prowess_format::skill::SkillKind;
use prowess_format::{ReadOptions, check};

use crate::{Fixture, problems, problems_as, skill, skill_as, skill_of, strict_problems_as};

/// A structured skill with these lines in its front matter.
fn with(fields: &str) -> String {
    format!(
        "---\nname: where\nversion: 0.1.0\ndescription: Say where a file lives\nruntime:\n  type: markdown-skill\n{fields}---\n\n# Where\n"
    )
}

// SRT-3.1-1
#[test]
fn a_file_without_front_matter_is_prose_and_valid() {
    for text in ["", "Just text", "# Trains\n\nAsk the board.\n", "a\n---\nb: c\n---\n"] {
        let checked = check(text, ReadOptions::DETECT);
        assert_eq!(checked.document.front_matter, FrontMatter::Absent, "{text:?}");
        assert_eq!((checked.skill.dialect.id, checked.skill.kind), ("prose", SkillKind::Prose));
        assert_eq!(checked.skill.body, text);
        assert!(checked.is_skill());
        assert_eq!(strict_problems_as(text, "skillrt"), "");
        assert_eq!(strict_problems_as(text, "prose"), "");
        // It is valid here, but the clients that drop it are named.
        assert_eq!(crate::codes(&checked.diagnostics), ["missing-front-matter"], "{text:?}");
    }
}

// SRT-4.1-1
#[test]
fn a_structured_skill_needs_a_name_a_version_and_a_description() {
    let text = with("");
    assert_eq!(strict_problems_as(&text, "skillrt"), "");
    assert_snapshot!(strict_problems_as(&text.replace("name: where\n", ""), "skillrt"), @"1:1 error name-from-directory the skill has no name and is not in a directory");
    assert_snapshot!(strict_problems_as(&text.replace("version: 0.1.0\n", ""), "skillrt"), @"1:1 error missing-field `version` is missing");
    assert_snapshot!(problems(&text.replace("description: Say where a file lives\n", "")), @"1:1 error missing-field `description` is missing");
    let version = |version: &str| problems(&text.replace("0.1.0", version));
    assert_eq!(version("1.0.0-rc.1+build.5"), "");
    for wrong in ["1.0", "v1.0.0", "01.0.0", "1.0.0.0", "latest"] {
        let found = version(wrong);
        assert!(found.starts_with("3:10 error invalid-version"), "{wrong}: {found}");
    }
}

// SRT-4.1-2
#[test]
fn a_description_over_120_characters_is_a_recommendation() {
    let long = |length: usize| with("").replace("Say where a file lives", &"d".repeat(length));
    assert_eq!(problems(&long(120)), "");
    assert_snapshot!(strict_problems_as(&long(121), "skillrt"), @"4:14 warning description-over-limit the description has 121 characters, skillrt allows at most 120");
}

// SRT-4.2-1
#[test]
fn optional_fields_have_the_defaults_of_the_specification() {
    let skill = skill(&with(""));
    assert_eq!(skill.authors, []);
    // What `prowess schema skillrt` prints.
    let schema = skill.dialect.schema();
    let default = |field: &str| schema["properties"][field]["default"].clone();
    assert_eq!(default("license"), "UNLICENSED");
    for field in ["authors", "inputs", "tags"] {
        assert_eq!(default(field), serde_json::json!([]), "{field}");
    }
    assert_eq!(skill.inputs, []);
    assert_eq!(skill.outputs, None);
    assert_eq!(skill.tags, []);
}

// SRT-4.2-2
#[test]
fn unknown_fields_survive_reading_and_writing_in_order() {
    let skill = skill_of("skillrt/edge/SRT-4.2-2/unknown-fields/SKILL.md");
    let keys: Vec<&str> = skill.extra.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!(keys, ["zebra", "x-vendor", "alpha"]);
    let written = (skill.dialect.write)(&skill).text;
    assert_eq!(skill_as(&written, "skillrt").extra, skill.extra);
}

// SRT-4.2-3
#[test]
fn a_strict_extension_that_nobody_knows_is_an_error() {
    assert_snapshot!(problems(&with("\"x-runtime-strict:sandbox\": true\n")), @"7:1 error strict-extension `x-runtime-strict:sandbox` is required but not supported");
    assert_snapshot!(problems(&with("x-runtime-strict:sandbox: true\n")), @"7:1 error strict-extension `x-runtime-strict:sandbox` is required but not supported");
    assert_snapshot!(problems(&with("x-runtime-strict: true\n")), @"7:1 error strict-extension `x-runtime-strict` is required but not supported");
    assert_eq!(problems(&with("x-runtime-strictness: true\n")), "");
}

// SRT-4.3-1
#[test]
fn the_runtime_is_markdown_skill_unless_another_known_one_is_named() {
    let runtime = |kind: &str| with("").replace("markdown-skill", kind);
    for kind in ["markdown-skill", "anthropic-skill", "mcp-tool"] {
        assert_eq!(problems(&runtime(kind)), "", "{kind}");
        assert_eq!(skill(&runtime(kind)).runtime_or_default(), kind);
    }
    let absent = with("").replace("runtime:\n  type: markdown-skill\n", "outputs: {type: text}\n");
    assert_eq!(skill(&absent).runtime_or_default(), "markdown-skill");
    assert_snapshot!(problems(&runtime("other")), @"6:9 warning unknown-runtime there is no runtime `other`");
}

#[test]
fn a_newer_runtime_is_pointed_out() {
    let text = |version: &str| {
        with("").replace("  type: markdown-skill\n", &format!("  min-version: {version}\n"))
    };
    assert_eq!(problems(&text("0.1.0")), "");
    assert_snapshot!(problems(&text("9.0.0")), @"6:16 warning runtime-too-new the skill requires runtime version 9.0.0, but only 0.1.0 is supported");
    assert_snapshot!(problems(&text("soon")), @"6:16 error invalid-version `runtime.min-version` is not a SemVer version such as `1.0.0`: unexpected character 's' while parsing major version number");
}

// SRT-4.4-2
#[test]
fn input_types_are_six_words() {
    let input =
        |kind: &str| problems(&with(&format!("inputs:\n  - name: path\n    type: {kind}\n")));
    for kind in ["string", "number", "boolean", "file", "url", "json"] {
        assert_eq!(input(kind), "", "{kind}");
    }
    assert_snapshot!(input("integer"), @"9:11 error unknown-input-type `inputs[0].type` is `integer`, expected `string`, `number`, `boolean`, `file`, `url` or `json`");
    assert_snapshot!(problems(&with("inputs:\n  - type: string\n")), @"8:5 error missing-field `name` is missing in `inputs[0]`");
    assert_snapshot!(problems(&with("inputs:\n  - {name: n, type: number, default: ten}\n")), @"8:12 error wrong-default the default of `n` is a string, expected number");
}

#[test]
fn outputs_are_checked() {
    assert_eq!(problems(&with("outputs: {type: json, schema: {type: object}}\n")), "");
    assert_snapshot!(problems(&with("outputs: {type: xml}\n")), @"7:17 error not-a-choice `outputs.type` is `xml`, expected `text`, `json` or `file`");
    assert_snapshot!(problems(&with("outputs: {type: json, schema: nothing}\n")), @"7:31 error invalid-output-schema `outputs.schema` is not a JSON Schema: it is text");
    assert_snapshot!(problems(&with("outputs: {type: json, schema: {type: thing}}\n")), @"7:31 error invalid-output-schema `outputs.schema` is not a JSON Schema: `type: thing` is not a JSON type");
}

// SRT-4.6-2
#[test]
fn skill_dependencies_are_names_with_ranges() {
    let skill = skill_of("skillrt/edge/SRT-4.6-2/skill-ranges/SKILL.md");
    let shown: Vec<String> = skill
        .requirements
        .skills
        .iter()
        .map(|skill| format!("{}|{}", skill.name.value, skill.range))
        .collect();
    assert_eq!(shown, ["git-tools|^1.0.0", "acme/lint|>=2.1.0, <3.0.0", "plain|"]);
    let programs: Vec<&str> =
        skill.requirements.programs.iter().map(|text| text.as_str()).collect();
    assert_eq!(programs, ["git", "gh"]);
    assert_eq!(skill.requirements.mcp_servers[0].as_str(), "github");
    let judge = |entry: &str| problems(&with(&format!("dependencies:\n  skills: [\"{entry}\"]\n")));
    assert_eq!(judge("@acme/lint@~1.2"), "");
    assert_snapshot!(judge("lint@>=v2"), @"8:12 error invalid-dependency `>=v2` is not a version comparison (`dependencies.skills[0]`)");
    assert_snapshot!(judge("lint@"), @"8:12 error invalid-dependency `` is not a version comparison (`dependencies.skills[0]`)");
    assert_snapshot!(judge("Not A Name"), @"8:12 error invalid-dependency `Not A Name` is not a skill name (`dependencies.skills[0]`)");
    assert_snapshot!(problems(&with("dependencies: [git]\n")), @"7:15 error wrong-type `dependencies` is a list, expected a map");
}

#[test]
fn permissions_are_hosts_globs_and_variables() {
    let grants = |fields: &str| {
        let skill = skill(&with(fields));
        skill.permissions.iter().map(|grant| grant.to_string()).collect::<Vec<_>>()
    };
    let fields =
        "permissions:\n  network: [api.example.com]\n  filesystem: ['./**']\n  env: [TOKEN]\n";
    assert_eq!(
        grants(fields),
        [
            "network:write:api.example.com",
            "filesystem:read:./**",
            "filesystem:write:./**",
            "env:read:TOKEN"
        ]
    );
    assert_eq!(grants("permissions:\n  network: ['*']\n"), ["network:write"]);
    assert_eq!(grants("permissions:\n  network: []\n"), Vec::<String>::new());
    assert_snapshot!(problems(&with("permissions:\n  network: true\n")), @"8:12 error wrong-type `permissions.network` is a boolean, expected a list of strings");
    assert_snapshot!(problems(&with("permissions:\n  env: [A=B]\n")), @"8:9 error wrong-format `permissions.env[0]` is not the name of an environment variable: it contains `=`");
}

#[test]
fn placeholders_may_hold_blanks_and_must_be_declared() {
    let body = |placeholder: &str| {
        problems(&with("inputs:\n  - {name: path, type: file}\n").replace("# Where", placeholder))
    };
    assert_eq!(body("{{ path }} {{path}}"), "");
    assert_snapshot!(body("{{ nope }}"), @"11:1 error undeclared-placeholder undeclared placeholders: `nope`");
}

// SRT-3.2-1 SRT-6-1 SRT-6-2
#[test]
fn the_mode_is_decided_by_the_first_line_behind_a_bom_and_blanks() {
    let text = with("");
    for start in ["", "\u{feff}", "\n\n", "\u{feff}\r\n"] {
        let skill = skill(&format!("{start}{text}"));
        assert_eq!((skill.dialect.id, skill.name_text()), ("skillrt", Some("where")), "{start:?}");
    }
    assert_eq!(skill(&format!("Text\n{text}")).kind, SkillKind::Prose);
    let crlf = text.replace('\n', "\r\n");
    assert_eq!(skill(&crlf).name_text(), Some("where"));
    assert_eq!(problems(&crlf), "");
}

// SRT-7.1-1
#[test]
fn the_prose_example_is_kept_byte_for_byte() {
    let fixture = Fixture::open("skillrt/appendix-a/prose-uk-train-times.md");
    fixture.check(None, |text, checked| {
        assert_eq!((checked.skill.dialect.id, checked.skill.kind), ("prose", SkillKind::Prose));
        assert_eq!(checked.skill.body, text);
        assert_eq!((checked.skill.dialect.write)(&checked.skill).text, text);
        assert_eq!(crate::codes(&checked.diagnostics), ["missing-front-matter"]);
        assert_eq!(strict_problems_as(text, "skillrt"), "");
    });
}

// SRT-7.2-1
#[test]
fn a_claude_code_skill_with_a_name_and_a_description_is_structured() {
    let text = "---\nname: where\ndescription: Say where a file lives\n---\n\n# Where\n";
    let skill = skill_as(text, "skillrt");
    assert_eq!((skill.kind, skill.version_or_default()), (SkillKind::Instructions, "0.0.0"));
    assert_snapshot!(problems_as(text, "skillrt"), @"1:1 warning missing-field `version` is missing");
}

// SRT-7.2-2
#[test]
fn allowed_tools_are_the_programs_that_are_needed() {
    let skill = skill_as(
        "---\nname: where\ndescription: Say\nallowed-tools: Bash(git:*) Read\n---\n\n# Where\n",
        "skillrt",
    );
    let programs: Vec<&str> =
        skill.requirements.programs.iter().map(|text| text.as_str()).collect();
    assert_eq!(programs, ["Bash(git:*)", "Read"]);
}

// SRT-B1-1
#[test]
fn a_name_and_a_version_alone_are_prose_with_identity() {
    let text = "---\nname: trains\nversion: 0.1.0\n---\n\nAsk the board.\n";
    let skill = skill(text);
    assert_eq!((skill.dialect.id, skill.kind), ("skillrt", SkillKind::Prose));
    assert_eq!((skill.name_text(), skill.version_or_default()), (Some("trains"), "0.1.0"));
    assert_eq!(problems(text), "");
    assert_snapshot!(problems_as("---\nname: trains\nversion: 0.1.0\ntags: [a]\n---\n\nAsk.\n", "skillrt"), @"1:1 error missing-field `description` is missing");
}

#[test]
fn the_structured_example_is_read_with_every_field() {
    let skill = skill_of("skillrt/appendix-a/structured-pr-review.md");
    assert_eq!((skill.dialect.id, skill.kind), ("skillrt", SkillKind::Prompt));
    assert_eq!(skill.inputs.len(), 2);
    assert_eq!(skill.inputs[1].default, Some(serde_json::json!(10)));
    assert!(skill.outputs.is_some_and(|outputs| outputs.schema.is_some()));
    assert_eq!(skill.extra, []);
}
