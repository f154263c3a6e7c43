//! `prowess search`: searches a registry.

use clap::Args;
use serde_json::{Value, json};

use super::Outcome;
use crate::error::Error;
use crate::packages::manager;
use crate::packages::options::Format;
use crate::packages::sources::SourceSession;
use crate::terminal::printer::{Channel, Printer, inline};
use crate::terminal::wrap::wrap;

/// Search the registry for skills
///
/// The registry is set by the variable `PROWESS_REGISTRY`, or by
/// `[registries.NAME]` in config.toml.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess search web search
  prowess search git --limit 5 --format json
  prowess search pdf --tag documents --permission no-network")]
pub(crate) struct Arguments {
    /// The words to search for
    #[arg(value_name = "WORD", required_unless_present_any = ["tag", "tier", "category", "license", "permission", "agent"])]
    words: Vec<String>,
    /// Only skills with this tag
    #[arg(long, value_name = "TAG")]
    tag: Vec<String>,
    /// Only skills of this tier: `verified`, `community` or `experimental`
    #[arg(long, value_name = "TIER")]
    tier: Option<String>,
    /// Only skills of this category
    #[arg(long, value_name = "CATEGORY")]
    category: Option<String>,
    /// Only skills with this licence
    #[arg(long, value_name = "LICENCE")]
    license: Option<String>,
    /// Only skills that ask for this, or not: `network:read`, `no-network`, `no-program`
    #[arg(long, value_name = "PERMISSION")]
    permission: Vec<String>,
    /// Only skills for this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// The order of the results
    #[arg(long, value_name = "ORDER", value_parser = ["relevance", "downloads", "updated", "created"])]
    sort: Option<String>,
    /// The maximum number of results
    #[arg(long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=100))]
    limit: u16,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let packages = manager()?;
    let sources = SourceSession::open(&packages, printer, false)?;
    if !sources.has_registry {
        return Err(Error::failed("there is no registry to search")
            .hint("set PROWESS_REGISTRY, or add `[registries.NAME]` with `url` to config.toml"));
    }
    let hits = sources
        .sources
        .search(&arguments.words.join(" "), &filters(arguments), usize::from(arguments.limit))
        .map_err(|error| error.problem())?;
    match arguments.format {
        Format::Json => {
            let hits: Vec<Value> = hits
                .iter()
                .map(|hit| {
                    json!({
                        "namespace": hit.namespace.as_ref().map(ToString::to_string),
                        "name": hit.name.as_str(),
                        "version": hit.version,
                        "description": hit.description,
                        "security_tier": hit.tier,
                    })
                })
                .collect();
            printer.json(&json!({ "skills": hits }));
        }
        Format::Text if hits.is_empty() => printer.note("no skills found"),
        Format::Text => {
            let width = printer.width(Channel::Out);
            let lines: Vec<String> = hits
                .iter()
                .map(|hit| {
                    let version = hit.version.as_deref().map(|it| format!(" {}", inline(it)));
                    let owner = hit.namespace.as_ref().map(|owner| format!("{owner}/"));
                    let owner = owner.unwrap_or_default();
                    let head = format!("{owner}{}{}", hit.name, version.unwrap_or_default());
                    let about = format!("  {}", inline(&beginning(&hit.description)));
                    format!("{head}\n{}\n", wrap(&about, 2, width))
                })
                .collect();
            printer.report(&lines.concat());
        }
    }
    Ok(Outcome::Fine)
}

/// The filters as parameters of the request.
fn filters(arguments: &Arguments) -> Vec<(&'static str, &str)> {
    let single = [
        ("tier", &arguments.tier),
        ("category", &arguments.category),
        ("license", &arguments.license),
        ("agent", &arguments.agent),
        ("sort", &arguments.sort),
    ];
    let single = single.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
    let tags = arguments.tag.iter().map(|tag| ("tag", tag.as_str()));
    let permissions = arguments.permission.iter().map(|it| ("permission", it.as_str()));
    single.chain(tags).chain(permissions).collect()
}

/// The start of a long text.
fn beginning(text: &str) -> String {
    const MOST: usize = 200;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
