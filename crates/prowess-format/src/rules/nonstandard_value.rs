//! `nonstandard-value`.

use crate::diagnostic::{Findings, rule};
use crate::document::yaml::Node;
use crate::rules::Subject;
use crate::specification::AGENT_SKILLS;

rule! {
    /// ## What it does
    /// Notes a value that the open standard does not allow, although most readers accept it: a list for `allowed-tools` or `compatibility`, a nested map in `metadata`.
    ///
    /// ## Why is this bad?
    /// The standard requires text, and `metadata` maps text to text; strict readers reject the file.
    ///
    /// ## Example
    /// `allowed-tools: [Read, Grep]` becomes `allowed-tools: Read Grep`.
    NONSTANDARD_VALUE = "nonstandard-value", Info / Error, check;
    AGENT_SKILLS.at("Frontmatter")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    if subject.skill.dialect.id != "agent-skills" {
        return;
    }
    let root = &subject.document.root;
    for key in ["allowed-tools", "compatibility"] {
        if let Some(node) = root.get(key).filter(|node| node.sequence().is_some()) {
            findings.push(
                NONSTANDARD_VALUE
                    .at(node.span, format!("`{key}` is a list; the open standard requires text"))
                    .help(format!("write `{key}: …` on one line")),
            );
        }
    }
    let metadata = root
        .get("metadata")
        .and_then(Node::mapping)
        .map(|metadata| metadata.entries.as_slice())
        .unwrap_or_default();
    for entry in metadata.iter().filter(|entry| entry.value.scalar().is_none()) {
        let message = format!(
            "`metadata.{}` is {}; the open standard requires text",
            entry.key,
            entry.value.kind()
        );
        findings.push(
            NONSTANDARD_VALUE
                .at(entry.key_span, message)
                .help("write the value as text, or keep it for the agents that read it"),
        );
    }
}
