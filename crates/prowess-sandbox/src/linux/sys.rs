//! System calls that the standard library does not have, as functions that neither allocate nor panic:
//! nothing else is allowed between the clone and the exec of a process with threads.

#![allow(unsafe_code, reason = "system calls")]

use std::ffi::CStr;
use std::os::fd::RawFd;
use std::ptr;

use libc::{c_int, c_long, c_uint, c_ulong, c_void};

/// An error number.
pub(super) type Errno = i32;
pub(super) type Outcome<T = ()> = Result<T, Errno>;

fn checked(result: c_long) -> Outcome<c_long> {
    if result >= 0 {
        return Ok(result);
    }
    // SAFETY: the location of this thread's errno is always valid.
    Err(unsafe { *libc::__errno_location() })
}

fn done(result: impl Into<c_long>) -> Outcome {
    checked(result.into()).map(drop)
}

#[expect(clippy::cast_possible_truncation, reason = "descriptors and process ids are 32 bits wide")]
fn small(result: impl Into<c_long>) -> Outcome<i32> {
    checked(result.into()).map(|value| value as i32)
}

/// The two sides of a clone.
pub(super) enum Cloned {
    Parent { pid: i32, pidfd: RawFd },
    Child,
}

#[repr(C)]
#[derive(Default)]
struct CloneArgs {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

/// Resets signal handlers to their defaults.
const CLONE_CLEAR_SIGHAND: u64 = 0x1_0000_0000;
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// A copy of this process in new namespaces. Its exit sends no signal to this process.
///
/// # Safety
/// The child may not allocate, take locks or panic until it executes another image or exits.
pub(super) unsafe fn clone_into(namespaces: c_int, cgroup: Option<RawFd>) -> Outcome<Cloned> {
    let mut pidfd: c_int = -1;
    let mut arguments = CloneArgs {
        flags: u64::from(namespaces.cast_unsigned())
            | libc::CLONE_PIDFD as u64
            | CLONE_CLEAR_SIGHAND,
        pidfd: ptr::from_mut(&mut pidfd) as u64,
        ..CloneArgs::default()
    };
    if let Some(cgroup) = cgroup {
        arguments.flags |= CLONE_INTO_CGROUP;
        arguments.cgroup = u64::from(cgroup.cast_unsigned());
    }
    // SAFETY: the arguments live until the call returns; no stack is given, so the child continues on a copy of this one.
    let pid = small(unsafe {
        libc::syscall(libc::SYS_clone3, &raw mut arguments, size_of::<CloneArgs>())
    })?;
    Ok(if pid == 0 { Cloned::Child } else { Cloned::Parent { pid, pidfd } })
}

/// A plain copy of this process; 0 in the child.
///
/// # Safety
/// As for [`clone_into`].
pub(super) unsafe fn fork() -> Outcome<i32> {
    // SAFETY: without CLONE_VM this is a fork that runs no handlers.
    small(unsafe {
        libc::syscall(libc::SYS_clone, libc::SIGCHLD as c_ulong, 0_u64, 0_u64, 0_u64, 0_u64)
    })
}

pub(super) fn exit(code: c_int) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(code) }
}

#[repr(C)]
struct OpenHow {
    flags: u64,
    mode: u64,
    resolve: u64,
}

const RESOLVE_NO_MAGICLINKS: u64 = 0x02;
const RESOLVE_NO_SYMLINKS: u64 = 0x04;

/// Opens a path without following symbolic links.
pub(super) fn open_path(path: &CStr) -> Outcome<RawFd> {
    let how = OpenHow {
        flags: (libc::O_PATH | libc::O_CLOEXEC | libc::O_NOFOLLOW) as u64,
        mode: 0,
        resolve: RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS,
    };
    // SAFETY: both pointers are valid during the call.
    small(unsafe {
        libc::syscall(
            libc::SYS_openat2,
            libc::AT_FDCWD,
            path.as_ptr(),
            &raw const how,
            size_of::<OpenHow>(),
        )
    })
}

pub(super) fn open(path: &CStr, flags: c_int) -> Outcome<RawFd> {
    // SAFETY: the path is a valid string.
    small(unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC) })
}

pub(super) fn close(fd: RawFd) {
    // SAFETY: closing a number that is not open is an error without effect.
    unsafe { libc::close(fd) };
}

/// Closes all descriptors from `first` to `last`.
pub(super) fn close_range(first: c_uint, last: c_uint) -> Outcome {
    // SAFETY: the caller does not use these descriptors any more.
    done(unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) })
}

/// Sets close-on-exec for all descriptors from `first`.
pub(super) fn close_on_exec_from(first: c_uint) -> Outcome {
    const CLOSE_RANGE_CLOEXEC: c_uint = 4;
    // SAFETY: only flags change.
    done(unsafe { libc::syscall(libc::SYS_close_range, first, c_uint::MAX, CLOSE_RANGE_CLOEXEC) })
}

pub(super) fn dup2(from: RawFd, to: RawFd) -> Outcome {
    // SAFETY: descriptors are numbers.
    done(unsafe { libc::dup2(from, to) })
}

/// Duplicates a descriptor to a number of at least `least`.
pub(super) fn dup_above(fd: RawFd, least: c_int) -> Outcome<RawFd> {
    // SAFETY: descriptors are numbers.
    small(unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, least) })
}

/// Device and inode of what a descriptor points to.
pub(super) fn identity(fd: RawFd) -> Outcome<(u64, u64)> {
    // SAFETY: all bit patterns of the structure are valid, and the kernel fills it.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the structure outlives the call.
    done(unsafe { libc::fstat(fd, &raw mut stat) })?;
    Ok((stat.st_dev, stat.st_ino))
}

pub(super) fn write(fd: RawFd, bytes: &[u8]) -> Outcome<usize> {
    // SAFETY: the slice is valid for its length.
    checked(unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) } as c_long)
        .map(c_long::cast_unsigned)
        .map(|count| usize::try_from(count).unwrap_or(usize::MAX))
}

pub(super) fn read(fd: RawFd, bytes: &mut [u8]) -> Outcome<usize> {
    // SAFETY: the slice is valid for its length.
    checked(unsafe { libc::read(fd, bytes.as_mut_ptr().cast(), bytes.len()) } as c_long)
        .map(c_long::cast_unsigned)
        .map(|count| usize::try_from(count).unwrap_or(usize::MAX))
}

/// Writes a file of /proc in one call.
pub(super) fn write_file(path: &CStr, bytes: &[u8]) -> Outcome {
    let fd = open(path, libc::O_WRONLY)?;
    let written = write(fd, bytes);
    close(fd);
    written.map(drop)
}

/// Creates a file below `folder` with this content.
pub(super) fn create_file_at(folder: RawFd, path: &CStr, bytes: &[u8]) -> Outcome {
    let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    // SAFETY: the path is a valid string.
    let fd = small(unsafe { libc::openat(folder, path.as_ptr(), flags, 0o444) })?;
    let mut rest = bytes;
    let mut result = Ok(());
    while !rest.is_empty() {
        match write(fd, rest) {
            Ok(count) => rest = rest.get(count..).unwrap_or_default(),
            Err(errno) => {
                result = Err(errno);
                break;
            }
        }
    }
    close(fd);
    result
}

/// Creates a folder below `folder`, if it does not exist.
pub(super) fn make_folder_at(folder: RawFd, path: &CStr, mode: libc::mode_t) -> Outcome {
    // SAFETY: the path is a valid string.
    match done(unsafe { libc::mkdirat(folder, path.as_ptr(), mode) }) {
        Err(libc::EEXIST) => Ok(()),
        result => result,
    }
}

pub(super) fn link_at(target: &CStr, folder: RawFd, path: &CStr) -> Outcome {
    // SAFETY: both paths are valid strings.
    done(unsafe { libc::symlinkat(target.as_ptr(), folder, path.as_ptr()) })
}

pub(super) fn change_folder(path: &CStr) -> Outcome {
    // SAFETY: the path is a valid string.
    done(unsafe { libc::chdir(path.as_ptr()) })
}

pub(super) fn change_folder_to(fd: RawFd) -> Outcome {
    // SAFETY: descriptors are numbers.
    done(unsafe { libc::fchdir(fd) })
}

/// Stops mount propagation between the host and this namespace.
pub(super) fn make_mounts_private() -> Outcome {
    // SAFETY: the strings are valid; the other pointers may be null.
    done(unsafe {
        libc::mount(
            ptr::null(),
            c"/".as_ptr(),
            ptr::null(),
            libc::MS_PRIVATE | libc::MS_REC,
            ptr::null(),
        )
    })
}

const OPEN_TREE_CLONE: c_uint = 1;
const AT_RECURSIVE: c_uint = 0x8000;

/// A detached copy of the mount tree at a path handle.
pub(super) fn clone_tree(fd: RawFd) -> Outcome<RawFd> {
    let flags = OPEN_TREE_CLONE
        | AT_RECURSIVE
        | libc::AT_EMPTY_PATH.cast_unsigned()
        | libc::O_CLOEXEC.cast_unsigned();
    // SAFETY: the empty path is a valid string.
    small(unsafe { libc::syscall(libc::SYS_open_tree, fd, c"".as_ptr(), flags) })
}

/// A detached mount of one file or folder below `folder`.
pub(super) fn clone_at(folder: RawFd, path: &CStr) -> Outcome<RawFd> {
    let flags = OPEN_TREE_CLONE
        | libc::AT_SYMLINK_NOFOLLOW.cast_unsigned()
        | libc::O_CLOEXEC.cast_unsigned();
    // SAFETY: the path is a valid string.
    small(unsafe { libc::syscall(libc::SYS_open_tree, folder, path.as_ptr(), flags) })
}

#[repr(C)]
#[derive(Default)]
struct MountAttr {
    attr_set: u64,
    attr_clr: u64,
    propagation: u64,
    userns_fd: u64,
}

pub(super) const MOUNT_RDONLY: u64 = 0x1;
pub(super) const MOUNT_NOSUID: u64 = 0x2;
pub(super) const MOUNT_NODEV: u64 = 0x4;
pub(super) const MOUNT_NOEXEC: u64 = 0x8;
const MOUNT_IDMAP: u64 = 0x0010_0000;

/// Sets attributes of a mount; of the whole tree below it when `recursive`. `owners` is a user
/// namespace for an id-mapped mount.
pub(super) fn set_mount(fd: RawFd, set: u64, owners: Option<RawFd>, recursive: bool) -> Outcome {
    let mut attributes = MountAttr { attr_set: set, ..MountAttr::default() };
    if let Some(owners) = owners {
        attributes.attr_set |= MOUNT_IDMAP;
        attributes.userns_fd = u64::from(owners.cast_unsigned());
    }
    let flags = libc::AT_EMPTY_PATH.cast_unsigned() | if recursive { AT_RECURSIVE } else { 0 };
    // SAFETY: the structure and the empty path are valid during the call.
    done(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            fd,
            c"".as_ptr(),
            flags,
            &raw const attributes,
            size_of::<MountAttr>(),
        )
    })
}

const MOVE_MOUNT_F_EMPTY_PATH: c_uint = 4;

/// Attaches a detached mount below `folder`.
pub(super) fn attach(mount: RawFd, folder: RawFd, path: &CStr) -> Outcome {
    // SAFETY: both paths are valid strings.
    done(unsafe {
        libc::syscall(
            libc::SYS_move_mount,
            mount,
            c"".as_ptr(),
            folder,
            path.as_ptr(),
            MOVE_MOUNT_F_EMPTY_PATH,
        )
    })
}

const FSCONFIG_SET_FLAG: c_uint = 0;
const FSCONFIG_SET_STRING: c_uint = 1;
const FSCONFIG_CMD_CREATE: c_uint = 6;
/// Close-on-exec for `fsopen` and `fsmount`.
const FS_CLOEXEC: c_uint = 1;

/// Gives the current user namespace its own, empty `binfmt_misc`. Without it the machine's
/// registrations apply, and the kernel starts their interpreters outside the view (attack
/// sandbox-B15).
pub(super) fn mount_empty_binfmt_misc() -> Outcome {
    let kind = c"binfmt_misc";
    // SAFETY: the kind is a valid string.
    match small(unsafe { libc::syscall(libc::SYS_fsopen, kind.as_ptr(), FS_CLOEXEC) }) {
        Ok(context) => {
            let (key, value) = (ptr::null::<libc::c_char>(), ptr::null::<libc::c_char>());
            let create = FSCONFIG_CMD_CREATE;
            // SAFETY: the context is open, and this command takes neither key nor value.
            let made =
                done(unsafe { libc::syscall(libc::SYS_fsconfig, context, create, key, value, 0) });
            // The registrations belong to the namespace and outlive the mount.
            close(context);
            made
        }
        // A kernel without `binfmt_misc`.
        Err(libc::ENODEV) => Ok(()),
        Err(errno) => Err(errno),
    }
}

/// Creates a detached filesystem. An option without a value is a flag.
pub(super) fn new_filesystem(
    kind: &CStr,
    options: &[(&CStr, Option<&CStr>)],
    attributes: u64,
) -> Outcome<RawFd> {
    // SAFETY: the kind is a valid string.
    let context = small(unsafe { libc::syscall(libc::SYS_fsopen, kind.as_ptr(), FS_CLOEXEC) })?;
    let configure = |command: c_uint, key: *const libc::c_char, value: *const libc::c_char| {
        // SAFETY: key and value are valid strings or null, as the command wants them.
        done(unsafe { libc::syscall(libc::SYS_fsconfig, context, command, key, value, 0) })
    };
    let mut result = Ok(());
    for (key, value) in options {
        result = result.and_then(|()| match value {
            Some(value) => configure(FSCONFIG_SET_STRING, key.as_ptr(), value.as_ptr()),
            None => configure(FSCONFIG_SET_FLAG, key.as_ptr(), ptr::null()),
        });
    }
    let mount = result
        .and_then(|()| configure(FSCONFIG_CMD_CREATE, ptr::null(), ptr::null()))
        .and_then(|()| {
            // SAFETY: the context is open.
            small(unsafe { libc::syscall(libc::SYS_fsmount, context, FS_CLOEXEC, attributes) })
        });
    close(context);
    mount
}

/// A path below an open folder, as overlays want their layers.
pub(super) struct LayerPath {
    bytes: [u8; Self::MAX],
}

impl LayerPath {
    /// Enough for a number and a short name.
    const MAX: usize = 96;

    /// `/proc/self/fd/NUMBER/NAME`, or without the name.
    pub(super) fn new(folder: RawFd, name: Option<&CStr>) -> Outcome<Self> {
        let mut path = Self { bytes: [0; Self::MAX] };
        let mut digits = [0; 10];
        let mut start = digits.len();
        let mut number = folder.cast_unsigned();
        while start > 0 {
            start -= 1;
            digits[start] = b'0' + u8::try_from(number % 10).unwrap_or_default();
            number /= 10;
            if number == 0 {
                break;
            }
        }
        let name = name.map_or(&[][..], CStr::to_bytes);
        let slash: &[u8] = if name.is_empty() { b"" } else { b"/" };
        let mut end = 0;
        for part in [b"/proc/self/fd/", &digits[start..], slash, name] {
            let room = path.bytes.get_mut(end..end + part.len()).ok_or(libc::ENAMETOOLONG)?;
            room.copy_from_slice(part);
            end += part.len();
        }
        // The last byte ends the text.
        if end < Self::MAX { Ok(path) } else { Err(libc::ENAMETOOLONG) }
    }

    pub(super) fn as_c_str(&self) -> Outcome<&CStr> {
        CStr::from_bytes_until_nul(&self.bytes).map_err(|_| libc::EINVAL)
    }
}

/// Whether a mount can be written. An overlay whose working folder can't be used comes up read-only,
/// without an error.
pub(super) fn is_writable(mount: RawFd) -> Outcome<bool> {
    // SAFETY: all bit patterns of the structure are valid, and the kernel fills it.
    let mut found: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the structure outlives the call.
    done(unsafe { libc::fstatvfs(mount, &raw mut found) })?;
    Ok(found.f_flag & libc::ST_RDONLY == 0)
}

/// Makes the current folder the root and unmounts the old one.
pub(super) fn enter_root() -> Outcome {
    // SAFETY: the paths are valid strings.
    unsafe {
        done(libc::syscall(libc::SYS_pivot_root, c".".as_ptr(), c".".as_ptr()))?;
        done(libc::umount2(c".".as_ptr(), libc::MNT_DETACH))?;
    }
    change_folder(c"/")
}

pub(super) fn set_host_name(name: &CStr) -> Outcome {
    // SAFETY: the name is valid for its length.
    done(unsafe { libc::sethostname(name.as_ptr(), name.count_bytes()) })
}

/// Brings the loopback interface up.
pub(super) fn loopback_up() -> Outcome {
    // SAFETY: the request is a valid structure whose name ends with a zero.
    unsafe {
        let socket = small(libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0))?;
        let mut request: libc::ifreq = std::mem::zeroed();
        request.ifr_name[0] = b'l'.cast_signed();
        request.ifr_name[1] = b'o'.cast_signed();
        #[expect(clippy::cast_possible_truncation, reason = "the two flags are small")]
        {
            request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
        }
        let result = done(libc::ioctl(socket, libc::SIOCSIFFLAGS, &raw const request));
        close(socket);
        result
    }
}

/// A socket that listens on a port of 127.0.0.1.
pub(super) fn listen(port: u16) -> Outcome<RawFd> {
    // SAFETY: the address is a valid structure of the given size.
    unsafe {
        let socket = small(libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0))?;
        let mut address: libc::sockaddr_in = std::mem::zeroed();
        #[expect(clippy::cast_possible_truncation, reason = "address families are small")]
        {
            address.sin_family = libc::AF_INET as u16;
        }
        address.sin_port = port.to_be();
        address.sin_addr.s_addr = u32::from_ne_bytes([127, 0, 0, 1]);
        #[expect(clippy::cast_possible_truncation, reason = "16 bytes")]
        let size = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        done(libc::bind(socket, (&raw const address).cast(), size))?;
        done(libc::listen(socket, 128))?;
        Ok(socket)
    }
}

/// Maximum number of descriptors in one message.
pub(super) const MAX_SENT: usize = 16;

#[repr(C, align(8))]
struct Ancillary([u8; 24 + MAX_SENT * 4]);

/// Sends descriptors over a socket, with one byte of text.
#[expect(clippy::cast_possible_truncation, reason = "sizes of a few bytes")]
pub(super) fn send_descriptors(socket: RawFd, descriptors: &[RawFd]) -> Outcome {
    let mut byte = [0_u8];
    let mut text = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let mut ancillary = Ancillary([0; 24 + MAX_SENT * 4]);
    let payload = size_of_val(descriptors);
    // SAFETY: the buffer has room for MAX_SENT descriptors, and callers send no more.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut text;
        message.msg_iovlen = 1;
        message.msg_control = ancillary.0.as_mut_ptr().cast();
        message.msg_controllen = libc::CMSG_SPACE(payload as c_uint) as usize;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(payload as c_uint) as usize;
        ptr::copy_nonoverlapping(
            descriptors.as_ptr().cast::<u8>(),
            libc::CMSG_DATA(header),
            payload,
        );
        done(libc::sendmsg(socket, &raw const message, libc::MSG_NOSIGNAL) as c_long)
    }
}

/// Receives what [`send_descriptors`] sent; an empty message means that the sender has exited.
pub(super) fn receive_descriptors(socket: RawFd) -> Outcome<Vec<RawFd>> {
    let mut byte = [0_u8];
    let mut text = libc::iovec { iov_base: byte.as_mut_ptr().cast(), iov_len: 1 };
    let mut ancillary = Ancillary([0; 24 + MAX_SENT * 4]);
    let mut received = Vec::new();
    // SAFETY: the kernel fills the buffer, and the macros stay inside what it filled.
    unsafe {
        let mut message: libc::msghdr = std::mem::zeroed();
        message.msg_iov = &raw mut text;
        message.msg_iovlen = 1;
        message.msg_control = ancillary.0.as_mut_ptr().cast();
        message.msg_controllen = ancillary.0.len();
        done(libc::recvmsg(socket, &raw mut message, libc::MSG_CMSG_CLOEXEC) as c_long)?;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        if !header.is_null() && (*header).cmsg_type == libc::SCM_RIGHTS {
            let payload = (*header).cmsg_len - libc::CMSG_LEN(0) as usize;
            let data = std::slice::from_raw_parts(libc::CMSG_DATA(header), payload);
            received.extend(data.as_chunks().0.iter().map(|bytes| RawFd::from_ne_bytes(*bytes)));
        }
    }
    Ok(received)
}

pub(super) fn become_user(uid: libc::uid_t, gid: libc::gid_t) -> Outcome {
    // Raw calls: the library's versions would signal all threads, of which a clone has none.
    // SAFETY: numbers only.
    unsafe {
        done(libc::syscall(libc::SYS_setgroups, 0, ptr::null::<libc::gid_t>()))?;
        done(libc::syscall(libc::SYS_setresgid, gid, gid, gid))?;
        done(libc::syscall(libc::SYS_setresuid, uid, uid, uid))
    }
}

pub(super) fn new_user_namespace() -> Outcome {
    // SAFETY: a flag.
    done(unsafe { libc::unshare(libc::CLONE_NEWUSER) })
}

pub(super) fn join_users(namespace: RawFd) -> Outcome {
    // SAFETY: numbers.
    done(unsafe { libc::setns(namespace, libc::CLONE_NEWUSER) })
}

pub(super) fn join_network(namespace: RawFd) -> Outcome {
    // SAFETY: numbers.
    done(unsafe { libc::setns(namespace, libc::CLONE_NEWNET) })
}

/// Moves this thread to a new, empty network namespace.
pub(super) fn leave_network() -> Outcome {
    // SAFETY: no pointers.
    done(unsafe { libc::unshare(libc::CLONE_NEWNET) })
}

pub(super) fn prctl(option: c_int, argument: c_ulong) -> Outcome {
    // SAFETY: the options in use take numbers.
    done(unsafe { libc::prctl(option, argument, 0 as c_ulong, 0 as c_ulong, 0 as c_ulong) })
}

/// Drops every capability permanently.
pub(super) fn drop_capabilities() -> Outcome {
    #[repr(C)]
    struct Header {
        version: u32,
        pid: i32,
    }
    const VERSION_3: u32 = 0x2008_0522;
    // Root gains nothing by exec, and none of this can be undone.
    const LOCKED_SECUREBITS: c_ulong = 0xef;
    for capability in 0..64 {
        match prctl(libc::PR_CAPBSET_DROP, capability) {
            Ok(()) => {}
            // One after the last capability.
            Err(libc::EINVAL) => break,
            Err(errno) => return Err(errno),
        }
    }
    prctl(libc::PR_SET_SECUREBITS, LOCKED_SECUREBITS)?;
    let header = Header { version: VERSION_3, pid: 0 };
    let none = [0_u32; 6];
    // SAFETY: both structures are what the call expects.
    done(unsafe { libc::syscall(libc::SYS_capset, &raw const header, none.as_ptr()) })
}

/// Drops every capability, if the process has any.
pub(super) fn drop_capabilities_if_any() -> Outcome {
    match drop_capabilities() {
        Err(libc::EPERM) => Ok(()),
        result => result,
    }
}

pub(super) fn prctl_no_new_privileges() -> Outcome {
    prctl(libc::PR_SET_NO_NEW_PRIVS, 1)
}

pub(super) fn set_limit(resource: c_int, value: u64) -> Outcome {
    // For CPU time, the soft limit sends SIGXCPU, and the hard limit kills a process that ignores
    // it.
    let computing = resource.cast_unsigned() == libc::RLIMIT_CPU;
    let most = if computing { value.saturating_add(1) } else { value };
    let limit = libc::rlimit { rlim_cur: value, rlim_max: most };
    // SAFETY: the structure is valid during the call.
    done(unsafe {
        libc::syscall(libc::SYS_prlimit64, 0, resource, &raw const limit, ptr::null::<c_void>())
    })
}

/// The soft and the hard limit of open descriptors.
pub(super) fn descriptor_limits() -> Outcome<(u64, u64)> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure outlives the call.
    done(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) })?;
    Ok((limit.rlim_cur, limit.rlim_max))
}

pub(super) fn new_session() -> Outcome {
    // SAFETY: no arguments.
    small(unsafe { libc::setsid() }).map(drop)
}

/// Resets ignored signals to their default action, and unblocks all.
pub(super) fn reset_signals() -> Outcome {
    // SAFETY: the structures are valid; SIG_DFL takes no handler.
    unsafe {
        for signal in 1..=31 {
            if signal != libc::SIGKILL && signal != libc::SIGSTOP {
                libc::signal(signal, libc::SIG_DFL);
            }
        }
        let none: u64 = 0;
        done(libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const none,
            ptr::null::<c_void>(),
            size_of::<u64>(),
        ))
    }
}

/// Blocks SIGCHLD and returns a signalfd for it.
pub(super) fn child_signals() -> Outcome<RawFd> {
    let set: u64 = 1 << (libc::SIGCHLD - 1);
    // SAFETY: the set is valid during the calls.
    unsafe {
        done(libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_BLOCK,
            &raw const set,
            ptr::null::<c_void>(),
            size_of::<u64>(),
        ))?;
        small(libc::syscall(
            libc::SYS_signalfd4,
            -1,
            &raw const set,
            size_of::<u64>(),
            libc::SFD_CLOEXEC | libc::SFD_NONBLOCK,
        ))
    }
}

/// Reaps a child and returns its status; `None` if no child has ended.
pub(super) fn reap() -> Option<(i32, c_int)> {
    let mut status = 0;
    // SAFETY: the status outlives the call.
    let pid = unsafe { libc::waitpid(-1, &raw mut status, libc::WNOHANG | libc::__WALL) };
    (pid > 0).then_some((pid, status))
}

pub(super) fn kill(pid: i32, signal: c_int) -> Outcome {
    // SAFETY: numbers.
    done(unsafe { libc::kill(pid, signal) })
}

/// Sends a signal to the process of a pidfd.
pub(super) fn kill_by_descriptor(pidfd: RawFd, signal: c_int) -> Outcome {
    // SAFETY: numbers and a null pointer.
    done(unsafe {
        libc::syscall(libc::SYS_pidfd_send_signal, pidfd, signal, ptr::null::<c_void>(), 0)
    })
}

/// Waits for a process and reaps it.
pub(super) fn wait_by_descriptor(pidfd: RawFd) -> Outcome {
    loop {
        // SAFETY: all bit patterns of the structure are valid, and the kernel fills it.
        let result = unsafe {
            let mut info: libc::siginfo_t = std::mem::zeroed();
            done(libc::waitid(
                libc::P_PIDFD,
                pidfd.cast_unsigned(),
                &raw mut info,
                libc::WEXITED | libc::__WALL,
            ))
        };
        if result != Err(libc::EINTR) {
            return result;
        }
    }
}

/// Waits for events; a negative time waits forever. An interruption returns 0.
pub(super) fn poll(events: &mut [libc::pollfd], milliseconds: c_int) -> Outcome<usize> {
    let count = events.len() as libc::nfds_t;
    // SAFETY: the slice is valid for its length.
    match small(unsafe { libc::poll(events.as_mut_ptr(), count, milliseconds) }) {
        Err(libc::EINTR) => Ok(0),
        result => result.map(|count| usize::try_from(count).unwrap_or_default()),
    }
}

/// The version of the kernel's Landlock.
pub(super) fn landlock_version() -> Outcome<i32> {
    const VERSION: c_uint = 1;
    // SAFETY: a null pointer and size 0 query the version.
    small(unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, ptr::null::<c_void>(), 0_usize, VERSION)
    })
}

/// Restricts the process by a Landlock ruleset.
pub(super) fn restrict_files(ruleset: RawFd) -> Outcome {
    // SAFETY: numbers.
    done(unsafe { libc::syscall(libc::SYS_landlock_restrict_self, ruleset, 0) })
}

/// Adds a rule for a path handle to a Landlock ruleset.
pub(super) fn allow_path(ruleset: RawFd, path: RawFd, access: u64) -> Outcome {
    #[repr(C, packed)]
    struct PathBeneath {
        allowed_access: u64,
        parent_fd: i32,
    }
    const RULE_PATH_BENEATH: c_int = 1;
    let rule = PathBeneath { allowed_access: access, parent_fd: path };
    // SAFETY: the rule is valid during the call.
    done(unsafe {
        libc::syscall(libc::SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &raw const rule, 0)
    })
}

/// Installs a seccomp filter for this process and its children.
pub(super) fn filter_calls(filter: &[libc::sock_filter]) -> Outcome {
    #[expect(clippy::cast_possible_truncation, reason = "a filter has at most 4096 instructions")]
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the program points to valid instructions during the call.
    done(unsafe {
        libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program)
    })
}

/// Tries to create a socket of a family and returns the error.
pub(super) fn try_socket(family: c_int) -> Outcome {
    // SAFETY: numbers.
    small(unsafe { libc::socket(family, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) }).map(close)
}

/// Executes the program described at an address (see `plan::ExecArguments`); only returns on an error.
///
/// # Safety
/// The address is that of filled words.
pub(super) unsafe fn execute(words: usize) -> Errno {
    let header = words as *const [usize; 3];
    // SAFETY: as the caller promises, three addresses of strings and arrays of strings are there.
    let result = unsafe {
        let [path, arguments, environment] = ptr::read_volatile(header);
        done(libc::execve(path as *const _, arguments as *const _, environment as *const _))
    };
    result.err().unwrap_or(libc::ENOEXEC)
}

/// Both ends of a pipe that exec closes: reading, writing.
pub(super) fn pipe() -> Outcome<(RawFd, RawFd)> {
    let mut ends = [-1; 2];
    // SAFETY: there is room for two descriptors.
    done(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) })?;
    Ok((ends[0], ends[1]))
}

/// The memory of all processes in /proc except the first one, in bytes. That one is a copy of the
/// supervisor and shares its memory. Socket buffers belong to no process, so each socket counts
/// with its maximum size.
pub(super) fn memory_in_use(max_per_socket: u64) -> u64 {
    let Ok(folder) = open(c"/proc", libc::O_RDONLY | libc::O_DIRECTORY) else { return 0 };
    let mut sum = 0_u64;
    let mut shared = SharedMappings::new();
    let mut entries = [0_u8; 4096];
    loop {
        // SAFETY: the buffer is valid for its length.
        let count = unsafe {
            libc::syscall(libc::SYS_getdents64, folder, entries.as_mut_ptr(), entries.len())
        };
        let Ok(count) = usize::try_from(count) else { break };
        if count == 0 {
            break;
        }
        let mut at = 0;
        // An entry: inode, offset (8 bytes each), length (2), kind (1), name.
        while let Some(entry) = entries.get(at..count).filter(|entry| entry.len() > 19) {
            let length = usize::from(u16::from_ne_bytes([entry[16], entry[17]]));
            let name = &entry[19..length.clamp(19, entry.len())];
            sum = sum.wrapping_add(resident(name));
            shared.add_process(name);
            if length == 0 {
                break;
            }
            at += length;
        }
    }
    close(folder);
    sum.wrapping_add(shared.bytes).wrapping_add(sockets_in_use().wrapping_mul(max_per_socket))
}

/// The number of sockets in this network namespace.
fn sockets_in_use() -> u64 {
    let Ok(file) = open(c"/proc/self/net/sockstat", libc::O_RDONLY) else { return 0 };
    let mut text = [0_u8; 256];
    let count = read(file, &mut text).unwrap_or_default();
    close(file);
    let line = text.get(..count).unwrap_or_default().split(|byte| *byte == b'\n').next();
    line.and_then(|line| line.strip_prefix(b"sockets: used ")).map_or(0, number_in)
}

/// The digits of a text as one number.
fn number_in(text: &[u8]) -> u64 {
    let digits = text.iter().filter(|byte| byte.is_ascii_digit());
    digits
        .fold(0_u64, |number, digit| number.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')))
}

/// Opens a file of a process by its entry in /proc; `None` for the first process and for other
/// entries.
fn open_of_process(name: &[u8], file: &[u8]) -> Option<RawFd> {
    let digits = name.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits == 0 || digits > 10 || &name[..digits] == b"1" {
        return None;
    }
    let mut path = [0_u8; 32];
    let parts: [&[u8]; 3] = [b"/proc/", &name[..digits], file];
    let mut end = 0;
    for part in parts {
        path.get_mut(end..end + part.len())?.copy_from_slice(part);
        end += part.len();
    }
    open(CStr::from_bytes_until_nul(&path).ok()?, libc::O_RDONLY).ok()
}

/// The memory of one process, including swap (attack sandbox-E08).
fn resident(name: &[u8]) -> u64 {
    let Some(file) = open_of_process(name, b"/status") else { return 0 };
    let mut text = [0_u8; 4096];
    let count = read(file, &mut text).unwrap_or_default();
    close(file);
    memory_of(text.get(..count).unwrap_or_default())
}

/// Shared anonymous memory (attack sandbox-E07). Its pages exist while any process maps it, but are
/// not counted for a process that has not touched them: a sleeping child that inherits a mapping
/// would hold it for free. So each mapping counts once with its full size.
struct SharedMappings {
    bytes: u64,
    /// Inode and offset in one number, and the largest size of a mapping there.
    seen: [(u64, u64); Self::MAX_MAPPINGS],
    count: usize,
}

impl SharedMappings {
    /// Maximum number of distinct mappings; further ones count each time they are mapped, which
    /// overestimates.
    const MAX_MAPPINGS: usize = 512;

    fn new() -> Self {
        Self { bytes: 0, seen: [(0, 0); Self::MAX_MAPPINGS], count: 0 }
    }

    fn add_process(&mut self, name: &[u8]) {
        let Some(file) = open_of_process(name, b"/maps") else { return };
        let mut text = [0_u8; 4096];
        let mut kept = 0;
        // Longer lines contain paths, but shared memory has a short one. Their pieces are ignored.
        while let Ok(count) = read(file, &mut text[kept..]) {
            let Some(filled) = text.get(..kept + count).filter(|_| count > 0) else { break };
            let end =
                filled.iter().rposition(|byte| *byte == b'\n').map_or(filled.len(), |at| at + 1);
            for line in filled[..end].split(|byte| *byte == b'\n') {
                self.add(line);
            }
            let rest = end..filled.len();
            kept = rest.len();
            text.copy_within(rest, 0);
        }
        close(file);
    }

    /// A line of `/proc/…/maps`: addresses, rights, offset, device, inode, name.
    fn add(&mut self, line: &[u8]) {
        if !line.ends_with(b" /dev/zero (deleted)") {
            return;
        }
        let mut fields = line.split(|byte| *byte == b' ').filter(|field| !field.is_empty());
        let (Some(addresses), Some(rights), Some(offset), Some(inode)) =
            (fields.next(), fields.next(), fields.next(), fields.nth(1))
        else {
            return;
        };
        if rights.get(3) != Some(&b's') {
            return;
        }
        let number = |digits: &[u8], base: u64| {
            digits.iter().fold(0_u64, |number, digit| {
                let value = char::from(*digit).to_digit(16).unwrap_or_default();
                number.wrapping_mul(base).wrapping_add(u64::from(value))
            })
        };
        let mut ends = addresses.split(|byte| *byte == b'-').map(|end| number(end, 16));
        let (Some(start), Some(end)) = (ends.next(), ends.next()) else { return };
        let size = end.wrapping_sub(start);
        let mark = number(inode, 10).rotate_left(32) ^ number(offset, 16);
        let known = self.seen[..self.count].iter_mut().find(|(known, _)| *known == mark);
        if let Some((_, largest)) = known {
            self.bytes = self.bytes.wrapping_add(size.saturating_sub(*largest));
            *largest = size.max(*largest);
            return;
        }
        if let Some(place) = self.seen.get_mut(self.count) {
            *place = (mark, size);
            self.count += 1;
        }
        self.bytes = self.bytes.wrapping_add(size);
    }
}

/// Memory, swap and page tables in bytes, from `/proc/…/status`, without shared memory: that is
/// counted by its mappings, and private folders have their own limit.
fn memory_of(status: &[u8]) -> u64 {
    const KIB: u64 = 1024;
    let field = |name: &[u8]| {
        let line = status.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(name));
        number_in(line.unwrap_or_default())
    };
    let own = field(b"VmRSS:").saturating_sub(field(b"RssShmem:"));
    own.wrapping_add(field(b"VmSwap:")).wrapping_add(field(b"VmPTE:")).wrapping_mul(KIB)
}

/// Memory that this process and its clones share.
#[derive(Debug)]
pub(super) struct Shared {
    start: *mut u8,
    length: usize,
}

// SAFETY: the memory belongs to the value alone; moving it to another thread moves nothing else.
unsafe impl Send for Shared {}

impl Shared {
    pub(super) fn new(length: usize) -> Outcome<Self> {
        // SAFETY: a fresh anonymous mapping.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            // SAFETY: the location of this thread's errno is always valid.
            return Err(unsafe { *libc::__errno_location() });
        }
        Ok(Self { start: start.cast(), length })
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: the mapping is valid for its length, and the borrow of `self` makes it unique in this process.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.length) }
    }

    pub(super) fn address(&self) -> usize {
        self.start as usize
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nobody borrows it any more.
        unsafe { libc::munmap(self.start.cast(), self.length) };
    }
}

/// A counter that other threads can raise and that can be waited for.
pub(super) fn event() -> Outcome<RawFd> {
    // SAFETY: numbers.
    small(unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) })
}

pub(super) fn set_nonblocking(fd: RawFd) -> Outcome {
    // SAFETY: numbers.
    unsafe {
        let flags = small(libc::fcntl(fd, libc::F_GETFL))?;
        done(libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK))
    }
}

pub(super) fn set_creation_mask(mask: libc::mode_t) {
    // SAFETY: a number.
    unsafe { libc::umask(mask) };
}

/// The effective user and group.
pub(super) fn identity_of_process() -> (u32, u32) {
    // SAFETY: no arguments.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

#[cfg(test)]
mod tests {
    #[test]
    fn swap_is_counted_as_memory() {
        // Attack sandbox-E08, without a cgroup.
        let status = b"Name:\tVmRSS\nVmPeak:\t    9 kB\nVmRSS:\t     120 kB\nRssAnon:\t 7 kB\nVmSwap:\t    3 kB\n";
        assert_eq!(super::memory_of(status), 123 << 10);
        assert_eq!(super::memory_of(b"State:\tZ (zombie)\n"), 0);
        assert_eq!(super::memory_of(b"VmRSS:\t     120 kB\nRssShmem:\t 20 kB\n"), 100 << 10);
        assert_eq!(super::memory_of(b"VmRSS:\t     120 kB\nVmPTE:\t 20 kB\n"), 140 << 10);
    }

    #[test]
    fn shared_memory_is_counted_once_with_its_full_size() {
        // Attack sandbox-E07, without a cgroup.
        let counted = |lines: &[&str]| {
            let mut shared = super::SharedMappings::new();
            for line in lines {
                shared.add(line.as_bytes());
            }
            shared.bytes
        };
        let block = "7f0000000000-7f0000004000 rw-s 00000000 00:01 77      /dev/zero (deleted)";
        let first_page =
            "7f0000000000-7f0000001000 rw-s 00000000 00:01 77      /dev/zero (deleted)";
        let other = "7f0000100000-7f0000101000 rw-s 00000000 00:01 78      /dev/zero (deleted)";
        let private = "7f0000000000-7f0000004000 rw-p 00000000 00:01 79      /dev/zero (deleted)";
        let library = "7f0000000000-7f0000004000 r--s 00000000 00:01 80      /usr/lib/x.so";
        assert_eq!(counted(&[block, block]), 0x4000);
        assert_eq!(counted(&[first_page, block, first_page]), 0x4000);
        assert_eq!(counted(&[block, other]), 0x5000);
        assert_eq!(counted(&[private, library, "", "x"]), 0);
    }
}
