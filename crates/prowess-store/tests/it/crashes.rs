//! A process that is killed, a disk that is full: after every step, the old skills or the new ones are there, whole.

use std::collections::BTreeMap;
use std::fs;
use std::io::Cursor;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use insta::assert_snapshot;
use prowess_files::faults::{self, Exchange, Fault};
use prowess_package::limits::PackageLimits;
use prowess_package::unpack::UnpackOptions;
use prowess_store::commit::{CommitError, StoreChanges};
use prowess_store::store::Store;
use prowess_testkit::archives::{TarEntry, file, gz, tar};
use prowess_testkit::temporary;

const OPTIONS: UnpackOptions<'static> =
    UnpackOptions { limits: PackageLimits::PACKAGE, name: None };
/// No space left on the device, and a file system that is read only.
const FULL: i32 = 28;
const READ_ONLY: i32 = 30;

/// A version of a skill. Each has a file that the others have not.
fn archive(name: &str, version: u32) -> Vec<u8> {
    let manifest =
        format!("---\nname: {name}\nversion: {version}.0.0\ndescription: d\n---\n\n# X\n");
    let entries: Vec<TarEntry> = vec![
        file("SKILL.md", manifest.as_bytes()),
        file("docs/a.md", format!("{name} {version}").as_bytes()),
        file(&format!("docs/only-{version}.md"), b"x"),
    ];
    gz(&tar(&entries))
}

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    /// A skill that was not there.
    Install,
    /// Two skills get another version.
    Update,
    /// A skill goes.
    Remove,
    /// All of it at once.
    Everything,
}

impl Action {
    const ALL: [Self; 4] = [Self::Install, Self::Update, Self::Remove, Self::Everything];

    /// On file systems of both kinds, where it makes a difference: only updates exchange anything.
    const EVERYWHERE: [(Self, Exchange); 6] = [
        (Self::Install, Exchange::Real),
        (Self::Update, Exchange::Real),
        (Self::Remove, Exchange::Real),
        (Self::Everything, Exchange::Real),
        (Self::Update, Exchange::Missing),
        (Self::Everything, Exchange::Missing),
    ];

    fn installs(self) -> &'static [(&'static str, u32)] {
        match self {
            Self::Install => &[("fresh", 1)],
            Self::Update => &[("one", 2), ("two", 2)],
            Self::Remove => &[],
            Self::Everything => &[("fresh", 1), ("one", 2)],
        }
    }

    fn removes(self) -> &'static [&'static str] {
        match self {
            Self::Install | Self::Update => &[],
            Self::Remove => &["one"],
            Self::Everything => &["two"],
        }
    }
}

fn act(store: &Path, action: Action) -> Result<(), String> {
    let store = Store::open(store).map_err(|error| error.to_string())?;
    let mut stage = store.stage().map_err(|error| error.to_string())?;
    let mut install = Vec::new();
    for (name, version) in action.installs() {
        let skill = stage.unpack(Cursor::new(archive(name, *version)), &OPTIONS);
        install.push(skill.map_err(|error| error.to_string())?);
    }
    let remove = action.removes().iter().map(|name| name.parse().unwrap()).collect();
    let lock_file = Some(format!("{{\"after\": \"{action:?}\"}}").into_bytes());
    let locked = store.lock().map_err(|error| error.to_string())?;
    locked
        .commit(stage, &StoreChanges { install, remove, lock_file })
        .map_err(|error| error.to_string())
}

/// Two skills and a lock file. Unpacked once: there are thousands of stores here.
fn seed(store: &Path) {
    static FILES: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    let files = FILES.get_or_init(|| {
        let home = temporary();
        unpack_seed(home.path());
        state(home.path())
    });
    for (path, text) in files {
        match path.strip_suffix('/') {
            Some(folder) => fs::create_dir_all(store.join(folder)).unwrap(),
            None => {
                fs::create_dir_all(store.join(path).parent().unwrap()).unwrap();
                fs::write(store.join(path), text).unwrap();
            }
        }
    }
}

fn unpack_seed(store: &Path) {
    let opened = Store::open(store).unwrap();
    let mut stage = opened.stage().unwrap();
    let install = ["one", "two"]
        .map(|name| stage.unpack(Cursor::new(archive(name, 1)), &OPTIONS).unwrap())
        .into();
    let changes = StoreChanges {
        install,
        remove: Vec::new(),
        lock_file: Some(b"{\"after\": \"seed\"}".to_vec()),
    };
    opened.lock().unwrap().commit(stage, &changes).unwrap();
}

/// Everything that a store holds, without the file that is only there to be locked.
fn state(store: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut open = vec![store.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(store).unwrap().display().to_string();
            if path.is_dir() {
                found.insert(format!("{name}/"), String::new());
                open.push(path);
            } else if name != "store.lock" {
                found.insert(name, fs::read_to_string(&path).unwrap());
            }
        }
    }
    found
}

/// The state before and after an action that nothing disturbs.
fn before_and_after(action: Action) -> [BTreeMap<String, String>; 2] {
    let home = temporary();
    let store = home.path().join("store");
    seed(&store);
    let before = state(&store);
    act(&store, action).unwrap();
    let after = state(&store);
    assert_ne!(before, after);
    [before, after]
}

/// How many steps an action has.
fn steps(action: Action, exchange: Exchange) -> Vec<String> {
    let home = temporary();
    let store = home.path().join("store");
    seed(&store);
    let (result, steps) = faults::with(None, exchange, || act(&store, action));
    result.unwrap();
    steps
}

const STORE: &str = "PROWESS_CRASH_STORE";
const ACTION: &str = "PROWESS_CRASH_ACTION";
const STEP: &str = "PROWESS_CRASH_STEP";
const EXCHANGE: &str = "PROWESS_CRASH_EXCHANGE";

/// The process that is killed. Its parent is [`a_kill_at_any_step_leaves_the_old_or_the_new_content`].
#[test]
#[ignore = "kills its process; another test starts it"]
fn victim() {
    let variable = |name| std::env::var(name).expect("the parent sets it");
    let action = Action::ALL.into_iter().find(|action| format!("{action:?}") == variable(ACTION));
    let action = action.expect("the parent names one");
    let exchange = if variable(EXCHANGE) == "Real" { Exchange::Real } else { Exchange::Missing };
    let fault = (variable(STEP).parse().expect("a number"), Fault::Kill);
    let (result, _) =
        faults::with(Some(fault), exchange, || act(Path::new(&variable(STORE)), action));
    panic!("it was not killed: {result:?}");
}

/// Attack registry-B15: the real process is killed with SIGKILL before every single change of the disk.
#[test]
fn a_kill_at_any_step_leaves_the_old_or_the_new_content() {
    for (action, exchange) in Action::EVERYWHERE {
        let [before, after] = before_and_after(action);
        let (mut old, mut new) = (0, 0);
        for step in 0..steps(action, exchange).len() {
            let home = temporary();
            let store = home.path().join("store");
            seed(&store);
            let output = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "crashes::victim", "--ignored", "--nocapture"])
                .env(STORE, &store)
                .env(ACTION, format!("{action:?}"))
                .env(STEP, step.to_string())
                .env(EXCHANGE, format!("{exchange:?}"))
                .output()
                .unwrap();
            let signal = std::os::unix::process::ExitStatusExt::signal(&output.status);
            assert_eq!(
                signal,
                Some(9),
                "{action:?} {step}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            // Without anybody's help every skill is old or new, except where names can't be exchanged.
            if exchange == Exchange::Real {
                whole(&store, &before, &after);
            }
            let opened = Store::open(&store).unwrap();
            drop(opened.lock().unwrap());
            let found = state(&store);
            assert!(
                found == before || found == after,
                "{action:?} {exchange:?} {step}: {found:#?}"
            );
            if found == before { old += 1 } else { new += 1 }
        }
        assert!(old > 0 && new > 0, "{action:?} {exchange:?}: both happen");
    }
}

/// Each skill by itself is as before or as after.
fn whole(store: &Path, before: &BTreeMap<String, String>, after: &BTreeMap<String, String>) {
    let found = state(store);
    for skill in ["one", "two", "fresh"] {
        let of = |state: &BTreeMap<String, String>| -> Vec<(String, String)> {
            let prefix = format!("skills/{skill}/");
            let files = state.iter().filter(|(path, _)| path.starts_with(&prefix));
            files.map(|(path, text)| (path.clone(), text.clone())).collect()
        };
        assert!(of(&found) == of(before) || of(&found) == of(after), "{skill}: {found:#?}");
    }
}

/// A disk that is full from some step on, or a step that fails once: the old state stays, and nothing is left over.
#[test]
fn failing_anywhere_changes_nothing_or_everything() {
    for (action, exchange) in Action::EVERYWHERE {
        let [before, after] = before_and_after(action);
        for step in 0..steps(action, exchange).len() {
            for fault in [Fault::FailOnce(FULL), Fault::FailFrom(READ_ONLY)] {
                let home = temporary();
                let store = home.path().join("store");
                seed(&store);
                let (result, reached) =
                    faults::with(Some((step, fault)), exchange, || act(&store, action));
                let at = format!(
                    "{action:?} {exchange:?} {fault:?} at {step} ({:?}): {result:?}",
                    reached.get(step)
                );
                let found = without_staging(state(&store));
                match &result {
                    Ok(()) => assert_eq!(found, after, "{at}"),
                    Err(error) if error.contains("the next command") => {}
                    Err(_) => assert_eq!(found, before, "{at}"),
                }
                // Once there is space again, whatever was left over goes.
                let opened = Store::open(&store).unwrap();
                drop(opened.lock().unwrap());
                let found = state(&store);
                assert!(found == before || found == after, "{at}: {found:#?}");
                let one_failure = matches!(fault, Fault::FailOnce(_));
                let interrupted = result.is_err_and(|error| error.contains("interrupted"));
                assert!(!(one_failure && interrupted), "{at}: one failure is taken back");
            }
        }
    }
}

fn without_staging(state: BTreeMap<String, String>) -> BTreeMap<String, String> {
    let rest = state.into_iter();
    rest.filter(|(path, _)| !path.starts_with("staging/") || path == "staging/").collect()
}

/// What a user reads when the disk is full or can't be written to.
#[test]
fn a_full_disk_is_said() {
    let message = |fault, wanted: &str| {
        let home = temporary();
        let store = home.path().join("store");
        seed(&store);
        let all = steps(Action::Update, Exchange::Real);
        let step = all.iter().position(|step| step.starts_with(wanted)).unwrap();
        let (result, _) =
            faults::with(Some((step, fault)), Exchange::Real, || act(&store, Action::Update));
        result.unwrap_err().replace(&home.path().display().to_string(), "HOME")
    };
    assert_snapshot!(message(Fault::FailOnce(FULL), "mkdir"), @"cannot prepare a change in `HOME/store/staging`: No space left on device (os error 28); free some space and try again");
    assert_snapshot!(message(Fault::FailOnce(FULL), "write a.md"), @"cannot write `docs/a.md`: No space left on device (os error 28); free some space and try again");
    assert_snapshot!(message(Fault::FailOnce(FULL), "fsync SKILL.md"), @"cannot change the store: No space left on device (os error 28); nothing was changed; free some space and try again");
    assert_snapshot!(message(Fault::FailOnce(READ_ONLY), "exchange"), @"cannot change the store: Read-only file system (os error 30); nothing was changed; make it writable and try again");
    assert_snapshot!(message(Fault::FailFrom(FULL), "exchange"), @"the change of the store was interrupted: No space left on device (os error 28); the next command that changes the store completes it; free some space and try again");
}

/// Every file is on the disk before the journal has its name, and the skills are before the lock file speaks of them.
#[test]
fn nothing_is_published_before_it_is_on_the_disk() {
    let steps = steps(Action::Everything, Exchange::Real);
    let position = |wanted: &str| {
        steps
            .iter()
            .position(|step| step == wanted)
            .unwrap_or_else(|| panic!("{wanted}: {steps:#?}"))
    };
    let published = position("rename journal-new journal");
    for (number, step) in steps.iter().enumerate() {
        if let Some(name) = step.strip_prefix("write ") {
            let synced = steps[number..published].contains(&format!("fsync {name}"));
            assert!(synced, "{name} is not on the disk: {steps:#?}");
        }
        let is_switch = step.starts_with("exchange")
            || step.starts_with("rename skill-")
            || step.starts_with("rename two");
        assert!(!is_switch || number > published, "{step}: {steps:#?}");
    }
    let lock_file = position("rename skill-lock.json skill-lock.json");
    let last_switch = steps
        .iter()
        .rposition(|step| step.starts_with("exchange") || step.starts_with("rename two"))
        .unwrap();
    assert!(steps[last_switch..lock_file].contains(&"fsync skills".to_owned()), "{steps:#?}");
}

/// More than a few files are put on the disk with one call, and before the journal has its name as well.
#[test]
fn many_files_go_to_the_disk_together() {
    let home = temporary();
    let manifest = b"---\nname: many\ndescription: d\n---\n\n# X\n";
    let mut entries = vec![file("SKILL.md", manifest)];
    entries.extend((0..70).map(|number| file(&format!("f{number}"), b"x")));
    let archive = gz(&tar(&entries));
    let ((), steps) = faults::with(None, Exchange::Real, || {
        let store = Store::open(home.path()).unwrap();
        let mut stage = store.stage().unwrap();
        let skill = stage.unpack(Cursor::new(archive), &OPTIONS).unwrap();
        let changes = StoreChanges { install: vec![skill], remove: Vec::new(), lock_file: None };
        store.lock().unwrap().commit(stage, &changes).unwrap();
    });
    let position = |wanted: &str| steps.iter().position(|step| step == wanted);
    let published = position("rename journal-new journal").unwrap();
    if cfg!(target_os = "linux") {
        let synced = position("syncfs stage").unwrap();
        assert!(position("write f69").unwrap() < synced && synced < published, "{steps:#?}");
    } else {
        assert!(position("fsync f69").unwrap() < published, "{steps:#?}");
    }
}

/// What runs on a file system of its own. Its parent is [`a_really_full_disk_changes_nothing`].
#[test]
#[ignore = "needs a small file system; another test makes it"]
fn tenant() {
    let disk = std::path::PathBuf::from(std::env::var(STORE).expect("the parent sets it"));
    let store = disk.join("store");
    seed(&store);
    let before = state(&store);
    // All that is left, up to the last page.
    let mut filling = fs::File::create(disk.join("filling")).unwrap();
    while filling.write_all(&[0; 4096]).is_ok() {}
    drop(filling);
    let full = act(&store, Action::Update).unwrap_err();
    assert!(full.contains("No space left on device") && full.contains("free some space"), "{full}");
    assert_eq!(state(&store), before);

    let mount = |options: &str| {
        let status = Command::new("mount").args(["-o", options]).arg(&disk).status();
        assert!(status.unwrap().success());
    };
    mount("remount,ro");
    let read_only = act(&store, Action::Update).unwrap_err();
    assert!(
        read_only.contains("Read-only file system") && read_only.contains("make it writable"),
        "{read_only}"
    );
    assert_eq!(state(&store), before);
    // Who only looks needs nothing that can be written: no lock, no folder, not even what a change left.
    let opened = Store::open(&store).unwrap();
    opened.wait_for_changes().unwrap();
    assert!(opened.lock_file(1 << 20).unwrap().is_some());
    let installed = opened.installed().unwrap();
    assert!(!installed.is_empty());
    assert!(installed.iter().all(|name| opened.hash(name).unwrap().is_some()));
    assert!(opened.lock().is_err());
    assert_eq!(state(&store), before);

    mount("remount,rw");
    fs::remove_file(disk.join("filling")).unwrap();
    act(&store, Action::Update).unwrap();
    assert_ne!(state(&store), before);
}

/// A disk that is full and one that can't be written to, both real: clear errors, and nothing has changed.
#[test]
fn a_really_full_disk_changes_nothing() {
    const NO_MOUNT: i32 = 77;
    const SCRIPT: &str = r#"mount -t tmpfs -o size=256k tmpfs "$0" || exit 77
        exec "$1" --exact crashes::tenant --ignored --nocapture"#;
    let home = temporary();
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", SCRIPT])
        .arg(home.path())
        .arg(std::env::current_exe().unwrap())
        .env(STORE, home.path())
        .output();
    match output {
        Ok(output) if output.status.success() => {
            assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"));
        }
        Ok(output) if output.status.code() != Some(NO_MOUNT) => {
            let [out, error] =
                [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
            // `unshare` itself ends with 1 where namespaces are not allowed, before any test has said a word.
            assert!(!out.contains("running"), "{out}{error}");
            let _ = writeln!(std::io::stderr(), "SKIPPED: no file system can be mounted: {error}");
        }
        _ => {
            let _ = writeln!(std::io::stderr(), "SKIPPED: no file system can be mounted");
        }
    }
}

/// A journal of another version is not guessed at, and one that leads elsewhere is not followed.
#[test]
fn an_unknown_journal_stops_with_advice() {
    let home = temporary();
    let store = home.path().join("store");
    seed(&store);
    fs::write(home.path().join("precious"), "kept").unwrap();
    let before = state(&store);
    for text in
        ["prowess-store-journal 9\nend\n", "prowess-store-journal 1\nremove ../../precious\nend\n"]
    {
        let left = store.join("staging/99999-0");
        fs::create_dir(&left).unwrap();
        fs::write(left.join("journal"), text).unwrap();
        let opened = Store::open(&store).unwrap();
        let message = opened.lock().unwrap_err().to_string();
        assert_eq!(
            message.replace(&home.path().display().to_string(), "HOME"),
            "an interrupted change left `HOME/store/staging/99999-0`, which this version can't complete; complete it with the \
             version that started it, or remove that folder"
        );
        fs::remove_dir_all(&left).unwrap();
        assert_eq!(state(&store), before);
        assert!(home.path().join("precious").exists());
    }
}

#[test]
fn one_skill_is_not_changed_twice_at_once() {
    let home = temporary();
    let store = Store::open(home.path()).unwrap();
    let mut stage = store.stage().unwrap();
    let skill = stage.unpack(Cursor::new(archive("one", 1)), &OPTIONS).unwrap();
    let changes =
        StoreChanges { remove: vec![skill.name.clone()], install: vec![skill], lock_file: None };
    let result = store.lock().unwrap().commit(stage, &changes);
    assert!(matches!(result, Err(CommitError::Twice(name)) if name.as_str() == "one"));
    assert_eq!(fs::read_dir(home.path().join("staging")).unwrap().count(), 0);
}

#[test]
fn a_change_belongs_to_one_store() {
    let home = temporary();
    let [one, other] = ["one", "other"].map(|name| Store::open(&home.path().join(name)).unwrap());
    let mut stage = one.stage().unwrap();
    let skill = stage.unpack(Cursor::new(archive("one", 1)), &OPTIONS).unwrap();
    let changes = StoreChanges { install: vec![skill], remove: Vec::new(), lock_file: None };
    let error = other.lock().unwrap().commit(stage, &changes).unwrap_err();
    assert_snapshot!(error, @"cannot change the store: the change was prepared in another store; nothing was changed");
    assert_eq!(other.installed().unwrap(), []);
}
