//! `prowess pack`: a skill's folder as one archive.

use std::path::PathBuf;

use clap::Args;
use prowess_package::digest::content_digest;
use prowess_package::limits::Limits;
use prowess_package::pack::pack;
use prowess_package::path::PathError;
use prowess_package::tree::{Tree, TreeFile};

use super::Outcome;
use crate::error::Error;
use crate::packages::author_skill;
use crate::printer::{Printer, inline};
use crate::{python_requirements, writing};

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

Exit codes:
  0  it is packed
  1  it can't be packed
  3  there is no such folder")]
pub(crate) struct Arguments {
    /// The skill's folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// A file, or a folder in which it is called NAME-VERSION.tar.gz
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
    let archive = pack(&read.tree);
    let file = format!("{}-{}.tar.gz", described.name, described.version);
    let path = if arguments.output.is_dir() {
        arguments.output.join(file)
    } else {
        arguments.output.clone()
    };
    if path.exists() && !arguments.force {
        return Err(Error::failed(format!("`{}` is there already", path.display()))
            .hint("give another `--output`, or `--force`"));
    }
    writing::whole_file(&path, &archive)?;
    printer.say(&format!(
        "packed {} {} to `{}` ({} files, {})",
        described.name,
        described.version,
        path.display(),
        read.tree.files().count(),
        content_digest(&read.tree.hashes()).integrity()
    ));
    Ok(Outcome::Fine)
}
