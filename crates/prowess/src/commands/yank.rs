//! `prowess yank`: keeps a version from being chosen.

use clap::Args;
use serde_json::json;

use super::Outcome;
use crate::error::Error;
use crate::packages::account::{Account, Token, skill_version};
use crate::packages::options::Format;
use crate::terminal::printer::Printer;

/// Keep a published version from being chosen for new installations
///
/// Lock files that have it still install it, with a warning. Its files are not
/// deleted, and the version can't be published again.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess yank acme/greet@1.2.0
  prowess yank acme/greet@1.2.0 --reason \"fails on empty input\"
  prowess yank acme/greet@1.2.0 --undo")]
pub(crate) struct Arguments {
    /// The version, as NAMESPACE/NAME@VERSION
    #[arg(value_name = "SKILL")]
    skill: String,
    /// Why, for those who have it
    #[arg(long, value_name = "TEXT", conflicts_with = "undo")]
    reason: Option<String>,
    /// Let it be chosen again
    #[arg(long)]
    undo: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let (namespace, name, version) = skill_version(&arguments.skill)?;
    let account = Account::open(Some(&namespace), printer)?;
    let text = version.to_string();
    let action = if arguments.undo { "unyank" } else { "yank" };
    let path = ["skills", namespace.as_str(), name.as_str(), &text, action];
    account.post(&path, &json!({ "reason": arguments.reason }), Token::Own)?;
    let what = if arguments.undo { "can be chosen again" } else { "was yanked" };
    match arguments.format {
        Format::Json => printer.json(&json!({
            "skill": format!("{namespace}/{name}"),
            "version": text,
            "yanked": !arguments.undo,
        })),
        Format::Text => printer.say(&format!("`{namespace}/{name}` {version} {what}")),
    }
    Ok(Outcome::Fine)
}
