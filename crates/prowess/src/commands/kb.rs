//! `prowess kb`: knowledge bases on this machine.

mod add;
mod info;
mod list;
mod new;
mod remove;
mod search;

#[cfg(feature = "server")]
pub(super) use new::embedder;

use clap::{Args, Subcommand, ValueEnum};
use prowess_knowledge::{BaseError, BaseName};

use super::Outcome;
use crate::error::{Error, ErrorKind};
use crate::run::prompt_run;
use crate::session;
use crate::terminal::printer::Printer;

/// Create, fill and search knowledge bases
///
/// A knowledge base holds your documents, so that prompt skills can answer from
/// them and cite the exact source. It is a folder on this machine with a full-text
/// index. Nothing is sent anywhere unless you choose an embedder that is a server.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess kb new papers
  prowess kb add papers ~/papers
  prowess kb search papers boundary layer control
  prowess kb info papers")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    New(new::Arguments),
    Add(add::Arguments),
    List(list::Arguments),
    Search(search::Arguments),
    Remove(remove::Arguments),
    Info(info::Arguments),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let bases = prompt_run::bases(session::library()?.world());
    match &arguments.action {
        Action::New(arguments) => new::run(&bases, arguments, printer),
        Action::Add(arguments) => add::run(&bases, arguments, printer),
        Action::List(arguments) => list::run(&bases, arguments, printer),
        Action::Search(arguments) => search::run(&bases, arguments, printer),
        Action::Remove(arguments) => remove::run(&bases, arguments, printer),
        Action::Info(arguments) => info::run(&bases, arguments, printer),
    }
}

fn parse_name(text: &str) -> Result<BaseName, String> {
    text.parse().map_err(|error: prowess_knowledge::InvalidBaseName| error.to_string())
}

/// Parses `NAME=VALUE`, a field of documents.
fn parse_field(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, "")) => Err(format!("`{name}` has no value: expected `NAME=VALUE`")),
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected `NAME=VALUE`".to_owned()),
    }
}

/// Parses a field that the user adds to documents; built-in fields are refused.
fn parse_own_field(text: &str) -> Result<(String, String), String> {
    let (name, value) = parse_field(text)?;
    if prowess_knowledge::FIELDS_OF_ALL.contains(&name.as_str()) {
        return Err(format!("`{name}` is a built-in field of every document: choose another name"));
    }
    Ok((name, value))
}

fn failed(error: &BaseError) -> Error {
    let kind = match error {
        BaseError::Missing { .. } => ErrorKind::NotFound,
        _ => ErrorKind::Failed,
    };
    let failed = Error { kind, ..Error::failed(error.to_string()) };
    crate::render::problem_text::hints(&error.remedies()).into_iter().fold(failed, Error::hint)
}

/// Prints why nothing happens yet.
fn waiting(name: &BaseName, printer: &mut Printer) {
    printer.note(&format!("waiting for another process that writes to `{name}`"));
}

/// A number of bytes with a unit.
fn size(bytes: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "one digit is shown")]
    let shown = |unit: u64| bytes as f64 / unit as f64;
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.1} kB", shown(1_000)),
        1_000_000..1_000_000_000 => format!("{:.1} MB", shown(1_000_000)),
        _ => format!("{:.1} GB", shown(1_000_000_000)),
    }
}

/// `1 document`, `2 documents`.
fn count(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{ending}")
}
