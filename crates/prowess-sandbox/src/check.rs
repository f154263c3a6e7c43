//! Checks that every platform performs before anything starts.

use std::path::{Component, Path};

use crate::error::SandboxError;
use crate::spec::{FileAccess, Spec};

/// Whether a path is absolute and has no `.` or `..`.
pub(crate) fn is_plain(path: &Path) -> bool {
    path.is_absolute()
        && path.components().all(|part| {
            matches!(part, Component::RootDir | Component::Prefix(_) | Component::Normal(_))
        })
}

/// Refuses an image that the program could replace (attack sandbox-B11).
pub(crate) fn refuse_writable(spec: &Spec, image: &Path) -> Result<(), SandboxError> {
    let writable = spec
        .files
        .iter()
        .any(|grant| grant.access == FileAccess::Write && image.starts_with(&grant.path));
    let protected = spec
        .files
        .iter()
        .any(|grant| grant.access != FileAccess::Write && image.starts_with(&grant.path));
    if writable && !protected {
        return Err(SandboxError::NotExecutable {
            path: image.to_owned(),
            reason: "it is in a folder that the run may write to, so it could be replaced"
                .to_owned(),
        });
    }
    Ok(())
}
