//! Applying gives what running directly would have given, and undoing gives back what was there.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use prowess_changes::{Durability, RunFolder, RunStatus, faults, recover};

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
    Truncate(usize, u16),
    Hole(usize, u16),
    Attribute(usize, u8),
    Swap(usize, usize),
    Pour(usize, usize),
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
        Step::Truncate(at, length) if is_file(&path(at)) => {
            let file = fs::OpenOptions::new().write(true).open(path(at));
            file.and_then(|file| file.set_len(u64::from(length)))
        }
        Step::Hole(at, offset) if is_file(&path(at)) => {
            use std::os::unix::fs::FileExt as _;
            let file = fs::OpenOptions::new().write(true).open(path(at));
            file.and_then(|file| file.write_all_at(b"end", u64::from(offset) * 64))
        }
        Step::Attribute(at, value) if is_file(&path(at)) => {
            let path = path(at);
            rustix::fs::setxattr(&path, "user.test", &[value], rustix::fs::XattrFlags::empty())
                .map_err(Into::into)
        }
        Step::Truncate(..) | Step::Hole(..) | Step::Attribute(..) => Ok(()),
        Step::Swap(one, other) if is_file(&path(one)) && is_file(&path(other)) => {
            let flags = rustix::fs::RenameFlags::EXCHANGE;
            rustix::fs::renameat_with(
                rustix::fs::CWD,
                path(one),
                rustix::fs::CWD,
                path(other),
                flags,
            )
            .map_err(Into::into)
        }
        Step::Swap(..) => Ok(()),
        // As `mv` of a folder that was there before: everything is copied, then removed.
        Step::Pour(from, to) if path(from).is_dir() && !path(from).is_symlink() => {
            let (from, to) = (path(from), path(to));
            if to.starts_with(&from) { Ok(()) } else { pour(&from, &to) }
        }
        Step::Pour(..) => Ok(()),
    };
}

fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.is_file())
}

fn pour(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (old, new) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_dir() {
            pour(&old, &new)?;
        } else if kind.is_symlink() {
            symlink(fs::read_link(&old)?, &new)?;
            fs::remove_file(&old)?;
        } else {
            fs::rename(&old, &new)?;
        }
    }
    fs::remove_dir(from)
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
        1 => (at(), any::<u16>()).prop_map(|(at, length)| Step::Truncate(at, length)),
        1 => (at(), any::<u16>()).prop_map(|(at, offset)| Step::Hole(at, offset)),
        1 => (at(), any::<u8>()).prop_map(|(at, value)| Step::Attribute(at, value)),
        1 => (at(), at()).prop_map(|(one, other)| Step::Swap(one, other)),
        1 => (at(), at()).prop_map(|(from, to)| Step::Pour(from, to)),
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

/// The number of random programs: more with `PROWESS_CHANGES_CASES`, for a long run.
pub(crate) fn cases(usual: u32) -> ProptestConfig {
    let wished = std::env::var("PROWESS_CHANGES_CASES").ok().and_then(|text| text.parse().ok());
    let cases = wished.unwrap_or(usual);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// No file of the user's folder has another name anywhere that the run has made.
fn nothing_is_shared(top: &Path) -> bool {
    tree_of(top).keys().all(|path| {
        let data = fs::symlink_metadata(top.join(path)).expect("there");
        data.is_dir() || data.is_symlink() || std::os::unix::fs::MetadataExt::nlink(&data) == 1
    })
}

proptest! {
    #![proptest_config(cases(60))]

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
        prop_assert!(nothing_is_shared(&world.target()));
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

proptest! {
    #![proptest_config(cases(24))]

    /// A kill at any moment of applying and of undoing any program leaves everything or nothing.
    #[test]
    fn random_programs_survive_a_kill_at_any_step(
        before in steps(20),
        program in steps(30),
        moment in any::<prop::sample::Index>(),
        second in any::<prop::sample::Index>(),
    ) {
        let world = World::new();
        for step in before.iter().filter(|step| !matches!(step, Step::HardLink(..))) {
            perform(step, &world.target());
        }
        let direct = world.path("elsewhere");
        copy(&world.target(), &direct);
        let original = world.tree();
        let run = world.run(|mount| program.iter().for_each(|step| perform(step, mount)));
        crate::world::in_child(|| program.iter().for_each(|step| perform(step, &direct)));
        let after = tree_of(&direct);
        let (home, id) = (world.home(), run.id().to_owned());
        drop(run);
        let kill = |step: usize, work: &dyn Fn(&RunFolder)| {
            crate::world::status_of_child(|| {
                let run = RunFolder::open(&home, &id).expect("opened").expect("it is there");
                faults::with(Some(step), || work(&run));
            });
            // Whoever recovers may be killed as well.
            crate::world::status_of_child(|| {
                faults::with(Some(second.index(12)), || drop(recover(&home)));
            });
            let left = recover(&home);
            assert!(left.is_empty(), "{left:?}");
            let run = RunFolder::open(&home, &id).expect("opened").expect("it is there");
            let status = run.status();
            (run, status)
        };
        let (run, status) = kill(moment.index(3 * program.len() + 8), &|run| {
            let _ = run.apply(&changes(run), Durability::Deferred);
        });
        match status {
            RunStatus::Applied => prop_assert_eq!(&world.tree(), &after),
            RunStatus::Unfinished | RunStatus::Pending => {
                prop_assert_eq!(&world.tree(), &original);
                let set = changes(&run);
                run.apply(&set, Durability::Deferred).expect("applied");
                prop_assert_eq!(&world.tree(), &after);
            }
            RunStatus::Undone => prop_assert!(false, "nobody has undone it"),
        }
        drop(run);
        let (run, status) = kill(moment.index(2 * program.len() + 6), &|run| {
            let _ = run.undo();
        });
        match status {
            RunStatus::Undone => {}
            RunStatus::Applied => {
                prop_assert_eq!(&world.tree(), &after);
                run.undo().expect("undone");
            }
            other => prop_assert!(false, "{:?}", other),
        }
        prop_assert_eq!(world.tree(), original);
    }
}

#[test]
fn hard_links_become_files_of_their_own() {
    let world = World::new();
    world.file("a", "old");
    world.file("same", "same");
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1234);
    let run = world.run(|mount| {
        let path = |name: &str| mount.join(name);
        fs::hard_link(path("a"), path("b")).expect("linked");
        fs::write(path("b"), "new").expect("written");
        fs::hard_link(path("same"), path("twin")).expect("linked");
        fs::create_dir(path("d")).expect("made");
        fs::write(path("d/x"), "x").expect("written");
        let file = fs::File::options().write(true).open(path("d/x")).expect("opened");
        file.set_len(1 << 20).expect("a hole");
        file.set_modified(time).expect("set");
        set_mode(&path("d/x"), 0o700);
        for name in ["d/y", "z"] {
            fs::hard_link(path("d/x"), path(name)).expect("linked");
        }
    });
    apply(&run);
    assert!(nothing_is_shared(&world.target()));
    for name in ["d/x", "d/y", "z"] {
        let data = fs::metadata(world.target().join(name)).expect("there");
        let inner = |data: &fs::Metadata| std::os::unix::fs::MetadataExt::blocks(data) * 512;
        assert_eq!((data.len(), data.modified().expect("a time")), (1 << 20, time), "{name}");
        assert!(inner(&data) < 64 << 10, "the hole of {name} stays one");
    }
    assert_eq!((world.read("a").as_str(), world.read("b").as_str()), ("new", "new"));
    world.file("d/y", "other");
    assert!(world.read("d/x").starts_with('x'));
    fs::remove_file(world.target().join("d/y")).expect("removed");
    assert!(run.undo().is_err(), "others have changed it");
}

#[test]
fn many_names_of_a_large_file_count_each() {
    let world = World::new();
    let run = world.run(|mount| {
        fs::write(mount.join("0"), vec![1; 1 << 20]).expect("written");
        for number in 1..40 {
            fs::hard_link(mount.join("0"), mount.join(number.to_string())).expect("linked");
        }
    });
    let limits = |bytes| prowess_changes::Limits { bytes, ..prowess_changes::Limits::default() };
    assert!(matches!(run.read(limits(20 << 20)), Err(prowess_changes::ReadError::Bytes(_))));
    let set = run.read(limits(64 << 20)).expect("read");
    run.apply(&set, Durability::Deferred).expect("applied");
    run.undo().expect("undone");
    assert!(world.tree().is_empty());
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
