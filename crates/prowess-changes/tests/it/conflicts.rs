//! What others have changed is never overwritten.

use std::fs;
use std::os::unix::fs::symlink;

use prowess_changes::{ApplyError, ConflictReason, Durability, UndoError};

use crate::world::{World, apply, changes, set_mode, shown, write};

/// The conflicts of a run whose program and others both work, and that nothing was applied.
fn conflicts(
    before: &[&str],
    program: impl FnOnce(&std::path::Path),
    others: impl FnOnce(&std::path::Path),
) -> Vec<(String, ConflictReason)> {
    let world = World::new();
    for name in before {
        world.file(name, name);
    }
    let run = world.run(program);
    others(&world.target());
    let now = world.tree();
    let set = changes(&run);
    let result = run.apply(&set, Durability::Deferred);
    let found: Vec<_> =
        set.conflicts.iter().map(|it| (it.path.display().to_string(), it.reason)).collect();
    match result {
        Err(ApplyError::Conflicts(_)) => assert_eq!(world.tree(), now, "nothing was applied"),
        Ok(_) => assert_eq!(found, []),
        Err(error) => panic!("{error}"),
    }
    found
}

type Found = Vec<(String, ConflictReason)>;

#[test]
fn files_that_others_change_are_conflicts() {
    use ConflictReason::{Changed, Created, Deleted};
    let name = |name: &str, reason| vec![(name.to_owned(), reason)];
    let cases: Vec<(Found, Found)> = vec![
        (
            conflicts(
                &["a"],
                |it| write(&it.join("a"), "mine"),
                |it| write(&it.join("a"), "theirs"),
            ),
            name("a", Changed),
        ),
        (
            conflicts(
                &["a", "b"],
                |it| write(&it.join("a"), "mine"),
                |it| write(&it.join("b"), "theirs"),
            ),
            vec![],
        ),
        (
            conflicts(&[], |it| write(&it.join("a"), "mine"), |it| write(&it.join("a"), "theirs")),
            name("a", Changed),
        ),
        (
            conflicts(
                &[],
                |it| write(&it.join("d/a"), "mine"),
                |it| write(&it.join("d/b"), "theirs"),
            ),
            vec![("d".to_owned(), Created), ("d/b".to_owned(), Changed)],
        ),
        (
            conflicts(
                &["a"],
                |it| fs::remove_file(it.join("a")).expect("ours"),
                |it| write(&it.join("a"), "x"),
            ),
            name("a", Changed),
        ),
        (
            conflicts(
                &["a"],
                |it| write(&it.join("a"), "mine"),
                |it| fs::remove_file(it.join("a")).expect("ours"),
            ),
            name("a", Deleted),
        ),
        (
            conflicts(
                &["d/a"],
                |it| write(&it.join("d/a"), "mine"),
                |it| fs::remove_dir_all(it.join("d")).expect("ours"),
            ),
            name("d", Deleted),
        ),
        (
            conflicts(
                &["d/a"],
                |it| fs::remove_dir_all(it.join("d")).expect("ours"),
                |it| write(&it.join("d/b"), "x"),
            ),
            vec![("d".to_owned(), Changed), ("d/b".to_owned(), Changed)],
        ),
        (
            conflicts(&["a"], |it| set_mode(&it.join("a"), 0o755), |it| write(&it.join("a"), "a")),
            name("a", Changed),
        ),
        (
            // The program renamed it; nobody else did anything.
            conflicts(&["a"], |it| fs::rename(it.join("a"), it.join("b")).expect("ours"), |_| ()),
            vec![],
        ),
    ];
    for (number, (found, expected)) in cases.into_iter().enumerate() {
        assert_eq!(found, expected, "case {number}");
    }
}

#[test]
fn what_changes_between_reading_and_applying_is_rolled_back() {
    let world = World::new();
    for name in ["a", "b", "c"] {
        world.file(name, name);
    }
    let run = world.run(|mount| {
        write(&mount.join("a"), "mine");
        write(&mount.join("added"), "mine");
        fs::remove_file(mount.join("b")).expect("removed");
        write(&mount.join("c"), "mine");
    });
    let set = changes(&run);
    write(&world.target().join("c"), "theirs");
    let now = world.tree();
    assert!(matches!(run.apply(&set, Durability::Deferred), Err(ApplyError::Conflicts(_))));
    assert_eq!(world.tree(), now);
    // What is pending is read the same again.
    assert_eq!(shown(&changes(&run).changes), shown(&set.changes));
}

#[test]
fn a_folder_that_becomes_a_link_is_not_followed() {
    let world = World::new();
    world.file("d/a", "old");
    fs::write(world.path("elsewhere/a"), "secret").expect("written");
    let run = world.run(|mount| {
        write(&mount.join("d/a"), "mine");
        write(&mount.join("d/new"), "mine");
    });
    let set = changes(&run);
    fs::rename(world.target().join("d"), world.target().join("moved")).expect("renamed");
    symlink(world.path("elsewhere"), world.target().join("d")).expect("made");
    assert!(matches!(run.apply(&set, Durability::Deferred), Err(ApplyError::Conflicts(_))));
    assert_eq!(fs::read_to_string(world.path("elsewhere/a")).expect("there"), "secret");
    assert!(!world.path("elsewhere/new").exists());
    assert_eq!(world.read("moved/a"), "old");
}

#[test]
fn undoing_refuses_what_others_have_changed_since() {
    type Others = fn(&std::path::Path);
    let cases: [(&str, Others); 6] = [
        ("a", |it| write(&it.join("a"), "theirs")),
        ("b", |it| write(&it.join("b"), "theirs")),
        ("new", |it| write(&it.join("new/theirs"), "x")),
        ("new", |it| write(&it.join("new/inner/file"), "theirs")),
        ("new", |it| fs::remove_dir_all(it.join("new")).expect("ours")),
        ("mode", |it| set_mode(&it.join("mode"), 0o600)),
    ];
    for (path, others) in cases {
        let world = World::new();
        for name in ["a", "b", "mode"] {
            world.file(name, name);
        }
        let run = world.run(|mount| {
            write(&mount.join("a"), "mine");
            fs::remove_file(mount.join("b")).expect("removed");
            write(&mount.join("new/inner/file"), "mine");
            set_mode(&mount.join("mode"), 0o755);
        });
        apply(&run);
        others(&world.target());
        let now = world.tree();
        match run.undo() {
            Err(UndoError::Changed(found)) => {
                let paths: Vec<_> = found.iter().map(|it| it.path.display().to_string()).collect();
                assert_eq!(paths, [path]);
            }
            other => panic!("{path}: {other:?}"),
        }
        assert_eq!(world.tree(), now, "{path}");
    }
}

#[test]
fn other_changes_than_the_accepted_ones_are_not_applied() {
    let world = World::new();
    world.file("a", "old");
    let run = world.run(|mount| write(&mount.join("a"), "mine"));
    let mut set = changes(&run);
    set.changes.clear();
    // As after a question that waited.
    std::thread::sleep(std::time::Duration::from_millis(120));
    assert!(matches!(run.apply(&set, Durability::Deferred), Err(ApplyError::OtherChanges)));
    assert_eq!(world.read("a"), "old");
}

#[test]
fn the_same_written_by_others_is_no_conflict() {
    let world = World::new();
    world.file("a", "old");
    let run = world.run_beside(
        |mount| {
            write(&mount.join("a"), "same");
            write(&mount.join("b"), "same");
            write(&mount.join("c"), "mine");
        },
        || (),
    );
    world.file("a", "same");
    world.file("b", "same");
    let set = changes(&run);
    assert_eq!((shown(&set.changes), set.conflicts.len()), (vec!["added c".to_owned()], 0));
    apply(&run);
    assert_eq!(world.read("c"), "mine");
    run.undo().expect("undone");
    assert_eq!((world.read("a"), world.read("b")), ("same".to_owned(), "same".to_owned()));
}
