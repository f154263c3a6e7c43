//! `prowess kb new`: creates an empty knowledge base.

use std::path::Path;

use clap::Args;
use prowess_knowledge::embed::{self, Embedder as _, EmbedderIdentity};
use prowess_knowledge::{BaseName, BaseSettings, KnowledgeBases, Language};

use super::{failed, parse_name};
use crate::commands::Outcome;
use crate::error::Error;
use crate::terminal::printer::Printer;

/// Create an empty knowledge base
///
/// Search is full-text, with stemming. With an embedder, vector search is added
/// and the two rankings are fused. The embedder can't be changed later, because
/// vectors of two embedders can't be compared.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess kb new papers
  prowess kb new handbuch --language de
  prowess kb new papers --embedder l2_supercat_256.safetensors
  prowess kb new papers --embedder http://127.0.0.1:11434/v1/embeddings \\
      --embedding-model nomic-embed-text

The API key of an embedder is read from PROWESS_EMBEDDER_KEY.")]
pub(super) struct Arguments {
    /// The name of the base: letters, digits, `-`, `_` and `.`
    #[arg(value_name = "NAME", value_parser = parse_name)]
    name: BaseName,
    /// The language of the documents, such as `en`, or `none`
    #[arg(long, value_name = "LANGUAGE", default_value = "en", value_parser = parse_language)]
    language: Language,
    /// A file of static embeddings, or the URL of an embeddings endpoint
    #[arg(long, value_name = "FILE|URL")]
    embedder: Option<String>,
    /// The embedding model, if the embedder is a server
    #[arg(long, value_name = "MODEL", requires = "embedder")]
    embedding_model: Option<String>,
}

fn parse_language(text: &str) -> Result<Language, String> {
    text.parse().map_err(|error: prowess_knowledge::UnknownLanguage| error.to_string())
}

pub(super) fn run(
    bases: &KnowledgeBases,
    arguments: &Arguments,
    printer: &mut Printer,
) -> Result<Outcome, Error> {
    let name = &arguments.name;
    // Checked before a table is copied or a server is contacted.
    if bases.base(name).is_ok() {
        let exists = prowess_knowledge::BaseError::Exists { name: name.to_string() };
        return Err(failed(&exists));
    }
    let embedder = match &arguments.embedder {
        Some(given) => Some(embedder(bases, given, arguments.embedding_model.as_deref())?),
        None => None,
    };
    let settings = BaseSettings { language: arguments.language, embedder };
    bases.create(name, &settings).map_err(|error| failed(&error))?;
    printer.say(&format!("created knowledge base `{name}`"));
    printer.note(&format!("`prowess kb add {name} FILE…` adds documents to it"));
    Ok(Outcome::Fine)
}

/// The embedder that a file or a URL is, stored beside the knowledge bases if it is a file.
pub(in crate::commands) fn embedder(
    bases: &KnowledgeBases,
    given: &str,
    model: Option<&str>,
) -> Result<EmbedderIdentity, Error> {
    let is_url = given.starts_with("http://") || given.starts_with("https://");
    match (is_url, model) {
        (true, Some(model)) => {
            let endpoint = embed::EmbeddingEndpoint::ask(given, model);
            let endpoint = endpoint.map_err(|error| failed(&error.into()))?;
            Ok(endpoint.stamp().clone())
        }
        (true, None) => {
            Err(Error::usage(format!("`{given}` is a server, which may have several models"))
                .hint("name one with `--embedding-model MODEL`"))
        }
        (false, Some(_)) => Err(Error::usage("`--embedding-model` is for servers, not for files")
            .hint("drop it, or give the URL of a server")),
        (false, None) => {
            let table = embed::EmbeddingTable::keep(Path::new(given), bases.root());
            Ok(table.map_err(|error| failed(&error))?.stamp().clone())
        }
    }
}
