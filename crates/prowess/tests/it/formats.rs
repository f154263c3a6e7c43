//! The formats of findings.

use insta::assert_snapshot;
use serde_json::Value;

use crate::scene;

const TEXT: &str = "---\nname: hello\ndescription: \"50 % of: it, done\"\nuser-invocable: yes\nallowed-tols: Read\n---\n\nText\n";

#[test]
fn every_format_tells_the_same() {
    let scene = scene().file("skills/a,b/SKILL.md", TEXT);
    for format in ["full", "concise", "json", "sarif", "github"] {
        let output = scene.run(&format!("check skills --format {format} --dialect claude-code"));
        assert_snapshot!(format!("format_{format}"), output);
    }
}

#[test]
fn json_lists_clean_files_too() {
    let scene = scene().copy("examples/git-insights", "git-insights");
    assert_snapshot!(scene.run("check git-insights --format json"));
}

#[test]
fn sarif_has_what_readers_need() {
    let scene = scene().copy("fixtures/gaia", "gaia");
    let sarif: Value =
        serde_json::from_str(&scene.stdout("check gaia --format sarif")).expect("SARIF is JSON");
    let run = &sarif["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules are a list");
    let results = run["results"].as_array().expect("results are a list");
    assert!(!results.is_empty());
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().expect("an index")).expect("fits");
        assert_eq!(rules[index]["id"], result["ruleId"]);
        let region = &result["locations"][0]["physicalLocation"]["region"];
        assert!(
            region["startLine"].as_u64() >= Some(1) && region["startColumn"].as_u64() >= Some(1)
        );
    }
}

#[test]
fn verdicts_of_clients_are_findings_where_there_is_nothing_else() {
    let text = "---\nname: desk\n---\n\nKeep it.\n";
    let scene = scene().file("desk/SKILL.md", text);
    let arguments = "check desk --dialect claude-code --for claude-code,codex --format";
    assert_snapshot!(scene.run(&format!("{arguments} github")));
    let sarif: Value =
        serde_json::from_str(&scene.stdout(&format!("{arguments} sarif"))).expect("SARIF is JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("results are a list");
    let told: Vec<String> = results
        .iter()
        .map(|result| {
            format!("{} {} {}", result["level"], result["ruleId"], result["message"]["text"])
        })
        .collect();
    assert_snapshot!(told.join("\n"));
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn sarif_follows_the_official_schema() {
    let Some(schema) = std::env::var_os("PROWESS_SARIF_SCHEMA") else {
        eprintln!("SKIPPED: PROWESS_SARIF_SCHEMA is not set, `cargo xtask test` sets it");
        return;
    };
    let schema = prowess_testkit::bytes(std::path::Path::new(&schema));
    let mut schema: Value = serde_json::from_slice(&schema).expect("the schema is JSON");
    // One pattern has a bracket too many, which only some readers of regular expressions forgive. We write no `language`.
    for owner in ["run", "toolComponent"] {
        let language = &mut schema["definitions"][owner]["properties"]["language"];
        language.as_object_mut().expect("a map").remove("pattern").expect("a pattern");
    }
    assert!(schema["title"].as_str().is_some_and(|title| title.contains("2.1.0")), "{schema}");
    let options = jsonschema::options().should_validate_formats(true);
    let validator = options.build(&schema).expect("the schema compiles");
    let scene = scene()
        .copy("fixtures", "fixtures")
        .copy("examples", "examples")
        .file("odd name/100%, é/SKILL.md", TEXT);
    for arguments in [
        "check fixtures --all-spellings --for claude-code,codex,gemini,openclaw,agent-skills",
        "check fixtures --strict",
        "check examples",
        "check odd\u{a0}name",
    ] {
        let mut arguments: Vec<String> =
            arguments.split(' ').map(|word| word.replace('\u{a0}', " ")).collect();
        arguments.push("--format=sarif".to_owned());
        let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let output = scene.output(&words, "");
        let sarif: Value = serde_json::from_slice(&output.stdout).expect("SARIF is JSON");
        let errors: Vec<String> = validator
            .iter_errors(&sarif)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{arguments:?}: {}", errors.join("\n"));
    }
    // A schema that takes everything would prove nothing.
    assert!(!validator.is_valid(&serde_json::json!({ "version": "2.1.0", "runs": [{}] })));
}
