//! `prowess schema`: JSON Schemas for editors and other programs.

use clap::Args;
use clap::builder::PossibleValuesParser;
use prowess_format::{dialect, manifest};
use serde_json::{Map, Value, json};

use super::Outcome;
use crate::skill::check_report::MANIFEST;
use crate::terminal::printer::Printer;

/// Print the JSON Schema of a dialect
///
/// The schema (draft 2020-12) describes the front matter of a SKILL.md, or the
/// whole file for a tool pack or an agent manifest. It accepts what
/// `prowess check --dialect DIALECT` accepts. Without a dialect, one schema for all
/// dialects with front matter is printed, with the schema of each under `$defs`.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess schema agent-skills
  prowess schema > skill.schema.json")]
pub(crate) struct Arguments {
    /// The dialect; all of them if omitted
    #[arg(value_name = "DIALECT", value_parser = PossibleValuesParser::new(subjects()))]
    dialect: Option<String>,
}

/// The dialects, and agent manifests, which are not a dialect.
fn subjects() -> Vec<&'static str> {
    dialect::ids().into_iter().chain([MANIFEST]).collect()
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Outcome {
    let schema = match arguments.dialect.as_deref() {
        Some(id) => match dialect::by_id(id) {
            Some(dialect) => dialect.schema(),
            None => manifest::schema(),
        },
        None => all(),
    };
    printer.json(&schema);
    Outcome::Fine
}

/// One schema for every dialect that has front matter; prose has none, and would accept anything.
fn all() -> Value {
    let dialects = || dialect::ALL.iter().filter(|dialect| dialect.id != "prose");
    let definitions: Map<String, Value> = dialects()
        .map(|dialect| {
            let mut schema = dialect.schema();
            // Only the root schema names its draft.
            if let Value::Object(map) = &mut schema {
                map.shift_remove("$schema");
            }
            (dialect.id.to_owned(), schema)
        })
        .collect();
    let references: Vec<Value> =
        dialects().map(|dialect| json!({ "$ref": format!("#/$defs/{}", dialect.id) })).collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Skill front matter of any dialect",
        "anyOf": references,
        "$defs": definitions,
    })
}
