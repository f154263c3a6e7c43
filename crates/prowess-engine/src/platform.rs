//! Differences between operating systems. Tools only run where there is a sandbox; the rest is built everywhere.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

/// The bytes of a name.
#[cfg(unix)]
pub(crate) fn bytes(name: &OsStr) -> Cow<'_, [u8]> {
    use std::os::unix::ffi::OsStrExt as _;
    Cow::Borrowed(name.as_bytes())
}

/// The bytes of a name.
#[cfg(not(unix))]
pub(crate) fn bytes(name: &OsStr) -> Cow<'_, [u8]> {
    Cow::Owned(name.to_string_lossy().replace('\\', "/").into_bytes())
}

/// Whether a file is executable by anyone.
#[cfg(unix)]
pub(crate) fn is_executable(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(fs::metadata(path)?.permissions().mode() & 0o111 != 0)
}

/// Whether a file is executable: not determined by its mode on this platform.
#[cfg(not(unix))]
pub(crate) fn is_executable(path: &Path) -> io::Result<bool> {
    fs::metadata(path).map(|_| true)
}

/// Timestamps of file systems are coarse: two changes within this time may have the same timestamp.
#[cfg(unix)]
const COARSE_SECONDS: i64 = 2;

/// Identifies a version of a file: inode, size and times. Only root can set the change time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    place: PlaceOf,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Identity {
    /// How many numbers an identity consists of.
    pub(crate) const NUMBERS: usize = 7;

    /// Its numbers, for a file.
    pub(crate) fn to_numbers(self) -> [u64; Self::NUMBERS] {
        let Self { place: (device, inode), size, modified, changed } = self;
        let times = [modified.0, modified.1, changed.0, changed.1].map(i64::cast_unsigned);
        [device, inode, size, times[0], times[1], times[2], times[3]]
    }

    /// The identity with these numbers.
    pub(crate) fn from_numbers(numbers: [u64; Self::NUMBERS]) -> Self {
        let [device, inode, size, times @ ..] = numbers;
        let [modified, modified_nanos, changed, changed_nanos] = times.map(u64::cast_signed);
        Self {
            place: (device, inode),
            size,
            modified: (modified, modified_nanos),
            changed: (changed, changed_nanos),
        }
    }
}

/// Identifies a file or folder, whatever its content: device and inode.
pub(crate) type PlaceOf = (u64, u64);

#[cfg(test)]
impl Identity {
    /// Whether it was changed after another one.
    pub(crate) fn is_later_than(&self, other: &Self) -> bool {
        self.changed > other.changed
    }
}

impl std::fmt::Display for Identity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { place: (dev, ino), size, modified, changed } = self;
        let ((modified, its), (changed, nanos)) = (modified, changed);
        write!(f, "{dev}:{ino}:{size}:{modified}.{its}:{changed}.{nanos}")
    }
}

/// The identity of a file. A file that has just changed has none, because it could change again with the same
/// timestamp.
#[cfg(unix)]
pub(crate) fn identity_of(data: &fs::Metadata) -> Option<Identity> {
    use std::os::unix::fs::MetadataExt as _;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
    let is_settled = data.ctime() + COARSE_SECONDS < i64::try_from(now.as_secs()).ok()?;
    is_settled.then(|| identity_at_any_age(data))
}

/// The identity of a file, including one that has just changed.
#[cfg(unix)]
pub(crate) fn identity_at_any_age(data: &fs::Metadata) -> Identity {
    use std::os::unix::fs::MetadataExt as _;
    Identity {
        place: (data.dev(), data.ino()),
        size: data.size(),
        modified: (data.mtime(), data.mtime_nsec()),
        changed: (data.ctime(), data.ctime_nsec()),
    }
}

/// Whether a file is unchanged. A changed file is later than its identity, so its age does not matter.
#[cfg(unix)]
pub(crate) fn same_identity(data: &fs::Metadata, identity: &Identity) -> bool {
    identity_at_any_age(data) == *identity
}

/// Identifies a file or folder.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems do not tell")]
pub(crate) fn place_of(data: &fs::Metadata) -> Option<PlaceOf> {
    use std::os::unix::fs::MetadataExt as _;
    Some((data.dev(), data.ino()))
}

/// The identity of a file, which is not reliable on this platform.
#[cfg(not(unix))]
pub(crate) fn identity_of(_data: &fs::Metadata) -> Option<Identity> {
    None
}

/// Whether a file is unchanged: unknown on this platform.
#[cfg(not(unix))]
pub(crate) fn same_identity(_data: &fs::Metadata, _identity: &Identity) -> bool {
    false
}

/// Identifies a file or folder: unknown on this platform.
#[cfg(not(unix))]
pub(crate) fn place_of(_data: &fs::Metadata) -> Option<PlaceOf> {
    None
}

/// The identity of the file at a path.
pub(crate) fn identity(path: &Path) -> Option<String> {
    Some(identity_of(&fs::metadata(path).ok()?)?.to_string())
}

/// An absolute path as unique text: invalid UTF-8 would become replacement characters, so such a path is written in
/// hexadecimal after a colon, which no absolute path begins with.
pub(crate) fn unique_text(path: &Path) -> String {
    path.to_str().map_or_else(
        || format!(":{}", crate::digest::hexadecimal(&bytes(path.as_os_str()))),
        str::to_owned,
    )
}

/// Parses the text of [`unique_text`].
pub(crate) fn path_of_unique_text(text: &str) -> Option<std::path::PathBuf> {
    let Some(digits) = text.strip_prefix(':') else { return Some(text.into()) };
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes = digits.as_bytes().chunks(2).map(pair).collect::<Option<Vec<u8>>>()?;
    path_of_bytes(bytes)
}

/// The path with these bytes.
#[cfg(unix)]
#[expect(clippy::unnecessary_wraps, reason = "other systems have other paths")]
pub(crate) fn path_of_bytes(bytes: Vec<u8>) -> Option<std::path::PathBuf> {
    use std::os::unix::ffi::OsStringExt as _;
    Some(std::ffi::OsString::from_vec(bytes).into())
}

/// The path with these bytes, if they are text.
#[cfg(not(unix))]
pub(crate) fn path_of_bytes(bytes: Vec<u8>) -> Option<std::path::PathBuf> {
    String::from_utf8(bytes).ok().map(Into::into)
}

/// The last change time, which no program can set back.
#[cfg(unix)]
pub(crate) fn changed(data: &fs::Metadata) -> Option<std::time::SystemTime> {
    use std::os::unix::fs::MetadataExt as _;
    let seconds = u64::try_from(data.ctime()).ok()?;
    let rest = u32::try_from(data.ctime_nsec()).ok()?;
    Some(std::time::UNIX_EPOCH + std::time::Duration::new(seconds, rest))
}

/// The last change time: unknown on this platform.
#[cfg(not(unix))]
pub(crate) fn changed(_data: &fs::Metadata) -> Option<std::time::SystemTime> {
    None
}

/// Whether the owner of a folder may list and enter it.
#[cfg(unix)]
pub(crate) fn is_open_to_owner(data: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    data.permissions().mode() & 0o500 == 0o500
}

/// Whether the owner of a folder may list and enter it: not determined by its mode on this platform.
#[cfg(not(unix))]
pub(crate) fn is_open_to_owner(_data: &fs::Metadata) -> bool {
    true
}

/// Gives the owner of a folder full access again.
#[cfg(unix)]
pub(crate) fn open_to_owner(folder: &Path, data: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = data.permissions().mode() | 0o700;
    fs::set_permissions(folder, fs::Permissions::from_mode(mode))
}

/// Gives the owner of a folder full access again: not needed on this platform.
#[cfg(not(unix))]
pub(crate) fn open_to_owner(_folder: &Path, _data: &fs::Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, unix))]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::Path;

    use super::{path_of_unique_text, unique_text};

    #[test]
    fn two_paths_have_two_texts() {
        let text = |bytes: &[u8]| unique_text(Path::new(OsStr::from_bytes(bytes)));
        assert_eq!(text(b"/work/a"), "/work/a");
        assert_eq!(text(b"/work/\xff"), ":2f776f726b2fff");
        assert_ne!(text(b"/work/\xfe"), text(b"/work/\xff"));
        for bytes in [b"/work/a".as_slice(), b"/work/\xff"] {
            let path = Path::new(OsStr::from_bytes(bytes));
            assert_eq!(path_of_unique_text(&text(bytes)).as_deref(), Some(path));
        }
        assert_eq!(path_of_unique_text(":zz"), None);
    }
}
