//! What a skill can make an agent do, for people: grouped, and never more lines than somebody reads.

use prowess_store::capabilities::{Capability, CapabilityKind};

use crate::terminal::printer::inline;

/// Said of every skill, because no permission bounds what an agent does that follows a text.
pub(crate) const AGENT_RIGHTS: &str = "follows its text with the agent's own rights";

/// The most names in one line.
const MOST_NAMES: usize = 12;
/// The most lines of a group whose entries have a line each.
const MOST_LINES: usize = 8;

/// The lines about some capabilities, by kind. `prefix` is a word before each group, such as "new".
pub(crate) fn lines(capabilities: &[&Capability], prefix: &str) -> Vec<String> {
    let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix} ") };
    let mut lines = Vec::new();
    for kind in CapabilityKind::ALL {
        let group: Vec<&Capability> =
            capabilities.iter().copied().filter(|one| one.kind == kind).collect();
        if group.is_empty() {
            continue;
        }
        match kind {
            CapabilityKind::Hook => one_each(&mut lines, &group, &prefix, "hook"),
            CapabilityKind::Command => {
                one_each(&mut lines, &group, &prefix, "command that runs when it is loaded");
            }
            CapabilityKind::Recipe => one_each(&mut lines, &group, &prefix, "install command"),
            CapabilityKind::Tool => lines.push(names(&group, &prefix, "pre-approved tool")),
            CapabilityKind::Script => lines.push(names(&group, &prefix, "script")),
            CapabilityKind::Program => lines.push(names(&group, &prefix, "program")),
            CapabilityKind::Host => lines.push(names(&group, &prefix, "host")),
            CapabilityKind::Variable => lines.push(names(&group, &prefix, "environment variable")),
            CapabilityKind::Rest => {
                lines.extend(group.iter().map(|one| inline(&one.text).into_owned()));
            }
        }
    }
    lines
}

fn one_each(lines: &mut Vec<String>, group: &[&Capability], prefix: &str, noun: &str) {
    for one in group.iter().take(MOST_LINES) {
        let place = format!("{}:{}", one.file, one.line);
        lines.push(format!("{prefix}{noun}: {} ({})", inline(&one.text), inline(&place)));
    }
    let more = group.len().saturating_sub(MOST_LINES);
    if more > 0 {
        lines.push(format!("{prefix}{noun}: {more} more"));
    }
}

fn names(group: &[&Capability], prefix: &str, noun: &str) -> String {
    let name = |one: &&Capability| match &one.note {
        Some(note) => format!("{} [{}]", inline(&one.text), inline(note)),
        None => inline(&one.text).into_owned(),
    };
    let names: Vec<String> = group.iter().take(MOST_NAMES).map(name).collect();
    let plural = if group.len() == 1 { "" } else { "s" };
    let more = match group.len().saturating_sub(MOST_NAMES) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("{prefix}{noun}{plural}: {}{more}", names.join(", "))
}

/// Paths for people, the first of them and how many more there are.
pub(crate) fn paths(paths: &[String]) -> String {
    let shown: Vec<String> =
        paths.iter().take(MOST_NAMES).map(|path| inline(path).into_owned()).collect();
    match paths.len().saturating_sub(MOST_NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capability(kind: CapabilityKind, text: &str) -> Capability {
        let note = None;
        Capability { kind, text: text.to_owned(), note, file: "SKILL.md".to_owned(), line: 3 }
    }

    #[test]
    fn many_are_counted_and_few_are_named() {
        let hosts: Vec<Capability> = (0..40)
            .map(|number| capability(CapabilityKind::Host, &format!("h{number}.example")))
            .collect();
        let hooks: Vec<Capability> = (0..10)
            .map(|number| capability(CapabilityKind::Hook, &format!("Stop: run {number}")))
            .collect();
        let all: Vec<&Capability> = hosts.iter().chain(&hooks).collect();
        let shown = lines(&all, "new");
        assert_eq!(shown.len(), MOST_LINES + 2);
        assert_eq!(shown[0], "new hook: Stop: run 0 (SKILL.md:3)");
        assert_eq!(shown[MOST_LINES], "new hook: 2 more");
        assert!(
            shown[MOST_LINES + 1].starts_with("new hosts: h0.example, h1.example"),
            "{shown:?}"
        );
        assert!(shown[MOST_LINES + 1].ends_with("h11.example and 28 more"), "{shown:?}");
    }
}
