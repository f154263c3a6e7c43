//! `prowess kb remove`: removes documents, or a whole knowledge base.

use std::io::{self, BufRead as _, IsTerminal as _};

use clap::Args;
use prowess_knowledge::{BaseName, KnowledgeBases, ReclaimSpace};

use super::{count, failed, parse_name, waiting};
use crate::commands::Outcome;
use crate::error::Error;
use crate::terminal::printer::{Channel, Printer};

/// Remove documents from a knowledge base, or the whole base
///
/// Their text is erased from the base; the original files are not touched. Before
/// it removes a whole base, the command asks for confirmation.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess kb remove papers notes/old.md
  prowess kb remove papers --yes")]
pub(super) struct Arguments {
    /// The name of the base
    #[arg(value_name = "NAME", value_parser = parse_name)]
    name: BaseName,
    /// The documents, as `prowess kb info` lists them; the whole base if omitted
    #[arg(value_name = "DOCUMENT")]
    documents: Vec<String>,
    /// Don't ask for confirmation
    #[arg(long)]
    yes: bool,
}

pub(super) fn run(
    bases: &KnowledgeBases,
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
        // All or nothing: dropping the writer without a commit discards the removals.
        if !writer.remove(document).map_err(|error| failed(&error))? {
            return Err(Error::not_found(format!("`{name}` has no document `{document}`"))
                .hint(format!("`prowess kb info {name}` lists its documents")));
        }
    }
    writer.finish(ReclaimSpace::GiveBack).map_err(|error| failed(&error))?;
    printer.say(&format!("removed {}", count(arguments.documents.len() as u64, "document")));
    Ok(Outcome::Fine)
}

fn whole(
    bases: &KnowledgeBases,
    arguments: &Arguments,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let name = &arguments.name;
    if !bases.root().join(name.as_str()).is_dir() {
        return Err(failed(&prowess_knowledge::BaseError::Missing { name: name.to_string() }));
    }
    if !arguments.yes && !ask(bases, name, printer)? {
        printer.note(&format!("`{name}` was not removed"));
        return Ok(Outcome::Fine);
    }
    bases.remove(name, || waiting(name, printer)).map_err(|error| failed(&error))?;
    printer.say(&format!("removed knowledge base `{name}`"));
    Ok(Outcome::Fine)
}

fn ask(bases: &KnowledgeBases, name: &BaseName, printer: &mut Printer) -> Result<bool, Error> {
    if !io::stdin().is_terminal() || !printer.is_terminal(Channel::Err) {
        return Err(Error::refused(format!(
            "refusing to delete `{name}` without confirmation (not a terminal)"
        ))
        .hint("`--yes` deletes it without confirmation"));
    }
    // A damaged base can be deleted too.
    let documents = bases.base(name).and_then(|base| base.figures());
    let documents = documents.map_or_else(
        |_| "an unknown number of documents".to_owned(),
        |figures| count(figures.documents, "document"),
    );
    let question = format!("Delete `{name}` with {documents}? [y]es / [N]o: ");
    printer.piece(Channel::Err, question.as_bytes());
    let mut line = String::new();
    // End of input counts as no.
    let read = io::stdin().lock().read_line(&mut line);
    Ok(read.is_ok() && matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}
