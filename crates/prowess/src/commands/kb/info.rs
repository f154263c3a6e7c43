//! `prowess kb info`: shows a knowledge base and its documents.

use std::fmt::Write as _;

use clap::Args;
use prowess_knowledge::{BaseName, DocumentRecord, KnowledgeBases};
use serde_json::{Value, json};

use super::{Format, failed, parse_name, size};
use crate::commands::Outcome;
use crate::error::Error;
use crate::terminal::printer::{Printer, inline};

/// Show a knowledge base and its documents
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess kb info papers
  prowess kb info papers --verify
  prowess kb info papers --format json

Exit codes:
  0  success
  1  `--verify` has found damage")]
pub(super) struct Arguments {
    /// The name of the base
    #[arg(value_name = "NAME", value_parser = parse_name)]
    name: BaseName,
    /// Check that every passage is what was indexed
    #[arg(long)]
    verify: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(super) fn run(
    bases: &KnowledgeBases,
    arguments: &Arguments,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let base = bases.base(&arguments.name).map_err(|error| failed(&error))?;
    let settings = base.settings();
    let figures = base.figures().map_err(|error| failed(&error))?;
    let documents = base.documents().map_err(|error| failed(&error))?;
    let verdict = arguments.verify.then(|| base.verify()).transpose();
    let verdict = verdict.map_err(|error| failed(&error))?;
    let embedder = settings.embedder.as_ref().map(ToString::to_string);
    match arguments.format {
        Format::Json => {
            let problems = verdict.as_ref().map(|verdict| &verdict.problems);
            printer.json(&json!({
                "name": arguments.name.as_str(),
                "language": settings.language.code(),
                "embedder": embedder,
                "chunks": figures.chunks,
                "text_bytes": figures.text_bytes,
                "disk_bytes": figures.disk_bytes,
                "documents": documents.iter().map(wire).collect::<Vec<Value>>(),
                "problems": problems,
            }));
        }
        Format::Text => {
            let mut page = format!("{}\n", arguments.name);
            let _ = writeln!(page, "  language   {}", settings.language.name());
            let embedder = embedder.unwrap_or_else(|| "none (full-text search only)".to_owned());
            let _ = writeln!(page, "  embedder   {}", inline(&embedder));
            let _ = writeln!(page, "  documents  {}", figures.documents);
            let _ = writeln!(page, "  chunks     {}", figures.chunks);
            let _ = writeln!(page, "  text       {}", size(figures.text_bytes));
            let _ = writeln!(page, "  on disk    {}", size(figures.disk_bytes));
            for document in &documents {
                let _ = write!(page, "{}  {}", inline(&document.id), size(document.bytes));
                for (name, value) in &document.fields {
                    let _ = write!(page, "  {}={}", inline(name), inline(value));
                }
                page.push('\n');
            }
            printer.report(&page);
        }
    }
    let Some(verdict) = verdict else { return Ok(Outcome::Fine) };
    for problem in &verdict.problems {
        printer.warning(problem);
    }
    if !verdict.problems.is_empty() {
        printer.note("create the base again with `prowess kb new`, and add its documents again");
        return Ok(Outcome::Findings);
    }
    printer.say(&format!("all {} chunks are what was indexed", verdict.chunks));
    Ok(Outcome::Fine)
}

fn wire(document: &DocumentRecord) -> Value {
    json!({
        "id": document.id,
        "format": document.format.as_str(),
        "title": document.title,
        "text_bytes": document.bytes,
        "pages": (!document.pages.is_empty()).then_some(document.pages.len()),
        "fields": document.fields,
    })
}
