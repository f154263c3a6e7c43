//! Unpacks untrusted archives: a complete skill, or an error.
//!
//! Both formats have their own strict parser, which only accepts what every reader interprets
//! alike. With a lenient library a reviewer and an installer could see different listings (attacks
//! registry-B6 and B7). Nothing is executed, links are not followed, and memory does not grow with
//! the claims of an archive.

mod disk;
mod intake;
mod tar;
mod zip;

use std::io::{self, Read, Seek, SeekFrom};

use prowess_files::advice;
use prowess_format::text::{shorten, visible};

use crate::digest::FileHashes;
use crate::limits::{PackageLimits, size};
use crate::name::{SkillName, SkillNameError};
use crate::path::{PackagePath, PackagePathError};
use crate::tree::{Tree, TreeError, TreeFile};

pub use disk::unpack_to_folder;

/// Options for unpacking.
#[derive(Debug, Clone, Copy)]
pub struct UnpackOptions<'a> {
    /// The limits.
    pub limits: PackageLimits,
    /// The expected name, if any. A skill with another name is rejected.
    pub name: Option<&'a SkillName>,
}

/// An unpacked skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpacked {
    /// The expected name, or else the declared one.
    pub name: SkillName,
    /// The declared version, as written.
    pub version: Option<String>,
    /// The hash of every file.
    pub hashes: FileHashes,
}

/// The destination of unpacked files.
pub trait UnpackSink {
    /// Receives a file. Each path occurs once.
    fn file(
        &mut self,
        path: &PackagePath,
        executable: bool,
        content: &mut dyn Read,
    ) -> io::Result<()>;

    /// Moves everything up from the single top-level folder.
    fn strip(&mut self, folder: &str) -> io::Result<()>;
}

/// Why an archive is rejected. No file of it is kept.
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
        /// The error.
        source: io::Error,
    },
    /// Unknown format.
    #[error("this is neither a `.tar.gz` nor a `.zip` archive")]
    UnknownFormat,
    /// It violates the format.
    #[error("the archive is damaged or malicious: {0}")]
    Malformed(&'static str),
    /// An entry that is not allowed in a package.
    #[error("the archive is rejected because of `{}`: {problem}", visible(&shorten(.path, 120)))]
    Entry {
        /// Its path, as found.
        path: String,
        /// The problem.
        problem: &'static str,
    },
    /// An invalid path.
    #[error("the archive is rejected: {0}")]
    Path(#[from] PackagePathError),
    /// Its files are not a skill.
    #[error("the archive is rejected: {0}")]
    Files(#[from] TreeError),
    /// It is too large.
    #[error("the archive has more than {}", size(*.most))]
    ArchiveTooLarge {
        /// The limit in bytes.
        most: u64,
    },
    /// Its compression ratio is too high.
    #[error("the archive unpacks to more than {most} times its size")]
    TooDense {
        /// The limit.
        most: u64,
    },
    /// Several skills.
    #[error("the archive contains more than one skill: {}; choose one of them", .folders.join(", "))]
    SeveralSkills {
        /// Their folders.
        folders: Vec<String>,
    },
    /// The top-level folder has the name of another skill (attack registry-B12).
    #[error(
        "the archive has the top-level folder `{}`, expected `{name}` or `{name}-` and the version, or no folder",
        visible(.folder)
    )]
    OtherFolder {
        /// The folder.
        folder: String,
        /// The skill.
        name: SkillName,
    },
    /// `SKILL.md` can't be read.
    #[error("the `SKILL.md` in the archive has no readable front matter")]
    Unreadable,
    /// The skill has no name.
    #[error("the `SKILL.md` in the archive declares no name")]
    Nameless,
    /// The name is not valid (NEG-1).
    #[error("the skill can't be installed: {0}")]
    Name(#[from] SkillNameError),
    /// Not the expected skill.
    #[error("the archive contains the skill `{found}`, expected `{expected}`")]
    OtherSkill {
        /// The expected skill.
        expected: SkillName,
        /// The actual skill.
        found: SkillName,
    },
}

/// Unpacks a `.tar.gz` or `.zip`, detected by the first bytes.
///
/// On an error the sink must discard the files it has received; [`unpack_to_memory`] and
/// [`unpack_to_folder`] do.
pub fn unpack(
    mut archive: impl Read + Seek,
    sink: &mut dyn UnpackSink,
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

/// Unpacks a `.tar.gz` from a stream.
pub fn unpack_tar(
    archive: impl Read,
    sink: &mut dyn UnpackSink,
    options: &UnpackOptions<'_>,
) -> Result<Unpacked, UnpackError> {
    let mut intake = intake::Intake::new(sink, options);
    tar::read(archive, &mut intake)?;
    intake.finish()
}

/// Unpacks a `.zip`.
pub fn unpack_zip(
    archive: impl Read + Seek,
    sink: &mut dyn UnpackSink,
    options: &UnpackOptions<'_>,
) -> Result<Unpacked, UnpackError> {
    let mut intake = intake::Intake::new(sink, options);
    zip::read(archive, &mut intake)?;
    intake.finish()
}

/// Unpacks to memory, which needs up to [`PackageLimits::bytes`].
pub fn unpack_to_memory(
    archive: impl Read + Seek,
    options: &UnpackOptions<'_>,
) -> Result<(Unpacked, Tree), UnpackError> {
    let mut tree = Tree::default();
    let unpacked = unpack(archive, &mut tree, options)?;
    Ok((unpacked, tree))
}

impl UnpackSink for Tree {
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
