//! Systems without overlays: nothing is staged.

use std::path::PathBuf;

use prowess_core::Envelope;
use prowess_sandbox::{FileAccess, FileGrant, Spec};

use super::{Begun, SettledRun, StagingError};
use crate::planted::PlantedScan;
use crate::prepare::PreparedCall;
use crate::world::{WithoutStaging, World, Writes};

/// Why changes can't be undone here.
const REASON: &str = "this system has no overlays";

/// A run whose writes are staged; there are none on this system.
#[derive(Debug)]
pub(crate) struct StagedRun(std::convert::Infallible);

impl StagedRun {
    /// Runs that write do so directly, or are refused.
    pub(crate) fn begin(
        spec: &mut Spec,
        _: &PreparedCall,
        world: &World,
    ) -> Result<Begun, StagingError> {
        let begun = Begun::live(spec);
        let writes = spec.files.iter().find(|grant| grant.access == FileAccess::Write);
        match (world.writes, writes) {
            (Writes::Live, _) | (_, None) => Ok(begun),
            (Writes::Staged(rules), Some(grant)) => match rules.without {
                WithoutStaging::Live => {
                    let warnings = vec![format!("changes can't be undone: {REASON}")];
                    Ok(Begun { warnings, ..begun })
                }
                WithoutStaging::Refuse => {
                    let reason = REASON.to_owned();
                    Err(StagingError::Grant { path: grant.path.clone(), reason })
                }
            },
        }
    }

    pub(crate) fn mark_start(&mut self) -> Result<(), StagingError> {
        match self.0 {}
    }

    pub(crate) fn settle(self, _: &Envelope, _: &PlantedScan) -> SettledRun {
        match self.0 {}
    }
}

/// Why changes through grants could not be undone.
pub(crate) fn obstacles(grants: &[FileGrant], _: &World) -> Vec<(PathBuf, String)> {
    let written = grants.iter().filter(|grant| grant.access == FileAccess::Write);
    written.map(|grant| (grant.path.clone(), REASON.to_owned())).collect()
}
