//! Private files and folders.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

use prowess_files::private::{is_private, private_folder};
use prowess_testkit::temporary;

#[test]
fn private_files_are_inaccessible_to_others() {
    let folder = temporary();
    let path = folder.path().join("key");
    fs::write(&path, "secret").expect("written");
    for (mode, expected) in [
        (0o600, true),
        (0o400, true),
        (0o700, true),
        (0o640, false),
        (0o604, false),
        (0o620, false),
        (0o601, false),
    ] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).expect("set");
        let data = fs::metadata(&path).expect("there");
        assert_eq!(is_private(&data), expected, "{mode:o}");
    }
}

#[test]
fn missing_folders_are_created_private_and_existing_ones_keep_their_mode() {
    let home = temporary();
    let known = home.path().join("known");
    fs::create_dir(&known).expect("made");
    fs::set_permissions(&known, Permissions::from_mode(0o755)).expect("set");
    for _ in 0..2 {
        private_folder(&known.join("new/newer")).expect("made, or there");
        for (path, expected) in [("known", 0o755), ("known/new", 0o700), ("known/new/newer", 0o700)]
        {
            let data = fs::metadata(home.path().join(path)).expect("there");
            assert_eq!(data.permissions().mode() & 0o777, expected, "{path}");
        }
    }
}
