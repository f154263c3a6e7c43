use insta::assert_snapshot;
use proptest::prelude::*;
use serde_json::json;

use super::super::template::part_of;
use super::*;

struct Values(Value);

impl Lookup for Values {
    fn value(&self, reference: &ValueReference) -> Option<&Value> {
        part_of(&self.0, &reference.segments)
    }
}

fn check(text: &str, values: &Value) -> String {
    match Expression::parse(text) {
        Ok(expression) => expression.holds(&Values(values.clone())).to_string(),
        Err(error) => format!("{:?} {}", error.span, error.message),
    }
}

#[test]
fn expressions_mean_what_they_look_like() {
    let values = json!({
        "llm-1": { "output": "Yes, it is \"fine\"" },
        "n": { "output": { "count": 3, "text": "3", "tags": ["a", "b"], "none": null, "off": false } },
        "evil": { "output": "' || true || '" },
    });
    let all: Vec<String> = [
        "true",
        "false",
        "null",
        "''",
        "'false'",
        "0",
        "-1",
        "llm-1.output",
        "{{llm-1.output}}",
        "absent.output",
        "!absent.output",
        "llm-1.output.includes('Yes')",
        "{{llm-1.output}}.includes(\"no\")",
        "llm-1.output contains 'fine'",
        "n.output.tags contains 'b'",
        "n.output.tags.includes('c')",
        "n.output contains 'count'",
        "n.output.count === 3",
        "n.output.count === 3.0",
        "n.output.count === '3'",
        "n.output.count == '3'",
        "n.output.count !== '3'",
        "n.output.count != '3'",
        "n.output.count >= 3 && n.output.count < 4",
        "n.output.count > '2'",
        "n.output.text > 'abc'",
        "n.output.none === null",
        "n.output.off == 'false'",
        "n.output.off === !true",
        "n.output.tags.0 === 'a'",
        "'a' < 'b'",
        "true || false && false",
        "(true || false) && false",
        "!(1 === 2)",
        "!!'x'",
        "evil.output === 'x'",
        "evil.output === \"' || true || '\"",
        "'{{evil.output}}' === 'x'",
        "'got {{n.output.count}}' === 'got 3'",
        "'it\\'s' contains \"'\"",
        "('ab' contains 'a').includes('b')",
    ]
    .iter()
    .map(|text| format!("{text:45} => {}", check(text, &values)))
    .collect();
    assert_snapshot!(all.join("\n"));
}

#[test]
fn what_is_no_expression_is_pointed_at() {
    let all: Vec<String> = [
        "",
        "  ",
        "a ===",
        "=== a",
        "(a",
        "a)",
        "a b",
        "'open",
        "a & b",
        "a = b",
        "{{a",
        "{{}}",
        "a..b",
        "f(1)",
        "a.includes(",
        "a.includes()",
        "contains",
        "1 2",
        "1 < 2 < 3",
        "a; b",
        "__import__('os')",
    ]
    .iter()
    .map(|text| format!("{text:?}: {}", check(text, &Value::Null)))
    .collect();
    assert_snapshot!(all.join("\n"));
}

#[test]
fn nesting_has_a_limit() {
    let deep = |text: &str| format!("{}true{}", "(".repeat(10_000), text);
    assert!(check(&deep(""), &Value::Null).contains("levels deep"));
    assert!(check(&"!".repeat(10_000), &Value::Null).contains("levels deep"));
    assert!(check(&"a".repeat(MAX_BYTES + 1), &Value::Null).contains("at most"));
}

proptest! {
    /// A value is never part of the expression.
    #[test]
    fn no_value_changes_the_meaning(value in "['\"|&!=()a-z{} ]{0,24}") {
        let values = Values(json!({ "x": value }));
        let holds = |text: &str| Expression::parse(text).expect("it is one").holds(&values);
        prop_assert!(holds("x === x"));
        prop_assert!(!holds("x !== x"));
        prop_assert!(!holds("x === 'another value'"));
        prop_assert!(!holds("'{{x}}' === 'another value'"));
        prop_assert!(holds("x contains x"));
        prop_assert_eq!(holds("x"), !value.is_empty());
    }

    #[test]
    fn reading_never_panics_and_points_into_the_text(text in "(\\(|\\)|'|\"|!|=|&|\\||<|a|é|\\.|-|1|\\{| |includes|contains){0,24}") {
        match Expression::parse(&text) {
            Ok(expression) => {
                expression.holds(&Values(Value::Null));
                for (_, span) in expression.references() {
                    prop_assert!(text.get(span.range()).is_some());
                }
            }
            Err(error) => prop_assert!(text.get(error.span.range()).is_some(), "{:?}", error),
        }
    }

    /// The usual laws of the connectives.
    #[test]
    fn connectives_follow_their_laws(a in any::<bool>(), b in any::<bool>()) {
        let values = Values(json!({ "a": a, "b": b }));
        let holds = |text: &str| Expression::parse(text).expect("it is one").holds(&values);
        prop_assert_eq!(holds("a && b"), a && b);
        prop_assert_eq!(holds("a || b"), a || b);
        prop_assert_eq!(holds("!(a && b)"), holds("!a || !b"));
        prop_assert_eq!(holds("a === b"), a == b);
    }
}
