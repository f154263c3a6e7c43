//! Archives of strangers to files: a whole skill, or nothing and the reason.
//!
//! Both formats are read by code of our own that takes only what every reader understands alike. A library that is
//! lenient, as the usual ones have to be, would show one listing to a reviewer and another to an installer (attacks registry-B6
//! and B7). Nothing is executed, nothing is followed, and memory does not grow with what an archive claims.

mod disk;
mod intake;
mod tar;
mod zip;

use std::io::{self, Read, Seek, SeekFrom};

use prowess_files::advice;
use prowess_format::text::{shorten, visible};

use crate::digest::FileHashes;
use crate::limits::{Limits, size};
use crate::name::{NameError, SkillName};
use crate::path::{PackagePath, PathError};
use crate::tree::{Tree, TreeError, TreeFile};

pub use disk::unpack_to_folder;

/// What is expected of an archive.
#[derive(Debug, Clone, Copy)]
pub struct UnpackOptions<'a> {
    /// How much it may be.
    pub limits: Limits,
    /// The name that was asked for, where one was. A skill of another name is refused.
    pub name: Option<&'a SkillName>,
}

/// A skill that came out of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpacked {
    /// The name that was asked for, or else the declared one.
    pub name: SkillName,
    /// The declared version, as written.
    pub version: Option<String>,
    /// The hash of every file.
    pub hashes: FileHashes,
}

/// Where files of an archive go.
pub trait Sink {
    /// Takes a file. It is the first with this path.
    fn file(
        &mut self,
        path: &PackagePath,
        executable: bool,
        content: &mut dyn Read,
    ) -> io::Result<()>;

    /// Everything lies below one folder: moves it up.
    fn strip(&mut self, folder: &str) -> io::Result<()>;
}

/// Why an archive is refused. Whatever it is, no file of it stays.
#[derive(Debug, thiserror::Error)]
pub enum UnpackError {
    /// The archive itself can't be read.
    #[error("cannot read the archive: {0}")]
    Read(#[source] io::Error),
    /// A file can't be written.
    #[error("cannot write `{path}`: {source}{}", advice(.source))]
    Write {
        /// The file.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// Neither of the formats.
    #[error("this is neither a `.tar.gz` nor a `.zip` archive")]
    UnknownFormat,
    /// Its bytes are not what the format says.
    #[error("the archive is damaged or made to deceive: {0}")]
    Malformed(&'static str),
    /// An entry that no package may hold.
    #[error("the archive is refused because of `{}`: {problem}", visible(&shorten(.path, 120)))]
    Entry {
        /// Its path, as it was found.
        path: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// A path that leads elsewhere or differs between systems.
    #[error("the archive is refused: {0}")]
    Path(#[from] PathError),
    /// Its files are no skill.
    #[error("the archive is refused: {0}")]
    Files(#[from] TreeError),
    /// It is larger than archives may be.
    #[error("the archive has more than {}", size(*.most))]
    ArchiveTooLarge {
        /// The bound in bytes.
        most: u64,
    },
    /// It unpacks to far more than it is.
    #[error("the archive unpacks to more than {most} times its size, as no skill does")]
    TooDense {
        /// The bound.
        most: u64,
    },
    /// Several skills.
    #[error("the archive holds more than one skill: {}; give the one that is meant", .folders.join(", "))]
    SeveralSkills {
        /// Their folders.
        folders: Vec<String>,
    },
    /// The folder around the files is that of another skill (attack registry-B12).
    #[error(
        "the archive holds everything in a folder `{}`, expected `{name}` or `{name}-` and the version, or no folder",
        visible(.folder)
    )]
    OtherFolder {
        /// The folder.
        folder: String,
        /// The skill.
        name: SkillName,
    },
    /// `SKILL.md` can't be read.
    #[error("the `SKILL.md` in the archive has no front matter that can be read")]
    Unreadable,
    /// Nobody says what it is called.
    #[error("the `SKILL.md` in the archive declares no name")]
    Nameless,
    /// A name that is no folder's (NEG-1).
    #[error("the skill can't be installed: {0}")]
    Name(#[from] NameError),
    /// Not what was asked for.
    #[error("the archive holds the skill `{found}` instead of `{expected}`")]
    OtherSkill {
        /// What was asked for.
        expected: SkillName,
        /// What is there.
        found: SkillName,
    },
}

/// Unpacks a `.tar.gz` or `.zip`, told apart by their first bytes.
///
/// On an error the sink has got some of the files and must throw them away; [`unpack_to_memory`] and [`unpack_to_folder`] do.
pub fn unpack(
    mut archive: impl Read + Seek,
    sink: &mut dyn Sink,
    options: &UnpackOptions<'_>,
) -> Result<Unpacked, UnpackError> {
    let mut magic = [0; 4];
    let mut filled = 0;
    while filled < magic.len() {
        match archive.read(&mut magic[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(UnpackError::Read(error)),
        }
    }
    archive.seek(SeekFrom::Start(0)).map_err(UnpackError::Read)?;
    match magic {
        [0x1f, 0x8b, ..] => unpack_tar(archive, sink, options),
        [b'P', b'K', ..] => unpack_zip(archive, sink, options),
        _ => Err(UnpackError::UnknownFormat),
    }
}

/// Unpacks a `.tar.gz` as it comes in.
pub fn unpack_tar(
    archive: impl Read,
    sink: &mut dyn Sink,
    options: &UnpackOptions<'_>,
) -> Result<Unpacked, UnpackError> {
    let mut intake = intake::Intake::new(sink, options);
    tar::read(archive, &mut intake)?;
    intake.finish()
}

/// Unpacks a `.zip`.
pub fn unpack_zip(
    archive: impl Read + Seek,
    sink: &mut dyn Sink,
    options: &UnpackOptions<'_>,
) -> Result<Unpacked, UnpackError> {
    let mut intake = intake::Intake::new(sink, options);
    zip::read(archive, &mut intake)?;
    intake.finish()
}

/// Unpacks to memory, which takes as much as [`Limits::bytes`].
pub fn unpack_to_memory(
    archive: impl Read + Seek,
    options: &UnpackOptions<'_>,
) -> Result<(Unpacked, Tree), UnpackError> {
    let mut tree = Tree::default();
    let unpacked = unpack(archive, &mut tree, options)?;
    Ok((unpacked, tree))
}

impl Sink for Tree {
    fn file(
        &mut self,
        path: &PackagePath,
        executable: bool,
        content: &mut dyn Read,
    ) -> io::Result<()> {
        let mut bytes = Vec::new();
        content.read_to_end(&mut bytes)?;
        self.insert(path.clone(), TreeFile { bytes, executable });
        Ok(())
    }

    fn strip(&mut self, folder: &str) -> io::Result<()> {
        *self = std::mem::take(self).below(folder);
        Ok(())
    }
}
