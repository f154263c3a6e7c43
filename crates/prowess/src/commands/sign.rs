//! `prowess sign`: your word for a skill.

use std::path::PathBuf;

use clap::Args;
use prowess_package::limits::Limits;
use prowess_package::tree::Tree;
use prowess_policy::Tier;
use prowess_store::install::{contents_of, signatures_of};
use prowess_store::review::Modesty;
use prowess_trust::{KeyName, Purpose, Refusal, SecretKey, Verdict, attest, sign, sign_oms};

use super::Outcome;
use super::key::{key_name, open};
use crate::error::Error;
use crate::python_requirements;
use crate::skill::skill_writer;
use crate::store::packages::{Packages, author_skill, now};
use crate::terminal::printer::Printer;

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

/// Where an auditor's word is kept.
const AUDIT_FILE: &str = "AUDIT.json";

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let folder = &arguments.folder;
    let failed = |error: &dyn std::fmt::Display| {
        Error::failed(format!("`{}` can't be signed: {error}", folder.display()))
    };
    let packages = Packages::new()?;
    let (mut read, described) = author_skill(folder, "signed")?;
    if let Some(text) = python_requirements::missing(&read.tree, &described, printer) {
        let path = folder.join(python_requirements::FILE);
        skill_writer::whole_file(&path, text.as_bytes())?;
        printer.note(&format!("wrote `{}`, which is signed with the rest", path.display()));
        read = Tree::read(folder, &Limits::PACKAGE).map_err(|error| failed(&error))?;
    }
    if !described.declares_version {
        // Where the standard knows no `version`, one at the top would be an unknown field.
        let is_field = described.skill.layers.iter().flat_map(|layer| layer.fields);
        let place = if is_field.clone().any(|field| field.name == "version") {
            "write `version: 1.0.0` into its front matter"
        } else {
            "write `version: 1.0.0` below `metadata:` in its front matter"
        };
        return Err(
            failed(&"it has no version").hint(format!("a signature is about one version: {place}"))
        );
    }
    // Nobody who trusts the key would guess why the skill is refused all the same (R19).
    if let Some(modesty) = Modesty::of(&described.skill, Tier::Verified, read.tree.manifest())
        && modesty.claimed == Tier::Experimental
    {
        printer.warning(&format!(
            "it calls itself experimental (line {} of its SKILL.md), and no signature makes it more than that",
            modesty.line
        ));
        printer.hint("write `security_tier: community`, or leave the line out, and sign again");
    }
    let key = open(&packages, &arguments.key, printer)?;
    let contents = contents_of(&described, &read.tree.hashes(), None);
    let purpose = if arguments.audit { Purpose::Audit } else { Purpose::Release };
    if purpose == Purpose::Audit {
        let given = attest(&contents, &signatures_of(&read.tree), &packages.trust()?, now());
        let of_publisher = |refusal: &&Refusal| refusal.path != AUDIT_FILE;
        if let Some(refusal) = given.refused.iter().find(of_publisher) {
            return Err(failed(refusal).hint("its publisher signs it again, and then you"));
        }
        // GAIA §4.4: an audit is the word of somebody else.
        let id = key.public().id();
        let is_own =
            |verdict: &Verdict| verdict.purpose == Purpose::Release && verdict.key_id == id;
        if given.evidence.iter().any(is_own) {
            return Err(failed(&format!("the key {id} has signed it as its publisher"))
                .hint("nobody audits themselves: an auditor signs with a key of their own"));
        }
    }
    let (file, text) = match (&key, purpose) {
        (SecretKey::P256 { .. }, Purpose::Release) => ("skill.oms.sig", sign_oms(&contents, &key)),
        (_, Purpose::Release) => {
            ("SIGNATURE.json", sign(&contents, &key, &arguments.publisher, purpose))
        }
        (_, Purpose::Audit) => (AUDIT_FILE, sign(&contents, &key, &arguments.publisher, purpose)),
    };
    let text = text.map_err(|error| failed(&error))?;
    let path = folder.join(file);
    skill_writer::whole_file(&path, text.as_bytes())?;
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
