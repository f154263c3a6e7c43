//! `prowess sign`: your word for a skill.

use std::path::PathBuf;

use clap::Args;
use prowess_package::limits::Limits;
use prowess_package::tree::Tree;
use prowess_store::install::contents_of;
use prowess_trust::{KeyName, Purpose, SecretKey, sign, sign_oms};

use super::Outcome;
use super::key::{key_name, open};
use crate::error::Error;
use crate::packages::{Packages, author_skill};
use crate::printer::Printer;
use crate::{python_requirements, writing};

/// Sign a skill: its name, its version and every file
///
/// Writes `SIGNATURE.json` into the folder, or `skill.oms.sig` with a key of kind
/// `p256`, which other tools verify too. Sign last: any change afterwards, of a
/// single byte, makes the signature wrong. A skill that declares Python packages
/// and has no `requirements.txt` gets one first, so that it is signed too.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess sign ./greet --key release
  prowess sign ./greet --key audit --audit

Exit codes:
  0  it is signed
  1  it can't be signed
  3  there is no such folder or key")]
pub(crate) struct Arguments {
    /// The skill's folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The key, made by `prowess key new`
    #[arg(long, value_name = "NAME", value_parser = key_name)]
    key: KeyName,
    /// Sign as an auditor: `AUDIT.json` beside the publisher's signature
    #[arg(long)]
    audit: bool,
    /// Who you are, as a note for readers that nothing proves
    #[arg(long, value_name = "TEXT", default_value = "")]
    publisher: String,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let folder = &arguments.folder;
    let failed = |error: &dyn std::fmt::Display| {
        Error::failed(format!("`{}` can't be signed: {error}", folder.display()))
    };
    let packages = Packages::new()?;
    let (mut read, described) = author_skill(folder, "signed")?;
    if let Some(text) = python_requirements::missing(&read.tree, &described, printer) {
        let path = folder.join(python_requirements::FILE);
        writing::whole_file(&path, text.as_bytes())?;
        printer.note(&format!("wrote `{}`, which is signed with the rest", path.display()));
        read = Tree::read(folder, &Limits::PACKAGE).map_err(|error| failed(&error))?;
    }
    if !described.declares_version {
        return Err(failed(&"it has no version").hint(
            "a signature is about one version: write `version: 1.0.0` into its front matter",
        ));
    }
    let key = open(&packages, &arguments.key, printer)?;
    let contents = contents_of(&described, &read.tree.hashes(), None);
    let purpose = if arguments.audit { Purpose::Audit } else { Purpose::Release };
    let (file, text) = match (&key, purpose) {
        (SecretKey::P256 { .. }, Purpose::Release) => ("skill.oms.sig", sign_oms(&contents, &key)),
        (_, Purpose::Release) => {
            ("SIGNATURE.json", sign(&contents, &key, &arguments.publisher, purpose))
        }
        (_, Purpose::Audit) => ("AUDIT.json", sign(&contents, &key, &arguments.publisher, purpose)),
    };
    let text = text.map_err(|error| failed(&error))?;
    let path = folder.join(file);
    writing::whole_file(&path, text.as_bytes())?;
    printer.say(&format!(
        "signed {} {} with the key {} (`{}`)",
        described.name,
        described.version,
        key.public().id(),
        path.display()
    ));
    printer.note(&format!(
        "others trust it with `prowess trust add` and what `prowess key export {}` prints",
        arguments.key
    ));
    Ok(Outcome::Fine)
}
