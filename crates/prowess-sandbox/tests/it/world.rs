//! A host with secrets, and programs that try to read them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use prowess_sandbox::{
    Capture, FileAccess, FileGrant, Observer, OutputStream, SandboxError, SandboxOutcome, Spec,
    StagedFolder, run,
};

/// Folders of the host: `ws` is usually granted for writing, `ro` for reading, `sec` never.
pub(crate) struct World {
    root: tempfile::TempDir,
    /// A port of 127.0.0.77 with a listener outside the sandbox.
    pub(crate) canary: u16,
}

impl World {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        let world = Self { root, canary: 1 };
        for folder in ["ws", "ro", "sec", "skill"] {
            fs::create_dir(world.path(folder)).expect("the folder is new");
        }
        fs::write(world.path("sec/k"), "the secret").expect("the file is new");
        fs::write(world.path("ro/a"), "data").expect("the file is new");
        fs::write(world.path("ws/old"), "old").expect("the file is new");
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        let root = self.root.path().canonicalize().expect("it exists");
        if name.is_empty() { root } else { root.join(name) }
    }

    pub(crate) fn grant(&self, name: &str, access: FileAccess) -> FileGrant {
        FileGrant { path: self.path(name), access, pattern: None, create: false }
    }

    /// Stages what a program writes to a folder; the upper layer is below `staged`.
    pub(crate) fn stage(&self, spec: &mut Spec, path: &Path) {
        let place = self.path("staged").join(spec.staged.len().to_string());
        let [upper, work] = ["up", "work"].map(|name| place.join(name));
        for folder in [&upper, &work] {
            fs::create_dir_all(folder).expect("the folder is new");
        }
        let mode = fs::metadata(path).expect("a folder").permissions();
        fs::set_permissions(&upper, mode).expect("it is ours");
        spec.staged.push(StagedFolder { path: path.to_owned(), upper, work });
    }

    /// Stages what a program writes to any of its folders.
    pub(crate) fn stage_all(&self, spec: &mut Spec) {
        let grants: Vec<FileGrant> = spec.files.clone();
        let writes = |grant: &&FileGrant| {
            grant.access == FileAccess::Write && grant.pattern.is_none() && grant.path.is_dir()
        };
        for grant in grants.iter().filter(writes) {
            let is_inner = spec.staged.iter().any(|staged| grant.path.starts_with(&staged.path));
            if !is_inner {
                self.stage(spec, &grant.path);
            }
        }
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    /// Everything below the root, as sorted relative paths.
    pub(crate) fn tree(&self) -> Vec<String> {
        let root = self.path("");
        let mut found = Vec::new();
        let mut open = vec![root.clone()];
        while let Some(folder) = open.pop() {
            // The kernel closes the working folder of an overlay.
            for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    open.push(path.clone());
                }
                let relative = path.strip_prefix(&root).expect("below the root");
                found.push(relative.display().to_string());
            }
        }
        found.sort();
        found
    }

    /// A Python program with the world's paths as variables and `attempt(name, function)`, which prints the result.
    pub(crate) fn python(&self, payload: &str) -> Spec {
        let root = self.path("");
        let text = format!(
            "{PRELUDE}\nWS, RO, SEC, SKILL = (\"{0}/\" + name for name in (\"ws\", \"ro\", \"sec\", \"skill\"))\nCANARY = {1}\n{payload}\n",
            root.display(),
            self.canary
        );
        let mut spec = python();
        spec.arguments = vec!["-I".into(), "-B".into(), "-c".into(), text.into()];
        spec.environment =
            vec![("HOME".into(), "/home/skill".into()), ("PATH".into(), "/usr/bin".into())];
        spec
    }
}

/// Python with its standard library.
pub(crate) fn python() -> Spec {
    let mut spec = Spec::new("/usr/bin/python3");
    let library = fs::read_dir("/usr/lib")
        .expect("a folder")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            path.file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| name.starts_with("python3"))
        })
        .filter(|path| path.join("os.py").is_file());
    spec.support = library.collect();
    assert!(!spec.support.is_empty(), "Python is needed to test the sandbox");
    spec
}

/// Prints the name of the error, or `done` with the value.
const PRELUDE: &str = r#"
import ctypes, errno, os, signal, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_void_p(a) if isinstance(a, int) else a for a in arguments])
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, "")
    return result
def attempt(name, function):
    try:
        value = function()
        print(f"{name}: done {value!r}" if value is not None else f"{name}: done", flush=True)
    except OSError as error:
        print(f"{name}: {errno.errorcode.get(error.errno, error)}", flush=True)
    except Exception as error:
        print(f"{name}: {type(error).__name__} {error}", flush=True)
def read(path):
    with open(path) as file:
        return file.read(100)
def write(path, text="x"):
    with open(path, "w") as file:
        file.write(text)
"#;

#[derive(Default)]
pub(crate) struct Kept {
    pub(crate) output: Capture,
    pub(crate) error: Capture,
    listeners: Vec<std::net::TcpListener>,
}

impl Observer for Kept {
    fn output(&mut self, stream: OutputStream, bytes: &[u8]) {
        match stream {
            OutputStream::Output => self.output.push(bytes),
            OutputStream::Error => self.error.push(bytes),
        }
    }

    fn listeners(&mut self, listeners: Vec<std::net::TcpListener>) {
        self.listeners = listeners;
    }
}

/// Runs a program and returns its outcome and both streams.
pub(crate) fn ran(spec: Spec) -> (Result<SandboxOutcome, SandboxError>, String, String) {
    let mut kept = Kept::default();
    let ended = run(spec, &mut kept);
    (ended, kept.output.finish().text, kept.error.finish().text)
}

/// Makes a file executable.
pub(crate) fn executable(path: &Path, text: &str) {
    fs::write(path, text).expect("the file can be written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("it is ours");
}
