//! The one runtime on which the proxies of all runs work.
//!
//! It is started by the first run that has a network grant and lasts as long as the process. Runs share its threads and
//! nothing else: each has its own policy, certificate authority, meter, report and tasks.

use std::io;
use std::sync::{Mutex, PoisonError};

use tokio::runtime::{Builder, Handle, Runtime};

/// More threads than this would only help when encryption is the bottleneck of many runs at once.
const MOST_WORKERS: usize = 4;
/// The system's resolver blocks, so lookups wait in threads of their own. They end when nobody needs them.
const MOST_LOOKUP_THREADS: usize = 64;

static RUNTIME: Mutex<Option<Runtime>> = Mutex::new(None);

/// The shared runtime, started on first use.
pub(crate) fn shared() -> io::Result<Handle> {
    let mut runtime = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(runtime) = runtime.as_ref() {
        return Ok(runtime.handle().clone());
    }
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let built = Builder::new_multi_thread()
        .worker_threads(cores.min(MOST_WORKERS))
        .max_blocking_threads(MOST_LOOKUP_THREADS)
        .thread_name("prowess-proxy")
        .enable_io()
        .enable_time()
        .build()?;
    Ok(runtime.insert(built).handle().clone())
}
