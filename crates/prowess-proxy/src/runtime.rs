//! The async runtime that the proxies of all runs share.
//!
//! It is started by the first run with a network grant and lasts as long as the process. Runs share
//! only its threads: each has its own policy, certificate authority, meter, report and tasks.

use std::io;
use std::sync::{Mutex, PoisonError};

use tokio::runtime::{Builder, Handle, Runtime};

/// Maximum number of worker threads. More would only help if encryption were the bottleneck of many
/// simultaneous runs.
const MAX_WORKERS: usize = 4;
/// Maximum number of threads for DNS lookups, which block. Idle threads end.
const MAX_LOOKUP_THREADS: usize = 64;

static RUNTIME: Mutex<Option<Runtime>> = Mutex::new(None);

/// The shared runtime, started on first use.
pub(crate) fn shared() -> io::Result<Handle> {
    let mut runtime = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = runtime.as_ref() {
        return Ok(runtime.handle().clone());
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let built = Builder::new_multi_thread()
        .worker_threads(cores.min(MAX_WORKERS))
        .max_blocking_threads(MAX_LOOKUP_THREADS)
        .thread_name("prowess-proxy")
        .enable_io()
        .enable_time()
        .build()?;
    Ok(runtime.insert(built).handle().clone())
}
