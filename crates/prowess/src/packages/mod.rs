//! What the verbs about installed skills share: options, sources, names, and carrying out a change.

pub(crate) mod account;
pub(crate) mod author_scan;
pub(crate) mod change;
pub(crate) mod names;
pub(crate) mod options;
pub(crate) mod scope;
pub(crate) mod servers;
pub(crate) mod sources;

use std::time::{SystemTime, UNIX_EPOCH};

use prowess_library::packages::PackageManager;
use prowess_trust::Timestamp;

use crate::error::Error;
use crate::session;
use crate::terminal::signals;

/// The package manager of this user and this project. A signal waits for changes that it has started.
pub(crate) fn manager() -> Result<PackageManager, Error> {
    Ok(session::library()?.packages().on_phase(signals::at_phase))
}

/// The current time by the clock of this machine.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix(i64::try_from(since.as_secs()).unwrap_or(i64::MAX))
}
