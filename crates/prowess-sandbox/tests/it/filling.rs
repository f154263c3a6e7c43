//! Limits on the growth of folders that are granted for writing (attacks sandbox-A23, sandbox-E09).

use std::fs;
use std::time::Duration;

use prowess_sandbox::{ExitReason, FileAccess, FileGrant, Spec, WriteLimit};

use crate::attacks::{in_mount_namespace, repeat_as_nobody};
use crate::world::{World, ran};

const MAX_BYTES: u64 = 8 << 20;
const MAX_ENTRIES: u64 = 500;
const BYTES_ENDED: WriteLimit = WriteLimit::Bytes(MAX_BYTES);
const ENTRIES_ENDED: WriteLimit = WriteLimit::Entries(MAX_ENTRIES);

/// Does something in `WS`, then waits forever: only the expected limit ends it before the timeout.
fn greedy(world: &World, payload: &str) -> Spec {
    let mut spec = world
        .python(&format!("os.chdir(WS)\n{payload}\nprint('kept', flush=True)\nsignal.pause()"));
    spec.files = vec![world.grant("ws", FileAccess::Write)];
    spec.limits.time = Duration::from_mins(2);
    spec.limits.grace = Duration::ZERO;
    spec.limits.written_bytes = MAX_BYTES;
    spec.limits.written_entries = MAX_ENTRIES;
    spec
}

const BYTES: &str = "
for number in range(16):
    with open(f'f{number}', 'wb') as file:
        for _ in range(1):
            file.write(b'x' * (1 << 20))";
const ENTRIES: &str = "
for number in range(1000):
    os.mkdir(f'd{number}')";

fn ends_with(exit: ExitReason, name: &str, spec: Spec) {
    let (ended, output, error) = ran(spec);
    assert_eq!(ended.expect("it starts").exit, exit, "{name}: {output}{error}");
}

#[test]
fn a_granted_folder_cannot_be_filled() {
    // Attacks sandbox-A23, sandbox-E09.
    for (name, written, payload) in [
        ("bytes", BYTES_ENDED, BYTES.to_owned()),
        ("entries", ENTRIES_ENDED, ENTRIES.to_owned()),
        // Allocated space that was never written.
        (
            "allocated",
            BYTES_ENDED,
            "
fd = os.open('f', os.O_CREAT | os.O_WRONLY)
os.posix_fallocate(fd, 0, 16 << 20)"
                .to_owned(),
        ),
        // In existing folders.
        ("below", ENTRIES_ENDED, format!("os.mkdir('a')\nos.chdir('a')\n{ENTRIES}")),
        // Through a memory mapping.
        (
            "mapped",
            BYTES_ENDED,
            "
import mmap
with open('f', 'w+b') as file:
    file.truncate(16 << 20)
    memory = mmap.mmap(file.fileno(), 16 << 20)
    for at in range(0, 16 << 20, 4096):
        memory[at] = 1"
                .to_owned(),
        ),
    ] {
        let world = World::new();
        ends_with(ExitReason::TooMuchWritten(written), name, greedy(&world, &payload));
    }
    // The private folder that replaces a granted one is on a disk too.
    let world = World::new();
    let mut spec = greedy(&world, BYTES);
    spec.files = vec![FileGrant {
        pattern: Some("*.md".to_owned()),
        ..world.grant("ws", FileAccess::Write)
    }];
    ends_with(ExitReason::TooMuchWritten(BYTES_ENDED), "private", spec);
}

#[test]
fn a_granted_folder_cannot_be_filled_by_an_ordinary_user() {
    repeat_as_nobody("filling::a_granted_folder_cannot_be_filled");
}

#[test]
fn existing_files_may_be_changed() {
    // More than the limit existed before and is overwritten: nothing is added.
    let world = World::new();
    fs::write(world.path("ws/large"), vec![1; 16 << 20]).expect("a file");
    for number in 0..700 {
        fs::write(world.path(&format!("ws/{number}")), "").expect("a file");
    }
    let mut spec = greedy(
        &world,
        "
with open('large', 'r+b') as file:
    for _ in range(16):
        file.write(b'x' * (1 << 20))
for number in range(700):
    os.chmod(str(number), 0o600)",
    );
    // Long enough for the watchdog to check.
    spec.limits.time = Duration::from_secs(3);
    ends_with(ExitReason::TimedOut(None), "changed", spec);
}

/// A helper that is run on a disk that no other process writes to.
#[test]
#[ignore = "run by another test"]
fn an_inaccessible_folder_is_filled() {
    // The run makes a folder inaccessible and continues to write in it. Root can read it anyway; for ordinary users the
    // space used on the filesystem counts.
    let world = World::new();
    let payload = format!(
        "
os.makedirs('a/b')
os.chdir('a/b')
os.chmod(WS + '/a', 0)
{BYTES}"
    );
    ends_with(ExitReason::TooMuchWritten(BYTES_ENDED), "closed", greedy(&world, &payload));
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(world.path("ws/a"), open).expect("it is ours");
}

#[test]
fn inaccessible_folders_are_counted() {
    for user in ["0", "65534"] {
        let mount = "mount -t tmpfs -o size=512m,mode=1777 tmpfs /tmp";
        in_mount_namespace(mount, user, "filling::an_inaccessible_folder_is_filled");
    }
}

/// A helper that is run on a disk of 64 MiB.
#[test]
#[ignore = "run by another test"]
fn a_small_disk_is_not_filled() {
    let world = World::new();
    // Deleted immediately, so that no scan finds it.
    let mut spec = greedy(
        &world,
        "
fd = os.open('f', os.O_CREAT | os.O_WRONLY)
os.unlink('f')
try:
    while True:
        os.write(fd, b'x' * 65536)
except OSError as error:
    print(errno.errorcode[error.errno])",
    );
    spec.limits.written_bytes = 1 << 30;
    ends_with(ExitReason::TooMuchWritten(WriteLimit::Disk), "deleted", spec);
}

#[test]
fn deleted_open_files_do_not_fill_the_disk() {
    let mount = "mount -t tmpfs -o size=64m,mode=1777 tmpfs /tmp";
    for user in ["0", "65534"] {
        in_mount_namespace(mount, user, "filling::a_small_disk_is_not_filled");
    }
}
