//! A record of each run that may write, kept while it runs: if this program is killed, the next run examines what was
//! left.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use prowess_files::atomic::{self, MAX_SMALL_FILE_BYTES};
use prowess_files::private::private_folder;
use prowess_format::text::visible;
use serde_json::{Value, json};

use super::{Absent, AbsentKind, Findings, PlantedScan};
use crate::platform;
use crate::world::StateFolders;

/// The folder of records, in the folder for persistent state.
const FOLDER: &str = "runs";
const VERSION: u64 = 2;
/// Maximum time by which a sandbox outlives this program.
const EXIT_DELAY: Duration = Duration::from_secs(5);
/// Maximum number of records that are read at once.
const MAX_NOTES: usize = 256;

/// The record of a run. While it is locked, other processes know that the run is alive.
#[derive(Debug)]
pub(crate) struct Record {
    path: PathBuf,
    /// The lock, which the system releases however this program ends.
    _lock: File,
}

impl Record {
    /// Creates a record of a run that takes at most `time`.
    pub(crate) fn leave(
        state: &StateFolders,
        name: &str,
        time: Duration,
        scan: &PlantedScan,
    ) -> io::Result<Self> {
        let folder = state.data.join(FOLDER);
        private_folder(&folder)?;
        // Under a temporary name until it is locked and complete, so that it isn't taken for that of a killed run.
        let mut file = tempfile::Builder::new().prefix("new-").tempfile_in(&folder)?;
        file.as_file().lock()?;
        file.write_all(text(name, time, scan).as_bytes())?;
        let nanos = since_epoch(SystemTime::now()).as_nanos();
        let path = folder.join(format!("{}-{nanos}.json", std::process::id()));
        let lock = file.persist(&path).map_err(|error| error.error)?;
        Ok(Self { path, _lock: lock })
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        // If it remains, its files are examined again, which is harmless.
        let _ = fs::remove_file(&self.path);
    }
}

/// Examines what killed runs have left.
pub(crate) fn scan_killed_runs(state: &StateFolders) -> Findings {
    let mut findings = Findings::default();
    let Ok(entries) = fs::read_dir(state.data.join(FOLDER)) else { return findings };
    let notes = entries.flatten().map(|entry| entry.path());
    for path in notes.filter(|path| path.extension().is_some_and(|it| it == "json")).take(MAX_NOTES)
    {
        let Ok(file) = File::options().read(true).write(true).open(&path) else { continue };
        match file.try_lock() {
            Ok(()) => {}
            // The run is alive.
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => continue,
        }
        let note = atomic::read_text(&path, MAX_SMALL_FILE_BYTES)
            .ok()
            .flatten()
            .and_then(|text| read(&text));
        let Some(Note { name, until, scan }) = note else {
            findings.warnings.push(format!(
                "`{}` is the record of a killed run and can't be read: review what that run left, then remove the record",
                path.display()
            ));
            continue;
        };
        let found = scan.scan_until(Some(until));
        let result = if found == Findings::default() { "nothing was found" } else { "see below" };
        findings.warnings.push(format!(
            "a run of `{}` was killed before its files were examined; this was done now: {result}",
            visible(&name)
        ));
        findings.warnings.extend(found.warnings);
        if found.failures.is_empty() {
            let _ = fs::remove_file(&path);
        }
        findings.warnings.extend(found.failures);
    }
    findings
}

struct Note {
    name: String,
    until: SystemTime,
    scan: PlantedScan,
}

fn text(name: &str, time: Duration, scan: &PlantedScan) -> String {
    let paths = |paths: &mut dyn Iterator<Item = &PathBuf>| -> Vec<Value> {
        paths.map(|path| platform::unique_text(path).into()).collect()
    };
    let absent = scan
        .absent
        .iter()
        .map(|absent| json!([platform::unique_text(&absent.place), kind_name(absent.kind)]));
    let until = scan.started + time + EXIT_DELAY;
    json!({
        "version": VERSION,
        "process": std::process::id(),
        "run": name,
        "started": seconds(scan.started),
        "until": seconds(until) + 1,
        "complete": scan.is_complete,
        "folders": paths(&mut scan.folders.iter()),
        "fixed": paths(&mut scan.fixed.iter()),
        "repositories": paths(&mut scan.repositories.iter()),
        "absent": absent.collect::<Vec<Value>>(),
        "home": platform::unique_text(&scan.home),
        "settings": paths(&mut scan.settings.iter()),
    })
    .to_string()
}

fn read(text: &str) -> Option<Note> {
    let note: Value = serde_json::from_str(text).ok()?;
    let time = |name: &str| Some(UNIX_EPOCH + Duration::from_secs(note[name].as_u64()?));
    let paths = |name: &str| {
        let list = note[name].as_array()?.iter();
        list.map(path_of).collect::<Option<Vec<PathBuf>>>()
    };
    let absent = note["absent"].as_array()?.iter().map(|entry| {
        let kind = entry[1].as_str()?;
        let kind = KINDS.iter().find(|(name, _)| *name == kind)?.1;
        Some(Absent { place: path_of(&entry[0])?, kind })
    });
    let scan = PlantedScan {
        folders: paths("folders")?,
        fixed: paths("fixed")?.into_iter().collect(),
        repositories: paths("repositories")?.into_iter().collect(),
        absent: absent.collect::<Option<BTreeSet<Absent>>>()?,
        is_complete: note["complete"].as_bool()?,
        home: path_of(&note["home"])?,
        settings: paths("settings")?,
        started: time("started")?,
    };
    (note["version"] == VERSION).then_some(())?;
    Some(Note { name: note["run"].as_str()?.to_owned(), until: time("until")?, scan })
}

const KINDS: [(&str, AbsentKind); 5] = [
    ("settings", AbsentKind::Settings),
    ("hooks", AbsentKind::Hooks),
    ("git", AbsentKind::OfGit),
    ("path", AbsentKind::OfSearchPath),
    ("start", AbsentKind::StartFile),
];

fn kind_name(kind: AbsentKind) -> &'static str {
    match kind {
        AbsentKind::Settings => "settings",
        AbsentKind::Hooks => "hooks",
        AbsentKind::OfGit => "git",
        AbsentKind::OfSearchPath => "path",
        AbsentKind::StartFile => "start",
    }
}

fn path_of(value: &Value) -> Option<PathBuf> {
    platform::path_of_unique_text(value.as_str()?).filter(|path| path.is_absolute())
}

fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn seconds(time: SystemTime) -> u64 {
    since_epoch(time).as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_read_back() {
        let path = |text: &str| PathBuf::from(text);
        let scan = PlantedScan {
            folders: vec![path("/a"), platform::path_of_unique_text(":2fff").expect("a path")],
            fixed: [path("/a/.git/config")].into(),
            repositories: [path("/a/.git")].into(),
            absent: KINDS
                .iter()
                .map(|(name, kind)| Absent { place: path("/a").join(name), kind: *kind })
                .collect(),
            is_complete: false,
            home: path("/home/x"),
            settings: vec![path("/home/x/.gitconfig")],
            started: UNIX_EPOCH + Duration::from_secs(1_700_000_000),
        };
        let text = text("x/y", Duration::from_secs(30), &scan);
        let note = read(&text).expect("it was written just now");
        assert_eq!((note.name.as_str(), &note.scan), ("x/y", &scan));
        assert_eq!(seconds(note.until), 1_700_000_036);
        assert!(read(&text.replace("\"version\":2", "\"version\":3")).is_none());
        assert!(read(&text.replace("/a/.git/config", "relative")).is_none());
    }

    #[test]
    fn a_note_goes_away_with_its_run() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let at = folder.path();
        let state =
            StateFolders { data: at.join("data"), config: at.join("c"), cache: at.join("k") };
        let record = Record::leave(&state, "x/y", Duration::ZERO, &PlantedScan::nothing());
        let record = record.expect("the folder can be made");
        assert_eq!(scan_killed_runs(&state), Findings::default(), "it is alive");
        let path = record.path.clone();
        assert!(path.exists());
        drop(record);
        assert!(!path.exists());
    }
}
