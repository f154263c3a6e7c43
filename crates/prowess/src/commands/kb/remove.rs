//! `prowess kb remove`: documents, or a whole base.

use std::io::{self, BufRead as _, IsTerminal as _};

use clap::Args;
use prowess_knowledge::{BaseName, Bases, Room};

use super::{count, failed, parse_name, waiting};
use crate::commands::Outcome;
use crate::error::Error;
use crate::terminal::printer::{Channel, Printer};

/// Take documents out of a knowledge base, or take the whole base away
///
/// What is taken away is gone from the disk; the files that it was made of stay
/// where they are. A whole base is taken away only after a question.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess kb remove papers notes/old.md
  prowess kb remove papers --yes")]
pub(super) struct Arguments {
    /// The base
    #[arg(value_name = "NAME", value_parser = parse_name)]
    name: BaseName,
    /// Documents, as `prowess kb info` calls them; none for the whole base
    #[arg(value_name = "DOCUMENT")]
    documents: Vec<String>,
    /// Don't ask before a whole base is taken away
    #[arg(long)]
    yes: bool,
}

pub(super) fn run(
    bases: &Bases,
    arguments: &Arguments,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let name = &arguments.name;
    if arguments.documents.is_empty() {
        return whole(bases, arguments, printer);
    }
    let mut writer =
        bases.writer(name, || waiting(name, printer)).map_err(|error| failed(&error))?;
    for document in &arguments.documents {
        // All or none: dropping the writer forgets what was removed before.
        if !writer.remove(document).map_err(|error| failed(&error))? {
            return Err(Error::not_found(format!("`{name}` has no document `{document}`"))
                .hint(format!("`prowess kb info {name}` lists its documents")));
        }
    }
    writer.finish(Room::GiveBack).map_err(|error| failed(&error))?;
    printer.say(&format!("removed {}", count(arguments.documents.len() as u64, "document")));
    Ok(Outcome::Fine)
}

fn whole(bases: &Bases, arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let name = &arguments.name;
    if !bases.root().join(name.as_str()).is_dir() {
        return Err(failed(&prowess_knowledge::BaseError::Missing { name: name.to_string() }));
    }
    if !arguments.yes && !ask(bases, name, printer)? {
        printer.note(&format!("`{name}` stays"));
        return Ok(Outcome::Fine);
    }
    bases.remove(name, || waiting(name, printer)).map_err(|error| failed(&error))?;
    printer.say(&format!("removed knowledge base `{name}`"));
    Ok(Outcome::Fine)
}

fn ask(bases: &Bases, name: &BaseName, printer: &mut Printer) -> Result<bool, Error> {
    if !io::stdin().is_terminal() || !printer.is_terminal(Channel::Err) {
        return Err(Error::usage(format!(
            "refusing to delete `{name}` without confirmation (not a terminal)"
        ))
        .hint("`--yes` takes it away without a question"));
    }
    // A damaged base can be taken away too.
    let documents = bases.base(name).and_then(|base| base.figures());
    let documents = documents.map_or_else(
        |_| "all that is left of it".to_owned(),
        |figures| count(figures.documents, "document"),
    );
    let question = format!("take away `{name}` with {documents}? [y]es / [N]o: ");
    printer.piece(Channel::Err, question.as_bytes());
    let mut line = String::new();
    // The end of the input is no answer, and no answer is a no.
    let read = io::stdin().lock().read_line(&mut line);
    Ok(read.is_ok() && matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}
