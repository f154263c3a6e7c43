//! Completion in a shell: verbs and options, and the names of installed skills, agents and clients.
//!
//! The script that `prowess completions` prints asks the program itself at every press of the key, so the names are those
//! of the moment.

use std::ffi::OsStr;

use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use prowess_format::client;
use prowess_store::agents;
use prowess_store::places::Scope;

use crate::packages::manager;

/// The variable by which a script asks for candidates.
pub(crate) const VARIABLE: &str = "PROWESS_COMPLETE";

/// Verbs with an argument that is the name of an installed skill, and the id of that argument.
const NAMES: &[(&str, &str)] = &[
    ("update", "names"),
    ("remove", "names"),
    ("outdated", "names"),
    ("info", "name"),
    ("which", "name"),
    ("approvals", "name"),
];

/// Verbs whose argument is the name of an installed skill or a path.
const NAMES_OR_PATHS: &[(&str, &str)] = &[("verify", "skills")];

/// Verbs with the option `--agent`.
const AGENTS: &[&str] = &["install", "which"];

/// The command line with what completes its values.
pub(crate) fn command() -> clap::Command {
    let mut command = super::command();
    command.build();
    let add = |command: clap::Command, verb: &str, argument: &str, completer: ArgValueCompleter| {
        let known = command.find_subcommand(verb);
        let is_there = known.is_some_and(|verb| {
            verb.get_arguments().any(|known| known.get_id().as_str() == argument)
        });
        if !is_there {
            return command;
        }
        let argument = argument.to_owned();
        command.mut_subcommand(verb, |verb| verb.mut_arg(argument, |it| it.add(completer)))
    };
    for (verb, argument) in NAMES {
        command = add(command, verb, argument, ArgValueCompleter::new(installed_names));
    }
    for (verb, argument) in NAMES_OR_PATHS {
        command = add(command, verb, argument, ArgValueCompleter::new(installed_names_or_paths));
    }
    for verb in AGENTS {
        command = add(command, verb, "agents", ArgValueCompleter::new(agent_names));
    }
    add(command, "check", "clients", ArgValueCompleter::new(client_names))
}

/// The skills of both lock files. A shell shows no errors, so what can't be read has no names.
fn installed_names(typed: &OsStr) -> Vec<CompletionCandidate> {
    let Ok(packages) = manager() else { return Vec::new() };
    let locks = [Scope::Project, Scope::User].map(|scope| packages.lock_file(scope));
    let mut names: Vec<String> = locks
        .iter()
        .flatten()
        .flat_map(|lock| lock.skills.keys().map(ToString::to_string))
        .collect();
    names.sort();
    names.dedup();
    candidates(typed, names.iter().map(String::as_str))
}

fn installed_names_or_paths(typed: &OsStr) -> Vec<CompletionCandidate> {
    let mut candidates = installed_names(typed);
    candidates.extend(PathCompleter::any().complete(typed));
    candidates
}

fn agent_names(typed: &OsStr) -> Vec<CompletionCandidate> {
    candidates(typed, agents::all().iter().map(|agent| agent.id))
}

fn client_names(typed: &OsStr) -> Vec<CompletionCandidate> {
    candidates(typed, client::ids().into_iter())
}

/// The words that begin with what was typed. In a list with commas, the last part is completed.
fn candidates<'w>(typed: &OsStr, words: impl Iterator<Item = &'w str>) -> Vec<CompletionCandidate> {
    let Some(typed) = typed.to_str() else { return Vec::new() };
    let (before, last) = typed.rfind(',').map_or(("", typed), |at| typed.split_at(at + 1));
    words
        .filter(|word| word.starts_with(last))
        .map(|word| CompletionCandidate::new(format!("{before}{word}")))
        .collect()
}
