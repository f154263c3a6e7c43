//! Renders a workflow as a Mermaid diagram.

use std::fmt::Write as _;

use super::graph::{Task, Workflow};

/// A flowchart: shapes denote the node types, and edges of conditions have labels.
pub fn mermaid(workflow: &Workflow) -> String {
    let mut picture = "flowchart TD\n".to_owned();
    for (number, node) in workflow.nodes.iter().enumerate() {
        let (open, close) = match &node.task {
            Task::Start { .. } | Task::End { .. } => ("([", "])"),
            Task::Llm(_) => ("[", "]"),
            Task::Skill(_) => ("[[", "]]"),
            Task::Knowledge { .. } => ("[(", ")]"),
            Task::Condition { .. } => ("{", "}"),
            Task::Http(_) => (">", "]"),
            Task::Code(_) => ("[/", "/]"),
        };
        let name = node.label.as_deref().unwrap_or(&node.id);
        let detail = match &node.task {
            Task::Start { variable } => Some(variable.clone()),
            Task::Llm(llm) => llm.skill.as_ref().map(|used| used.name.value.clone()),
            Task::Skill(used) => Some(used.name.value.clone()),
            Task::Knowledge { base } => Some(base.value.clone()),
            Task::Condition { text, .. } => Some(text.value.clone()),
            Task::Http(http) => Some(format!("{} {}", http.method, http.url.0.value)),
            Task::Code(_) | Task::End { .. } => None,
        };
        let detail = detail.map_or(String::new(), |detail| format!("<br>{}", escaped(&detail)));
        let kind = node.task.kind();
        let (name, kind) =
            (escaped(name), if name == kind { String::new() } else { format!("{kind}: ") });
        let _ = writeln!(picture, "  n{number}{open}\"{kind}{name}{detail}\"{close}");
    }
    for edge in &workflow.edges {
        let answer = edge.branch.map_or(String::new(), |answer| format!("|{answer}|"));
        let _ = writeln!(picture, "  n{} -->{answer} n{}", edge.source, edge.target);
    }
    picture
}

/// Escapes text in Mermaid's notation, so that it can't end its quotes or become markup.
fn escaped(text: &str) -> String {
    /// Maximum length of a label.
    const MAX_LABEL: usize = 60;
    let shown = prowess_format::text::shorten(text, MAX_LABEL);
    let shown = prowess_format::text::visible(&shown).into_owned();
    shown.chars().fold(String::new(), |mut all, character| {
        match character {
            '"' | '#' | '<' | '>' | '&' | '`' | '{' | '}' | '\n' => {
                let _ = write!(all, "#{};", u32::from(character));
            }
            _ => all.push(character),
        }
        all
    })
}
