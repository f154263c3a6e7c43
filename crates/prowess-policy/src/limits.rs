//! How much a run may use (GAIA §4.3, GIB §5.3).

use crate::trust::Tier;

/// Bounds of a run; an absent one is not set by the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Seconds on the clock, after which the run is ended (GIB §5.3).
    pub wall_secs: u64,
    /// Seconds between asking it to end and ending it (GIB §5.3, R21).
    pub grace_secs: u64,
    /// Seconds of computing, over all its processes.
    pub cpu_secs: Option<u64>,
    /// Bytes of memory, over all its processes.
    pub memory_bytes: Option<u64>,
    /// Processes and threads at once.
    pub processes: Option<u32>,
    /// Bytes written to stdout and stderr, after which the run is ended. What is kept of them is far less.
    pub output_bytes: u64,
    /// Bytes that folders which may be written may grow by, after which the run is ended.
    pub written_bytes: u64,
    /// Files and folders that may be added to them, after which the run is ended.
    pub written_entries: u64,
    /// Bytes sent and received.
    pub network_bytes: Option<u64>,
    /// Bytes per second sent and received.
    pub network_bytes_per_sec: Option<u64>,
}

const MIB: u64 = 1024 * 1024;
const GIB: u64 = 1024 * MIB;

impl Limits {
    /// The limits of a tier.
    ///
    /// GAIA §4.3 wants CPU time, memory and bandwidth limited for experimental skills and names no numbers. These let compilers and package managers work and end what runs wild: two cores for the whole time, 2 GiB, 256 processes and threads, 256 MiB of traffic at 16 MiB/s.
    pub fn of(tier: Tier, wall_secs: u64) -> Self {
        let common = Self {
            wall_secs,
            grace_secs: 5,
            cpu_secs: None,
            memory_bytes: None,
            processes: Some(4096),
            output_bytes: 4 * GIB,
            // What a large build leaves. No specification names a number, and a full disk is everybody's trouble.
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
