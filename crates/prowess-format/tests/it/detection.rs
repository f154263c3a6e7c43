//! A word that everybody uses does not make a file a dialect.

use prowess_format::{ReadOptions, check};

/// The layers of a file with these fields beside name and description, and the codes of its findings.
fn layers(fields: &str) -> (Vec<&'static str>, Vec<&'static str>) {
    let text = format!("---\nname: desk\ndescription: Tidy a desk\n{fields}---\n\nText\n");
    let checked = check(&text, ReadOptions::DETECT);
    let layers = checked.skill.layers.iter().map(|layer| layer.id).collect();
    (layers, crate::codes(&checked.diagnostics))
}

#[test]
fn common_words_add_no_layer() {
    for fields in [
        "license: Apache-2.0\nmetadata:\n  author: example-org\n  version: \"1.0\"\n",
        "metadata:\n  category: data\n  tags: a\n",
        "category: development\n",
        "emoji: x\n",
        "metadata:\n  emoji: x\n",
        "permissions:\n  network: [example.com]\n  env: [HOME]\n",
        "license: Proprietary. LICENSE.txt has complete terms\n",
    ] {
        assert_eq!(layers(fields).0, ["agent-skills"], "{fields}");
    }
}

#[test]
fn the_dialects_are_still_recognised_by_their_own_fields() {
    for (fields, dialect) in [
        ("trust-level: community\n", "skillli"),
        ("metadata:\n  trust-level: community\n", "skillli"),
        ("version: 1.0.0\nauthor: me\ntags: [a]\ncategory: data\n", "skillli"),
        ("emoji: x\nprimaryEnv: KEY\n", "openclaw"),
        ("metadata:\n  openclaw:\n    emoji: x\n", "openclaw"),
        ("runtime:\n  type: markdown-skill\npermissions:\n  env: [HOME]\n", "skillrt"),
    ] {
        assert_eq!(layers(fields).0[0], dialect, "{fields}");
    }
}

#[test]
fn the_version_and_author_of_the_standards_example_are_read() {
    let text = "---\nname: desk\ndescription: Tidy a desk\nmetadata:\n  author: example-org\n  version: \"1.0\"\n---\n\nText\n";
    let skill = check(text, ReadOptions::DETECT).skill;
    assert_eq!(skill.version.as_ref().map(|version| version.as_str()), Some("1.0"));
    assert_eq!(skill.authors.len(), 1);
}

#[test]
fn the_tools_of_an_openclaw_skill_are_not_those_of_gaia() {
    let fields = "metadata:\n  openclaw:\n    requires:\n      bins: [git]\ntools:\n  - name: status\n    command: git status\n";
    assert_eq!(layers(fields), (vec!["openclaw"], vec![]));
}

#[test]
fn the_open_standard_needs_no_spdx_licence() {
    for fields in [
        "license: Complete terms in LICENSE.txt\n",
        "version: 1.0.0\nlicense: Complete terms in LICENSE.txt\n",
        "license: Complete terms in LICENSE.txt\nmetadata:\n  author: me\n",
    ] {
        assert!(!layers(fields).1.contains(&"invalid-license"), "{fields}");
    }
    let registry = "trust-level: community\nlicense: Complete terms in LICENSE.txt\n";
    assert!(layers(registry).1.contains(&"invalid-license"));
}
