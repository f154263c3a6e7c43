//! Everything above for an ordinary user, if the tests run as root.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use crate::world::is_root;

const NOBODY: u32 = 65534;

#[test]
fn ordinary_users_can_do_the_same() {
    if !is_root() {
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).expect("ours");
    // A copy, because the user may not reach the original.
    let program = folder.path().join("tests");
    std::fs::copy(std::env::current_exe().expect("this is a program"), &program).expect("copied");
    let output = Command::new(&program)
        // One at a time: a process that another test starts would inherit the locks of this one.
        .args(["--test-threads", "1"])
        .env("TMPDIR", folder.path())
        .current_dir(folder.path())
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .expect("it starts");
    assert!(
        output.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
