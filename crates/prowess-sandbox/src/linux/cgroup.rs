//! Control groups (cgroups): the kernel limits memory and processes of a whole run. Without them,
//! the first process of the sandbox polls memory, and memory files that can't be counted are not
//! allowed.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::spec::SandboxLimits;

/// Where cgroups can be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// The unified hierarchy (version 2).
    Unified(PathBuf),
    /// The memory hierarchy of version 1. Processes are limited per run without it.
    Memory(PathBuf),
}

/// A cgroup for one run; dropping it removes it.
#[derive(Debug)]
pub(super) struct Group {
    folder: PathBuf,
    unified: bool,
}

const PREFIX: &str = "prowess-";

impl Home {
    /// Where this process can create cgroups with limits, detected by creating one.
    pub(super) fn get() -> Option<&'static Home> {
        static HOME: OnceLock<Option<Home>> = OnceLock::new();
        HOME.get_or_init(|| {
            let home = candidates().into_iter().find(works)?;
            home.remove_stale();
            Some(home)
        })
        .as_ref()
    }

    fn folder(&self) -> &Path {
        match self {
            Home::Unified(folder) | Home::Memory(folder) => folder,
        }
    }

    /// Creates a cgroup with limits.
    pub(super) fn group(&self, limits: &SandboxLimits) -> io::Result<Group> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name =
            format!("{PREFIX}{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
        let folder = self.folder().join(name);
        fs::create_dir(&folder)?;
        let group = Group { folder, unified: matches!(self, Home::Unified(_)) };
        let write = |file: &str, value: u64| fs::write(group.folder.join(file), value.to_string());
        // Kernels that do not count swap have no such file; one that can't be written would bypass
        // the limit (attack sandbox-E08).
        let write_if_there = |file: &str, value: u64| match write(file, value) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
        match self {
            Home::Unified(_) => {
                if let Some(memory) = limits.memory {
                    write("memory.max", memory)?;
                    write_if_there("memory.swap.max", 0)?;
                    let _ = write("memory.oom.group", 1);
                }
                // The first process and the one that sets up the sandbox count too.
                write("pids.max", limits.processes + 2)?;
            }
            Home::Memory(_) => {
                if let Some(memory) = limits.memory {
                    write("memory.limit_in_bytes", memory)?;
                    // Memory and swap together.
                    write_if_there("memory.memsw.limit_in_bytes", memory)?;
                }
            }
        }
        Ok(group)
    }

    /// Removes the cgroups of processes that no longer exist, because a killed process can't.
    fn remove_stale(&self) {
        for entry in fs::read_dir(self.folder()).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let owner = name
                .to_str()
                .and_then(|name| name.strip_prefix(PREFIX)?.split('-').next()?.parse::<u32>().ok());
            if owner.is_some_and(|owner| !Path::new(&format!("/proc/{owner}")).exists()) {
                let _ = fs::remove_dir(entry.path());
            }
        }
    }
}

/// The locations where cgroups could be created, the best first.
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
    if let Some(memory) = mounted("cgroup", "memory") {
        homes.push(Home::Memory(memory.join(path_of("memory").unwrap_or_default())));
    }
    homes
}

/// Tests it by creating a cgroup: existing files prove nothing.
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
    let limits = SandboxLimits { memory: Some(64 << 20), ..SandboxLimits::default() };
    home.group(&limits).is_ok()
}

/// How a new process enters a cgroup.
#[derive(Debug)]
pub(super) enum CgroupEntrance {
    /// The open folder, for `CLONE_INTO_CGROUP`; only supported by the unified hierarchy.
    Clone(OwnedFd),
    /// The open `tasks` file, to which a new process writes a zero for itself. If another process
    /// moves it, or all of its threads, the kernel waits for all processors: 5 to 10 ms on an idle
    /// machine instead of 0.05.
    List(OwnedFd),
}

impl Group {
    /// The entrance for the first process.
    pub(super) fn entrance(&self) -> io::Result<CgroupEntrance> {
        if self.unified {
            return Ok(CgroupEntrance::Clone(fs::File::open(&self.folder)?.into()));
        }
        let list = fs::File::options().write(true).open(self.folder.join("tasks"))?;
        Ok(CgroupEntrance::List(list.into()))
    }

    /// Whether the OOM killer kills all processes of the cgroup together.
    pub(super) fn kills_as_group(&self) -> bool {
        self.unified
    }

    /// Whether the OOM killer has killed a process.
    pub(super) fn ran_out_of_memory(&self) -> bool {
        let file = if self.unified { "memory.events" } else { "memory.oom_control" };
        let text = fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        text.lines()
            .any(|line| line.strip_prefix("oom_kill ").is_some_and(|count| count.trim() != "0"))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The last process has ended, but its cgroup may take a moment to notice.
        let deadline = Instant::now() + Duration::from_secs(1);
        while fs::remove_dir(&self.folder).is_err()
            && self.folder.exists()
            && Instant::now() < deadline
        {
            std::thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swap_does_not_bypass_the_limit() {
        // Attack sandbox-E08. Without a cgroup, swap is polled together with memory.
        const MEMORY: u64 = 64 << 20;
        let Some(home) = Home::get() else { return };
        let limits = SandboxLimits { memory: Some(MEMORY), ..SandboxLimits::default() };
        let group = home.group(&limits).expect("a group");
        let read = |file: &str| fs::read_to_string(group.folder.join(file));
        let (memory, swap, most_swap) = match home {
            Home::Unified(_) => ("memory.max", "memory.swap.max", 0),
            Home::Memory(_) => ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", MEMORY),
        };
        assert_eq!(read(memory).expect("a limit").trim(), MEMORY.to_string());
        match read(swap) {
            Ok(limit) => assert_eq!(limit.trim(), most_swap.to_string()),
            // The kernel does not count swap, so there must be none.
            Err(_) => assert_eq!(
                fs::read_to_string("/proc/swaps").unwrap_or_default().lines().skip(1).count(),
                0
            ),
        }
    }
}
