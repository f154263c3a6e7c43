//! Where a version was built, as the identity of a CI run proves it.

use serde::{Deserialize, Serialize};

/// The CI run that published a version. Every field was in the verified token of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Provenance {
    /// The issuer of the token.
    pub issuer: String,
    /// The repository, such as `acme/skills`.
    pub repository: String,
    /// The workflow file.
    pub workflow: String,
    /// The environment; empty if the run has none.
    pub environment: String,
    /// The commit.
    pub commit: Option<String>,
    /// The address of the run.
    pub run: Option<String>,
}
