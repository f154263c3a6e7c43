//! A watchdog for writable folders. Ordinary users have no disk quota for them, so their growth is
//! measured during the run, and a run that exceeds the limit is ended (attacks sandbox-A23,
//! sandbox-E09).
//!
//! Counting has two stages. The free space of the filesystem is polled many times a second. When it
//! has changed significantly, or after some time, the folders are scanned, which decides: others
//! write to the same disk too. Short runs are never checked, and scans take at most a twentieth of
//! the time, unless the disk fills up quickly.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::os::fd::{AsFd as _, FromRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{Access, AtFlags, FileType, Stat, StatVfs};

use super::walk::{self, Found, Next, Stopped};
use super::{plan, sys};
use crate::spec::{SandboxLimits, WriteLimit};

/// A shorter run is not watched.
pub(super) const FIRST_CHECK: Duration = Duration::from_millis(200);
/// How often the free space is polled.
const TICK: Duration = Duration::from_millis(100);
/// How often folders are scanned while they grow, and when they don't change.
const WALK_INTERVALS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];
/// The minimum time between scans as a multiple of the duration of a scan, normally and if urgent.
const WALK_SHARE: [u32; 2] = [20, 2];
/// Maximum number of entries of a scan; for larger folders the free space of their filesystem is
/// used.
const MAX_ENTRIES: usize = 5_000_000;
/// The space to keep free on a filesystem, in bytes; less on a small or full one.
const RESERVE: u64 = 256 << 20;

/// The usage of folders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// Bytes on disk.
    bytes: u64,
    /// Files, folders and links.
    entries: u64,
    /// Folders that this process can't read.
    closed: u64,
}

/// Counts the entries of a walk.
#[derive(Debug, Default)]
pub(super) struct Counter {
    usage: Usage,
    /// Files with several hard links, whose bytes count once.
    seen: HashSet<(u64, u64)>,
}

impl Counter {
    /// Adds an entry.
    pub(super) fn add(&mut self, found: &Found<'_>, stat: Option<&Stat>) {
        /// The unit of `st_blocks`, whatever the filesystem's own is.
        const BLOCK: u64 = 512;
        self.usage.entries += 1;
        if found.kind == FileType::Directory {
            let rights = Access::READ_OK | Access::EXEC_OK;
            let open = rustix::fs::accessat(found.folder, found.name, rights, AtFlags::EACCESS);
            self.usage.closed += u64::from(open == Err(rustix::io::Errno::ACCESS));
        }
        if let Some(stat) = stat
            && (stat.st_nlink < 2
                || found.kind == FileType::Directory
                || self.seen.insert((stat.st_dev, stat.st_ino)))
        {
            self.usage.bytes += u64::try_from(stat.st_blocks).unwrap_or_default() * BLOCK;
        }
    }

    /// The result.
    pub(super) fn usage(&self) -> Usage {
        self.usage
    }
}

/// A folder that may be written.
#[derive(Debug)]
pub(super) struct Folder {
    /// Its path.
    pub(super) path: PathBuf,
    /// Its read-only paths, relative to it; not counted.
    pub(super) protected: BTreeSet<PathBuf>,
    /// Its previous usage, if known.
    pub(super) before: Option<Usage>,
}

/// The folders to watch.
#[derive(Debug, Default)]
pub(super) struct WatchedFolders {
    folders: Vec<Folder>,
    disks: Vec<Disk>,
}

/// A filesystem of writable folders, and its free space at the start.
#[derive(Debug)]
struct Disk {
    device: u64,
    folder: PathBuf,
    bytes: u64,
    entries: u64,
    reserve: u64,
}

impl Disk {
    fn free(folder: &Path) -> Option<(u64, u64, StatVfs)> {
        let disk = rustix::fs::statvfs(folder).ok()?;
        Some((disk.f_bavail.saturating_mul(disk.f_frsize), disk.f_ffree, disk))
    }
}

impl WatchedFolders {
    /// Records the current free space.
    pub(super) fn new(folders: Vec<Folder>) -> Self {
        let mut disks: Vec<Disk> = Vec::new();
        for Folder { path, .. } in &folders {
            let Ok(stat) = rustix::fs::stat(path) else { continue };
            if disks.iter().any(|disk| disk.device == stat.st_dev) {
                continue;
            }
            let Some((bytes, entries, disk)) = Disk::free(path) else { continue };
            let whole = disk.f_blocks.saturating_mul(disk.f_frsize);
            disks.push(Disk {
                device: stat.st_dev,
                folder: path.clone(),
                bytes,
                entries,
                reserve: RESERVE.min(whole / 20).min(bytes / 2),
            });
        }
        Self { folders, disks }
    }

    /// Whether there is nothing to watch.
    pub(super) fn is_empty(&self) -> bool {
        self.folders.is_empty()
    }

    /// The space used on the filesystems since the start, by any process.
    fn lost(&self) -> Usage {
        let mut lost = Usage::default();
        for disk in &self.disks {
            if let Some((bytes, entries, _)) = Disk::free(&disk.folder) {
                lost.bytes += disk.bytes.saturating_sub(bytes);
                lost.entries += disk.entries.saturating_sub(entries);
            }
        }
        lost
    }

    /// Whether a filesystem is nearly full. This covers what a scan can't see: deleted files that
    /// are still open.
    fn is_nearly_full(&self) -> bool {
        self.disks.iter().any(|disk| {
            Disk::free(&disk.folder)
                .is_some_and(|(bytes, _, _)| bytes < disk.reserve && bytes < disk.bytes)
        })
    }

    /// The growth of the folders since the start; `None` if it was stopped.
    fn added(&mut self, started: SystemTime, stop: &AtomicBool) -> Option<Usage> {
        let mut added = Usage::default();
        let mut entries = MAX_ENTRIES;
        let mut is_complete = true;
        for folder in &mut self.folders {
            let mut now = Counter::default();
            let mut older = Counter::default();
            let walked = count(folder, &mut entries, &mut |found, stat| {
                now.add(found, stat);
                // Programs can't set change times, unlike modification times.
                if folder.before.is_none() && stat.is_some_and(|stat| changed(stat) < started) {
                    older.add(found, stat);
                }
                !stop.load(Ordering::Relaxed)
            });
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            is_complete &= walked.is_ok();
            let now = now.usage();
            let before = folder.before.unwrap_or(older.usage());
            folder.before = Some(before);
            added.bytes += now.bytes.saturating_sub(before.bytes);
            added.entries += now.entries.saturating_sub(before.entries);
            is_complete &= now.closed <= before.closed;
        }
        if !is_complete {
            // A run may make folders inaccessible, or nest them too deeply. Then all the space used
            // on the filesystem counts.
            let lost = self.lost();
            added.bytes = added.bytes.max(lost.bytes);
            added.entries = added.entries.max(lost.entries);
        }
        Some(added)
    }
}

fn changed(stat: &Stat) -> SystemTime {
    let seconds = Duration::from_secs(u64::try_from(stat.st_ctime).unwrap_or_default());
    let rest = u32::try_from(stat.st_ctime_nsec).unwrap_or_default();
    SystemTime::UNIX_EPOCH + seconds + Duration::from_nanos(rest.into())
}

/// Visits all entries of a folder, until `visit` stops.
fn count(
    folder: &Folder,
    entries: &mut usize,
    visit: &mut dyn FnMut(&Found<'_>, Option<&Stat>) -> bool,
) -> Result<(), Stopped> {
    let top = walk::open_folder(&folder.path)?;
    walk::walk(top.as_fd(), entries, &mut |found| {
        if folder.protected.contains(found.relative) {
            return Ok(Next::Pass);
        }
        let stat = rustix::fs::statat(found.folder, found.name, AtFlags::SYMLINK_NOFOLLOW).ok();
        if visit(found, stat.as_ref()) { Ok(Next::Enter) } else { Err(Stopped::TooLarge) }
    })
}

/// The watchdog thread; dropping it stops the thread.
#[derive(Debug)]
pub(super) struct Watchdog {
    found: Arc<Alarm>,
    stop: Arc<AtomicBool>,
    /// Dropped to wake the thread.
    wake: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The result of the thread.
#[derive(Debug)]
struct Alarm {
    event: OwnedFd,
    what: OnceLock<WriteLimit>,
}

impl Watchdog {
    /// Starts the watchdog.
    #[allow(unsafe_code, reason = "a descriptor changes hands")]
    pub(super) fn start(
        watched: WatchedFolders,
        limits: &SandboxLimits,
        started: SystemTime,
    ) -> io::Result<Self> {
        let event = sys::event().map_err(io::Error::from_raw_os_error)?;
        // SAFETY: the kernel has just made this descriptor, and nobody else owns it.
        let event = unsafe { OwnedFd::from_raw_fd(event) };
        let found = Arc::new(Alarm { event, what: OnceLock::new() });
        let stop = Arc::new(AtomicBool::new(false));
        let (wake, woken) = mpsc::channel();
        let most = (limits.written_bytes, limits.written_entries);
        let (alarm, told) = (Arc::clone(&found), Arc::clone(&stop));
        let thread =
            std::thread::Builder::new().name("prowess-watchdog".to_owned()).spawn(move || {
                let pause = || woken.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout);
                if let Some(written) = watch(watched, most, started, &told, &pause) {
                    let _ = alarm.what.set(written);
                    let _ = sys::write(plan::number(&alarm.event), &1_u64.to_ne_bytes());
                }
            })?;
        Ok(Self { found, stop, wake: Some(wake), thread: Some(thread) })
    }

    /// Becomes readable when a limit is exceeded.
    pub(super) fn event(&self) -> &OwnedFd {
        &self.found.event
    }

    /// The limit that was exceeded.
    pub(super) fn alarm(&self) -> Option<WriteLimit> {
        self.found.what.get().copied()
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Watches until a limit is exceeded, or until it is stopped.
fn watch(
    mut watched: WatchedFolders,
    (most_bytes, most_entries): (u64, u64),
    started: SystemTime,
    stop: &AtomicBool,
    pause: &dyn Fn() -> bool,
) -> Option<WriteLimit> {
    // Nothing was scanned yet, so the first scan is due.
    let mut walked: Option<(Instant, Duration)> = None;
    let mut added = Usage::default();
    let mut lost_then = Usage::default();
    let [shortest, longest] = WALK_INTERVALS;
    let mut interval = shortest;
    loop {
        if watched.is_nearly_full() {
            return Some(WriteLimit::Disk);
        }
        let lost = watched.lost();
        // Half of the remaining space may have been used since the last scan.
        let is_urgent = |lost: u64, then: u64, most: u64, added: u64| {
            lost.saturating_sub(then) > most.saturating_sub(added) / 2
        };
        let is_urgent = is_urgent(lost.bytes, lost_then.bytes, most_bytes, added.bytes)
            || is_urgent(lost.entries, lost_then.entries, most_entries, added.entries);
        let is_due = walked.is_none_or(|(ended, took)| {
            let [usual, urgent] = WALK_SHARE.map(|share| took * share);
            ended.elapsed() >= if is_urgent { urgent } else { usual.max(interval) }
        });
        if is_due {
            let began = Instant::now();
            let before = std::mem::replace(&mut added, watched.added(started, stop)?);
            interval = if added == before { (interval * 2).min(longest) } else { shortest };
            if added.bytes > most_bytes {
                return Some(WriteLimit::Bytes(most_bytes));
            }
            if added.entries > most_entries {
                return Some(WriteLimit::Entries(most_entries));
            }
            lost_then = lost;
            walked = Some((Instant::now(), began.elapsed()));
        }
        if !pause() {
            return None;
        }
    }
}

#[cfg(test)]
mod tests;
