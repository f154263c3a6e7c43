//! `prowess login`: saves a token of the registry.

use clap::Args;
use prowess_files::atomic::{self, WriteOptions};
use prowess_files::private::private_folder;
use serde_json::json;

use super::Outcome;
use crate::error::Error;
use crate::packages::account::{Account, Token};
use crate::terminal::confirm::ask_line;
use crate::terminal::passphrase;
use crate::terminal::printer::{Printer, inline};

/// Sign in to the registry
///
/// With a name and a password you get a token, which is saved in a file that only
/// you can read; the password is not saved. `--token-stdin` saves a token that you
/// have. The registry is the one of `PROWESS_REGISTRY` or of config.toml.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess login
  prowess login --user acme
  prowess login --token-stdin < token.txt")]
pub(crate) struct Arguments {
    /// The name of your account
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Save the token on standard input instead of asking for a password
    #[arg(long, conflicts_with = "user")]
    token_stdin: bool,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let account = Account::open(None, printer)?;
    let url = account.registry.url.clone();
    if account.sources().has_configured_token(&account.registry) {
        printer.warning("`PROWESS_TOKEN` or config.toml has a token for this registry, which is used instead of a saved one");
    }
    let token = if arguments.token_stdin {
        let mut line = String::new();
        std::io::stdin()
            .read_line(&mut line)
            .map_err(|error| Error::failed(format!("cannot read the token: {error}")))?;
        line.trim().to_owned()
    } else {
        let user = match &arguments.user {
            Some(user) => user.clone(),
            None => {
                ask_line("Name: ", printer).filter(|name| !name.is_empty()).ok_or_else(|| {
                    Error::refused("a name is needed, but this is not a terminal")
                        .hint("pass a token with `--token-stdin`")
                })?
            }
        };
        sign_in(&account, &user, printer)?
    };
    if token.is_empty() {
        return Err(Error::usage("the token is empty"));
    }
    // A token that does not work is not kept.
    let name = super::whoami::username(&account, Token::This(&token))?;
    let path = account.sources().saved_token(&account.registry);
    let path = path.ok_or_else(|| Error::failed("there is no folder for settings"))?;
    if let Some(folder) = path.parent() {
        private_folder(folder).map_err(|error| Error::io("create", folder, &error))?;
    }
    atomic::write(&path, token.as_bytes(), WriteOptions::PRIVATE)
        .map_err(|error| Error::io("write", &path, &error))?;
    printer.say(&format!("signed in to {url} as `{}`", inline(&name)));
    Ok(Outcome::Fine)
}

/// Gets a token for a name and a password.
fn sign_in(account: &Account, user: &str, printer: &mut Printer) -> Result<String, Error> {
    let password = passphrase::password(printer)?;
    let mut body = json!({ "username": user, "password": password });
    let reply = match account.post(&["log-in"], &body, Token::None) {
        Err(error) if error.message.contains("code") => {
            let code = ask_line("Code of your authenticator: ", printer).unwrap_or_default();
            body["code"] = code.into();
            account.post(&["log-in"], &body, Token::None)?
        }
        reply => reply?,
    };
    let token = reply["token"].as_str().unwrap_or_default();
    Ok(token.to_owned())
}
