//! The capabilities of a package: what its files can make an agent do.

use std::collections::BTreeSet;

use prowess_capabilities::{SkillFile, of_files};
use prowess_package::tree::Tree;

pub use prowess_capabilities::{Capability, CapabilityKind};

/// The maximum number of lines that a lock file entry keeps from earlier versions.
const MOST_REMEMBERED: usize = 10_000;

/// The capabilities of a skill, by kind.
pub fn capabilities_of(tree: &Tree) -> Vec<Capability> {
    of_files(tree.files().map(|(path, file)| SkillFile {
        path: path.as_str(),
        bytes: &file.bytes,
        is_executable: file.executable,
    }))
}

/// The canonical lines of capabilities, as in lock files.
pub(crate) fn lines(capabilities: &[Capability]) -> BTreeSet<String> {
    capabilities.iter().map(ToString::to_string).collect()
}

/// The lines that a lock file entry keeps after an update: those approved earlier, and those approved now.
pub(crate) fn remembered(
    before: &BTreeSet<String>,
    capabilities: &[Capability],
) -> BTreeSet<String> {
    let mut all = lines(capabilities);
    if before.len() + all.len() <= MOST_REMEMBERED {
        all.extend(before.iter().cloned());
    }
    all
}
