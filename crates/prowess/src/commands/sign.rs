//! `prowess sign`: signs a skill.

use std::path::PathBuf;

use clap::Args;
use prowess_package::limits::PackageLimits;
use prowess_package::tree::Tree;
use prowess_policy::Tier;
use prowess_store::install::{contents_of, signatures_of};
use prowess_store::review::LowerClaim;
use prowess_trust::{
    InvalidSignature, KeyName, Purpose, SecretKey, Verdict, attest, sign_dated, sign_oms,
};
use serde_json::json;

use super::Outcome;
use super::key::{key_name, open};
use crate::error::Error;
use crate::packages::author_scan;
use crate::packages::names::author_skill;
use crate::packages::options::Format;
use crate::packages::{manager, now};
use crate::python_requirements;
use crate::skill::skill_writer;
use crate::terminal::printer::Printer;

/// Sign a skill: its name, its version and every file
///
/// Writes `SIGNATURE.json` into the folder, or `skill.oms.sig` with a key of kind
/// `p256`, which other tools verify too. Sign last: changing a single byte
/// afterwards makes the signature invalid. A skill that declares Python packages
/// and has no `requirements.txt` gets one first, so that it is signed too.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess sign ./greet --key release
  prowess sign ./greet --key audit --audit

Exit codes:
  0  the skill was signed
  1  the skill can't be signed
  3  the folder or the key does not exist")]
pub(crate) struct Arguments {
    /// The skill's folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The name of the key, see `prowess key`
    #[arg(long, value_name = "NAME", value_parser = key_name)]
    key: KeyName,
    /// Sign as an auditor: write `AUDIT.json` beside the publisher's signature
    #[arg(long)]
    audit: bool,
    /// Your name, as a note for readers; it proves nothing
    #[arg(long, value_name = "TEXT", default_value = "")]
    publisher: String,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// The file with the signature of an auditor.
const AUDIT_FILE: &str = "AUDIT.json";

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let folder = &arguments.folder;
    let failed = |error: &dyn std::fmt::Display| {
        Error::failed(format!("`{}` can't be signed: {error}", folder.display()))
    };
    let packages = manager()?;
    let (mut read, described) = author_skill(folder, "signed")?;
    if let Some(text) = python_requirements::missing(&read.tree, &described, printer) {
        let path = folder.join(python_requirements::FILE);
        skill_writer::whole_file(&path, text.as_bytes())?;
        printer.note(&format!("wrote `{}`, which is signed with the rest", path.display()));
        read = Tree::read(folder, &PackageLimits::PACKAGE).map_err(|error| failed(&error))?;
    }
    if !described.declares_version {
        // A dialect without the field `version` would report one at the top level as unknown.
        let is_field = described.skill.layers.iter().flat_map(|layer| layer.fields);
        let place = if is_field.clone().any(|field| field.name == "version") {
            "add `version: 1.0.0` to its front matter"
        } else {
            "add `version: 1.0.0` under `metadata:` in its front matter"
        };
        return Err(
            failed(&"it has no version").hint(format!("a signature is for one version: {place}"))
        );
    }
    // Otherwise those who trust the key would not understand why the skill stays experimental (R19).
    if let Some(lower_claim) =
        LowerClaim::of(&described.skill, Tier::Verified, read.tree.manifest())
        && lower_claim.claimed == Tier::Experimental
    {
        printer.warning(&format!(
            "it declares itself experimental (line {} of its SKILL.md), and no signature raises that",
            lower_claim.line
        ));
        printer.hint("write `security_tier: community`, or remove the line, and sign again");
    }
    author_scan::warn(&read.tree, printer);
    let key = open(&packages, &arguments.key, printer)?;
    let contents = contents_of(&described, &read.tree.hashes(), None);
    let purpose = if arguments.audit { Purpose::Audit } else { Purpose::Release };
    if purpose == Purpose::Audit {
        let given = attest(&contents, &signatures_of(&read.tree), &packages.trust_store()?, now());
        let of_publisher = |refusal: &&InvalidSignature| refusal.path != AUDIT_FILE;
        if let Some(refusal) = given.refused.iter().find(of_publisher) {
            return Err(failed(refusal).hint("its publisher must sign it again before you do"));
        }
        // GAIA §4.4: an auditor is not the publisher.
        let id = key.public().id();
        let is_own =
            |verdict: &Verdict| verdict.purpose == Purpose::Release && verdict.key_id == id;
        if given.evidence.iter().any(is_own) {
            return Err(failed(&format!("the key {id} has signed it as its publisher"))
                .hint("a publisher can't be the auditor: use another person's key"));
        }
    }
    let dated = || sign_dated(&contents, &key, &arguments.publisher, purpose, Some(now()));
    let (file, text) = match (&key, purpose) {
        (SecretKey::P256 { .. }, Purpose::Release) => ("skill.oms.sig", sign_oms(&contents, &key)),
        (_, Purpose::Release) => ("SIGNATURE.json", dated()),
        (_, Purpose::Audit) => (AUDIT_FILE, dated()),
    };
    let text = text.map_err(|error| failed(&error))?;
    let path = folder.join(file);
    skill_writer::whole_file(&path, text.as_bytes())?;
    if arguments.format == Format::Json {
        printer.json(&json!({
            "name": described.name.as_str(),
            "version": described.version.to_string(),
            "path": path.display().to_string(),
            "key": key.public().id(),
            "purpose": if arguments.audit { "audit" } else { "release" },
        }));
        return Ok(Outcome::Fine);
    }
    printer.say(&format!(
        "signed {} {} with the key {} (`{}`)",
        described.name,
        described.version,
        key.public().id(),
        path.display()
    ));
    printer.note(&format!(
        "others can trust it: send them the output of `prowess key export {}` for `prowess trust add`",
        arguments.key
    ));
    Ok(Outcome::Fine)
}
