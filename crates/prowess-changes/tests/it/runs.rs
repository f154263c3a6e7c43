//! Runs are kept, listed, and expire.

use std::time::{Duration, SystemTime};

use prowess_changes::{Retention, RunFolder, RunStatus, StageError, expire, list};

use crate::world::{World, apply, write};

#[test]
fn runs_expire_by_age_and_number() {
    let world = World::new();
    let mut ids = Vec::new();
    for number in 0..4 {
        let run = world.run(|mount| write(&mount.join(format!("file-{number}")), "x"));
        match number {
            0 => run.keep_pending().expect("kept"),
            3 => {}
            _ => apply(&run),
        }
        ids.push(run.id().to_owned());
    }
    assert_eq!(list(&world.home()).expect("listed"), ids);
    let retention = Retention {
        applied: Duration::from_hours(1),
        pending: Duration::from_hours(10),
        most: 100,
    };
    let now = SystemTime::now();
    assert_eq!(expire(&world.home(), retention, now).expect("expired"), 0);
    // Only the one whose process did not finish.
    let later = now + Duration::from_mins(2);
    assert_eq!(expire(&world.home(), retention, later).expect("expired"), 1);
    assert_eq!(
        expire(&world.home(), retention, now + Duration::from_hours(2)).expect("expired"),
        2
    );
    let left = list(&world.home()).expect("listed");
    assert_eq!(left, ids[..1]);
    let few = Retention { most: 0, ..retention };
    assert_eq!(expire(&world.home(), few, now).expect("expired"), 1);
    assert_eq!(world.read("file-1"), "x", "what was applied stays");
}

#[test]
fn a_run_in_use_is_left_alone() {
    let world = World::new();
    let run = world.run(|_| ());
    let error = RunFolder::open(&world.home(), run.id()).expect_err("it is locked");
    assert_eq!(error.kind(), std::io::ErrorKind::ResourceBusy);
    let none = Retention { applied: Duration::ZERO, pending: Duration::ZERO, most: 0 };
    assert_eq!(expire(&world.home(), none, SystemTime::now()).expect("expired"), 0);
    assert_eq!(run.status(), RunStatus::Unfinished);
    assert!(RunFolder::open(&world.home(), "../target").expect("refused").is_none());
}

#[test]
fn folders_around_the_staging_area_are_refused() {
    let world = World::new();
    let mut run = RunFolder::create(&world.home(), "around").expect("created");
    let refused = run.add_layer(&world.path(""), false);
    assert!(matches!(refused, Err(StageError::Around(_))), "{refused:?}");
    let refused = run.add_layer(std::path::Path::new("/"), false);
    assert!(matches!(refused, Err(StageError::Mounts { .. })), "{refused:?}");
}
