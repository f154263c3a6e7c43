//! The programs of a script.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use crate::builtins::is_builtin;
use crate::wrappers;
use crate::{ShellCommand, ShellScript};

/// A program that a script starts, or asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramUse {
    /// Its name, or its path as written.
    pub name: String,
    /// Where it is used first.
    pub span: Range<usize>,
    /// Whether the script asks if it exists (`command -v`, `which`, `type`, `hash`), so that it may do without it.
    pub is_optional: bool,
    /// Whether the script starts it. One that is only asked for may be started by a computed name.
    pub is_started: bool,
}

/// Commands that only ask whether a program exists.
const QUERIES: &[&str] = &["hash", "type", "whence", "which"];

pub(crate) fn of(script: &ShellScript) -> Vec<ProgramUse> {
    let mut found: Vec<ProgramUse> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut add = |name: &str, span: &Range<usize>, is_query: bool| {
        if name.is_empty() || is_builtin(name) || script.functions.contains(name) {
            return;
        }
        let place = *places.entry(name.to_owned()).or_insert_with(|| {
            found.push(ProgramUse {
                name: name.to_owned(),
                span: span.clone(),
                is_optional: false,
                is_started: false,
            });
            found.len() - 1
        });
        found[place].is_optional |= is_query;
        found[place].is_started |= !is_query;
    };
    for command in &script.commands {
        let Some(name) = &command.name else { continue };
        let queried = queried(name, command);
        for word in &queried {
            add(word, &command.span, true);
        }
        if !queried.is_empty() && name != "which" {
            continue;
        }
        add(name, &command.span, false);
        for (started, span) in wrappers::started(command) {
            add(&started, &span, false);
        }
    }
    let aliases = aliases(script);
    found.retain(|program| !aliases.contains(&program.name));
    found
}

/// The names that a command asks for.
fn queried(name: &str, command: &ShellCommand) -> Vec<String> {
    let is_query = QUERIES.contains(&name)
        || name == "command"
            && command.arguments.iter().any(|word| matches!(word.text.as_str(), "-v" | "-V"));
    if !is_query {
        return Vec::new();
    }
    let words = command.arguments.iter().filter(|word| word.is_literal);
    words.map(|word| word.text.clone()).filter(|text| !text.starts_with('-')).collect()
}

/// Names that the script gives to something else.
fn aliases(script: &ShellScript) -> BTreeSet<String> {
    script
        .commands
        .iter()
        .filter(|command| command.name.as_deref() == Some("alias"))
        .flat_map(|command| &command.arguments)
        .filter_map(|word| word.text.split_once('=').map(|(name, _)| name.to_owned()))
        .collect()
}
