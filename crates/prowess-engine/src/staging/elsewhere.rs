//! Systems without overlays: nothing is staged.

use prowess_sandbox::{FileAccess, Spec};

use super::{SettledRun, StagingError};
use crate::fold::RunEnding;
use crate::planted::PlantedScan;
use crate::prepare::PreparedCall;
use crate::world::{World, Writes};

/// A run whose writes are staged; there are none on this system.
#[derive(Debug)]
pub(crate) struct StagedRun(std::convert::Infallible);

impl StagedRun {
    /// Refuses runs that would write.
    pub(crate) fn begin(
        spec: &mut Spec,
        _: &PreparedCall,
        world: &World,
    ) -> Result<Option<Self>, StagingError> {
        let writes = spec.files.iter().find(|grant| grant.access == FileAccess::Write);
        match (world.writes, writes) {
            (Writes::Live, _) | (_, None) => Ok(None),
            (Writes::Staged(_), Some(grant)) => Err(StagingError::Grant {
                path: grant.path.clone(),
                reason: "this system has no overlays".to_owned(),
            }),
        }
    }

    pub(crate) fn mark_start(&mut self) -> Result<(), StagingError> {
        match self.0 {}
    }

    pub(crate) fn settle(self, _: &mut RunEnding, _: &PlantedScan) -> SettledRun {
        match self.0 {}
    }
}
