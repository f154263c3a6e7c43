//! The files of a version.

use bytes::Bytes;
use semver::Version;

use crate::error::{Outcome, RegistryError};
use crate::facts::FileFacts;
use crate::names::SkillId;
use crate::registry::Registry;
use crate::viewer::Viewer;

/// A file of a version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileContent {
    /// What is known about it.
    pub file: FileFacts,
    /// Its bytes.
    pub bytes: Bytes,
}

impl Registry {
    /// The files of a version, in the order of their paths.
    pub async fn files(
        &self,
        skill: &SkillId,
        version: &Version,
        viewer: &Viewer,
    ) -> Outcome<Option<Vec<FileFacts>>> {
        Ok(self.version(skill, version, viewer).await?.map(|found| found.files))
    }

    /// The bytes of one file. The path is looked up among those of the version, so that no path leaves it (attack
    /// registry-D11). A revoked version is an error.
    pub async fn file(
        &self,
        skill: &SkillId,
        version: &Version,
        path: &str,
        viewer: &Viewer,
    ) -> Outcome<Option<FileContent>> {
        let Some(found) = self.version(skill, version, viewer).await? else { return Ok(None) };
        if let Some(reason) = found.revoked {
            return Err(RegistryError::Revoked { what: format!("{skill} {version}"), reason });
        }
        let Some(file) = found.files.into_iter().find(|file| file.path == path) else {
            return Ok(None);
        };
        let tree = self.tree(&found.sha256).await?;
        let bytes = tree.get(path).map(|file| Bytes::copy_from_slice(&file.bytes));
        Ok(bytes.map(|bytes| FileContent { file, bytes }))
    }
}
