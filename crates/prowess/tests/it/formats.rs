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
