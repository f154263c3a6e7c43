//! What to do about an error of the system.

use std::io;

/// The rest of a message about an error of the system: what to do next, where that is known.
pub fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space and try again"
        }
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            "; make it writable for you and try again"
        }
        _ => "",
    }
}
