//! `prowess whoami`: who the registry takes the user for.

use clap::Args;
use serde_json::Value;

use super::Outcome;
use crate::error::Error;
use crate::packages::account::{Account, Token};
use crate::packages::options::Format;
use crate::terminal::printer::{Printer, inline};

/// Show your account at the registry
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess whoami
  prowess whoami --format json")]
pub(crate) struct Arguments {
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let account = Account::open(None, printer)?;
    let found = account.get(&["whoami"], Token::Own)?;
    match arguments.format {
        Format::Json => printer.json(&found),
        Format::Text => {
            printer.data(&format!("{}\n", inline(found["username"].as_str().unwrap_or_default())));
            let listed = found["namespaces"].as_array().into_iter().flatten();
            let listed: Vec<&str> = listed.filter_map(|it| it["namespace"].as_str()).collect();
            if listed.len() > 1 {
                printer.note(&format!("you can publish to {}", inline(&listed.join(", "))));
            }
            for invitation in found["invitations"].as_array().into_iter().flatten() {
                let namespace = invitation["namespace"].as_str().unwrap_or_default();
                printer.hint(&format!(
                    "you are invited to `{0}`: run `prowess owner accept {0}`",
                    inline(namespace)
                ));
            }
        }
    }
    Ok(Outcome::Fine)
}

/// The name of the user whom a token belongs to.
pub(crate) fn username(account: &Account, token: Token<'_>) -> Result<String, Error> {
    let found = account.get(&["whoami"], token)?;
    match &found["username"] {
        Value::String(name) => Ok(name.clone()),
        _ => Err(Error::failed("the registry does not say who you are")),
    }
}
