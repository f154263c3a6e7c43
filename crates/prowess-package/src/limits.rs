//! Limits of a package.

/// Limits of a package, for packing and unpacking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackageLimits {
    /// Maximum number of files of a skill, and of entries of an archive including folders (attack
    /// registry-B4).
    pub entries: usize,
    /// Maximum size of all files together, in bytes (R9).
    pub bytes: u64,
    /// Maximum size of one file, in bytes.
    pub file_bytes: u64,
    /// Maximum size of the archive, in bytes.
    pub archive_bytes: u64,
}

impl PackageLimits {
    /// What registries accept: 50 MB in 2,000 files, 10 MB each (R9). The largest of 2,291 published skills has 94
    /// files and less than 1 MB.
    pub const PACKAGE: Self =
        Self { entries: 2_000, bytes: 50 << 20, file_bytes: 10 << 20, archive_bytes: 50 << 20 };
}

/// Formats a size for messages.
pub(crate) fn size(bytes: u64) -> String {
    const MEBIBYTE: u64 = 1 << 20;
    if bytes >= MEBIBYTE && bytes.is_multiple_of(MEBIBYTE) {
        format!("{} MiB", bytes / MEBIBYTE)
    } else {
        format!("{bytes} bytes")
    }
}
