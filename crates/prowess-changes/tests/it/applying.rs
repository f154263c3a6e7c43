//! Applying gives what running directly would have given, and undoing gives back what was there.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use prowess_changes::{Durability, RunStatus};

use crate::world::{World, apply, changes, set_mode, tree_of, write};

/// One operation of a program. Errors are ignored, as many programs do.
#[derive(Clone, Debug)]
enum Step {
    Write(usize, u8),
    Append(usize, u8),
    Remove(usize),
    RemoveAll(usize),
    Folder(usize),
    Rename(usize, usize),
    Mode(usize, u32),
    Link(usize, u8),
    HardLink(usize, usize),
    Touch(usize, u32),
    Exchange(usize),
}

const PATHS: &[&str] = &[
    "a", "b", "d", "d/a", "d/b", "d/e", "d/e/a", "d/e/f", "d/e/f/g", "h", "h/a", "h/i", "h/i/j",
    "a/k", "l m",
];

fn perform(step: &Step, top: &Path) {
    let path = |index: usize| top.join(PATHS[index % PATHS.len()]);
    let _ = match *step {
        Step::Write(at, byte) => fs::write(path(at), vec![byte; usize::from(byte)]),
        Step::Append(at, byte) => {
            use std::io::Write as _;
            let file = fs::OpenOptions::new().append(true).open(path(at));
            file.and_then(|mut file| file.write_all(&[byte]))
        }
        Step::Remove(at) => fs::remove_file(path(at)).or_else(|_| fs::remove_dir(path(at))),
        Step::RemoveAll(at) => fs::remove_dir_all(path(at)),
        Step::Folder(at) => fs::create_dir(path(at)),
        // Folders of the lower layer can't be renamed in an overlay, so programs copy them.
        Step::Rename(from, to) if path(from).is_dir() || path(to).is_dir() => Ok(()),
        Step::Rename(from, to) => fs::rename(path(from), path(to)),
        Step::Mode(at, mode) if !path(at).is_symlink() && path(at).exists() => {
            // The owner keeps access, so that later steps do the same for root and others.
            set_mode(&path(at), mode | if path(at).is_dir() { 0o700 } else { 0o600 });
            Ok(())
        }
        Step::Mode(..) => Ok(()),
        Step::Link(at, target) => symlink(format!("target-{target}"), path(at)),
        Step::HardLink(from, to) if path(from).is_file() && !path(from).is_symlink() => {
            fs::hard_link(path(from), path(to))
        }
        Step::HardLink(..) => Ok(()),
        Step::Touch(at, seconds) if path(at).is_file() && !path(at).is_symlink() => {
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds.into());
            let file = fs::File::options().write(true).open(path(at));
            file.and_then(|file| file.set_modified(time))
        }
        Step::Touch(..) => Ok(()),
        Step::Exchange(at) => {
            let (old, new) = (path(at), path(at).with_extension("new"));
            fs::write(&new, b"exchanged").and_then(|()| {
                if old.is_dir() { fs::remove_file(&new) } else { fs::rename(&new, &old) }
            })
        }
    };
}

fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let at = || 0..PATHS.len();
    let step = prop_oneof![
        4 => (at(), any::<u8>()).prop_map(|(at, byte)| Step::Write(at, byte)),
        2 => (at(), any::<u8>()).prop_map(|(at, byte)| Step::Append(at, byte)),
        2 => at().prop_map(Step::Remove),
        1 => at().prop_map(Step::RemoveAll),
        3 => at().prop_map(Step::Folder),
        2 => (at(), at()).prop_map(|(from, to)| Step::Rename(from, to)),
        1 => (at(), prop_oneof![Just(0o755), Just(0o640), Just(0o700)]).prop_map(|(at, mode)| Step::Mode(at, mode)),
        1 => (at(), any::<u8>()).prop_map(|(at, target)| Step::Link(at, target)),
        1 => (at(), at()).prop_map(|(from, to)| Step::HardLink(from, to)),
        1 => (at(), 0_u32..1_000_000).prop_map(|(at, seconds)| Step::Touch(at, seconds)),
        1 => at().prop_map(Step::Exchange),
    ];
    prop::collection::vec(step, 0..most)
}

fn copy(from: &Path, to: &Path) {
    let status = std::process::Command::new("cp")
        .arg("-a")
        .arg(format!("{}/.", from.display()))
        .arg(to)
        .status();
    assert!(status.expect("cp starts").success());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// What is applied is what the program would have done, and undoing gives back what was there.
    #[test]
    fn random_programs_do_the_same_through_a_transaction(before in steps(25), program in steps(60)) {
        let world = World::new();
        for step in before.iter().filter(|step| !matches!(step, Step::HardLink(..))) {
            perform(step, &world.target());
        }
        let direct = world.path("elsewhere");
        copy(&world.target(), &direct);
        let original = world.tree();
        let run = world.run(|mount| program.iter().for_each(|step| perform(step, mount)));
        crate::world::in_child(|| program.iter().for_each(|step| perform(step, &direct)));
        prop_assert_eq!(&world.tree(), &original, "nothing is written before it was accepted");
        let set = changes(&run);
        prop_assert_eq!(&set.conflicts, &[]);
        run.apply(&set, Durability::Deferred).expect("applied");
        prop_assert_eq!(world.tree(), tree_of(&direct));
        let listed = run.read_applied(prowess_changes::Limits::default()).expect("read");
        let sorted = |changes: &[prowess_changes::Change]| {
            let mut all = crate::world::shown(changes);
            all.sort();
            all
        };
        prop_assert_eq!(sorted(&listed.changes), sorted(&set.changes));
        run.undo().expect("undone");
        prop_assert_eq!(world.tree(), original);
        prop_assert_eq!(run.status(), RunStatus::Undone);
    }
}

#[test]
fn closed_folders_are_applied_and_undone_with_their_permissions() {
    let world = World::new();
    world.file("shut/file", "old");
    world.file("shut/gone", "old");
    world.file("sub/open/file", "x");
    world.file("whole/file", "x");
    set_mode(&world.target().join("shut"), 0o555);
    set_mode(&world.target().join("whole"), 0o555);
    let before = world.tree();
    let run = world.run(|mount| {
        // It opens the folder and closes it again.
        set_mode(&mount.join("shut"), 0o755);
        write(&mount.join("shut/file"), "new");
        fs::remove_file(mount.join("shut/gone")).expect("removed");
        set_mode(&mount.join("shut"), 0o555);
        // It closes others.
        write(&mount.join("sub/open/other"), "new");
        set_mode(&mount.join("sub/open"), 0o000);
        set_mode(&mount.join("sub"), 0o500);
        write(&mount.join("new/inner/file"), "x");
        set_mode(&mount.join("new/inner"), 0o000);
        set_mode(&mount.join("new"), 0o500);
        set_mode(&mount.join("whole"), 0o755);
        fs::remove_dir_all(mount.join("whole")).expect("removed");
    });
    let mode = |name: &str| {
        let path = world.target().join(name);
        let data = fs::symlink_metadata(path).expect("there");
        std::os::unix::fs::MetadataExt::mode(&data) & 0o7777
    };
    // Reading changes nothing, so that it can be done again.
    assert_eq!(changes(&run).changes, changes(&run).changes);
    apply(&run);
    assert_eq!((mode("shut"), mode("sub"), mode("new")), (0o555, 0o500, 0o500));
    assert_eq!(world.read("shut/file"), "new");
    let after = world.tree();
    assert_eq!(after[&PathBuf::from("sub/open")], "folder 0");
    assert_eq!(after[&PathBuf::from("new/inner")], "folder 0");
    assert!(!after.contains_key(&PathBuf::from("whole")));
    run.undo().expect("undone");
    assert_eq!(world.tree(), before);
}

#[test]
fn permissions_change_in_place() {
    let world = World::new();
    world.file("tool", "x");
    fs::hard_link(world.target().join("tool"), world.path("elsewhere/other-name")).expect("linked");
    let run = world.run(|mount| set_mode(&mount.join("tool"), 0o755));
    apply(&run);
    let inode =
        |path: PathBuf| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).expect("there"));
    assert_eq!(inode(world.target().join("tool")), inode(world.path("elsewhere/other-name")));
    run.undo().expect("undone");
    assert_eq!(world.tree()[&PathBuf::from("tool")], "file 644  x");
}

#[test]
fn a_folder_that_was_made_for_the_run_goes_with_it() {
    let world = World::new();
    let made = world.target().join("made");
    fs::create_dir(&made).expect("made");
    let mut run = prowess_changes::RunFolder::create(&world.home(), "made").expect("created");
    run.add_layer(&made, true).expect("a layer");
    run.mark_start().expect("marked");
    assert!(changes(&run).is_empty());
    run.remove().expect("removed");
    assert!(!made.exists());
    assert_eq!(fs::read_dir(world.home()).expect("there").count(), 0);
}
