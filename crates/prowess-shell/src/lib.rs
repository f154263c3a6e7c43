//! Reads what a shell script runs, without running it.
//!
//! Pure like the format crate: text in, values out. The script is parsed by a real grammar of bash, which also reads what
//! other shells have in common with it, and goes on after mistakes. No input makes it panic, and none takes long: the
//! parser has a budget of steps.
//!
//! ```
//! let script = prowess_shell::parse("if command -v jq; then curl -s https://example.org/x | sudo sh; fi");
//! let names: Vec<String> = script.programs().into_iter().map(|program| program.name).collect();
//! assert_eq!(names, ["jq", "curl", "sudo", "sh"]);
//! assert_eq!(script.hosts()[0].host, "example.org");
//! assert_eq!(script.downloads_that_run().len(), 1);
//! ```
//!
//! What a script computes is not known: a command whose name is a variable is listed without a name
//! ([`ShellCommand::name`]), and a script that could not be read to its end says so ([`ShellScript::is_complete`]).

mod builtins;
mod downloads;
mod hosts;
mod programs;
mod split;
mod syntax;
mod wrappers;

use std::collections::BTreeSet;
use std::ops::Range;

pub use hosts::{HostName, hosts_in};
pub use programs::ProgramUse;
pub use split::{Subcommand, TooComplex, WriteTarget, split, without_wrappers};

/// The longest script that is read. Longer ones are read up to here, and are not complete. Texts that are made to be slow take
/// the parser seconds at this size.
pub const MAX_SCRIPT_BYTES: usize = 256 * 1024;

/// The budget of the parser for a text that may be no script: a fixed part, and one for its length. Ordinary scripts take a
/// few reports per kilobyte.
const LEAST_REPORTS: usize = 200;
const BYTES_PER_REPORT: usize = 40;

/// How deep scripts inside scripts are read, as in `sh -c "sh -c …"`.
const MAX_NESTING: usize = 4;

/// A script, as far as its text says what it does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellScript {
    /// Every command in the order of the text, also those of functions, substitutions and branches, and those inside
    /// literal scripts (`sh -c '…'`, `eval '…'`).
    pub commands: Vec<ShellCommand>,
    /// The variables that it sets, in the order of the text.
    pub assignments: Vec<ShellAssignment>,
    /// The functions that it defines.
    pub functions: BTreeSet<String>,
    /// Whether the parser understood all of it.
    pub is_complete: bool,
    hosts: Vec<HostName>,
}

/// A command with its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCommand {
    /// Its first word; `None` if it is computed, as in `$TOOL --version`.
    pub name: Option<String>,
    /// The words after it.
    pub arguments: Vec<ShellWord>,
    /// Its place in the text. A command in a literal script has the place of that text.
    pub span: Range<usize>,
    /// The commands whose output it reads: those before it in a pipeline, and those in `$(…)`, `` `…` `` and `<(…)` among its
    /// words and redirections. They are indices into [`ShellScript::commands`].
    pub reads_from: Vec<usize>,
    /// The text of a here-document that it reads, as far as it is literal.
    pub here_document: Option<String>,
    /// Its first word as written, if that is computed.
    pub computed_name: Option<ShellWord>,
    /// The files that its output is written to.
    pub writes: Vec<ShellWord>,
}

/// A variable that is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellAssignment {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: ShellWord,
    /// Its place in the text.
    pub span: Range<usize>,
    /// The commands whose output is in the value, as indices into [`ShellScript::commands`].
    pub reads_from: Vec<usize>,
}

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellWord {
    /// The text without quotes; parts that are computed are kept as written.
    pub text: String,
    /// Whether no part of it is computed.
    pub is_literal: bool,
    /// Its place in the text.
    pub span: Range<usize>,
}

/// Reads a script.
pub fn parse(text: &str) -> ShellScript {
    parse_within(text, syntax::MAX_REPORTS)
}

/// Reads a text that may be no script at all: one that is hard to read is given up early.
pub fn parse_quickly(text: &str) -> ShellScript {
    parse_within(text, LEAST_REPORTS + text.len() / BYTES_PER_REPORT)
}

fn parse_within(text: &str, budget: usize) -> ShellScript {
    let (text, is_whole) = prefix(text, MAX_SCRIPT_BYTES);
    let mut script = ShellScript { is_complete: true, ..ShellScript::default() };
    let comments = read_into(&mut script, text, 0, None, budget);
    script.is_complete &= is_whole;
    let is_comment = |at: usize| {
        let next = comments.partition_point(|comment| comment.end <= at);
        comments.get(next).is_some_and(|comment| comment.contains(&at))
    };
    script.hosts = hosts_in(text).into_iter().filter(|host| !is_comment(host.span.start)).collect();
    script
}

/// Adds the commands of a text, and returns the places of its comments. `outer` is the place of a text inside another one.
fn read_into(
    script: &mut ShellScript,
    text: &str,
    depth: usize,
    outer: Option<&Range<usize>>,
    budget: usize,
) -> Vec<Range<usize>> {
    let first = script.commands.len();
    let first_assignment = script.assignments.len();
    let syntax::Reading { is_complete, comments } = syntax::read(text, script, budget);
    script.is_complete &= is_complete;
    if let Some(outer) = outer {
        for command in &mut script.commands[first..] {
            command.span = outer.clone();
            let words = command.arguments.iter_mut().chain(&mut command.writes);
            for word in words.chain(&mut command.computed_name) {
                word.span = outer.clone();
            }
        }
        for assignment in &mut script.assignments[first_assignment..] {
            assignment.span = outer.clone();
            assignment.value.span = outer.clone();
        }
    }
    let found = script.commands.len();
    for index in first..found {
        for (inner, span) in wrappers::inner_scripts(&script.commands[index]) {
            if depth >= MAX_NESTING {
                script.is_complete = false;
                continue;
            }
            let begin = script.commands.len();
            read_into(script, &inner, depth + 1, Some(outer.unwrap_or(&span)), budget);
            // What the inner commands read, they get from the shell around them.
            let feeds = script.commands[index].reads_from.clone();
            if let Some(command) = script.commands.get_mut(begin) {
                command.reads_from.extend(feeds);
            }
        }
    }
    comments
}

impl ShellScript {
    /// The programs that it starts or asks for, in the order of the text, each name once. Builtins of shells and functions of
    /// the script are left out; what `sudo`, `env`, `xargs`, `find -exec` and their like start is listed beside them.
    pub fn programs(&self) -> Vec<ProgramUse> {
        programs::of(self)
    }

    /// The hosts that URLs outside of comments name, in the order of the text.
    pub fn hosts(&self) -> &[HostName] {
        &self.hosts
    }

    /// The places where something is downloaded and run at once, as in `curl … | sh`.
    pub fn downloads_that_run(&self) -> Vec<Range<usize>> {
        downloads::that_run(self)
    }

    /// The files that it reads in with `.` or `source`, as far as their names are literal.
    pub fn sourced(&self) -> Vec<&ShellWord> {
        self.commands
            .iter()
            .filter(|command| matches!(command.name.as_deref(), Some("." | "source")))
            .filter_map(|command| command.arguments.first())
            .filter(|word| word.is_literal)
            .collect()
    }
}

/// The beginning of a text, and whether that is all of it.
fn prefix(text: &str, bytes: usize) -> (&str, bool) {
    if text.len() <= bytes {
        return (text, true);
    }
    let end = (0..=bytes).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    (&text[..end], false)
}
