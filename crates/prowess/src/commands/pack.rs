//! `prowess pack`: packs a skill's folder into an archive.

use std::path::{Path, PathBuf};

use clap::Args;
use prowess_package::digest::content_digest;
use prowess_package::limits::PackageLimits;
use prowess_package::pack::pack;
use prowess_package::path::PackagePathError;
use prowess_package::tree::{Tree, TreeFile};
use prowess_store::install::{contents_of, signatures_of};
use prowess_store::metadata::SkillMetadata;
use prowess_trust::{TrustStore, attest};
use serde_json::json;

use super::Outcome;
use crate::error::Error;
use crate::packages::author_scan;
use crate::packages::names::author_skill;
use crate::packages::options::Format;
use crate::packages::{manager, now};
use crate::python_requirements;
use crate::skill::skill_writer;
use crate::terminal::printer::{Channel, Printer, inline};

/// Pack a skill's folder into an archive
///
/// The archive is reproducible: the same files give the same bytes, whatever their
/// timestamps, owners and order. Hidden files and links are refused. Caches and
/// files of version control, editors and systems are left out, and so are archives
/// of the skill itself and what `.skillignore` lists. If a skill declares Python packages and has no
/// `requirements.txt`, one is added to the archive, unless the skill is signed:
/// `sign` adds it before it signs.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  prowess pack ./greet
  prowess pack ./greet --output dist/
  prowess pack ./greet --output - | sha256sum

Exit codes:
  0  the skill was packed
  1  the skill can't be packed
  3  the folder does not exist")]
pub(crate) struct Arguments {
    /// The skill's folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The archive, or a folder for NAME-VERSION.tar.gz; `-` is standard output
    #[arg(long, short, value_name = "PATH", default_value = ".")]
    output: PathBuf,
    /// Overwrite an existing file
    #[arg(long)]
    force: bool,
    /// The output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments, printer: &mut Printer) -> Result<Outcome, Error> {
    let folder = &arguments.folder;
    let failed = |error: &dyn std::fmt::Display| {
        Error::failed(format!("`{}` can't be packed: {error}", folder.display()))
    };
    let (mut read, metadata) = author_skill(folder, "packed")?;
    // `-` is standard output.
    let to_file = arguments.output != Path::new("-");
    let file_name = format!("{}-{}.tar.gz", metadata.name, metadata.version);
    let archive_path = to_file.then(|| place(&arguments.output, &file_name)).transpose()?;
    if let Some(path) = archive_path.as_deref().and_then(|path| inside(folder, path))
        && read.tree.get(&path).is_some()
    {
        let files = read.tree.files().filter(|(file, _)| file.as_str() != path);
        let files = files.map(|(file, content)| (file.clone(), content.clone()));
        read.tree =
            Tree::from_files(files, &PackageLimits::PACKAGE).map_err(|error| failed(&error))?;
        read.left_out.push(path);
    }
    for path in &read.left_out {
        printer.note(&format!("left out `{}`", inline(path)));
    }
    for warning in &metadata.warnings {
        printer.warning(warning);
    }
    if let Some(text) = python_requirements::missing(&read.tree, &metadata, printer) {
        let made = TreeFile { bytes: text.into_bytes(), executable: false };
        let path =
            python_requirements::FILE.parse().map_err(|error: PackagePathError| failed(&error))?;
        let files = read.tree.files().map(|(path, file)| (path.clone(), file.clone()));
        read.tree = Tree::from_files(files.chain([(path, made)]), &PackageLimits::PACKAGE)
            .map_err(|error| failed(&error))?;
        let name = python_requirements::FILE;
        printer.note(&format!("added `{name}` with the packages that the skill declares"));
    }
    author_scan::warn(&read.tree, printer);
    refuse_broken_signatures(&read.tree, &metadata).map_err(|why| {
        failed(&why).hint("sign it again with `prowess sign`, or remove the signature")
    })?;
    let archive = pack(&read.tree);
    let summary = format!("{} {}", metadata.name, metadata.version);
    let count = match read.tree.files().count() {
        1 => "1 file".to_owned(),
        count => format!("{count} files"),
    };
    let digest = content_digest(&read.tree.hashes()).integrity();
    let Some(path) = archive_path else {
        if arguments.format == Format::Json {
            return Err(Error::usage("standard output can't be both the archive and the report")
                .hint("write the archive to a file with `--output FILE`"));
        }
        if printer.is_terminal(Channel::Out) {
            return Err(Error::usage("refusing to write an archive to a terminal")
                .hint("redirect it to a file or a program: `prowess pack DIR -o - > FILE`"));
        }
        printer.piece(Channel::Out, &archive);
        printer.say(&format!("packed {summary} ({count}, {digest})"));
        return Ok(Outcome::Fine);
    };
    // Pipes and devices have no content that could be lost.
    if path.is_file() && !arguments.force {
        return Err(Error::failed(format!("`{}` already exists", path.display()))
            .hint("choose another `--output`, or add `--force` to replace it"));
    }
    skill_writer::whole_file(&path, &archive)?;
    if arguments.format == Format::Json {
        printer.json(&json!({
            "name": metadata.name.as_str(),
            "version": metadata.version.to_string(),
            "path": path.display().to_string(),
            "files": read.tree.files().count(),
            "bytes": archive.len(),
            "integrity": digest,
            "left_out": read.left_out,
        }));
        return Ok(Outcome::Fine);
    }
    printer.say(&format!("packed {summary} to `{}` ({count}, {digest})", path.display()));
    Ok(Outcome::Fine)
}

/// The file to write: the output itself, or one in it. A path that ends with `/` is a folder, which is created.
fn place(output: &Path, file: &str) -> Result<PathBuf, Error> {
    let ends_like_a_folder =
        output.as_os_str().as_encoded_bytes().last().is_some_and(|last| *last == b'/');
    if ends_like_a_folder && !output.exists() {
        std::fs::create_dir_all(output).map_err(|error| Error::io("create", output, &error))?;
    }
    Ok(if output.is_dir() { output.join(file) } else { output.to_owned() })
}

/// The path of the archive in the skill's folder, if it is there already.
fn inside(folder: &Path, archive: &Path) -> Option<String> {
    let relative = archive.canonicalize().ok()?;
    let relative = relative.strip_prefix(folder.canonicalize().ok()?).ok()?.to_owned();
    relative.into_os_string().into_string().ok()
}

/// Refuses a skill with an invalid signature, which nobody could install.
fn refuse_broken_signatures(tree: &Tree, metadata: &SkillMetadata) -> Result<(), String> {
    // Without a home directory there are no trusted keys, and packing still works.
    let trust = manager().and_then(|packages| Ok(packages.trust_store()?));
    let trust = trust.unwrap_or_else(|_| TrustStore::empty());
    let contents = contents_of(metadata, &tree.hashes(), None);
    let attestation = attest(&contents, &signatures_of(tree), &trust, now());
    match attestation.refused.first() {
        Some(refusal) => Err(refusal.to_string()),
        None => Ok(()),
    }
}
