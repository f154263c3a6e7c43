//! Control groups: memory and processes of a whole run, counted by the kernel. Where there are none for us, the first
//! process of the sandbox watches memory itself, and files in memory that nobody can count are not allowed.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::spec::Limits;

/// Where groups can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// One hierarchy for everything.
    Unified(PathBuf),
    /// A hierarchy for memory and one for processes.
    Split { memory: PathBuf, pids: PathBuf },
}

/// A group for one run; dropping it removes it.
#[derive(Debug)]
pub(super) struct Group {
    folders: Vec<PathBuf>,
    unified: bool,
}

const PREFIX: &str = "prowess-";

impl Home {
    /// Where this process can make groups with limits, found by making one.
    pub(super) fn get() -> Option<&'static Home> {
        static HOME: OnceLock<Option<Home>> = OnceLock::new();
        HOME.get_or_init(|| {
            let home = candidates().into_iter().find(works)?;
            home.sweep();
            Some(home)
        })
        .as_ref()
    }

    fn folders(&self) -> Vec<&Path> {
        match self {
            Home::Unified(folder) => vec![folder],
            Home::Split { memory, pids } => vec![memory, pids],
        }
    }

    /// A new group with limits.
    pub(super) fn group(&self, limits: &Limits) -> io::Result<Group> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name =
            format!("{PREFIX}{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let mut group = Group { folders: Vec::new(), unified: matches!(self, Home::Unified(_)) };
        for folder in self.folders() {
            let folder = folder.join(&name);
            fs::create_dir(&folder)?;
            group.folders.push(folder);
        }
        let write = |index: usize, file: &str, value: u64| {
            fs::write(group.folders[index].join(file), value.to_string())
        };
        // The first process and the one that sets up count too.
        let processes = limits.processes + 2;
        match self {
            Home::Unified(_) => {
                if let Some(memory) = limits.memory {
                    write(0, "memory.max", memory)?;
                    // Kernels without swap accounting have no such file, and then no swap to bound.
                    let _ = write(0, "memory.swap.max", 0);
                    let _ = write(0, "memory.oom.group", 1);
                }
                write(0, "pids.max", processes)?;
            }
            Home::Split { .. } => {
                if let Some(memory) = limits.memory {
                    write(0, "memory.limit_in_bytes", memory)?;
                    let _ = write(0, "memory.memsw.limit_in_bytes", memory);
                }
                write(1, "pids.max", processes)?;
            }
        }
        Ok(group)
    }

    /// Removes the groups of processes that are gone: one that was killed could not.
    fn sweep(&self) {
        for folder in self.folders() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let name = entry.file_name();
                let owner = name.to_str().and_then(|name| {
                    name.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok()
                });
                if owner.is_some_and(|owner| !Path::new(&format!("/proc/{owner}")).exists()) {
                    let _ = fs::remove_dir(entry.path());
                }
            }
        }
    }
}

/// The places where groups could be made, the best first.
fn candidates() -> Vec<Home> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let path_of = |controller: &str| {
        own.lines().find_map(|line| {
            let mut fields = line.splitn(3, ':');
            let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
            let is_it = controllers.split(',').any(|name| name == controller);
            is_it.then(|| path.trim_start_matches('/').to_owned())
        })
    };
    let mounted = |kind: &str, option: &str| {
        mounts.lines().find_map(|line| {
            let mut fields = line.split(' ');
            let (_, place, this, options) =
                (fields.next()?, fields.next()?, fields.next()?, fields.next()?);
            let has = option.is_empty() || options.split(',').any(|known| known == option);
            (this == kind && has).then(|| PathBuf::from(place))
        })
    };
    let mut homes = Vec::new();
    if let Some(root) = mounted("cgroup2", "") {
        if let Some(own) = path_of("") {
            homes.push(Home::Unified(root.join(own)));
        }
        homes.push(Home::Unified(root));
    }
    if let (Some(memory), Some(pids)) = (mounted("cgroup", "memory"), mounted("cgroup", "pids")) {
        let below = |root: &Path, controller| root.join(path_of(controller).unwrap_or_default());
        homes.push(Home::Split { memory: below(&memory, "memory"), pids: below(&pids, "pids") });
    }
    homes
}

/// Tries it: files that exist and groups that hold nothing prove nothing.
fn works(home: &Home) -> bool {
    if let Home::Unified(folder) = home {
        let enabled = fs::read_to_string(folder.join("cgroup.subtree_control")).unwrap_or_default();
        let has = |name: &str| enabled.split_whitespace().any(|known| known == name);
        if !(has("memory") && has("pids"))
            && fs::write(folder.join("cgroup.subtree_control"), "+memory +pids").is_err()
        {
            return false;
        }
    }
    let limits = Limits { memory: Some(64 << 20), ..Limits::default() };
    home.group(&limits).is_ok()
}

impl Group {
    /// The folder, open, for a clone straight into it; only the unified hierarchy can do that.
    pub(super) fn entrance(&self) -> Option<io::Result<OwnedFd>> {
        self.unified.then(|| fs::File::open(&self.folders[0]).map(OwnedFd::from))
    }

    /// Moves a process into the group.
    pub(super) fn admit(&self, process: i32) -> io::Result<()> {
        for folder in &self.folders {
            fs::write(folder.join("cgroup.procs"), process.to_string())?;
        }
        Ok(())
    }

    /// Whether the kernel ends all processes of the group when it must end one.
    pub(super) fn ends_together(&self) -> bool {
        self.unified
    }

    /// Whether the kernel has ended a process for want of memory.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        let file = if self.unified { "memory.events" } else { "memory.oom_control" };
        let text = fs::read_to_string(self.folders[0].join(file)).unwrap_or_default();
        text.lines()
            .any(|line| line.strip_prefix("oom_kill ").is_some_and(|count| count.trim() != "0"))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The last process is gone, but its group may notice a moment later.
        let deadline = Instant::now() + Duration::from_secs(1);
        for folder in &self.folders {
            while fs::remove_dir(folder).is_err() && folder.exists() && Instant::now() < deadline {
                std::thread::yield_now();
            }
        }
    }
}
