use std::collections::HashMap;

use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::json;

use super::*;

struct Values(HashMap<String, Value>);

impl Lookup for Values {
    fn value(&self, reference: &ValueReference) -> Option<&Value> {
        part_of(self.0.get(reference.root())?, &reference.segments[1..])
    }
}

fn rendered(text: &str) -> String {
    let values = [
        ("name", json!("tea")),
        ("brace", json!("{{name}}")),
        ("node-1", json!({ "output": { "list": [1, { "deep": true }], "nothing": null } })),
        ("größe", json!(3)),
    ];
    let values = values.map(|(name, value)| (name.to_owned(), value));
    WorkflowTemplate::parse(text).render(&Values(HashMap::from(values)))
}

#[test]
fn substitutes_once_and_leaves_other_braces_alone() {
    let texts = [
        "plain",
        "{{name}}",
        "a {{ name }} b {{name}}",
        "{{brace}}",
        "{{{name}}}",
        "{{node-1.output.list.1.deep}}",
        "{{node-1.output.list}}",
        "[{{node-1.output.nothing}}]",
        "[{{node-1.output.list.9}}]",
        "[{{absent}}]",
        "{{größe}}",
        "{{}} {{ }} {{a..b}} {{.a}} {{a b}} {{name",
        "{% if name %} {{name|upper}} {{name()}}",
    ];
    let all: Vec<String> =
        texts.iter().map(|text| format!("{text:45} => {}", rendered(text))).collect();
    assert_snapshot!(all.join("\n"));
}

proptest! {
    /// AFL §5.2: a value is inserted unchanged, whatever it contains.
    #[test]
    fn a_value_arrives_as_it_is(value in "(\\{|\\}|x|name|\\.| ){0,12}") {
        let values = Values(HashMap::from([("name".to_owned(), Value::from(value.clone()))]));
        let text = WorkflowTemplate::parse("<{{name}}>").render(&values);
        prop_assert_eq!(text, format!("<{value}>"));
    }

    #[test]
    fn places_are_those_of_references(text in "(\\{|\\}|a|é|\\.| |-){0,24}") {
        for (reference, span) in WorkflowTemplate::parse(&text).references() {
            let written = span.slice(&text);
            prop_assert!(written.starts_with("{{") && written.ends_with("}}"), "{}", written);
            prop_assert_eq!(written.trim_matches(['{', '}', ' ']), reference.to_string());
        }
    }
}
