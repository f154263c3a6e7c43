//! What is downloaded and run at once.

use std::ops::Range;

use crate::wrappers::{base_name, innermost, is_shell};
use crate::{ShellCommand, ShellScript};

/// Programs that download to their standard output.
const DOWNLOADERS: &[&str] = &["aria2c", "axel", "curl", "fetch", "http", "https", "wget", "xh"];

/// Programs that run what they read, beside shells.
const INTERPRETERS: &[&str] = &["bun", "deno", "node", "osascript", "perl", "php", "pwsh", "ruby"];

pub(crate) fn that_run(script: &ShellScript) -> Vec<Range<usize>> {
    let runs = |command: &ShellCommand| {
        innermost(command).is_some_and(|(name, _)| {
            let name = base_name(name);
            is_shell(name)
                || name.starts_with("python")
                || INTERPRETERS.contains(&name)
                || matches!(name, "eval" | "." | "source")
        })
    };
    let commands = &script.commands;
    let is_fed = fed_by_downloads(commands);
    let readers =
        commands.iter().enumerate().filter(|(index, command)| is_fed[*index] && runs(command));
    let mut found: Vec<Range<usize>> = readers
        .map(|(_, command)| {
            let sources = command.reads_from.iter().filter_map(|source| commands.get(*source));
            sources.fold(command.span.clone(), |span, source| {
                span.start.min(source.span.start)..span.end.max(source.span.end)
            })
        })
        .collect();
    found.dedup();
    found
}

/// Of each command, whether it reads what a download writes, directly or through others.
fn fed_by_downloads(commands: &[ShellCommand]) -> Vec<bool> {
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); commands.len()];
    for (index, command) in commands.iter().enumerate() {
        for source in &command.reads_from {
            if let Some(readers) = readers.get_mut(*source) {
                readers.push(index);
            }
        }
    }
    let is_download = |command: &ShellCommand| {
        innermost(command).is_some_and(|(name, _)| DOWNLOADERS.contains(&base_name(name)))
    };
    let mut open: Vec<usize> =
        (0..commands.len()).filter(|at| is_download(&commands[*at])).collect();
    let mut is_fed = vec![false; commands.len()];
    while let Some(next) = open.pop() {
        for reader in &readers[next] {
            if !std::mem::replace(&mut is_fed[*reader], true) {
                open.push(*reader);
            }
        }
    }
    is_fed
}
