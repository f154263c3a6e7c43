//! Agent manifests: AGENT.yaml and gaia-agent.yaml.

use std::fmt::Write as _;

use prowess_format::manifest::{self, AgentManifest, parse_size};
use serde_json::Value;

/// One line per finding, and what was read.
fn problems(text: &str) -> String {
    crate::shown(text, &manifest::check(text).diagnostics, false)
}

fn read(path: &str) -> AgentManifest {
    manifest::check(&prowess_testkit::fixture(path)).manifest
}

fn paths() -> Vec<String> {
    let root = prowess_testkit::fixtures().join("agent-manifest");
    let files = prowess_testkit::files_below(&root, &|name| manifest::FILE_NAMES.contains(&name));
    files.iter().map(|path| crate::relative(path, &prowess_testkit::fixtures())).collect()
}

// GAIA-9.1-1 GAIA-9.1-2 GAIA-9.3-1
#[test]
fn every_fixture_says_what_is_wrong_with_it() {
    let mut table = String::new();
    for path in paths() {
        let found = problems(&prowess_testkit::fixture(&path));
        let verdict = if found.is_empty() { "fine\n" } else { &found };
        let _ = write!(table, "{path}\n{verdict}");
        let invalid = path.contains("/invalid/");
        assert_eq!(found.contains(" error "), invalid, "{path}: {found}");
    }
    insta::assert_snapshot!(table, @"
    agent-manifest/9.1/gaia-agent/AGENT.yaml
    fine
    agent-manifest/9.3/notes-agent/gaia-agent.yaml
    fine
    agent-manifest/edge/GAIA-9.1-1/no-skills/AGENT.yaml
    fine
    agent-manifest/edge/GAIA-9.1-1/required-defaults/AGENT.yaml
    fine
    agent-manifest/edge/GAIA-9.1-1/skills-as-strings/AGENT.yaml
    fine
    agent-manifest/edge/GAIA-9.1-2/model-as-string/AGENT.yaml
    fine
    agent-manifest/invalid/GAIA-9.1-1/broken-yaml/AGENT.yaml
    1:19 error repaired-yaml a value with a special character must be quoted
    agent-manifest/invalid/GAIA-9.1-1/list-at-top/AGENT.yaml
    1:3 error front-matter-not-a-map the file is a list, not a map
    agent-manifest/invalid/GAIA-9.1-1/missing-agent-name/AGENT.yaml
    1:1 error missing-field `name` is missing
    agent-manifest/invalid/GAIA-9.1-1/range-unreadable/AGENT.yaml
    7:14 error invalid-range `>=v2` is not a version comparison (`skills[0].version`)
    agent-manifest/invalid/GAIA-9.1-1/required-is-text/AGENT.yaml
    8:15 error wrong-type `skills[0].required` is text, expected `true` or `false`
    agent-manifest/invalid/GAIA-9.1-1/skill-twice/AGENT.yaml
    9:11 error invalid-dependency `web-search` is listed twice
    agent-manifest/invalid/GAIA-9.1-1/skill-without-name/AGENT.yaml
    6:5 error missing-field `name` is missing in `skills[0]`
    agent-manifest/invalid/GAIA-9.1-1/skills-a-map/AGENT.yaml
    6:3 error wrong-type `skills` is a map, expected a list, each a dependency such as `name@>=1.0.0`, or a map
    agent-manifest/invalid/GAIA-9.1-2/context-unreadable/AGENT.yaml
    11:12 error wrong-format `big` is not a number followed by K, M, B or T (`model.context`)
    agent-manifest/invalid/GAIA-9.1-2/model-size-unreadable/AGENT.yaml
    11:12 error wrong-format `>=plenty` is not a number followed by K, M, B or T (`model.minimum`)
    agent-manifest/invalid/GAIA-9.3-1/inline-tool-without-name/AGENT.yaml
    11:5 error missing-field `name` is missing in `tools[0]`
    ");
}

// GAIA-9.1-1
#[test]
fn skills_have_names_ranges_and_needs() {
    let skills = |path: &str| -> Vec<String> {
        let skills = read(path).skills;
        skills
            .iter()
            .map(|skill| format!("{} {} {}", skill.name.value, skill.range, skill.required))
            .collect()
    };
    assert_eq!(
        skills("agent-manifest/9.1/gaia-agent/AGENT.yaml"),
        ["rag-search >=1.0.0 true", "web-search >=1.0.0 false", "file-operations >=1.0.0 true"]
    );
    // R17: the short form says the same.
    assert_eq!(
        skills("agent-manifest/edge/GAIA-9.1-1/skills-as-strings/AGENT.yaml"),
        ["web-search >=1.0.0 true", "file-operations  true"]
    );
    assert_eq!(
        skills("agent-manifest/edge/GAIA-9.1-1/required-defaults/AGENT.yaml"),
        ["web-search >=1.0.0 true"]
    );
}

// GAIA-9.1-2
#[test]
fn the_model_has_a_default_and_minimums() {
    let model = read("agent-manifest/9.1/gaia-agent/AGENT.yaml").model;
    let text = |text: Option<prowess_format::span::Spanned<String>>| text.map(|text| text.value);
    assert_eq!(text(model.default).as_deref(), Some("Qwen3.5-35B"));
    assert_eq!(text(model.minimum).as_deref(), Some(">=7B"));
    assert_eq!(text(model.context).as_deref(), Some(">=32K"));
    // R14: a text is the model's name.
    let alias = read("agent-manifest/edge/GAIA-9.1-2/model-as-string/AGENT.yaml").model;
    assert_eq!(text(alias.default).as_deref(), Some("Qwen3.5-35B"));
    assert_eq!(text(alias.minimum), None);
}

// GAIA-9.3-1
#[test]
fn inline_tools_stand_beside_skills() {
    let agent = read("agent-manifest/9.3/notes-agent/gaia-agent.yaml");
    let tools: Vec<String> = agent
        .tools
        .iter()
        .map(|tool| format!("{} {}", tool.name.value, tool.parameters.len()))
        .collect();
    assert_eq!(tools, ["file_note 3", "list_notebooks 0"]);
    assert_eq!(agent.skills.len(), 2);
}

#[test]
fn one_of_several_sets_of_skills_is_the_default() {
    let text = "name: desk\nskills: [notes]\nskill_sets:\n  office:\n    - mail@^1.0.0\n    - {name: calendar, version: \">=2.0.0\", required: false}\n  home: [music]\ndefault_set: office\nx-team: desk\n";
    let agent = manifest::check(text).manifest;
    assert_eq!(problems(text), "");
    let sets: Vec<String> = agent
        .skill_sets
        .iter()
        .map(|set| {
            format!(
                "{}: {:?}",
                set.name.value,
                set.skills.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>()
            )
        })
        .collect();
    assert_eq!(sets, ["office: [\"mail\", \"calendar\"]", "home: [\"music\"]"]);
    assert_eq!(agent.default_set.map(|set| set.value).as_deref(), Some("office"));
    assert_eq!(agent.extra, [("x-team".to_owned(), Value::from("desk"))]);
    insta::assert_snapshot!(problems("name: desk\nskill_sets: {office: [mail]}\ndefault_set: ofice\n"), @r"3:14 error not-a-choice there is no skill set `ofice`");
    insta::assert_snapshot!(problems("name: desk\nskill_sets: {office: [mail, mail]}\ndefault_skill_set: office\n"), @r"2:29 error invalid-dependency `mail` is listed twice");
    insta::assert_snapshot!(problems("name: desk\nskills: [mail]\nskill_sets: {office: [mail], home: []}\n"), @r"
    3:14 warning missing-field there are skill sets but no `default_set`
    3:23 error invalid-dependency `mail` is already under `skills:`, for every set
    3:30 error invalid-dependency the skill set `home` has no skills
    ");
    insta::assert_snapshot!(problems("name: desk\nskill_sets: [office]\n"), @r"2:13 error wrong-type `skill_sets` is a list, expected a map");
}

// GAIA-10.2-2
#[test]
fn a_range_that_cannot_be_read_is_never_any_version() {
    for range in [">=v2", "latest", "1.x", "^1.0.0 || ^2.0.0", ">="] {
        let text = format!("name: desk\nskills:\n  - {{name: notes, version: \"{range}\"}}\n");
        assert!(problems(&text).contains("error invalid-range"), "{range}: {}", problems(&text));
    }
}

#[test]
fn tools_of_one_name_are_an_error() {
    insta::assert_snapshot!(problems("name: desk\ntools:\n  - {name: a, description: A}\n  - {name: a, description: B}\n"), @r"4:12 error duplicate-tool the tool `a` is declared twice");
}

/// The schema accepts and rejects what the reader does, but for what no schema can say: names listed twice.
#[test]
fn the_schema_agrees_with_the_reader() {
    let schema = jsonschema::validator_for(&manifest::schema()).expect("the schema is one");
    for path in paths() {
        let text = prowess_testkit::fixture(&path);
        let mut findings = prowess_format::diagnostic::Findings::default();
        let document = prowess_format::document::Document::yaml(&text, &mut findings);
        if path.contains("broken-yaml")
            || path.contains("list-at-top")
            || path.contains("skill-twice")
        {
            continue;
        }
        let accepted = schema.is_valid(&document.root.to_json());
        assert_eq!(accepted, !problems(&text).contains(" error "), "{path}");
    }
}

#[test]
fn sizes_are_numbers_with_a_unit() {
    let sizes = [
        (">=7B", Ok(7_000_000_000)),
        ("7b", Ok(7_000_000_000)),
        (">= 1.5B", Ok(1_500_000_000)),
        (">=32K", Ok(32_000)),
        ("8192", Ok(8_192)),
        (">=0.5M", Ok(500_000)),
        ("1T", Ok(1_000_000_000_000)),
        (">=16GB", Ok(16_000_000_000)),
        ("1GiB", Ok(1 << 30)),
        ("0", Ok(0)),
        ("99999999999999999999", Err(())),
        ("99999999T", Err(())),
        (">=plenty", Err(())),
        ("big", Err(())),
        ("", Err(())),
        (">=", Err(())),
        ("-7B", Err(())),
        ("1.B", Err(())),
        ("7Q", Err(())),
        ("7 000", Err(())),
    ];
    for (text, expected) in sizes {
        assert_eq!(parse_size(text).map_err(|_| ()), expected, "{text}");
    }
    assert_eq!(
        parse_size("big").unwrap_err().to_string(),
        "`big` is not a number, optionally followed by `K`, `M` or `B`"
    );
}
