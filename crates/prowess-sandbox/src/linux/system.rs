//! System files that every program needs: the loader, libraries, a few files below /etc, devices.
//! Nothing executable.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::view::{Rights, View};
use crate::error::SandboxError;

/// The user id inside.
pub(super) const USER: u32 = 1000;
/// Its home directory, on a tmpfs.
pub(super) const HOME: &str = "/home/skill";
/// The host name inside.
pub(super) const HOST_NAME: &std::ffi::CStr = c"skill";

/// The canonical folders of shared libraries, cached because they don't change.
fn library_folders() -> &'static [PathBuf] {
    static FOLDERS: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
        let real =
            named_library_folders().into_iter().filter_map(|folder| folder.canonicalize().ok());
        real.filter(|folder| folder.is_dir()).collect()
    });
    &FOLDERS
}

/// The folders of shared libraries by name; the first component may be a symbolic link of a merged
/// /usr.
fn named_library_folders() -> Vec<PathBuf> {
    let arch = std::env::consts::ARCH;
    let mut folders = vec![
        format!("/usr/lib/{arch}-linux-gnu"),
        format!("/lib/{arch}-linux-gnu"),
        format!("/usr/lib/{arch}-linux-musl"),
        "/usr/lib64".to_owned(),
        "/lib64".to_owned(),
        "/usr/local/lib64".to_owned(),
        "/usr/lib/locale".to_owned(),
        "/usr/share/zoneinfo".to_owned(),
    ];
    // Systems that keep libraries directly in these folders have no folder per architecture.
    if !Path::new(&folders[0]).is_dir() && !Path::new("/usr/lib64").is_dir() {
        folders.extend(["/usr/lib".to_owned(), "/lib".to_owned()]);
    }
    folders.into_iter().map(PathBuf::from).collect()
}

const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom"];

/// Adds what every program needs.
pub(super) fn show(view: &mut View, scratch: u64) {
    for name in ["bin", "sbin", "lib", "lib32", "lib64", "libx32"] {
        let path = Path::new("/").join(name);
        if let Ok(target) = fs::read_link(&path) {
            view.link(&path, &target);
        }
    }
    for folder in library_folders() {
        view.host(folder, folder, Rights::Library);
    }
    for file in ["/etc/ld.so.cache", "/etc/localtime"] {
        let path = Path::new(file);
        let Ok(real) = path.canonicalize() else { continue };
        if real.is_file() && !view.shows(&real) {
            view.host(path, &real, Rights::Read);
        } else if real != path {
            view.link(path, &real);
        }
    }
    let texts = [
        ("/etc/passwd", format!("skill:x:{USER}:{USER}::{HOME}:/bin/false\n")),
        ("/etc/group", format!("skill:x:{USER}:\n")),
        ("/etc/hosts", "127.0.0.1 localhost skill\n".to_owned()),
        ("/etc/resolv.conf", String::new()),
        ("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n".to_owned()),
    ];
    for (path, text) in texts {
        view.text(Path::new(path), text.as_bytes());
    }
    view.processes("/proc");
    view.memory("/dev/shm", scratch, 0o1777);
    for device in DEVICES {
        let path = Path::new("/dev").join(device);
        view.host(&path, &path, Rights::Device);
    }
    for (name, target) in [("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")]
    {
        view.link(&Path::new("/dev").join(name), &Path::new("/proc/self").join(target));
    }
    view.memory("/tmp", scratch, 0o1777);
    view.memory(HOME, scratch, 0o700);
}

/// The dynamic loaders, which must be executable.
pub(super) fn loaders() -> &'static [PathBuf] {
    static LOADERS: LazyLock<Vec<PathBuf>> = LazyLock::new(find_loaders);
    &LOADERS
}

fn find_loaders() -> Vec<PathBuf> {
    let candidates = [
        "/lib64/ld-linux-x86-64.so.2",
        "/lib/ld-linux-aarch64.so.1",
        "/lib/ld-musl-x86_64.so.1",
        "/lib/ld-musl-aarch64.so.1",
        "/lib/ld-linux-riscv64-lp64d.so.1",
    ];
    candidates.iter().filter_map(|path| fs::canonicalize(path).ok()).collect()
}

/// Adds an image under its name and returns its canonical path.
pub(super) fn show_program(view: &mut View, program: &Path) -> Result<PathBuf, SandboxError> {
    let real = program.canonicalize().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => SandboxError::NotFound(program.to_owned()),
        _ => SandboxError::NotExecutable { path: program.to_owned(), reason: error.to_string() },
    })?;
    if !real.is_file() {
        return Err(SandboxError::NotExecutable {
            path: program.to_owned(),
            reason: "it is not a file".to_owned(),
        });
    }
    view.host(&real, &real, Rights::Image);
    // The name may be a link, and so may a parent folder.
    let name = program.file_name().unwrap_or_default();
    let folder = program.parent().and_then(|folder| folder.canonicalize().ok());
    if let Some(called) = folder.map(|folder| folder.join(name))
        && called != real
        && !view.shows(&called)
    {
        view.link(&called, &real);
    }
    Ok(real)
}
