//! `undeclared-placeholder`.

use crate::diagnostic::{Findings, rule};
use crate::rules::Subject;
use crate::template;
use crate::text::closest;

rule! {
    /// ## What it does
    /// Flags a placeholder in a prompt that no input declares.
    ///
    /// ## Why is this bad?
    /// It becomes an empty text at run time; creating such a skill is refused (AFL §5.3, R12).
    ///
    /// ## Example
    /// Add the input.
    UNDECLARED_PLACEHOLDER = "undeclared-placeholder", Error / Error, check
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    let mut names: Vec<&str> = Vec::new();
    let mut first = None;
    for (name, span) in template::undeclared(subject.skill, subject.document) {
        // AFL §5.3 checks word characters only.
        if !name.contains('-') && !names.contains(&name) {
            names.push(name);
            first = first.or(Some(span));
        }
    }
    let Some(span) = first else { return };
    names.sort_unstable();
    let list = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let known: Vec<&str> = subject.skill.inputs.iter().map(|input| input.name.as_str()).collect();
    let help = match (names.as_slice(), closest(names[0], known)) {
        ([_], Some(similar)) => format!("did you mean `{{{{{similar}}}}}`?"),
        _ => "declare them under `inputs:`".to_owned(),
    };
    findings.push(UNDECLARED_PLACEHOLDER.at(span, format!("undeclared placeholders: {list}")).help(help));
}
