//! Granted files: patterns, folders that are made, and what stays behind on the host.

use std::fs;
use std::os::unix::fs::symlink;

use prowess_sandbox::{Access, Error, FileGrant, How, Input, Prepared, Spec};

use crate::attacks::again_as_nobody;
use crate::world::{Kept, World, ran};

impl World {
    fn matching(&self, name: &str, access: Access, pattern: &str) -> FileGrant {
        FileGrant { pattern: Some(pattern.to_owned()), ..self.grant(name, access) }
    }

    /// Files below the root, with their folders.
    fn files(&self, names: &[&str]) {
        for name in names {
            let path = self.path(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            fs::write(path, format!("text of {name}")).expect("a file");
        }
    }
}

/// Prints what is below a folder, with the beginnings of files.
const LOOK: &str = r#"
def look(top):
    for folder, folders, names in sorted(os.walk(top)):
        for name in sorted(names + [name for name in folders if os.path.islink(folder + "/" + name)]):
            path = folder + "/" + name
            attempt(os.path.relpath(path, top), lambda: read(path))
"#;

fn look(world: &World, payload: &str, files: Vec<FileGrant>) -> Spec {
    let root = world.path("");
    let mut spec =
        world.python(&format!("ROOT = {:?}\n{LOOK}\n{payload}", root.display().to_string()));
    spec.files = files;
    spec
}

/// What a program that can do so little prints, after a good end.
fn prints(spec: Spec) -> String {
    let (ended, output, error) = ran(spec);
    assert_eq!(ended.expect("it starts").how, How::Exited(0), "{output}{error}");
    output
}

#[test]
fn a_read_pattern_shows_matching_files_only() {
    // Attack A14, GAIA-3.2-1.
    let world = World::new();
    world.files(&["data/a.csv", "data/.b.csv", "data/b.json", "data/sub/c.csv", "data/x.csv/d"]);
    symlink(world.path("sec/k"), world.path("data/link.csv")).expect("a link");
    symlink(world.path("sec"), world.path("data/folder")).expect("a link");
    let show = |pattern| {
        let grant = world.matching("data", Access::Read, pattern);
        prints(look(&world, "look(ROOT + '/data')", vec![grant]))
    };
    assert_eq!(
        show("*.csv"),
        ".b.csv: done 'text of data/.b.csv'\na.csv: done 'text of data/a.csv'\n"
    );
    assert_eq!(show("sub/*"), "sub/c.csv: done 'text of data/sub/c.csv'\n");
    assert_eq!(show("**/c.csv"), "sub/c.csv: done 'text of data/sub/c.csv'\n");
    // The folder has a name even when nothing in it has.
    assert_eq!(show("*.none"), "");
    let grant = world.matching("data", Access::Read, "*.none");
    let mut spec =
        look(&world, "print(os.getcwd() == ROOT + '/data', os.listdir('.'))", vec![grant]);
    spec.working_directory = world.path("data");
    assert_eq!(prints(spec), "True []\n");
    let grant = world.matching("data", Access::Read, "*.csv");
    let payload = "
attempt('change', lambda: write(ROOT + '/data/a.csv'))
try:
    os.unlink(ROOT + '/data/a.csv')
except OSError as error:
    # Which wall comes first depends on who owns the folder.
    print('delete:', errno.errorcode[error.errno] in ('EACCES', 'EBUSY', 'EROFS'))
attempt('beside', lambda: read(ROOT + '/data/b.json'))
attempt('secret', lambda: read(ROOT + '/data/folder/k'))
attempt('up', lambda: os.listdir(ROOT))";
    assert_eq!(
        prints(look(&world, payload, vec![grant])),
        "change: EROFS\ndelete: True\nbeside: ENOENT\nsecret: ENOENT\nup: done ['data']\n"
    );
}

#[test]
fn a_read_pattern_is_a_snapshot() {
    // Attack A14: what comes later is not there.
    let world = World::new();
    world.files(&["data/a.csv"]);
    let grant = world.matching("data", Access::Read, "*.csv");
    let mut spec = look(&world, "look(ROOT + '/data')", vec![grant]);
    let arguments = std::mem::take(&mut spec.arguments);
    let prepared = Prepared::new(spec).expect("the walls stand");
    world.files(&["data/c.csv"]);
    let sandbox = prepared.start(&arguments, &[], Input::Empty).expect("it starts");
    let mut kept = Kept::default();
    sandbox.wait(&mut kept).expect("it ends");
    assert_eq!(kept.output.finish().text, "a.csv: done 'text of data/a.csv'\n");
}

#[test]
fn a_pattern_inside_a_wider_grant_protects_what_it_matches() {
    let world = World::new();
    world.files(&["ws/a.lock", "ws/b"]);
    let before = world.tree();
    let payload = "
attempt('locked', lambda: write(ROOT + '/ws/a.lock'))
attempt('other', lambda: write(ROOT + '/ws/b'))";
    // Whichever is granted first.
    for turn in [false, true] {
        let mut grants =
            vec![world.matching("ws", Access::Read, "*.lock"), world.grant("ws", Access::Write)];
        if turn {
            grants.reverse();
        }
        assert_eq!(prints(look(&world, payload, grants)), "locked: EROFS\nother: done\n");
        let grants =
            vec![world.matching("ws", Access::Read, "*.none"), world.grant("", Access::Read)];
        assert_eq!(prints(look(&world, payload, grants)), "locked: EROFS\nother: EROFS\n");
    }
    assert_eq!(world.tree(), before);
}

#[test]
fn patterns_that_can_not_be_honoured_are_refused() {
    let world = World::new();
    world.files(&["data/a.csv"]);
    symlink(world.path("data"), world.path("link")).expect("a link");
    for (name, pattern) in [
        ("data", "../*"),
        ("data", "/etc/*"),
        ("data", "[a-z]*"),
        ("data", ""),
        ("data/a.csv", "*"),
        ("link", "*"),
    ] {
        for access in [Access::Read, Access::Write] {
            let spec = look(&world, "print('ran')", vec![world.matching(name, access, pattern)]);
            let (ended, output, _) = ran(spec);
            assert!(matches!(ended, Err(Error::Grant { .. })), "{name} {pattern}: {ended:?}");
            assert_eq!(output, "");
        }
    }
}

#[test]
fn a_pattern_that_matches_too_much_is_refused() {
    let world = World::new();
    fs::create_dir(world.path("many")).expect("a folder");
    for number in 0..=4096 {
        fs::write(world.path("many").join(number.to_string()), "").expect("a file");
    }
    for access in [Access::Read, Access::Write] {
        let spec = look(&world, "print('ran')", vec![world.matching("many", access, "*")]);
        let (ended, output, _) = ran(spec);
        assert!(matches!(ended, Err(Error::TooLarge { most: 4096, .. })), "{ended:?}");
        assert_eq!(output, "");
    }
    let grant = world.matching("many", Access::Read, "40*");
    let spec = look(&world, "print(len(os.listdir(ROOT + '/many')))", vec![grant]);
    assert_eq!(prints(spec), "108\n");
}

/// The ways in which root and others build the walls differ, so everything here is tried as somebody else too.
#[test]
fn the_same_as_an_ordinary_user() {
    for test in [
        "a_read_pattern_shows_matching_files_only",
        "a_read_pattern_is_a_snapshot",
        "a_pattern_inside_a_wider_grant_protects_what_it_matches",
        "patterns_that_can_not_be_honoured_are_refused",
        "a_pattern_that_matches_too_much_is_refused",
    ] {
        again_as_nobody(&format!("files::{test}"));
    }
}
