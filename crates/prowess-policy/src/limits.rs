//! Resource limits of a run (GAIA §4.3, GIB §5.3).

use crate::trust::Tier;

/// Resource limits of a run; `None` means that the policy sets no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// Wall-clock time in seconds, after which the run is terminated (GIB §5.3).
    pub wall_secs: u64,
    /// Grace period between SIGTERM and SIGKILL, in seconds (GIB §5.3, R21).
    pub grace_secs: u64,
    /// CPU time in seconds, over all its processes.
    pub cpu_secs: Option<u64>,
    /// Memory in bytes, over all its processes.
    pub memory_bytes: Option<u64>,
    /// Maximum number of processes and threads.
    pub processes: Option<u32>,
    /// Maximum number of bytes written to stdout and stderr, after which the run is terminated. Far
    /// less of it is kept.
    pub output_bytes: u64,
    /// Maximum growth of writable folders in bytes, after which the run is terminated.
    pub written_bytes: u64,
    /// Maximum number of new files and folders in them, after which the run is terminated.
    pub written_entries: u64,
    /// Maximum number of bytes sent and received.
    pub network_bytes: Option<u64>,
    /// Bandwidth in bytes per second, sent and received.
    pub network_bytes_per_sec: Option<u64>,
}

const MIB: u64 = 1024 * 1024;
const GIB: u64 = 1024 * MIB;

impl RunLimits {
    /// The limits of a tier.
    ///
    /// GAIA §4.3 requires limits on CPU time, memory and bandwidth for experimental skills but
    /// gives no numbers. These are enough for compilers and package managers: two cores for the
    /// whole time, 2 GiB, 256 processes and threads, 256 MiB of traffic at 16 MiB/s.
    pub fn of(tier: Tier, wall_secs: u64) -> Self {
        let common = Self {
            wall_secs,
            grace_secs: 5,
            cpu_secs: None,
            memory_bytes: None,
            processes: Some(4096),
            output_bytes: 4 * GIB,
            // Enough for a large build. No specification gives a number.
            written_bytes: 16 * GIB,
            written_entries: 1_000_000,
            network_bytes: None,
            network_bytes_per_sec: None,
        };
        match tier {
            Tier::Experimental => Self {
                cpu_secs: Some(wall_secs.saturating_mul(2)),
                memory_bytes: Some(2 * GIB),
                processes: Some(256),
                output_bytes: 2 * GIB,
                written_bytes: 4 * GIB,
                written_entries: 200_000,
                network_bytes: Some(256 * MIB),
                network_bytes_per_sec: Some(16 * MIB),
                ..common
            },
            Tier::Community => {
                Self { memory_bytes: Some(8 * GIB), processes: Some(2048), ..common }
            }
            Tier::Verified => common,
        }
    }
}
