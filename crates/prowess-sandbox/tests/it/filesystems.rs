//! The walls on filesystems that are not the usual ones (attack sandbox-A29).

use std::fs;
use std::path::{Path, PathBuf};

use prowess_sandbox::{Access, Error, FileGrant, How};

use crate::attacks::{files, in_a_world_of_mounts, in_a_world_of_mounts_until};
use crate::world::{World, ran};

#[test]
fn the_walls_hold_on_other_filesystems() {
    // Attack sandbox-A29.
    let memory = "mount -t tmpfs -o mode=1777 tmpfs /tmp";
    let layers = "mkdir lower upper work
chmod 1777 lower upper
mount -t tmpfs tmpfs work
mkdir work/upper work/work
chmod 1777 work/upper
mount -t overlay -o lowerdir=lower,upperdir=work/upper,workdir=work/work overlay /tmp";
    for (mount, user) in [(memory, "0"), (memory, "65534"), (layers, "65534")] {
        in_a_world_of_mounts(mount, user, "attacks::from_inside_as_this_user");
    }
    // Id-mapped mounts are not supported there, and without them programs would need root's capabilities.
    in_a_world_of_mounts(layers, "0", "filesystems::nothing_can_be_written_here");
}

/// Not a test: run where `PLACE` is a filesystem that some process makes up, with a file and a script.
#[test]
#[ignore = "run by another test"]
fn a_made_up_filesystem_is_granted() {
    let place = PathBuf::from(std::env::var("PLACE").expect("the other test sets it"));
    let world = World::new();
    let try_with = |path: &Path, access| {
        let mut spec = world.python(&format!(
            r#"
PLACE = {:?}
attempt("list", lambda: sorted(os.listdir(PLACE)))
attempt("read", lambda: read(PLACE + "/a"))
attempt("beside", lambda: len(read(PLACE + "/script")))
attempt("write", lambda: write(PLACE + "/a", "new"))
attempt("execute", lambda: os.execv(PLACE + "/script", ["x"]))
attempt("up", lambda: read(PLACE + "/../tests"))
attempt("secret", lambda: read(SEC + "/k"))
"#,
            place.display().to_string()
        ));
        // The interpreter of the script is there, so that only the walls keep it from running.
        spec.programs = vec!["/bin/sh".into()];
        spec.files =
            vec![FileGrant { path: path.to_owned(), access, pattern: None, create: false }];
        let (ended, output, error) = ran(spec);
        ended.map(|ended| (ended.how, output + &error))
    };
    let said = |text: &str| (How::Exited(0), text.to_owned());
    let read = try_with(&place, Access::Read).expect("it starts");
    assert_eq!(
        read,
        said(
            "list: done ['a', 'script']\nread: done 'data'\nbeside: done 19\nwrite: EROFS\nexecute: EACCES\nup: ENOENT\nsecret: ENOENT\n"
        )
    );
    let one = try_with(&place.join("a"), Access::Read).expect("it starts");
    assert_eq!(
        one,
        said(
            "list: done ['a']\nread: done 'data'\nbeside: ENOENT\nwrite: EROFS\nexecute: ENOENT\nup: ENOENT\nsecret: ENOENT\n"
        )
    );
    assert_eq!(fs::read_to_string(place.join("a")).expect("it is there"), "data");
    match try_with(&place, Access::Write) {
        Ok(written) => assert_eq!(
            written,
            said(
                "list: done ['a', 'script']\nread: done 'data'\nbeside: done 19\nwrite: done\nexecute: EACCES\nup: ENOENT\nsecret: ENOENT\n"
            )
        ),
        // Id-mapped mounts are not supported there.
        Err(Error::Unenforceable { cause, .. }) => {
            assert!(cause.contains("does not support id-mapped mounts"), "{cause}");
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn the_walls_hold_on_a_filesystem_of_a_process() {
    // Attack sandbox-A29: FUSE.
    let mount = format!(
        "mkdir place
exec 9<>/dev/fuse
python3 -I {}/tests/it/fuse.py 9 > /dev/null 2>&1 &
mount -t fuse -o fd=9,rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions fuse place
exec 9>&-
export PLACE=$PWD/place",
        env!("CARGO_MANIFEST_DIR")
    );
    for user in ["0", "65534"] {
        let test = "filesystems::a_made_up_filesystem_is_granted";
        in_a_world_of_mounts_until(&mount, user, test, "umount place");
    }
}

/// Not a test: run where id-mapped mounts are not supported.
#[test]
#[ignore = "run by another test"]
fn nothing_can_be_written_here() {
    let world = World::new();
    let (ended, output, _) = ran(files(&world, "print('ran')"));
    assert!(
        matches!(&ended, Err(Error::Unenforceable { cause, .. }) if cause.contains("does not support id-mapped mounts")),
        "{ended:?}"
    );
    assert_eq!(output, "");
}
