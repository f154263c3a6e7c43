//! The user who runs the sandbox: root or an ordinary user.

use std::fs;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::sync::OnceLock;

use super::child::NOBODY;
use super::sys::{self, Cloned};
use super::system::USER;

/// Facts about this process, determined once.
#[derive(Debug)]
pub(super) struct Host {
    /// Root with all capabilities: namespaces belong to the machine, and the program runs as
    /// `nobody`.
    pub(super) privileged: bool,
    /// Root without capabilities, as in many containers: it would still own too much.
    pub(super) is_weak_root: bool,
    /// Maps root's files to the user inside.
    pub(super) owners: Option<OwnedFd>,
    /// A user namespace like the machine's, but with an empty `binfmt_misc`. It is the parent of
    /// those of root's programs.
    pub(super) plain_users: Option<OwnedFd>,
    /// The empty network namespace of an earlier run of root. Creating one is a large part of the
    /// startup time, and without sockets it can't be used, so runs without a network share it.
    pub(super) empty_network: OnceLock<OwnedFd>,
    /// The `uid_map` of an ordinary user.
    pub(super) user_map: String,
    /// The `gid_map` of an ordinary user.
    pub(super) group_map: String,
}

impl Host {
    pub(super) fn get() -> io::Result<&'static Host> {
        static HOST: OnceLock<Result<Host, i32>> = OnceLock::new();
        HOST.get_or_init(|| Self::look().map_err(|error| error.raw_os_error().unwrap_or(libc::EIO)))
            .as_ref()
            .map_err(|errno| io::Error::from_raw_os_error(*errno))
    }

    fn look() -> io::Result<Self> {
        let (uid, gid) = sys::identity_of_process();
        let is_root = uid == 0 && is_first_namespace()?;
        let privileged = is_root && has_sys_admin()?;
        let (owners, plain_users) = if privileged {
            // Both in parallel: each waits for its own process.
            let begun = [owner_map(), plain_users()];
            let [owners, plain_users] =
                begun.map(|begun| begun.and_then(UserNamespaceBuilder::finish));
            (Some(owners?), Some(plain_users?))
        } else {
            (None, None)
        };
        Ok(Self {
            privileged,
            is_weak_root: is_root && !privileged,
            owners,
            plain_users,
            empty_network: OnceLock::new(),
            user_map: format!("{USER} {uid} 1"),
            group_map: format!("{USER} {gid} 1"),
        })
    }

    /// Creates the empty network namespace before the first run needs it. The calling thread is in
    /// it afterwards.
    pub(super) fn move_to_empty_network(&self) {
        if self.privileged && self.empty_network.get().is_none() && sys::leave_network().is_ok() {
            // Without it the first run creates one.
            if let Ok(network) = fs::File::open("/proc/thread-self/ns/net") {
                let _ = self.empty_network.set(network.into());
            }
        }
    }

    /// Why root without capabilities is refused, and what to do (attack sandbox-D19).
    pub(super) fn weak_root() -> (String, String) {
        (
            "this is root without CAP_SYS_ADMIN: programs would run as the machine's root"
                .to_owned(),
            "run as an ordinary user, or give the container the capability SYS_ADMIN".to_owned(),
        )
    }

    /// The namespaces of a new sandbox, without a network namespace if it joins an existing one.
    pub(super) fn namespaces(&self, joins_network: bool) -> libc::c_int {
        let shared = libc::CLONE_NEWNS
            | libc::CLONE_NEWPID
            | libc::CLONE_NEWNET
            | libc::CLONE_NEWIPC
            | libc::CLONE_NEWUTS
            | libc::CLONE_NEWCGROUP;
        let own = if joins_network { shared & !libc::CLONE_NEWNET } else { shared };
        if self.privileged { own } else { own | libc::CLONE_NEWUSER }
    }
}

/// Why a created namespace is refused, and what to do (attack sandbox-H02).
pub(super) fn unprivileged_namespace() -> (String, String) {
    (
        "user namespaces can be created, but mounting in them is not allowed".to_owned(),
        "on Ubuntu, install the AppArmor profile that `prowess doctor --apparmor-profile` prints; in a container, allow `mount` (Docker: --security-opt seccomp=unconfined)"
            .to_owned(),
    )
}

/// Whether this is the initial user namespace: root of another one is an ordinary user outside.
fn is_first_namespace() -> io::Result<bool> {
    let map = fs::read_to_string("/proc/self/uid_map")?;
    let fields: Vec<&str> = map.split_whitespace().collect();
    Ok(fields == ["0", "0", "4294967295"])
}

/// Whether this process has `CAP_SYS_ADMIN`: root in a container often does not.
fn has_sys_admin() -> io::Result<bool> {
    const SYS_ADMIN: u64 = 1 << 21;
    let status = fs::read_to_string("/proc/self/status")?;
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    Ok(effective.is_some_and(|effective| effective & SYS_ADMIN != 0))
}

/// A user namespace that swaps root and nobody. An id-mapped mount with it shows root's files as
/// nobody's, and what nobody creates there belongs to root.
fn owner_map() -> io::Result<UserNamespaceBuilder> {
    let map = format!(
        "0 {NOBODY} 1\n1 1 {}\n{NOBODY} 0 1\n{} {} {}\n",
        NOBODY - 1,
        NOBODY + 1,
        NOBODY + 1,
        u32::MAX - NOBODY - 1
    );
    UserNamespaceBuilder::begin(libc::CLONE_NEWUSER, &map, || Ok(()))
}

/// See [`Host::plain_users`].
fn plain_users() -> io::Result<UserNamespaceBuilder> {
    // Mounting requires a mount namespace of the same user namespace.
    let flags = libc::CLONE_NEWUSER | libc::CLONE_NEWNS;
    UserNamespaceBuilder::begin(flags, &format!("0 0 {}\n", u32::MAX), sys::mount_empty_binfmt_misc)
}

/// A user namespace under construction: its only process, which exits when it is done.
struct UserNamespaceBuilder {
    namespace: io::Result<OwnedFd>,
    answer: io::PipeReader,
    process: OwnedFd,
}

impl UserNamespaceBuilder {
    /// Starts the process, which waits for its id map and then calls `prepare`.
    #[allow(unsafe_code, reason = "a clone that waits")]
    fn begin(
        flags: libc::c_int,
        map: &str,
        prepare: impl FnOnce() -> sys::Outcome,
    ) -> io::Result<Self> {
        let (answer, answering_end) = io::pipe()?;
        let answers = answering_end.as_raw_fd();
        let (waiting_end, mut waking_end) = io::pipe()?;
        let (waiting, other): (RawFd, RawFd) = (waiting_end.as_raw_fd(), waking_end.as_raw_fd());
        // SAFETY: the child makes system calls, and ends.
        let cloned = unsafe { sys::clone_into(flags, None) };
        match cloned.map_err(io::Error::from_raw_os_error)? {
            Cloned::Child => {
                sys::close(other);
                if sys::read(waiting, &mut [0]) == Ok(1) {
                    let errno = prepare().err().unwrap_or(0);
                    let _ = sys::write(answers, &errno.to_ne_bytes());
                }
                sys::exit(0)
            }
            Cloned::Parent { pid, pidfd } => {
                // SAFETY: the kernel has just made this descriptor, and nobody else owns it.
                let process = unsafe { OwnedFd::from_raw_fd(pidfd) };
                let namespace = fs::write(format!("/proc/{pid}/uid_map"), map)
                    .and_then(|()| fs::write(format!("/proc/{pid}/gid_map"), map))
                    .and_then(|()| fs::File::open(format!("/proc/{pid}/ns/user")))
                    .map(OwnedFd::from);
                let _ = waking_end.write_all(b"x");
                Ok(Self { namespace, answer, process })
            }
        }
    }

    /// The namespace, after its process has exited.
    fn finish(self) -> io::Result<OwnedFd> {
        let mut said = [0; 4];
        let count = sys::read(self.answer.as_raw_fd(), &mut said);
        let _ = sys::wait_by_descriptor(self.process.as_raw_fd());
        match (count, i32::from_ne_bytes(said)) {
            (Ok(4), 0) => self.namespace,
            (Ok(4), errno) => Err(io::Error::from_raw_os_error(errno)),
            _ => Err(io::Error::from_raw_os_error(libc::EIO)),
        }
    }
}
