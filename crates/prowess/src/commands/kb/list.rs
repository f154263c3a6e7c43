//! `prowess kb list`: lists the knowledge bases.

use std::fmt::Write as _;

use clap::Args;
use prowess_knowledge::KnowledgeBases;
use serde_json::{Value, json};

use super::{Format, count, failed, size};
use crate::commands::Outcome;
use crate::error::Error;
use crate::terminal::printer::Printer;

/// List the knowledge bases of this machine
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess kb list
  prowess kb list --format json")]
pub(super) struct Arguments {
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(super) fn run(
    bases: &KnowledgeBases,
    arguments: &Arguments,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let names = bases.names().map_err(|error| failed(&error))?;
    let width = names.iter().map(|name| name.as_str().chars().count()).max().unwrap_or_default();
    let mut text = String::new();
    let mut list: Vec<Value> = Vec::new();
    let mut outcome = Outcome::Fine;
    for name in names {
        // A base that can't be read does not hide the others.
        let read = bases.base(&name).and_then(|base| Ok((base.figures()?, base)));
        let (figures, base) = match read {
            Ok(read) => read,
            Err(error) => {
                printer.warning(&error.to_string());
                outcome = Outcome::Findings;
                continue;
            }
        };
        let vectors =
            if base.settings().embedder.is_some() { "words and vectors" } else { "words" };
        let _ = writeln!(
            text,
            "{:width$}  {}, {} of text, {}, {vectors}",
            name.as_str(),
            count(figures.documents, "document"),
            size(figures.text_bytes),
            base.settings().language,
        );
        list.push(json!({
            "name": name.as_str(),
            "documents": figures.documents,
            "chunks": figures.chunks,
            "text_bytes": figures.text_bytes,
            "language": base.settings().language.code(),
            "vectors": base.settings().embedder.is_some(),
        }));
    }
    match arguments.format {
        Format::Json => printer.json(&json!({ "bases": list })),
        Format::Text if text.is_empty() && outcome == Outcome::Fine => {
            printer.note("there is no knowledge base; `prowess kb new NAME` creates one");
        }
        Format::Text => printer.report(&text),
    }
    Ok(outcome)
}
