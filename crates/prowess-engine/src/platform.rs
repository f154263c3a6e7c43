//! What differs between systems. Tools run where there is a sandbox for them; the rest is built everywhere.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
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

/// Whether anybody may execute it.
#[cfg(unix)]
pub(crate) fn is_executable(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt as _;
    Ok(fs::metadata(path)?.permissions().mode() & 0o111 != 0)
}

/// Whether anybody may execute it: not told by the file there.
#[cfg(not(unix))]
pub(crate) fn is_executable(path: &Path) -> io::Result<bool> {
    fs::metadata(path).map(|_| true)
}

/// Clocks of file systems are coarse: two changes within this time may carry the same time.
#[cfg(unix)]
const COARSE_SECONDS: i64 = 2;

/// What tells a file from its later self: place, size and times. Nobody but the superuser can set the last of them.
/// A file that was changed just now could be changed again without a trace, so it has none.
#[cfg(unix)]
pub(crate) fn identity(path: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let data = fs::metadata(path).ok()?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?;
    if data.ctime() + COARSE_SECONDS >= i64::try_from(now.as_secs()).ok()? {
        return None;
    }
    Some(format!(
        "{}:{}:{}:{}.{}:{}.{}",
        data.dev(),
        data.ino(),
        data.size(),
        data.mtime(),
        data.mtime_nsec(),
        data.ctime(),
        data.ctime_nsec()
    ))
}

/// What tells a file from its later self: nothing that could be relied on.
#[cfg(not(unix))]
pub(crate) fn identity(_path: &Path) -> Option<String> {
    None
}

/// Makes a folder that only its owner can look into.
pub(crate) fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(folder)
}

/// Opens a file that only its owner can read, and makes it if it is not there.
pub(crate) fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options.open(path)
}

/// Which file or folder a name leads to, whatever is in it.
#[cfg(unix)]
pub(crate) fn place(path: &Path) -> io::Result<String> {
    use std::os::unix::fs::MetadataExt as _;
    let data = fs::symlink_metadata(path)?;
    Ok(format!("{}:{}", data.dev(), data.ino()))
}

/// Which file or folder a name leads to: not told there.
#[cfg(not(unix))]
pub(crate) fn place(_path: &Path) -> io::Result<String> {
    Err(io::Error::from(io::ErrorKind::Unsupported))
}

/// An absolute path as text that no other one has: bytes that are no UTF-8 would all become the same character, so such a
/// path is written in hexadecimal behind a colon, which no absolute path begins with.
pub(crate) fn unique_text(path: &Path) -> String {
    path.to_str().map_or_else(
        || format!(":{}", crate::digest::hexadecimal(&bytes(path.as_os_str()))),
        str::to_owned,
    )
}

#[cfg(all(test, unix))]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::Path;

    use super::unique_text;

    #[test]
    fn two_paths_have_two_texts() {
        let text = |bytes: &[u8]| unique_text(Path::new(OsStr::from_bytes(bytes)));
        assert_eq!(text(b"/work/a"), "/work/a");
        assert_eq!(text(b"/work/\xff"), ":2f776f726b2fff");
        assert_ne!(text(b"/work/\xfe"), text(b"/work/\xff"));
    }
}
