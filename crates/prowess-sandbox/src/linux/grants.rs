//! Granted files and folders: what of them comes into view.

use std::os::fd::{AsFd as _, OwnedFd};
use std::path::PathBuf;

use rustix::fs::FileType;
use rustix::io::Errno;

use super::view::{self, Rights, View};
use super::walk::{self, Next, Stopped};
use crate::error::Error;
use crate::pattern::Patterns;
use crate::spec::{Access, FileGrant};

/// The most files that one grant's pattern may stand for.
pub(super) const MOST_MATCHES: usize = 4096;
/// The most entries of a folder that are compared with a pattern.
pub(super) const MOST_COMPARED: usize = 100_000;

/// Brings what is granted into view.
pub(super) fn show(view: &mut View, grants: &[FileGrant]) -> Result<(), Error> {
    for grant in grants {
        if !view::is_plain(&grant.path) {
            return Err(refuse(grant, "it is not an absolute path that goes straight down"));
        }
        if is_there(grant)? {
            match &grant.pattern {
                None => view.host(&grant.path, &grant.path, rights(grant.access)),
                Some(pattern) => show_matches(view, grant, pattern)?,
            }
        }
    }
    Ok(())
}

pub(super) fn refuse(grant: &FileGrant, reason: impl Into<String>) -> Error {
    Error::Grant { path: grant.path.clone(), reason: reason.into() }
}

fn rights(access: Access) -> Rights {
    match access {
        Access::Read => Rights::Read,
        Access::Execute => Rights::Execute,
        Access::Write => Rights::Write,
    }
}

/// Whether something is at a granted path: a missing one is simply not in view, a link is refused (attack A05).
fn is_there(grant: &FileGrant) -> Result<bool, Error> {
    match std::fs::symlink_metadata(&grant.path) {
        Ok(data) if data.file_type().is_symlink() => {
            Err(refuse(grant, "it is a symbolic link, which could lead anywhere"))
        }
        Ok(_) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(refuse(grant, error.to_string())),
    }
}

/// Shows the files that match now, one by one; their folder is one in memory (attack A14).
fn show_matches(view: &mut View, grant: &FileGrant, pattern: &str) -> Result<(), Error> {
    let patterns = Patterns::new([pattern]).map_err(|reason| refuse(grant, reason))?;
    view.folder(&grant.path);
    for relative in matches(grant, &patterns)? {
        let path = grant.path.join(relative);
        view.host(&path, &path, rights(grant.access));
    }
    Ok(())
}

/// The regular files below a granted folder that match, relative to it.
fn matches(grant: &FileGrant, patterns: &Patterns) -> Result<Vec<PathBuf>, Error> {
    let folder = open(grant)?;
    let mut found = Vec::new();
    let mut entries = MOST_COMPARED;
    let mut crowded = false;
    let walked = walk::walk(folder.as_fd(), &mut entries, &mut |entry| {
        if entry.kind == FileType::RegularFile && patterns.matches(entry.relative) {
            crowded = found.len() == MOST_MATCHES;
            if crowded {
                return Err(Stopped::TooLarge);
            }
            found.push(entry.relative.to_owned());
        }
        Ok(if patterns.reach_into(entry.relative) { Next::Enter } else { Next::Pass })
    });
    match walked {
        Ok(()) => Ok(found),
        Err(stopped) => Err(too_large(grant, stopped, crowded)),
    }
}

/// Opens a granted folder.
pub(super) fn open(grant: &FileGrant) -> Result<OwnedFd, Error> {
    walk::open_folder(&grant.path).map_err(|errno| match errno {
        Errno::LOOP => refuse(grant, "a part of it is a symbolic link, which could lead anywhere"),
        Errno::NOTDIR => refuse(grant, "it is not a folder, so its pattern matches nothing"),
        errno => refuse(grant, errno.to_string()),
    })
}

/// Why a walk through a granted folder ended; `crowded` when it was the matches that were too many.
pub(super) fn too_large(grant: &FileGrant, stopped: Stopped, crowded: bool) -> Error {
    let (what, most) = if crowded {
        ("files match its pattern", MOST_MATCHES)
    } else {
        ("entries would have to be compared with its pattern", MOST_COMPARED)
    };
    match stopped {
        Stopped::TooLarge => Error::TooLarge { path: grant.path.clone(), what, most },
        Stopped::Failed(error) => refuse(grant, error.to_string()),
    }
}
