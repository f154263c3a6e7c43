//! `unusable-handler`.

use crate::diagnostic::{Findings, Severity, rule};
use crate::rules::{Subject, is_inside};
use crate::specification::GAIA;

rule! {
    /// ## What it does
    /// Flags an action whose handler can't be called: it is outside the skill directory, does not exist, is not Python, or names no function.
    ///
    /// ## Why is this bad?
    /// Migrating the skill needs a Python function for each action; other actions have to be migrated by hand.
    ///
    /// ## Example
    /// `handler: "handlers/search.py:search"`
    UNUSABLE_HANDLER = "unusable-handler", Warning / Warning, check;
    GAIA.at("8.2")
}

fn check(subject: &Subject<'_>, findings: &mut Findings) {
    for tool in &subject.skill.tools {
        let Some(handler) = &tool.handler else { continue };
        let (path, function) = match handler.value.rsplit_once(':') {
            Some((path, function)) if !function.contains(['/', '\\']) => (path, Some(function)),
            _ => (handler.value.as_str(), None),
        };
        let python = path
            .rsplit_once('.')
            .is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("py"));
        let (severity, problem, help) = if !is_inside(path) {
            (
                Severity::Error,
                format!("`{path}` leaves the skill directory"),
                "name a file of the skill".to_owned(),
            )
        } else if subject.place.files.is_some_and(|files| !files.exists(path)) {
            (
                Severity::Warning,
                format!("`{path}` does not exist"),
                "add the file, or fix the path".to_owned(),
            )
        } else if !python {
            (
                Severity::Warning,
                format!("`{path}` is not Python, so it has to be migrated by hand"),
                "rewrite the handler as a Python function".to_owned(),
            )
        } else if function.is_none_or(str::is_empty) {
            (
                Severity::Warning,
                format!("`{}` names no function; `{}` is assumed", handler.value, tool.name.value),
                format!("write `{path}:{}`", tool.name.value),
            )
        } else {
            continue;
        };
        findings.push(
            UNUSABLE_HANDLER.at(handler.span, problem).severity(severity, severity).help(help),
        );
    }
}
