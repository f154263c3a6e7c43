//! `prowess logout`: deletes the saved token of the registry.

use std::io::ErrorKind;

use clap::Args;

use super::Outcome;
use crate::error::Error;
use crate::packages::account::Account;
use crate::terminal::printer::Printer;

/// Delete the saved token of the registry
///
/// The token itself stays valid until it expires; revoke it on the registry's page.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess logout")]
pub(crate) struct Arguments {}

pub(crate) fn run(_: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let account = Account::open(None, printer)?;
    let url = &account.registry.url;
    let path = account.sources().saved_token(&account.registry);
    let path = path.ok_or_else(|| Error::failed("there is no folder for settings"))?;
    match std::fs::remove_file(&path) {
        Ok(()) => printer.say(&format!("signed out of {url}")),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            printer.say(&format!("there is no saved token for {url}"));
        }
        Err(error) => return Err(Error::io("delete", &path, &error)),
    }
    Ok(Outcome::Fine)
}
