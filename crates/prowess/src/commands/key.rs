//! `prowess key`: the keys that you sign with.

use clap::{Args, Subcommand, ValueEnum};
use prowess_trust::{Cost, KeyFileError, KeyFolder, KeyName, SecretKey};
use serde_json::{Value, json};

use super::Outcome;
use super::install::Format;
use crate::error::{Error, ErrorKind};
use crate::store::packages::{Packages, agree};
use crate::terminal::passphrase;
use crate::terminal::printer::Printer;

/// Make, list, export and remove the keys that you sign skills with
///
/// A key is a file that only you can read, in your data folder. Its public half is
/// one line of text, which others add with `prowess trust add`.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess key new release
  prowess key new release --passphrase
  prowess key export release > release.pub
  prowess key list")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Make a key
    ///
    /// A key that is there is never replaced. A passphrase is asked for on the
    /// terminal, or taken from the variable `PROWESS_PASSPHRASE`.
    New {
        /// What to call it
        #[arg(value_name = "NAME", value_parser = key_name)]
        name: KeyName,
        /// Lock it with a passphrase
        #[arg(long)]
        passphrase: bool,
        /// What it signs: `SIGNATURE.json`, or `skill.oms.sig` as other tools read
        #[arg(long, value_enum, default_value_t = Kind::Ed25519)]
        kind: Kind,
    },
    /// List your keys
    List {
        /// How the list is written
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Print the public half of a key
    Export {
        /// Which key
        #[arg(value_name = "NAME", value_parser = key_name)]
        name: KeyName,
        /// As PEM, which other programs read
        #[arg(long)]
        pem: bool,
    },
    /// Remove a key for good
    ///
    /// What it has signed stays signed, and the next version has to be signed with
    /// another key, which users must accept. Asks first, unless you say `--yes`.
    Remove {
        /// Which key
        #[arg(value_name = "NAME", value_parser = key_name)]
        name: KeyName,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// For `SIGNATURE.json`
    Ed25519,
    /// For `skill.oms.sig`
    P256,
}

/// The name of a key, as an argument.
pub(crate) fn key_name(text: &str) -> Result<KeyName, String> {
    text.parse().map_err(|error: prowess_trust::KeyNameError| error.to_string())
}

/// A key that can't be used.
pub(crate) fn failed(error: &KeyFileError) -> Error {
    let kind = match error {
        KeyFileError::Missing { .. } => ErrorKind::NotFound,
        KeyFileError::Exists { .. } => ErrorKind::Usage,
        KeyFileError::Open { .. } => ErrorKind::Refused,
        _ => ErrorKind::Failed,
    };
    Error { kind, ..Error::failed(error.to_string()) }
}

/// Opens a key, asking for its passphrase where it has one.
pub(crate) fn open(
    packages: &Packages,
    name: &KeyName,
    printer: &mut Printer,
) -> Result<SecretKey, Error> {
    let folder = KeyFolder::new(packages.key_folder());
    match folder.open(name, None) {
        Err(KeyFileError::Locked(_)) => {
            let secret = passphrase::ask(&format!("Passphrase of the key `{name}`: "), printer)?;
            folder.open(name, Some(&secret)).map_err(|error| failed(&error))
        }
        opened => opened.map_err(|error| failed(&error)),
    }
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let packages = Packages::new()?;
    let folder = KeyFolder::new(packages.key_folder());
    match &arguments.action {
        Action::New { name, passphrase, kind } => {
            let key = match kind {
                Kind::Ed25519 => SecretKey::generate_ed25519(),
                Kind::P256 => SecretKey::generate_p256(),
            };
            let key = key.map_err(|error| Error::failed(error.to_string()))?;
            let secret = if *passphrase { Some(passphrase::choose(printer)?) } else { None };
            let lock = secret.as_ref().map(|secret| (secret.as_str(), Cost::USUAL));
            let path = folder.keep(name, &key, lock).map_err(|error| failed(&error))?;
            printer.say(&format!("made the key {}", key.public().id()));
            printer.note(&format!(
                "it is in `{}`; keep a copy where nobody else finds it",
                path.display()
            ));
            printer.data(&format!("{}\n", key.public().line()));
        }
        Action::List { format } => {
            let keys = folder.list().map_err(|error| failed(&error))?;
            match format {
                Format::Json => {
                    let keys: Vec<Value> = keys
                        .iter()
                        .map(|key| {
                            json!({
                                "name": key.name.to_string(),
                                "kind": key.public.kind().as_str(),
                                "id": key.public.id(),
                                "public": key.public.line(),
                                "passphrase": key.is_locked,
                            })
                        })
                        .collect();
                    printer.json(&json!({ "keys": keys }));
                }
                Format::Text if keys.is_empty() => printer.note("you have no keys"),
                Format::Text => {
                    let lines: Vec<String> = keys
                        .iter()
                        .map(|key| {
                            let locked = if key.is_locked { ", with a passphrase" } else { "" };
                            format!(
                                "{}  {} {}{locked}\n",
                                key.name,
                                key.public.kind().as_str(),
                                key.public.id()
                            )
                        })
                        .collect();
                    printer.report(&lines.concat());
                }
            }
        }
        Action::Export { name, pem } => {
            let public = folder.public(name).map_err(|error| failed(&error))?;
            let text = if *pem { public.pem() } else { format!("{}\n", public.line()) };
            printer.data(&text);
        }
        Action::Remove { name, yes } => remove(&folder, name, *yes, printer)?,
    }
    Ok(Outcome::Fine)
}

fn remove(
    folder: &KeyFolder,
    name: &KeyName,
    yes: bool,
    printer: &mut Printer,
) -> Result<(), Error> {
    let public = folder.public(name).map_err(|error| failed(&error))?;
    if !yes {
        let question = format!(
            "Remove the key `{name}` ({}) for good? Without a copy nobody can sign with it again. [y]es / [N]o: ",
            public.id()
        );
        match agree(&question, printer) {
            Some(true) => {}
            Some(false) => return Err(Error::refused("the key stays, because you did not agree")),
            None => {
                return Err(Error::refused(
                    "a key is not removed without a question, and there is nobody to ask",
                )
                .hint("agree with `--yes`"));
            }
        }
    }
    let public = folder.remove(name).map_err(|error| failed(&error))?;
    printer.say(&format!("removed the key `{name}` ({})", public.id()));
    printer
        .note(&format!("where it is trusted it still is: `prowess trust remove {}`", public.id()));
    Ok(())
}
