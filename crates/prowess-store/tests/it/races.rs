//! Others who are at the same store, and others who want to be elsewhere.

use std::fs;
use std::io::Cursor;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use prowess_package::limits::PackageLimits;
use prowess_package::unpack::UnpackOptions;
use prowess_store::commit::StoreChanges;
use prowess_store::store::Store;
use prowess_testkit::archives::{MANIFEST, TarEntry, file, gz, tar, tar_gz};
use prowess_testkit::{listing, temporary};

const OPTIONS: UnpackOptions<'static> =
    UnpackOptions { limits: PackageLimits::PACKAGE, name: None };

fn removal(name: &str) -> StoreChanges {
    StoreChanges { install: Vec::new(), remove: vec![name.parse().unwrap()], lock_file: None }
}

/// Attack registry-B14: a folder that is swapped for a link while files are written into it.
#[test]
fn a_swapped_folder_does_not_lead_outside() {
    let home = temporary();
    let outside = home.path().join("outside");
    fs::create_dir(&outside).unwrap();
    let store = Store::open(&home.path().join("store")).unwrap();
    let staging = home.path().join("store/staging");
    // Every other file is in another folder, so that folders are opened again and again.
    let files: Vec<TarEntry> = (0..60)
        .map(|number| file(&format!("{}/f{number}", ["a", "b"][number % 2]), b"x"))
        .collect();
    let archive = tar_gz(&files);
    let is_over = AtomicBool::new(false);
    let (mut swapped, mut refused) = (0, 0);
    thread::scope(|scope| {
        let attacker = scope.spawn(|| {
            let mut swapped = 0;
            while !is_over.load(Ordering::Relaxed) {
                for stage in fs::read_dir(&staging).into_iter().flatten().flatten() {
                    let folder = stage.path().join("skill-1/a");
                    let aside = stage.path().join("skill-1/aside");
                    if fs::rename(&folder, &aside).is_ok() && symlink(&outside, &folder).is_ok() {
                        swapped += 1;
                    }
                }
            }
            swapped
        });
        // Until the attacker has won the race a few times. It wins within some tries, since it does nothing else.
        while refused < 3 {
            let mut stage = store.stage().unwrap();
            refused += usize::from(stage.unpack(Cursor::new(&archive), &OPTIONS).is_err());
        }
        is_over.store(true, Ordering::Relaxed);
        swapped = attacker.join().unwrap();
    });
    assert!(swapped > 0);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "nothing was written outside");
}

/// Attack registry-B13: what is removed is what the name says. A link in its place is removed, and not what it leads to.
#[test]
fn removing_never_leaves_the_store() {
    let home = temporary();
    let outside = home.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("precious"), "kept").unwrap();
    let before = listing(&outside);
    let store = Store::open(&home.path().join("store")).unwrap();
    drop(store.lock().unwrap());
    symlink(&outside, home.path().join("store/skills/linked")).unwrap();
    fs::create_dir(home.path().join("store/skills/holder")).unwrap();
    symlink(&outside, home.path().join("store/skills/holder/linked")).unwrap();
    for name in ["linked", "holder", "never-there"] {
        let stage = store.stage().unwrap();
        store.lock().unwrap().commit(stage, &removal(name)).unwrap();
        assert!(home.path().join("store/skills").join(name).symlink_metadata().is_err());
    }
    assert_eq!(listing(&outside), before);
    // NEG-1: there is no other way to name anything.
    for name in ["../outside", "/etc", "..", "", "a/b"] {
        assert!(name.parse::<prowess_package::name::SkillName>().is_err(), "{name}");
    }
}

/// An installation over a link replaces the link and writes nothing where it leads.
#[test]
fn installing_over_a_link_replaces_the_link() {
    let home = temporary();
    let outside = home.path().join("outside");
    fs::create_dir(&outside).unwrap();
    let store = Store::open(&home.path().join("store")).unwrap();
    drop(store.lock().unwrap());
    let place = home.path().join("store/skills/demo");
    symlink(&outside, &place).unwrap();
    let mut stage = store.stage().unwrap();
    let skill = stage.unpack(Cursor::new(tar_gz(&[])), &OPTIONS).unwrap();
    let changes = StoreChanges { install: vec![skill], remove: Vec::new(), lock_file: None };
    store.lock().unwrap().commit(stage, &changes).unwrap();
    assert!(place.symlink_metadata().unwrap().is_dir());
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
}

/// A store below a folder that is a link in place of `skills` is not opened.
#[test]
fn a_linked_skills_folder_is_refused() {
    let home = temporary();
    fs::create_dir_all(home.path().join("elsewhere")).unwrap();
    fs::create_dir_all(home.path().join("store")).unwrap();
    symlink(home.path().join("elsewhere"), home.path().join("store/skills")).unwrap();
    assert!(Store::open(&home.path().join("store")).is_err());
}

/// Many writers at once: each change is whole, and the last one of each skill is there.
#[test]
fn many_writers_take_turns() {
    let home = temporary();
    let path = home.path().join("store");
    let install = |path: &Path, writer: usize, round: usize| {
        let store = Store::open(path).unwrap();
        let manifest =
            String::from_utf8_lossy(MANIFEST).replace("1.2.0", &format!("{writer}.{round}.0"));
        let same = format!("{writer} {round}");
        let archive = gz(&tar(&[
            file("SKILL.md", manifest.as_bytes()),
            file("a", same.as_bytes()),
            file("b/c", same.as_bytes()),
        ]));
        let mut stage = store.stage().unwrap();
        let skill = stage.unpack(Cursor::new(archive), &OPTIONS).unwrap();
        let changes = StoreChanges {
            install: vec![skill],
            remove: Vec::new(),
            lock_file: Some(same.into_bytes()),
        };
        let locked = store.lock().unwrap();
        locked.commit(stage, &changes).unwrap();
        assert_eq!(locked.recovered_changes(), 0, "nobody was killed");
    };
    thread::scope(|scope| {
        for writer in 0..4 {
            let (path, install) = (&path, &install);
            scope.spawn(move || (0..10).for_each(|round| install(path, writer, round)));
        }
    });
    let store = Store::open(&path).unwrap();
    let name = "demo".parse().unwrap();
    let read = |file: &str| fs::read_to_string(store.skill_path(&name).join(file)).unwrap();
    assert_eq!(read("a"), read("b/c"));
    let locked = store.lock().unwrap();
    assert_eq!(
        locked.lock_file(1_000).unwrap().unwrap(),
        read("a").as_bytes(),
        "lock file and skill agree"
    );
    assert_eq!(store.installed().unwrap(), [name]);
    assert_eq!(fs::read_dir(path.join("staging")).unwrap().count(), 0);
}

/// A change that is being prepared is not swept by another writer, however long it takes; one that was dropped is gone.
#[test]
fn only_the_dead_are_swept() {
    let home = temporary();
    let store = Store::open(home.path()).unwrap();
    let mut stage = store.stage().unwrap();
    let skill = stage.unpack(Cursor::new(tar_gz(&[])), &OPTIONS).unwrap();
    // Another writer, as another process sees the store. What a dead process has left has no owner.
    fs::create_dir(home.path().join("staging/4242-0")).unwrap();
    fs::write(home.path().join("staging/4242-0/half"), "x").unwrap();
    let other = Store::open(home.path()).unwrap();
    let locked = other.lock().unwrap();
    assert!(store.try_lock().unwrap().is_none(), "one writer at a time");
    assert!(!home.path().join("staging/4242-0").exists());
    drop(locked);
    let changes = StoreChanges { install: vec![skill], remove: Vec::new(), lock_file: None };
    store.lock().unwrap().commit(stage, &changes).unwrap();
    assert_eq!(store.installed().unwrap().len(), 1);
    let dropped = store.stage().unwrap();
    assert_eq!(fs::read_dir(home.path().join("staging")).unwrap().count(), 1);
    drop(dropped);
    assert_eq!(fs::read_dir(home.path().join("staging")).unwrap().count(), 0);
}
