//! `prowess serve user`: the users of a studio.

use std::io::Read as _;

use clap::{Args, Subcommand};
use prowess_server::Secret;
use prowess_server::accounts::{NewUser, Role, Username, UsernameError};

use super::{PlaceOptions, failed};
use crate::commands::Outcome;
use crate::error::Error;
use crate::terminal::passphrase;
use crate::terminal::printer::Printer;

/// A longer password is refused anyway.
const MAX_PASSWORD_BYTES: u64 = 4_096;

/// Manage the users of a studio
///
/// It works on the database, also while the server runs.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess serve user add ada --admin
  prowess serve user add ada --data /srv/studio --password-stdin < password.txt")]
pub(super) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Add a user
    Add {
        /// The name to log in with
        #[arg(value_name = "NAME", value_parser = username)]
        name: Username,
        /// Make the user an administrator
        #[arg(long)]
        admin: bool,
        /// Read the password from standard input, instead of asking for it
        #[arg(long)]
        password_stdin: bool,
        #[command(flatten)]
        place: PlaceOptions,
    },
}

fn username(text: &str) -> Result<Username, UsernameError> {
    text.parse()
}

pub(super) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let Action::Add { name, admin, password_stdin, place } = &arguments.action;
    let password = if *password_stdin { from_stdin()? } else { passphrase::choose(printer)? };
    let new = NewUser {
        username: name.clone(),
        role: if *admin { Role::Admin } else { Role::User },
        password: Some(Secret::new(password)),
    };
    let user = place.server()?.accounts().add_user_blocking(new).map_err(failed)?;
    printer.data(&format!("added `{}` ({})\n", user.username, user.role.as_str()));
    Ok(Outcome::Fine)
}

fn from_stdin() -> Result<String, Error> {
    let mut text = String::new();
    std::io::stdin()
        .lock()
        .take(MAX_PASSWORD_BYTES)
        .read_to_string(&mut text)
        .map_err(|error| Error::failed(format!("cannot read standard input: {error}")))?;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}
