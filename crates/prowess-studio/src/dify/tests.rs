use super::*;

const APP: &str = "app:
  name: Support
  description: Answers questions
  mode: workflow
kind: app
version: 0.3.0
workflow:
  graph:
    edges:
      - {id: e1, source: '1', target: '2'}
      - {id: e2, source: '2', target: '3', sourceHandle: case-a}
      - {id: e3, source: '2', target: '4', sourceHandle: 'false'}
      - {id: e4, source: '4', target: '9'}
    nodes:
      - id: '1'
        type: custom
        position: {x: 80, y: 282.5}
        data:
          title: Start
          type: start
          variables:
            - {variable: question, type: paragraph}
            - {variable: language, type: text-input}
      - id: '2'
        position: {x: 380, y: 282}
        data:
          title: Is it about money?
          type: if-else
          cases:
            - case_id: case-a
              logical_operator: and
              conditions:
                - comparison_operator: contains
                  value: it's dear
                  variable_selector: ['1', question]
      - id: '3'
        data:
          title: Answer
          type: llm
          model: {provider: openai, name: gpt-x, completion_params: {temperature: 0.2}}
          prompt_template:
            - {role: system, text: 'Answer {{#1.question#}} briefly'}
      - id: '4'
        data:
          title: Fetch
          type: http-request
          method: get
          url: 'https://example.org/{{#1.question#}}'
          headers: 'Accept: application/json'
          authorization: {type: api-key, config: {api_key: SECRET}}
      - id: '9'
        data: {title: Loop, type: iteration}
";

#[test]
fn a_workflow_of_dify_is_converted_with_its_losses() {
    let Import { document, format, losses } = import(APP).expect("it is read");
    assert_eq!(format, "dify");
    let graph = &document["workflow"]["graph_data"];
    let node = |at: usize| &graph["nodes"][at];
    assert_eq!(node(0)["position"], json!({ "x": 80, "y": 282.5 }));
    assert_eq!(node(0)["data"], json!({ "inputVariable": "question" }));
    assert_eq!(node(1)["data"]["expression"], "{{1.output}}.includes('it\\'s dear')");
    assert_eq!(
        node(2)["data"],
        json!({ "systemPrompt": "Answer {{1.output}} briefly", "temperature": 0.2 })
    );
    assert_eq!(node(3)["data"]["url"], "https://example.org/{{1.output}}");
    assert_eq!(graph["edges"][1]["sourceHandle"], "true");
    assert_eq!(graph["edges"][2]["sourceHandle"], "false");
    assert!(!document.to_string().contains("SECRET"));
    let lost: Vec<&str> = losses.iter().map(|loss| loss.path.as_str()).collect();
    assert_eq!(
        lost,
        [
            "nodes.1.data.variables",
            "nodes.3.data.model",
            "nodes.4.data.authorization",
            "nodes.9.type",
            "edges.e4",
        ]
    );
}

#[test]
fn the_exchange_format_is_kept_as_it_is() {
    let file = json!({
        "version": 1, "extra": true,
        "workflow": {
            "name": "X", "description": "", "mine": [1],
            "graph_data": {
                "nodes": [{ "id": "a", "type": "start", "position": { "x": 1.5, "y": -2 }, "data": {} }],
                "edges": [], "viewport": { "zoom": 2 },
            },
        },
    });
    let imported = import(&file.to_string()).expect("it is read");
    assert_eq!((imported.document, imported.losses), (file, Vec::new()));
}

#[test]
fn other_files_are_refused() {
    for text in ["", "[]", "{}", "hello", "a: b", "kind: app", "{\"nodes\": 1}", "&a [*a, *a"] {
        assert!(import(text).is_err(), "{text}");
    }
}
