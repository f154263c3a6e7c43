//! `prowess trust`: whose signatures count.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use prowess_trust::{
    Material, NamePattern, Role, Timestamp, TrustStore, TrustStoreError, TrustedKey,
    update_trust_store,
};
use serde_json::{Value, json};

use super::Outcome;
use super::install::Format;
use crate::error::Error;
use crate::packages::{Packages, now, skill_name};
use crate::printer::{Printer, inline};

/// Decide whose signatures count, and for what
///
/// Nothing is trusted by default: without a key here every skill is experimental.
/// A publisher's signature makes a skill community at most; a root's makes it
/// verified, and so does an auditor's beside a publisher's. What a skill claims
/// about itself counts for nothing.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess trust add release.pub
  prowess trust add acme.pem --role root --names 'acme/*'
  prowess trust accept greet 5f0c2a...
  prowess trust list")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Let the signatures of a key count
    ///
    /// The file holds a line of `prowess key export`, a minisign key, a public key or
    /// root certificate in PEM, an OpenPGP certificate as `gpg --armor --export`
    /// writes it, or an identity of Sigstore as JSON. `-` reads it from the input.
    Add {
        /// A file with the public key
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// What its signatures prove
        #[arg(long, value_enum, default_value_t = RoleOption::Publisher)]
        role: RoleOption,
        /// The skills it may sign: `greet`, `web-*`, `acme/*`
        #[arg(long, value_name = "PATTERN", value_parser = pattern)]
        names: Vec<NamePattern>,
        /// What to call it in reports
        #[arg(long, value_name = "TEXT")]
        label: Option<String>,
        /// It counts from this time on, such as 2026-01-01T00:00:00Z
        #[arg(long, value_name = "TIME", value_parser = time)]
        not_before: Option<Timestamp>,
        /// It counts until this time
        #[arg(long, value_name = "TIME", value_parser = time)]
        not_after: Option<Timestamp>,
    },
    /// List the keys that count
    List {
        /// How the list is written
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Let a key count no longer
    Remove {
        /// The key's identifier, as `list` shows it
        #[arg(value_name = "KEY")]
        key: String,
        /// It was stolen at this time, or `now`: refuse what was not here before
        #[arg(long, value_name = "TIME", value_parser = time_or_now)]
        revoked: Option<Timestamp>,
    },
    /// Accept that an installed skill has a new signer
    Accept {
        /// The skill
        #[arg(value_name = "SKILL")]
        skill: String,
        /// The identifier of the new key, as the refusal shows it
        #[arg(value_name = "KEY")]
        key: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum RoleOption {
    /// At most community
    Publisher,
    /// Verified
    Root,
    /// Verified, beside a publisher
    Auditor,
}

fn pattern(text: &str) -> Result<NamePattern, String> {
    text.parse().map_err(|error: prowess_trust::NamePatternError| error.to_string())
}

fn time(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|error: prowess_trust::TimestampError| error.to_string())
}

fn time_or_now(text: &str) -> Result<Timestamp, String> {
    if text == "now" { Ok(now()) } else { time(text) }
}

fn failed(error: &TrustStoreError) -> Error {
    Error::failed(error.to_string())
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let packages = Packages::new()?;
    let path = packages.trust_path();
    let change = |work: &mut dyn FnMut(&mut TrustStore)| {
        update_trust_store(&path, |store| work(store)).map_err(|error| failed(&error))
    };
    match &arguments.action {
        Action::Add { file, role, names, label, not_before, not_after } => {
            let text = read(file)?;
            let material = Material::read(&text)
                .map_err(|error| Error::failed(format!("`{}`: {error}", file.display())))?;
            let role = match role {
                RoleOption::Publisher => Role::Publisher,
                RoleOption::Root => Role::Root,
                RoleOption::Auditor => Role::Auditor,
            };
            let mut key = TrustedKey::new(material, role);
            key.label.clone_from(label);
            if !names.is_empty() {
                key.names.clone_from(names);
            }
            key.not_before = *not_before;
            key.not_after = *not_after;
            key.added_at = Some(now());
            let id = key.id();
            let mut replaced = None;
            change(&mut |store| replaced = store.add(key.clone()))?;
            let verb = if replaced.is_some() { "changed" } else { "added" };
            printer.say(&format!("{verb} {} key {id} as {}", key.material.kind(), role.as_str()));
        }
        Action::List { format } => list(&packages.trust()?, *format, printer),
        Action::Remove { key, revoked } => {
            let mut count = 0;
            change(&mut |store| {
                count = match revoked {
                    Some(at) => store.revoke(key, *at),
                    None => store.remove(key).len(),
                };
            })?;
            if count == 0 {
                return Err(Error::not_found(format!("no key `{}` is trusted", inline(key)))
                    .hint("`prowess trust list` shows those that are"));
            }
            let verb = if revoked.is_some() { "revoked" } else { "removed" };
            printer.say(&format!("{verb} {key}"));
        }
        Action::Accept { skill, key } => {
            let skill = skill_name(skill)?;
            change(&mut |store| store.accept(skill.as_str(), key, now()))?;
            printer.say(&format!("`{skill}` may be signed by {} from now on", inline(key)));
        }
    }
    Ok(Outcome::Fine)
}

fn read(file: &std::path::Path) -> Result<String, Error> {
    const MOST_BYTES: u64 = 1 << 20;
    use std::io::Read as _;
    let mut text = String::new();
    let read = if file.as_os_str() == "-" {
        std::io::stdin().lock().take(MOST_BYTES).read_to_string(&mut text)
    } else {
        std::fs::File::open(file).and_then(|file| file.take(MOST_BYTES).read_to_string(&mut text))
    };
    read.map_err(|source| Error::io("read", file, &source))?;
    Ok(text)
}

fn list(store: &TrustStore, format: Format, printer: &mut Printer) {
    let keys: Vec<&TrustedKey> = store.keys().collect();
    match format {
        Format::Json => {
            let text = |time: &Option<Timestamp>| time.as_ref().map(ToString::to_string);
            let keys: Vec<Value> = keys
                .iter()
                .map(|key| {
                    json!({
                        "id": key.id(),
                        "kind": key.material.kind(),
                        "role": key.role.as_str(),
                        "label": key.label,
                        "names": key.names.iter().map(NamePattern::as_str).collect::<Vec<&str>>(),
                        "not_before": text(&key.not_before),
                        "not_after": text(&key.not_after),
                        "revoked_at": text(&key.revoked_at),
                        "added_at": text(&key.added_at),
                    })
                })
                .collect();
            let accepted: Vec<Value> = store
                .accepted()
                .iter()
                .map(|one| json!({"skill": one.skill, "key": one.key_id, "at": one.at.to_string()}))
                .collect();
            printer.json(&json!({ "keys": keys, "accepted": accepted }));
        }
        Format::Text if keys.is_empty() => {
            printer.note("no key is trusted, so every skill is experimental");
        }
        Format::Text => {
            let lines: Vec<String> = keys
                .iter()
                .map(|key| {
                    let names: Vec<&str> = key.names.iter().map(NamePattern::as_str).collect();
                    let label = key.label.as_deref().map(|label| format!(", {}", inline(label)));
                    let revoked = key.revoked_at.map(|at| format!(", revoked at {at}"));
                    format!(
                        "{}\n  {} key, {} for {}{}{}\n",
                        key.id(),
                        key.material.kind(),
                        key.role.as_str(),
                        names.join(", "),
                        label.unwrap_or_default(),
                        revoked.unwrap_or_default()
                    )
                })
                .collect();
            printer.report(&lines.concat());
        }
    }
}
