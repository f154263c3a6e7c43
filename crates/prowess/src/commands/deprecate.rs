//! `prowess deprecate`: marks a skill as one that should not be used any more.

use clap::Args;
use serde_json::json;

use super::Outcome;
use crate::error::Error;
use crate::packages::account::{Account, Token, skill_id};
use crate::packages::options::Format;
use crate::terminal::printer::Printer;

/// Mark a published skill as one that should not be used any more
///
/// It can still be installed. The message is shown to everybody who looks at it.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess deprecate acme/greet --message \"use acme/hello\"
  prowess deprecate acme/greet --undo")]
pub(crate) struct Arguments {
    /// The skill, as NAMESPACE/NAME
    #[arg(value_name = "SKILL")]
    skill: String,
    /// What to use instead
    #[arg(long, value_name = "TEXT", required_unless_present = "undo", conflicts_with = "undo")]
    message: Option<String>,
    /// Take it back
    #[arg(long)]
    undo: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let (namespace, name) = skill_id(&arguments.skill)?;
    let account = Account::open(Some(&namespace), printer)?;
    let path = ["skills", namespace.as_str(), name.as_str(), "deprecate"];
    account.post(&path, &json!({ "message": arguments.message }), Token::Own)?;
    let what = if arguments.undo { "is no longer deprecated" } else { "is deprecated" };
    match arguments.format {
        Format::Json => printer.json(&json!({
            "skill": format!("{namespace}/{name}"),
            "deprecated": !arguments.undo,
        })),
        Format::Text => printer.say(&format!("`{namespace}/{name}` {what}")),
    }
    Ok(Outcome::Fine)
}
