//! `prowess pack`: a skill's folder as one archive.

use std::path::{Path, PathBuf};

use clap::Args;
use prowess_package::digest::content_digest;
use prowess_package::limits::Limits;
use prowess_package::pack::pack;
use prowess_package::path::PathError;
use prowess_package::tree::{Tree, TreeFile};
use prowess_store::described::Described;
use prowess_store::install::{contents_of, signatures_of};
use prowess_trust::{TrustStore, attest};

use super::Outcome;
use crate::error::Error;
use crate::python_requirements;
use crate::skill::skill_writer;
use crate::store::packages::{Packages, author_skill, now};
use crate::terminal::printer::{Channel, Printer, inline};

/// Pack a skill's folder to one archive
///
/// The same files give the same bytes, whatever their times, owners and order.
/// Hidden files and links are refused, litter is left out; `.skillignore` names
/// what else stays at home. A skill that declares Python packages and has no
/// `requirements.txt` gets one in the archive, unless it is signed already: `sign`
/// adds it before it signs.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess pack ./greet
  prowess pack ./greet --output dist/
  prowess pack ./greet --output - | sha256sum

Exit codes:
  0  it is packed
  1  it can't be packed
  3  there is no such folder")]
pub(crate) struct Arguments {
    /// The skill's folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// A file, or a folder in which it is called NAME-VERSION.tar.gz; `-` is
    /// standard output
    #[arg(long, short, value_name = "PATH", default_value = ".")]
    output: PathBuf,
    /// Write over a file that is there
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let folder = &arguments.folder;
    let failed = |error: &dyn std::fmt::Display| {
        Error::failed(format!("`{}` can't be packed: {error}", folder.display()))
    };
    let (mut read, described) = author_skill(folder, "packed")?;
    for path in &read.left_out {
        printer.note(&format!("left out `{}`", inline(path)));
    }
    for warning in &described.warnings {
        printer.warning(warning);
    }
    if let Some(text) = python_requirements::missing(&read.tree, &described, printer) {
        let made = TreeFile { bytes: text.into_bytes(), executable: false };
        let path = python_requirements::FILE.parse().map_err(|error: PathError| failed(&error))?;
        let files = read.tree.files().map(|(path, file)| (path.clone(), file.clone()));
        read.tree = Tree::from_files(files.chain([(path, made)]), &Limits::PACKAGE)
            .map_err(|error| failed(&error))?;
        let name = python_requirements::FILE;
        printer.note(&format!("added `{name}`, made from what the skill declares"));
    }
    refuse_broken_signatures(&read.tree, &described).map_err(|why| {
        failed(&why).hint("sign it again with `prowess sign`, or remove the signature")
    })?;
    let archive = pack(&read.tree);
    let summary = format!("{} {}", described.name, described.version);
    let count = match read.tree.files().count() {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    };
    let digest = content_digest(&read.tree.hashes()).integrity();
    if arguments.output == Path::new("-") {
        if printer.is_terminal(Channel::Out) {
            return Err(Error::usage("an archive on a terminal helps nobody")
                .hint("send it to a file or a program: `prowess pack DIR -o - > FILE`"));
        }
        printer.piece(Channel::Out, &archive);
        printer.say(&format!("packed {summary} ({count}, {digest})"));
        return Ok(Outcome::Fine);
    }
    let path =
        place(&arguments.output, &format!("{}-{}.tar.gz", described.name, described.version))?;
    // Pipes and devices hold nothing that could be lost.
    if path.is_file() && !arguments.force {
        return Err(Error::failed(format!("`{}` is there already", path.display()))
            .hint("give another `--output`, or `--force`"));
    }
    skill_writer::whole_file(&path, &archive)?;
    printer.say(&format!("packed {summary} to `{}` ({count}, {digest})", path.display()));
    Ok(Outcome::Fine)
}

/// The file to write: the output itself, or one in it. What ends like a folder is one, and is made.
fn place(output: &Path, file: &str) -> Result<PathBuf, Error> {
    let ends_like_a_folder =
        output.as_os_str().as_encoded_bytes().last().is_some_and(|last| *last == b'/');
    if ends_like_a_folder && !output.exists() {
        std::fs::create_dir_all(output).map_err(|error| Error::io("make", output, &error))?;
    }
    Ok(if output.is_dir() { output.join(file) } else { output.to_owned() })
}

/// A signature that does not hold is worse than none: nobody could install what is packed.
fn refuse_broken_signatures(tree: &Tree, described: &Described) -> Result<(), String> {
    // An author without a home has nobody to trust, and can pack all the same.
    let trust = Packages::new().and_then(|packages| packages.trust());
    let trust = trust.unwrap_or_else(|_| TrustStore::empty());
    let contents = contents_of(described, &tree.hashes(), None);
    let attestation = attest(&contents, &signatures_of(tree), &trust, now());
    match attestation.refused.first() {
        Some(refusal) => Err(refusal.to_string()),
        None => Ok(()),
    }
}
