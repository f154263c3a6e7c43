//! Between clone and exec: the child sets up the namespaces, becomes their first process, and
//! starts the program as the second one.
//!
//! The order is that of `docs/design/sandbox.md`. Nothing here allocates, takes a lock or panics: the
//! parent may have threads, and a lock held by one of them during the clone is never released here.

#![allow(unsafe_code, reason = "two calls of clone and exec")]

use std::ffi::CStr;
use std::os::fd::RawFd;

use super::plan::{EMPTY, Plan, SELF_TEST};
use super::sys::{self, Errno, Outcome};
use super::system::HOST_NAME;
use super::view::{OverlayLayers, Rights, Step};

/// The context of the child, in addition to the plan.
pub(super) struct Context<'p> {
    pub(super) plan: &'p Plan,
    /// Set if the parent is root: the owners of granted files appear as the user inside.
    pub(super) owners: Option<RawFd>,
    /// Whether the namespaces belong to the machine's root and the user is changed at the end.
    pub(super) privileged: bool,
    /// A user namespace that is the parent of those of root's programs.
    pub(super) plain_users: Option<RawFd>,
    /// A network namespace to join.
    pub(super) network: Option<RawFd>,
    /// `inside outside 1`, for the two maps of an ordinary user.
    pub(super) user_map: &'p [u8],
    pub(super) group_map: &'p [u8],
    /// Descriptors that stay open, sorted.
    pub(super) keep: &'p [RawFd],
    /// Space for the detached mounts, one per bind.
    pub(super) mounts: &'p mut [RawFd],
    pub(super) stdio: [RawFd; 3],
    pub(super) descriptors: &'p [RawFd],
    /// Where results are reported.
    pub(super) status: RawFd,
    /// Commands of the supervisor; end of file means that the supervisor has exited.
    pub(super) control: RawFd,
    /// Where the listeners are sent.
    pub(super) listeners: Option<RawFd>,
    /// The address of the arguments and the environment.
    pub(super) words: usize,
    /// Read before the program starts, if the arguments are provided later.
    pub(super) start: Option<RawFd>,
    /// The `tasks` file of a cgroup to enter, if a process can't be cloned into it.
    pub(super) group: Option<RawFd>,
    /// The memory to poll, if there is no cgroup.
    pub(super) memory: Option<PolledMemory>,
}

/// Memory limits that the first process polls.
#[derive(Clone, Copy)]
pub(super) struct PolledMemory {
    /// The limit in bytes.
    pub(super) most: u64,
    /// The maximum memory of a socket.
    pub(super) socket: u64,
}

/// The user that root's sandboxes run as.
pub(super) const NOBODY: u32 = 65534;

/// Commands on the control pipe.
pub(super) const ORDER_TERMINATE: u8 = b'T';

/// A report: its kind, and two numbers.
pub(super) type Report = [u8; 12];
pub(super) const REPORT_FAILED: u32 = 1;
pub(super) const REPORT_ENDED: u32 = 2;
pub(super) const REPORT_MEMORY: u32 = 3;
pub(super) const REPORT_READY: u32 = 4;

fn report(fd: RawFd, what: u32, first: i32, second: i32) {
    let mut bytes: Report = [0; 12];
    bytes[..4].copy_from_slice(&what.to_ne_bytes());
    bytes[4..8].copy_from_slice(&first.to_ne_bytes());
    bytes[8..].copy_from_slice(&second.to_ne_bytes());
    // If the supervisor has exited, there is nobody to report to.
    let _ = sys::write(fd, &bytes);
}

/// The steps that can fail, in their order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(super) enum SetupStage {
    Descriptors,
    ControlGroup,
    UserNamespace,
    Formats,
    Network,
    MountNamespace,
    Source,
    SourceChanged,
    Owners,
    Overlay,
    Root,
    Attach,
    Memory,
    Processes,
    ReadOnlyRoot,
    EnterRoot,
    HostName,
    Loopback,
    Listener,
    OwnRules,
    Init,
    User,
    Session,
    Limits,
    Capabilities,
    NoNewPrivileges,
    Landlock,
    Seccomp,
    SelfTest,
    WorkingDirectory,
    Execute,
}

const SETUP_STAGES: &[(SetupStage, &str)] = &[
    (SetupStage::Descriptors, "closing descriptors"),
    (SetupStage::ControlGroup, "control group"),
    (SetupStage::UserNamespace, "user namespace"),
    (SetupStage::Formats, "binfmt_misc"),
    (SetupStage::Network, "network namespace"),
    (SetupStage::MountNamespace, "mount namespace"),
    (SetupStage::Source, "opening a granted path"),
    (SetupStage::SourceChanged, "a granted path changed"),
    (SetupStage::Owners, "mapping the owner of a granted path"),
    (SetupStage::Overlay, "mounting an overlay"),
    (SetupStage::Root, "new root"),
    (SetupStage::Attach, "attaching a granted path"),
    (SetupStage::Memory, "folder in memory"),
    (SetupStage::Processes, "/proc"),
    (SetupStage::ReadOnlyRoot, "read-only root"),
    (SetupStage::EnterRoot, "entering the new root"),
    (SetupStage::HostName, "host name"),
    (SetupStage::Loopback, "loopback interface"),
    (SetupStage::Listener, "listening socket"),
    (SetupStage::OwnRules, "Landlock rules"),
    (SetupStage::Init, "first process"),
    (SetupStage::User, "changing the user"),
    (SetupStage::Session, "new session"),
    (SetupStage::Limits, "resource limits"),
    (SetupStage::Capabilities, "giving up capabilities"),
    (SetupStage::NoNewPrivileges, "no new privileges"),
    (SetupStage::Landlock, "Landlock"),
    (SetupStage::Seccomp, "seccomp filter"),
    (SetupStage::SelfTest, "self-test: something forbidden was possible"),
    (SetupStage::WorkingDirectory, "working directory"),
    (SetupStage::Execute, "executing the program"),
];

impl SetupStage {
    /// The stage of a report.
    pub(super) fn of(number: i32) -> Option<(SetupStage, &'static str)> {
        SETUP_STAGES.iter().copied().find(|(stage, _)| *stage as i32 == number)
    }
}

/// Attaches the stage at which something failed.
trait At<T> {
    fn at(self, stage: SetupStage) -> Result<T, (SetupStage, Errno)>;
}

impl<T> At<T> for Outcome<T> {
    fn at(self, stage: SetupStage) -> Result<T, (SetupStage, Errno)> {
        match self {
            Ok(value) => Ok(value),
            Err(errno) => Err((stage, errno)),
        }
    }
}

type Built<T = ()> = Result<T, (SetupStage, Errno)>;

/// Sets up the sandbox and starts the program.
pub(super) fn run_child(mut context: Context<'_>) -> ! {
    match build(&mut context).and_then(|()| start(&context)) {
        Ok(never) => match never {},
        Err((stage, errno)) => {
            report(context.status, REPORT_FAILED, stage as i32, errno);
            sys::exit(120)
        }
    }
}

enum Never {}

fn build(context: &mut Context<'_>) -> Built {
    close_others(context.keep).at(SetupStage::Descriptors)?;
    if let Some(list) = context.group {
        sys::write(list, b"0").at(SetupStage::ControlGroup)?;
        sys::close(list);
    }
    sys::set_creation_mask(0o022);
    if let Some(most) = context.plan.descriptors {
        #[expect(clippy::cast_possible_wrap, reason = "resources are small numbers")]
        sys::set_limit(libc::RLIMIT_NOFILE as libc::c_int, most).at(SetupStage::Limits)?;
    }
    if !context.privileged {
        map_user(context.user_map, context.group_map).at(SetupStage::UserNamespace)?;
        sys::mount_empty_binfmt_misc().at(SetupStage::Formats)?;
    }
    if let Some(network) = context.network {
        sys::join_network(network).at(SetupStage::Network)?;
        sys::close(network);
    }
    sys::make_mounts_private().at(SetupStage::MountNamespace)?;
    take_sources(context)?;
    let root = build_root(context)?;
    sys::set_mount(root, sys::MOUNT_RDONLY | sys::MOUNT_NOSUID | sys::MOUNT_NODEV, None, false)
        .at(SetupStage::ReadOnlyRoot)?;
    sys::change_folder_to(root).at(SetupStage::EnterRoot)?;
    sys::enter_root().at(SetupStage::EnterRoot)?;
    sys::close(root);
    sys::set_host_name(HOST_NAME).at(SetupStage::HostName)?;
    if let Some(socket) = context.listeners {
        sys::loopback_up().at(SetupStage::Loopback)?;
        hand_out_listeners(socket, &context.plan.ports).at(SetupStage::Listener)?;
    }
    let ruleset = super::plan::number(&context.plan.ruleset);
    for (path, access) in &context.plan.own_rules {
        let handle = sys::open(path, libc::O_PATH).at(SetupStage::OwnRules)?;
        sys::allow_path(ruleset, handle, *access).at(SetupStage::OwnRules)?;
        sys::close(handle);
    }
    Ok(())
}

/// Closes the file descriptors of other threads of the parent (attack sandbox-D16).
fn close_others(keep: &[RawFd]) -> Outcome {
    let mut next: u32 = 3;
    for fd in keep {
        let fd = fd.cast_unsigned();
        if fd > next {
            sys::close_range(next, fd - 1)?;
        }
        next = next.max(fd.saturating_add(1));
    }
    sys::close_range(next, u32::MAX)
}

/// What a run may have of the user's inotify instances, of which there are 128 for all programs together.
const INOTIFY_INSTANCES: &[u8] = b"16";

fn map_user(users: &[u8], groups: &[u8]) -> Outcome {
    sys::write_file(c"/proc/self/setgroups", b"deny")?;
    sys::write_file(c"/proc/self/uid_map", users)?;
    sys::write_file(c"/proc/self/gid_map", groups)?;
    // Counted in the user namespace, and in those around it. Where the host hides the setting, the host's limit applies.
    let _ = sys::write_file(c"/proc/sys/user/max_inotify_instances", INOTIFY_INSTANCES);
    Ok(())
}

/// Opens every granted path of the host before a mount hides it.
fn take_sources(context: &mut Context<'_>) -> Built {
    for (bind, place) in context.plan.binds.iter().zip(context.mounts.iter_mut()) {
        let handle = sys::open_path(&bind.source).at(SetupStage::Source)?;
        // It must be the same inode that the plan checked, not a replacement (attack sandbox-A06).
        if sys::identity(handle).at(SetupStage::Source)? != bind.identity {
            return Err((SetupStage::SourceChanged, libc::ESTALE));
        }
        if let Some(layers) = &bind.overlay {
            *place = mount_overlay(handle, layers, bind.attributes, context.owners)?;
            sys::close(handle);
            continue;
        }
        let mount = sys::clone_tree(handle).at(SetupStage::Source)?;
        sys::close(handle);
        let owners = context.owners.filter(|_| bind.owned);
        match sys::set_mount(mount, bind.attributes, owners, true) {
            Ok(()) => {}
            // A filesystem without id-mapped mounts can still be read with the permissions of
            // others.
            Err(libc::EINVAL | libc::EPERM) if owners.is_some() && bind.rights != Rights::Write => {
                sys::set_mount(mount, bind.attributes, None, true).at(SetupStage::Source)?;
            }
            Err(errno) if owners.is_some() => return Err((SetupStage::Owners, errno)),
            Err(errno) => return Err((SetupStage::Source, errno)),
        }
        *place = mount;
    }
    Ok(())
}

/// A detached overlay over a folder.
///
/// `volatile`, because otherwise every copied file is flushed to disk; `userxattr` for ordinary users,
/// because otherwise deleting an existing folder fails.
fn mount_overlay(
    lower: RawFd,
    layers: &OverlayLayers,
    attributes: u64,
    owners: Option<RawFd>,
) -> Built<RawFd> {
    let folder = sys::open_path(&layers.folder).at(SetupStage::Source)?;
    if sys::identity(folder).at(SetupStage::Source)? != layers.identity {
        return Err((SetupStage::SourceChanged, libc::ESTALE));
    }
    // Root's files have to appear as those of the user inside, in both layers.
    let (lower, folder) = match owners {
        Some(owners) => {
            let mut mounts = [-1; 2];
            for (handle, place) in [lower, folder].into_iter().zip(mounts.iter_mut()) {
                let mount = sys::clone_tree(handle).at(SetupStage::Overlay)?;
                sys::set_mount(mount, 0, Some(owners), true).at(SetupStage::Overlay)?;
                *place = mount;
            }
            sys::close(folder);
            (mounts[0], mounts[1])
        }
        None => (lower, folder),
    };
    let overlay = || {
        let lower_path = sys::LayerPath::new(lower, None)?;
        let upper_path = sys::LayerPath::new(folder, Some(&layers.upper))?;
        let work_path = sys::LayerPath::new(folder, Some(&layers.work))?;
        let options: &[(&CStr, Option<&CStr>)] = &[
            (c"lowerdir", Some(lower_path.as_c_str()?)),
            (c"upperdir", Some(upper_path.as_c_str()?)),
            (c"workdir", Some(work_path.as_c_str()?)),
            (c"volatile", None),
            (c"userxattr", None),
        ];
        // Root's overlay keeps its marks where no user can set them.
        let options = if owners.is_some() { &options[..4] } else { options };
        let mount = sys::new_filesystem(c"overlay", options, attributes)?;
        if sys::is_writable(mount)? { Ok(mount) } else { Err(libc::EROFS) }
    };
    let mount = overlay().at(SetupStage::Overlay)?;
    sys::close(folder);
    if owners.is_some() {
        sys::close(lower);
    }
    Ok(mount)
}

fn build_root(context: &Context<'_>) -> Built<RawFd> {
    let plan = context.plan;
    // The tmpfs belongs to the user inside, whose id differs before and after the user namespace.
    let owner: &CStr = if context.privileged { c"65534" } else { c"1000" };
    let options: &[(&CStr, Option<&CStr>)] =
        &[(c"size", Some(c"16m")), (c"nr_inodes", Some(c"40000")), (c"mode", Some(c"755"))];
    let root = sys::new_filesystem(c"tmpfs", options, sys::MOUNT_NOSUID | sys::MOUNT_NODEV)
        .at(SetupStage::Root)?;
    sys::attach(root, libc::AT_FDCWD, &plan.foothold).at(SetupStage::Root)?;
    for step in &plan.steps {
        match step {
            Step::Folder(at) => sys::make_folder_at(root, at, 0o755).at(SetupStage::Root)?,
            Step::Text(at, bytes) => sys::create_file_at(root, at, bytes).at(SetupStage::Root)?,
            Step::Link { target, at } => match sys::link_at(target, root, at) {
                Ok(()) | Err(libc::EEXIST) => {}
                Err(errno) => return Err((SetupStage::Root, errno)),
            },
            Step::Attach { bind, at } => {
                let mount = context.mounts.get(*bind).copied().unwrap_or(-1);
                sys::attach(mount, root, at).at(SetupStage::Attach)?;
                sys::close(mount);
            }
            Step::Pin(at) => {
                let mount = sys::clone_at(root, at).at(SetupStage::Attach)?;
                sys::attach(mount, root, at).at(SetupStage::Attach)?;
                sys::close(mount);
            }
            Step::Cover(at) => {
                let mount = sys::clone_at(root, EMPTY).at(SetupStage::Attach)?;
                let attributes =
                    sys::MOUNT_RDONLY | sys::MOUNT_NOSUID | sys::MOUNT_NODEV | sys::MOUNT_NOEXEC;
                sys::set_mount(mount, attributes, None, false).at(SetupStage::Attach)?;
                sys::attach(mount, root, at).at(SetupStage::Attach)?;
                sys::close(mount);
            }
            Step::Memory { at, size, mode, attributes } => {
                let options: &[(&CStr, Option<&CStr>)] = &[
                    (c"size", Some(size)),
                    (c"mode", Some(mode)),
                    (c"uid", Some(owner)),
                    (c"gid", Some(owner)),
                    (c"nr_inodes", Some(c"100000")),
                ];
                let mount =
                    sys::new_filesystem(c"tmpfs", options, *attributes).at(SetupStage::Memory)?;
                sys::attach(mount, root, at).at(SetupStage::Memory)?;
                sys::close(mount);
            }
            Step::Processes(at) => {
                let options: &[(&CStr, Option<&CStr>)] =
                    &[(c"subset", Some(c"pid")), (c"hidepid", Some(c"invisible"))];
                let attributes = sys::MOUNT_NOSUID | sys::MOUNT_NODEV | sys::MOUNT_NOEXEC;
                let mount =
                    sys::new_filesystem(c"proc", options, attributes).at(SetupStage::Processes)?;
                sys::attach(mount, root, at).at(SetupStage::Processes)?;
                sys::close(mount);
            }
        }
    }
    Ok(root)
}

fn hand_out_listeners(socket: RawFd, ports: &[u16]) -> Outcome {
    let mut listeners = [-1; sys::MAX_SENT];
    for (port, place) in ports.iter().zip(listeners.iter_mut()) {
        *place = sys::listen(*port)?;
    }
    let sent = listeners.get(..ports.len()).unwrap_or_default();
    sys::send_descriptors(socket, sent)?;
    for listener in sent {
        sys::close(*listener);
    }
    sys::close(socket);
    Ok(())
}

/// Starts the program as a second process and stays as init.
fn start(context: &Context<'_>) -> Built<Never> {
    let signals = sys::child_signals().at(SetupStage::Init)?;
    if let Some(users) = context.plain_users {
        sys::join_users(users).at(SetupStage::UserNamespace)?;
        sys::close(users);
    }
    if context.privileged {
        // Before the program exists: the first process must be able to signal it from the start.
        sys::become_user(NOBODY, NOBODY).at(SetupStage::User)?;
    }
    // The other end closes on exec.
    let (executed, execution) = sys::pipe().at(SetupStage::Init)?;
    // SAFETY: neither side allocates; see the head of this file.
    let program = unsafe { sys::fork() }.at(SetupStage::Init)?;
    if program == 0 {
        sys::close(signals);
        sys::close(executed);
        // Above the descriptors that are moved to their final numbers.
        if let Err((stage, errno)) = sys::dup_above(execution, ABOVE).at(SetupStage::Init) {
            report(context.status, REPORT_FAILED, stage as i32, errno);
            sys::exit(120)
        }
        sys::close(execution);
        let (stage, errno) = match become_program(context) {
            Err(failure) => failure,
            Ok(never) => match never {},
        };
        report(context.status, REPORT_FAILED, stage as i32, errno);
        sys::exit(120)
    }
    sys::drop_capabilities_if_any()
        .and_then(|()| sys::prctl(libc::PR_SET_DUMPABLE, 0))
        .at(SetupStage::Init)?;
    let mut keep = [signals, context.control, context.status, executed];
    keep.sort_unstable();
    close_others(&keep).at(SetupStage::Init)?;
    // Output ends when the program's processes have exited, so this one must not keep it open.
    for fd in 0..3 {
        sys::close(fd);
    }
    watch(context, signals, executed, program)
}

/// The main loop of init: reaps children, forwards commands, and ends everything when the supervisor
/// exits.
fn watch(context: &Context<'_>, signals: RawFd, executed: RawFd, program: i32) -> ! {
    // Until exec, the program is a copy of the supervisor too, with memory that is not its own.
    let mut executed = Some(executed);
    loop {
        let interval = if context.memory.is_some() && executed.is_none() { 50 } else { -1 };
        let event = |fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let mut events = [event(signals), event(context.control), event(executed.unwrap_or(-1))];
        let _ = sys::poll(&mut events, interval);
        if events[2].revents != 0
            && let Some(pipe) = executed.take()
        {
            sys::close(pipe);
        }
        if events[0].revents != 0 {
            let mut information = [0_u8; 128];
            let _ = sys::read(signals, &mut information);
            while let Some((pid, status)) = sys::reap() {
                if pid == program {
                    report(context.status, REPORT_ENDED, status, 0);
                    // The end of the first process is the end of all (attacks sandbox-E02, sandbox-E03).
                    sys::exit(0);
                }
            }
        }
        if events[1].revents != 0 {
            let mut order = [0];
            match sys::read(context.control, &mut order) {
                Ok(1) if order[0] == ORDER_TERMINATE => {
                    let _ = sys::kill(-1, libc::SIGTERM);
                }
                Ok(1) => {}
                // The supervisor has exited (attack sandbox-E04).
                _ => sys::exit(0),
            }
        }
        if let Some(watched) = context.memory
            && executed.is_none()
            && sys::memory_in_use(watched.socket) > watched.most
        {
            report(context.status, REPORT_MEMORY, 0, 0);
            sys::exit(0);
        }
    }
}

fn become_program(context: &Context<'_>) -> Built<Never> {
    let plan = context.plan;
    if context.privileged {
        // Otherwise /proc/self belongs to root, and the maps below can't be written.
        sys::prctl(libc::PR_SET_DUMPABLE, 1).at(SetupStage::User)?;
        sys::new_user_namespace().at(SetupStage::UserNamespace)?;
        map_user(b"1000 65534 1", b"1000 65534 1").at(SetupStage::UserNamespace)?;
    }
    sys::reset_signals().at(SetupStage::Session)?;
    sys::new_session().at(SetupStage::Session)?;
    for (resource, value) in &plan.limits {
        sys::set_limit(*resource, *value).at(SetupStage::Limits)?;
    }
    let arranged = arrange_descriptors(context).at(SetupStage::Descriptors)?;
    // From here on failures are reported through the copy.
    let (stage, errno) = match confine(context, &arranged) {
        Err(failure) => failure,
        Ok(never) => match never {},
    };
    report(arranged.status, REPORT_FAILED, stage as i32, errno);
    sys::exit(120)
}

struct Arranged {
    status: RawFd,
    ruleset: RawFd,
    start: Option<RawFd>,
}

/// Above all final numbers, so that moving one descriptor never overwrites another.
const ABOVE: i32 = 200;

/// Moves descriptors to their final numbers: the three standard streams, then the private channels.
/// The rest is closed on exec.
fn arrange_descriptors(context: &Context<'_>) -> Outcome<Arranged> {
    let status = sys::dup_above(context.status, ABOVE)?;
    let ruleset = sys::dup_above(super::plan::number(&context.plan.ruleset), ABOVE)?;
    let start = match context.start {
        Some(start) => Some(sys::dup_above(start, ABOVE)?),
        None => None,
    };
    let mut sources = [-1; 3 + sys::MAX_SENT];
    let wanted = context.stdio.iter().chain(context.descriptors);
    let mut count = 0;
    for (fd, place) in wanted.zip(sources.iter_mut()) {
        *place = sys::dup_above(*fd, ABOVE)?;
        count += 1;
    }
    for (place, fd) in (0..count).zip(sources) {
        sys::dup2(fd, place)?;
    }
    sys::close_on_exec_from(count.cast_unsigned())?;
    Ok(Arranged { status, ruleset, start })
}

fn confine(context: &Context<'_>, arranged: &Arranged) -> Built<Never> {
    let plan = context.plan;
    sys::drop_capabilities().at(SetupStage::Capabilities)?;
    sys::prctl_no_new_privileges().at(SetupStage::NoNewPrivileges)?;
    sys::restrict_files(arranged.ruleset).at(SetupStage::Landlock)?;
    sys::filter_calls(plan.filter).at(SetupStage::Seccomp)?;
    self_test().at(SetupStage::SelfTest)?;
    sys::change_folder(&plan.working_directory).at(SetupStage::WorkingDirectory)?;
    if let Some(start) = arranged.start {
        report(arranged.status, REPORT_READY, 0, 0);
        let mut order = [0];
        if sys::read(start, &mut order) != Ok(1) {
            sys::exit(0);
        }
    }
    // SAFETY: the arguments are written before the start command, or before the clone.
    let errno = unsafe { sys::execute(context.words) };
    Err((SetupStage::Execute, errno))
}

/// Tries forbidden operations: a sandbox that does not work is worse than none (attack
/// sandbox-A29).
fn self_test() -> Outcome {
    match sys::open(SELF_TEST, libc::O_RDONLY) {
        Err(libc::EACCES) => {}
        _ => return Err(libc::EPROTO),
    }
    match sys::try_socket(libc::AF_NETLINK) {
        Err(libc::EPERM) => Ok(()),
        _ => Err(libc::EPROTO),
    }
}
