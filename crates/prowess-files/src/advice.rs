//! Advice about I/O errors.

use std::io;

/// The suffix of a message about an I/O error: what to do next, if known.
pub fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space and try again"
        }
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            "; make it writable and try again"
        }
        _ => "",
    }
}
