//! The command line: the verbs, and the options that all of them have.

pub(crate) mod clients;
pub(crate) mod complete;
pub(crate) mod groups;

use std::ffi::OsString;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::error::{ContextKind, ContextValue};
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use prowess_format::dialect::{self, Dialect};

#[cfg(feature = "server")]
use crate::commands::serve;
use crate::commands::{
    agent, approvals, check, completions, convert, deprecate, doctor, exec, explain, generate_docs,
    info, install, kb, key, list, lock, login, logout, man, mcp, migrate, models, new, outdated,
    owner, pack, policy, prompt, publish, quiz, remove, render, run, runs, scan, schema, search,
    show, sign, trawl, trust, update, verify, which, whoami, workflow, yank,
};
use crate::log::LogOption;

/// Read, check, convert and run SKILL.md files of every dialect
///
/// Agents learn new abilities from Markdown files called SKILL.md, and ten
/// dialects share that file name. Prowess reads them all: it detects the dialect
/// of a file, checks it, shows what it declares, converts it, and runs its tools
/// in a sandbox with only the permissions that they declare and you approve.
#[derive(Parser)]
#[command(
    name = "prowess",
    version,
    max_term_width = 80,
    after_long_help = "\
Examples:
  prowess check examples
  prowess show examples/git-insights
  prowess convert examples/git-insights --to agent-skills
  prowess policy examples/git-insights
  prowess install ./examples/release-notes --allow-experimental
  prowess list

Exit codes:
  0  success
  1  findings at error level, the operation failed, or something exists already
  2  the arguments are wrong
  3  something that you named does not exist
  4  refused: not allowed, or nobody could be asked
`run`, `exec` and `workflow` have more, see `prowess run --help`."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) output: OutputOptions,
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// The options that every verb has: how much is printed, and the log.
#[derive(Args)]
pub(crate) struct OutputOptions {
    /// Print results and errors only
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = "Global options")]
    pub(crate) quiet: bool,
    /// Also print informational notes
    #[arg(short, long, global = true, help_heading = "Global options")]
    pub(crate) verbose: bool,
    #[arg(
        long,
        global = true,
        value_name = "LEVEL[=FILE]",
        help = "Log to standard error, or to FILE, at this level [env: PROWESS_LOG]",
        help_heading = "Global options"
    )]
    pub(crate) log: Option<LogOption>,
}

/// The verbs, with the names that other tools use for them as aliases.
///
/// `defer` builds the arguments of the verb that is called only: building all of them took a third of the time of
/// `prowess --version`. This is why the aliases are here and not beside the arguments.
#[derive(Subcommand)]
#[command(defer = true)]
pub(crate) enum Verb {
    #[command(aliases = ["lint", "validate"])]
    Check(check::Arguments),
    #[command(alias = "audit")]
    Scan(scan::Arguments),
    Show(show::Arguments),
    Convert(convert::Arguments),
    Migrate(migrate::Arguments),
    #[command(aliases = ["init", "create"])]
    New(new::Arguments),
    Render(render::Arguments),
    Run(run::Arguments),
    Exec(exec::Arguments),
    Models(models::Arguments),
    Workflow(workflow::Arguments),
    Prompt(prompt::Arguments),
    Quiz(quiz::Arguments),
    Policy(policy::Arguments),
    Approvals(approvals::Arguments),
    Runs(runs::Arguments),
    Kb(kb::Arguments),
    Search(search::Arguments),
    Trawl(trawl::Arguments),
    #[command(aliases = ["add", "i"])]
    Install(install::Arguments),
    Agent(agent::Arguments),
    Mcp(mcp::Arguments),
    #[cfg(feature = "server")]
    Serve(serve::Arguments),
    #[command(alias = "upgrade")]
    Update(update::Arguments),
    Outdated(outdated::Arguments),
    #[command(aliases = ["uninstall", "rm", "delete"])]
    Remove(remove::Arguments),
    #[command(alias = "ls")]
    List(list::Arguments),
    Info(info::Arguments),
    #[command(alias = "where")]
    Which(which::Arguments),
    Verify(verify::Arguments),
    Lock(lock::Arguments),
    Pack(pack::Arguments),
    Publish(publish::Arguments),
    Yank(yank::Arguments),
    Deprecate(deprecate::Arguments),
    Owner(owner::Arguments),
    Login(login::Arguments),
    Logout(logout::Arguments),
    Whoami(whoami::Arguments),
    #[cfg(feature = "server")]
    Registry(crate::commands::registry::Arguments),
    Key(key::Arguments),
    Sign(sign::Arguments),
    Trust(trust::Arguments),
    Explain(explain::Arguments),
    Doctor(doctor::Arguments),
    Schema(schema::Arguments),
    Completions(completions::Arguments),
    Man(man::Arguments),
    #[command(hide = true)]
    GenerateDocs(generate_docs::Arguments),
}

/// The option `--dialect` of every verb that reads a skill.
#[derive(Args, Clone, Copy)]
pub(crate) struct DialectOption {
    /// Read the skill as this dialect, instead of detecting it
    #[arg(long = "dialect", value_name = "DIALECT", value_parser = dialect_parser())]
    pub(crate) dialect: Option<&'static Dialect>,
}

/// Parses the id of a dialect.
pub(crate) fn dialect_parser() -> impl clap::builder::TypedValueParser<Value = &'static Dialect> {
    PossibleValuesParser::new(dialect::ids())
        .map(|id| dialect::by_id(&id).expect("the possible values are the ids of dialects"))
}

/// The verbs that users see.
pub(crate) fn verbs(command: &clap::Command) -> impl Iterator<Item = &clap::Command> {
    command.get_subcommands().filter(|verb| !verb.is_hide_set())
}

/// The verbs that users see, group by group.
pub(crate) fn verbs_in_groups(command: &clap::Command) -> Vec<&clap::Command> {
    let groups = groups::grouped(command);
    let names = groups.iter().flat_map(|(_, verbs)| verbs).map(|verb| verb.name.as_str());
    names.filter_map(|name| command.find_subcommand(name)).collect()
}

/// Reads this process's arguments.
pub(crate) fn parse() -> Result<Cli, clap::Error> {
    let arguments = with_hyphened_words(std::env::args_os().collect());
    let mut command = Cli::command();
    if !begins_with_verb(&command, &arguments) {
        // The list of all verbs shows what each is for, which is defined with its arguments.
        command.build();
        command = groups::with_groups(command);
    }
    let mut matches = command.try_get_matches_from_mut(arguments)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Whether the arguments start with a verb or ask for the version, so that no help about all verbs is needed.
fn begins_with_verb(command: &clap::Command, arguments: &[OsString]) -> bool {
    let global = ["-q", "--quiet", "-v", "--verbose"];
    let mut words = arguments.iter().skip(1).filter_map(|word| word.to_str());
    let first = words.find(|word| !global.contains(word));
    first.is_some_and(|word| {
        matches!(word, "-V" | "--version") || command.find_subcommand(word).is_some()
    })
}

/// A hint for a verb that other tools have and this one does not.
pub(crate) fn unknown_verb_hint(error: &clap::Error) -> Option<&'static str> {
    const OTHERS: [(&str, &str); 1] =
        [("unpublish", "`prowess yank NAME@VERSION` keeps a version from being chosen")];
    let ContextValue::String(word) = error.get(ContextKind::InvalidSubcommand)? else {
        return None;
    };
    OTHERS.into_iter().find(|(other, _)| other == word).map(|(_, hint)| hint)
}

/// Moves the words of `kb search` after a `--`, so that a word may start with a hyphen.
///
/// In a query nothing is an operator: `-word` is a word too, unless it is an option.
fn with_hyphened_words(arguments: Vec<OsString>) -> Vec<OsString> {
    let is_word = |text: &OsString| {
        let text = text.to_string_lossy();
        text.len() > 1 && text.starts_with('-') && !text.starts_with("--")
    };
    let verbs = |at: usize| arguments.get(at).is_some_and(|it| it == ["kb", "search"][at - 1]);
    if !(verbs(1) && verbs(2) && arguments[3..].iter().any(is_word)) {
        return arguments;
    }
    let mut command = command();
    command.build();
    let search = command.find_subcommand("kb").and_then(|kb| kb.find_subcommand("search"));
    let options: Vec<&clap::Arg> =
        search.map(|it| it.get_arguments().collect()).unwrap_or_default();
    let is_option = |text: &str| match text.strip_prefix("--") {
        Some(_) => true,
        None => text.strip_prefix('-').is_some_and(|letters| {
            let known = |letter| options.iter().any(|option| option.get_short() == Some(letter));
            !letters.is_empty() && letters.chars().all(known)
        }),
    };
    let takes_value = |text: &str| {
        let named = |option: &&clap::Arg| option.get_long() == text.strip_prefix("--");
        options.iter().any(|option| named(option) && option.get_action().takes_values())
    };
    let mut sorted = arguments[..3].to_vec();
    let mut words = Vec::new();
    let mut rest = arguments[3..].iter();
    while let Some(argument) = rest.next() {
        let text = argument.to_string_lossy();
        if text == "--" {
            words.extend(rest.by_ref().cloned());
        } else if is_option(&text) {
            sorted.push(argument.clone());
            if takes_value(&text) {
                sorted.extend(rest.next().cloned());
            }
        } else {
            words.push(argument.clone());
        }
    }
    sorted.push("--".into());
    sorted.extend(words);
    sorted
}

/// The whole command line as data, for completions, man pages and the reference.
///
/// Without clap's own verb `help`, which would list hidden verbs.
pub(crate) fn command() -> clap::Command {
    Cli::command().disable_help_subcommand(true)
}
