use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use insta::assert_snapshot;
use prowess_core::{Problem, ProblemKind, Remedy};
use prowess_format::span::LineIndex;
use prowess_format::{ReadOptions, check as check_skill};
use prowess_policy::{Origin, Tier, Trust};

use super::*;
use crate::loaded::LoadedSkill;

/// Skills without files.
struct Texts;

const SUMMARY: &str = "---\nname: article-summary\ndescription: Summarise.\ninputs:\n  - name: style\n    default: short\n  - name: article\n    required: true\nmodel:\n  temperature: 0.3\n---\n\nIn a {{style}} tone: {{article}}\n";
const TWO: &str = "---\nname: two\ndescription: Two.\ninputs:\n  - name: left\n    required: true\n  - name: right\n    required: true\n---\n\n{{left}} {{right}}\n";

impl SkillResolver for Texts {
    fn resolve(&self, name: &str) -> Result<Arc<LoadedSkill>, Problem> {
        let text = match name {
            "article-summary" => SUMMARY,
            "two" => TWO,
            _ => {
                let message = format!("there is no skill `{name}`");
                return Err(Problem::new("skill-not-found", ProblemKind::NotFound, message)
                    .remedy(Remedy::NameSkillsFolder));
            }
        };
        let skill = check_skill(text, ReadOptions::DETECT).skill;
        let directory = PathBuf::from("/nowhere");
        Ok(Arc::new(LoadedSkill {
            trust: Trust::of(&skill, Tier::Experimental, None, Origin::Local),
            skill,
            name: name.to_owned(),
            file: directory.join("SKILL.md"),
            directory: Some(directory),
            diagnostics: Vec::new(),
            digest: None,
        }))
    }
}

fn checked(text: &str) -> (Option<Workflow>, Vec<Diagnostic>) {
    check(text, CheckContext { skills: &Texts, bases: Some(&["handbook".to_owned()]) })
}

fn problems(text: &str) -> String {
    let (_, findings) = checked(text);
    let lines = LineIndex::new(text);
    findings.iter().fold(String::new(), |mut all, found| {
        let at = lines.position(text, found.span.start as usize);
        let code = found.rule.name;
        let _ = writeln!(
            all,
            "{}:{} {} {code}: {}",
            at.line,
            at.column,
            found.severity.as_str(),
            found.message
        );
        let _ =
            writeln!(all, "      `{}`", found.span.slice(text).lines().next().unwrap_or_default());
        let _ =
            writeln!(all, "      {}", found.help.as_deref().expect("a finding says what to do"));
        all
    })
}

/// A workflow from the lines of its nodes and edges.
fn of(nodes: &str, edges: &str) -> String {
    let lines = |text: &str| {
        let lines: Vec<&str> =
            text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        lines.join(",\n")
    };
    format!("{{\"nodes\": [\n{}\n],\n\"edges\": [\n{}\n]}}", lines(nodes), lines(edges))
}

const START: &str = r#"{"id": "start", "type": "start", "data": {"inputVariable": "topic"}}"#;
const END: &str = r#"{"id": "end", "type": "end", "data": {}}"#;

/// The lines between a start and an end node.
fn around(node: &str) -> String {
    let edges =
        "{\"source\": \"start\", \"target\": \"x\"}\n{\"source\": \"x\", \"target\": \"end\"}";
    of(&format!("{START}\n{node}\n{END}"), edges)
}

#[test]
fn a_sound_workflow_has_no_findings() {
    let skill = r#"{"id": "x", "type": "skill", "data": {"skillName": "article-summary", "inputMappings": {"article": "start", "style": "concise"}}}"#;
    assert_eq!(problems(&around(skill)), "");
    // AFL-7.3-2: without mappings the first required input gets the node's input, so nothing is missing.
    let default = r#"{"id": "x", "type": "skill", "data": {"skillName": "article-summary"}}"#;
    assert_eq!(problems(&around(default)), "");
}

#[test]
fn both_forms_are_read_and_an_export_keeps_what_nobody_knows() {
    let graph = serde_json::json!({
        "nodes": [
            { "id": "start", "type": "start", "position": { "x": 1, "y": 2 }, "mine": [1] },
            { "id": "end", "type": "end", "data": { "theirs": null } },
        ],
        "edges": [{ "id": "e", "source": "start", "target": "end", "targetHandle": "in" }],
        "viewport": { "zoom": 2 },
    });
    let about = serde_json::json!({ "name": "Tea", "description": "Green", "graph_data": graph, "tags": ["a"] });
    let wrapped = serde_json::json!({ "version": 1, "workflow": about, "exported_at": "today" });
    for (text, expected) in [
        (
            &graph,
            serde_json::json!({ "version": 1, "workflow": { "name": null, "description": null, "graph_data": graph } }),
        ),
        (&about, serde_json::json!({ "version": 1, "workflow": about })),
        (&wrapped, wrapped.clone()),
    ] {
        let (workflow, findings) = checked(&text.to_string());
        assert!(findings.is_empty(), "{findings:?}");
        let workflow = workflow.expect("it can be read");
        assert_eq!((workflow.nodes.len(), workflow.edges.len()), (2, 1));
        assert_eq!(workflow.export(), expected);
        let (again, _) = checked(&expected.to_string());
        assert_eq!(again.expect("it can be read").export(), expected);
    }
}

#[test]
fn files_that_are_no_workflow() {
    for (name, text) in [
        ("no-json", "{\n  \"nodes\": [,]\n}"),
        ("nothing", "{}"),
        ("lists", "{\"nodes\": {}, \"edges\": []}"),
        ("wrapped", "{\"version\": 1, \"workflow\": {\"graph_data\": {\"nodes\": []}}}"),
        ("empty", "{\"nodes\": [], \"edges\": []}"),
    ] {
        assert_snapshot!(format!("not-a-workflow-{name}"), problems(text));
    }
}

#[test]
fn sizes_have_limits() {
    let many = format!("{{\"nodes\": [{}], \"edges\": []}}", vec!["{}"; 1_001].join(","));
    assert!(problems(&many).contains("there are 1001 nodes, but at most 1000 are supported"));
    let edges = format!("{{\"nodes\": [], \"edges\": [{}]}}", vec!["{}"; 5_001].join(","));
    assert!(problems(&edges).contains("there are 5001 edges, but at most 5000 are supported"));
    assert!(problems(&" ".repeat((4 << 20) + 1)).contains("more than 4 MiB"));
}

#[test]
fn ways_that_lead_nowhere() {
    let nodes = format!(
        "{START}\n{END}\n{}\n{}\n{}\n{}",
        r#"{"id": "a", "type": "llm"}"#,
        r#"{"id": "b", "type": "llm"}"#,
        r#"{"id": "lonely", "type": "llm"}"#,
        r#"{"id": "choice", "type": "condition", "data": {"expression": "topic === 'x'"}}"#
    );
    let edges = r#"
        {"source": "start", "target": "a"}
        {"source": "a", "target": "b"}
        {"source": "b", "target": "a"}
        {"source": "b", "target": "choice"}
        {"source": "choice", "target": "end", "sourceHandle": "true"}
    "#;
    assert_snapshot!("ways", problems(&of(&nodes, edges)));
    let broken = r#"
        {"source": "start", "target": "lonly"}
        {"source": "choice", "target": "end", "sourceHandle": "maybe"}
        {"target": "end"}
    "#;
    assert_snapshot!("ways-broken", problems(&of(&nodes, broken)));
}

#[test]
fn nodes_that_can_not_work() {
    let nodes = format!(
        "{START}\n{END}\n{}",
        r#"
        {"id": "start", "type": "llm"}
        {"id": "", "type": "llm"}
        {"type": "llm"}
        {"id": "n1"}
        {"id": "n2", "type": "LLM"}
        {"id": "n3", "type": "loop"}
        {"id": "n4", "type": "skill", "data": {}}
        {"id": "n5", "type": "skill", "data": {"skillName": "artcle-summary"}}
        {"id": "n6", "type": "knowledge", "data": {"knowledgeBaseId": ""}}
        {"id": "n7", "type": "condition", "data": {"expression": "{{start.output}} = 'yes'"}}
        {"id": "n8", "type": "http", "data": {"url": "ftp://example.org", "method": "get"}}
        {"id": "n9", "type": "http", "data": {"url": "https://example.org", "method": "BREW"}}
        {"id": "n10", "type": "http", "data": {"url": "https://example.org", "timeoutSeconds": 31}}
        {"id": "n11", "type": "http", "data": {"url": "https://example.org", "method": "HEAD", "responsePath": "a.b"}}
        {"id": "n12", "type": "http", "data": {"url": "https://example.org", "headers": {"a b": "c"}}}
        {"id": "n13", "type": "code", "data": {"code": "print(1)", "memoryLimitMb": 1024}}
        {"id": "n14", "type": "code", "data": {"code": "print(1)", "timeoutSeconds": "10"}}
        {"id": "n15", "type": "llm", "data": {"temperature": 3}}
        {"id": "n16", "type": "llm", "data": {"systemPrompt": ["no"]}}
        {"id": "n17", "type": "skill", "data": {"skillName": "two", "inputMappings": ["start"]}}
        "#
    );
    assert_snapshot!("nodes", problems(&of(&nodes, "")));
}

#[test]
fn references_that_find_nothing() {
    let llm = |prompt: &str| {
        format!(r#"{{"id": "x", "type": "llm", "data": {{"systemPrompt": "{prompt}"}}}}"#)
    };
    let mut told = String::new();
    for prompt in [
        "About {{topic}} and {{start.output}} and {{input}}",
        "About {{topik}}",
        "About \\\"{{nobody.output}}\\\"",
        "About {{end.output}}",
        "About {{x.output}}",
        "About {{start.result}}",
    ] {
        let _ = writeln!(told, "{prompt}\n{}", problems(&around(&llm(prompt))));
    }
    assert_snapshot!("references", told);
    let chain = of(
        &format!(
            "{START}\n{}\n{}\n{END}",
            llm("Hi"),
            r#"{"id": "y", "type": "condition", "data": {"expression": "x.output.title === 'a' && start.output.title"}}"#
        ),
        "{\"source\": \"start\", \"target\": \"x\"}\n{\"source\": \"x\", \"target\": \"y\"}\n{\"source\": \"y\", \"target\": \"end\"}",
    );
    assert_snapshot!("references-into-text", problems(&chain));
}

#[test]
fn skills_that_do_not_get_what_they_need() {
    let skill = |name: &str, mappings: &str| {
        let mappings = format!(r#"{{"skillName": "{name}", "inputMappings": {{{mappings}}}}}"#);
        around(&format!(r#"{{"id": "x", "type": "skill", "data": {mappings}}}"#))
    };
    let mut told = String::new();
    for (name, mappings) in [
        ("two", ""),
        ("two", "\"left\": \"start\""),
        ("two", "\"left\": \"start\", \"right\": \"literal\""),
        ("article-summary", "\"style\": \"concise\""),
        ("article-summary", "\"artcle\": \"start\""),
        ("article-summary/tool", ""),
    ] {
        let _ = writeln!(told, "{name} {{{mappings}}}\n{}", problems(&skill(name, mappings)));
    }
    assert_snapshot!("skills", told);
}

#[test]
fn every_rule_has_a_page_and_stands_in_order() {
    for rule in rules::ALL {
        for heading in ["## What it does", "## Why is this bad?", "## Example"] {
            assert!(rule.page.contains(heading), "{} has no `{heading}`", rule.name);
        }
        assert!(rule.name.starts_with("workflow-"), "{}", rule.name);
        assert!(prowess_format::rules::by_name(rule.name).is_none(), "{} is taken", rule.name);
    }
    assert!(rules::ALL.is_sorted_by_key(|rule| rule.name));
}

#[test]
fn guarded_addresses_are_told_before_the_run() {
    let http = |url: &str| {
        around(&format!(r#"{{"id": "x", "type": "http", "data": {{"url": "{url}"}}}}"#))
    };
    for url in [
        "http://127.0.0.1:8080/x",
        "http://localhost/{{topic}}",
        "http://10.1.2.3/",
        "http://[::1]/",
        "http://169.254.169.254/latest/meta-data/",
        "HTTP://LOCALHOST:3000",
    ] {
        let told = problems(&http(url));
        assert!(told.contains("warning workflow-guarded-address"), "{url}: {told}");
    }
    for url in
        ["https://example.org/", "http://{{topic}}/", "{{topic}}", "http://127.0.0.1{{topic}}/x"]
    {
        assert_eq!(problems(&http(url)), "", "{url}");
    }
}

#[test]
fn bases_that_are_not_there_are_told_where_bases_are_known() {
    let knowledge = |base: &str| {
        around(&format!(
            r#"{{"id": "x", "type": "knowledge", "data": {{"knowledgeBaseId": "{base}"}}}}"#
        ))
    };
    assert_eq!(problems(&knowledge("handbook")), "");
    assert_snapshot!(problems(&knowledge("handbok")));
    let nobody_knows = CheckContext { skills: &Texts, bases: None };
    assert_eq!(check(&knowledge("handbok"), nobody_knows).1.len(), 0);
}

#[test]
fn references_in_code_are_told() {
    let code = |code: &str| {
        around(&format!(r#"{{"id": "x", "type": "code", "data": {{"code": "{code}"}}}}"#))
    };
    assert_snapshot!(problems(&code("print('{{start.output}}' + '{{topic}}')")));
    // Python syntax with nested braces: a set in a set, a format string.
    assert_eq!(problems(&code("print(f'{{y}}', {{1}})")), "");
}

#[test]
fn every_wrong_range_of_a_node_is_told() {
    let code = r#"{"id": "x", "type": "code", "data": {"code": "1", "timeoutSeconds": 31, "memoryLimitMb": 8, "env": []}}"#;
    assert_snapshot!(problems(&around(code)));
    let llm = r#"{"id": "x", "type": "llm", "data": {"temperature": 9, "model": 7, "inheritChatHistory": 1}}"#;
    assert_snapshot!(problems(&around(llm)));
}
