use proptest::prelude::*;
use prowess_format::diagnostic::apply_edits;
use serde_json::{Value, json};

use super::{
    EmptyContainer, EntryError, ServerEntry, SettingsFormat, add, container, inverse, remove,
};

fn entry() -> ServerEntry {
    let value = json!({ "command": "/opt/bin/prowess", "args": ["mcp"] });
    let Value::Object(value) = value else { unreachable!("it is an object") };
    ServerEntry { container: "mcpServers".to_owned(), name: "prowess".to_owned(), value }
}

/// The text with the entry. Also shows that adding it again changes nothing, and that both ways back work.
fn added(text: &str, format: SettingsFormat) -> String {
    let edits = add(text, format, &entry()).unwrap_or_else(|error| panic!("{error}: {text}"));
    let after = apply_edits(text, &edits);
    assert_eq!(add(&after, format, &entry()), Ok(Vec::new()), "{after}");
    assert_eq!(apply_edits(&after, &inverse(text, &edits)), text);
    let removal =
        remove(&after, format, &entry(), EmptyContainer::Keep).expect("it can be removed");
    assert!(!removal.is_empty());
    let without = apply_edits(&after, &removal);
    assert_eq!(remove(&without, format, &entry(), EmptyContainer::Keep), Ok(Vec::new()));
    after
}

/// The text before an entry is added and after it was removed by its structure.
fn around(text: &str, format: SettingsFormat, empty: EmptyContainer) -> String {
    let after = added(text, format);
    let removal = remove(&after, format, &entry(), empty).expect("it can be removed");
    apply_edits(&after, &removal)
}

#[test]
fn json_keeps_its_style() {
    let json = |text: &str| added(text, SettingsFormat::Json);
    insta::assert_snapshot!(json(""), @r#"
    {
      "mcpServers": {
        "prowess": {
          "command": "/opt/bin/prowess",
          "args": ["mcp"]
        }
      }
    }
    "#);
    insta::assert_snapshot!(json("{}"), @r#"{"mcpServers": {"prowess": {"command": "/opt/bin/prowess", "args": ["mcp"]}}}"#);
    insta::assert_snapshot!(json("{\"a\": 1, \"mcpServers\": {\"b\": {}}}\n"), @r#"{"a": 1, "mcpServers": {"b": {}, "prowess": {"command": "/opt/bin/prowess", "args": ["mcp"]}}}"#);
    insta::assert_snapshot!(json("{\n    // mine\n    \"theme\": \"dark\" // not light\n}\n"), @r#"
    {
        // mine
        "theme": "dark", // not light
        "mcpServers": {
            "prowess": {
                "command": "/opt/bin/prowess",
                "args": ["mcp"]
            }
        }
    }
    "#);
    insta::assert_snapshot!(json("{\n\t\"mcpServers\": {\n\t\t\"a\": {}, /* last */\n\t},\n}\n").replace('\t', "→"), @r#"
    {
    →"mcpServers": {
    →→"a": {}, /* last */
    →→"prowess": {
    →→→"command": "/opt/bin/prowess",
    →→→"args": ["mcp"]
    →→},
    →},
    }
    "#);
    insta::assert_snapshot!(json("{\n  \"mcpServers\": {}\n}"), @r#"
    {
      "mcpServers": {
        "prowess": {
          "command": "/opt/bin/prowess",
          "args": ["mcp"]
        }
      }
    }
    "#);
    assert!(json("{\r\n  \"a\": 1\r\n}\r\n").matches("\r\n").count() == 9);
}

#[test]
fn toml_and_yaml_get_a_block() {
    insta::assert_snapshot!(added("model = \"x\" # fast\n\n[mcpServers.a]\ncommand = \"a\"", SettingsFormat::Toml), @r#"
    model = "x" # fast

    [mcpServers.a]
    command = "a"

    [mcpServers.prowess]
    command = "/opt/bin/prowess"
    args = ["mcp"]
    "#);
    insta::assert_snapshot!(added("# mine\nmcpServers:\n  a:\n    cmd: a # why\n\nmodel: x\n", SettingsFormat::Yaml), @"
    # mine
    mcpServers:
      a:
        cmd: a # why
      prowess:
        command: /opt/bin/prowess
        args: [mcp]

    model: x
    ");
    insta::assert_snapshot!(added("model: x", SettingsFormat::Yaml), @"
    model: x
    mcpServers:
      prowess:
        command: /opt/bin/prowess
        args: [mcp]
    ");
    added("mcpServers:\n", SettingsFormat::Yaml);
    added("", SettingsFormat::Yaml);
    added("", SettingsFormat::Toml);
    added("\u{feff}a = 1\r\n", SettingsFormat::Toml);
}

#[test]
fn removal_keeps_what_others_added_since() {
    let text = "{\n  \"mcpServers\": {\n    \"prowess\": {\"command\": \"prowess\", \"args\": [\"mcp\"]},\n    \"b\": {} // b\n  }\n}\n";
    let edits =
        remove(text, SettingsFormat::Json, &entry(), EmptyContainer::Remove).expect("edits");
    assert_eq!(apply_edits(text, &edits), "{\n  \"mcpServers\": {\n    \"b\": {} // b\n  }\n}\n");
    let text = "a = 1\n\n[mcpServers.prowess]\ncommand = \"prowess\"\nargs = [\n  [\"no\"],\n]\n\n[mcpServers.prowess.env]\nA = \"1\"\n\n# about b\n[b]\nc = 1\n";
    let text = text.replace("  [\"no\"],\n", "  \"mcp\",\n");
    let edits = remove(&text, SettingsFormat::Toml, &entry(), EmptyContainer::Keep).expect("edits");
    assert_eq!(apply_edits(&text, &edits), "a = 1\n\n\n\n# about b\n[b]\nc = 1\n");
}

#[test]
fn an_entry_of_ours_is_corrected_and_keeps_what_is_beside_it() {
    let text = "{\n  \"mcpServers\": {\n    \"prowess\": { \"command\": \"/old/prowess\", \"args\": [\"mcp\"], \"env\": {\"A\": \"1\"} }\n  }\n}\n";
    let after = added(text, SettingsFormat::Json);
    let value = container(&after, SettingsFormat::Json, "mcpServers").expect("it is there");
    assert_eq!(value["prowess"]["command"], "/opt/bin/prowess");
    assert_eq!(value["prowess"]["env"]["A"], "1");
    let text = "[mcpServers.prowess]\ncommand = '/old/prowess' # here\nargs = [\"mcp\"]\nenv = { A = \"1\" }\n";
    assert_eq!(
        added(text, SettingsFormat::Toml),
        "[mcpServers.prowess]\ncommand = \"/opt/bin/prowess\" # here\nargs = [\"mcp\"]\nenv = { A = \"1\" }\n"
    );
    let text = "mcpServers:\n  prowess:\n    command: /old/prowess # here\n    args: [mcp]\n";
    assert_eq!(
        added(text, SettingsFormat::Yaml),
        "mcpServers:\n  prowess:\n    command: /opt/bin/prowess # here\n    args: [mcp]\n"
    );
}

#[test]
fn what_is_not_ours_or_unclear_is_refused() {
    let refused = |text: &str, format| add(text, format, &entry()).expect_err(text);
    for (text, format) in [
        (
            "{\"mcpServers\": {\"prowess\": {\"command\": \"rm\", \"args\": [\"mcp\"]}}}",
            SettingsFormat::Json,
        ),
        ("[mcpServers.prowess]\nurl = \"http://x\"\n", SettingsFormat::Toml),
        ("mcpServers: {prowess: {command: other}}\n", SettingsFormat::Yaml),
    ] {
        assert_eq!(refused(text, format), EntryError::Occupied { name: "prowess".to_owned() });
        assert!(remove(text, format, &entry(), EmptyContainer::Keep).is_err());
    }
    for (text, format) in [
        ("{\"mcpServers\": ", SettingsFormat::Json),
        ("a = ", SettingsFormat::Toml),
        ("a: [", SettingsFormat::Yaml),
    ] {
        assert!(matches!(refused(text, format), EntryError::Syntax(_)), "{text}");
    }
    for (text, format) in [
        ("[]", SettingsFormat::Json),
        ("{\"mcpServers\": []}", SettingsFormat::Json),
        ("mcpServers = 1", SettingsFormat::Toml),
        ("- a\n", SettingsFormat::Yaml),
    ] {
        assert!(matches!(refused(text, format), EntryError::NotAMap(_)), "{text}");
    }
    // Valid, and not extendable where an entry would go.
    for (text, format) in [
        ("mcpServers = { a = { command = \"a\" } }\n", SettingsFormat::Toml),
        ("mcpServers: {a: {cmd: a}}\n", SettingsFormat::Yaml),
        ("a: 1\n...\n", SettingsFormat::Yaml),
    ] {
        assert_eq!(refused(text, format), EntryError::Unusual, "{text}");
    }
}

/// White space and comments of a settings file.
fn gap() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => Just(String::new()),
        3 => Just(" ".to_owned()),
        3 => Just("\n  ".to_owned()),
        1 => Just("\r\n\t".to_owned()),
        1 => Just(" // \"prowess\": {,\n".to_owned()),
        1 => Just("/* } */".to_owned()),
        1 => Just(" /* one\n two */ ".to_owned()),
    ]
}

/// Values, written with gaps in every possible place.
fn written() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        "[0-9]{1,4}".prop_map(|number| format!("1{number}")),
        Just("\"}, // \\\"\"".to_owned()),
        Just("null".to_owned())
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let entries =
            prop::collection::vec((gap(), "[a-c]{1,2}", gap(), inner.clone(), gap()), 0..4);
        let items = prop::collection::vec((gap(), inner, gap()), 0..4);
        prop_oneof![
            (entries, gap(), any::<bool>())
                .prop_map(|(entries, gap, trailing)| object(&entries, &gap, trailing)),
            (items, gap()).prop_map(|(items, gap)| {
                let items: Vec<String> =
                    items.into_iter().map(|(a, b, c)| format!("{a}{b}{c}")).collect();
                format!("[{}{gap}]", items.join(","))
            }),
        ]
    })
}

type Parts = (String, String, String, String, String);

fn object(entries: &[Parts], gap: &str, trailing: bool) -> String {
    let written: Vec<String> = entries
        .iter()
        .map(|(a, key, b, value, c)| format!("{a}\"{key}\"{b}:{b}{value}{c}"))
        .collect();
    let comma = if trailing && !entries.is_empty() { "," } else { "" };
    format!("{{{}{comma}{gap}}}", written.join(","))
}

fn json_file() -> impl Strategy<Value = String> {
    let servers = prop_oneof![
        Just(None),
        Just(Some("{}".to_owned())),
        Just(Some("null".to_owned())),
        prop::collection::vec((gap(), "[a-c]{1,2}", gap(), written(), gap()), 0..4)
            .prop_flat_map(|entries| (Just(entries), gap(), any::<bool>()))
            .prop_map(|(entries, gap, trailing)| Some(object(&entries, &gap, trailing))),
    ];
    let others = prop::collection::vec((gap(), "[a-c]{1,2}", gap(), written(), gap()), 0..4);
    (others, servers, 0..4_usize, gap(), gap(), any::<bool>()).prop_map(
        |(mut entries, servers, at, gap, outside, trailing)| {
            if let Some(servers) = servers {
                let own =
                    (gap.clone(), "mcpServers".to_owned(), String::new(), servers, gap.clone());
                entries.insert(at.min(entries.len()), own);
            }
            format!("{outside}{}{outside}", object(&entries, &gap, trailing))
        },
    )
}

proptest! {
    /// Every other byte is kept, and both ways back work.
    #[test]
    fn json_with_comments_survives(text in json_file()) {
        let after = added(&text, SettingsFormat::Json);
        // Nothing was removed: the former text is a subsequence of the new one, except for a replaced `null`.
        if !text.contains("null") {
            let mut rest = after.chars();
            prop_assert!(text.chars().all(|wanted| rest.any(|found| found == wanted)));
        }
        around(&text, SettingsFormat::Json, EmptyContainer::Remove);
    }

    #[test]
    fn toml_survives(lines in prop::collection::vec(prop_oneof![
        Just("# [mcpServers.prowess]"), Just(""), Just("a.b = 1"), Just("\"c d\" = '''\n[mcpServers.prowess]\n'''"),
        Just("[x]"), Just("[[y]]\nz = [\n  [1],\n]"), Just("[mcpServers.other]\ncommand = \"o\" # end"),
        Just("[mcpServers]"), Just("list = [\n  \"a\",\n]"), Just("when = 2026-01-01"), Just("n = nan"),
    ], 0..7), newline in prop_oneof![Just("\n"), Just("\r\n")], last in any::<bool>()) {
        let mut text = lines.join("\n").replace('\n', newline);
        if last { text.push_str(newline); }
        prop_assume!(toml::from_str::<toml::Table>(&text).is_ok());
        let after = added(&text, SettingsFormat::Toml);
        prop_assert!(after.starts_with(&text));
    }

    #[test]
    fn no_text_panics(text in "[\\[\\]{}\",:/*# \\na-c=.'-]{0,40}") {
        for format in [SettingsFormat::Json, SettingsFormat::Toml, SettingsFormat::Yaml] {
            if let Ok(edits) = add(&text, format, &entry()) {
                let after = apply_edits(&text, &edits);
                let _ = remove(&after, format, &entry(), EmptyContainer::Remove);
            }
        }
    }
}
