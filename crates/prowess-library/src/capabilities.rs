//! What a skill on disk can make an agent do.

use std::path::Path;

use prowess_core::{Problem, ProblemKind};
use prowess_package::limits::PackageLimits;
use prowess_package::tree::Tree;
use prowess_store::capabilities::{Capability, capabilities_of};
use serde_json::{Value, json};

/// Reads the files in a skill's folder and lists what they can make an agent do. Nothing is run.
pub fn capabilities_in(folder: &Path) -> Result<Vec<Capability>, Problem> {
    let read = Tree::read_foreign(folder, &PackageLimits::PACKAGE).map_err(|error| Problem {
        code: "unreadable-files",
        kind: ProblemKind::Failed,
        message: format!("the files of `{}` can't be read: {error}", folder.display()),
        remedies: Vec::new(),
    })?;
    Ok(capabilities_of(&read.tree))
}

/// Capabilities for programs.
pub fn capabilities_json(capabilities: &[Capability]) -> Value {
    let one = |capability: &Capability| {
        json!({
            "kind": capability.kind.as_str(),
            "text": capability.text,
            "note": capability.note,
            "file": capability.file,
            "line": capability.line,
        })
    };
    capabilities.iter().map(one).collect()
}
