//! `undeclared-placeholder`.

use std::collections::BTreeSet;

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::specification::AGENT_FLOW;
use crate::template;
use crate::text::closest;

rule! {
    /// ## What it does
    /// Flags a placeholder in a prompt that no input declares.
    ///
    /// ## Why is this bad?
    /// It becomes an empty string at run time; servers reject such a skill.
    ///
    /// ## Example
    /// Add the input.
    UNDECLARED_PLACEHOLDER = "undeclared-placeholder", Error / Error, check;
    AGENT_FLOW.at("5.3")
}

/// Maximum number of names in a message.
const MAX_SHOWN: usize = 50;

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let mut first = None;
    for (name, span) in template::undeclared(subject.skill, subject.document) {
        // AFL §5.3 checks word characters only.
        if !name.contains('-') && names.insert(name) {
            first = first.or(Some(span));
        }
    }
    let Some(span) = first else { return };
    let names: Vec<&str> = names.into_iter().collect();
    let mut list =
        names.iter().take(MAX_SHOWN).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if names.len() > MAX_SHOWN {
        list = format!("{list} and {} more", names.len() - MAX_SHOWN);
    }
    let known: Vec<&str> = subject.skill.inputs.iter().map(|input| input.name.as_str()).collect();
    let help = match (names.as_slice(), closest(names[0], known)) {
        ([_], Some(similar)) => format!("did you mean `{{{{{similar}}}}}`?"),
        _ => "declare them under `inputs:`".to_owned(),
    };
    findings.push(
        UNDECLARED_PLACEHOLDER.at(span, format!("undeclared placeholders: {list}")).help(help),
    );
}
