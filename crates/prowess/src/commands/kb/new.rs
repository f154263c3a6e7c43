//! `prowess kb new`: an empty base.

use std::path::Path;

use clap::Args;
use prowess_knowledge::embed::{self, Embedder as _, Stamp};
use prowess_knowledge::{BaseName, Bases, Language, Settings};

use super::{failed, parse_name};
use crate::commands::Outcome;
use crate::error::Error;
use crate::terminal::printer::Printer;

/// Make an empty knowledge base
///
/// Searches go by words, reduced to their stems. With an embedder they go by
/// meaning as well, and the two rankings are fused. The embedder can't be
/// changed later, because vectors of two embedders can't be compared.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess kb new papers
  prowess kb new handbuch --language de
  prowess kb new papers --embedder l2_supercat_256.safetensors
  prowess kb new papers --embedder http://127.0.0.1:11434/v1/embeddings \\
      --embedding-model nomic-embed-text

The key of an embedder that wants one is read from PROWESS_EMBEDDER_KEY.")]
pub(super) struct Arguments {
    /// Its name: letters, digits, `-`, `_` and `.`
    #[arg(value_name = "NAME", value_parser = parse_name)]
    name: BaseName,
    /// The language of its documents, such as `en`, or `none`
    #[arg(long, value_name = "LANGUAGE", default_value = "en", value_parser = parse_language)]
    language: Language,
    /// A file of static embeddings, or the address of a server's embeddings
    #[arg(long, value_name = "FILE|URL")]
    embedder: Option<String>,
    /// The model to ask the server for
    #[arg(long, value_name = "MODEL", requires = "embedder")]
    embedding_model: Option<String>,
}

fn parse_language(text: &str) -> Result<Language, String> {
    text.parse().map_err(|error: prowess_knowledge::UnknownLanguage| error.to_string())
}

pub(super) fn run(
    bases: &Bases,
    arguments: &Arguments,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let name = &arguments.name;
    // Before a table is copied or a server asked.
    if bases.base(name).is_ok() {
        let exists = prowess_knowledge::BaseError::Exists { name: name.to_string() };
        return Err(failed(&exists));
    }
    let embedder = embedder(bases, arguments)?;
    let settings = Settings { language: arguments.language, embedder };
    bases.create(name, &settings).map_err(|error| failed(&error))?;
    printer.say(&format!("made knowledge base `{name}`"));
    printer.note(&format!("`prowess kb add {name} FILE…` puts documents into it"));
    Ok(Outcome::Fine)
}

fn embedder(bases: &Bases, arguments: &Arguments) -> Result<Option<Stamp>, Error> {
    let Some(given) = &arguments.embedder else { return Ok(None) };
    let is_url = given.starts_with("http://") || given.starts_with("https://");
    match (is_url, &arguments.embedding_model) {
        (true, Some(model)) => {
            let endpoint = embed::Endpoint::ask(given, model);
            let endpoint = endpoint.map_err(|error| failed(&error.into()))?;
            Ok(Some(endpoint.stamp().clone()))
        }
        (true, None) => {
            Err(Error::usage(format!("`{given}` is a server, and it may have many models"))
                .hint("name one with `--embedding-model MODEL`"))
        }
        (false, Some(_)) => {
            Err(Error::usage("`--embedding-model` is for servers, and a file has no models")
                .hint("leave it out, or give the address of a server"))
        }
        (false, None) => {
            let table = embed::Table::keep(Path::new(given), bases.root());
            Ok(Some(table.map_err(|error| failed(&error))?.stamp().clone()))
        }
    }
}
