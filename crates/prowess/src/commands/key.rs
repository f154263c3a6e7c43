//! `prowess key`: manages the keys that you sign with.

use clap::{Args, Subcommand, ValueEnum};
use prowess_trust::{KeyDerivationCost, KeyFileError, KeyFolder, KeyName, SecretKey};
use serde_json::{Value, json};

use super::Outcome;
use crate::error::{Error, ErrorKind};
use crate::packages::manager;
use crate::packages::options::Format;
use crate::terminal::confirm::confirm;
use crate::terminal::passphrase;
use crate::terminal::printer::Printer;
use prowess_library::packages::PackageManager;

/// Create, list, export and remove the keys that you sign skills with
///
/// A key is a file in your data folder that only you can read. Its public key is
/// one line of text, which others trust with `prowess trust add`.
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
    /// Create a key
    ///
    /// An existing key is never replaced. The passphrase is read from the terminal,
    /// or from the variable `PROWESS_PASSPHRASE`.
    New {
        /// The name of the key
        #[arg(value_name = "NAME", value_parser = key_name)]
        name: KeyName,
        /// Encrypt it with a passphrase
        #[arg(long)]
        passphrase: bool,
        /// The kind of key, which decides the signature format
        #[arg(long, value_enum, default_value_t = Kind::Ed25519)]
        kind: Kind,
    },
    /// List your keys
    List {
        /// The output format
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Print the public key
    Export {
        /// The name of the key
        #[arg(value_name = "NAME", value_parser = key_name)]
        name: KeyName,
        /// Print it as PEM, for other programs
        #[arg(long)]
        pem: bool,
    },
    /// Delete a key permanently
    ///
    /// Its signatures stay valid, but the next version of a skill must be signed with
    /// another key, which users have to accept.
    Remove {
        /// The name of the key
        #[arg(value_name = "NAME", value_parser = key_name)]
        name: KeyName,
        /// Don't ask for confirmation
        #[arg(long)]
        yes: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Writes `SIGNATURE.json`
    Ed25519,
    /// Writes `skill.oms.sig`, which other tools verify too
    P256,
}

/// Parses the name of a key.
pub(crate) fn key_name(text: &str) -> Result<KeyName, String> {
    text.parse().map_err(|error: prowess_trust::KeyNameError| error.to_string())
}

/// The error of a key that can't be used.
pub(crate) fn failed(error: &KeyFileError) -> Error {
    let kind = match error {
        KeyFileError::Missing { .. } => ErrorKind::NotFound,
        KeyFileError::Open { .. } => ErrorKind::Refused,
        _ => ErrorKind::Failed,
    };
    Error { kind, ..Error::failed(error.to_string()) }
}

/// Opens a key, and asks for its passphrase if it has one.
pub(crate) fn open(
    packages: &PackageManager,
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
    let packages = manager()?;
    let folder = KeyFolder::new(packages.key_folder());
    match &arguments.action {
        Action::New { name, passphrase, kind } => {
            let key = match kind {
                Kind::Ed25519 => SecretKey::generate_ed25519(),
                Kind::P256 => SecretKey::generate_p256(),
            };
            let key = key.map_err(|error| Error::failed(error.to_string()))?;
            let secret = if *passphrase { Some(passphrase::choose(printer)?) } else { None };
            let lock = secret.as_ref().map(|secret| (secret.as_str(), KeyDerivationCost::USUAL));
            let path = folder.keep(name, &key, lock).map_err(|error| failed(&error))?;
            printer.say(&format!("created the key {}", key.public().id()));
            printer.note(&format!("it is in `{}`; keep a backup in a safe place", path.display()));
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
            "Delete the key `{name}` ({}) permanently? Without a backup it can't be used again. [y]es / [N]o: ",
            public.id()
        );
        match confirm(&question, printer) {
            Some(true) => {}
            Some(false) => return Err(Error::refused("the key was not deleted")),
            None => {
                return Err(Error::refused(format!(
                    "refusing to delete the key `{name}` without confirmation (not a terminal)"
                ))
                .hint("`--yes` deletes it without confirmation"));
            }
        }
    }
    let public = folder.remove(name).map_err(|error| failed(&error))?;
    let id = public.id();
    printer.say(&format!("deleted the key `{name}` ({id})"));
    printer.note(&format!(
        "it is still trusted where it was added; `prowess trust remove {id}` undoes that"
    ));
    Ok(())
}
