//! Filling the disk: what a run adds to folders that are granted for writing is bounded (attacks sandbox-A23, sandbox-E09).

use std::fs;
use std::time::Duration;

use prowess_sandbox::{Access, FileGrant, How, Spec, Written};

use crate::attacks::{again_as_nobody, in_a_world_of_mounts};
use crate::world::{World, ran};

const MOST_BYTES: u64 = 8 << 20;
const MOST_ENTRIES: u64 = 500;
const BYTES_ENDED: Written = Written::Bytes(MOST_BYTES);
const ENTRIES_ENDED: Written = Written::Entries(MOST_ENTRIES);

/// Does something to `WS`, then waits for ever: only a limit ends it, and the limit of time is another one.
fn greedy(world: &World, payload: &str) -> Spec {
    let mut spec = world
        .python(&format!("os.chdir(WS)\n{payload}\nprint('kept', flush=True)\nsignal.pause()"));
    spec.files = vec![world.grant("ws", Access::Write)];
    spec.limits.time = Duration::from_mins(2);
    spec.limits.grace = Duration::ZERO;
    spec.limits.written_bytes = MOST_BYTES;
    spec.limits.written_entries = MOST_ENTRIES;
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

fn ends_with(how: How, name: &str, spec: Spec) {
    let (ended, output, error) = ran(spec);
    assert_eq!(ended.expect("it starts").how, how, "{name}: {output}{error}");
}

#[test]
fn a_granted_folder_can_not_be_filled() {
    // Attacks sandbox-A23, sandbox-E09.
    for (name, written, payload) in [
        ("bytes", BYTES_ENDED, BYTES.to_owned()),
        ("entries", ENTRIES_ENDED, ENTRIES.to_owned()),
        // Room that was never written to.
        (
            "allocated",
            BYTES_ENDED,
            "
fd = os.open('f', os.O_CREAT | os.O_WRONLY)
os.posix_fallocate(fd, 0, 16 << 20)"
                .to_owned(),
        ),
        // Below folders that were there.
        ("below", ENTRIES_ENDED, format!("os.mkdir('a')\nos.chdir('a')\n{ENTRIES}")),
        // Through a map of memory.
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
        ends_with(How::TooMuchWritten(written), name, greedy(&world, &payload));
    }
    // A private folder that stands in for a granted one lies on a disk too.
    let world = World::new();
    let mut spec = greedy(&world, BYTES);
    spec.files =
        vec![FileGrant { pattern: Some("*.md".to_owned()), ..world.grant("ws", Access::Write) }];
    ends_with(How::TooMuchWritten(BYTES_ENDED), "private", spec);
}

#[test]
fn a_granted_folder_can_not_be_filled_by_an_ordinary_user() {
    again_as_nobody("filling::a_granted_folder_can_not_be_filled");
}

#[test]
fn what_was_there_may_be_changed() {
    // More than the limit was there before, and is written anew: nothing is added.
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
    // Long enough for the watchdog to have looked.
    spec.limits.time = Duration::from_secs(3);
    ends_with(How::TimedOut(None), "changed", spec);
}

/// Not a test: run on a disk that nobody else writes to.
#[test]
#[ignore = "run by another test"]
fn a_closed_folder_is_filled() {
    // The run closes a folder behind itself and goes on inside. Root looks into it all the same; for everybody else what
    // the disk has lost counts.
    let world = World::new();
    let payload = format!(
        "
os.makedirs('a/b')
os.chdir('a/b')
os.chmod(WS + '/a', 0)
{BYTES}"
    );
    ends_with(How::TooMuchWritten(BYTES_ENDED), "closed", greedy(&world, &payload));
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o700);
    fs::set_permissions(world.path("ws/a"), open).expect("it is ours");
}

#[test]
fn folders_that_are_closed_hide_nothing() {
    for user in ["0", "65534"] {
        let mount = "mount -t tmpfs -o size=512m,mode=1777 tmpfs /tmp";
        in_a_world_of_mounts(mount, user, "filling::a_closed_folder_is_filled");
    }
}

/// Not a test: run on a disk of 64 MiB.
#[test]
#[ignore = "run by another test"]
fn a_small_disk_is_not_filled() {
    let world = World::new();
    // Deleted at once, so that no walk finds it.
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
    ends_with(How::TooMuchWritten(Written::Disk), "deleted", spec);
}

#[test]
fn deleted_files_do_not_fill_the_disk() {
    let mount = "mount -t tmpfs -o size=64m,mode=1777 tmpfs /tmp";
    for user in ["0", "65534"] {
        in_a_world_of_mounts(mount, user, "filling::a_small_disk_is_not_filled");
    }
}
