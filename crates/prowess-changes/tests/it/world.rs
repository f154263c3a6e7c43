//! A folder of a user, and programs that work in an overlay on it.

#![allow(unsafe_code, reason = "a fork with namespaces of its own")]

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use prowess_changes::{Change, ChangeSet, Durability, Limits, RunFolder};

pub(crate) struct World {
    root: tempfile::TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        let world = Self { root };
        for name in ["target", "mount", "elsewhere"] {
            fs::create_dir(world.path(name)).expect("it is new");
        }
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let root = self.root.path().canonicalize().expect("it exists");
        if name.is_empty() { root } else { root.join(name) }
    }

    pub(crate) fn target(&self) -> PathBuf {
        self.path("target")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// Writes a file of the user.
    pub(crate) fn file(&self, name: &str, text: &str) {
        write(&self.target().join(name), text);
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.target().join(name)).unwrap_or_else(|error| format!("({error})"))
    }

    /// Runs a program in an overlay on the user's folder.
    pub(crate) fn run(&self, program: impl FnOnce(&Path)) -> RunFolder {
        self.run_beside(program, || ())
    }

    /// The same, with something that others do after the start.
    pub(crate) fn run_beside(
        &self,
        program: impl FnOnce(&Path),
        others: impl FnOnce(),
    ) -> RunFolder {
        static NUMBER: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut run = RunFolder::create(&self.home(), &format!("run-{number}")).expect("created");
        run.add_layer(&self.target(), false).expect("a layer");
        run.mark_start().expect("marked");
        let layer = run.layers()[0].clone();
        let mount = self.path("mount");
        others();
        in_child(|| {
            mount_overlay(&layer.target, &layer.upper(), &layer.work(), &mount);
            program(&mount);
        });
        run
    }

    /// Everything in the user's folder: type, mode, content or target, and times of files that were set.
    pub(crate) fn tree(&self) -> BTreeMap<PathBuf, String> {
        tree_of(&self.target())
    }
}

pub(crate) fn write(path: &Path, text: &str) {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).expect("made");
    }
    fs::write(path, text).expect("written");
}

pub(crate) fn is_root() -> bool {
    // SAFETY: no arguments.
    unsafe { libc::geteuid() == 0 }
}

pub(crate) fn tree_of(top: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![top.to_owned()];
    while let Some(folder) = open.pop() {
        let mode = fs::symlink_metadata(&folder).expect("a folder").mode();
        // Closed folders are looked into too.
        let is_closed = mode & 0o700 != 0o700 && !is_root();
        if is_closed {
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("ours");
        }
        for entry in fs::read_dir(&folder).expect("a folder").flatten() {
            let path = entry.path();
            let data = fs::symlink_metadata(&path).expect("an entry");
            let kind = data.file_type();
            let text = if kind.is_dir() {
                open.push(path.clone());
                format!("folder {:o}", data.mode() & 0o7777)
            } else if kind.is_symlink() {
                format!("link {}", fs::read_link(&path).expect("a link").display())
            } else if kind.is_file() {
                let is_set = data.mtime() < 1_000_000_000;
                let time = if is_set { data.mtime().to_string() } else { String::new() };
                let text = if is_closed || data.mode() & 0o400 == 0 {
                    format!("{} bytes", data.len())
                } else {
                    String::from_utf8_lossy(&fs::read(&path).unwrap_or_default()).into_owned()
                };
                format!("file {:o} {time} {text}", data.mode() & 0o7777)
            } else {
                "special".to_owned()
            };
            found.insert(path.strip_prefix(top).expect("below").to_owned(), text);
        }
        if is_closed {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode & 0o7777)).expect("ours");
        }
    }
    found
}

/// Runs a closure in another process and waits for its end.
pub(crate) fn in_child(work: impl FnOnce()) {
    assert_eq!(status_of_child(work), 0, "the child failed");
}

/// The status of a process that runs a closure, as from `wait`.
pub(crate) fn status_of_child(work: impl FnOnce()) -> i32 {
    // SAFETY: the child runs the closure and exits; the C library's allocator works after a fork.
    unsafe {
        let pid = libc::fork();
        assert!(pid >= 0, "a process can be started");
        if pid == 0 {
            let result = catch_unwind(AssertUnwindSafe(work));
            libc::_exit(i32::from(result.is_err()));
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(pid, &raw mut status, 0), pid);
        status
    }
}

fn text(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).expect("no zero")
}

/// Mounts an overlay in a mount namespace of this process alone, as the sandbox does.
fn mount_overlay(lower: &Path, upper: &Path, work: &Path, at: &Path) {
    // SAFETY: all strings are valid during the calls.
    unsafe {
        let (uid, gid) = (libc::geteuid(), libc::getegid());
        let mut flags = libc::CLONE_NEWNS;
        if uid != 0 {
            flags |= libc::CLONE_NEWUSER;
        }
        assert_eq!(libc::unshare(flags), 0, "namespaces: {}", std::io::Error::last_os_error());
        if uid != 0 {
            fs::write("/proc/self/setgroups", "deny").expect("written");
            fs::write("/proc/self/uid_map", format!("1000 {uid} 1")).expect("written");
            fs::write("/proc/self/gid_map", format!("1000 {gid} 1")).expect("written");
        }
        let none = std::ptr::null();
        let private = libc::MS_PRIVATE | libc::MS_REC;
        assert_eq!(libc::mount(none, c"/".as_ptr(), none, private, none.cast()), 0);
        let user = if uid == 0 { "" } else { "userxattr," };
        let options = format!(
            "{user}volatile,lowerdir={},upperdir={},workdir={}",
            lower.display(),
            upper.display(),
            work.display()
        );
        let (options, at) = (CString::new(options).expect("no zero"), text(at));
        let kind = c"overlay".as_ptr();
        let mounted = libc::mount(kind, at.as_ptr(), kind, 0, options.as_ptr().cast());
        assert_eq!(mounted, 0, "overlay: {}", std::io::Error::last_os_error());
        libc::umask(0o022);
    }
}

/// Reads the changes.
pub(crate) fn changes(run: &RunFolder) -> ChangeSet {
    run.read(Limits::default()).expect("read")
}

/// Applies everything.
pub(crate) fn apply(run: &RunFolder) {
    run.apply(&changes(run), Durability::Deferred).expect("applied");
}

/// The changes as lines.
pub(crate) fn shown(changes: &[Change]) -> Vec<String> {
    let line = |change: &Change| {
        let target = change.after.as_ref().and_then(|after| after.target.as_ref());
        let target = target.map_or_else(String::new, |target| format!(" -> {}", target.display()));
        format!("{} {}{target}", change.kind.as_str(), change.path.display())
    };
    changes.iter().map(line).collect()
}

/// Makes a file executable or not.
pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("ours");
}
