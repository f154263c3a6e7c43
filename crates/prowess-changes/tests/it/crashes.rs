//! Kills the process before every step of applying, taking back and undoing: the next start leaves everything or nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use prowess_changes::{Durability, RunFolder, RunStatus, faults, recover};

use crate::world::{World, changes, set_mode, status_of_child, write};

fn scene() -> (World, RunFolder) {
    let world = World::new();
    for name in ["a", "b", "d/x", "d/y", "shut/z", "mode", "kind", "whole/file"] {
        world.file(name, name);
    }
    set_mode(&world.target().join("shut"), 0o555);
    let run = world.run(|mount| {
        write(&mount.join("a"), "new");
        fs::remove_file(mount.join("b")).expect("removed");
        write(&mount.join("d/x"), "new");
        fs::remove_file(mount.join("d/y")).expect("removed");
        write(&mount.join("d/new/file"), "new");
        set_mode(&mount.join("shut"), 0o755);
        write(&mount.join("shut/z"), "new");
        set_mode(&mount.join("shut"), 0o555);
        set_mode(&mount.join("mode"), 0o755);
        fs::remove_file(mount.join("kind")).expect("removed");
        write(&mount.join("kind/file"), "new");
        set_mode(&mount.join("kind"), 0o500);
        fs::remove_dir_all(mount.join("whole")).expect("removed");
        write(&mount.join("whole/other"), "new");
    });
    (world, run)
}

type Tree = BTreeMap<PathBuf, String>;

/// What is there before and after applying.
fn ends() -> (Tree, Tree, usize, usize) {
    let (world, run) = scene();
    let before = world.tree();
    let ((), steps) = faults::with(None, || {
        run.apply(&changes(&run), Durability::OnDisk).expect("applied");
    });
    let after = world.tree();
    let ((), undo_steps) = faults::with(None, || run.undo().expect("undone"));
    assert_eq!(world.tree(), before);
    assert!(steps.len() > 20 && undo_steps.len() > 10, "{steps:?} {undo_steps:?}");
    (before, after, steps.len(), undo_steps.len())
}

/// Kills a process that works with a run.
fn killed(home: &Path, id: &str, step: usize, work: impl FnOnce(&RunFolder)) {
    let status = status_of_child(|| {
        let run = RunFolder::open(home, id).expect("opened").expect("it is there");
        faults::with(Some(step), || work(&run));
    });
    assert_eq!(status, 9, "step {step}: killed");
}

#[test]
fn a_kill_at_any_step_of_applying_leaves_everything_or_nothing() {
    let (before, after, steps, _) = ends();
    let mut found = Vec::new();
    for step in 0..steps {
        let (world, run) = scene();
        let (home, id) = (world.home(), run.id().to_owned());
        drop(run);
        killed(&home, &id, step, |run| {
            let _ = run.apply(&changes(run), Durability::OnDisk);
        });
        assert!(recover(&home).is_empty());
        let run = RunFolder::open(&home, &id).expect("opened").expect("it is there");
        let is_applied = run.status() == RunStatus::Applied;
        assert_eq!(world.tree(), if is_applied { after.clone() } else { before.clone() }, "{step}");
        found.push(is_applied);
        if is_applied {
            run.undo().expect("undone");
            assert_eq!(world.tree(), before, "{step}");
        } else {
            run.apply(&changes(&run), Durability::Deferred).expect("applied");
            assert_eq!(world.tree(), after, "{step}");
        }
    }
    assert!(!found[0] && found[steps - 1]);
    assert!(found.is_sorted(), "before the decision nothing, after it everything: {found:?}");
}

#[test]
fn a_kill_while_recovering_is_recovered_from() {
    let (_, after, steps, _) = ends();
    // Somewhere after the decision.
    for step in [steps / 2, steps * 3 / 4] {
        for second in 0..6 {
            let (world, run) = scene();
            let (home, id) = (world.home(), run.id().to_owned());
            drop(run);
            killed(&home, &id, step, |run| {
                let _ = run.apply(&changes(run), Durability::OnDisk);
            });
            status_of_child(|| {
                faults::with(Some(second), || drop(recover(&home)));
            });
            assert!(recover(&home).is_empty());
            assert_eq!(world.tree(), after, "{step} {second}");
        }
    }
}

#[test]
fn a_kill_at_any_step_of_undoing_leaves_everything_or_nothing() {
    let (before, after, _, steps) = ends();
    for step in 0..steps {
        let (world, run) = scene();
        run.apply(&changes(&run), Durability::Deferred).expect("applied");
        let (home, id) = (world.home(), run.id().to_owned());
        drop(run);
        killed(&home, &id, step, |run| {
            let _ = run.undo();
        });
        assert!(recover(&home).is_empty());
        let run = RunFolder::open(&home, &id).expect("opened").expect("it is there");
        match run.status() {
            RunStatus::Applied => assert_eq!(world.tree(), after, "{step}"),
            RunStatus::Undone => assert_eq!(world.tree(), before, "{step}"),
            other => panic!("{other:?}"),
        }
    }
}

/// A run with a folder that is applied as a whole, in which others change something after it was read: that is noticed when
/// applying is under way, and what was done is taken back.
fn overtaken() -> (World, RunFolder, prowess_changes::ChangeSet) {
    let (world, run) = scene();
    let set = changes(&run);
    write(&world.target().join("d/x"), "theirs");
    (world, run, set)
}

#[test]
fn a_kill_while_taking_back_is_finished() {
    let mut done = 0;
    // Changes that were read long ago are read again first; then nothing has to be taken back, and it is tried once more.
    for _ in 0..20 {
        let (world, run, set) = overtaken();
        let theirs = world.tree();
        let (result, steps) = faults::with(None, || run.apply(&set, Durability::Deferred));
        assert!(result.is_err(), "somebody was faster");
        assert_eq!(world.tree(), theirs);
        if !steps.iter().any(|step| step == "exchange") {
            continue;
        }
        for step in 0..steps.len() {
            let (world, run, set) = overtaken();
            let home = world.home();
            status_of_child(|| {
                faults::with(Some(step), || drop(run.apply(&set, Durability::Deferred)));
            });
            drop(run);
            assert!(recover(&home).is_empty());
            assert_eq!(world.tree(), theirs, "{step}");
            done += 1;
        }
        break;
    }
    assert!(done > 10, "{done}");
}
