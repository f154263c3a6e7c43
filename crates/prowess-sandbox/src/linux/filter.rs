//! The seccomp filter. Everything is allowed except calls that change the machine, access other
//! processes or bypass other layers of the sandbox; calls of another architecture kill the program.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// Calls that no program in the sandbox needs.
const DENIED: &[libc::c_long] = &[
    // Namespaces and mounts (attacks sandbox-D01, sandbox-D02).
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    // Access to other processes (sandbox-D03).
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Changes of the kernel (sandbox-D05, sandbox-D14).
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_quotactl,
    libc::SYS_acct,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_syslog,
    libc::SYS_reboot,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_vhangup,
    libc::SYS_nfsservctl,
    libc::SYS_lookup_dcookie,
    // Files by handle (sandbox-A19), device nodes (sandbox-A23).
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    libc::SYS_mknodat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    // `io_uring`, which bypasses the filter (sandbox-C07).
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    // I/O ports and segments of x86.
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ustat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_sysfs,
    #[cfg(target_arch = "x86_64")]
    libc::SYS__sysctl,
    // NUMA pages, scheduling of other processes, locked memory (sandbox-D12).
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_mbind,
    libc::SYS_set_mempolicy,
    libc::SYS_mlockall,
];

/// The flags of clone that create namespaces.
const NAMESPACES: &[libc::c_int] = &[
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Without this flag a memory file could be executed (sandbox-B04).
const MFD_NOEXEC_SEAL: u64 = 8;

/// The setuid and setgid bits of a mode.
const SET_ID_BITS: &[u64] = &[0o4000, 0o2000];
/// The number of `fchmodat2` on every 64-bit architecture.
const SYS_FCHMODAT2: libc::c_long = 452;

/// The filter for programs with or without a network, and with or without kernel memory accounting.
pub(super) fn program(
    network: bool,
    counted: bool,
) -> Result<&'static [libc::sock_filter], String> {
    type Filter = LazyLock<Result<Vec<libc::sock_filter>, String>>;
    static FILTERS: [Filter; 4] = [
        LazyLock::new(|| build(false, false)),
        LazyLock::new(|| build(false, true)),
        LazyLock::new(|| build(true, false)),
        LazyLock::new(|| build(true, true)),
    ];
    FILTERS[2 * usize::from(network) + usize::from(counted)].as_deref().map_err(Clone::clone)
}

fn build(network: bool, counted: bool) -> Result<Vec<libc::sock_filter>, String> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in DENIED {
        rules.insert(*call, Vec::new());
    }
    let when = |argument: u8, comparison: SeccompCmpOp, value: u64| {
        // The kernel uses 32 bits of these arguments, so higher bits must not hide them (sandbox-D08).
        SeccompCondition::new(argument, SeccompCmpArgLen::Dword, comparison, value)
    };
    let all = |conditions: Vec<Result<SeccompCondition, _>>| {
        let conditions = conditions
            .into_iter()
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error: seccompiler::BackendError| error.to_string())?;
        SeccompRule::new(conditions).map_err(|error| error.to_string())
    };
    for bit in NAMESPACES {
        let bit = u64::from(bit.cast_unsigned());
        let rule = all(vec![when(0, SeccompCmpOp::MaskedEq(bit), bit)])?;
        rules.entry(libc::SYS_clone).or_default().push(rule);
    }
    for request in [libc::TIOCSTI, libc::TIOCLINUX] {
        let rule = all(vec![when(1, SeccompCmpOp::Eq, request)])?;
        rules.entry(libc::SYS_ioctl).or_default().push(rule);
    }
    if counted {
        rules.insert(
            libc::SYS_memfd_create,
            vec![all(vec![when(1, SeccompCmpOp::MaskedEq(MFD_NOEXEC_SEAL), 0)])?],
        );
    } else {
        // Memory that belongs to no process can only be counted by a cgroup (attack sandbox-E07).
        // Semaphores and message queues are memory of the kernel that no limit counts either.
        for call in [
            libc::SYS_memfd_create,
            libc::SYS_memfd_secret,
            libc::SYS_shmget,
            libc::SYS_semget,
            libc::SYS_msgget,
        ] {
            rules.insert(call, Vec::new());
        }
        // Socket buffers are counted by the number of sockets, so their sizes must not change.
        for option in [libc::SO_SNDBUF, libc::SO_RCVBUF, libc::SO_SNDBUFFORCE, libc::SO_RCVBUFFORCE]
        {
            let rule = all(vec![
                when(1, SeccompCmpOp::Eq, u64::from(libc::SOL_SOCKET.cast_unsigned())),
                when(2, SeccompCmpOp::Eq, u64::from(option.cast_unsigned())),
            ])?;
            rules.entry(libc::SYS_setsockopt).or_default().push(rule);
        }
    }
    // Setuid and setgid files would outlive the run, outside the sandbox.
    let mode_arguments: &[(libc::c_long, u8)] = &[
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_chmod, 1),
        (libc::SYS_fchmod, 1),
        (libc::SYS_fchmodat, 2),
        (SYS_FCHMODAT2, 2),
    ];
    for (call, argument) in mode_arguments {
        for bit in SET_ID_BITS {
            let rule = all(vec![when(*argument, SeccompCmpOp::MaskedEq(*bit), *bit)])?;
            rules.entry(*call).or_default().push(rule);
        }
    }
    // The mode of open is only used with `O_CREAT`; otherwise it is undefined.
    let opens: &[(libc::c_long, Option<u8>, u8)] = &[
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_open, Some(1), 2),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_creat, None, 1),
        (libc::SYS_openat, Some(2), 3),
    ];
    for (call, flags, mode) in opens {
        for bit in SET_ID_BITS {
            for creating in [libc::O_CREAT, libc::O_TMPFILE] {
                let creating = u64::from(creating.cast_unsigned());
                let mut conditions = vec![when(*mode, SeccompCmpOp::MaskedEq(*bit), *bit)];
                if let Some(flags) = flags {
                    conditions.push(when(*flags, SeccompCmpOp::MaskedEq(creating), creating));
                }
                rules.entry(*call).or_default().push(all(conditions)?);
            }
        }
    }
    // 0xffffffff queries the personality; other values except zero change the memory layout (sandbox-D10).
    rules.insert(
        libc::SYS_personality,
        vec![all(vec![when(0, SeccompCmpOp::Ne, 0), when(0, SeccompCmpOp::Ne, 0xffff_ffff)])?],
    );
    if network {
        let domain = |family: libc::c_int| u64::from(family.cast_unsigned());
        // Only IPv4 and IPv6, only streams and datagrams, only TCP and UDP: Landlock's TCP rules do not
        // apply to MPTCP (sandbox-C03, sandbox-C06).
        let mut sockets = vec![all(vec![
            when(0, SeccompCmpOp::Ne, domain(libc::AF_INET)),
            when(0, SeccompCmpOp::Ne, domain(libc::AF_INET6)),
        ])?];
        sockets.push(all(vec![when(1, SeccompCmpOp::MaskedEq(0xf), domain(libc::SOCK_RAW))])?);
        for kind in [libc::SOCK_SEQPACKET, libc::SOCK_RDM, libc::SOCK_DCCP, 10] {
            sockets.push(all(vec![when(1, SeccompCmpOp::MaskedEq(0xf), domain(kind))])?);
        }
        sockets.push(all(vec![
            when(2, SeccompCmpOp::Ne, 0),
            when(2, SeccompCmpOp::Ne, domain(libc::IPPROTO_TCP)),
            when(2, SeccompCmpOp::Ne, domain(libc::IPPROTO_UDP)),
        ])?);
        rules.insert(libc::SYS_socket, sockets);
    } else {
        rules.insert(libc::SYS_socket, Vec::new());
    }
    // A socket pair connects to no other process.
    rules.insert(
        libc::SYS_socketpair,
        vec![all(vec![when(0, SeccompCmpOp::Ne, u64::from(libc::AF_UNIX.cast_unsigned()))])?],
    );
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(|error| error.to_string())?;
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM.cast_unsigned()),
        arch,
    )
    .map_err(|error| error.to_string())?;
    let compiled: BpfProgram =
        filter.try_into().map_err(|error: seccompiler::BackendError| error.to_string())?;
    let body = compiled.iter().map(|instruction| libc::sock_filter {
        code: instruction.code,
        jt: instruction.jt,
        jf: instruction.jf,
        k: instruction.k,
    });
    Ok(prefix().into_iter().chain(body).collect())
}

/// Calls that change extended attributes. Access control lists would permanently open granted files
/// to others (attack sandbox-A25), and a filter can't read the attribute name.
const ATTRIBUTES: &[libc::c_long] = &[
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SYS_SETXATTRAT,
    SYS_REMOVEXATTRAT,
];
/// The numbers of these calls on every architecture.
const SYS_SETXATTRAT: libc::c_long = 463;
const SYS_REMOVEXATTRAT: libc::c_long = 466;

/// Calls with an error other than EPERM. ENOSYS for `clone3` and `openat2`, whose arguments a
/// filter can't read (programs fall back to the older calls), and for x32 calls. EOPNOTSUPP for
/// extended attributes, because `cp -a`, `tar` and Python's `shutil` then continue without them.
fn prefix() -> Vec<libc::sock_filter> {
    const LOAD: u16 = 0x20;
    const JUMP_EQUAL: u16 = 0x15;
    const JUMP_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const X32: u32 = 0x4000_0000;
    let line = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "numbers of calls are small"
    )]
    let number = |call: libc::c_long| call as u32;
    let [clone3, openat2] = [libc::SYS_clone3, libc::SYS_openat2].map(number);
    let answer = |errno: i32| line(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | errno.cast_unsigned());
    let mut lines = vec![
        line(LOAD, 0, 0, 0),
        line(JUMP_AT_LEAST, 2, 0, X32),
        line(JUMP_EQUAL, 1, 0, clone3),
        line(JUMP_EQUAL, 0, 1, openat2),
        answer(libc::ENOSYS),
    ];
    for call in ATTRIBUTES {
        lines.push(line(JUMP_EQUAL, 0, 1, number(*call)));
        lines.push(answer(libc::ENOTSUP));
    }
    lines
}

#[cfg(test)]
mod tests {
    #[test]
    fn all_filters_compile_and_fit() {
        for (network, counted) in [(false, false), (false, true), (true, false), (true, true)] {
            let filter = super::program(network, counted).expect("the filter compiles");
            assert!((50..4096).contains(&filter.len()), "{}", filter.len());
        }
    }

    #[test]
    fn without_a_control_group_the_kernel_keeps_no_memory_for_a_run() {
        // Finding 15: a filter compares the number of a call with a constant.
        let compared = |counted: bool, call: libc::c_long| {
            let number = u32::try_from(call).expect("small");
            let filter = super::program(false, counted).expect("the filter compiles");
            filter.iter().filter(|line| line.k == number).count()
        };
        for call in [libc::SYS_shmget, libc::SYS_semget, libc::SYS_msgget] {
            assert!(compared(false, call) > compared(true, call), "{call}");
        }
    }
}
