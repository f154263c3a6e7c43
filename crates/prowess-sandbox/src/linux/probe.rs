//! Tests what this machine can enforce.

use std::io;
use std::os::fd::AsRawFd as _;

use super::cgroup;
use super::host::{self, Host};
use super::scratch::Scratch;
use super::sys::{self, Cloned};
use super::{PreparedSandbox, refused};
use crate::error::SandboxError;
use crate::probe::{Layer, LayerState, Probe};
use crate::spec::{FileAccess, FileGrant, Spec, StagedFolder};

/// Tests every layer separately, then all of them together.
pub fn probe() -> Probe {
    let mut layers = vec![user(), namespaces(), landlock(), seccomp(), groups()];
    layers.push(everything(&layers));
    if layers.iter().all(|layer| layer.state != LayerState::Missing) {
        layers.push(overlays());
    }
    Probe { layers }
}

fn layer(name: &'static str, tried: Result<String, (String, String)>) -> Layer {
    match tried {
        Ok(detail) => Layer { name, state: LayerState::Enforced, detail, remedy: None },
        Err((cause, remedy)) => {
            Layer { name, state: LayerState::Missing, detail: cause, remedy: Some(remedy) }
        }
    }
}

/// Cause and remedy of an error number.
fn why(errno: i32) -> (String, String) {
    match refused(errno) {
        SandboxError::Unenforceable { cause, remedy } => (cause, remedy),
        other => (other.to_string(), String::new()),
    }
}

fn user() -> Layer {
    let tried = match Host::get() {
        Ok(host) if host.privileged => {
            Ok("root: programs run as nobody, and root's files are lent to them".to_owned())
        }
        Ok(host) if host.is_weak_root => Err(Host::weak_root()),
        Ok(_) => {
            Ok("an ordinary user: programs run as that user in a namespace of their own".to_owned())
        }
        Err(error) => Err(why(error.raw_os_error().unwrap_or(libc::EIO))),
    };
    layer("user", tried)
}

#[allow(unsafe_code, reason = "a clone that ends at once")]
fn in_child(
    namespaces: libc::c_int,
    what: impl FnOnce() -> sys::Outcome,
) -> Result<sys::Outcome, i32> {
    let (ours, theirs) = io::pipe().map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))?;
    let (reader, writer) = (ours.as_raw_fd(), theirs.as_raw_fd());
    // SAFETY: the child makes system calls and ends.
    match unsafe { sys::clone_into(namespaces, None) }? {
        Cloned::Child => {
            let errno = what().err().unwrap_or(0);
            let _ = sys::write(writer, &errno.to_ne_bytes());
            sys::exit(0)
        }
        Cloned::Parent { pidfd, .. } => {
            drop(theirs);
            let mut answer = [0; 4];
            let count = sys::read(reader, &mut answer);
            let _ = sys::wait_by_descriptor(pidfd);
            sys::close(pidfd);
            drop(ours);
            match (count, i32::from_ne_bytes(answer)) {
                (Ok(4), 0) => Ok(Ok(())),
                (Ok(4), errno) => Ok(Err(errno)),
                _ => Ok(Err(libc::EPERM)),
            }
        }
    }
}

fn namespaces() -> Layer {
    let tried = Host::get()
        .map_err(|error| error.raw_os_error().unwrap_or(libc::EIO))
        .and_then(|host| in_child(host.namespaces(false), sys::make_mounts_private));
    let tried = match tried {
        Ok(Ok(())) => Ok("user, mount, process, network, IPC and host name".to_owned()),
        Ok(Err(_)) => Err(host::unprivileged_namespace()),
        Err(errno) => Err(why(errno)),
    };
    layer("namespaces", tried)
}

pub(super) fn landlock() -> Layer {
    let tried = match sys::landlock_version() {
        Ok(version) if version >= NEEDED_LANDLOCK => Ok(format!("version {version}")),
        Ok(version) => Err((
            format!("version {version}, {NEEDED_LANDLOCK} is needed"),
            "use Linux 6.12 or newer".to_owned(),
        )),
        Err(libc::EOPNOTSUPP) => Err((
            "built into the kernel, but disabled".to_owned(),
            "start the kernel with `lsm=landlock,…`".to_owned(),
        )),
        Err(_) => Err((
            "not supported by the kernel, or hidden by a filter".to_owned(),
            "use Linux 6.12 or newer, and allow its three calls in the container's seccomp profile"
                .to_owned(),
        )),
    };
    layer("Landlock", tried)
}

/// The first version that restricts signals and abstract sockets.
pub(super) const NEEDED_LANDLOCK: i32 = 6;

fn seccomp() -> Layer {
    let tried = match super::filter::program(false, false) {
        Ok(filter) => in_child(0, || {
            sys::prctl_no_new_privileges()?;
            sys::filter_calls(filter)?;
            match sys::try_socket(libc::AF_NETLINK) {
                Err(libc::EPERM) => Ok(()),
                _ => Err(libc::EPROTO),
            }
        })
        .flatten()
        .map(|()| format!("{} instructions", filter.len()))
        .map_err(|errno| {
            (
                format!("a filter can't be installed: {}", io::Error::from_raw_os_error(errno)),
                "use a kernel with seccomp filters".to_owned(),
            )
        }),
        Err(cause) => Err((cause, "this processor is not supported".to_owned())),
    };
    layer("seccomp", tried)
}

fn groups() -> Layer {
    let detail = match cgroup::Home::get() {
        Some(cgroup::Home::Unified(_)) => "version 2: memory and processes",
        Some(cgroup::Home::Memory(_)) => "version 1: memory; processes are limited per run",
        None => {
            return Layer {
                name: "control groups",
                state: LayerState::BestEffort,
                detail: "none for this user: memory is polled every 50 ms, processes are limited per run".to_owned(),
                remedy: Some("delegate a control group, as `systemd-run --user --scope -p Delegate=yes` does".to_owned()),
            };
        }
    };
    layer("control groups", Ok(detail.to_owned()))
}

/// Whether writes can be staged in the folder for temporary files. Other filesystems may differ, but a
/// kernel without overlays, and one that does not allow them, shows here.
fn overlays() -> Layer {
    let best_effort = |cause: String| Layer {
        name: "overlays",
        state: LayerState::BestEffort,
        detail: format!("changes of a run can't be staged: {cause}"),
        remedy: Some(
            "load the kernel module `overlay`, and allow mounting it in user namespaces".to_owned(),
        ),
    };
    match try_overlay() {
        Ok(()) => layer(
            "overlays",
            Ok("changes of a run can be staged before they are applied".to_owned()),
        ),
        Err(cause) => best_effort(cause),
    }
}

/// Tries to stage writes in the folder for temporary files, without starting anything. The error is the
/// cause. It takes some milliseconds.
pub fn try_overlay() -> Result<(), String> {
    let tried = Scratch::new().and_then(|scratch| {
        let folders = ["granted", "up", "work"].map(|name| scratch.folder(name));
        let [granted, upper, work] = folders;
        let (path, upper, work) = (granted?.1, upper?.1, work?.1);
        let mut spec = Spec::new(std::env::current_exe().unwrap_or_else(|_| "/bin/true".into()));
        let access = FileAccess::Write;
        spec.files = vec![FileGrant { path: path.clone(), access, pattern: None, create: false }];
        spec.staged = vec![StagedFolder { path, upper, work }];
        let prepared = PreparedSandbox::new(spec).and_then(|mut prepared| prepared.ready());
        // The folders are removed after the sandbox that uses them.
        Ok((prepared, scratch))
    });
    match tried {
        Ok((Ok(()), _)) => Ok(()),
        Ok((Err(SandboxError::Staging { cause }), _)) => Err(cause),
        Ok((Err(error), _)) => Err(error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

fn everything(layers: &[Layer]) -> Layer {
    if let Some(missing) = layers.iter().find(|layer| layer.state == LayerState::Missing) {
        return layer(
            "all together",
            Err((format!("not tested without {}", missing.name), "see above".to_owned())),
        );
    }
    let program = std::env::current_exe().unwrap_or_else(|_| "/bin/true".into());
    let tried = PreparedSandbox::new(Spec::new(program)).and_then(|mut prepared| prepared.ready());
    layer(
        "all together",
        match tried {
            Ok(()) => Ok("a sandbox was built, tested from inside and taken down".to_owned()),
            Err(SandboxError::Unenforceable { cause, remedy }) => Err((cause, remedy)),
            Err(error) => Err((
                error.to_string(),
                "report this, with the output of `prowess doctor`".to_owned(),
            )),
        },
    )
}
